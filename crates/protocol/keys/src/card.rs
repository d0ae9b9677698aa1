//! Signed agent cards (A2A 1.0 §8.4): signing, and verification of a card's signatures.

use jiff::Timestamp;
use tradepost_a2a::card::signing_payload;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json;
use tradepost_document::json::{Map, Value, json, object};
use tradepost_document::parse::reject;
use tradepost_document::problem::{DocumentPlace, Problems};

use crate::keyset::KeySet;
use crate::private::SigningKey;
use crate::{Algorithm, decode, encode};

/// Maximum number of signatures of a card, because each costs its reader work.
const MAX_SIGNATURES: usize = 32;

/// Algorithms for cards: the two without parameters.
const ALGORITHMS: [Algorithm; 2] = [Algorithm::Es256, Algorithm::EdDsa];

/// Signs a card, and returns an entry for its `signatures`, which are not signed themselves.
///
/// # Errors
/// When the card has no canonical form; one problem at the root when the machine has no random
/// source.
pub fn sign(card: &Value, key: &SigningKey, jku: Option<&str>) -> Result<Value, Problems> {
    let payload = encode(signing_payload(card)?);
    let protected = encode(protected_header(key, jku).to_string());
    let Ok(signature) = key.sign(format!("{protected}.{payload}").as_bytes()) else {
        let mut problems = Problems::new();
        reject(
            &DocumentPlace::Root,
            &mut problems,
            "cannot be signed: the machine has no random numbers",
        );
        return Err(problems);
    };
    Ok(json!({"protected": protected, "signature": encode(signature)}))
}

/// Returns the protected header of a signature.
#[must_use]
pub fn protected_header(key: &SigningKey, jku: Option<&str>) -> Value {
    object!({"alg": key.algorithm().name(), "kid": key.kid(), "typ": "JOSE", "jku"?: jku})
}

/// A card with its signatures.
#[derive(Debug)]
pub struct SignedCard {
    /// Signatures; empty when the card is not signed.
    pub signatures: Vec<CardSignature>,
    /// Canonical card in base64url.
    payload: String,
}

/// A parsed signature.
#[derive(Debug, Clone)]
pub struct CardSignature {
    /// Key id.
    pub kid: Option<String>,
    /// Name of the algorithm.
    pub alg: Option<String>,
    /// Address of the key set.
    pub jku: Option<String>,
    /// Protected header and signature, or the reason why they cannot be read.
    parts: Result<(String, Vec<u8>), &'static str>,
}

/// Result of verifying a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CardVerdict {
    /// Made by a trusted key, for this card.
    Valid,
    /// Damaged or forged; with the reason.
    Invalid(&'static str),
    /// No key has its key id.
    UnknownKey,
    /// The key may not be used; with the reason.
    UnusableKey(&'static str),
    /// An unsupported algorithm.
    UnsupportedAlgorithm,
}

impl CardVerdict {
    /// Returns the name for programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Invalid(_) => "invalid",
            Self::UnknownKey => "unknown_key",
            Self::UnusableKey(_) => "unusable_key",
            Self::UnsupportedAlgorithm => "unsupported_algorithm",
        }
    }

    /// Returns the reason for people.
    #[must_use]
    pub fn why(self) -> &'static str {
        match self {
            Self::Valid => "made by a trusted key, for this card",
            Self::Invalid(why) | Self::UnusableKey(why) => why,
            Self::UnknownKey => "no trusted key has this kid",
            Self::UnsupportedAlgorithm => "neither ES256 nor EdDSA",
        }
    }
}

/// Returns true when a card with these verdicts can be trusted: at least one signature is valid,
/// and none is forged.
#[must_use]
pub fn is_trusted(verdicts: &[CardVerdict]) -> bool {
    verdicts.contains(&CardVerdict::Valid)
        && !verdicts.iter().any(|verdict| matches!(verdict, CardVerdict::Invalid(_)))
}

