//! The one thread that writes: group commit over a queue of jobs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use rusqlite::ErrorCode;
use tokio::time::Instant;
use tradepost_wire::fault::Fault;

use super::counts::Counts;
use super::health::{Health, code_of};
use super::sqlite::{Database, Transaction};

/// How many jobs share a commit at most.
const BATCH: usize = 64;

/// How many jobs may wait. Whoever comes then hears a fault at once instead of waiting for long.
const QUEUE: usize = 8192;

/// What was submitted.
trait Job: Send {
    /// Does it, in a savepoint. Says whether to keep what was done.
    fn run(&mut self, tx: &Transaction<'_>) -> bool;

    /// What went wrong in it.
    fn fault(&self) -> Option<&Fault>;

    /// Tells the caller how it ended.
    fn end(self: Box<Self>, committed: Result<(), &Arc<Fault>>);
}

/// A job with its outcome.
struct Task<T, J, D> {
    job: Option<J>,
    outcome: Option<Result<T, Fault>>,
    done: D,
}

impl<T, J, D> Job for Task<T, J, D>
where
    T: Send,
    J: FnOnce(&Transaction<'_>) -> Result<T, Fault> + Send,
    D: FnOnce(Result<T, Fault>) + Send,
{
    fn run(&mut self, tx: &Transaction<'_>) -> bool {
        let job = self.job.take();
        let outcome = catch_unwind(AssertUnwindSafe(|| job.map(|job| job(tx))))
            .unwrap_or_else(|_| Some(Err(Fault::new("running a store job", "it panicked"))));
        self.outcome = outcome;
        matches!(self.outcome, Some(Ok(_)))
    }

    fn fault(&self) -> Option<&Fault> {
        self.outcome.as_ref()?.as_ref().err()
    }

    fn end(self: Box<Self>, committed: Result<(), &Arc<Fault>>) {
        let outcome = match (self.outcome, committed) {
            (Some(Err(fault)), _) => Err(fault),
            (Some(Ok(done)), Ok(())) => Ok(done),
            (Some(Ok(_)) | None, Err(fault)) => Err(Fault::shared("committing", fault)),
            (None, Ok(())) => unreachable!("what is committed has run every job"),
        };
        (self.done)(outcome);
    }
}

/// The queue's front end. The thread ends when the last front end is gone.
#[derive(Debug)]
pub(super) struct Writer {
    queue: SyncSender<Box<dyn Job>>,
    counts: Counts,
}

impl Writer {
    /// Starts the thread.
    pub(super) fn start(database: Database, health: Arc<Health>) -> Result<Self, Fault> {
        let (queue, jobs) = sync_channel(QUEUE);
        let counts = Counts::default();
        let counted = counts.clone();
        std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || run(&database, &health, &jobs, &counted))
            .map_err(Fault::on("starting the store's writer"))?;
        Ok(Self { queue, counts })
    }

    /// What it has counted.
    pub(super) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Queues a job; `done` is called after the commit.
    pub(super) fn submit<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Transaction<'_>) -> Result<T, Fault> + Send + 'static,
        done: impl FnOnce(Result<T, Fault>) + Send + 'static,
    ) -> Result<(), Fault> {
        let job = Box::new(Task { job: Some(job), outcome: None, done });
        self.counts.queued.inc();
        self.queue.try_send(job).map_err(|refused| {
            self.counts.queued.dec();
            const WHAT: &str = "queueing a store job";
            match refused {
                TrySendError::Full(_) => Fault::new(WHAT, "too many jobs are waiting").transient(),
                TrySendError::Disconnected(_) => Fault::new(WHAT, "the writer is gone"),
            }
        })
    }
}

fn run(database: &Database, health: &Health, jobs: &Receiver<Box<dyn Job>>, counts: &Counts) {
    while let Ok(first) = jobs.recv() {
        let mut batch = vec![first];
        while batch.len() < BATCH
            && let Ok(next) = jobs.try_recv()
        {
            batch.push(next);
        }
        let begun = Instant::now();
        let committed = commit(database, health, &mut batch).map_err(Arc::new);
        counts.committed(batch.len(), committed.is_ok(), begun.elapsed());
        health.committed(committed.as_ref().map(|&()| ()));
        batch.iter().filter_map(|job| job.fault()).for_each(|fault| health.note(fault));
        for job in batch {
            let committed = committed.as_ref().map(|&()| ());
            // Whoever is told may panic, which is no reason to stop writing.
            if catch_unwind(AssertUnwindSafe(|| job.end(committed))).is_err() {
                tracing::error!("nobody could be told how a store job ended");
            }
        }
    }
}

fn commit(database: &Database, health: &Health, batch: &mut [Box<dyn Job>]) -> Result<(), Fault> {
    health.intact()?;
    let committed = database
        .transaction(|tx| batch.iter_mut().try_for_each(|job| tx.savepoint(|tx| job.run(tx))));
    committed.map_err(|fault| {
        let passing = [ErrorCode::DatabaseBusy, ErrorCode::DatabaseLocked, ErrorCode::DiskFull];
        match code_of(&fault) {
            Some(code) if passing.contains(&code) => fault.transient(),
            Some(_) | None => fault,
        }
    })?;
    // What went to a file that is no longer there is not stored.
    health.intact()
}
