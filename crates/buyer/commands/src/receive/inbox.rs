//! The durable inbox of push deliveries: a database of its own in the data folder, because a receiver need not be a
//! seller. A delivery that [`tradepost_client::receiver::Inbox::put`] has accepted is on disk.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, TransactionBehavior, params};
use tradepost_client::receiver::delivery::{DeliveryOrigin, KnownTask, PushDelivery, is_terminal};
use tradepost_client::receiver::{DeliveryNotKept, Inbox, Put};
use tradepost_document::catalog;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_server::private_file;

/// The database's name in the data folder.
const FILE: &str = "inbox.sqlite";

/// Time for which a handled delivery is remembered, so that it is not accepted twice.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(30 * 24);

const SCHEMA: &str = "
    CREATE TABLE deliveries (
        seq         INTEGER PRIMARY KEY,
        id          TEXT NOT NULL UNIQUE,
        fingerprint TEXT NOT NULL,
        sender      TEXT NOT NULL,      -- who was shown to have sent it; empty when only one can have
        key         TEXT,               -- the sender's own name for it
        kind        TEXT NOT NULL,
        source      TEXT NOT NULL,
        received_at INTEGER NOT NULL,   -- milliseconds since 1970, as all moments here
        task_id     TEXT,
        state       TEXT,
        status      TEXT,
        artifacts   TEXT NOT NULL,      -- a JSON array of ids
        body        TEXT NOT NULL,      -- the delivery as it came
        fate        TEXT NOT NULL,      -- waiting, handled or dead
        attempts    INTEGER NOT NULL,
        next_at     INTEGER NOT NULL,
        problem     TEXT
    );
    CREATE INDEX deliveries_by_task ON deliveries (task_id);
    CREATE INDEX deliveries_by_fate ON deliveries (fate, next_at);
    PRAGMA user_version = 2;
";

/// Migration of an inbox from before AdCP, when there was one sender and the content alone identified a delivery.
const ADD_SENDERS: &str = "
    ALTER TABLE deliveries ADD COLUMN fingerprint TEXT NOT NULL DEFAULT '';
    ALTER TABLE deliveries ADD COLUMN sender TEXT NOT NULL DEFAULT '';
    ALTER TABLE deliveries ADD COLUMN key TEXT;
    UPDATE deliveries SET fingerprint = id;
    PRAGMA user_version = 2;
";

catalog! {
    /// State of a stored delivery.
    pub enum Fate {}
    /// Still to be handled.
    Waiting = "waiting" {}
    /// Handled.
    Handled = "handled" {}
    /// Could not be handled, and is not tried again.
    Dead = "dead" {}
}

/// A stored delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDelivery {
    /// Sequence number, in the order of arrival.
    pub seq: i64,
    /// Id of the event, the same each time the event is delivered.
    pub id: String,
    /// Kind of its content: the member of a StreamResponse, `webhook`, `event` or `taskStatus`.
    pub kind: String,
    /// Origin: `push` or `poll`.
    pub source: String,
    /// Sender; empty when only one sender is possible.
    pub sender: String,
    /// The sender's own key for it.
    pub key: Option<String>,
    /// Time of arrival.
    pub received_at: Timestamp,
    /// Id of its task.
    pub task_id: Option<String>,
    /// State that the task had reached.
    pub state: Option<String>,
    /// The delivery as received.
    pub body: String,
    /// State of its handling.
    pub fate: Fate,
    /// Number of attempts to handle it.
    pub attempts: u32,
    /// Reason why the last attempt failed.
    pub problem: Option<String>,
}

const COLUMNS: &str = "seq, id, kind, source, received_at, task_id, state, body, fate, attempts, \
                       problem, sender, key";

/// Inbox of push deliveries in an SQLite file.
#[derive(Debug)]
pub struct DurableInbox(Mutex<Connection>);

type Done<T> = rusqlite::Result<T>;

