//! What publishers keep: things of every kind in one table, and idempotency keys.

use jiff::Timestamp;
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OptionalExtension as _, Row, params, params_from_iter};
use tradepost_publisher::shelf::{KeyRow, Kind, Query, Record, Shelf, Whose};
use tradepost_wire::fault::Fault;
use tradepost_wire::json::Value;

use super::{Database, Transaction, moment};

/// The tables, as a migration.
pub(super) const SCHEMA: &str = "
    CREATE TABLE publisher_things (
        place      INTEGER PRIMARY KEY AUTOINCREMENT,   -- the order of making
        publisher  TEXT NOT NULL,
        kind       TEXT NOT NULL,
        id         TEXT NOT NULL,
        owner      TEXT NOT NULL,
        account    TEXT,
        state      TEXT NOT NULL,
        revision   INTEGER NOT NULL,
        created_at INTEGER NOT NULL,    -- microseconds since 1970
        updated_at INTEGER NOT NULL,
        body       TEXT NOT NULL        -- JSON
    );
    CREATE UNIQUE INDEX publisher_things_by_id ON publisher_things (publisher, kind, id);
    CREATE INDEX publisher_things_whose
        ON publisher_things (publisher, kind, id, owner, account);
    CREATE INDEX publisher_things_by_owner ON publisher_things (publisher, kind, owner, place);
    CREATE INDEX publisher_things_by_state ON publisher_things (publisher, kind, state, place);
    CREATE TABLE publisher_keys (
        publisher TEXT NOT NULL,
        scope     TEXT NOT NULL,        -- the tenant, and for messages the conversation
        key       TEXT NOT NULL,
        hash      BLOB NOT NULL,        -- SHA-256 of the canonical request
        reply     TEXT NOT NULL,        -- JSON
        used_at   INTEGER NOT NULL,     -- milliseconds since 1970
        PRIMARY KEY (publisher, scope, key)
    ) WITHOUT ROWID;
    CREATE INDEX publisher_keys_by_age ON publisher_keys (publisher, used_at);
";

const COLUMNS: &str = "place, id, owner, account, state, revision, created_at, updated_at, body";

/// A publisher's shelf in a transaction.
struct Rows<'c> {
    connection: &'c Connection,
    publisher: &'c str,
    writable: bool,
}

impl Database {
    /// Lets a job read a publisher's shelf in one consistent state.
    pub(crate) fn read_shelf(
        &self,
        publisher: &str,
        job: &mut dyn FnMut(&dyn Shelf),
    ) -> Result<(), Fault> {
        let on = Fault::on::<rusqlite::Error>;
        self.0.execute_batch("BEGIN").map_err(on("beginning to read"))?;
        job(&Rows { connection: &self.0, publisher, writable: false });
        self.0.execute_batch("COMMIT").map_err(on("ending to read"))
    }
}

impl Transaction<'_> {
    /// Lets a job work on a publisher's shelf.
    pub fn shelf<T>(&self, publisher: &str, job: impl FnOnce(&dyn Shelf) -> T) -> T {
        job(&Rows { connection: self.0, publisher, writable: true })
    }
}

impl Rows<'_> {
    fn check_writable(&self) -> Result<(), Fault> {
        if self.writable {
            return Ok(());
        }
        Err(Fault::new("writing to the store", "the transaction is for reading alone"))
    }

    fn place(&self, kind: Kind, id: &str) -> Result<Option<i64>, Fault> {
        self.connection
            .prepare_cached(
                "SELECT place FROM publisher_things
                 WHERE publisher = ?1 AND kind = ?2 AND id = ?3",
            )
            .and_then(|mut statement| {
                statement
                    .query_row(params![self.publisher, kind.name(), id], |row| row.get(0))
                    .optional()
            })
            .map_err(on("looking a thing up"))
    }
}

