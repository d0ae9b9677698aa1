//! Webhooks, and how far each one's delivery is. There is no queue of deliveries: the task's log
//! is the queue, and a webhook is a place in it.

use jiff::Timestamp;
use rusqlite::{OptionalExtension as _, Row, named_params, params};

use super::{Database, Transaction, moment, tasks::Owner};
use crate::fault::Fault;

/// The table, as a migration.
pub(super) const SCHEMA: &str = "
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

/// A webhook as it is kept.
#[derive(Clone, PartialEq, Eq)]
pub struct PushTarget {
    /// Its id, unique within the task.
    pub config_id: String,
    /// The address.
    pub url: String,
    /// The address's host.
    pub host: String,
    /// What the receiver wants to see again.
    pub token: Option<String>,
    /// The scheme of a credential.
    pub scheme: Option<String>,
    /// The credential.
    pub credentials: Option<String>,
}

impl std::fmt::Debug for PushTarget {
    /// Without what is secret: the address may hold a secret, too.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PushTarget").field("config_id", &self.config_id).finish_non_exhaustive()
    }
}

/// A webhook with its place in the task's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushPlace {
    /// The webhook, under a number that no other one ever has.
    pub key: i64,
    /// The task.
    pub task_id: String,
    /// Whose.
    pub owner: String,
    /// Where to.
    pub target: PushTarget,
    /// The task as it was after this entry is told first.
    pub from_seq: i64,
    /// The last entry that was delivered; `None` before the task itself was.
    pub sent_seq: Option<i64>,
    /// The last entry of the task's log.
    pub last_seq: i64,
    /// How many attempts have failed in a row.
    pub failures: u32,
    /// How the last one failed.
    pub failure: Option<String>,
    /// When to deliver; `None` when nothing waits.
    pub due_at: Option<Timestamp>,
    /// When it was given up.
    pub off_at: Option<Timestamp>,
}

/// Whether a webhook was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushKept {
    /// It was.
    Kept,
    /// There is no such task of this owner.
    NoTask,
    /// The task has as many as it can have.
    TooMany,
}

/// Which webhooks have to wait although they are due: each a JSON array.
#[derive(Debug, Clone, Default)]
pub struct PushBusy {
    /// Keys that are being delivered to.
    pub keys: Vec<i64>,
    /// Hosts that have as many deliveries as they can.
    pub hosts: Vec<String>,
    /// Owners that have as many deliveries as they can.
    pub owners: Vec<String>,
}

const COLUMNS: &str = "c.key, c.task_id, c.owner, c.config_id, c.url, c.host, c.token, c.scheme,
    c.credentials, c.from_seq, c.sent_seq, t.last_seq, c.failures, c.failure, c.due_at, c.off_at
    FROM push_configs c JOIN tasks t ON t.task_id = c.task_id";

