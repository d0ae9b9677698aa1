//! Signed agent cards (A2A §8.4): what a signature is, and whether those of a card are to be believed.

use jiff::Timestamp;
use tradepost_wire::a2a::card::signing_payload;
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json;
use tradepost_wire::json::{Map, Value, json};
use tradepost_wire::parse::reject;
use tradepost_wire::problem::{At, Problems};

use crate::keyset::KeySet;
use crate::private::SigningKey;
use crate::{Algorithm, decode, encode};

/// How many signatures a card may have: each costs its reader work.
const MAX_SIGNATURES: usize = 32;

/// Those with which cards are signed: the two that need no choices.
const ALGORITHMS: [Algorithm; 2] = [Algorithm::Es256, Algorithm::EdDsa];

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

/// A card with its signatures.
#[derive(Debug)]
pub struct Signed {
    /// None when the card is not signed.
    pub signatures: Vec<Signature>,
    /// The canonical card, in base64url.
    payload: String,
}

/// A signature, as far as it could be read.
#[derive(Debug, Clone)]
pub struct Signature {
    /// The name of its key.
    pub kid: Option<String>,
    /// Its algorithm, as named.
    pub alg: Option<String>,
    /// Where it says that its key is.
    pub jku: Option<String>,
    /// The protected header and the signature itself, or why there is none.
    parts: Result<(String, Vec<u8>), &'static str>,
}

/// What became of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// A trusted key made it, for this card.
    Valid,
    /// It is not one of this card: damaged, or forged.
    Invalid(&'static str),
    /// None of the keys has its name.
    UnknownKey,
    /// Its key may not be used.
    UnusableKey(&'static str),
    /// We do not know its algorithm.
    UnsupportedAlgorithm,
}

impl Verdict {
    /// For programs.
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

    /// For people.
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

/// Whether a card with these verdicts is to be trusted: a signature is valid, and none is forged.
#[must_use]
pub fn is_trusted(verdicts: &[Verdict]) -> bool {
    verdicts.contains(&Verdict::Valid)
        && !verdicts.iter().any(|verdict| matches!(verdict, Verdict::Invalid(_)))
}

impl Signed {
    /// Reads the signatures of a card. One that is damaged is kept as such.
    ///
    /// # Errors
    /// Why no signature of the card can be verified.
    pub fn read(card: &Value) -> Result<Self, Problems> {
        let payload = encode(signing_payload(card)?);
        let mut problems = Problems::new();
        let at = At::Root.key("signatures");
        let signatures = match card.get("signatures") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(entries)) if entries.len() > MAX_SIGNATURES => {
                reject(&at, &mut problems, format!("has more than {MAX_SIGNATURES} signatures"));
                Vec::new()
            }
            Some(Value::Array(entries)) => entries.iter().map(Signature::read).collect(),
            Some(_) => {
                reject(&at, &mut problems, "must be an array");
                Vec::new()
            }
        };
        problems.into_result(Some(Self { signatures, payload }))
    }

    /// What becomes of one of the signatures with these keys.
    #[must_use]
    pub fn verdict(&self, signature: &Signature, keys: &KeySet, now: Timestamp) -> Verdict {
        let (protected, bytes) = match &signature.parts {
            Ok(parts) => parts,
            Err(why) => return Verdict::Invalid(why),
        };
        let (alg, kid) = (signature.alg.as_deref(), signature.kid.as_deref());
        let known = alg.and_then(Algorithm::of).filter(|known| ALGORITHMS.contains(known));
        let Some(algorithm) = known else {
            return Verdict::UnsupportedAlgorithm;
        };
        let mut named = keys.named(kid.unwrap_or_default()).peekable();
        if named.peek().is_none() {
            return Verdict::UnknownKey;
        }
        // The key says which algorithm it is for; the header cannot choose another.
        let mut fitting = named.filter(|trusted| trusted.key.algorithm() == algorithm).peekable();
        if fitting.peek().is_none() {
            return Verdict::Invalid("the key with this kid is for another algorithm");
        }
        let message = format!("{protected}.{}", self.payload);
        match fitting.find(|trusted| trusted.key.verifies(message.as_bytes(), bytes)) {
            None => Verdict::Invalid("the signature does not match the card"),
            // Only now: a forged signature is forged whether its key has expired or not.
            Some(trusted) => trusted.objection(now).map_or(Verdict::Valid, Verdict::UnusableKey),
        }
    }
}

impl Signature {
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

/// Only the protected header counts; the other one may say anything, but not the same things.
fn check_header(protected: &Map, unprotected: Option<&Value>) -> Result<(), &'static str> {
    // RFC 7515 §4.1.11: who does not understand what is critical must refuse.
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
