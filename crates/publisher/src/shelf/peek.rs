//! A shelf that is looked at by a job which mostly changes nothing: a job that would change something
//! after all is stopped, and is then run in a transaction.

use std::cell::Cell;

use tradepost_wire::fault::InternalError;

use super::{EntityKind, EntityOwner, EntityRecord, KeyRow, Query, StoreTx, Tally};

/// The shelf.
pub(crate) struct ReadOnlyAttempt<'a> {
    shelf: &'a dyn StoreTx,
    /// Whether something was to be changed.
    wanted: Cell<bool>,
}

impl<'a> ReadOnlyAttempt<'a> {
    /// Lets a job look at a shelf. What it came to; `None` when it would have changed something.
    pub(crate) fn at<T>(shelf: &'a dyn StoreTx, job: impl FnOnce(&dyn StoreTx) -> T) -> Option<T> {
        let peek = Self { shelf, wanted: Cell::new(false) };
        let done = job(&peek);
        // By what was wanted and not by how the job has ended: it may have caught the error and
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
        // An error ends most jobs here; nobody is shown it, because `at` gives nothing then.
        Err(InternalError::new("looking at what is kept", "something was to be changed"))
    }
}
