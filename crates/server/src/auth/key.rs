//! API keys: `tp_<id>_<secret>`. The id finds the row, so that no lookup depends on the secret;
//! the secret has 256 random bits, so that one round of SHA-256 is enough to keep it.

use std::collections::BTreeSet;
use std::fmt;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use tradepost_wire::format::hex;

use super::{ANONYMOUS, Denied, Principal};
use crate::fault::Fault;
use crate::permission::{Permission, Scopes};

/// What every key begins with, so that people and scanners recognise one.
pub const PREFIX: &str = "tp_";

const ID_BYTES: usize = 8;
const SECRET_BYTES: usize = 32;

/// The keys that agents have given out.
pub trait Keys: fmt::Debug + Send + Sync {
    /// The key with this id, of this agent. It is looked up each time, so that what others create
    /// or revoke holds from the next request on.
    ///
    /// # Errors
    /// When it cannot be looked up.
    fn find(&self, agent_id: &str, id: &str) -> Result<Option<ApiKey>, Fault>;

    /// Notes the day on which a key was used, when there is time. Nobody waits for it, and a
    /// failure is no reason to turn a caller away.
    fn note_use(&self, id: &str, day: Date);
}

/// Nobody was given a key.
#[derive(Debug, Clone, Copy)]
pub struct NoKeys;

impl Keys for NoKeys {
    fn find(&self, _: &str, _: &str) -> Result<Option<ApiKey>, Fault> {
        Ok(None)
    }

    fn note_use(&self, _: &str, _: Date) {}
}

/// An API key, as far as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// Its public part.
    pub id: String,
    /// Whose callers it lets in.
    pub agent_id: String,
    /// The caller's name. Several keys may share it, and are the same caller then.
    pub name: String,
    /// SHA-256 of the whole key.
    pub hash: [u8; 32],
    /// What it permits; everything when `None`.
    pub scopes: Option<BTreeSet<Permission>>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// The day (UTC) on which it was used last.
    pub last_used_on: Option<Date>,
}

/// A new key: the only moment at which its text exists on our side.
pub struct Fresh {
    /// The public part, by which it is listed and revoked.
    pub id: String,
    /// The whole key, for the caller.
    pub text: String,
    /// What is kept of it.
    pub hash: [u8; 32],
}

impl Fresh {
    /// A key from the operating system's randomness.
    ///
    /// # Errors
    /// When the operating system has none.
    pub fn generate() -> Result<Self, Fault> {
        let mut random = [0; ID_BYTES + SECRET_BYTES];
        getrandom::fill(&mut random).map_err(|error| {
            // The error type implements the trait only with a feature that is not needed here.
            Fault::new("reading the operating system's randomness", error.to_string())
        })?;
        let (id, secret) = random.split_at(ID_BYTES);
        let id = hex(id);
        let text = format!("{PREFIX}{id}_{}", hex(secret));
        let hash = hash(&text);
        Ok(Self { id, text, hash })
    }
}

/// Whether a key can have this name: it becomes the caller's, beside `anonymous` and `jwt:…`.
#[must_use]
pub fn is_name(name: &str) -> bool {
    // No colon, which stands in the names of everybody else who has a credential.
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    (1..=64).contains(&name.len())
        && name.bytes().all(plain)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !name.eq_ignore_ascii_case(ANONYMOUS)
}

/// Whose key this is.
pub(super) fn judge(
    keys: &dyn Keys,
    agent_id: &str,
    text: &str,
    now: Timestamp,
) -> Result<Principal, Denied> {
    // What has not the form is not looked up: nonsense does not reach the store.
    let id = id_of(text).ok_or(Denied::Invalid { reason: "malformed key" })?;
    let record = keys.find(agent_id, id).map_err(Denied::unavailable)?;
    let hash = hash(text);
    // An unknown id costs the same work.
    let kept = record.as_ref().map_or([0; 32], |record| record.hash);
    let right = bool::from(hash.ct_eq(&kept));
    let Some(record) = record else {
        return Err(Denied::Invalid { reason: "unknown key" });
    };
    if !right {
        return Err(Denied::Invalid { reason: "wrong secret" });
    }
    // After the secret, so that the public part alone tells nobody that a key was revoked or has
    // ended.
    if record.revoked_at.is_some() {
        return Err(Denied::Invalid { reason: "revoked key" });
    }
    if record.expires_at.is_some_and(|end| end <= now) {
        return Err(Denied::Expired);
    }
    let today = now.to_zoned(TimeZone::UTC).date();
    // Once a day, so that a busy key is not written with every request.
    if record.last_used_on != Some(today) {
        keys.note_use(id, today);
    }
    let scopes = record.scopes.map_or(Scopes::All, Scopes::Only);
    Ok(Principal { name: record.name, scopes })
}

fn id_of(text: &str) -> Option<&str> {
    let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
    let is_hex = |text: &str, bytes: usize| {
        text.len() == 2 * bytes && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    };
    (is_hex(id, ID_BYTES) && is_hex(secret, SECRET_BYTES)).then_some(id)
}

fn hash(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_its_id_and_256_bits_and_no_two_are_alike() {
        let (one, two) = (Fresh::generate().unwrap(), Fresh::generate().unwrap());
        assert_eq!(one.text.len(), 3 + 16 + 1 + 64);
        assert_eq!(id_of(&one.text), Some(one.id.as_str()));
        assert_eq!(one.hash, hash(&one.text));
        assert!(one.id != two.id && one.text != two.text && one.hash != two.hash);
    }

    #[test]
    fn only_the_exact_form_is_a_key() {
        let good = Fresh::generate().unwrap().text;
        let upper = good.to_uppercase().replacen("TP_", PREFIX, 1);
        let bad = [&good[..83], &good[3..], &upper, &format!("{good}0"), "tp_", "tp__", "tp_é_é"];
        for text in bad {
            assert_eq!(id_of(text), None, "{text}");
        }
    }

    #[test]
    fn names_are_short_words_and_not_anonymous() {
        for good in ["acme", "Acme-Buyer.2", "7", &"a".repeat(64)] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "anonymous", "Anonymous", "jwt:x", "a b", "-a", "é", &"a".repeat(65)] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
