//! Signatures of requests that were used.

use jiff::Timestamp;
use rusqlite::params;
use tradepost_keys::replay::Used;
use tradepost_wire::fault::Fault;

use super::{Database, Transaction, moment};

/// The table, as a migration.
pub(super) const SCHEMA: &str = "
    CREATE TABLE used_signatures (
        publisher TEXT NOT NULL,
        key       TEXT NOT NULL,        -- the agent and the name of its key
        nonce     BLOB NOT NULL,        -- a hash
        until     INTEGER NOT NULL,     -- milliseconds since 1970
        PRIMARY KEY (publisher, key, nonce)
    ) WITHOUT ROWID;
    CREATE INDEX used_signatures_by_end ON used_signatures (publisher, until);
";

impl Database {
    pub(crate) fn used_signatures(
        &self,
        publisher: &str,
        now: Timestamp,
    ) -> Result<Vec<Used>, Fault> {
        self.0
            .prepare_cached(
                "SELECT key, nonce, until FROM used_signatures
                 WHERE publisher = ?1 AND until > ?2",
            )
            .and_then(|mut statement| {
                let rows =
                    statement.query_map(params![publisher, now.as_millisecond()], |row| {
                        let until = moment(row.get(2)?);
                        Ok(Used { key: row.get(0)?, nonce: row.get(1)?, until })
                    })?;
                rows.collect()
            })
            .map_err(Fault::on("reading used signatures"))
    }
}

impl Transaction<'_> {
    /// Notes that a signature was used, and forgets those that no longer hold.
    ///
    /// # Errors
    /// When the database fails.
    pub fn use_signature(&self, publisher: &str, used: &Used, now: Timestamp) -> Result<(), Fault> {
        let run = |sql: &str, values: &[&dyn rusqlite::ToSql]| {
            self.0.prepare_cached(sql).and_then(|mut statement| statement.execute(values))
        };
        run(
            "DELETE FROM used_signatures WHERE publisher = ?1 AND until <= ?2",
            params![publisher, now.as_millisecond()],
        )
        .and_then(|_| {
            run(
                "INSERT OR REPLACE INTO used_signatures (publisher, key, nonce, until)
                 VALUES (?1, ?2, ?3, ?4)",
                params![publisher, used.key, used.nonce, used.until.as_millisecond()],
            )
        })
        .map(|_| ())
        .map_err(Fault::on("noting a used signature"))
    }
}
