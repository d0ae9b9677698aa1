//! Read-only attempt of a job that usually changes nothing. A job that would write is stopped and is
//! then run again in a transaction.

use std::cell::Cell;

use tradepost_document::fault::InternalError;

use super::{EntityKind, EntityOwner, EntityRecord, KeyRow, Query, StoreTx, Tally};

/// Read-only view of a store.
pub(crate) struct ReadOnlyAttempt<'a> {
    shelf: &'a dyn StoreTx,
    /// True once the job has tried to write.
    wanted: Cell<bool>,
}

impl<'a> ReadOnlyAttempt<'a> {
    /// Runs a job on a read-only view. Returns its result, or `None` when it tried to write.
    pub(crate) fn at<T>(shelf: &'a dyn StoreTx, job: impl FnOnce(&dyn StoreTx) -> T) -> Option<T> {
        let peek = Self { shelf, wanted: Cell::new(false) };
        let done = job(&peek);
        // Decided by the attempt to write, not by the result: the job may have caught the error and
        // gone on.
        (!peek.wanted.get()).then_some(done)
    }
}

impl StoreTx for ReadOnlyAttempt<'_> {
    fn whose(&self, kind: EntityKind, id: &str) -> Result<Option<EntityOwner>, InternalError> {
        self.shelf.whose(kind, id)
    }

    fn get(&self, kind: EntityKind, id: &str) -> Result<Option<EntityRecord>, InternalError> {
        self.shelf.get(kind, id)
    }

    fn list(&self, kind: EntityKind, query: &Query) -> Result<Vec<EntityRecord>, InternalError> {
        self.shelf.list(kind, query)
    }

    fn count(&self, kind: EntityKind, query: &Query) -> Result<Vec<Tally>, InternalError> {
        self.shelf.count(kind, query)
    }

    fn key(&self, scope: &str, key: &str) -> Result<Option<KeyRow>, InternalError> {
        self.shelf.key(scope, key)
    }

    fn check_writable(&self) -> Result<(), InternalError> {
        self.wanted.set(true);
        // The error stops most jobs here; it is never shown, because `at` then returns `None`.
        Err(InternalError::new("looking at what is kept", "something was to be changed"))
    }
}
