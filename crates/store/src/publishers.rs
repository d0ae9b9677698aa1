//! Who reads and writes for publishers, and whose turn it is: of the callers of publishers one may be so busy
//! that the others would wait behind it.

use tradepost_publisher::shelf::{StoreTx, StoreWork};
use tradepost_server::limit::LimitKey;
use tradepost_server::turns::{FairScheduler, SchedulerPermit};
use tradepost_wire::fault::InternalError;

use super::{Readers, Store};

/// How many requests read at once; as many are being written or wait for a writer.
const PLACES: usize = 4;

/// How many of these one caller may have at most: half of the store's time is left to the others.
const LARGEST_SHARE: usize = 2;

/// How many requests of one caller read at once. With as many as there are cores, those of others would wait for a
/// time slice of the processor at each step.
fn share() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (cores / 2).clamp(1, LARGEST_SHARE)
}

/// How many connections read: one is left to what no caller has asked for.
pub(crate) const READERS: usize = PLACES + 1;

/// The connections that read for publishers, and the turns of callers.
#[derive(Debug)]
pub(crate) struct PublisherAccess {
    readers: Readers,
    /// Asked whether anything has changed: each connection to a file counts for itself.
    watcher: Readers,
    reads: FairScheduler,
    writes: FairScheduler,
}

impl PublisherAccess {
    pub(crate) fn new(readers: Readers, watcher: Readers) -> Self {
        let turns = || FairScheduler::with_share(PLACES, share());
        Self { readers, watcher, reads: turns(), writes: turns() }
    }
}

impl Store {
    /// Lets a job read what a publisher keeps, in one consistent state.
    ///
    /// # Errors
    /// When the database fails.
    pub fn read_shelf(
        &self,
        publisher: &str,
        job: &mut dyn FnMut(&dyn StoreTx),
    ) -> Result<(), InternalError> {
        self.publishers.readers.any(|reader| reader.read_shelf(publisher, job))
    }

    /// Waits until it is a caller's turn to have the store work for a publisher: a busy caller waits behind its own
    /// requests, and not others behind it. The place is given back when the turn is dropped.
    pub async fn shelf_turn<'s>(&'s self, caller: &'s str, work: StoreWork) -> SchedulerPermit<'s> {
        let turns = match work {
            StoreWork::Read => &self.publishers.reads,
            StoreWork::Write => &self.publishers.writes,
        };
        turns.turn(caller, LimitKey::Credential(caller.to_owned())).await
    }

    /// A number that is another one once anything in the database has changed, by whatever process; `None`
    /// for a server, which would have to be asked as if for what lies there.
    ///
    /// # Errors
    /// When the database fails.
    pub fn shelf_version(&self) -> Result<Option<u64>, InternalError> {
        self.publishers.watcher.any(|reader| reader.0.version())
    }
}
