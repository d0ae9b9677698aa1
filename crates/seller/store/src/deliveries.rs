//! Queries and changes of the deliveries of leads, webhooks and alerts.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use tradepost_dealer::delivery::{DeliveryRecord, DeliverySource, DeliveryState, NewDelivery};
use tradepost_document::fault::InternalError;

use super::{AlertNotice, BlockedPushes, PushPosition, Store};

impl Store {
    /// Returns the events of a dealer's leads for which no delivery is planned yet, oldest first, each with its lead.
    ///
    /// # Errors
    /// When the database fails.
    pub fn unplanned_events(
        &self,
        dealer_id: &str,
        limit: u32,
    ) -> Result<Vec<(i64, String)>, InternalError> {
        self.read_due(|db| db.unplanned_events(dealer_id, limit))
    }

    /// Returns the dealers that have events without a planned delivery: one query for any number of dealers.
    ///
    /// # Errors
    /// When the database fails.
    pub fn dealers_with_unplanned(&self) -> Result<BTreeSet<String>, InternalError> {
        Ok(self.read_due(|db| db.dealers_with_unplanned())?.into_iter().collect())
    }

    /// Returns due deliveries, the longest due first, without those that `busy` holds back. A busy host is a dealer's
    /// id and a destination's name with a slash between them, an owner is the dealer's id.
    ///
    /// # Errors
    /// When the database fails.
    pub fn deliveries_due(
        &self,
        now: Timestamp,
        busy: &BlockedPushes,
        limit: usize,
    ) -> Result<Vec<DeliveryRecord>, InternalError> {
        self.read_due(|db| db.deliveries_due(now, busy, limit))
    }

    /// Returns the time at which the next delivery after a moment becomes due.
    ///
    /// # Errors
    /// When the database fails.
    pub fn deliveries_next_due(
        &self,
        after: Timestamp,
    ) -> Result<Option<Timestamp>, InternalError> {
        self.read_due(|db| db.deliveries_next_due(after))
    }

    /// Returns deliveries, the latest first: of one dealer, of one lead, in one state, or all.
    ///
    /// # Errors
    /// When the database fails.
    pub fn deliveries(
        &self,
        dealer_id: Option<&str>,
        lead_id: Option<&str>,
        state: Option<DeliveryState>,
    ) -> Result<Vec<DeliveryRecord>, InternalError> {
        self.read(|db| db.deliveries(DeliverySource::Lead, dealer_id, lead_id, state))
    }

    /// Counts the deliveries that were given up.
    ///
    /// # Errors
    /// When the database fails.
    pub fn dead_deliveries(&self) -> Result<u64, InternalError> {
        self.read(|db| db.dead_deliveries())
    }

    /// Returns the alerts that a destination was notified of.
    ///
    /// # Errors
    /// When the database fails.
    pub fn noticed_alerts(&self, destination: &str) -> Result<Vec<AlertNotice>, InternalError> {
        self.read(|db| db.noticed_alerts(destination))
    }

    /// Returns webhooks of all agents and owners that were given up, and with `waiting` also those whose last attempt
    /// failed.
    ///
    /// # Errors
    /// When the database fails.
    pub fn push_troubled(&self, waiting: bool) -> Result<Vec<PushPosition>, InternalError> {
        self.read(|db| db.push_troubled(waiting))
    }

    /// Returns the time at which each lead was first accepted by a destination, for leads that were.
    ///
    /// # Errors
    /// When the database fails.
    pub fn first_deliveries(
        &self,
        dealer_id: Option<&str>,
    ) -> Result<BTreeMap<String, Timestamp>, InternalError> {
        let found = self.read(|db| db.first_deliveries(dealer_id, None))?;
        Ok(found.into_iter().collect())
    }

    /// Creates deliveries that are due now, replacing those to the same destinations that wait or were given up.
    ///
    /// # Errors
    /// When the database fails.
    pub fn deliver_again(
        &self,
        wanted: Vec<NewDelivery>,
        now: Timestamp,
    ) -> Result<(), InternalError> {
        self.write_blocking(move |tx| tx.deliver_again(&wanted, now))
    }
}
