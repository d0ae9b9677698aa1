//! Whose signature (RFC 9421) a delivery has: Ed25519 and ECDSA with P-256, over the method, the
//! target, the media type and the digest of the body (RFC 9530). What a signature is made of is
//! [`tradepost_wire::http_signature`], and what AdCP demands of one [`tradepost_wire::adcp::signing`].

use axum::http::{HeaderMap, Uri};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use ring::digest;
use ring::signature::{ECDSA_P256_SHA256_FIXED, ED25519, UnparsedPublicKey};
use serde_json::Value;
use subtle::ConstantTimeEq as _;
use tradepost_wire::adcp::signing::{Claim, Digest, Surface};
use tradepost_wire::http_signature::{self, Input, Message, Target};

use super::authentic::{Envelope, WINDOW, one};

/// How far a sender's clock may be ahead.
const SKEW: SignedDuration = SignedDuration::from_mins(1);

/// The longest nonce.
const MAX_NONCE: usize = 128;

/// The keys that are trusted, by their ids.
#[derive(Debug, Default)]
pub struct Keys(Vec<(String, Kind, Vec<u8>)>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Ed25519,
    P256,
}

impl Kind {
    /// Its name in `alg`.
    const fn name(self) -> &'static str {
        match self {
            Self::Ed25519 => "ed25519",
            Self::P256 => "ecdsa-p256-sha256",
        }
    }
}

impl Keys {
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
        let mut read: Vec<(String, Kind, Vec<u8>)> = Vec::new();
        for jwk in keys {
            let text = |name: &str| jwk.get(name).and_then(Value::as_str);
            let coordinate = |name| {
                let bytes = URL_SAFE_NO_PAD.decode(text(name).unwrap_or_default()).ok();
                bytes.filter(|bytes| bytes.len() == 32).ok_or("a key's coordinate is not 32 bytes")
            };
            let (kind, bytes) = match (text("kty"), text("crv")) {
                (Some("OKP"), Some("Ed25519")) => (Kind::Ed25519, coordinate("x")?),
                (Some("EC"), Some("P-256")) => {
                    (Kind::P256, [vec![4], coordinate("x")?, coordinate("y")?].concat())
                }
                _ => continue,
            };
            let kid = text("kid").ok_or("every key needs a kid")?;
            if read.iter().any(|(known, ..)| known == kid) {
                return Err("two keys have the same kid");
            }
            read.push((kid.to_owned(), kind, bytes));
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
    pub keys: Keys,
    /// For this address, scheme and path included; for whatever the request names without it.
    pub url: Option<Uri>,
    /// With this tag, where one is required (AdCP: `adcp/webhook-signing/v1`).
    pub tag: Option<String>,
}

impl Signatures {
    /// The nonce of a signature that is to be believed, with its key's id in front.
    pub(super) fn verify(&self, envelope: &Envelope<'_>, now: Timestamp) -> Option<String> {
        let target = self.target(envelope)?;
        let fields = fields(envelope.headers);
        let method = envelope.method.as_str();
        let message = Message { method, target: &target, fields: &fields };
        if !digest_matches(&message, envelope.body) {
            return None;
        }
        let (input, signature) = http_signature::pick(&message).ok()??;
        if self.tag.as_deref() == Some(Surface::Webhook.tag()) {
            // AdCP demands more than we do.
            Claim::of(&message, Surface::Webhook, Digest::Required, true, now).ok()??;
        }
        self.holds(&message, &input, &signature, now)
    }

    fn holds(
        &self,
        message: &Message<'_>,
        input: &Input,
        signature: &[u8],
        now: Timestamp,
    ) -> Option<String> {
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
        let (_, kind, key) = self.keys.0.iter().find(|(known, ..)| known == keyid)?;
        if input.alg.as_deref().is_some_and(|alg| alg != kind.name()) {
            return None;
        }
        let base = message.base(input).ok()?;
        let verified = match kind {
            Kind::Ed25519 => {
                UnparsedPublicKey::new(&ED25519, key).verify(base.as_bytes(), signature)
            }
            Kind::P256 => UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key)
                .verify(base.as_bytes(), signature),
        };
        verified.ok()?;
        Some(format!("{keyid} {nonce}"))
    }

    /// Where the sender meant to send it.
    fn target(&self, envelope: &Envelope<'_>) -> Option<Target> {
        let url = match &self.url {
            Some(url) => url.to_string(),
            None => {
                let host = one(envelope.headers, "host")?;
                let path = envelope.uri.path_and_query().map_or("/", |path| path.as_str());
                format!("http://{host}{path}")
            }
        };
        Target::read(&url).ok()
    }
}

/// Header lines, as a signature sees them.
#[must_use]
pub fn fields(headers: &HeaderMap) -> Vec<(&str, &str)> {
    // What is no text stays one that nobody can have signed.
    headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.to_str().unwrap_or("\u{fffd}")))
        .collect()
}

/// Whether the body is the one that `Content-Digest` means. Digests that we do not know are left
/// aside; one that we know has to be there, and every one has to be right.
fn digest_matches(message: &Message<'_>, body: &[u8]) -> bool {
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
