//! Processes that use the database now, by the database's clock. A file belongs to one process and has no rows here.

use tradepost_document::fault::InternalError;

use super::StoreTransaction;
use crate::sql::{Connection, params};

/// The time by PostgreSQL's clock, in milliseconds.
macro_rules! now {
    () => {
        "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)"
    };
}

/// Table of processes, and the column for the process that works on a task, as a migration.
pub(crate) const SCHEMA: &str = "
    CREATE TABLE processes (
        process_id  TEXT PRIMARY KEY,
        seen_at     INTEGER NOT NULL
    ) WITHOUT ROWID;
    ALTER TABLE tasks ADD COLUMN worker TEXT;   -- the process that appended last
";

/// Statement that registers a process as alive.
pub(crate) const BEAT: &str = concat!(
    "INSERT INTO processes (process_id, seen_at) VALUES ($1, ",
    now!(),
    ") ON CONFLICT (process_id) DO UPDATE SET seen_at = excluded.seen_at"
);

/// Deletes processes that were not seen for a day.
const TIDY: &str = concat!("DELETE FROM processes WHERE seen_at < ", now!(), " - 86400000");

/// Condition on a task: true when no process works on it. A process not seen for half a minute counts as ended.
const LEFT: &str = concat!(
    "NOT EXISTS (SELECT 1 FROM processes WHERE process_id = worker AND seen_at > ",
    now!(),
    " - 30000)"
);

const SERVED: &str =
    concat!("SELECT EXISTS (SELECT 1 FROM processes WHERE seen_at > ", now!(), " - 30000)");

/// Returns a condition on a task that is true when no process works on it. A file belongs to one process.
pub(super) fn is_left(connection: &Connection) -> &'static str {
    if connection.process().is_some() { LEFT } else { "TRUE" }
}

impl StoreTransaction<'_> {
    /// Registers this process as alive, before it does anything that others could take for abandoned.
    ///
    /// # Errors
    /// When the database fails, or a move of rows into it has not ended.
    pub(crate) fn beat(&self) -> Result<(), InternalError> {
        let Some(process) = self.0.process() else { return Ok(()) };
        self.refuse_half_moved()?;
        self.0.execute("saying that a process is there", BEAT, params![process])?;
        self.0.execute("forgetting processes", TIDY, &[])
    }

    /// Returns true when a process is alive.
    pub(crate) fn is_served(&self) -> Result<bool, InternalError> {
        self.0.one("looking for processes", SERVED, &[], |row| row.only())
    }
}
