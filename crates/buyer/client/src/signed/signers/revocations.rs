//! Revoked keys of an operator: a signed list, which covers every purpose (AdCP, "Revocation" and "Transport
//! revocation").

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use reqwest::Url;
use tradepost_document::json;
use tradepost_document::json::Value;
use tradepost_keys::{Algorithm, PublicKey, decode};

use super::named;

/// Path of the list, on the host of `brand.json`.
pub(super) const PATH: &str = "/.well-known/governance-revocations.json";

/// Type of its signatures.
const TYPE: &str = "adcp-gov-revocation+jws";

/// Shortest and longest time after which the next list is fetched.
const FLOOR: SignedDuration = SignedDuration::from_mins(1);
const CEILING: SignedDuration = SignedDuration::from_mins(30);

/// Maximum number of signatures of a list that are verified.
const MAX_SIGNATURES: usize = 4;

/// List with a signature by one of the operator's keys.
#[derive(Debug)]
pub(super) struct Revocations {
    kids: BTreeSet<String>,
    /// Moment at which the list has to be fetched again.
    pub(super) next_update: Timestamp,
}

impl Revocations {
    /// Reads a list, a JWS in JSON, that is served beside the `brand.json` at `brand`. `None` when the
    /// operator has not signed it, or when it has expired: an attacker could hide revocations by withholding
    /// the newer list.
    pub(super) fn read(list: &Value, brand: &str, keys: &[Value], now: Timestamp) -> Option<Self> {
        let payload = list.get("payload")?.as_str()?;
        let signatures = match list.get("signatures") {
            Some(signatures) => signatures.as_array()?.as_slice(),
            None => std::slice::from_ref(list),
        };
        let is_signed = |signature| is_signed(signature, payload, keys) == Some(true);
        if !signatures.iter().take(MAX_SIGNATURES).any(is_signed) {
            return None;
        }
        // Parsed only after a signature is verified.
        let content = json::read(std::str::from_utf8(&decode(payload)?).ok()?).ok()?;
        let moment = |name: &str| content.get(name)?.as_str()?.parse::<Timestamp>().ok();
        let origin = |url: &str| Url::parse(url).ok().map(|url| url.origin());
        let updated = moment("updated")?;
        let next_update = moment("next_update")?;
        let interval = next_update.duration_since(updated).clamp(FLOOR, CEILING);
        // Four intervals of grace, as the profile recommends.
        let grace = interval.checked_mul(4)?;
        // A list of another operator says nothing about these keys.
        if origin(content.get("issuer")?.as_str()?)? != origin(brand)?
            || now > next_update.checked_add(grace).ok()?
        {
            return None;
        }
        let kids = content.get("revoked_kids")?.as_array()?.iter();
        let earliest = now.checked_add(FLOOR).ok()?;
        let latest = now.checked_add(CEILING).ok()?;
        Some(Self {
            kids: kids.map(|kid| kid.as_str().map(str::to_owned)).collect::<Option<_>>()?,
            // Within the bounds even if the list says later, so that new revocations are noticed.
            next_update: next_update.clamp(earliest, latest),
        })
    }

    /// Returns true when a key of this name is revoked.
    pub(super) fn names(&self, kid: &str) -> bool {
        self.kids.contains(kid)
    }
}

fn is_signed(signature: &Value, payload: &str, keys: &[Value]) -> Option<bool> {
    let protected = signature.get("protected")?.as_str()?;
    let header = json::read(std::str::from_utf8(&decode(protected)?).ok()?).ok()?;
    let text = |name: &str| header.get(name).and_then(Value::as_str);
    // An unknown critical header forbids accepting the signature (RFC 7515 §4.1.11).
    if text("typ") != Some(TYPE) || header.get("crit").is_some() {
        return None;
    }
    let kid = text("kid")?;
    let key = PublicKey::read(keys.iter().find(|key| named(key, kid))?).ok()??;
    let fits = text("alg").and_then(Algorithm::from_jws_name) == Some(key.algorithm());
    let bytes = decode(signature.get("signature")?.as_str()?)?;
    Some(fits && key.verifies(format!("{protected}.{payload}").as_bytes(), &bytes))
}
