//! The one thread that writes: group commit over a queue of jobs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use super::sqlite::{Database, Transaction};
use crate::fault::Fault;

/// How many jobs share a commit at most.
const BATCH: usize = 64;

/// How many jobs may wait. Whoever comes then hears a fault at once instead of waiting for long.
const QUEUE: usize = 8192;

/// Tells a job's caller how it ended; gets whether the commit succeeded.
type Completion = Box<dyn FnOnce(Result<(), Fault>) + Send>;

/// Runs inside a savepoint; says whether to keep the work, and how to tell the caller.
type Job = Box<dyn FnOnce(&Transaction<'_>) -> (bool, Completion) + Send>;

/// The queue's front end. The thread ends when the last front end is gone.
#[derive(Debug)]
pub(super) struct Writer {
    queue: SyncSender<Job>,
}

impl Writer {
    /// Starts the thread.
    pub(super) fn start(database: Database) -> Result<Self, Fault> {
        let (queue, jobs) = sync_channel(QUEUE);
        std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || run(&database, &jobs))
            .map_err(Fault::on("starting the store's writer"))?;
        Ok(Self { queue })
    }

    /// Queues a job; `done` is called after the commit.
    pub(super) fn submit<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Transaction<'_>) -> Result<T, Fault> + Send + 'static,
        done: impl FnOnce(Result<T, Fault>) + Send + 'static,
    ) -> Result<(), Fault> {
        let job: Job = Box::new(move |tx| {
            let outcome = catch_unwind(AssertUnwindSafe(|| job(tx)))
                .unwrap_or_else(|_| Err(Fault::new("running a store job", "it panicked")));
            let keep = outcome.is_ok();
            (keep, Box::new(move |committed| done(outcome.and_then(|t| committed.map(|()| t)))))
        });
        self.queue.try_send(job).map_err(|refused| {
            const WHAT: &str = "queueing a store job";
            match refused {
                TrySendError::Full(_) => Fault::new(WHAT, "too many jobs are waiting").transient(),
                TrySendError::Disconnected(_) => Fault::new(WHAT, "the writer is gone"),
            }
        })
    }
}

fn run(database: &Database, jobs: &Receiver<Job>) {
    while let Ok(first) = jobs.recv() {
        let mut batch = vec![first];
        while batch.len() < BATCH
            && let Ok(next) = jobs.try_recv()
        {
            batch.push(next);
        }
        let mut completions = Vec::with_capacity(batch.len());
        let committed = database.transaction(|tx| {
            for job in batch {
                tx.savepoint(|tx| {
                    let (keep, completion) = job(tx);
                    completions.push(completion);
                    keep
                })?;
            }
            Ok(())
        });
        // A batch that could not even begin has dropped its jobs, and with them their callers'
        // channels, which those see as a fault.
        for completion in completions {
            completion(match &committed {
                Ok(()) => Ok(()),
                Err(fault) => Err(Fault::new("committing", format!("{fault}"))),
            });
        }
        if let Err(fault) = committed {
            tracing::error!(cause = %fault.chain(), "the store could not commit");
        }
    }
}
