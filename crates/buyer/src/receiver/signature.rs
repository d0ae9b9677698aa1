//! HTTP message signatures (RFC 9421), as far as webhooks need them: Ed25519 and ECDSA with
//! P-256, over the method, the target, the media type and the digest of the body (RFC 9530).

use axum::http::Uri;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jiff::{SignedDuration, Timestamp};
use ring::digest;
use ring::signature::{ECDSA_P256_SHA256_FIXED, ED25519, UnparsedPublicKey};
use serde_json::Value;
use subtle::ConstantTimeEq as _;

use super::authentic::{Envelope, WINDOW, one};

/// How far a sender's clock may be ahead.
const SKEW: SignedDuration = SignedDuration::from_mins(1);

/// How many signatures of a request are looked at: each costs work.
const MAX_SIGNATURES: usize = 4;

/// How many components a signature may cover.
const MAX_COMPONENTS: usize = 32;

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
        if !digest_matches(envelope) {
            return None;
        }
        let inputs = one(envelope.headers, "signature-input")?;
        let signatures = one(envelope.headers, "signature")?;
        let inputs = members(inputs)?;
        if inputs.len() > MAX_SIGNATURES {
            return None;
        }
        inputs.iter().find_map(|(label, input)| {
            let input = Input::read(input)?;
            let (_, signature) =
                members(signatures)?.into_iter().find(|(known, _)| known == label)?;
            let signature = signature.strip_prefix(':')?.strip_suffix(':')?;
            let signature = STANDARD.decode(signature).ok()?;
            self.holds(envelope, &input, &signature, now)
        })
    }

    fn holds(
        &self,
        envelope: &Envelope<'_>,
        input: &Input<'_>,
        signature: &[u8],
        now: Timestamp,
    ) -> Option<String> {
        let covers = |name: &str| input.components.contains(&name);
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
        let nonce = input.nonce.filter(|nonce| (1..=MAX_NONCE).contains(&nonce.len()))?;
        if self.tag.as_deref().is_some_and(|tag| input.tag != Some(tag)) {
            return None;
        }
        let keyid = input.keyid?;
        let (_, kind, key) = self.keys.0.iter().find(|(known, ..)| known == keyid)?;
        if input.alg.is_some_and(|alg| alg != kind.name()) {
            return None;
        }
        let base = self.base(envelope, input)?;
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

    /// The signature base (RFC 9421 §2.5).
    fn base(&self, envelope: &Envelope<'_>, input: &Input<'_>) -> Option<String> {
        let mut base = String::new();
        for name in &input.components {
            let value = match name.strip_prefix('@') {
                Some(derived) => self.derived(envelope, derived)?,
                None => {
                    let values = envelope.headers.get_all(*name).iter();
                    let values: Option<Vec<_>> =
                        values.map(|value| value.to_str().ok().map(str::trim)).collect();
                    let values = values.filter(|values| !values.is_empty())?;
                    values.join(", ")
                }
            };
            base.push_str(&format!("\"{name}\": {value}\n"));
        }
        base.push_str(&format!("\"@signature-params\": {}", input.text));
        Some(base)
    }

    /// A derived component (RFC 9421 §2.2).
    fn derived(&self, envelope: &Envelope<'_>, name: &str) -> Option<String> {
        let host = || one(envelope.headers, "host").map(str::to_ascii_lowercase);
        let public = self.url.as_ref();
        let authority = || match public.and_then(Uri::authority) {
            Some(authority) => Some(authority.as_str().to_ascii_lowercase()),
            None => host(),
        };
        let scheme = public.and_then(Uri::scheme_str).unwrap_or("http");
        let target = public.unwrap_or(envelope.uri);
        let path = match target.path() {
            "" => "/",
            path => path,
        };
        let query = || target.query().map(|query| format!("?{query}"));
        match name {
            "method" => Some(envelope.method.as_str().to_owned()),
            "scheme" => Some(scheme.to_owned()),
            "authority" => authority(),
            "path" => Some(path.to_owned()),
            "query" => Some(query().unwrap_or_else(|| "?".to_owned())),
            "target-uri" => {
                let query = query().unwrap_or_default();
                Some(format!("{scheme}://{}{path}{query}", authority()?))
            }
            _ => None,
        }
    }
}

