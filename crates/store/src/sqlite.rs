//! The embedded database: SQLite in WAL mode with full synchronisation, so that what was committed
//! is on disk.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection, OpenFlags, OptionalExtension as _, Statement};
use tradepost_wire::fault::Fault;

use super::privacy::Vault;
use super::sql::{Cell, Cells, Read, Row, Unread, Value};
use super::tables;

/// What becomes of a schema that is of an older version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Schema {
    /// It is brought up to date.
    Migrate,
    /// It is left alone and not used: a server of that version may be running.
    Keep,
}

/// How many statements a connection keeps ready: all that there are.
const STATEMENTS: usize = 128;

/// One step for each schema version, applied in order; `user_version` counts them.
pub(super) const MIGRATIONS: &[&str] = &[
    DEALER_SCHEMA,
    tables::keys::SCHEMA,
    tables::tasks::SCHEMA,
    tables::push::SCHEMA,
    tables::publisher::SCHEMA,
    tables::leads::SCHEMA,
    tables::health::SCHEMA,
    tables::consents::SCHEMA,
    tables::signatures::SCHEMA,
    tables::leads::deliveries::SCHEMA,
    tables::leads::desk::SCHEMA,
    tables::staff::SCHEMA,
    SNAPSHOTS,
    tables::feeds::SCHEMA,
    tables::privacy::SCHEMA,
    tables::alerts::SCHEMA,
    tables::hosting::SCHEMA,
    tables::refusals::SCHEMA,
    tables::probes::SCHEMA,
];

const SNAPSHOTS: &str = "
    ALTER TABLE inventories ADD COLUMN snapshot TEXT;   -- the name of a file
    ALTER TABLE inventories ADD COLUMN snapshot_of INTEGER; -- the generation that is in it
    ALTER TABLE inventories ADD COLUMN dictionary BLOB; -- with it the bodies that are blobs are packed
";

/// How much of the write-ahead log is kept when everything in it is in the database, in bytes. An
/// import may need more for a while.
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
pub(super) fn open(path: &Path, schema: Schema) -> Result<Connection, Fault> {
    let on = Fault::on::<rusqlite::Error>;
    let connection = Connection::open(path).map_err(on("opening the database"))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Another process may be importing. The plan of a statement is made once and not for each value: making
    // it takes longer than what most statements do.
    connection
        .busy_timeout(Duration::from_secs(10))
        .and_then(|()| connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true))
        .and_then(|_| connection.pragma_update(None, "journal_mode", "wal"))
        .and_then(|()| connection.pragma_update(None, "synchronous", "full"))
        .and_then(|()| connection.pragma_update(None, "foreign_keys", true))
        .and_then(|()| {
            connection.pragma_update_and_check(None, "journal_size_limit", LOG, |_| Ok(()))
        })
        // What is erased is overwritten, and not only marked as free.
        .and_then(|()| connection.pragma_update(None, "secure_delete", true))
        .map_err(on("setting up the database"))?;
    let version = version(&connection)?;
    if version < MIGRATIONS.len() {
        if schema == Schema::Keep && version > 0 {
            let cause = "the data folder is of an older version of tradepost; `tradepost serve` \
                         or `tradepost migrate` brings it up to date";
            return Err(Fault::new("opening the database", cause));
        }
        migrate(&connection)?;
    }
    Ok(connection)
}

