//! The publisher's own keys: with which webhooks are signed, and the two documents by which
//! receivers find them: the key set, and the `brand.json` that names the agent and the key set.

use jiff::Timestamp;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use tradepost_keys::Algorithm;
use tradepost_keys::adcp::{Post, nonce};
use tradepost_keys::private::{self as key, SigningKey};
use tradepost_server::fault::Fault;
use tradepost_wire::adcp::signing::Surface;
use tradepost_wire::json::{Value, json};

/// The media type of what is sent.
const JSON: &str = "application/json";

/// Where the key set is.
pub const JWKS_PATH: &str = "/.well-known/jwks.json";

/// Where `brand.json` is.
pub const BRAND_PATH: &str = "/.well-known/brand.json";

/// The key with which webhooks are signed.
#[derive(Debug)]
pub struct WebhookKey(SigningKey);

impl WebhookKey {
    /// A key of ours.
    #[must_use]
    pub fn new(key: SigningKey) -> Self {
        Self(key)
    }

    /// A key that lasts as long as this process. Receivers look for the next one when they meet its
    /// name.
    ///
    /// # Errors
    /// When the machine has no random numbers.
    pub fn passing() -> Result<Self, Fault> {
        const WHAT: &str = "making a key for webhooks";
        let pem = key::generate(Algorithm::EdDsa)
            .map_err(|_| Fault::new(WHAT, "the machine has no random numbers"))?;
        SigningKey::read(&pem, None).map(Self).map_err(|why| Fault::new(WHAT, why.to_string()))
    }

    /// The key itself.
    #[must_use]
    pub fn signing(&self) -> &SigningKey {
        &self.0
    }

    /// Signs a body for an address at this moment, for webhooks: the headers that say so.
    #[must_use]
    pub fn headers(&self, url: &str, body: &str, now: Timestamp) -> Option<HeaderMap> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        let post = Post {
            surface: Surface::Webhook,
            url,
            content_type: JSON,
            body: body.as_bytes(),
            covers_body: true,
        };
        for (name, value) in post.sign(&self.0, &nonce().ok()?, now).ok()? {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_str(&value).ok()?);
        }
        Some(headers)
    }

    /// The key set, as receivers read it.
    #[must_use]
    pub fn jwks(&self) -> Value {
        let mut public = self.0.public_jwk();
        // Webhooks are signed with keys for requests; the tag of a signature keeps the two apart.
        let more = json!({"key_ops": ["verify"], "adcp_use": "request-signing"});
        if let (Some(members), Value::Object(more)) = (public.as_object_mut(), more) {
            members.extend(more);
        }
        json!({"keys": [public]})
    }
}

/// The `brand.json` of a publisher that is reached under `base_url`: it says which agents are the
/// publisher's, one for each address, and where their keys are.
#[must_use]
pub fn brand_json(name: &str, base_url: &str, endpoints: &[(&str, &str)]) -> Value {
    let jwks = format!("{base_url}{JWKS_PATH}");
    let agent = |(id, path): &(&str, &str)| {
        let description = format!("{name}: sells advertising (AdCP).");
        json!({"type": "sales", "id": id, "url": format!("{base_url}{path}"),
            "jwks_uri": jwks, "description": description})
    };
    json!({"version": "1.0", "agents": endpoints.iter().map(agent).collect::<Vec<_>>()})
}
