//! The embedded store: SQLite in WAL mode with full synchronisation, so that what was committed
//! is on disk.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, params};
use tradepost_wire::fault::Fault;

use super::CardIdentity;

pub(super) mod consents;
pub(super) mod counts;
pub(super) mod health;
pub(super) mod inventory;
pub(super) mod keys;
pub(super) mod leads;
pub(super) mod publisher;
pub(super) mod push;
pub(super) mod signatures;
pub(super) mod tasks;

/// One step for each schema version, applied in order; `user_version` counts them.
const MIGRATIONS: &[&str] = &[
    DEALER_SCHEMA,
    keys::SCHEMA,
    tasks::SCHEMA,
    push::SCHEMA,
    publisher::SCHEMA,
    leads::SCHEMA,
    health::SCHEMA,
    consents::SCHEMA,
    signatures::SCHEMA,
    leads::deliveries::SCHEMA,
];

const DEALER_SCHEMA: &str = "
    CREATE TABLE listings (
        dealer_id   TEXT NOT NULL,
        vehicle_id  TEXT NOT NULL,
        vin         TEXT,
        stock       TEXT,
        make        TEXT,
        model       TEXT,
        status      TEXT NOT NULL,      -- available, intransit, pending, or sold
        body        TEXT NOT NULL,      -- the vehicle as JSON, without updated_at
        updated_at  INTEGER NOT NULL,   -- milliseconds since 1970, as all moments here
        removed_at  INTEGER,            -- set: a tombstone
        PRIMARY KEY (dealer_id, vehicle_id)
    ) WITHOUT ROWID;
    CREATE TABLE inventories (
        dealer_id   TEXT PRIMARY KEY,
        generation  INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE leads (
        seq         INTEGER PRIMARY KEY,
        lead_id     TEXT NOT NULL,
        dealer_id   TEXT NOT NULL,
        received_at INTEGER NOT NULL,
        duplicate   INTEGER NOT NULL,
        version     TEXT NOT NULL,
        principal   TEXT NOT NULL,
        payload     TEXT NOT NULL,
        rooftop     TEXT,
        listing     TEXT
    );
    CREATE INDEX leads_by_id ON leads (lead_id);
    CREATE INDEX leads_by_dealer ON leads (dealer_id, received_at);
    CREATE TABLE lead_subjects (
        dealer_id   TEXT NOT NULL,
        contact     TEXT NOT NULL,      -- email:… or phone:…
        subject     TEXT NOT NULL,      -- vehicle and appointment type
        received_at INTEGER NOT NULL,
        lead_id     TEXT NOT NULL,
        PRIMARY KEY (dealer_id, contact, subject, received_at, lead_id)
    ) WITHOUT ROWID;
    CREATE TABLE appointments (
        appointment_id TEXT PRIMARY KEY,
        lead_seq     INTEGER NOT NULL REFERENCES leads (seq),
        dealer_id    TEXT NOT NULL,
        rooftop      TEXT,
        department   TEXT NOT NULL,
        kind         TEXT NOT NULL,
        status       TEXT NOT NULL,
        requested_at INTEGER,
        starts_at    INTEGER,
        ends_at      INTEGER,
        proposed     TEXT NOT NULL      -- JSON array of milliseconds
    ) WITHOUT ROWID;
    CREATE INDEX appointments_by_lead ON appointments (lead_seq);
    CREATE INDEX appointments_by_time ON appointments (dealer_id, rooftop, department, ends_at)
        WHERE status = 'confirmed';
    CREATE TABLE idempotency_keys (
        dealer_id     TEXT NOT NULL,
        principal     TEXT NOT NULL,
        key           TEXT NOT NULL,
        payload_hash  BLOB NOT NULL,
        reply         TEXT NOT NULL,    -- the answer's receipt and message as JSON
        first_seen_at INTEGER NOT NULL,
        PRIMARY KEY (dealer_id, principal, key)
    ) WITHOUT ROWID;
    CREATE INDEX idempotency_keys_by_age ON idempotency_keys (dealer_id, first_seen_at);
    CREATE TABLE cards (
        dealer_id    TEXT PRIMARY KEY,
        content_hash TEXT NOT NULL,
        id           TEXT NOT NULL,
        modified_at  INTEGER NOT NULL
    ) WITHOUT ROWID;
";

/// A connection.
#[derive(Debug)]
pub(super) struct Database(Connection);

/// What becomes of a schema that is of an older version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Schema {
    /// It is brought up to date.
    Migrate,
    /// It is left alone and not used: a server of that version may be running.
    Keep,
}

