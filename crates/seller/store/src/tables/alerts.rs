//! Alerts that each destination was notified of, so that a restarted process does not repeat them.

use jiff::Timestamp;
use tradepost_document::fault::InternalError;

use super::{Database, StoreTransaction};
use crate::sql::params;

/// Problem that a destination was notified of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertNotice {
    /// Key of the problem; empty for the time of the last notification of any kind.
    pub key: String,
    /// Description in words.
    pub what: String,
    /// Number of affected items.
    pub level: u64,
    /// Time since which it exists.
    pub since: Timestamp,
    /// Time of the notification.
    pub noticed_at: Timestamp,
}

impl StoreTransaction<'_> {
    /// Replaces the alerts that a destination was notified of.
    ///
    /// # Errors
    /// When the database fails.
    pub fn note_alerts(
        &self,
        destination: &str,
        noticed: &[AlertNotice],
    ) -> Result<(), InternalError> {
        const DELETE_ALERTS: &str = "DELETE FROM alerts WHERE destination = $1";
        const NOTE: &str = "
            INSERT INTO alerts (destination, key, what, level, since, told_at)
            VALUES ($1, $2, $3, $4, $5, $6)";
        // `noticed` has every problem that still exists. A resolved one is forgotten here, so that it is
        // reported again if it recurs.
        self.0.execute("forgetting alerts", DELETE_ALERTS, params![destination])?;
        for AlertNotice { key, what, level, since, noticed_at } in noticed {
            let level = i64::try_from(*level).unwrap_or(i64::MAX);
            let values = params![destination, key, what, level, since, noticed_at];
            self.0.execute("noting an alert", NOTE, values)?;
        }
        Ok(())
    }
}

impl Database {
    /// Returns the alerts that a destination was notified of.
    pub(crate) fn noticed_alerts(
        &self,
        destination: &str,
    ) -> Result<Vec<AlertNotice>, InternalError> {
        self.0.all(
            "reading alerts",
            "SELECT key, what, level, since, told_at FROM alerts WHERE destination = $1 ORDER BY key",
            params![destination],
            |row| {
                Ok(AlertNotice {
                    key: row.get("key")?,
                    what: row.get("what")?,
                    level: row.get("level")?,
                    since: row.get("since")?,
                    noticed_at: row.get("told_at")?,
                })
            },
        )
    }
}
