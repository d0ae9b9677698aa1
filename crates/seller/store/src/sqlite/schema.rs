//! Opens the file and migrates its tables.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use tradepost_document::fault::InternalError;

use super::{Schema, transaction};
use crate::tables;

mod leads;
pub(crate) mod sellers;
pub(crate) mod steps;

/// Number of statements that a connection keeps prepared: all that there are.
const STATEMENTS: usize = 128;

/// One step for each schema version, applied in order; `user_version` counts them.
pub(crate) const MIGRATIONS: &[&str] = &[
    DEALER_SCHEMA,
    steps::KEYS,
    tables::tasks::SCHEMA,
    tables::push::SCHEMA,
    sellers::PUBLISHER,
    leads::SCHEMA,
    tables::health::SCHEMA,
    sellers::CONSENTS,
    sellers::SIGNATURES,
    sellers::DELIVERIES,
    steps::DESK,
    steps::STAFF,
    SNAPSHOTS,
    steps::FEEDS,
    sellers::PRIVACY,
    sellers::ALERTS,
    steps::HOSTING,
    tables::processes::SCHEMA,
    steps::REFUSALS,
    steps::PROBES,
    steps::NOTE_SALTS,
    steps::SIGN_IN,
    steps::SECOND_FACTORS,
    steps::CALENDAR,
    steps::ROOFTOP_CASE,
    steps::PUBLISHER_INDEX,
    steps::STAFF_EVENTS,
    sellers::PUBLISHER_ORDER,
    steps::WEEK,
    steps::STEP_RESULTS,
    steps::LEAD_WORK,
    steps::CALENDAR_FEEDS,
    steps::ROOFTOP_LETTERS,
];

const SNAPSHOTS: &str = "
    ALTER TABLE inventories ADD COLUMN snapshot TEXT;   -- the name of a file
    ALTER TABLE inventories ADD COLUMN snapshot_of INTEGER; -- the generation that is in it
    ALTER TABLE inventories ADD COLUMN dictionary BLOB; -- with it the bodies that are blobs are packed
";

/// Size in bytes to which the write-ahead log is truncated when all of it is in the database. An import may need more
/// for a while.
const LOG: i64 = 16 * 1024 * 1024;

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

/// Opens or creates the file.
pub(crate) fn open(path: &Path, schema: Schema) -> Result<Connection, InternalError> {
    let on = InternalError::on::<rusqlite::Error>;
    let connection = Connection::open(path).map_err(on("opening the database"))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // The busy timeout is for another process that may be importing. A statement is planned once and not for each
    // value: planning takes longer than running most statements.
    connection
        .busy_timeout(Duration::from_secs(10))
        .and_then(|()| connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true))
        .and_then(|_| connection.pragma_update(None, "journal_mode", "wal"))
        .and_then(|()| connection.pragma_update(None, "synchronous", "full"))
        .and_then(|()| connection.pragma_update(None, "foreign_keys", true))
        .and_then(|()| {
            connection.pragma_update_and_check(None, "journal_size_limit", LOG, |_| Ok(()))
        })
        // Erased data is overwritten, and not only marked as free.
        .and_then(|()| connection.pragma_update(None, "secure_delete", true))
        .map_err(on("setting up the database"))?;
    let version = version(&connection)?;
    if version < MIGRATIONS.len() {
        if schema == Schema::Keep && version > 0 {
            let cause = "the data folder is of an older version of tradepost; `tradepost serve` \
                         or `tradepost migrate` brings it up to date";
            return Err(InternalError::new("opening the database", cause));
        }
        migrate(&connection)?;
    }
    Ok(connection)
}

/// Applies the migrations that the database lacks.
fn migrate(connection: &Connection) -> Result<(), InternalError> {
    let on = InternalError::on::<rusqlite::Error>;
    transaction(connection, || {
        // Another process may have migrated it meanwhile.
        let done = version(connection)?;
        for step in MIGRATIONS.iter().skip(done) {
            connection.execute_batch(step).map_err(on("migrating the database"))?;
            if *step == steps::ROOFTOP_LETTERS {
                lower_rooftops(connection).map_err(on("migrating the names of rooftops"))?;
            }
        }
        if done < MIGRATIONS.len() {
            let version = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
            connection
                .pragma_update(None, "user_version", version)
                .map_err(on("writing the schema version"))?;
        }
        Ok(())
    })
}

/// Writes the rooftops of leads in lower case, letters such as `É` included, as they are looked up.
fn lower_rooftops(connection: &Connection) -> rusqlite::Result<()> {
    let sql = "SELECT DISTINCT rooftop FROM leads WHERE rooftop IS NOT NULL";
    let mut statement = connection.prepare(sql)?;
    let names = statement.query_map([], |row| row.get::<_, String>(0))?;
    for name in names.collect::<rusqlite::Result<Vec<_>>>()? {
        let lower = name.to_lowercase();
        if lower != name {
            let sql = "UPDATE leads SET rooftop = ?2 WHERE rooftop = ?1";
            connection.execute(sql, [&name, &lower])?;
        }
    }
    Ok(())
}

/// Returns the number of migrations that have been applied.
pub(crate) fn version(connection: &Connection) -> Result<usize, InternalError> {
    let read = connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
    let version = read.map_err(InternalError::on("reading the schema version"))?;
    let version = usize::try_from(version).unwrap_or(usize::MAX);
    if version > MIGRATIONS.len() {
        let cause = "the data folder was written by a newer version of tradepost";
        return Err(InternalError::new("opening the database", cause));
    }
    Ok(version)
}