impl Database {
    /// Opens or creates the file.
    pub(super) fn open(path: &Path, schema: Schema) -> Result<Self, Fault> {
        let on = Fault::on::<rusqlite::Error>;
        let connection = Connection::open(path).map_err(on("opening the database"))?;
        // Another process may be importing.
        connection
            .busy_timeout(Duration::from_secs(10))
            .and_then(|()| connection.pragma_update(None, "journal_mode", "wal"))
            .and_then(|()| connection.pragma_update(None, "synchronous", "full"))
            .and_then(|()| connection.pragma_update(None, "foreign_keys", true))
            // What is erased is overwritten, and not only marked as free.
            .and_then(|()| connection.pragma_update(None, "secure_delete", true))
            .map_err(on("setting up the database"))?;
        let database = Self(connection);
        let version = version(&database.0)?;
        if version < MIGRATIONS.len() {
            if schema == Schema::Keep && version > 0 {
                let cause = "the data folder is of an older version of tradepost; `tradepost serve` \
                             or `tradepost migrate` brings it up to date";
                return Err(Fault::new("opening the database", cause));
            }
            database.migrate()?;
        }
        Ok(database)
    }

    fn migrate(&self) -> Result<(), Fault> {
        self.transaction(|tx| {
            let on = Fault::on::<rusqlite::Error>;
            // Another process may have been faster.
            let done = version(tx.0)?;
            for step in MIGRATIONS.iter().skip(done) {
                tx.0.execute_batch(step).map_err(on("migrating the database"))?;
            }
            if done < MIGRATIONS.len() {
                let version = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
                tx.0.pragma_update(None, "user_version", version)
                    .map_err(on("writing the schema version"))?;
            }
            Ok(())
        })
    }

    /// Runs `work` in a transaction that takes the write lock at once.
    pub(super) fn transaction<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let on = Fault::on::<rusqlite::Error>;
        self.0.execute_batch("BEGIN IMMEDIATE").map_err(on("beginning a transaction"))?;
        let outcome = work(&Transaction(&self.0)).and_then(|value| {
            self.0.execute_batch("COMMIT").map_err(on("committing"))?;
            Ok(value)
        });
        if outcome.is_err() {
            // Fails only when SQLite has rolled back by itself.
            let _ = self.0.execute_batch("ROLLBACK");
        }
        outcome
    }
}

/// How many steps have been taken.
fn version(connection: &Connection) -> Result<usize, Fault> {
    let read = connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
    let version = read.map_err(Fault::on("reading the schema version"))?;
    let version = usize::try_from(version).unwrap_or(usize::MAX);
    if version > MIGRATIONS.len() {
        let cause = "the data folder was written by a newer version of tradepost";
        return Err(Fault::new("opening the database", cause));
    }
    Ok(version)
}

/// A transaction in progress: the store's operations that belong together.
#[derive(Debug)]
pub struct Transaction<'c>(&'c Connection);

impl Transaction<'_> {
    /// Runs `work`, and undoes what it did when it says so.
    pub(super) fn savepoint(&self, work: impl FnOnce(&Self) -> bool) -> Result<(), Fault> {
        let on = Fault::on::<rusqlite::Error>;
        self.0.execute_batch("SAVEPOINT job").map_err(on("setting a savepoint"))?;
        let end = if work(self) { "RELEASE job" } else { "ROLLBACK TO job; RELEASE job" };
        self.0.execute_batch(end).map_err(on("ending a savepoint"))
    }

    pub(super) fn card_identity(
        &self,
        dealer_id: &str,
        content_hash: &str,
        fresh_id: String,
        now: Timestamp,
    ) -> Result<CardIdentity, Fault> {
        let on = Fault::on::<rusqlite::Error>;
        let known = self
            .0
            .query_row(
                "SELECT id, modified_at FROM cards WHERE dealer_id = ?1 AND content_hash = ?2",
                params![dealer_id, content_hash],
                |row| Ok(CardIdentity { id: row.get(0)?, modified_at: moment(row.get(1)?) }),
            )
            .optional()
            .map_err(on("reading a card's identity"))?;
        if let Some(identity) = known {
            return Ok(identity);
        }
        self.0
            .execute(
                "INSERT OR REPLACE INTO cards (dealer_id, content_hash, id, modified_at)
                 VALUES (?1, ?2, ?3, ?4)",
                params![dealer_id, content_hash, fresh_id, now.as_millisecond()],
            )
            .map_err(on("writing a card's identity"))?;
        Ok(CardIdentity { id: fresh_id, modified_at: now })
    }
}

fn moment(milliseconds: i64) -> Timestamp {
    let saturated = if milliseconds < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_millisecond(milliseconds).unwrap_or(saturated)
}
