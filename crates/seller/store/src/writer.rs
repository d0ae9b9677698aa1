//! Writer threads. A file has one writer, which takes the waiting jobs, runs each in a savepoint of one transaction,
//! commits once for all of them, and only then reports the outcomes. A server has several, each with a session and one
//! transaction for each job.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::ErrorCode;
use tokio::time::Instant;
use tradepost_document::fault::InternalError;

use super::health::{StoreHealth, code_of};
use super::privacy::ColumnCipher;
use super::sql::{Connection, SqlBackend};
use super::sqlite;
use super::tables::StoreTransaction;
use super::writer_counts::WriterCounts;

/// Maximum number of jobs that share a commit.
const MAX_BATCH: usize = 64;

/// Maximum number of waiting jobs. Further jobs get an internal error at once instead of a long wait.
const QUEUE_CAPACITY: usize = 8192;

/// Submitted job.
trait Job: Send {
    /// Runs the job; called again when the last run was undone. Returns true to commit.
    fn run(&mut self, tx: &StoreTransaction<'_>) -> bool;

    /// Returns the error of the job.
    fn fault(&self) -> Option<&InternalError>;

    /// Reports the outcome to the caller.
    fn end(self: Box<Self>, committed: Result<(), &Arc<InternalError>>);
}

/// A job with its outcome.
struct WriterJob<T, J, D> {
    job: J,
    outcome: Option<Result<T, InternalError>>,
    done: D,
}

impl<T, J, D> Job for WriterJob<T, J, D>
where
    T: Send,
    J: FnMut(&StoreTransaction<'_>) -> Result<T, InternalError> + Send,
    D: FnOnce(Result<T, InternalError>) + Send,
{
    fn run(&mut self, tx: &StoreTransaction<'_>) -> bool {
        // A job that panics is undone by itself; other jobs go on.
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.job)(tx)))
            .unwrap_or_else(|_| Err(InternalError::new("running a store job", "it panicked")));
        self.outcome.insert(outcome).is_ok()
    }

    fn fault(&self) -> Option<&InternalError> {
        self.outcome.as_ref()?.as_ref().err()
    }

    fn end(self: Box<Self>, committed: Result<(), &Arc<InternalError>>) {
        let outcome = match (self.outcome, committed) {
            (Some(Err(fault)), _) => Err(mark_transient(fault)),
            (Some(Ok(done)), Ok(())) => Ok(done),
            (Some(Ok(_)) | None, Err(fault)) => {
                Err(InternalError::from_shared("committing", fault))
            }
            (None, Ok(())) => unreachable!("what is committed has run every job"),
        };
        (self.done)(outcome);
    }
}

/// Queue of waiting jobs.
type Queue = SyncSender<Box<dyn Job>>;

/// Submitting end of the queues. The threads end when it is dropped.
#[derive(Debug)]
pub(super) struct StoreWriter {
    /// Queue of jobs that keep their order.
    ordered: Queue,
    /// Queue of jobs whose callers wait; the same queue where there is one writer.
    others: Queue,
    counts: WriterCounts,
}

impl StoreWriter {
    /// Starts the one writer of a file.
    pub(super) fn with_connection(
        connection: rusqlite::Connection,
        health: Arc<StoreHealth>,
        cipher: &Arc<ColumnCipher>,
    ) -> Result<Self, InternalError> {
        let counts = WriterCounts::default();
        let counted = counts.clone();
        let connection = Connection::new(SqlBackend::Sqlite(connection), Arc::clone(cipher));
        // Waiting jobs share the commit; no job waits for another to arrive.
        let ordered = start(move |jobs| {
            while let Ok(first) = jobs.recv() {
                let mut batch = vec![first];
                while batch.len() < MAX_BATCH
                    && let Ok(next) = jobs.try_recv()
                {
                    batch.push(next);
                }
                perform(&connection, &health, &counted, batch);
            }
        })?;
        Ok(Self { others: ordered.clone(), ordered, counts })
    }

