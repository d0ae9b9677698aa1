//! Finding out whether the database can be read and written.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension as _};
use tradepost_wire::fault::Fault;

use super::Transaction;

/// The table, as a migration: one row that is written to see whether it can be.
pub(super) const SCHEMA: &str = "
    CREATE TABLE health (
        one     INTEGER PRIMARY KEY CHECK (one = 1),
        checks  INTEGER NOT NULL,       -- how often
        room    BLOB NOT NULL           -- zeros, to see whether there is room for so many
    );
";

impl Transaction<'_> {
    /// Writes so many bytes that nobody needs.
    pub(crate) fn touch(&self, bytes: i64) -> Result<(), Fault> {
        let sql = "INSERT INTO health (one, checks, room) VALUES (1, 1, zeroblob(?1))
                   ON CONFLICT (one) DO UPDATE SET checks = checks + 1, room = excluded.room";
        let written =
            self.0.prepare_cached(sql).and_then(|mut statement| statement.execute([bytes]));
        written.map(drop).map_err(Fault::on("writing to see whether it can be done"))
    }
}

/// Reads from the file what the open connections may remember: its head and the latest lead.
pub(crate) fn peek(path: &Path) -> Result<(), Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let look = || {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(Duration::from_millis(500))?;
        let latest = "SELECT payload FROM leads ORDER BY seq DESC LIMIT 1";
        connection.query_row(latest, [], |row| row.get::<_, String>(0)).optional()
    };
    look().map(drop).map_err(Fault::on("reading the database anew"))
}
