//! Inventories, leads, consents and signatures: what the store does for dealers and publishers beside the modules of
//! their areas.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use tradepost_aap::Vehicle;
use tradepost_dealer::consent::{ConsentCheck, Sha256Hash};
use tradepost_dealer::import::PackedListings;
use tradepost_dealer::inventory::Tombstone;
use tradepost_dealer::record::{LeadHistory, LeadRecord};
use tradepost_document::fault::InternalError;
use tradepost_keys::replay::UsedSignature;

use super::Store;
use super::tables::inventory::Replacement;

impl Store {
    /// Makes `listings` the whole inventory of a dealer, or with `dry_run` only returns what would change. All or
    /// nothing.
    ///
    /// # Errors
    /// When the database fails; nothing has changed then.
    pub fn replace_inventory(
        &self,
        dealer_id: &str,
        listings: impl Into<PackedListings>,
        now: Timestamp,
        dry_run: bool,
    ) -> Result<Replacement, InternalError> {
        let dealer_id = dealer_id.to_owned();
        let listings = listings.into();
        self.write_blocking(move |tx| tx.replace_inventory(&dealer_id, &listings, now, dry_run))
    }

    /// Returns a dealer's listings, and the tombstones that are younger than `lifetime`.
    ///
    /// # Errors
    /// When the database fails.
    pub fn inventory(
        &self,
        dealer_id: &str,
        now: Timestamp,
        lifetime: SignedDuration,
    ) -> Result<(Vec<Vehicle>, Vec<Tombstone>), InternalError> {
        self.read(|db| db.inventory(dealer_id, oldest(now, lifetime)))
    }

    /// Passes a dealer's listings to `take`, one after another.
    ///
    /// # Errors
    /// When the database fails.
    pub fn each_listing(
        &self,
        dealer_id: &str,
        take: impl FnMut(Vehicle),
    ) -> Result<(), InternalError> {
        self.read(|db| db.each_listing(dealer_id, take))
    }

    /// Returns a number that grows whenever the dealer's inventory is replaced, by any process.
    ///
    /// # Errors
    /// When the database fails.
    pub fn inventory_generation(&self, dealer_id: &str) -> Result<i64, InternalError> {
        Ok(self.read(|db| db.inventory_state(dealer_id))?.generation)
    }

    /// Returns the generations of all dealers that have an inventory, in one query.
    ///
    /// # Errors
    /// When the database fails.
    pub fn inventory_generations(&self) -> Result<HashMap<String, i64>, InternalError> {
        Ok(self.read(|db| db.inventory_generations())?.into_iter().collect())
    }

    /// Returns the signatures that were used at a publisher and have not expired.
    ///
    /// # Errors
    /// When the database fails.
    pub fn used_signatures(
        &self,
        publisher: &str,
        now: Timestamp,
    ) -> Result<Vec<UsedSignature>, InternalError> {
        self.read(|db| db.used_signatures(publisher, now))
    }

    /// Returns leads as they are now, newest first; of one dealer when `dealer_id` is given.
    ///
    /// # Errors
    /// When the database fails.
    pub fn leads(&self, dealer_id: Option<&str>) -> Result<Vec<LeadRecord>, InternalError> {
        self.read(|db| db.leads(dealer_id))
    }

    /// Returns a lead with its full history.
    ///
    /// # Errors
    /// When the database fails.
    pub fn lead_history(&self, lead_id: &str) -> Result<Option<LeadHistory>, InternalError> {
        self.read(|db| db.lead_history(lead_id))
    }

    /// Records that a customer has withdrawn the consent of a lead. Returns true when there was one.
    ///
    /// # Errors
    /// When the database fails.
    pub fn revoke_consent(&self, lead_id: String, now: Timestamp) -> Result<bool, InternalError> {
        self.write_blocking(move |tx| tx.revoke_consent(&lead_id, now))
    }

    /// Checks the consent chains of every dealer, or of one.
    ///
    /// # Errors
    /// When the database fails.
    pub fn check_consents(
        &self,
        dealer_id: Option<&str>,
        expected: Option<Sha256Hash>,
    ) -> Result<Vec<ConsentCheck>, InternalError> {
        self.read(|db| db.check_consents(dealer_id, expected))
    }

    /// Releases a lead that is held back. Returns true when there was one.
    ///
    /// # Errors
    /// When the database fails.
    pub fn release_lead(&self, lead_id: String, now: Timestamp) -> Result<bool, InternalError> {
        self.write_blocking(move |tx| tx.release_lead(&lead_id, now))
    }
}

/// Returns the cut-off time of tombstones: listings removed then or earlier are forgotten.
pub(crate) fn oldest(now: Timestamp, lifetime: SignedDuration) -> Timestamp {
    now.saturating_sub(lifetime).unwrap_or(Timestamp::MIN)
}
