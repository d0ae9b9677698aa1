//! The embedded database: SQLite in WAL mode with full synchronisation, so that committed data is on disk.

use std::path::Path;
use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection, OpenFlags, OptionalExtension as _, Statement};
use tradepost_document::fault::InternalError;

use super::privacy::ColumnCipher;
use super::sql::{RowError, RowResult, RowSource, SqlCell, SqlRow, SqlValue};

pub(super) mod schema;

/// Handling of a schema of an older version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Schema {
    /// Migrate the tables.
    Migrate,
    /// Leave them unchanged and refuse to use them: a server of that version may be running.
    Keep,
}

/// An open transaction, which is rolled back when dropped: otherwise the next statements on this connection would be
/// part of it.
struct OpenTransaction<'c>(&'c Connection);

impl Drop for OpenTransaction<'_> {
    fn drop(&mut self) {
        if !self.0.is_autocommit() {
            // Fails only when SQLite has rolled back by itself.
            let _ = self.0.execute_batch("ROLLBACK");
        }
    }
}

/// Runs a statement that begins or ends a transaction. It is compiled once: each read has two of them.
fn control(connection: &Connection, sql: &str) -> Result<(), rusqlite::Error> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}

/// Runs `work` in a transaction that takes the write lock at once.
pub(super) fn transaction<T>(
    connection: &Connection,
    work: impl FnOnce() -> Result<T, InternalError>,
) -> Result<T, InternalError> {
    let on = InternalError::on::<rusqlite::Error>;
    // A transaction that reads first and writes later may be refused in between.
    control(connection, "BEGIN IMMEDIATE").map_err(on("beginning a transaction"))?;
    let _open = OpenTransaction(connection);
    let value = work()?;
    control(connection, "COMMIT").map_err(on("committing"))?;
    Ok(value)
}

/// Runs `work`, and undoes its changes when it returns `false`.
pub(super) fn savepoint(
    connection: &Connection,
    work: impl FnOnce() -> bool,
) -> Result<(), InternalError> {
    let on = InternalError::on::<rusqlite::Error>;
    control(connection, "SAVEPOINT job").map_err(on("setting a savepoint"))?;
    let end = if work() { "RELEASE job" } else { "ROLLBACK TO job; RELEASE job" };
    connection.execute_batch(end).map_err(on("ending a savepoint"))
}

/// Runs `read` in one consistent snapshot.
pub(super) fn snapshot(connection: &Connection, read: impl FnOnce()) -> Result<(), InternalError> {
    let on = InternalError::on::<rusqlite::Error>;
    control(connection, "BEGIN").map_err(on("beginning to read"))?;
    let _open = OpenTransaction(connection);
    read();
    control(connection, "COMMIT").map_err(on("ending to read"))
}

/// Returns how often this connection has found the file changed by others, in this process or another.
pub(super) fn version(connection: &Connection) -> Result<u64, InternalError> {
    let count = || {
        let mut statement = connection.prepare_cached("PRAGMA data_version")?;
        statement.query_row([], |row| row.get(0))
    };
    let count: i64 =
        count().map_err(InternalError::on("asking whether the database has changed"))?;
    Ok(count.unsigned_abs())
}

/// Reads from the file, past the caches of open connections: its header and the latest lead.
pub(super) fn peek(path: &Path) -> Result<(), InternalError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let read_file = || {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(Duration::from_millis(500))?;
        let latest = "SELECT payload FROM leads ORDER BY seq DESC LIMIT 1";
        connection.query_row(latest, [], |row| row.get::<_, String>(0)).optional()
    };
    read_file().map(drop).map_err(InternalError::on("reading the database anew"))
}

/// Empties the write-ahead log, so that no erased data stays in it. Does nothing while others read.
pub(super) fn empty_log(connection: &Connection) -> Result<(), InternalError> {
    connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .map_err(InternalError::on("emptying the write-ahead log"))
}

