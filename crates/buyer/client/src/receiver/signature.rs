//! Signatures of deliveries (RFC 9421): Ed25519 and ECDSA with P-256, over the method, the target, the media
//! type and the digest of the body (RFC 9530). [`tradepost_keys::http_signature`] reads them. AdCP requires
//! more, and looks the keys up: [`super::webhooks`].

use axum::http::Uri;
use jiff::{SignedDuration, Timestamp};
use ring::digest;
use subtle::ConstantTimeEq as _;
use tradepost_document::json::Value;
use tradepost_keys::PublicKey;
use tradepost_keys::http_signature::{self, SignableRequest, SignatureInput, TargetUri};

use super::authentic::{DeliveryEnvelope, WINDOW, one};
use crate::signed::fields;

/// Maximum time by which a sender's clock may be ahead.
const SKEW: SignedDuration = SignedDuration::from_mins(1);

/// Longest nonce, in bytes.
const MAX_NONCE: usize = 128;

/// Trusted keys, by their ids.
#[derive(Debug, Default)]
pub struct WebhookKeys(Vec<(String, PublicKey)>);

impl WebhookKeys {
    /// Reads a JWK set (RFC 7517), or one JWK. Keys of unsupported types are left out.
    ///
    /// # Errors
    /// Fails when the document is not a key set, a key is malformed or has no `kid` of its own, or no
    /// key is usable.
    pub fn read(document: &Value) -> Result<Self, &'static str> {
        let set = document.get("keys").map(|keys| keys.as_array().ok_or("keys must be a list"));
        let keys = match set.transpose()? {
            Some(keys) => keys.as_slice(),
            None => std::slice::from_ref(document),
        };
        let mut read: Vec<(String, PublicKey)> = Vec::new();
        for jwk in keys {
            let Some(key) = PublicKey::read(jwk)? else { continue };
            let kid = jwk.get("kid").and_then(Value::as_str).ok_or("every key needs a kid")?;
            if read.iter().any(|(known, _)| known == kid) {
                return Err("two keys have the same kid");
            }
            read.push((kid.to_owned(), key));
        }
        if read.is_empty() {
            return Err("it has no key of Ed25519 or P-256");
        }
        Ok(Self(read))
    }
}

/// Requirements of a signature.
#[derive(Debug)]
pub struct Signatures {
    /// Trusted keys.
    pub keys: WebhookKeys,
    /// Signed address, with scheme and path; without it, the one that the request names.
    pub url: Option<Uri>,
    /// Tag that the signature must have.
    pub tag: Option<String>,
}

impl Signatures {
    /// Verifies the signature, and returns its key's id and its nonce; `None` when it is not accepted.
    pub(super) fn verify(
        &self,
        envelope: &DeliveryEnvelope<'_>,
        now: Timestamp,
    ) -> Option<(String, String)> {
        let target = self.target(envelope)?;
        let fields = fields(envelope.headers);
        let method = envelope.method.as_str();
        let message = SignableRequest { method, target: &target, fields: &fields };
        if !digest_matches(&message, envelope.body) {
            return None;
        }
        let (input, signature) = http_signature::pick(&message).ok()??;
        self.holds(&message, &input, &signature, now)
    }

    fn holds(
        &self,
        message: &SignableRequest<'_>,
        input: &SignatureInput,
        signature: &[u8],
        now: Timestamp,
    ) -> Option<(String, String)> {
        let covers = |name: &str| input.covers(name);
        let target = covers("@target-uri") || covers("@authority") && covers("@path");
        if !covers("@method") || !target || !covers("content-digest") || !covers("content-type") {
            return None;
        }
        let created = Timestamp::from_second(input.created?).ok()?;
        let age = created.duration_until(now);
        if age < -SKEW || age > WINDOW {
            return None;
        }
        if let Some(expires) = input.expires {
            let expires = Timestamp::from_second(expires).ok()?;
            if expires <= now || expires <= created {
                return None;
            }
        }
        let nonce =
            input.nonce.as_deref().filter(|nonce| (1..=MAX_NONCE).contains(&nonce.len()))?;
        if self.tag.is_some() && input.tag != self.tag {
            return None;
        }
        let keyid = input.keyid.as_deref()?;
        let (_, key) = self.keys.0.iter().find(|(known, _)| known == keyid)?;
        // A key is for one algorithm, whatever the signature names.
        if input.alg.as_deref().is_some_and(|alg| alg != key.algorithm().http_name()) {
            return None;
        }
        let base = message.base(input).ok()?;
        key.verifies(base.as_bytes(), signature).then(|| (keyid.to_owned(), nonce.to_owned()))
    }

    /// Returns the address to which the sender sent the delivery.
    fn target(&self, envelope: &DeliveryEnvelope<'_>) -> Option<TargetUri> {
        let url = match &self.url {
            Some(url) => url.to_string(),
            None => {
                let host = one(envelope.headers, "host")?;
                let path = envelope.uri.path_and_query().map_or("/", |path| path.as_str());
                // The scheme is not known here, because a proxy may have ended TLS. For signatures that cover
                // the scheme, the address has to be configured.
                format!("http://{host}{path}")
            }
        };
        TargetUri::read(&url).ok()
    }
}

/// Returns true when the body matches `Content-Digest`. Unknown digests are ignored; there must be at least
/// one known digest, and all known ones must match.
fn digest_matches(message: &SignableRequest<'_>, body: &[u8]) -> bool {
    let field = message.field("content-digest").ok().flatten().unwrap_or_default();
    let listed = http_signature::digests(&field).unwrap_or_default();
    let mut known = listed.iter().filter_map(|(name, value)| {
        let algorithm = match *name {
            "sha-256" => &digest::SHA256,
            "sha-512" => &digest::SHA512,
            _ => return None,
        };
        let is = digest::digest(algorithm, body);
        Some(bool::from(is.as_ref().ct_eq(value)))
    });
    known.next().is_some_and(|first| first && known.all(|right| right))
}

#[cfg(test)]
mod tests;
