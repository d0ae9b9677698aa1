//! What those who deliver leads, webhooks and alerts ask of the store.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use tradepost_dealer::delivery::{DeliveryRecord, DeliverySource, DeliveryState, NewDelivery};
use tradepost_wire::fault::InternalError;

use super::{AlertNotice, BlockedPushes, PushPosition, Store};

impl Store {
    /// The events of a dealer's leads of which nobody has been told, the first ones first, each
    /// with its lead.
    ///
    /// # Errors
    /// When the database fails, here as everywhere.
    pub fn unplanned_events(
        &self,
        dealer_id: &str,
        limit: u32,
    ) -> Result<Vec<(i64, String)>, InternalError> {
        self.read_due(|db| db.unplanned_events(dealer_id, limit))
    }

    /// The dealers with events of which nobody has been told: one query, however many dealers there are.
    ///
    /// # Errors
    /// When the database fails.
    pub fn dealers_with_unplanned(&self) -> Result<BTreeSet<String>, InternalError> {
        Ok(self.read_due(|db| db.dealers_with_unplanned())?.into_iter().collect())
    }

    /// Deliveries that are due, the longest due first, but for those who have to wait. A busy host
    /// is a dealer's id and a destination's name with a slash between them, an owner the former.
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

    /// When the next delivery becomes due after a moment.
    ///
    /// # Errors
    /// When the database fails.
    pub fn deliveries_next_due(
        &self,
        after: Timestamp,
    ) -> Result<Option<Timestamp>, InternalError> {
        self.read_due(|db| db.deliveries_next_due(after))
    }

    /// Deliveries, the latest first: of one dealer, of one lead, in one state, or all.
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

    /// How many deliveries were given up.
    ///
    /// # Errors
    /// When the database fails.
    pub fn dead_deliveries(&self) -> Result<u64, InternalError> {
        self.read(|db| db.dead_deliveries())
    }

    /// What a destination of alerts was told.
    ///
    /// # Errors
    /// When the database fails.
    pub fn noticed_alerts(&self, destination: &str) -> Result<Vec<AlertNotice>, InternalError> {
        self.read(|db| db.noticed_alerts(destination))
    }

    /// Webhooks of all agents and owners that were given up, and with `waiting` also those whose
    /// last attempt failed.
    ///
    /// # Errors
    /// When the database fails.
    pub fn push_troubled(&self, waiting: bool) -> Result<Vec<PushPosition>, InternalError> {
        self.read(|db| db.push_troubled(waiting))
    }

    /// When each lead was first taken by a destination, of those that were.
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

    /// Has deliveries made from now on, in the place of those to the same destinations that wait or
    /// were given up.
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
