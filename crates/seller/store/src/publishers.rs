//! Connections of publishers, and fair scheduling of their callers: one caller may be so busy that the others would
//! wait behind it.

use tradepost_document::fault::InternalError;
use tradepost_publisher::store::{StoreRead, StoreTx, StoreWork};
use tradepost_server::fair_scheduler::{FairScheduler, SchedulerPermit};
use tradepost_server::limit::LimitKey;

use super::transaction_error::TransactionError;
use super::{Readers, Store};

/// Number of requests that read at once; as many may be writing or waiting for a writer.
const PLACES: usize = 4;

/// Largest number of these that one caller may use: half of the store's time is left to the others.
const LARGEST_SHARE: usize = 2;

/// Returns the number of requests of one caller that read at once. With as many as there are cores, those of others
/// would wait for a time slice of the processor at each step.
fn share() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (cores / 2).clamp(1, LARGEST_SHARE)
}

/// Number of connections that read: one is left for reads that no caller has asked for.
pub(crate) const READERS: usize = PLACES + 1;

/// Connections that read for publishers, and the schedulers of their callers.
#[derive(Debug)]
pub(crate) struct PublisherAccess {
    readers: Readers,
    /// Connection for reading the version: each connection to a file counts changes for itself.
    version_reader: Readers,
    reads: FairScheduler,
    writes: FairScheduler,
}

impl PublisherAccess {
    pub(crate) fn new(readers: Readers, version_reader: Readers) -> Self {
        let new_scheduler = || FairScheduler::with_share(PLACES, share());
        Self { readers, version_reader, reads: new_scheduler(), writes: new_scheduler() }
    }
}

impl Store {
    /// Runs a job that reads a publisher's data in one consistent snapshot.
    ///
    /// # Errors
    /// When the database fails.
    pub fn read_for_publisher(
        &self,
        publisher: &str,
        job: &mut dyn FnMut(&dyn StoreRead),
    ) -> Result<(), InternalError> {
        self.publishers.readers.any(|reader| reader.read_for_publisher(publisher, job))
    }

    /// Runs a job on a publisher's data in one transaction, for a caller without an async runtime. Nothing changes when
    /// the job fails.
    ///
    /// # Errors
    /// The job's own error, or when the database fails.
    pub fn write_for_publisher<T: Send + 'static, E: Send + 'static>(
        &self,
        publisher: &str,
        mut job: impl FnMut(&dyn StoreTx) -> Result<T, E> + Send + 'static,
    ) -> Result<T, TransactionError<E>> {
        let publisher = publisher.to_owned();
        self.decide(move |tx| {
            tx.with_publisher(&publisher, &mut job)?.map_err(TransactionError::Refused)
        })
    }

    /// Waits until the scheduler lets a caller use the store for a publisher: a busy caller waits behind its own
    /// requests, and others do not. Dropping the permit releases the place.
    pub async fn publisher_turn<'s>(
        &'s self,
        caller: &'s str,
        work: StoreWork,
    ) -> SchedulerPermit<'s> {
        let scheduler = match work {
            StoreWork::Read => &self.publishers.reads,
            StoreWork::Write => &self.publishers.writes,
        };
        scheduler.turn(caller, LimitKey::Credential(caller.to_owned())).await
    }

    /// Returns a number that changes once anything in the database has changed, by any process; `None` for a server,
    /// where reading it would cost as much as reading the data.
    ///
    /// # Errors
    /// When the database fails.
    pub fn publisher_version(&self) -> Result<Option<u64>, InternalError> {
        self.publishers.version_reader.any(|reader| reader.0.version())
    }
}