    /// Starts the writers of a server: the first runs the jobs that keep their order.
    pub(super) fn with_connections(
        first: Connection,
        others: Vec<Connection>,
        health: &Arc<StoreHealth>,
    ) -> Result<Self, InternalError> {
        let counts = WriterCounts::default();
        let work = |connection: Connection, next: Box<dyn Fn() -> Next + Send>| {
            let health = Arc::clone(health);
            let counts = counts.clone();
            move || {
                while let Some(job) = next() {
                    perform(&connection, &health, &counts, vec![job]);
                }
            }
        };
        let (ordered, jobs) = sync_channel(QUEUE_CAPACITY);
        spawn(work(first, Box::new(move || jobs.recv().ok())))?;
        let (shared, jobs) = sync_channel(QUEUE_CAPACITY);
        let jobs = Arc::new(Mutex::new(jobs));
        for connection in others {
            let jobs = Arc::clone(&jobs);
            // One of them waits in `recv` and the others for the lock, which is released with each job.
            let next = move || jobs.lock().unwrap_or_else(PoisonError::into_inner).recv().ok();
            spawn(work(connection, Box::new(next)))?;
        }
        Ok(Self { ordered, others: shared, counts })
    }

    /// Returns the metrics of the writers.
    pub(super) fn counts(&self) -> &WriterCounts {
        &self.counts
    }

    /// Queues a job whose caller waits for it; `done` is called after the commit.
    pub(super) fn submit<T: Send + 'static>(
        &self,
        job: impl FnMut(&StoreTransaction<'_>) -> Result<T, InternalError> + Send + 'static,
        done: impl FnOnce(Result<T, InternalError>) + Send + 'static,
    ) -> Result<(), InternalError> {
        self.queue(&self.others, job, done)
    }

    /// Does the same, after all jobs that were queued by this function before.
    pub(super) fn submit_in_order<T: Send + 'static>(
        &self,
        job: impl FnMut(&StoreTransaction<'_>) -> Result<T, InternalError> + Send + 'static,
        done: impl FnOnce(Result<T, InternalError>) + Send + 'static,
    ) -> Result<(), InternalError> {
        self.queue(&self.ordered, job, done)
    }

    /// Adds a job to a queue without waiting.
    fn queue<T: Send + 'static>(
        &self,
        queue: &Queue,
        job: impl FnMut(&StoreTransaction<'_>) -> Result<T, InternalError> + Send + 'static,
        done: impl FnOnce(Result<T, InternalError>) + Send + 'static,
    ) -> Result<(), InternalError> {
        let job = Box::new(WriterJob { job, outcome: None, done });
        self.counts.queued.inc();
        // Never blocks: async tasks submit, too.
        queue.try_send(job).map_err(|refused| {
            self.counts.queued.dec();
            const WHAT: &str = "queueing a store job";
            match refused {
                TrySendError::Full(_) => {
                    InternalError::new(WHAT, "too many jobs are waiting").transient()
                }
                TrySendError::Disconnected(_) => InternalError::new(WHAT, "the writer is gone"),
            }
        })
    }
}

/// The next job; `None` when there can be no more.
type Next = Option<Box<dyn Job>>;

fn start(
    run: impl FnOnce(&Receiver<Box<dyn Job>>) + Send + 'static,
) -> Result<Queue, InternalError> {
    let (queue, jobs) = sync_channel(QUEUE_CAPACITY);
    spawn(move || run(&jobs))?;
    Ok(queue)
}

fn spawn(run: impl FnOnce() + Send + 'static) -> Result<(), InternalError> {
    std::thread::Builder::new()
        .name("store-writer".to_owned())
        .spawn(run)
        .map(drop)
        .map_err(InternalError::on("starting the store's writer"))
}

/// Commits a batch of jobs and reports the outcome to each.
fn perform(
    connection: &Connection,
    health: &StoreHealth,
    counts: &WriterCounts,
    mut batch: Vec<Box<dyn Job>>,
) {
    let begun = Instant::now();
    let committed = commit(connection, health, &mut batch).map_err(Arc::new);
    counts.committed(batch.len(), committed.is_ok(), begun.elapsed());
    health.committed(committed.as_ref().map(|&()| ()));
    batch.iter().filter_map(|job| job.fault()).for_each(|fault| health.note(fault));
    for job in batch {
        let committed = committed.as_ref().map(|&()| ());
        // A callback may panic, which is no reason to stop writing.
        if catch_unwind(AssertUnwindSafe(|| job.end(committed))).is_err() {
            tracing::error!("nobody could be told how a store job ended");
        }
    }
}

