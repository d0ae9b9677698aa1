//! Implements the traits by which the server reaches a store: key lookup, health, secrets, rate limit permits and the
//! task log.

use std::sync::Weak;
use std::time::Duration;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use jiff::civil::Date;
use sha2::{Digest as _, Sha256};
#[cfg(feature = "sellers")]
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_server::auth::key::KeyLookup;
use tradepost_server::health::Health;
use tradepost_server::limit::{Lease, Permits, RateLimit};
use tradepost_server::signed_text::Secrets;
use tradepost_server::tasks::log::{LogListener, TxCallback, TxJob};

use super::{
    ApiKey, BlockedPushes, ChangeNotice, LogEntry, PushPosition, Store, TaskFilter, TaskLog,
    TaskOwner, TaskRow,
};

impl KeyLookup for Store {
    fn find(&self, agent_id: &str, id: &str) -> Result<Option<ApiKey>, InternalError> {
        self.key_readers.any(|reader| {
            let read_key = || reader.api_key(agent_id, id);
            // Each connection to a file counts changes for itself, so there is only one of these readers.
            match reader.0.version()? {
                Some(version) => self.key_lookups.find(version, agent_id, id, read_key),
                None => read_key(),
            }
        })
    }

    fn note_use(&self, id: &str, day: Date) {
        let id = id.to_owned();
        // Not waited for: a request takes no longer because the use of its key is noted.
        let submitted = self.writer.submit(
            move |tx| tx.note_api_key_use(&id, day),
            |outcome| {
                if let Err(fault) = outcome {
                    tracing::warn!(cause = %fault.chain(), "the use of a key was not noted");
                }
            },
        );
        if let Err(fault) = submitted {
            tracing::warn!(cause = %fault.chain(), "the use of a key was not noted");
        }
    }
}

impl Health for Store {
    fn check(&self) -> BoxFuture<'_, Result<(), &'static str>> {
        Box::pin(async {
            self.health.check(&self.writer).await.map_err(|why| why.failure.message())
        })
    }

    /// Logs an error when the files are not those that were opened.
    fn intact(&self) -> Result<(), InternalError> {
        self.health.intact()
    }

    #[cfg(feature = "sellers")]
    fn remarks(&self) -> Vec<(&'static str, u64)> {
        let dead = self.dead_deliveries();
        let stale = self.stale_feeds();
        vec![
            // An unreadable store is reported by `check`.
            (super::StoreRemark::DeadDeliveries.name(), dead.unwrap_or_default()),
            (super::StoreRemark::StaleFeeds.name(), stale.unwrap_or_default()),
        ]
    }
}

impl Secrets for Store {
    fn secret(&self, name: &'static str, fresh: Vec<u8>) -> Result<Vec<u8>, InternalError> {
        self.write_blocking(move |tx| tx.secret(name, &fresh))
    }
}

impl Permits for Store {
    fn lease(&self, bucket: &str, limit: RateLimit) -> Result<Lease, InternalError> {
        let alone = || InternalError::new("leasing permits", "nobody shares this store");
        let server = self.server.as_ref().ok_or_else(alone)?;
        let interval = i64::try_from(limit.shared_interval().as_micros()).unwrap_or(i64::MAX);
        let bucket = Sha256::digest(bucket).into();
        let leased = server.lease_permits(bucket, limit.requests.into(), interval)?;
        let whole = |number: i64| u32::try_from(number).unwrap_or_default();
        Ok(Lease {
            permits: whole(leased.permits),
            full_in: Duration::from_micros(u64::try_from(leased.full_in).unwrap_or_default()),
            processes: whole(leased.processes),
        })
    }
}

impl TaskLog for Store {
    fn submit(&self, mut job: TxJob, done: TxCallback) -> Result<(), InternalError> {
        // Keeps the order in which the events of a task happened.
        self.writer.submit_in_order(move |tx| job(tx), done)
    }

    fn on_change(&self, listener: Weak<dyn LogListener>) -> Result<(), InternalError> {
        Self::on_change(self, move |notice| {
            let Some(listener) = listener.upgrade() else { return };
            match notice {
                ChangeNotice::Appended { task_id, seq, ended } => {
                    listener.appended(task_id, *seq, *ended)
                }
                ChangeNotice::Any => listener.look(),
                ChangeNotice::Due | ChangeNotice::Changed => {}
            }
        })
    }

    fn standing(&self, task_id: &str) -> Result<(i64, bool), InternalError> {
        self.read(|db| db.standing(task_id))
    }

    fn task(&self, owner: &TaskOwner, task_id: &str) -> Result<Option<TaskRow>, InternalError> {
        self.read(|db| db.task(owner, task_id))
    }

    fn task_entries(
        &self,
        task_id: &str,
        after: i64,
        until: i64,
        with_artifacts: bool,
        limit: usize,
    ) -> Result<Vec<LogEntry>, InternalError> {
        self.read(|db| db.task_entries(task_id, after, until, with_artifacts, limit))
    }

    fn tasks(
        &self,
        owner: &TaskOwner,
        filter: &TaskFilter,
        after: Option<(Timestamp, String)>,
        limit: usize,
    ) -> Result<(Vec<TaskRow>, usize), InternalError> {
        self.read(|db| db.tasks(owner, filter, after, limit))
    }

    fn unfinished_tasks(&self, agent_id: &str) -> Result<Vec<TaskRow>, InternalError> {
        self.read(|db| db.unfinished_tasks(agent_id))
    }

    fn push_configs(
        &self,
        owner: &TaskOwner,
        task_id: &str,
        only: Option<&str>,
        after: &str,
        limit: usize,
    ) -> Result<Vec<PushPosition>, InternalError> {
        self.read(|db| db.push_configs(owner, task_id, only, after, limit))
    }

    fn push_place(&self, key: i64) -> Result<Option<PushPosition>, InternalError> {
        self.read(|db| db.push_place(key))
    }

    fn push_due(
        &self,
        agent_id: &str,
        now: Timestamp,
        busy: &BlockedPushes,
        limit: usize,
    ) -> Result<Vec<PushPosition>, InternalError> {
        self.read_due(|db| db.push_due(agent_id, now, busy, limit))
    }

    fn push_next_due(
        &self,
        agent_id: &str,
        after: Timestamp,
    ) -> Result<Option<Timestamp>, InternalError> {
        self.read_due(|db| db.push_next_due(agent_id, after))
    }
}