impl Transaction<'_> {
    /// Keeps a webhook in the place of the one with its id, if there is one. It is due at once: it
    /// begins with the task as it is.
    ///
    /// # Errors
    /// When the database fails.
    pub fn put_push_config(
        &self,
        owner: &Owner,
        task_id: &str,
        target: &PushTarget,
        most: usize,
        now: Timestamp,
    ) -> Result<PushKept, Fault> {
        let on = Fault::on::<rusqlite::Error>;
        let Some(task) = self.task(owner, task_id)? else { return Ok(PushKept::NoTask) };
        let others: i64 = self
            .0
            .prepare_cached(
                "SELECT count(*) FROM push_configs WHERE task_id = ?1 AND config_id <> ?2",
            )
            .and_then(|mut s| s.query_row(params![task_id, target.config_id], |row| row.get(0)))
            .map_err(on("counting webhooks"))?;
        if usize::try_from(others).unwrap_or(usize::MAX) >= most {
            return Ok(PushKept::TooMany);
        }
        self.delete_push_config(owner, task_id, &target.config_id)?;
        self.0
            .prepare_cached(
                "INSERT INTO push_configs (task_id, config_id, agent_id, owner, url, host, token,
                     scheme, credentials, from_seq, due_at)
                 VALUES (:task, :config, :agent, :owner, :url, :host, :token, :scheme,
                     :credentials, :from, :due)",
            )
            .and_then(|mut s| {
                s.execute(named_params! {
                    ":task": task_id,
                    ":config": target.config_id,
                    ":agent": owner.agent_id,
                    ":owner": owner.principal,
                    ":url": target.url,
                    ":host": target.host,
                    ":token": target.token,
                    ":scheme": target.scheme,
                    ":credentials": target.credentials,
                    ":from": task.last_seq,
                    ":due": now.as_millisecond(),
                })
            })
            .map_err(on("writing a webhook"))?;
        Ok(PushKept::Kept)
    }

    /// Forgets a webhook, if there is one.
    ///
    /// # Errors
    /// When the database fails.
    pub fn delete_push_config(
        &self,
        owner: &Owner,
        task_id: &str,
        config_id: &str,
    ) -> Result<(), Fault> {
        self.0
            .prepare_cached(
                "DELETE FROM push_configs WHERE task_id = ?1 AND config_id = ?2
                     AND agent_id = ?3 AND owner = ?4",
            )
            .and_then(|mut s| {
                s.execute(params![task_id, config_id, owner.agent_id, owner.principal])
            })
            .map_err(Fault::on("deleting a webhook"))?;
        Ok(())
    }

    /// Makes the webhooks of a task that has something new to tell due, in the transaction that
    /// adds it.
    pub(super) fn stir_push_configs(&self, task_id: &str) -> Result<(), Fault> {
        // The moment of the task's last status is near enough for an order, and no clock is here.
        self.0
            .prepare_cached(
                "UPDATE push_configs
                 SET due_at = (SELECT status_at FROM tasks WHERE tasks.task_id = ?1)
                 WHERE task_id = ?1 AND due_at IS NULL AND off_at IS NULL",
            )
            .and_then(|mut s| s.execute(params![task_id]))
            .map_err(Fault::on("waking webhooks"))?;
        Ok(())
    }

    /// Notes that a webhook has taken an entry.
    ///
    /// # Errors
    /// When the database fails.
    pub fn push_delivered(&self, key: i64, seq: i64) -> Result<(), Fault> {
        self.0
            .prepare_cached(
                "UPDATE push_configs SET sent_seq = max(coalesce(sent_seq, 0), ?2), failures = 0,
                     failure = NULL WHERE key = ?1",
            )
            .and_then(|mut s| s.execute(params![key, seq]))
            .map_err(Fault::on("noting a delivery"))?;
        Ok(())
    }

    /// Lets a webhook rest until there is more to tell; when there is already, it is due at `now`.
    ///
    /// # Errors
    /// When the database fails.
    pub fn push_rested(&self, key: i64, now: Timestamp) -> Result<(), Fault> {
        self.0
            .prepare_cached(
                "UPDATE push_configs SET due_at = CASE
                     WHEN sent_seq IS NULL OR sent_seq < (SELECT last_seq FROM tasks
                         WHERE tasks.task_id = push_configs.task_id) THEN ?2 END
                 WHERE key = ?1 AND off_at IS NULL",
            )
            .and_then(|mut s| s.execute(params![key, now.as_millisecond()]))
            .map_err(Fault::on("resting a webhook"))?;
        Ok(())
    }

    /// Notes a failed attempt: the next one is at `again`, or there is none and the webhook was
    /// given up at `off_at`.
    ///
    /// # Errors
    /// When the database fails.
    pub fn push_failed(
        &self,
        key: i64,
        failure: &str,
        next: Result<Timestamp, Timestamp>,
    ) -> Result<(), Fault> {
        let (again, off_at) = match next {
            Ok(again) => (Some(again.as_millisecond()), None),
            Err(off_at) => (None, Some(off_at.as_millisecond())),
        };
        self.0
            .prepare_cached(
                "UPDATE push_configs SET failures = failures + 1, failure = ?2, due_at = ?3,
                     off_at = ?4 WHERE key = ?1",
            )
            .and_then(|mut s| s.execute(params![key, failure, again, off_at]))
            .map_err(Fault::on("noting a failed delivery"))?;
        Ok(())
    }

    /// Takes webhooks that were given up on again, from where they were: all of them, those of a
    /// task, or one. Returns how many.
    ///
    /// # Errors
    /// When the database fails.
    pub fn revive_push_configs(
        &self,
        task_id: Option<&str>,
        config_id: Option<&str>,
        now: Timestamp,
    ) -> Result<usize, Fault> {
        self.0
            .execute(
                "UPDATE push_configs SET off_at = NULL, failures = 0, due_at = ?3
                 WHERE off_at IS NOT NULL AND (?1 IS NULL OR task_id = ?1)
                     AND (?2 IS NULL OR config_id = ?2)",
                params![task_id, config_id, now.as_millisecond()],
            )
            .map_err(Fault::on("reviving webhooks"))
    }
}

