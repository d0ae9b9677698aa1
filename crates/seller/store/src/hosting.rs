//! Queries of the dealers that are hosted at run time. Changes are made in transactions, with their audit entries.

use tradepost_document::fault::InternalError;

use super::Store;
use super::tables::hosting::{HostedDealer, HostingConflict};
use super::transaction_error::TransactionError;

/// Outcome of a change: its revision, or the conflict that prevents it.
pub type Hosted = Result<i64, TransactionError<HostingConflict>>;

impl Store {
    /// Returns the dealers that have changed since a revision, in the order of the changes, removed dealers included.
    /// Reads no rows when there was no change.
    ///
    /// # Errors
    /// When the database fails.
    pub fn hosted_since(&self, revision: i64) -> Result<Vec<HostedDealer>, InternalError> {
        self.read(|db| {
            // One number first, because this is called every second.
            if db.hosted_revision()? <= revision {
                return Ok(Vec::new());
            }
            db.hosted_since(revision)
        })
    }
}
