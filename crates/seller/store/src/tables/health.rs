//! Test of whether the database can be written.

use tradepost_document::fault::InternalError;

use super::StoreTransaction;
use crate::sql::params;

/// The table, as a migration.
pub(crate) const SCHEMA: &str = "
    CREATE TABLE health (
        one     INTEGER PRIMARY KEY CHECK (one = 1),
        checks  INTEGER NOT NULL,       -- how often
        room    BLOB NOT NULL           -- zeros, to see whether there is room for so many
    );
";

impl StoreTransaction<'_> {
    /// Writes this number of zero bytes to the health row.
    pub(crate) fn touch(&self, bytes: usize) -> Result<(), InternalError> {
        self.0.execute(
            "writing to see whether it can be done",
            "INSERT INTO health (one, checks, room) VALUES (1, 1, $1)
             ON CONFLICT (one) DO UPDATE SET checks = health.checks + 1, room = excluded.room",
            params![vec![0_u8; bytes]],
        )
    }
}