impl Shelf for Rows<'_> {
    fn whose(&self, kind: Kind, id: &str) -> Result<Option<Whose>, Fault> {
        // The index has all that is asked for: a hit reads no more than a miss. A miss reads a row as
        // well, one that stands for nothing, so that it does not take less time than another's thing.
        let found: (bool, String, Option<String>) = self
            .connection
            .prepare_cached(
                "SELECT 1, owner, account FROM publisher_things INDEXED BY publisher_things_whose
                 WHERE publisher = ?1 AND kind = ?2 AND id = ?3
                 UNION ALL SELECT 0, 'agent:nobody', 'acc_00000000000000000000000000000000'
                 LIMIT 1",
            )
            .and_then(|mut statement| {
                statement.query_row(params![self.publisher, kind.name(), id], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
                })
            })
            .map_err(on("finding out whose a thing is"))?;
        let (is_there, owner, account) = found;
        Ok(is_there.then_some(Whose { owner, account }))
    }

    fn get(&self, kind: Kind, id: &str) -> Result<Option<Record>, Fault> {
        let sql = format!(
            "SELECT {COLUMNS} FROM publisher_things
             WHERE publisher = ?1 AND kind = ?2 AND id = ?3"
        );
        let row = self
            .connection
            .prepare_cached(&sql)
            .and_then(|mut statement| {
                statement
                    .query_row(params![self.publisher, kind.name(), id], |row| read(kind, row))
                    .optional()
            })
            .map_err(on("reading a thing"))?;
        row.map(Unread::parse).transpose()
    }

    fn list(&self, kind: Kind, query: &Query) -> Result<Vec<Record>, Fault> {
        let mut sql =
            format!("SELECT {COLUMNS} FROM publisher_things WHERE publisher = ? AND kind = ?");
        let mut values: Vec<Sql> =
            vec![self.publisher.to_owned().into(), kind.name().to_owned().into()];
        let conditions =
            [("owner", &query.owner), ("account", &query.account), ("state", &query.state)];
        for (column, wanted) in conditions {
            if let Some(wanted) = wanted {
                sql.push_str(&format!(" AND {column} = ?"));
                values.push(wanted.clone().into());
            }
        }
        // The planner looks at a bare parameter after LIMIT, and would plan the statement anew each time
        // that it is bound.
        sql.push_str(" AND place > ? ORDER BY place LIMIT ? + 0");
        values.push(i64::try_from(query.after).unwrap_or(i64::MAX).into());
        // SQLite reads -1 as no limit.
        let limit = if query.limit == 0 { -1 } else { i64::try_from(query.limit).unwrap_or(-1) };
        values.push(limit.into());
        let rows: Vec<Unread> = self
            .connection
            .prepare_cached(&sql)
            .and_then(|mut statement| {
                statement.query_map(params_from_iter(values), |row| read(kind, row))?.collect()
            })
            .map_err(on("listing things"))?;
        rows.into_iter().map(Unread::parse).collect()
    }

    fn key(&self, scope: &str, key: &str) -> Result<Option<KeyRow>, Fault> {
        let row: Option<([u8; 32], String, i64)> = self
            .connection
            .prepare_cached(
                "SELECT hash, reply, used_at FROM publisher_keys
                 WHERE publisher = ?1 AND scope = ?2 AND key = ?3",
            )
            .and_then(|mut statement| {
                statement
                    .query_row(params![self.publisher, scope, key], |row| {
                        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
                    })
                    .optional()
            })
            .map_err(on("looking an idempotency key up"))?;
        row.map(|(hash, reply, used_at)| {
            Ok(KeyRow { hash, reply: json(&reply)?, used_at: moment(used_at) })
        })
        .transpose()
    }

    fn put(&self, record: Record) -> Result<(), Fault> {
        self.check_writable()?;
        let place = self.place(record.kind, &record.id)?;
        let revision = i64::try_from(record.revision).unwrap_or(i64::MAX);
        self.connection
            .prepare_cached(
                "INSERT OR REPLACE INTO publisher_things
                     (place, publisher, kind, id, owner, account, state, revision, created_at,
                      updated_at, body)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            )
            .and_then(|mut statement| {
                statement.execute(params![
                    place,
                    self.publisher,
                    record.kind.name(),
                    record.id,
                    record.owner,
                    record.account,
                    record.state,
                    revision,
                    record.created_at.as_microsecond(),
                    record.updated_at.as_microsecond(),
                    record.body.to_string(),
                ])
            })
            .map(|_| ())
            .map_err(on("writing a thing"))
    }

    fn remove(&self, kind: Kind, id: &str) -> Result<bool, Fault> {
        self.check_writable()?;
        self.connection
            .prepare_cached(
                "DELETE FROM publisher_things WHERE publisher = ?1 AND kind = ?2 AND id = ?3",
            )
            .and_then(|mut statement| statement.execute(params![self.publisher, kind.name(), id]))
            .map(|rows| rows > 0)
            .map_err(on("removing a thing"))
    }

    fn remember(&self, scope: &str, key: &str, row: KeyRow) -> Result<(), Fault> {
        self.check_writable()?;
        self.connection
            .prepare_cached(
                "INSERT OR REPLACE INTO publisher_keys
                     (publisher, scope, key, hash, reply, used_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )
            .and_then(|mut statement| {
                statement.execute(params![
                    self.publisher,
                    scope,
                    key,
                    row.hash,
                    row.reply.to_string(),
                    row.used_at.as_millisecond(),
                ])
            })
            .map(|_| ())
            .map_err(on("remembering an idempotency key"))
    }

    fn forget_keys(&self, before: Timestamp) -> Result<(), Fault> {
        self.check_writable()?;
        self.connection
            .execute(
                "DELETE FROM publisher_keys WHERE publisher = ?1 AND used_at < ?2",
                params![self.publisher, before.as_millisecond()],
            )
            .map(|_| ())
            .map_err(on("forgetting idempotency keys"))
    }
}

/// A row whose body is still text.
struct Unread {
    record: Record,
    body: String,
}

impl Unread {
    fn parse(self) -> Result<Record, Fault> {
        Ok(Record { body: json(&self.body)?, ..self.record })
    }
}

fn read(kind: Kind, row: &Row<'_>) -> rusqlite::Result<Unread> {
    let number = |column: &str| row.get::<_, i64>(column);
    let count =
        |column: &str| Ok::<_, rusqlite::Error>(u64::try_from(number(column)?).unwrap_or(0));
    let at = |column: &str| {
        let micros = number(column)?;
        Ok::<_, rusqlite::Error>(Timestamp::from_microsecond(micros).unwrap_or(Timestamp::MAX))
    };
    let record = Record {
        kind,
        id: row.get("id")?,
        owner: row.get("owner")?,
        account: row.get("account")?,
        state: row.get("state")?,
        revision: count("revision")?,
        body: Value::Null,
        created_at: at("created_at")?,
        updated_at: at("updated_at")?,
        place: count("place")?,
    };
    Ok(Unread { record, body: row.get("body")? })
}

fn json(text: &str) -> Result<Value, Fault> {
    tradepost_wire::json::from_str(text).map_err(|error| Fault::new("reading what was kept", error))
}

fn on(what: &'static str) -> impl FnOnce(rusqlite::Error) -> Fault {
    move |error| Fault::new(what, error)
}
