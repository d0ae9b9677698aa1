//! Whose signature (RFC 9421) a delivery has: Ed25519 and ECDSA with P-256, over the method, the
//! target, the media type and the digest of the body (RFC 9530). What a signature is made of is
//! [`tradepost_keys::http_signature`]. AdCP demands more, and looks the keys up: [`super::webhooks`].

use axum::http::Uri;
use jiff::{SignedDuration, Timestamp};
use ring::digest;
use subtle::ConstantTimeEq as _;
use tradepost_keys::PublicKey;
use tradepost_keys::http_signature::{self, SignableRequest, SignatureInput, TargetUri};
use tradepost_wire::json::Value;

use super::authentic::{DeliveryEnvelope, WINDOW, one};
use crate::signed::fields;

/// How far a sender's clock may be ahead.
const SKEW: SignedDuration = SignedDuration::from_mins(1);

/// The longest nonce.
const MAX_NONCE: usize = 128;

/// The keys that are trusted, by their ids.
#[derive(Debug, Default)]
pub struct WebhookKeys(Vec<(String, PublicKey)>);

impl WebhookKeys {
    /// Reads a JWK set (RFC 7517), or one JWK. Keys of kinds that are not used here are left out.
    ///
    /// # Errors
    /// What is wrong with it, or that no key is left.
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

/// Which signatures are believed.
#[derive(Debug)]
pub struct Signatures {
    /// By these keys.
    pub keys: WebhookKeys,
    /// For this address, scheme and path included; for whatever the request names without it.
    pub url: Option<Uri>,
    /// With this tag, where one is required.
    pub tag: Option<String>,
}

impl Signatures {
    /// The key's id and the nonce of a signature that is to be believed.
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
        // A key is for one algorithm, whatever the sender names.
        if input.alg.as_deref().is_some_and(|alg| alg != key.algorithm().http_name()) {
            return None;
        }
        let base = message.base(input).ok()?;
        key.verifies(base.as_bytes(), signature).then(|| (keyid.to_owned(), nonce.to_owned()))
    }

    /// Where the sender meant to send it.
    fn target(&self, envelope: &DeliveryEnvelope<'_>) -> Option<TargetUri> {
        let url = match &self.url {
            Some(url) => url.to_string(),
            None => {
                let host = one(envelope.headers, "host")?;
                let path = envelope.uri.path_and_query().map_or("/", |path| path.as_str());
                // Nothing here knows whether TLS was spoken; where a signature covers the scheme,
                // the address has to be set.
                format!("http://{host}{path}")
            }
        };
        TargetUri::read(&url).ok()
    }
}

/// Whether the body is the one that `Content-Digest` means. Digests that we do not know are left
/// aside; one that we know has to be there, and every one has to be right.
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