pub(super) fn execute(
    connection: &Connection,
    sql: &str,
    values: &[SqlValue<'_>],
) -> Result<usize, rusqlite::Error> {
    prepared(connection, sql, values)?.raw_execute()
}

/// Passes the rows of a query to `take` until it returns false.
pub(super) fn each(
    connection: &Connection,
    cipher: &ColumnCipher,
    sql: &str,
    values: &[SqlValue<'_>],
    mut take: impl FnMut(&SqlRow<'_>) -> RowResult<bool>,
) -> Result<(), RowError> {
    let mut statement = prepared(connection, sql, values)?;
    let mut rows = statement.raw_query();
    let mut names: Vec<String> = Vec::new();
    while let Some(row) = rows.next()? {
        // Most look-ups of one row find none, and need no names.
        if names.is_empty() {
            names = row.as_ref().column_names().map(str::to_owned).collect();
        }
        if !take(&SqlRow::new(RowSource::Sqlite { row, names: &names }, cipher))? {
            break;
        }
    }
    Ok(())
}

/// Prepares a cached statement and binds its values by number.
fn prepared<'c>(
    connection: &'c Connection,
    sql: &str,
    values: &[SqlValue<'_>],
) -> Result<CachedStatement<'c>, rusqlite::Error> {
    let mut statement = connection.prepare_cached(sql)?;
    let expected_count = statement.parameter_count();
    if expected_count != values.len() {
        return Err(rusqlite::Error::InvalidParameterCount(values.len(), expected_count));
    }
    // SQLite takes `$1` for a name and numbers names in the order in which they occur; reading that order from the
    // statement's text is faster than asking SQLite.
    let mut bound = 0_u64;
    for after_dollar in sql.split('$').skip(1) {
        let digits = after_dollar.bytes().take_while(u8::is_ascii_digit);
        let number = digits.fold(0, |number: usize, digit| number * 10 + usize::from(digit - b'0'));
        // The path of a JSON member also begins with `$`.
        let Some(value) = number.checked_sub(1).and_then(|place| values.get(place)) else {
            continue;
        };
        if number < 64 && bound >> number & 1 == 0 {
            bound |= 1 << number;
            bind(&mut statement, bound.count_ones() as usize, value)?;
        }
    }
    if bound.count_ones() as usize == expected_count {
        Ok(statement)
    } else {
        Err(rusqlite::Error::InvalidParameterCount(bound.count_ones() as usize, expected_count))
    }
}

/// Binds a value to a parameter.
fn bind(
    statement: &mut Statement<'_>,
    index: usize,
    value: &SqlValue<'_>,
) -> Result<(), rusqlite::Error> {
    match value {
        SqlValue::Integer(number) => statement.raw_bind_parameter(index, number),
        SqlValue::Text(text) => statement.raw_bind_parameter(index, text.as_deref()),
        SqlValue::Blob(bytes) => statement.raw_bind_parameter(index, bytes.as_deref()),
        SqlValue::Bool(flag) => statement.raw_bind_parameter(index, flag),
    }
}

/// Returns the value of a column.
pub(super) fn cell<'r>(row: &'r rusqlite::Row<'_>, column: usize) -> RowResult<SqlCell<'r>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Null => SqlCell::Empty,
        ValueRef::Integer(number) => SqlCell::Integer(number),
        ValueRef::Real(_) => return Err("it holds a fraction".into()),
        ValueRef::Text(text) => SqlCell::Text(std::str::from_utf8(text)?.into()),
        ValueRef::Blob(bytes) => SqlCell::Blob(bytes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::params;

    #[test]
    fn a_value_is_where_its_number_is_whatever_the_order() {
        let connection = Connection::open_in_memory().unwrap();
        let read = |sql: &str, values: &[SqlValue<'_>]| {
            let mut found = None;
            each(&connection, &ColumnCipher::default(), sql, values, |row| {
                found = Some(row.only::<String>()?);
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
