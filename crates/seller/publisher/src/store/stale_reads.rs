//! Cache of recent reads for store outages: a search that needs nothing else is answered from here,
//! and its reply says how old the data is.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tradepost_document::backoff::Backoff;
use tradepost_document::fault::InternalError;
use tradepost_document::stale::{StaleCache, StaleEntry};

use super::{EntityKind, EntityOwner, EntityRecord, KeyRow, Query, StoreRead, Tally};

/// Lifetime of a cached read. It is short because permissions are cached too, and another process may
/// have revoked them.
const MAX_AGE: Duration = Duration::from_mins(5);

/// Minimum time between attempts during an outage: one search tries the store, the others do not
/// wait for it.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Maximum size of the cache, counted in entries plus the records in them.
const MOST: usize = 20_000;

/// Read operation, as the key of the cache.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum RecentQuery {
    OwnerOf(EntityKind, String),
    Get(EntityKind, String),
    List(EntityKind, Query),
}

/// Result of a read operation.
#[derive(Debug, Clone)]
enum RecentResult {
    OwnerOf(Option<EntityOwner>),
    Records(Vec<EntityRecord>),
}

impl RecentResult {
    fn size(&self) -> usize {
        match self {
            Self::OwnerOf(_) => 1,
            Self::Records(records) => 1 + records.len(),
        }
    }
}

/// Results by the read operation.
type RecentResults = StaleCache<RecentQuery, RecentResult>;

/// Cache of recent reads.
#[derive(Debug)]
pub(crate) struct RecentReads(Mutex<RecentResults>);

impl Default for RecentReads {
    fn default() -> Self {
        Self(Mutex::new(StaleCache::new(MOST, MAX_AGE, Backoff::constant(RETRY_INTERVAL))))
    }
}

impl RecentReads {
    fn with<T>(&self, work: impl FnOnce(&mut RecentResults) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns true when the store failed so recently that it may not be asked again yet. After the pause one caller
    /// gets false, and the others wait for what it finds.
    pub(crate) fn must_not_ask(&self, now: Duration) -> bool {
        self.with(|recent| !recent.breaker().try_ask(now))
    }

    /// Records whether the store has answered.
    pub(crate) fn answered(&self, has_answered: bool, now: Duration) {
        self.with(|recent| {
            if has_answered {
                recent.breaker().succeeded();
            } else {
                recent.breaker().failed(now, ());
            }
        });
    }

    fn note(&self, asked: RecentQuery, found: RecentResult, now: Duration) {
        self.with(|recent| {
            let size = found.size();
            // One long list must not displace the rest of the cache.
            if size > MOST / 10 {
                recent.remove(&asked);
            } else {
                recent.insert_weighed(asked, found, now, size);
            }
        });
    }
}

/// Transaction that caches what is read through it.
pub(crate) struct RecordingReader<'a> {
    pub(crate) reader: &'a dyn StoreRead,
    pub(crate) recent: &'a RecentReads,
    pub(crate) now: Duration,
}

impl StoreRead for RecordingReader<'_> {
    fn owner_of(&self, kind: EntityKind, id: &str) -> Result<Option<EntityOwner>, InternalError> {
        let found = self.reader.owner_of(kind, id)?;
        let asked = RecentQuery::OwnerOf(kind, id.to_owned());
        self.recent.note(asked, RecentResult::OwnerOf(found.clone()), self.now);
        Ok(found)
    }

    fn get(&self, kind: EntityKind, id: &str) -> Result<Option<EntityRecord>, InternalError> {
        let found = self.reader.get(kind, id)?;
        let records = RecentResult::Records(found.iter().cloned().collect());
        self.recent.note(RecentQuery::Get(kind, id.to_owned()), records, self.now);
        Ok(found)
    }

    fn get_many(
        &self,
        kind: EntityKind,
        ids: &BTreeSet<String>,
    ) -> Result<Vec<EntityRecord>, InternalError> {
        let found = self.reader.get_many(kind, ids)?;
        for id in ids {
            let records = found.iter().filter(|record| record.id == *id).cloned().collect();
            let asked = RecentQuery::Get(kind, id.clone());
            self.recent.note(asked, RecentResult::Records(records), self.now);
        }
        Ok(found)
    }

    fn list(&self, kind: EntityKind, query: &Query) -> Result<Vec<EntityRecord>, InternalError> {
        let found = self.reader.list(kind, query)?;
        let asked = RecentQuery::List(kind, query.clone());
        self.recent.note(asked, RecentResult::Records(found.clone()), self.now);
        Ok(found)
    }

    // Searches do not count records.
    fn count(&self, kind: EntityKind, query: &Query) -> Result<Vec<Tally>, InternalError> {
        self.reader.count(kind, query)
    }

    // The result of an idempotency key must never be stale.
    fn key(&self, scope: &str, key: &str) -> Result<Option<KeyRow>, InternalError> {
        self.reader.key(scope, key)
    }
}

