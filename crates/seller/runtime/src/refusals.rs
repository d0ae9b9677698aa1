//! Records refusals apart from the requests: no request waits for it, and a flood costs one short
//! transaction a second.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_server::clock::Clock;
use tradepost_server::fault::InternalError;
use tradepost_server::refusals::{RefusalSink, RefusedRequest};
use tradepost_store::Store;
use tradepost_store::refusals::{RefusalCount, RefusalRecord};

use crate::recorder::{DeletionTimer, oldest_kept, write_regularly};

/// Maximum number of unwritten refusals; more are only counted.
const WAITING: usize = 500;

/// Maximum number of field errors that are recorded for a request.
const MAX_FIELD_ERRORS: usize = 20;

/// Maximum number of refusals that are kept for each agent.
const EACH: u32 = 10_000;

/// Recorder of refusals.
#[derive(Debug)]
pub struct RefusalRecorder {
    store: Arc<Store>,
    clock: Clock,
    waiting: Mutex<UnwrittenRefusals>,
}

/// Refusals and counts that are not written yet.
#[derive(Debug, Default)]
struct UnwrittenRefusals {
    refusals: Vec<RefusalRecord>,
    /// Counts by agent, hour and code; ordered, so that processes with one database update them in
    /// one order.
    counts: BTreeMap<(String, Timestamp, &'static str), i64>,
    deletions: DeletionTimer,
}

impl RefusalRecorder {
    /// Creates a recorder for a store.
    #[must_use]
    pub fn new(store: Arc<Store>, clock: Clock) -> Self {
        Self { store, clock, waiting: Mutex::default() }
    }

    /// Writes what is queued, and deletes old refusals at intervals.
    ///
    /// # Errors
    /// Fails when the store fails; the queued refusals are lost then, because they must not pile
    /// up.
    pub async fn write(&self) -> Result<(), InternalError> {
        let now = self.clock.now();
        let (refusals, counts, forgets) = self.take(now);
        if counts.is_empty() && !forgets {
            return Ok(());
        }
        let since = oldest_kept(now);
        let job = move |tx: &tradepost_store::StoreTransaction<'_>| {
            tx.keep_refusals(&refusals, &counts)?;
            if forgets { tx.forget_refusals(since, EACH) } else { Ok(()) }
        };
        self.store.write(job).await
    }

    fn take(&self, now: Timestamp) -> (Vec<RefusalRecord>, Vec<RefusalCount>, bool) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let forgets = waiting.deletions.is_due(now);
        let counts = std::mem::take(&mut waiting.counts).into_iter();
        let counts = counts.map(|((agent_id, hour, code), refused)| RefusalCount {
            agent_id,
            hour,
            code: code.to_owned(),
            refused,
        });
        (std::mem::take(&mut waiting.refusals), counts.collect(), forgets)
    }

    /// Writes every second until `stopped` resolves, and then once more.
    pub async fn run(self: Arc<Self>, stopped: impl Future<Output = ()>) {
        write_regularly(stopped, "refusals could not be remembered", || {
            let this = Arc::clone(&self);
            async move { this.write().await }
        })
        .await;
    }
}

impl RefusalSink for RefusalRecorder {
    fn note(&self, refused: RefusedRequest) {
        let RefusedRequest { agent, at, code, error_id, operation, caller, misfits } = refused;
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        *waiting.counts.entry((agent.clone(), hour(at), code)).or_default() += 1;
        if let Some(error_id) = error_id.filter(|_| waiting.refusals.len() < WAITING) {
            let field_errors = misfits.into_iter().take(MAX_FIELD_ERRORS);
            waiting.refusals.push(RefusalRecord {
                error_id,
                agent_id: agent,
                at,
                code: code.to_owned(),
                operation: operation.map(str::to_owned),
                caller: caller.name().to_owned(),
                misfits: field_errors
                    .map(|error| (error.pointer, error.keyword.to_owned()))
                    .collect(),
            });
        }
    }
}

/// Returns the beginning of the hour of a moment.
fn hour(at: Timestamp) -> Timestamp {
    const SECONDS: i64 = 3600;
    let second = at.as_second().div_euclid(SECONDS) * SECONDS;
    Timestamp::from_second(second).unwrap_or(at)
}
