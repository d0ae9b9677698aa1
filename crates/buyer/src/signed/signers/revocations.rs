//! Which keys an operator has revoked: its signed list, of which one covers every purpose (AdCP,
//! "Revocation" and "Transport revocation").

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use reqwest::Url;
use tradepost_keys::{Algorithm, PublicKey, decode};
use tradepost_wire::json;
use tradepost_wire::json::Value;

use super::named;

/// Where it is, beside `brand.json`.
pub(super) const PATH: &str = "/.well-known/governance-revocations.json";

/// What its signatures are for.
const TYPE: &str = "adcp-gov-revocation+jws";

/// The next list is looked for after one minute at the earliest, and thirty at the latest.
const FLOOR: SignedDuration = SignedDuration::from_mins(1);
const CEILING: SignedDuration = SignedDuration::from_mins(30);

/// How many signatures of a list are looked at.
const MAX_SIGNATURES: usize = 4;

/// A list that one of the operator's keys has signed.
#[derive(Debug)]
pub(super) struct Revocations {
    kids: BTreeSet<String>,
    /// When there is a newer one.
    pub(super) next_update: Timestamp,
}

impl Revocations {
    /// Reads a list, a JWS in JSON, that is served beside the `brand.json` at `brand`. `None` when it
    /// is not one that its operator has signed, or when it is of the past: whoever holds back the
    /// newer one may hide what is in it.
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
        // Not read before somebody has signed it.
        let content = json::read(std::str::from_utf8(&decode(payload)?).ok()?).ok()?;
        let moment = |name: &str| content.get(name)?.as_str()?.parse::<Timestamp>().ok();
        let origin = |url: &str| Url::parse(url).ok().map(|url| url.origin());
        let (updated, next_update) = (moment("updated")?, moment("next_update")?);
        let interval = next_update.duration_since(updated).clamp(FLOOR, CEILING);
        // Four intervals of grace, as the profile recommends.
        let grace = interval.checked_mul(4)?;
        // What another operator has issued says nothing of these keys.
        if origin(content.get("issuer")?.as_str()?)? != origin(brand)?
            || now > next_update.checked_add(grace).ok()?
        {
            return None;
        }
        let kids = content.get("revoked_kids")?.as_array()?.iter();
        let (earliest, latest) = (now.checked_add(FLOOR).ok()?, now.checked_add(CEILING).ok()?);
        Some(Self {
            kids: kids.map(|kid| kid.as_str().map(str::to_owned)).collect::<Option<_>>()?,
            // However far off that is: what is revoked meanwhile has to be noticed.
            next_update: next_update.clamp(earliest, latest),
        })
    }

    /// Whether a key of this name must not be used any more.
    pub(super) fn names(&self, kid: &str) -> bool {
        self.kids.contains(kid)
    }
}

fn is_signed(signature: &Value, payload: &str, keys: &[Value]) -> Option<bool> {
    let protected = signature.get("protected")?.as_str()?;
    let header = json::read(std::str::from_utf8(&decode(protected)?).ok()?).ok()?;
    let text = |name: &str| header.get(name).and_then(Value::as_str);
    // Nothing that we do not know may be critical (RFC 7515 §4.1.11).
    if text("typ") != Some(TYPE) || header.get("crit").is_some() {
        return None;
    }
    let kid = text("kid")?;
    let key = PublicKey::read(keys.iter().find(|key| named(key, kid))?).ok()??;
    let fits = text("alg").and_then(Algorithm::of) == Some(key.algorithm());
    let bytes = decode(signature.get("signature")?.as_str()?)?;
    Some(fits && key.verifies(format!("{protected}.{payload}").as_bytes(), &bytes))
}
