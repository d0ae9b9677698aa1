//! What those who take dealers in at run time ask of the store.

use jiff::Timestamp;
use tradepost_wire::fault::InternalError;

use super::Store;
use super::tables::StoreTransaction;
use super::tables::hosting::{HostedDealer, HostedState, HostingConflict, NewHosted};

/// What becomes of a change: the revision that it is, or why it is not made.
pub type Hosted = Result<i64, HostingConflict>;

impl Store {
    /// What has changed since a revision, in the order of the changes, removed dealers among them.
    /// Nothing is read when there was no change.
    ///
    /// # Errors
    /// When the database fails, here as everywhere.
    pub fn hosted_since(&self, revision: i64) -> Result<Vec<HostedDealer>, InternalError> {
        self.read(|db| {
            // One number first, because this is asked every second.
            if db.hosted_revision()? <= revision {
                return Ok(Vec::new());
            }
            db.hosted_since(revision)
        })
    }

    /// Takes dealers in, all or none. With `again` an id may be one that was removed: what is kept under
    /// it is the new one's then.
    ///
    /// # Errors
    /// When the database fails.
    pub fn host_dealers(
        &self,
        dealers: Vec<NewHosted>,
        again: bool,
        now: Timestamp,
    ) -> Result<Hosted, InternalError> {
        self.decide(move |tx| tx.host_dealers(&dealers, again, now))
    }

    /// Says something else of a dealer. With `expected` it must not have changed since that revision.
    ///
    /// # Errors
    /// When the database fails.
    pub fn change_hosted(
        &self,
        dealer: NewHosted,
        expected: Option<i64>,
        now: Timestamp,
    ) -> Result<Hosted, InternalError> {
        self.decide(move |tx| tx.change_hosted(&dealer, expected, now))
    }

    /// Has a dealer stand otherwise. One that is removed gives its hosts away and its keys are revoked;
    /// what it has taken stays.
    ///
    /// # Errors
    /// When the database fails.
    pub fn set_hosted_state(
        &self,
        dealer_id: &str,
        state: HostedState,
        expected: Option<i64>,
        now: Timestamp,
    ) -> Result<Hosted, InternalError> {
        let dealer_id = dealer_id.to_owned();
        self.decide(move |tx| tx.set_hosted_state(&dealer_id, state, expected, now))
    }

    /// Runs a job whose refusal leaves nothing behind: it is the transaction that must not be kept.
    fn decide(
        &self,
        mut job: impl FnMut(&StoreTransaction<'_>) -> Result<Hosted, InternalError> + Send + 'static,
    ) -> Result<Hosted, InternalError> {
        let (sender, refused) = std::sync::mpsc::channel();
        let done = self.write_blocking(move |tx| match job(tx)? {
            Ok(revision) => Ok(revision),
            Err(conflict) => {
                let _ = sender.send(conflict);
                Err(InternalError::new("changing the hosted dealers", "it is refused"))
            }
        });
        // Of a job that was run again, the last word counts.
        match (done, refused.try_iter().last()) {
            (Ok(revision), _) => Ok(Ok(revision)),
            (Err(_), Some(conflict)) => Ok(Err(conflict)),
            (Err(fault), None) => Err(fault),
        }
    }
}