fn migrate(connection: &Connection) -> Result<(), Fault> {
    let on = Fault::on::<rusqlite::Error>;
    transaction(connection, || {
        // Another process may have been faster.
        let done = version(connection)?;
        for step in MIGRATIONS.iter().skip(done) {
            connection.execute_batch(step).map_err(on("migrating the database"))?;
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

/// How many steps have been taken.
pub(super) fn version(connection: &Connection) -> Result<usize, Fault> {
    let read = connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
    let version = read.map_err(Fault::on("reading the schema version"))?;
    let version = usize::try_from(version).unwrap_or(usize::MAX);
    if version > MIGRATIONS.len() {
        let cause = "the data folder was written by a newer version of tradepost";
        return Err(Fault::new("opening the database", cause));
    }
    Ok(version)
}

/// Runs `work` in a transaction that takes the write lock at once.
pub(super) fn transaction<T>(
    connection: &Connection,
    work: impl FnOnce() -> Result<T, Fault>,
) -> Result<T, Fault> {
    let on = Fault::on::<rusqlite::Error>;
    connection.execute_batch("BEGIN IMMEDIATE").map_err(on("beginning a transaction"))?;
    let outcome = work().and_then(|value| {
        connection.execute_batch("COMMIT").map_err(on("committing"))?;
        Ok(value)
    });
    if outcome.is_err() {
        // Fails only when SQLite has rolled back by itself.
        let _ = connection.execute_batch("ROLLBACK");
    }
    outcome
}

/// Runs `work`, and undoes what it did when it says so.
pub(super) fn savepoint(connection: &Connection, work: impl FnOnce() -> bool) -> Result<(), Fault> {
    let on = Fault::on::<rusqlite::Error>;
    connection.execute_batch("SAVEPOINT job").map_err(on("setting a savepoint"))?;
    let end = if work() { "RELEASE job" } else { "ROLLBACK TO job; RELEASE job" };
    connection.execute_batch(end).map_err(on("ending a savepoint"))
}

/// Has something read in one consistent state.
pub(super) fn snapshot(connection: &Connection, read: impl FnOnce()) -> Result<(), Fault> {
    let on = Fault::on::<rusqlite::Error>;
    connection.execute_batch("BEGIN").map_err(on("beginning to read"))?;
    read();
    connection.execute_batch("COMMIT").map_err(on("ending to read"))
}

/// Reads from the file what the open connections may remember: its head and the latest lead.
pub(super) fn peek(path: &Path) -> Result<(), Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let look = || {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(Duration::from_millis(500))?;
        let latest = "SELECT payload FROM leads ORDER BY seq DESC LIMIT 1";
        connection.query_row(latest, [], |row| row.get::<_, String>(0)).optional()
    };
    look().map(drop).map_err(Fault::on("reading the database anew"))
}

/// Empties the write-ahead log, so that nothing of what was erased stays in it. Does nothing while
/// others read.
pub(super) fn empty_log(connection: &Connection) -> Result<(), Fault> {
    connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .map_err(Fault::on("emptying the write-ahead log"))
}

pub(super) fn execute(
    connection: &Connection,
    sql: &str,
    values: &[Value<'_>],
) -> Result<usize, rusqlite::Error> {
    prepared(connection, sql, values)?.raw_execute()
}

pub(super) fn each(
    connection: &Connection,
    vault: &Vault,
    sql: &str,
    values: &[Value<'_>],
    mut take: impl FnMut(&Row<'_>) -> Read<bool>,
) -> Result<(), Unread> {
    let mut statement = prepared(connection, sql, values)?;
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        if !take(&Row::new(Cells::Sqlite(row), vault))? {
            break;
        }
    }
    Ok(())
}

fn prepared<'c>(
    connection: &'c Connection,
    sql: &str,
    values: &[Value<'_>],
) -> Result<CachedStatement<'c>, rusqlite::Error> {
    let mut statement = connection.prepare_cached(sql)?;
    let wanted = statement.parameter_count();
    if wanted != values.len() {
        return Err(rusqlite::Error::InvalidParameterCount(values.len(), wanted));
    }
    // SQLite takes `$1` for a name and numbers names in the order of their coming, which the text of
    // the statement tells faster than SQLite does.
    let mut bound = 0_u64;
    for behind in sql.split('$').skip(1) {
        let digits = behind.bytes().take_while(u8::is_ascii_digit);
        let number = digits.fold(0, |number: usize, digit| number * 10 + usize::from(digit - b'0'));
        // The path of a member of JSON begins so, too.
        let Some(value) = number.checked_sub(1).and_then(|place| values.get(place)) else {
            continue;
        };
        if number < 64 && bound >> number & 1 == 0 {
            bound |= 1 << number;
            bind(&mut statement, bound.count_ones() as usize, value)?;
        }
    }
    if bound.count_ones() as usize == wanted {
        Ok(statement)
    } else {
        Err(rusqlite::Error::InvalidParameterCount(bound.count_ones() as usize, wanted))
    }
}

fn bind(
    statement: &mut Statement<'_>,
    index: usize,
    value: &Value<'_>,
) -> Result<(), rusqlite::Error> {
    match value {
        Value::Integer(number) => statement.raw_bind_parameter(index, number),
        Value::Text(text) => statement.raw_bind_parameter(index, text.as_deref()),
        Value::Blob(bytes) => statement.raw_bind_parameter(index, bytes.as_deref()),
        Value::Truth(truth) => statement.raw_bind_parameter(index, truth),
    }
}

/// What stands in a column.
pub(super) fn cell<'r>(row: &'r rusqlite::Row<'_>, column: usize) -> Read<Cell<'r>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Null => Cell::Empty,
        ValueRef::Integer(number) => Cell::Integer(number),
        ValueRef::Real(_) => return Err("a column holds a fraction".into()),
        ValueRef::Text(text) => Cell::Text(std::str::from_utf8(text)?.into()),
        ValueRef::Blob(bytes) => Cell::Blob(bytes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::params;

    #[test]
    fn a_value_is_where_its_number_is_whatever_the_order() {
        let connection = Connection::open_in_memory().unwrap();
        let read = |sql: &str, values: &[Value<'_>]| {
            let mut found = None;
            each(&connection, &Vault::default(), sql, values, |row| {
                found = Some(row.get::<String>(0)?);
                Ok(true)
            })
            .map(|()| found.unwrap())
        };
        let both = "SELECT $2 || $1 || $2 || $3 || json_extract('{\"a\":\"x\"}', '$.a')";
        assert_eq!(read(both, params!["a", "b", "c"]).unwrap(), "babcx");
        let many = "SELECT $10||$9||$8||$7||$6||$5||$4||$3||$2||$1";
        let values = params!["1", "2", "3", "4", "5", "6", "7", "8", "9", "X"];
        assert_eq!(read(many, values).unwrap(), "X987654321");
        assert!(read("SELECT $2 || $2", params!["a"]).is_err(), "one value, for another place");
        assert!(read("SELECT $1", params!["a", "b"]).is_err(), "a value that has no place");
    }
}
