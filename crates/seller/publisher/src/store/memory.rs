//! In-memory store for tests.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use tradepost_document::fault::InternalError;

use super::{
    EntityKind, EntityOwner, EntityRecord, Job, KeyRow, PublisherStore, Query, ReadExtent,
    StoreRead, StoreTx, Tally, TxEnd,
};
use crate::decision::DecisionEntry;
use crate::services::BoxFuture;

/// In-memory store.
#[derive(Debug, Default)]
pub struct MemoryPublisherStore(Mutex<MemoryState>);

#[derive(Debug, Clone, Default)]
struct MemoryState {
    records: BTreeMap<(EntityKind, String), EntityRecord>,
    keys: BTreeMap<(String, String), KeyRow>,
    decisions: Vec<DecisionEntry>,
    places: u64,
    /// Number of committed writes.
    version: u64,
}

impl MemoryPublisherStore {
    /// Returns the recorded decisions, oldest first.
    #[must_use]
    pub fn decisions(&self) -> Vec<DecisionEntry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).decisions.clone()
    }
}

/// Transaction on a copy of the state.
struct MemoryTx(RefCell<MemoryState>);

impl StoreRead for MemoryTx {
    fn owner_of(&self, kind: EntityKind, id: &str) -> Result<Option<EntityOwner>, InternalError> {
        let found = self.get(kind, id)?;
        Ok(found.map(|record| EntityOwner { owner: record.owner, account: record.account }))
    }

    fn get(&self, kind: EntityKind, id: &str) -> Result<Option<EntityRecord>, InternalError> {
        Ok(self.0.borrow().records.get(&(kind, id.to_owned())).map(read))
    }

    fn get_many(
        &self,
        kind: EntityKind,
        ids: &BTreeSet<String>,
    ) -> Result<Vec<EntityRecord>, InternalError> {
        let state = self.0.borrow();
        let named = ids.iter().filter_map(|id| state.records.get(&(kind, id.clone())).map(read));
        let mut found: Vec<_> = named.collect();
        found.sort_by_key(|record| record.place);
        Ok(found)
    }

    fn list(&self, kind: EntityKind, query: &Query) -> Result<Vec<EntityRecord>, InternalError> {
        let wanted = |record: &&EntityRecord| record.kind == kind && query.matches(record);
        let mut found: Vec<_> = self.0.borrow().records.values().filter(wanted).map(read).collect();
        found.sort_by(|one, other| query.compare(one, other));
        let limit = if query.limit == 0 { usize::MAX } else { query.limit };
        Ok(found.into_iter().skip(query.skip).take(limit).collect())
    }

    fn count(&self, kind: EntityKind, query: &Query) -> Result<Vec<Tally>, InternalError> {
        let mut counts: BTreeMap<(String, String), u64> = BTreeMap::new();
        for record in self.0.borrow().records.values() {
            if record.kind == kind && query.selects(record) {
                *counts.entry((record.state.clone(), record.class.clone())).or_default() += 1;
            }
        }
        let mut tallies = Vec::new();
        for (key, things) in counts {
            let (state, class) = key;
            tallies.push(Tally { state, class, things });
        }
        Ok(tallies)
    }

    fn key(&self, scope: &str, key: &str) -> Result<Option<KeyRow>, InternalError> {
        Ok(self.0.borrow().keys.get(&(scope.to_owned(), key.to_owned())).cloned())
    }
}

impl StoreTx for MemoryTx {
    fn put(&self, mut record: EntityRecord) -> Result<(), InternalError> {
        let mut state = self.0.borrow_mut();
        let place = (record.kind, record.id.clone());
        record.place = state.records.get(&place).map_or(0, |known| known.place);
        if record.place == 0 {
            state.places += 1;
            record.place = state.places;
        }
        state.records.insert(place, record);
        Ok(())
    }

    fn remove(&self, kind: EntityKind, id: &str) -> Result<bool, InternalError> {
        Ok(self.0.borrow_mut().records.remove(&(kind, id.to_owned())).is_some())
    }

    fn remember(&self, scope: &str, key: &str, row: KeyRow) -> Result<(), InternalError> {
        self.0.borrow_mut().keys.insert((scope.to_owned(), key.to_owned()), row);
        Ok(())
    }

    fn record(&self, entry: DecisionEntry) -> Result<(), InternalError> {
        self.0.borrow_mut().decisions.push(entry);
        Ok(())
    }

    fn forget_keys(&self, before: Timestamp) -> Result<(), InternalError> {
        self.0.borrow_mut().keys.retain(|_, row| row.used_at >= before);
        Ok(())
    }
}

/// Returns a record as the database stores return it: without its index terms.
fn read(record: &EntityRecord) -> EntityRecord {
    EntityRecord { terms: Vec::new(), ..record.clone() }
}

impl PublisherStore for MemoryPublisherStore {
    fn read(
        &self,
        _: ReadExtent,
        job: &mut dyn FnMut(&dyn StoreRead),
    ) -> Result<(), InternalError> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        job(&MemoryTx(RefCell::new(state)));
        Ok(())
    }

    fn write(&self, job: Job) -> BoxFuture<'_, Result<(), InternalError>> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let open = MemoryTx(RefCell::new(state.clone()));
        if job(&open) == TxEnd::Keep {
            *state = open.0.into_inner();
            state.version += 1;
        }
        Box::pin(std::future::ready(Ok(())))
    }

    fn version(&self) -> Option<u64> {
        Some(self.0.lock().unwrap_or_else(PoisonError::into_inner).version)
    }
}