impl DurableInbox {
    /// Opens or creates the inbox in a folder, and deletes deliveries that were handled long ago.
    ///
    /// # Errors
    /// When the folder or the database in it cannot be used.
    pub fn open(directory: &Path, now: Timestamp) -> Result<Self, InternalError> {
        private_file::create_folder(directory)
            .map_err(InternalError::on("creating the data folder"))?;
        let path = directory.join(FILE);
        private_file::restrict_database(&path).map_err(InternalError::on("creating the inbox"))?;
        let open = || -> Done<Connection> {
            let mut connection = Connection::open(path)?;
            // `receive replay` may be writing at the same time.
            connection.busy_timeout(Duration::from_secs(10))?;
            connection.pragma_update(None, "journal_mode", "wal")?;
            // A sender that gets 2xx never sends it again.
            connection.pragma_update(None, "synchronous", "full")?;
            // Takes the write lock at once: two processes that start together must not both find an empty file.
            let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let version: i64 = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
            match version {
                0 => tx.execute_batch(SCHEMA)?,
                1 => tx.execute_batch(ADD_SENDERS)?,
                _ => {}
            }
            let oldest = now.saturating_sub(REMEMBERED).unwrap_or(Timestamp::MIN);
            tx.execute(
                "DELETE FROM deliveries WHERE fate = 'handled' AND received_at < ?1",
                params![oldest.as_millisecond()],
            )?;
            tx.commit()?;
            Ok(connection)
        };
        let connection = open().map_err(InternalError::on("opening the inbox"))?;
        Ok(Self(Mutex::new(connection)))
    }

    /// Returns the first delivery that is to be handled now.
    ///
    /// # Errors
    /// When the database fails.
    pub fn next(&self, now: Timestamp) -> Result<Option<StoredDelivery>, InternalError> {
        let text = format!(
            "SELECT {COLUMNS} FROM deliveries WHERE fate = 'waiting' AND next_at <= ?1
             ORDER BY seq LIMIT 1"
        );
        let next = |connection: &Connection| {
            connection.query_row(&text, params![now.as_millisecond()], read_row).optional()
        };
        next(&self.lock()).map_err(InternalError::on("reading the next delivery"))
    }

    /// Marks a delivery as handled.
    ///
    /// # Errors
    /// When the database fails.
    pub fn handled(&self, seq: i64) -> Result<(), InternalError> {
        let sql = "UPDATE deliveries SET fate = 'handled', attempts = attempts + 1, problem = NULL
                   WHERE seq = ?1";
        let handled = self.lock().execute(sql, params![seq]);
        handled.map(drop).map_err(InternalError::on("marking a delivery as handled"))
    }

    /// Records a failed attempt: it is retried at `retry_at`, or never when `None`.
    ///
    /// # Errors
    /// When the database fails.
    pub fn failed(
        &self,
        seq: i64,
        problem: &str,
        retry_at: Option<Timestamp>,
    ) -> Result<(), InternalError> {
        let fate = if retry_at.is_some() { Fate::Waiting } else { Fate::Dead };
        let sql = "UPDATE deliveries
                   SET fate = ?2, attempts = attempts + 1, problem = ?3, next_at = ?4
                   WHERE seq = ?1";
        let next_at = retry_at.map_or(0, Timestamp::as_millisecond);
        let failed = self.lock().execute(sql, params![seq, fate.name(), problem, next_at]);
        failed.map(drop).map_err(InternalError::on("marking a delivery as failed"))
    }

    /// Returns the last deliveries, of one fate where it is given, the oldest first.
    ///
    /// # Errors
    /// When the database fails.
    pub fn list(
        &self,
        fate: Option<Fate>,
        limit: usize,
    ) -> Result<Vec<StoredDelivery>, InternalError> {
        let text = format!(
            "SELECT {COLUMNS} FROM deliveries WHERE ?1 IS NULL OR fate = ?1
             ORDER BY seq DESC LIMIT ?2"
        );
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let list = |connection: &Connection| -> Done<Vec<StoredDelivery>> {
            let mut statement = connection.prepare(&text)?;
            statement.query_map(params![fate.map(Fate::name), limit], read_row)?.collect()
        };
        let mut listed = list(&self.lock()).map_err(InternalError::on("listing deliveries"))?;
        listed.reverse();
        Ok(listed)
    }

