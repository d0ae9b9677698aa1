//! Checks of a store: whether a [`TaskLog`] of your own does what the library relies on. They are behind the feature
//! `test-suite`, for the tests of the store's crate; the stores of this project pass them too.
//!
//! ```
//! use std::sync::Arc;
//!
//! use tradepost_server::memory::MemoryStore;
//! use tradepost_server::store_tests::{StoreUnderTest, assert_conforms};
//! use tradepost_server::tasks::log::TaskLog;
//!
//! struct InMemory;
//!
//! impl StoreUnderTest for InMemory {
//!     fn open(&self) -> Arc<dyn TaskLog> {
//!         Arc::new(MemoryStore::default())
//!     }
//!
//!     // A store that survives a restart opens its data again here.
//!     fn reopen(&self, _: Arc<dyn TaskLog>) -> Option<Arc<dyn TaskLog>> {
//!         None
//!     }
//! }
//!
//! assert_conforms(&InMemory);
//! ```
//!
//! Each check opens a store of its own. [`CHECKS`] lists them with their names, for a test for each.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::fault::InternalError;
use crate::tasks::log::TaskLog;

mod entries;
mod lists;
mod support;
mod transactions;
mod webhooks;

/// A kind of store.
pub trait StoreUnderTest {
    /// Opens a store without data, of its own for each call.
    fn open(&self) -> Arc<dyn TaskLog>;

    /// Closes a store and opens its data again, as after a restart of the process; `None` for a store that loses its
    /// data with the process.
    fn reopen(&self, store: Arc<dyn TaskLog>) -> Option<Arc<dyn TaskLog>>;
}

/// A check.
#[derive(Clone, Copy)]
pub struct StoreCheck {
    /// What a store has to do.
    pub name: &'static str,
    run: fn(&dyn StoreUnderTest) -> Result<(), WrongStore>,
}

impl fmt::Debug for StoreCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StoreCheck").field(&self.name).finish()
    }
}

/// A failed check.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{check}: {problem}")]
pub struct StoreProblem {
    /// Name of the check.
    pub check: &'static str,
    /// What the store did, and what it has to do.
    pub problem: String,
}

/// Reason why a check failed.
#[derive(Debug)]
struct WrongStore(String);

impl From<InternalError> for WrongStore {
    fn from(fault: InternalError) -> Self {
        Self(fault.chain())
    }
}

impl StoreCheck {
    /// Runs the check on a store of its own.
    ///
    /// # Errors
    /// What the store did wrong; a panic counts too.
    pub fn run(&self, store: &dyn StoreUnderTest) -> Result<(), StoreProblem> {
        let checked = catch_unwind(AssertUnwindSafe(|| (self.run)(store)));
        let panicked = |_| Err(WrongStore("the store panicked".to_owned()));
        let problem = |WrongStore(problem)| StoreProblem { check: self.name, problem };
        checked.unwrap_or_else(panicked).map_err(problem)
    }
}

/// All checks.
pub const CHECKS: &[StoreCheck] = &[
    StoreCheck { name: "a new task has no entries", run: entries::new_task },
    StoreCheck { name: "entries are numbered from one without gaps", run: entries::numbered },
    StoreCheck { name: "an entry changes the state where it has one", run: entries::states },
    StoreCheck { name: "a task that has ended takes no entry", run: entries::ended },
    StoreCheck { name: "an id of a task is given once", run: entries::unique },
    StoreCheck { name: "entries are read by range, kind and limit", run: entries::ranges },
    StoreCheck { name: "bodies come back byte by byte", run: entries::bodies },
    StoreCheck { name: "a transaction reads the messages of a task", run: entries::messages },
    StoreCheck { name: "a task is its owner's alone", run: lists::owners },
    StoreCheck { name: "lists have the latest state first, in pages", run: lists::pages },
    StoreCheck {
        name: "times are kept and compared in whole milliseconds",
        run: lists::milliseconds,
    },
    StoreCheck { name: "lists are filtered and counted", run: lists::filters },
    StoreCheck { name: "unfinished tasks are those that work was left on", run: lists::unfinished },
    StoreCheck { name: "a failed transaction leaves nothing", run: transactions::failed },
    StoreCheck { name: "a job that panics leaves nothing", run: transactions::panicked },
    StoreCheck { name: "callbacks come in the order of the queue", run: transactions::ordered },
    StoreCheck { name: "transactions of many threads lose nothing", run: transactions::threads },
    StoreCheck { name: "the first secret of a name stays", run: transactions::secrets },
    StoreCheck { name: "a webhook is stored, replaced and deleted", run: webhooks::stored },
    StoreCheck { name: "a webhook is due when there is something new", run: webhooks::due },
    StoreCheck { name: "a webhook that fails waits or is given up", run: webhooks::failing },
    StoreCheck { name: "due webhooks leave out the busy ones", run: webhooks::busy },
    StoreCheck { name: "everything survives a restart", run: transactions::restarted },
];

/// Runs all checks.
///
/// # Panics
/// When any fails, with every failure.
pub fn assert_conforms(store: &dyn StoreUnderTest) {
    let failed: Vec<_> = CHECKS
        .iter()
        .filter_map(|check| check.run(store).err())
        .map(|failure| failure.to_string())
        .collect();
    assert!(failed.is_empty(), "the store is not as the library needs it:\n{}", failed.join("\n"));
}
