//! Queries and changes of the dealers that are hosted at run time.

use jiff::Timestamp;
use tradepost_document::fault::InternalError;

use super::Store;
use super::tables::hosting::{HostedDealer, HostedState, HostingConflict, NewHosted};
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

    /// Adds dealers, all or none. With `again` an id may be that of a removed dealer: the data kept under it then
    /// belongs to the new one.
    ///
    /// # Errors
    /// The conflict, or when the database fails.
    pub fn host_dealers(&self, dealers: Vec<NewHosted>, again: bool, now: Timestamp) -> Hosted {
        self.decide(move |tx| tx.host_dealers(&dealers, again, now))
    }

    /// Changes the settings of a dealer. With `expected` the dealer must not have changed since that revision.
    ///
    /// # Errors
    /// The conflict, or when the database fails.
    pub fn change_hosted(
        &self,
        dealer: NewHosted,
        expected: Option<i64>,
        now: Timestamp,
    ) -> Hosted {
        self.decide(move |tx| tx.change_hosted(&dealer, expected, now))
    }

    /// Changes the state of a dealer. Removing a dealer frees its host names and revokes its keys; its data stays.
    ///
    /// # Errors
    /// The conflict, or when the database fails.
    pub fn set_hosted_state(
        &self,
        dealer_id: &str,
        state: HostedState,
        expected: Option<i64>,
        now: Timestamp,
    ) -> Hosted {
        let dealer_id = dealer_id.to_owned();
        self.decide(move |tx| tx.set_hosted_state(&dealer_id, state, expected, now))
    }
}
