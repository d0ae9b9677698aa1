//! The store's tables, one module each: every query, named for its intent, in SQL that both databases understand.

use jiff::Timestamp;
use tradepost_document::fault::InternalError;

use super::CardIdentity;
use super::sql::{Connection, params};

#[macro_use]
pub(super) mod processes;

pub(super) mod alerts;
pub(super) mod calendar_feeds;
pub(super) mod consents;
pub(super) mod counts;
mod delivery_places;
pub(super) mod empty_searches;
pub(super) mod feeds;
pub(super) mod health;
pub(super) mod hosting;
pub(super) mod inventory;
pub(super) mod keys;
pub(super) mod leads;
pub(super) mod permits;
pub(super) mod privacy;
pub(super) mod probes;
pub(super) mod publisher;
pub(super) mod push;
pub(super) mod refusals;
pub(super) mod second_factor;
pub(super) mod sign_in;
pub(super) mod signatures;
pub(super) mod staff;
pub(super) mod staff_events;
pub(super) mod step_results;
pub(super) mod tasks;
pub(super) mod transfer;
pub(super) mod verification;
pub(super) mod week;

/// A connection, for reading.
#[derive(Debug)]
pub(super) struct Database(pub(super) Connection);

/// A transaction in progress: the store's operations that belong together.
#[derive(Debug)]
pub struct StoreTransaction<'c>(pub(super) &'c Connection);

impl StoreTransaction<'_> {
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
