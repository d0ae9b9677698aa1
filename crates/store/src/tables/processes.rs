//! Which processes use the database at the moment, by the database's clock. A file is one process's,
//! and has no rows here.

use tradepost_wire::fault::InternalError;

use super::StoreTransaction;
use crate::sql::{Connection, params};

/// The moment by PostgreSQL's clock, in milliseconds.
macro_rules! now {
    () => {
        "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)"
    };
}

/// The table, and who has worked on a task, as a migration.
pub(crate) const SCHEMA: &str = "
    CREATE TABLE processes (
        process_id  TEXT PRIMARY KEY,
        seen_at     INTEGER NOT NULL
    ) WITHOUT ROWID;
    ALTER TABLE tasks ADD COLUMN worker TEXT;   -- the process that appended last
";

/// Notes that a process is there.
pub(crate) const BEAT: &str = concat!(
    "INSERT INTO processes (process_id, seen_at) VALUES ($1, ",
    now!(),
    ") ON CONFLICT (process_id) DO UPDATE SET seen_at = excluded.seen_at"
);

/// Forgets those that were not there for a day.
const TIDY: &str = concat!("DELETE FROM processes WHERE seen_at < ", now!(), " - 86400000");

/// Of a task: whether nobody works on it. A process that has said nothing for half a minute is gone.
const LEFT: &str = concat!(
    "NOT EXISTS (SELECT 1 FROM processes WHERE process_id = worker AND seen_at > ",
    now!(),
    " - 30000)"
);

const SERVED: &str =
    concat!("SELECT EXISTS (SELECT 1 FROM processes WHERE seen_at > ", now!(), " - 30000)");

/// Of a task, as a condition: whether nobody works on it. What is in a file is one process's.
pub(super) fn is_left(connection: &Connection) -> &'static str {
    if connection.process().is_some() { LEFT } else { "TRUE" }
}

impl StoreTransaction<'_> {
    /// Notes that this process is there, before it does anything that others could take for left.
    ///
    /// # Errors
    /// When the database fails, or something is being moved to it.
    pub(crate) fn beat(&self) -> Result<(), InternalError> {
        let Some(process) = self.0.process() else { return Ok(()) };
        self.refuse_half_moved()?;
        self.0.execute("saying that a process is there", BEAT, params![process])?;
        self.0.execute("forgetting processes", TIDY, &[])
    }

    /// Whether a process is there.
    pub(crate) fn is_served(&self) -> Result<bool, InternalError> {
        self.0.one("looking for processes", SERVED, &[], |row| row.get(0))
    }
}
