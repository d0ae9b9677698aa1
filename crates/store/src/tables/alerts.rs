//! What each destination of alerts was told is amiss, so that a process that starts again does not repeat
//! it.

use jiff::Timestamp;
use tradepost_wire::fault::InternalError;

use super::{Database, StoreTransaction};
use crate::sql::{members, params};

/// The table, as a migration.
pub(crate) const SCHEMA: &str = "
    CREATE TABLE alerts (
        destination TEXT NOT NULL,
        key         TEXT NOT NULL,      -- what is amiss; empty: when it was last told anything
        what        TEXT NOT NULL,      -- in words
        level       INTEGER NOT NULL,   -- how much of it there was
        since       INTEGER NOT NULL,
        told_at     INTEGER NOT NULL,
        PRIMARY KEY (destination, key)
    ) WITHOUT ROWID;
";

/// Something that a destination was told is amiss.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertNotice {
    /// By which it is known; empty for when the destination was last told anything.
    pub key: String,
    /// What it is, in words.
    pub what: String,
    /// How much of it there was.
    pub level: u64,
    /// Since when.
    pub since: Timestamp,
    /// When it was told.
    pub noticed_at: Timestamp,
}

impl StoreTransaction<'_> {
    /// Notes what a destination was told, in the place of what was noted before.
    ///
    /// # Errors
    /// When the database fails.
    pub fn note_alerts(
        &self,
        destination: &str,
        noticed: &[AlertNotice],
    ) -> Result<(), InternalError> {
        const FORGET: &str = "DELETE FROM alerts WHERE destination = $1";
        const NOTE: &str = "
            INSERT INTO alerts (destination, key, what, level, since, told_at)
            VALUES ($1, $2, $3, $4, $5, $6)";
        // All of them anew: what is not amiss any more is not among them, and has to be told again
        // should it come back.
        self.0.execute("forgetting alerts", FORGET, params![destination])?;
        for AlertNotice { key, what, level, since, noticed_at } in noticed {
            let level = i64::try_from(*level).unwrap_or(i64::MAX);
            let values = params![destination, key, what, level, since, noticed_at];
            self.0.execute("noting an alert", NOTE, values)?;
        }
        Ok(())
    }
}

impl Database {
    /// What a destination of alerts was told.
    pub(crate) fn noticed_alerts(
        &self,
        destination: &str,
    ) -> Result<Vec<AlertNotice>, InternalError> {
        self.0.all(
            "reading alerts",
            "SELECT key, what, level, since, told_at FROM alerts WHERE destination = $1 ORDER BY key",
            params![destination],
            |row| Ok(members!(row, 0, AlertNotice { key, what, level, since, noticed_at })),
        )
    }
}