impl SignedCard {
    /// Reads the signatures of a card. A damaged one is kept, with its reason.
    ///
    /// # Errors
    /// The reason why no signature of the card can be verified.
    pub fn read(card: &Value) -> Result<Self, Problems> {
        let payload = encode(signing_payload(card)?);
        let mut problems = Problems::new();
        let at = DocumentPlace::Root.key("signatures");
        let signatures = match card.get("signatures") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(entries)) if entries.len() > MAX_SIGNATURES => {
                reject(&at, &mut problems, format!("has more than {MAX_SIGNATURES} signatures"));
                Vec::new()
            }
            Some(Value::Array(entries)) => entries.iter().map(CardSignature::read).collect(),
            Some(_) => {
                reject(&at, &mut problems, "must be an array");
                Vec::new()
            }
        };
        problems.into_result(Some(Self { signatures, payload }))
    }

    /// Verifies a signature with these keys.
    #[must_use]
    pub fn verdict(&self, signature: &CardSignature, keys: &KeySet, now: Timestamp) -> CardVerdict {
        let (protected, bytes) = match &signature.parts {
            Ok(parts) => parts,
            Err(why) => return CardVerdict::Invalid(why),
        };
        let alg = signature.alg.as_deref();
        let kid = signature.kid.as_deref();
        let known =
            alg.and_then(Algorithm::from_jws_name).filter(|known| ALGORITHMS.contains(known));
        let Some(algorithm) = known else {
            return CardVerdict::UnsupportedAlgorithm;
        };
        let mut named = keys.named(kid.unwrap_or_default()).peekable();
        if named.peek().is_none() {
            return CardVerdict::UnknownKey;
        }
        // The key determines its algorithm; the header cannot choose another.
        let mut fitting = named.filter(|trusted| trusted.key.algorithm() == algorithm).peekable();
        if fitting.peek().is_none() {
            return CardVerdict::Invalid("the key with this kid is for another algorithm");
        }
        let message = format!("{protected}.{}", self.payload);
        match fitting.find(|trusted| trusted.key.verifies(message.as_bytes(), bytes)) {
            None => CardVerdict::Invalid("the signature does not match the card"),
            // Checked last, because a forged signature is forged whether its key has expired or
            // not.
            Some(trusted) => {
                trusted.objection(now).map_or(CardVerdict::Valid, CardVerdict::UnusableKey)
            }
        }
    }
}

impl CardSignature {
    fn read(entry: &Value) -> Self {
        let mut signature = Self { kid: None, alg: None, jku: None, parts: Err("") };
        signature.parts = signature.read_parts(entry);
        signature
    }

    fn read_parts(&mut self, entry: &Value) -> Result<(String, Vec<u8>), &'static str> {
        let text = |name| entry.get(name).and_then(Value::as_str);
        let protected = text("protected").ok_or("it has no protected header")?;
        let header = decode(protected)
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .and_then(|text| json::read(&text).ok());
        let Some(Value::Object(header)) = header else {
            return Err("its protected header is not a JSON object in base64url");
        };
        let owned = |name: &str| header.get(name).and_then(Value::as_str).map(str::to_owned);
        (self.kid, self.alg, self.jku) = (owned("kid"), owned("alg"), owned("jku"));
        check_header(&header, entry.get("header"))?;
        match self.alg.as_deref() {
            None => return Err("its protected header names no alg"),
            Some("none") => return Err("its alg is none: it is no signature"),
            Some(_) => {}
        }
        if self.kid.is_none() {
            return Err("its protected header names no kid");
        }
        let bytes = text("signature").and_then(decode).ok_or("its signature is not base64url")?;
        Ok((protected.to_owned(), bytes))
    }
}

/// Checks the headers of a signature: the unprotected one is ignored, but may not repeat members of
/// the protected one.
fn check_header(protected: &Map, unprotected: Option<&Value>) -> Result<(), &'static str> {
    // An unknown critical extension has to be refused (RFC 7515 §4.1.11).
    if protected.contains_key("crit") {
        return Err("its header has extensions that must be understood and are not");
    }
    match unprotected {
        Some(Value::Object(members)) if members.keys().any(|name| protected.contains_key(name)) => {
            Err("its two headers have members in common")
        }
        None | Some(Value::Null | Value::Object(_)) => Ok(()),
        Some(_) => Err("its unprotected header is not an object"),
    }
}

#[cfg(test)]
mod tests;