impl Database {
    /// The webhooks of the owner's task after one id, by id, at most `limit`; with `only` that
    /// one.
    pub(in crate::store) fn push_configs(
        &self,
        owner: &Owner,
        task_id: &str,
        only: Option<&str>,
        after: &str,
        limit: usize,
    ) -> Result<Vec<PushPlace>, Fault> {
        self.0
            .prepare_cached(&format!(
                "SELECT {COLUMNS} WHERE c.task_id = ?1 AND c.agent_id = ?2 AND c.owner = ?3
                     AND c.config_id > ?4 AND (?5 IS NULL OR c.config_id = ?5)
                 ORDER BY c.config_id LIMIT ?6"
            ))
            .and_then(|mut s| {
                let limit = i64::try_from(limit).unwrap_or(i64::MAX);
                let (agent, principal) = (&owner.agent_id, &owner.principal);
                s.query_map(params![task_id, agent, principal, after, only, limit], read_place)
                    .and_then(Iterator::collect)
            })
            .map_err(Fault::on("reading webhooks"))
    }

    /// A webhook by its key, unless it was deleted, replaced or given up.
    pub(in crate::store) fn push_place(&self, key: i64) -> Result<Option<PushPlace>, Fault> {
        self.0
            .prepare_cached(&format!("SELECT {COLUMNS} WHERE c.key = ?1 AND c.off_at IS NULL"))
            .and_then(|mut s| s.query_row(params![key], read_place).optional())
            .map_err(Fault::on("reading a webhook"))
    }

    /// An agent's webhooks that are due, the longest due first, without the busy ones.
    pub(in crate::store) fn push_due(
        &self,
        agent_id: &str,
        now: Timestamp,
        busy: &PushBusy,
        limit: usize,
    ) -> Result<Vec<PushPlace>, Fault> {
        let list = |values: serde_json::Value| values.to_string();
        self.0
            .prepare_cached(&format!(
                "SELECT {COLUMNS} WHERE c.agent_id = ?1 AND c.due_at <= ?2
                     AND c.key NOT IN (SELECT value FROM json_each(?3))
                     AND c.host NOT IN (SELECT value FROM json_each(?4))
                     AND c.owner NOT IN (SELECT value FROM json_each(?5))
                 ORDER BY c.due_at LIMIT ?6"
            ))
            .and_then(|mut s| {
                let limit = i64::try_from(limit).unwrap_or(i64::MAX);
                let (keys, hosts, owners) = (
                    list(busy.keys.clone().into()),
                    list(busy.hosts.clone().into()),
                    list(busy.owners.clone().into()),
                );
                let now = now.as_millisecond();
                s.query_map(params![agent_id, now, keys, hosts, owners, limit], read_place)
                    .and_then(Iterator::collect)
            })
            .map_err(Fault::on("reading due webhooks"))
    }

    /// When the next of an agent's webhooks becomes due after a moment.
    pub(in crate::store) fn push_next_due(
        &self,
        agent_id: &str,
        after: Timestamp,
    ) -> Result<Option<Timestamp>, Fault> {
        self.0
            .prepare_cached(
                "SELECT min(due_at) FROM push_configs WHERE agent_id = ?1 AND due_at > ?2",
            )
            .and_then(|mut s| {
                s.query_row(params![agent_id, after.as_millisecond()], |row| {
                    Ok(row.get::<_, Option<i64>>(0)?.map(moment))
                })
            })
            .map_err(Fault::on("reading when a webhook is due"))
    }

    /// Webhooks that wait for something: those that were given up, or with `waiting` also those
    /// whose last attempt failed. For whoever runs the server: of all agents and owners.
    pub(in crate::store) fn push_troubled(&self, waiting: bool) -> Result<Vec<PushPlace>, Fault> {
        self.0
            .prepare(&format!(
                "SELECT {COLUMNS} WHERE c.off_at IS NOT NULL OR (?1 AND c.failures > 0)
                 ORDER BY c.key"
            ))
            .and_then(|mut s| s.query_map(params![waiting], read_place).and_then(Iterator::collect))
            .map_err(Fault::on("reading webhooks"))
    }
}

fn read_place(row: &Row<'_>) -> rusqlite::Result<PushPlace> {
    let target = PushTarget {
        config_id: row.get(3)?,
        url: row.get(4)?,
        host: row.get(5)?,
        token: row.get(6)?,
        scheme: row.get(7)?,
        credentials: row.get(8)?,
    };
    Ok(PushPlace {
        key: row.get(0)?,
        task_id: row.get(1)?,
        owner: row.get(2)?,
        target,
        from_seq: row.get(9)?,
        sent_seq: row.get(10)?,
        last_seq: row.get(11)?,
        failures: row.get(12)?,
        failure: row.get(13)?,
        due_at: row.get::<_, Option<i64>>(14)?.map(moment),
        off_at: row.get::<_, Option<i64>>(15)?.map(moment),
    })
}
