//! Webhooks and the state of their deliveries. There is no queue of deliveries: the task's log is the queue, and a
//! webhook is a position in it.

use jiff::Timestamp;
use tradepost_document::fault::InternalError;
use tradepost_server::tasks::log::{
    BlockedPushes, PushPosition, PushStored, PushTarget, PushWriter, TaskOwner,
};

use super::{Database, StoreTransaction};
use crate::change_notice::ChangeNotice;
use crate::sql::{RowResult, SqlRow, params};

/// The table, as a migration.
pub(crate) const SCHEMA: &str = "
    CREATE TABLE push_configs (
        key         INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used twice: what is noted of a
                                                        -- webhook is not noted of its successor
        task_id     TEXT NOT NULL REFERENCES tasks (task_id),
        config_id   TEXT NOT NULL,
        agent_id    TEXT NOT NULL,
        owner       TEXT NOT NULL,
        url         TEXT NOT NULL,
        host        TEXT NOT NULL,
        token       TEXT,
        scheme      TEXT,
        credentials TEXT,
        from_seq    INTEGER NOT NULL,   -- the task as it was after this entry is told first
        sent_seq    INTEGER,            -- the last entry that was delivered, from_seq for the task
        failures    INTEGER NOT NULL DEFAULT 0,         -- in a row
        failure     TEXT,               -- the last one
        due_at      INTEGER,            -- when to deliver; NULL when nothing waits
        off_at      INTEGER,            -- set: given up
        UNIQUE (task_id, config_id)
    );
    CREATE INDEX push_configs_due ON push_configs (agent_id, due_at) WHERE due_at IS NOT NULL;
    CREATE INDEX push_configs_off ON push_configs (off_at) WHERE off_at IS NOT NULL;
";

const COLUMNS: &str = "c.key, c.task_id, c.owner, c.config_id, c.url, c.host, c.token, c.scheme,
    c.credentials, c.from_seq, c.sent_seq, t.last_seq, c.failures, c.failure, c.due_at, c.off_at
    FROM push_configs c JOIN tasks t ON t.task_id = c.task_id";

impl PushWriter for StoreTransaction<'_> {
    fn put_push_config(
        &self,
        owner: &TaskOwner,
        task_id: &str,
        target: &PushTarget,
        most: usize,
        now: Timestamp,
    ) -> Result<PushStored, InternalError> {
        let Some(task) = self.own_task(owner, task_id)? else { return Ok(PushStored::NoTask) };
        let others: i64 = self.0.one(
            "counting webhooks",
            "SELECT count(*) FROM push_configs WHERE task_id = $1 AND config_id <> $2",
            params![task_id, target.config_id],
            |row| row.only(),
        )?;
        if usize::try_from(others).unwrap_or(usize::MAX) >= most {
            return Ok(PushStored::TooMany);
        }
        // Replaced and not updated: a running attempt records its result by the key, which is then gone.
        self.delete_push_config(owner, task_id, &target.config_id)?;
        self.0.execute(
            "writing a webhook",
            "INSERT INTO push_configs (task_id, config_id, agent_id, owner, url, host, token,
                 scheme, credentials, from_seq, due_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
            params![
                task_id,
                target.config_id,
                owner.agent_id,
                owner.principal,
                target.url,
                target.host,
                target.token,
                target.scheme,
                target.credentials,
                task.last_seq,
                now,
            ],
        )?;
        let task_id = task_id.to_owned();
        let seq = task.last_seq;
        self.0.notify(ChangeNotice::Appended { task_id, seq, ended: false });
        Ok(PushStored::Kept)
    }

    fn delete_push_config(
        &self,
        owner: &TaskOwner,
        task_id: &str,
        config_id: &str,
    ) -> Result<(), InternalError> {
        self.0.execute(
            "deleting a webhook",
            "DELETE FROM push_configs WHERE task_id = $1 AND config_id = $2
             AND agent_id = $3 AND owner = $4",
            params![task_id, config_id, owner.agent_id, owner.principal],
        )
    }

    fn push_delivered(&self, key: i64, seq: i64) -> Result<(), InternalError> {
        // Never moved back: attempts may end in another order than they began.
        self.0.execute("noting a delivery", "UPDATE push_configs SET sent_seq = CASE WHEN sent_seq > $2 THEN sent_seq ELSE $2 END, failures = 0,
                     failure = NULL WHERE key = $1", params![key, seq])?;
        Ok(())
    }

    fn push_rested(&self, key: i64, now: Timestamp) -> Result<(), InternalError> {
        // An entry may have been added while the last one was being sent.
        self.0.execute(
            "resting a webhook",
            "UPDATE push_configs SET due_at = CASE
                 WHEN sent_seq IS NULL OR sent_seq < (SELECT last_seq FROM tasks
                     WHERE tasks.task_id = push_configs.task_id) THEN $2 END
             WHERE key = $1 AND off_at IS NULL",
            params![key, now],
        )
    }

    fn push_failed(
        &self,
        key: i64,
        failure: &str,
        next: Result<Timestamp, Timestamp>,
    ) -> Result<(), InternalError> {
        let (again, off_at) = match next {
            Ok(again) => (Some(again), None),
            Err(off_at) => (None, Some(off_at)),
        };
        self.0.execute(
            "noting a failed delivery",
            "UPDATE push_configs SET failures = failures + 1, failure = $2, due_at = $3,
             off_at = $4 WHERE key = $1",
            params![key, failure, again, off_at],
        )
    }
}

