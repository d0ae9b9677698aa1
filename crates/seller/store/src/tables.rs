//! The store's tables, one module each: every query, named for its intent, in SQL that both databases understand. Those
//! of dealers and publishers are behind the feature `sellers`.

use jiff::Timestamp;
use tradepost_document::fault::InternalError;

use super::CardIdentity;
use super::sql::{Connection, params};

#[macro_use]
pub(super) mod processes;

#[cfg(feature = "sellers")]
pub(super) mod alerts;
#[cfg(feature = "sellers")]
pub(super) mod calendar_feeds;
#[cfg(feature = "sellers")]
pub(super) mod consents;
#[cfg(feature = "sellers")]
pub(super) mod counts;
#[cfg(feature = "sellers")]
mod delivery_places;
#[cfg(feature = "sellers")]
pub(super) mod empty_searches;
#[cfg(feature = "sellers")]
pub(super) mod feeds;
pub(super) mod health;
#[cfg(feature = "sellers")]
pub(super) mod hosting;
#[cfg(feature = "sellers")]
pub(super) mod inventory;
pub(super) mod keys;
#[cfg(feature = "sellers")]
pub(super) mod leads;
pub(super) mod permits;
#[cfg(feature = "sellers")]
pub(super) mod privacy;
#[cfg(feature = "sellers")]
pub(super) mod probes;
#[cfg(feature = "sellers")]
pub(super) mod publisher;
pub(super) mod push;
#[cfg(feature = "sellers")]
pub(super) mod refusals;
#[cfg(feature = "sellers")]
pub(super) mod second_factor;
#[cfg(feature = "sellers")]
pub(super) mod sign_in;
#[cfg(feature = "sellers")]
pub(super) mod signatures;
#[cfg(feature = "sellers")]
pub(super) mod staff;
#[cfg(feature = "sellers")]
pub(super) mod staff_events;
#[cfg(feature = "sellers")]
pub(super) mod step_results;
pub(super) mod tasks;
#[cfg(feature = "sellers")]
pub(super) mod transfer;
#[cfg(feature = "sellers")]
pub(super) mod verification;
#[cfg(feature = "sellers")]
pub(super) mod week;

/// A connection, for reading.
#[derive(Debug)]
pub(super) struct Database(pub(super) Connection);

/// A transaction in progress: the store's operations that belong together.
#[derive(Debug)]
pub struct StoreTransaction<'c>(pub(super) &'c Connection);

impl StoreTransaction<'_> {
    /// Returns the identity of a dealer's card, a new one when its content has changed.
    pub(super) fn card_identity(
        &self,
        dealer_id: &str,
        content_hash: &str,
        fresh_id: &str,
        now: Timestamp,
    ) -> Result<CardIdentity, InternalError> {
        self.0.lock(dealer_id)?;
        // Checked under the lock: another process may have published the same meanwhile.
        if let Some(identity) = known_card(self.0, dealer_id, content_hash)? {
            return Ok(identity);
        }
        self.0.execute(
            "writing a card's identity",
            "INSERT INTO cards (dealer_id, content_hash, id, modified_at) VALUES ($1, $2, $3, $4)
             ON CONFLICT (dealer_id) DO UPDATE SET content_hash = excluded.content_hash,
                 id = excluded.id, modified_at = excluded.modified_at",
            params![dealer_id, content_hash, fresh_id, now],
        )?;
        Ok(CardIdentity { id: fresh_id.to_owned(), modified_at: now })
    }
}

impl Database {
    pub(super) fn known_card(
        &self,
        dealer_id: &str,
        content_hash: &str,
    ) -> Result<Option<CardIdentity>, InternalError> {
        known_card(&self.0, dealer_id, content_hash)
    }
}

/// Returns the identity of a dealer's card when its content has not changed.
fn known_card(
    connection: &Connection,
    dealer_id: &str,
    content_hash: &str,
) -> Result<Option<CardIdentity>, InternalError> {
    connection.first(
        "reading a card's identity",
        "SELECT id, modified_at FROM cards WHERE dealer_id = $1 AND content_hash = $2",
        params![dealer_id, content_hash],
        |row| Ok(CardIdentity { id: row.get("id")?, modified_at: row.get("modified_at")? }),
    )
}

#[cfg(test)]
#[cfg(feature = "sellers")]
impl Database {
    /// Runs `work` in a transaction, and commits it when it succeeds.
    pub(super) fn transaction<T>(
        &self,
        mut work: impl FnMut(&StoreTransaction<'_>) -> Result<T, InternalError>,
    ) -> Result<T, InternalError> {
        let mut outcome = None;
        let mut run = || outcome.insert(work(&StoreTransaction(&self.0))).is_ok();
        match &self.0.link {
            crate::sql::SqlBackend::Sqlite(file) => {
                super::sqlite::transaction(file, || super::sqlite::savepoint(file, &mut run))
            }
            crate::sql::SqlBackend::Postgres(session) => session.transaction(&mut run),
        }?;
        outcome.unwrap()
    }
}
