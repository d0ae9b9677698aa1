//! Used signatures of requests.

use jiff::Timestamp;
use tradepost_document::fault::InternalError;
use tradepost_keys::replay::UsedSignature;

use super::{Database, StoreTransaction};
use crate::sql::params;

impl Database {
    /// Returns the signatures that were used at a publisher and have not expired.
    pub(crate) fn used_signatures(
        &self,
        publisher: &str,
        now: Timestamp,
    ) -> Result<Vec<UsedSignature>, InternalError> {
        self.0.all(
            "reading used signatures",
            "SELECT key, nonce, until FROM used_signatures
             WHERE publisher = $1 AND until > $2",
            params![publisher, now],
            |row| {
                let until = row.get("until")?;
                Ok(UsedSignature { key: row.get("key")?, nonce: row.get("nonce")?, until })
            },
        )
    }
}

impl StoreTransaction<'_> {
    /// Records that a signature was used, and deletes expired ones. Returns `false` when it was used before, by any
    /// process.
    ///
    /// # Errors
    /// When the database fails.
    pub fn use_signature(
        &self,
        publisher: &str,
        used: &UsedSignature,
        now: Timestamp,
    ) -> Result<bool, InternalError> {
        self.0.execute(
            "forgetting used signatures",
            "DELETE FROM used_signatures WHERE publisher = $1 AND until <= $2",
            params![publisher, now],
        )?;
        // The table's primary key decides which use was first, not an earlier read.
        self.0.changes(
            "noting a used signature",
            "INSERT INTO used_signatures (publisher, key, nonce, until) VALUES ($1, $2, $3, $4)
             ON CONFLICT DO NOTHING",
            params![publisher, used.key, used.nonce, used.until],
        )
    }
}