impl StoreTransaction<'_> {
    /// Makes the webhooks of a task due, in the transaction that appends to its log.
    pub(super) fn schedule_push_configs(&self, task_id: &str) -> Result<(), InternalError> {
        // The time of the task's last status is accurate enough for an order, and no clock is available here.
        self.0.execute(
            "waking webhooks",
            "UPDATE push_configs
             SET due_at = (SELECT status_at FROM tasks WHERE tasks.task_id = $1)
             WHERE task_id = $1 AND due_at IS NULL AND off_at IS NULL",
            params![task_id],
        )
    }

    /// Resumes webhooks that were given up, from their last position: all of them, those of a task, or one. Returns how
    /// many.
    ///
    /// # Errors
    /// When the database fails.
    pub fn revive_push_configs(
        &self,
        task_id: Option<&str>,
        config_id: Option<&str>,
        now: Timestamp,
    ) -> Result<usize, InternalError> {
        self.0.change(
            "reviving webhooks",
            "UPDATE push_configs SET off_at = NULL, failures = 0, due_at = $3
             WHERE off_at IS NOT NULL AND ($1 IS NULL OR task_id = $1)
                 AND ($2 IS NULL OR config_id = $2)",
            params![task_id, config_id, now],
        )
    }
}

impl Database {
    /// Returns webhooks of all agents and owners that were given up, and with `waiting` also those whose last attempt
    /// failed.
    pub(crate) fn push_troubled(&self, waiting: bool) -> Result<Vec<PushPosition>, InternalError> {
        self.0.all(
            "reading webhooks",
            &format!(
                "SELECT {COLUMNS} WHERE c.off_at IS NOT NULL OR ($1 AND c.failures > 0)
                 ORDER BY c.key"
            ),
            params![waiting],
            read_place,
        )
    }

    /// Returns up to `limit` webhooks of the owner's task after an id, in the order of ids; with `only` that one.
    pub(crate) fn push_configs(
        &self,
        owner: &TaskOwner,
        task_id: &str,
        only: Option<&str>,
        after: &str,
        limit: usize,
    ) -> Result<Vec<PushPosition>, InternalError> {
        self.0.all(
            "reading webhooks",
            &format!(
                "SELECT {COLUMNS} WHERE c.task_id = $1 AND c.agent_id = $2 AND c.owner = $3
                     AND c.config_id > $4 AND ($5 IS NULL OR c.config_id = $5)
                 ORDER BY c.config_id LIMIT $6"
            ),
            params![task_id, &owner.agent_id, &owner.principal, after, only, limit],
            read_place,
        )
    }

    /// Returns a webhook by its key, unless it was deleted, replaced or given up.
    pub(crate) fn push_place(&self, key: i64) -> Result<Option<PushPosition>, InternalError> {
        self.0.first(
            "reading a webhook",
            &format!("SELECT {COLUMNS} WHERE c.key = $1 AND c.off_at IS NULL"),
            params![key],
            read_place,
        )
    }

    /// Returns an agent's webhooks that are due, the longest due first, without the busy ones.
    pub(crate) fn push_due(
        &self,
        agent_id: &str,
        now: Timestamp,
        busy: &BlockedPushes,
        limit: usize,
    ) -> Result<Vec<PushPosition>, InternalError> {
        // The query leaves the busy ones out: filtered afterwards, they could fill the limit, and others would wait
        // behind them.
        let keys = self.0.elements(3, "BIGINT");
        let texts = |value| self.0.elements(value, "TEXT");
        let hosts = texts(4);
        let owners = texts(5);
        let list = |values: tradepost_document::json::Value| values.to_string();
        self.0.all(
            "reading due webhooks",
            &format!(
                "SELECT {COLUMNS} WHERE c.agent_id = $1 AND c.due_at <= $2
                     AND c.key NOT IN ({keys}) AND c.host NOT IN ({hosts})
                     AND c.owner NOT IN ({owners})
                 ORDER BY c.due_at LIMIT $6"
            ),
            params![
                agent_id,
                now,
                list(busy.keys.clone().into()),
                list(busy.hosts.clone().into()),
                list(busy.owners.clone().into()),
                limit,
            ],
            read_place,
        )
    }

    /// Returns the time at which the next of an agent's webhooks after a moment becomes due.
    pub(crate) fn push_next_due(
        &self,
        agent_id: &str,
        after: Timestamp,
    ) -> Result<Option<Timestamp>, InternalError> {
        self.0.one(
            "reading when a webhook is due",
            "SELECT min(due_at) FROM push_configs WHERE agent_id = $1 AND due_at > $2",
            params![agent_id, after],
            |row| row.only(),
        )
    }
}

/// Reads a webhook and its position in the task's log from a row.
fn read_place(row: &SqlRow<'_>) -> RowResult<PushPosition> {
    let target = PushTarget {
        config_id: row.get("config_id")?,
        url: row.get("url")?,
        host: row.get("host")?,
        token: row.get("token")?,
        scheme: row.get("scheme")?,
        credentials: row.get("credentials")?,
    };
    Ok(PushPosition {
        key: row.get("key")?,
        task_id: row.get("task_id")?,
        owner: row.get("owner")?,
        target,
        from_seq: row.get("from_seq")?,
        sent_seq: row.get("sent_seq")?,
        last_seq: row.get("last_seq")?,
        failures: row.get("failures")?,
        failure: row.get("failure")?,
        due_at: row.get("due_at")?,
        off_at: row.get("off_at")?,
    })
}
