//! Signed agent cards (A2A §8.4): with which key a dealer signs, and what a signature is. Whether
//! one is to be believed is the buyer's question: [`tradepost_buyer::trust`].

use serde_json::{Value, json};
use tradepost_wire::a2a::card::signing_payload;
use tradepost_wire::problem::{At, Problems};

pub use tradepost_buyer::trust::{Algorithm, describe, keyset, verify};
use tradepost_buyer::trust::{decode, encode, reject};

pub mod key;

use key::SigningKey;

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

#[cfg(test)]
mod tests;
