//! Processes that use the database now, by the database's clock. A file belongs to one process and has no rows here.

use tradepost_document::fault::InternalError;

use super::StoreTransaction;
use crate::sql::{Connection, params};

/// The time by PostgreSQL's clock, in milliseconds.
pub(super) const NOW: &str = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)";

/// Table of processes, and the column for the process that works on a task, as a migration.
pub(crate) const SCHEMA: &str = "
    CREATE TABLE processes (
        process_id  TEXT PRIMARY KEY,
        seen_at     INTEGER NOT NULL
    ) WITHOUT ROWID;
    ALTER TABLE tasks ADD COLUMN worker TEXT;   -- the process that appended last
";

/// Name of the lock for moving rows into a database, or starting to serve it. No tenant has such an id.
pub(super) const MOVES: &str = "*moves";

/// Returns the statement that registers a process as alive.
pub(crate) fn beat() -> String {
    format!(
        "INSERT INTO processes (process_id, seen_at) VALUES ($1, {NOW})
         ON CONFLICT (process_id) DO UPDATE SET seen_at = excluded.seen_at"
    )
}

/// Returns a condition on a task that is true when no process works on it. A file belongs to one process. A process
/// not seen for half a minute counts as ended.
pub(super) fn is_left(connection: &Connection) -> String {
    if connection.process().is_none() {
        return "TRUE".to_owned();
    }
    format!(
        "NOT EXISTS (SELECT 1 FROM processes WHERE process_id = worker AND seen_at > {NOW} - 30000)"
    )
}

impl StoreTransaction<'_> {
    /// Registers this process as alive, before it does anything that others could take for abandoned.
    ///
    /// # Errors
    /// When the database fails, or a move of rows into it has not ended.
    pub(crate) fn beat(&self) -> Result<(), InternalError> {
        let Some(process) = self.0.process() else { return Ok(()) };
        self.refuse_half_moved()?;
        self.0.execute("saying that a process is there", &beat(), params![process])?;
        // Processes that were not seen for a day.
        let cleanup = format!("DELETE FROM processes WHERE seen_at < {NOW} - 86400000");
        self.0.execute("forgetting processes", &cleanup, &[])
    }

    /// Returns true when a process is alive.
    pub(crate) fn is_served(&self) -> Result<bool, InternalError> {
        let served =
            format!("SELECT EXISTS (SELECT 1 FROM processes WHERE seen_at > {NOW} - 30000)");
        self.0.one("looking for processes", &served, &[], |row| row.only())
    }

    /// Returns an error while a move to this database has not ended.
    pub(crate) fn refuse_half_moved(&self) -> Result<(), InternalError> {
        self.0.lock(MOVES)?;
        match self.moved_from()? {
            Some((_, false)) => {
                let cause = "a move to it has not ended; run `tradepost migrate-store` again, or name \
                             another database";
                Err(InternalError::new("opening the database", cause))
            }
            Some((_, true)) | None => Ok(()),
        }
    }

    /// Returns the move to this database, if any: its digest, and true when all rows have arrived.
    pub(super) fn moved_from(&self) -> Result<Option<(Vec<u8>, bool)>, InternalError> {
        let sql = "SELECT digest, is_whole FROM moved_from";
        self.0.first("reading what was moved", sql, &[], |row| {
            Ok((row.get("digest")?, row.get("is_whole")?))
        })
    }
}