/// Read-only transaction on the cache. A read that is not cached is an error.
pub(crate) struct StaleReader<'a> {
    recent: &'a RecentReads,
    now: Duration,
    /// Oldest time among the entries read.
    oldest: RefCell<Option<Duration>>,
    lacked: Cell<bool>,
}

impl<'a> StaleReader<'a> {
    pub(crate) fn new(recent: &'a RecentReads, now: Duration) -> Self {
        Self { recent, now, oldest: RefCell::default(), lacked: Cell::new(false) }
    }

    /// Age in seconds of the oldest entry read; `None` when some read was not cached.
    pub(crate) fn age(&self) -> Option<u64> {
        let oldest = self.oldest.borrow().unwrap_or(self.now);
        (!self.lacked.get()).then(|| self.now.saturating_sub(oldest).as_secs())
    }

    fn find(&self, asked: &RecentQuery) -> Result<RecentResult, InternalError> {
        let known = self.recent.with(|recent| recent.usable(asked, self.now).cloned());
        match known {
            Some(StaleEntry { value, read_at }) => {
                let mut oldest = self.oldest.borrow_mut();
                *oldest = Some(oldest.map_or(read_at, |oldest| oldest.min(read_at)));
                Ok(value)
            }
            None => Err(self.lacks()),
        }
    }

    fn lacks(&self) -> InternalError {
        self.lacked.set(true);
        InternalError::new("recalling what was read", "it was not read lately").transient()
    }

    fn records(&self, asked: &RecentQuery) -> Result<Vec<EntityRecord>, InternalError> {
        match self.find(asked)? {
            RecentResult::Records(records) => Ok(records),
            RecentResult::OwnerOf(_) => Err(self.lacks()),
        }
    }
}

impl StoreRead for StaleReader<'_> {
    fn owner_of(&self, kind: EntityKind, id: &str) -> Result<Option<EntityOwner>, InternalError> {
        match self.find(&RecentQuery::OwnerOf(kind, id.to_owned()))? {
            RecentResult::OwnerOf(owner) => Ok(owner),
            RecentResult::Records(_) => Err(self.lacks()),
        }
    }

    fn get(&self, kind: EntityKind, id: &str) -> Result<Option<EntityRecord>, InternalError> {
        Ok(self.records(&RecentQuery::Get(kind, id.to_owned()))?.into_iter().next())
    }

    fn get_many(
        &self,
        kind: EntityKind,
        ids: &BTreeSet<String>,
    ) -> Result<Vec<EntityRecord>, InternalError> {
        let mut found = Vec::new();
        for id in ids {
            found.extend(self.get(kind, id)?);
        }
        found.sort_by_key(|record| record.place);
        Ok(found)
    }

    fn list(&self, kind: EntityKind, query: &Query) -> Result<Vec<EntityRecord>, InternalError> {
        self.records(&RecentQuery::List(kind, query.clone()))
    }

    fn count(&self, _: EntityKind, _: &Query) -> Result<Vec<Tally>, InternalError> {
        Err(self.lacks())
    }

    fn key(&self, _: &str, _: &str) -> Result<Option<KeyRow>, InternalError> {
        Err(self.lacks())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_bounded_and_counted_once() {
        let recent = RecentReads::default();
        let now = Duration::ZERO;
        let note = |id: usize, now| {
            recent.note(
                RecentQuery::OwnerOf(EntityKind::Account, id.to_string()),
                RecentResult::OwnerOf(None),
                now,
            );
        };
        let size = || recent.with(|recent| (recent.weight(), recent.len()));
        (0..10).for_each(|_| note(1, now));
        assert_eq!(size(), (1, 1));
        (0..MOST).for_each(|id| note(id, now));
        assert_eq!(size(), (MOST, MOST));
        note(MOST, now);
        assert_eq!(size(), (MOST, MOST));
        let is_known = |id: usize| {
            let asked = RecentQuery::OwnerOf(EntityKind::Account, id.to_string());
            recent.with(|recent| recent.usable(&asked, Duration::ZERO).is_some())
        };
        assert!(
            !is_known(0) && is_known(1) && is_known(MOST),
            "what was read longest ago goes first"
        );
    }
}
