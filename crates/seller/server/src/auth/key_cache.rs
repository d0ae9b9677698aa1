//! Cache of API keys for outages of the store: known callers continue, others get a transient
//! error.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::civil::Date;
use tradepost_document::backoff::Backoff;
use tradepost_document::stale::StaleCache;

use super::key::{ApiKey, KeyLookup};
use crate::clock::Clock;
use crate::fault::InternalError;

/// Time for which a cached key is accepted. While the database is unavailable, a revocation
/// elsewhere takes effect here after this time.
const MAX_AGE: Duration = Duration::from_mins(5);

/// Time between attempts to look up a key during an outage; other requests do not wait.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Maximum number of cached keys.
const MAX_KEYS: usize = 10_000;

/// Cache in front of a key store.
#[derive(Debug)]
pub struct KnownKeys {
    keys: Arc<dyn KeyLookup>,
    clock: Clock,
    known: Mutex<KeyCache>,
}

/// An agent id and the public part of a key.
type KeyName = (String, String);

/// Keys with the time of their lookup, by [`Clock::elapsed`].
type KeyCache = StaleCache<KeyName, ApiKey>;

fn key_cache() -> KeyCache {
    StaleCache::new(MAX_KEYS, MAX_AGE, Backoff::constant(RETRY_INTERVAL))
}

fn usable(known: &mut KeyCache, name: &KeyName, now: Duration) -> Option<ApiKey> {
    known.usable(name, now).map(|entry| entry.value.clone())
}

impl KnownKeys {
    /// Creates a cache in front of these keys.
    #[must_use]
    pub fn new(keys: Arc<dyn KeyLookup>, clock: Clock) -> Self {
        Self { keys, clock, known: Mutex::new(key_cache()) }
    }

    fn with<T>(&self, work: impl FnOnce(&mut KeyCache) -> T) -> T {
        work(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl KeyLookup for KnownKeys {
    fn find(&self, agent_id: &str, id: &str) -> Result<Option<ApiKey>, InternalError> {
        let name = (agent_id.to_owned(), id.to_owned());
        let now = self.clock.elapsed();
        let meanwhile = self.with(|known| {
            let is_asked = known.breaker().try_ask(now);
            if is_asked { None } else { usable(known, &name, now) }
        });
        if meanwhile.is_some() {
            return Ok(meanwhile);
        }
        match self.keys.find(agent_id, id) {
            Ok(found) => self.with(|known| {
                known.breaker().succeeded();
                match &found {
                    Some(key) => known.insert(name, key.clone(), now),
                    None => known.remove(&name),
                }
                Ok(found)
            }),
            Err(fault) if fault.is_transient() => self.with(|known| {
                let now = self.clock.elapsed();
                if known.breaker().failed(now, ()) {
                    let cause = fault.chain();
                    tracing::warn!(%cause, "keys cannot be looked up; those that are known go on for a while");
                }
                usable(known, &name, now).map(Some).ok_or(fault)
            }),
            Err(fault) => Err(fault),
        }
    }

    fn note_use(&self, id: &str, day: Date) {
        // Recorded in the cache as well, because during an outage it would be recorded again with
        // each request.
        self.with(|known| {
            for ((_, known_id), key) in known.iter_mut() {
                if known_id == id {
                    key.last_used_on = Some(day);
                }
            }
        });
        self.keys.note_use(id, day);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use jiff::{SignedDuration, Timestamp};

    use super::*;

    /// A key store with one key, which can be made unavailable.
    #[derive(Debug, Default)]
    struct UnreliableKeys {
        is_unavailable: AtomicBool,
        is_revoked: AtomicBool,
        lookups: AtomicUsize,
    }

    impl KeyLookup for UnreliableKeys {
        fn find(&self, agent_id: &str, id: &str) -> Result<Option<ApiKey>, InternalError> {
            self.lookups.fetch_add(1, Ordering::SeqCst);
            if self.is_unavailable.load(Ordering::SeqCst) {
                return Err(InternalError::new("looking a key up", "nobody answers").transient());
            }
            let at = Timestamp::UNIX_EPOCH;
            Ok((agent_id == "shop" && id == "one").then(|| ApiKey {
                id: id.to_owned(),
                agent_id: agent_id.to_owned(),
                name: "acme".to_owned(),
                hash: [7; 32],
                scopes: None,
                created_at: at,
                expires_at: None,
                revoked_at: self.is_revoked.load(Ordering::SeqCst).then_some(at),
                last_used_on: None,
            }))
        }

        fn note_use(&self, _: &str, _: Date) {}
    }

    #[test]
    fn known_callers_go_on_for_a_while_others_do_not() {
        let key_store = Arc::new(UnreliableKeys::default());
        let (clock, manual_clock) = Clock::manual(Timestamp::UNIX_EPOCH);
        let keys = KnownKeys::new(Arc::clone(&key_store) as _, clock);
        let find = |id: &str| keys.find("shop", id).map(|key| key.is_some());
        let set_unavailable =
            |is_unavailable| key_store.is_unavailable.store(is_unavailable, Ordering::SeqCst);
        let lookups = || key_store.lookups.swap(0, Ordering::SeqCst);
        assert!(matches!((find("one"), find("two")), (Ok(true), Ok(false))));
        assert_eq!(lookups(), 2, "as long as it can be asked, it is asked each time");

        set_unavailable(true);
        for _ in 0..10 {
            assert!(find("one").unwrap());
        }
        assert_eq!(lookups(), 1, "one tries, and the others do not wait");
        assert!(find("two").unwrap_err().is_transient(), "we cannot tell");
        assert!(keys.find("other shop", "one").unwrap_err().is_transient());
        manual_clock.advance(SignedDuration::from_secs(2));
        let _ = lookups();
        assert!(find("one").unwrap() && find("one").unwrap());
        assert_eq!(lookups(), 1);
        manual_clock.advance(SignedDuration::from_mins(5));
        assert!(find("one").unwrap_err().is_transient(), "it was looked up too long ago");

        set_unavailable(false);
        key_store.is_revoked.store(true, Ordering::SeqCst);
        manual_clock.advance(SignedDuration::from_secs(1));
        let key = keys.find("shop", "one").unwrap().unwrap();
        assert!(key.revoked_at.is_some(), "what happened meanwhile holds as soon as it is heard");
        set_unavailable(true);
        let key = keys.find("shop", "one").unwrap().unwrap();
        assert!(key.revoked_at.is_some(), "and stays so");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut known = key_cache();
        let key_store = UnreliableKeys::default();
        let key = key_store.find("shop", "one").unwrap().unwrap();
        let name = |number: usize| ("shop".to_owned(), number.to_string());
        (0..MAX_KEYS + 5)
            .for_each(|number| known.insert(name(number), key.clone(), Duration::ZERO));
        assert_eq!(known.len(), MAX_KEYS);
        assert!(known.usable(&name(4), Duration::ZERO).is_none(), "who came first goes first");
        assert!(known.usable(&name(5), Duration::ZERO).is_some());
        assert!(known.usable(&name(5), MAX_AGE).is_none());
        known.insert(name(5), key, MAX_AGE);
        assert!(known.usable(&name(5), MAX_AGE).is_some(), "who is known is renewed");
    }
}
