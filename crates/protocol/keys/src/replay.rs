//! Replay protection: each nonce of a key is accepted once while its signature is valid. Nothing is
//! evicted to make room, because that would permit replays under load; a key that has used up its
//! room has to wait.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use ring::digest::{SHA256, digest};

/// Maximum number of remembered signatures per key.
pub const PER_KEY: usize = 1_000_000;

/// Maximum number of remembered signatures in total.
const IN_ALL: usize = 2_000_000;

/// Reason why a signature is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayRefusal {
    /// Used before.
    Replayed,
    /// Too many signatures of its key, or in total, are remembered.
    Full,
}

/// A used signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedSignature {
    /// Key id.
    pub key: String,
    /// Hash of its nonce.
    pub nonce: [u8; 16],
    /// Time until which it is remembered.
    pub until: Timestamp,
}

/// Used signatures of one key: the hash of each nonce, and the time until which it is remembered.
type Nonces = HashMap<[u8; 16], Timestamp>;

/// Used signatures by key.
#[derive(Debug, Default)]
pub struct ReplayCache {
    keys: Mutex<HashMap<String, Nonces>>,
}

impl ReplayCache {
    /// Checks that a key has room (step 9a), before anything costly is done.
    ///
    /// # Errors
    /// When it has none.
    pub fn room(&self, key: &str, cap: usize, now: Timestamp) -> Result<(), ReplayRefusal> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        match keys.get_mut(key) {
            Some(used) if used.len() >= cap => {
                used.retain(|_, until| *until > now);
                if used.len() >= cap { Err(ReplayRefusal::Full) } else { Ok(()) }
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Records a signature as used (steps 12 and 13).
    ///
    /// # Errors
    /// The reason why it is refused.
    pub fn take(
        &self,
        key: &str,
        nonce: &str,
        cap: usize,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<UsedSignature, ReplayRefusal> {
        let hash = hash(nonce);
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let used = keys.get(key);
        if used.and_then(|used| used.get(&hash)).is_some_and(|until| *until > now) {
            return Err(ReplayRefusal::Replayed);
        }
        let is_full = |keys: &HashMap<String, Nonces>| {
            keys.get(key).is_some_and(|used| used.len() >= cap)
                || keys.values().map(HashMap::len).sum::<usize>() >= IN_ALL
        };
        // Only when it is full, because searching all of them takes time under the lock.
        if is_full(&keys) {
            forget(&mut keys, now);
            if is_full(&keys) {
                return Err(ReplayRefusal::Full);
            }
        }
        keys.entry(key.to_owned()).or_default().insert(hash, until);
        Ok(UsedSignature { key: key.to_owned(), nonce: hash, until })
    }

    /// Forgets a signature, so that it is accepted again: its message could not be stored, and the
    /// sender may repeat the same bytes.
    pub fn release(&self, used: &UsedSignature) {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(nonces) = keys.get_mut(&used.key) {
            nonces.remove(&used.nonce);
        }
    }

    /// Removes expired signatures.
    pub fn tidy(&self, now: Timestamp) {
        forget(&mut self.keys.lock().unwrap_or_else(PoisonError::into_inner), now);
    }
}

impl FromIterator<UsedSignature> for ReplayCache {
    /// Restores signatures that were used before this process.
    fn from_iter<I: IntoIterator<Item = UsedSignature>>(all: I) -> Self {
        let mut keys: HashMap<String, Nonces> = HashMap::new();
        for UsedSignature { key, nonce, until } in all {
            keys.entry(key).or_default().insert(nonce, until);
        }
        Self { keys: Mutex::new(keys) }
    }
}

fn forget(keys: &mut HashMap<String, Nonces>, now: Timestamp) {
    keys.retain(|_, used| {
        used.retain(|_, until| *until > now);
        !used.is_empty()
    });
}

fn hash(nonce: &str) -> [u8; 16] {
    // Half of the hash: an attacker who finds a collision only gets its own second signature
    // refused.
    let mut hash = [0; 16];
    let whole = digest(&SHA256, nonce.as_bytes());
    hash.iter_mut().zip(whole.as_ref()).for_each(|(to, from)| *to = *from);
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_taken_once_and_never_forgotten_for_room() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let replay = ReplayCache::default();
        let used = |key, nonce, now| replay.take(key, nonce, 2, at(now), at(now + 10));
        let take = |key, nonce, now| used(key, nonce, now).map(drop);
        assert_eq!(take("k", "a", 0), Ok(()));
        assert_eq!(take("k", "a", 9), Err(ReplayRefusal::Replayed));
        assert_eq!(take("other", "a", 9), Ok(()), "keys do not share nonces");
        let other = used("other", "b", 9).unwrap();
        replay.release(&other);
        assert_eq!(used("other", "b", 9), Ok(other), "it was not kept");
        assert_eq!(take("k", "b", 9), Ok(()));
        assert_eq!(replay.room("k", 2, at(9)), Err(ReplayRefusal::Full));
        assert_eq!(take("k", "c", 9), Err(ReplayRefusal::Full));
        assert_eq!(take("k", "b", 9), Err(ReplayRefusal::Replayed), "that it is one is said first");
        assert_eq!(replay.room("third", 2, at(9)), Ok(()));
        assert_eq!(replay.room("k", 2, at(10)), Ok(()), "the first no longer holds");
        assert_eq!(take("k", "c", 10), Ok(()));
        assert_eq!(take("k", "a", 30), Ok(()), "its window keeps it out by then");
        replay.tidy(at(100));
        assert!(replay.keys.lock().unwrap().is_empty());
    }
}
