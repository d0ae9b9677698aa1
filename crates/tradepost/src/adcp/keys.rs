//! The publisher's own keys: with which webhooks are signed and decisions about plans, and the two
//! documents by which receivers find them: the key set, and the `brand.json` that names the agent and
//! the key set.

use jiff::Timestamp;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use tradepost_keys::adcp::{PostToSign, nonce};
use tradepost_keys::private::{self as key, SigningKey};
use tradepost_keys::{Algorithm, encode};
use tradepost_server::fault::InternalError;
use tradepost_wire::adcp::signing::SignedKind;
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::{Value, json};

/// The media type of what is sent.
const JSON: &str = "application/json";

/// Where the key set is.
pub const JWKS_PATH: &str = "/.well-known/jwks.json";

/// Where `brand.json` is.
pub const BRAND_PATH: &str = "/.well-known/brand.json";

/// The key with which webhooks are signed.
#[derive(Debug)]
pub struct WebhookKey(pub SigningKey);

impl WebhookKey {
    /// A key that lasts as long as this process. Receivers look for the next one when they meet its
    /// name.
    ///
    /// # Errors
    /// When the machine has no random numbers.
    pub fn passing() -> Result<Self, InternalError> {
        fresh("making a key for webhooks").map(Self)
    }

    /// Signs a body for an address at this moment, for webhooks: the headers that say so.
    #[must_use]
    pub fn headers(&self, url: &str, body: &str, now: Timestamp) -> Option<HeaderMap> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        let post = PostToSign {
            surface: SignedKind::Webhook,
            url,
            content_type: JSON,
            body: body.as_bytes(),
            // Of webhooks every signature does (`W-4`).
            covers_body: true,
        };
        for (name, value) in post.sign(&self.0, &nonce().ok()?, now).ok()? {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_str(&value).ok()?);
        }
        Some(headers)
    }

    /// The public key, as receivers read it. Webhooks are signed with keys for requests; the tag of
    /// a signature keeps the two apart.
    #[must_use]
    pub fn public(&self) -> Value {
        public(&self.0, "request-signing")
    }
}

/// The key with which the governance role signs what it has decided: never the one of webhooks (SEC,
/// "AdCP JWS profile").
#[derive(Debug)]
pub struct GovernanceKey(pub SigningKey);

impl GovernanceKey {
    /// A key that lasts as long as this process, which is longer than what it signs.
    ///
    /// # Errors
    /// When the machine has no random numbers.
    pub fn passing() -> Result<Self, InternalError> {
        fresh("making a key for decisions").map(Self)
    }

    /// The public key, as sellers read it.
    #[must_use]
    pub fn public(&self) -> Value {
        public(&self.0, "governance-signing")
    }

    /// A compact JWS of claims; whoever reads it has to understand those that are critical (RFC 7515
    /// §4.1.11). `None` when the machine has no random numbers.
    #[must_use]
    pub fn attest(&self, claims: &Value, critical: &[&str]) -> Option<String> {
        let (alg, kid) = (self.0.algorithm().name(), self.0.kid());
        let critical = (!critical.is_empty()).then_some(critical);
        let header = json!({"alg": alg, "kid": kid, "typ": "adcp-gov+jws", "crit"?: critical});
        let signed = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        let signature = self.0.sign(signed.as_bytes()).ok()?;
        Some(format!("{signed}.{}", encode(signature)))
    }
}

/// A key that nobody has seen before.
fn fresh(what: &'static str) -> Result<SigningKey, InternalError> {
    let pem = key::generate(Algorithm::EdDsa)
        .map_err(|_| InternalError::new(what, "the machine has no random numbers"))?;
    SigningKey::read(&pem, None).map_err(|why| InternalError::new(what, why.to_string()))
}

/// A public key and what it is for.
fn public(key: &SigningKey, purpose: &str) -> Value {
    let mut public = key.public_jwk();
    let more = json!({"key_ops": ["verify"], "adcp_use": purpose});
    if let (Some(members), Value::Object(more)) = (public.as_object_mut(), more) {
        members.extend(more);
    }
    public
}

/// A key set, as whoever checks signatures reads it.
#[must_use]
pub fn jwks(keys: &[Value]) -> Value {
    json!({"keys": keys})
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
