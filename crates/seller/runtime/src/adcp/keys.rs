//! Keys of the publisher, which sign webhooks and decisions about plans, and the two documents by
//! which receivers find them: the key set, and the `brand.json` that names the agent and the key
//! set.

use jiff::Timestamp;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use tradepost_adcp::signing::SignedKind;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json, object};
use tradepost_keys::adcp::{PostToSign, nonce};
use tradepost_keys::private::{self as key, SigningKey};
use tradepost_keys::{Algorithm, encode};
use tradepost_server::fault::InternalError;

/// Media type of the bodies.
const JSON: &str = "application/json";

/// Path of the key set.
pub const JWKS_PATH: &str = "/.well-known/jwks.json";

/// Path of `brand.json`.
pub const BRAND_PATH: &str = "/.well-known/brand.json";

/// Key that signs webhooks.
#[derive(Debug)]
pub struct WebhookKey(pub SigningKey);

impl WebhookKey {
    /// Generates a key for the lifetime of this process. Receivers fetch the next one when they see
    /// its key id.
    ///
    /// # Errors
    /// Fails when the machine has no random numbers.
    pub fn generate() -> Result<Self, InternalError> {
        fresh("making a key for webhooks").map(Self)
    }

    /// Signs a webhook body for an address at this moment, and returns the headers with the
    /// signature.
    #[must_use]
    pub fn headers(&self, url: &str, body: &str, now: Timestamp) -> Option<HeaderMap> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        let post = PostToSign {
            surface: SignedKind::Webhook,
            url,
            content_type: JSON,
            body: body.as_bytes(),
            // A webhook's signature always covers the digest of its body (AdCP 3.1
            // `error-handling`, `W-4`).
            covers_body: true,
        };
        for (name, value) in post.sign(&self.0, &nonce().ok()?, now).ok()? {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_str(&value).ok()?);
        }
        Some(headers)
    }

    /// Returns the public key as a JWK. Its purpose is the same as for signed requests; the tag of
    /// a signature tells the two apart.
    #[must_use]
    pub fn public(&self) -> Value {
        public(&self.0, "request-signing")
    }
}

/// Key that signs decisions of the governance role: never the one for webhooks (SEC, "AdCP JWS
/// profile").
#[derive(Debug)]
pub struct GovernanceKey(pub SigningKey);

impl GovernanceKey {
    /// Generates a key for the lifetime of this process, which exceeds that of what it signs.
    ///
    /// # Errors
    /// Fails when the machine has no random numbers.
    pub fn generate() -> Result<Self, InternalError> {
        fresh("making a key for decisions").map(Self)
    }

    /// Returns the public key as a JWK.
    #[must_use]
    pub fn public(&self) -> Value {
        public(&self.0, "governance-signing")
    }

    /// Signs claims as a compact JWS; readers must understand the `critical` ones (RFC 7515
    /// §4.1.11). `None` when the machine has no random numbers.
    #[must_use]
    pub fn attest(&self, claims: &Value, critical: &[&str]) -> Option<String> {
        let alg = self.0.algorithm().name();
        let kid = self.0.kid();
        let critical = (!critical.is_empty()).then_some(critical);
        let header = object!({"alg": alg, "kid": kid, "typ": "adcp-gov+jws", "crit"?: critical});
        let signed = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        let signature = self.0.sign(signed.as_bytes()).ok()?;
        Some(format!("{signed}.{}", encode(signature)))
    }
}

/// Generates a key.
fn fresh(what: &'static str) -> Result<SigningKey, InternalError> {
    let pem = key::generate(Algorithm::EdDsa)
        .map_err(|_| InternalError::new(what, "the machine has no random numbers"))?;
    SigningKey::read(&pem, None).map_err(|why| InternalError::new(what, why.to_string()))
}

/// Returns a public key with its purpose.
fn public(key: &SigningKey, purpose: &str) -> Value {
    let mut public = key.public_jwk();
    let more = json!({"key_ops": ["verify"], "adcp_use": purpose});
    if let Some(members) = public.as_object_mut()
        && let Value::Object(more) = more
    {
        members.extend(more);
    }
    public
}

/// Returns a key set (JWKS).
#[must_use]
pub fn jwks(keys: &[Value]) -> Value {
    json!({"keys": keys})
}

/// Returns the `brand.json` of a publisher under `base_url`: the publisher's agents, one for each
/// address, and the location of their keys.
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