/// Whether the body is the one that `Content-Digest` means. Digests that we do not know are left
/// aside; one that we know has to be there, and every one has to be right.
fn digest_matches(envelope: &Envelope<'_>) -> bool {
    let listed = one(envelope.headers, "content-digest").and_then(members).unwrap_or_default();
    let mut known = listed.iter().filter_map(|(name, value)| {
        let algorithm = match *name {
            "sha-256" => &digest::SHA256,
            "sha-512" => &digest::SHA512,
            _ => return None,
        };
        let value = value.strip_prefix(':').and_then(|value| value.strip_suffix(':'));
        let value = STANDARD.decode(value.unwrap_or_default()).unwrap_or_default();
        let is = digest::digest(algorithm, envelope.body);
        Some(bool::from(is.as_ref().ct_eq(&value)))
    });
    known.next().is_some_and(|first| first && known.all(|right| right))
}

/// What a signature covers and on which terms.
#[derive(Debug, Default)]
struct Input<'t> {
    /// As it was sent; it is signed like this (RFC 9421 §2.3).
    text: &'t str,
    components: Vec<&'t str>,
    created: Option<i64>,
    expires: Option<i64>,
    nonce: Option<&'t str>,
    keyid: Option<&'t str>,
    alg: Option<&'t str>,
    tag: Option<&'t str>,
}

impl<'t> Input<'t> {
    /// Reads `("a" "b");created=1;keyid="k"`. Components with parameters are not read, because
    /// none of those that webhooks need has any. What is spelled in another way than RFC 8941
    /// serialises it is refused: its text is what was signed.
    fn read(text: &'t str) -> Option<Self> {
        let (inside, mut rest) = text.strip_prefix('(')?.split_once(')')?;
        let mut input = Self { text, ..Self::default() };
        for item in inside.split(' ') {
            let name = item.strip_prefix('"')?.strip_suffix('"')?;
            let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"@-_".contains(&b);
            let repeated = input.components.contains(&name);
            if name.is_empty() || !name.bytes().all(plain) || repeated {
                return None;
            }
            input.components.push(name);
        }
        if input.components.len() > MAX_COMPONENTS {
            return None;
        }
        while !rest.is_empty() {
            let (name, value) = rest.strip_prefix(';')?.split_once('=')?;
            let quoted = value.strip_prefix('"').map(|value| value.split_once('"'));
            let (value, after) = match quoted {
                // None of ours has escapes.
                Some(quoted) => quoted.filter(|(value, _)| !value.contains('\\'))?,
                None => value.split_at(value.find(';').unwrap_or(value.len())),
            };
            let text = quoted.is_some().then_some(value);
            let number = || value.parse::<i64>().ok().filter(|_| text.is_none());
            match name {
                "created" => input.created = Some(number()?),
                "expires" => input.expires = Some(number()?),
                "nonce" => input.nonce = Some(text?),
                "keyid" => input.keyid = Some(text?),
                "alg" => input.alg = Some(text?),
                "tag" => input.tag = Some(text?),
                _ => return None,
            }
            rest = after;
        }
        Some(input)
    }
}

/// The members of a dictionary (RFC 8941 §3.2), each with the text of its value.
fn members(text: &str) -> Option<Vec<(&str, &str)>> {
    let (mut start, mut quoted, mut parts) = (0, false, Vec::new());
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b',' if !quoted => {
                parts.push(text.get(start..at)?);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text.get(start..)?);
    parts.into_iter().map(|part| part.trim().split_once('=')).collect()
}

#[cfg(test)]
mod tests;
