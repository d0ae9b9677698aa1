//! Compares the schema of a database file with the schema of its version.
//!
//! A file comes from outside. A trigger or a view in it would run with every statement of the server, and without an
//! index or a constraint rows could be duplicated.

use std::collections::BTreeMap;

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use tradepost_document::fault::InternalError;

use crate::sqlite::schema::MIGRATIONS;

const WHAT: &str = "comparing the schema of the database";

/// Tables that SQLite creates by itself.
const OWN_TABLES: [&str; 3] = ["sqlite_sequence", "sqlite_stat1", "sqlite_stat4"];

/// All objects of a schema, by type and name.
type Schema = BTreeMap<(String, String), SchemaObject>;

/// A table, an index, a view or a trigger.
#[derive(Debug, PartialEq, Eq)]
struct SchemaObject {
    /// Table that it belongs to.
    table: String,
    /// Statement that creates it, normalized.
    sql: String,
}

/// Returns the differences between the schema of a file and that of its version; empty when there are none.
///
/// # Errors
/// When it cannot be read.
pub(super) fn differences(
    connection: &Connection,
    version: usize,
) -> Result<Vec<String>, InternalError> {
    let on = InternalError::on::<rusqlite::Error>;
    let expected = Connection::open_in_memory().map_err(on(WHAT))?;
    for step in MIGRATIONS.iter().take(version) {
        expected.execute_batch(step).map_err(on(WHAT))?;
    }
    let expected = read(&expected).map_err(on(WHAT))?;
    let found = read(connection).map_err(on(WHAT))?;
    let mut lines = Vec::new();
    for ((kind, name), object) in &found {
        // Names are quoted as in Rust because they come from outside.
        // A table or a view is its own table.
        let of_table = match object.table == *name {
            true => String::new(),
            false => format!(" of the table {:?}", object.table),
        };
        match expected.get(&(kind.clone(), name.clone())) {
            None => {
                lines.push(format!("the {kind} {name:?}{of_table} does not belong to tradepost"))
            }
            Some(expected_object) if expected_object != object => {
                lines.push(format!("the {kind} {name:?} is not as tradepost makes it"));
            }
            Some(_) => {}
        }
    }
    let missing = expected.keys().filter(|key| !found.contains_key(*key));
    lines.extend(missing.map(|(kind, name)| format!("the {kind} {name:?} is missing")));
    Ok(lines)
}

/// Stops SQLite from running anything that the schema of a file names.
pub(super) fn distrust_schema(connection: &Connection) -> Result<(), InternalError> {
    let set = || {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)
    };
    set().map(drop).map_err(InternalError::on(WHAT))
}

/// Reads the schema of a database, without the tables and indexes that SQLite creates itself.
fn read(connection: &Connection) -> Result<Schema, rusqlite::Error> {
    // An index without a statement is one that SQLite creates for a key.
    let sql = "SELECT type, name, tbl_name, coalesce(sql, '') AS statement FROM sqlite_master
               WHERE NOT (type = 'index' AND sql IS NULL)";
    let mut statement = connection.prepare(sql)?;
    let objects = statement.query_map([], |row| {
        let kind: String = row.get("type")?;
        let name: String = row.get("name")?;
        let sql: String = row.get("statement")?;
        Ok(((kind, name), SchemaObject { table: row.get("tbl_name")?, sql: normalized(&sql) }))
    })?;
    let is_own = |kind: &str, name: &str| kind == "table" && OWN_TABLES.contains(&name);
    objects
        .filter(|object| !matches!(object, Ok(((kind, name), _)) if is_own(kind, name)))
        .collect()
}

/// Normalizes a statement: removes comments, quotation marks of names and redundant white space, and lowercases its
/// letters.
fn normalized(sql: &str) -> String {
    let mut written = String::with_capacity(sql.len());
    let mut rest = sql.chars().peekable();
    let mut has_gap = false;
    while let Some(c) = rest.next() {
        if c == '-' && rest.peek() == Some(&'-') {
            for skipped in rest.by_ref() {
                if skipped == '\n' {
                    break;
                }
            }
            has_gap = true;
        } else if c == '\'' {
            written.push(c);
            for quoted in rest.by_ref() {
                written.push(quoted);
                if quoted == '\'' {
                    break;
                }
            }
            has_gap = false;
        } else if c.is_whitespace() {
            has_gap = true;
        } else if c != '"' {
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            if has_gap && is_word(c) && written.ends_with(is_word) {
                written.push(' ');
            }
            written.extend(c.to_lowercase());
            has_gap = false;
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the differences of an up-to-date database after these statements.
    fn after(statements: &str) -> Vec<String> {
        let connection = Connection::open_in_memory().unwrap();
        for step in MIGRATIONS {
            connection.execute_batch(step).unwrap();
        }
        connection.execute_batch(statements).unwrap();
        differences(&connection, MIGRATIONS.len()).unwrap()
    }

    #[test]
    fn every_difference_of_a_schema_is_named() {
        for (statements, expected) in [
            ("", None),
            ("ANALYZE", None),
            (
                "CREATE TRIGGER spy AFTER INSERT ON leads BEGIN DELETE FROM audit_log; END",
                Some("the trigger \"spy\" of the table \"leads\" does not belong to tradepost"),
            ),
            ("CREATE VIEW spy AS SELECT 1", Some("the view \"spy\" does not belong to tradepost")),
            ("CREATE TABLE spy (a)", Some("the table \"spy\" does not belong to tradepost")),
            (
                "CREATE INDEX spy ON leads (dealer_id)",
                Some("the index \"spy\" of the table \"leads\" does not belong to tradepost"),
            ),
            ("DROP INDEX leads_by_person", Some("the index \"leads_by_person\" is missing")),
            ("DROP TABLE probe_reports", Some("the table \"probe_reports\" is missing")),
            (
                "ALTER TABLE cards ADD COLUMN spy TEXT",
                Some("the table \"cards\" is not as tradepost makes it"),
            ),
            (
                "DROP INDEX leads_by_person; CREATE INDEX leads_by_person ON leads (person)",
                Some("the index \"leads_by_person\" is not as tradepost makes it"),
            ),
        ] {
            assert_eq!(after(statements), Vec::from_iter(expected), "{statements}");
        }
    }

    #[test]
    fn every_older_version_has_the_schema_of_its_steps() {
        for version in 1..=MIGRATIONS.len() {
            let connection = Connection::open_in_memory().unwrap();
            for step in MIGRATIONS.iter().take(version) {
                connection.execute_batch(step).unwrap();
            }
            assert_eq!(differences(&connection, version).unwrap(), [""; 0], "{version}");
        }
    }

    #[test]
    fn what_says_nothing_of_a_statement_is_left_out() {
        let one = "CREATE TABLE \"a\" (  -- of it\n  b TEXT NOT NULL DEFAULT 'A  --b',\n c )";
        let other = "create table a(b text  not null default 'A  --b', c)";
        assert_eq!(normalized(one), normalized(other));
        assert_ne!(normalized(one), normalized("create table a(b text default 'A --b', c)"));
    }
}
