//! Signed agent cards (A2A §8.4): with which key a dealer signs, what a signature is, and whether
//! one is to be believed.
//!
//! Two algorithms, the two that need no choices: ES256 and EdDSA with Ed25519. Trust comes from a
//! set of keys that the reader has, never from the card: whoever forges a card writes its `jku`,
//! too.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use tradepost_buyer::text::{WORD, plain};
use tradepost_wire::a2a::card::signing_payload;
use tradepost_wire::problem::{At, Extra, Keyword, Problems};

pub mod key;
pub mod keyset;
pub mod verify;

use key::SigningKey;

/// An algorithm of JWS (RFC 7518 §3, RFC 8037 §3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    /// The name in a header.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
        }
    }

    /// The algorithm that a header names. RFC 9864 has a second name for EdDSA with Ed25519.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        match name {
            "ES256" => Some(Self::Es256),
            "EdDSA" | "Ed25519" => Some(Self::EdDsa),
            _ => None,
        }
    }
}

/// Signs a card: an entry for its `signatures`, which are not part of what is signed.
///
/// # Errors
/// Why the card has no signing form; one problem at the root when the machine has no randomness.
pub fn sign(card: &Value, key: &SigningKey, jku: Option<&str>) -> Result<Value, Problems> {
    let payload = encode(signing_payload(card)?);
    let protected = encode(protected_header(key, jku).to_string());
    let Ok(signature) = key.sign(format!("{protected}.{payload}").as_bytes()) else {
        let mut problems = Problems::new();
        reject(&At::Root, &mut problems, "cannot be signed: the machine has no random numbers");
        return Err(problems);
    };
    Ok(json!({"protected": protected, "signature": encode(signature)}))
}

/// What a signature says about itself, and covers.
#[must_use]
pub fn protected_header(key: &SigningKey, jku: Option<&str>) -> Value {
    let mut header = json!({"alg": key.algorithm().name(), "kid": key.kid(), "typ": "JOSE"});
    if let (Some(jku), Some(members)) = (jku, header.as_object_mut()) {
        members.insert("jku".to_owned(), jku.into());
    }
    header
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Decodes base64url as JWS wants it: without padding, and with one spelling for every value, so
/// that a signature cannot be written in a second way.
fn decode(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// The problems of a card or a key set, for people.
#[must_use]
pub fn describe(problems: &Problems) -> Vec<String> {
    let listed = problems.listed().iter().map(|problem| {
        let place = clip_pointer(&problem.pointer);
        format!("{place}: {}", problem.message)
    });
    let more = problems.total() - problems.listed().len();
    let more = (more > 0).then(|| format!("and {more} more"));
    listed.chain(more).collect()
}

/// Where a problem is, made safe to show: members have the names that a stranger gave them.
fn clip_pointer(pointer: &str) -> String {
    let shown = plain(pointer, 2 * WORD);
    if shown.is_empty() { "the document".to_owned() } else { shown }
}

fn reject(at: &At<'_>, problems: &mut Problems, message: impl Into<String>) {
    tradepost_wire::parse::push(at, problems, Keyword::Format, message, Extra::None);
}

#[cfg(test)]
mod tests;
