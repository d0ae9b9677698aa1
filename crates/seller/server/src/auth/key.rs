//! API keys: `tp_<id>_<secret>`. The id finds the row, so the lookup does not depend on the secret;
//! the secret has 256 random bits, so one round of SHA-256 is sufficient.

use std::collections::BTreeSet;
use std::fmt;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use tradepost_document::format::hex;

use super::{ANONYMOUS, AuthRefusal, Principal};
use crate::fault::InternalError;
use crate::permission::{Permission, Scopes};

/// Prefix of every key, by which people and secret scanners recognise one.
pub const PREFIX: &str = "tp_";

const ID_BYTES: usize = 8;
const SECRET_BYTES: usize = 32;

/// Lookup of issued API keys.
pub trait KeyLookup: fmt::Debug + Send + Sync {
    /// Returns the key of this agent with this id. It is looked up each time, so that changes by
    /// other processes take effect with the next request.
    ///
    /// # Errors
    /// When it cannot be looked up.
    fn find(&self, agent_id: &str, id: &str) -> Result<Option<ApiKey>, InternalError>;

    /// Records the day on which a key was used, asynchronously. A failure does not affect the
    /// caller.
    fn note_use(&self, id: &str, day: Date);
}

/// A lookup without keys.
#[derive(Debug, Clone, Copy)]
pub struct NoKeys;

impl KeyLookup for NoKeys {
    fn find(&self, _: &str, _: &str) -> Result<Option<ApiKey>, InternalError> {
        Ok(None)
    }

    fn note_use(&self, _: &str, _: Date) {}
}

/// A stored API key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// Public part.
    pub id: String,
    /// Id of the agent.
    pub agent_id: String,
    /// Name of the caller. Keys with the same name belong to the same caller.
    pub name: String,
    /// SHA-256 of the whole key.
    pub hash: [u8; 32],
    /// Permissions; all when `None`.
    pub scopes: Option<BTreeSet<Permission>>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of expiry.
    pub expires_at: Option<Timestamp>,
    /// Time of revocation.
    pub revoked_at: Option<Timestamp>,
    /// Day (UTC) of the last use.
    pub last_used_on: Option<Date>,
}

/// A new key, with the only copy of its text.
///
/// ```
/// use tradepost_server::auth::key::{NewApiKey, is_name};
/// use tradepost_server::clock::Clock;
/// use tradepost_server::memory::MemoryStore;
///
/// let store = MemoryStore::default();
/// let key = NewApiKey::generate()?;
/// assert!(is_name("acme"));
/// store.add_key(key.for_caller("echo", "acme", None, Clock::system().now()));
/// assert!(key.text.starts_with("tp_"));
/// # Ok::<(), tradepost_server::fault::InternalError>(())
/// ```
pub struct NewApiKey {
    /// Public part, by which it is listed and revoked.
    pub id: String,
    /// The whole key, for the caller.
    pub text: String,
    /// Hash to be stored.
    pub hash: [u8; 32],
}

impl NewApiKey {
    /// Generates a key from the operating system's random source.
    ///
    /// # Errors
    /// When the operating system has none.
    pub fn generate() -> Result<Self, InternalError> {
        let mut random = [0; ID_BYTES + SECRET_BYTES];
        getrandom::fill(&mut random).map_err(|error| {
            // The error type implements `Error` only with a feature that is not needed here.
            InternalError::new("reading the operating system's randomness", error.to_string())
        })?;
        let (id, secret) = random.split_at(ID_BYTES);
        let id = hex(id);
        let text = format!("{PREFIX}{id}_{}", hex(secret));
        let hash = hash(&text);
        Ok(Self { id, text, hash })
    }

    /// Returns the key as an agent's store keeps it, for a caller with this name and these permissions (`None` for
    /// all). The text is not in it.
    #[must_use]
    pub fn for_caller(
        &self,
        agent_id: &str,
        name: &str,
        scopes: Option<BTreeSet<Permission>>,
        now: Timestamp,
    ) -> ApiKey {
        ApiKey {
            id: self.id.clone(),
            agent_id: agent_id.to_owned(),
            name: name.to_owned(),
            hash: self.hash,
            scopes,
            created_at: now,
            expires_at: None,
            revoked_at: None,
            last_used_on: None,
        }
    }
}

/// Returns true when a key can have this name, which becomes the caller's beside `anonymous` and
/// `jwt:…`.
#[must_use]
pub fn is_name(name: &str) -> bool {
    // No colon, which separates the parts of other callers' names.
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    (1..=64).contains(&name.len())
        && name.bytes().all(plain)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !name.eq_ignore_ascii_case(ANONYMOUS)
}

/// Returns the principal of a key.
pub(super) fn authenticate(
    keys: &dyn KeyLookup,
    agent_id: &str,
    text: &str,
    now: Timestamp,
) -> Result<Principal, AuthRefusal> {
    // A malformed key is not looked up, so it does not reach the store.
    let id = id_of(text).ok_or(AuthRefusal::Invalid { reason: "malformed key" })?;
    let record = keys.find(agent_id, id).map_err(AuthRefusal::unavailable)?;
    let hash = hash(text);
    // An unknown id costs the same work.
    let stored_hash = record.as_ref().map_or([0; 32], |record| record.hash);
    let right = bool::from(hash.ct_eq(&stored_hash));
    let Some(record) = record else {
        return Err(AuthRefusal::Invalid { reason: "unknown key" });
    };
    if !right {
        return Err(AuthRefusal::Invalid { reason: "wrong secret" });
    }
    // After the secret, so that the public part alone does not tell that a key was revoked or has
    // expired.
    if record.revoked_at.is_some() {
        return Err(AuthRefusal::Invalid { reason: "revoked key" });
    }
    if record.expires_at.is_some_and(|end| end <= now) {
        return Err(AuthRefusal::Expired);
    }
    let today = now.to_zoned(TimeZone::UTC).date();
    // Once a day, so that a busy key does not cause a write with every request.
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
    fn keys_have_an_id_and_256_bits_and_differ() {
        let one = NewApiKey::generate().unwrap();
        let two = NewApiKey::generate().unwrap();
        assert_eq!(one.text.len(), 3 + 16 + 1 + 64);
        assert_eq!(id_of(&one.text), Some(one.id.as_str()));
        assert_eq!(one.hash, hash(&one.text));
        assert!(one.id != two.id && one.text != two.text && one.hash != two.hash);
    }

    #[test]
    fn only_the_exact_form_is_a_key() {
        let good = NewApiKey::generate().unwrap().text;
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