/// Runs the jobs of a batch and commits them.
fn commit(
    connection: &Connection,
    health: &StoreHealth,
    batch: &mut [Box<dyn Job>],
) -> Result<(), InternalError> {
    health.intact()?;
    let tx = StoreTransaction(connection);
    let committed = match &connection.link {
        SqlBackend::Sqlite(file) => sqlite::transaction(file, || {
            // A savepoint each: a refused job undoes nothing of the others.
            batch.iter_mut().try_for_each(|job| sqlite::savepoint(file, || job.run(&tx)))
        }),
        SqlBackend::Postgres(session) => {
            batch.iter_mut().try_for_each(|job| session.transaction(|| job.run(&tx)))
        }
    };
    committed.map_err(mark_transient)?;
    // Data written to a file that was deleted is not stored.
    health.intact()
}

/// Marks errors of SQLite as transient that end when another program has finished, or the disk has been repaired:
/// nothing was stored, and a retry may succeed.
fn mark_transient(fault: InternalError) -> InternalError {
    const TRANSIENT: [ErrorCode; 6] = [
        ErrorCode::DatabaseBusy,
        ErrorCode::DatabaseLocked,
        ErrorCode::DiskFull,
        // A failing disk is remounted read-only, and reports one or the other.
        ErrorCode::ReadOnly,
        ErrorCode::SystemIoFailure,
        ErrorCode::CannotOpen,
    ];
    match code_of(&fault) {
        Some(code) if TRANSIENT.contains(&code) => fault.transient(),
        Some(_) | None => fault,
    }
}

#[cfg(test)]
#[cfg(feature = "sellers")]
mod tests {
    use jiff::{SignedDuration, Timestamp};
    use rusqlite::ffi;
    use tradepost_demo::dealer as demo;

    use super::*;
    use crate::{Store, StoreFailure};

    #[test]
    fn a_read_only_database_refuses_awhile_and_loses_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let now: Timestamp = "2026-04-30T12:00:00Z".parse().unwrap();
        let stored = |store: &Store| store.inventory("one", now, SignedDuration::ZERO).unwrap();
        store.replace_inventory("one", &demo::listings(90, 7, now), now, false).unwrap();
        let before = stored(&store);
        assert_eq!(before.0.len(), 90);
        let only_reads = |tx: &StoreTransaction<'_>| {
            let SqlBackend::Sqlite(file) = &tx.0.link else { unreachable!("it is a file") };
            file.execute_batch("PRAGMA query_only = 1")
                .map_err(InternalError::on("no longer writing"))
        };
        store.write_blocking(only_reads).unwrap();
        for _ in 0..3 {
            let refused = store.replace_inventory("one", &[], now, false).unwrap_err();
            assert!(refused.is_transient(), "{}", refused.chain());
            assert_eq!(stored(&store), before);
        }
        let executor = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let ready = executor.block_on(store.health.check(&store.writer));
        assert_eq!(ready.unwrap_err().failure, StoreFailure::Failing);
        drop(store);
        let store = Store::open(folder.path()).unwrap();
        assert_eq!(stored(&store), before);
        let replaced = store.replace_inventory("one", &[], now, false).unwrap();
        assert_eq!(replaced.removed, 90);
        executor.block_on(store.health.check(&store.writer)).unwrap();
    }

    #[test]
    fn mendable_trouble_ends_soon_and_a_wrong_job_does_not() {
        for (code, expected) in [
            (ffi::SQLITE_BUSY, true),
            (ffi::SQLITE_FULL, true),
            (ffi::SQLITE_READONLY_DBMOVED, true),
            (ffi::SQLITE_IOERR_WRITE, true),
            (ffi::SQLITE_IOERR_FSYNC, true),
            (ffi::SQLITE_CANTOPEN, true),
            (ffi::SQLITE_CORRUPT, false),
            (ffi::SQLITE_CONSTRAINT, false),
        ] {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            let fault = mark_transient(InternalError::on::<rusqlite::Error>("writing")(error));
            assert_eq!(fault.is_transient(), expected, "{code}");
        }
        assert!(
            !mark_transient(InternalError::new("writing", "not in the database")).is_transient()
        );
    }
}