    /// Makes dead deliveries wait for handling again: all of them, or those with these numbers. Returns how many.
    ///
    /// # Errors
    /// When the database fails.
    pub fn replay(&self, numbers: &[i64]) -> Result<usize, InternalError> {
        let replay = |tx: &Transaction<'_>| -> Done<usize> {
            const SQL: &str = "UPDATE deliveries SET fate = 'waiting', attempts = 0, next_at = 0
                               WHERE fate = 'dead' AND (?1 IS NULL OR seq = ?1)";
            if numbers.is_empty() {
                return tx.execute(SQL, params![None::<i64>]);
            }
            numbers.iter().map(|number| tx.execute(SQL, params![Some(number)])).sum()
        };
        self.transaction(replay).map_err(InternalError::on("replaying dead deliveries"))
    }

    fn transaction<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Done<T>) -> Done<T> {
        let mut connection = self.lock();
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let done = work(&tx)?;
        tx.commit()?;
        Ok(done)
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inbox for DurableInbox {
    fn put(&self, delivery: &PushDelivery) -> Result<Put, DeliveryNotKept> {
        let put = self.transaction(|tx| {
            let sql = "SELECT fingerprint FROM deliveries WHERE id = ?1";
            let fingerprint =
                tx.query_row(sql, params![delivery.id], |row| row.get::<_, String>(0));
            if let Some(fingerprint) = fingerprint.optional()? {
                let same = fingerprint == delivery.fingerprint;
                return Ok(if same { Put::Duplicate } else { Put::Conflict });
            }
            // Polling the task may already have brought what this delivery says.
            if let Some(task_id) = &delivery.task_id
                && known(tx, &delivery.sender, task_id)?.covers(delivery)
            {
                return Ok(Put::Duplicate);
            }
            let artifacts =
                tradepost_document::json::Value::from(delivery.artifacts.clone()).to_string();
            tx.execute(
                "INSERT INTO deliveries
                     (id, kind, source, received_at, task_id, state, status, artifacts, body,
                      fingerprint, sender, key, fate, attempts, next_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 'waiting', 0, 0)",
                params![
                    delivery.id,
                    delivery.kind.name(),
                    delivery.source.name(),
                    delivery.received_at.as_millisecond(),
                    delivery.task_id,
                    delivery.state,
                    delivery.status,
                    artifacts,
                    delivery.body.get(),
                    delivery.fingerprint,
                    delivery.sender,
                    delivery.key,
                ],
            )?;
            Ok(Put::New)
        });
        put.map_err(|error| DeliveryNotKept(error.to_string()))
    }

    fn known(&self, sender: &str, task_id: &str) -> Result<KnownTask, DeliveryNotKept> {
        known(&self.lock(), sender, task_id).map_err(|error| DeliveryNotKept(error.to_string()))
    }
}

/// Reads what the stored deliveries of a sender say about a task.
fn known(connection: &Connection, sender: &str, task_id: &str) -> Done<KnownTask> {
    let sql = "SELECT status, artifacts, source, state FROM deliveries
               WHERE task_id = ?1 AND sender = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![task_id, sender])?;
    let mut known = KnownTask::default();
    while let Some(row) = rows.next()? {
        known.count += 1;
        known.statuses.extend(row.get::<_, Option<String>>("status")?);
        let artifacts: Vec<String> =
            tradepost_document::json::from_str(&row.get::<_, String>("artifacts")?)
                .unwrap_or_default();
        if row.get::<_, String>("source")? == DeliveryOrigin::Poll.name() {
            known.whole.extend(artifacts.iter().cloned());
        }
        known.artifacts.extend(artifacts);
        known.ended |=
            row.get::<_, Option<String>>("state")?.is_some_and(|state| is_terminal(&state));
    }
    Ok(known)
}

/// Reads a delivery from a row with [`COLUMNS`].
fn read_row(row: &Row<'_>) -> Done<StoredDelivery> {
    Ok(StoredDelivery {
        seq: row.get("seq")?,
        id: row.get("id")?,
        kind: row.get("kind")?,
        source: row.get("source")?,
        received_at: Timestamp::from_millisecond(row.get("received_at")?).unwrap_or_default(),
        task_id: row.get("task_id")?,
        state: row.get("state")?,
        body: row.get("body")?,
        fate: Fate::from_name(&row.get::<_, String>("fate")?).unwrap_or(Fate::Dead),
        attempts: row.get("attempts")?,
        problem: row.get("problem")?,
        sender: row.get("sender")?,
        key: row.get("key")?,
    })
}
