//! What those who tell a publisher's people of events ask of the store.

use std::collections::BTreeSet;

use jiff::Timestamp;
use tradepost_dealer::delivery::{DeliveryRecord, DeliverySource, DeliveryState};
use tradepost_publisher::staff_event::StaffEvent;
use tradepost_wire::fault::InternalError;

use super::Store;

/// An event for a publisher's people, as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptStaffEvent {
    /// Its number: later ones have larger ones.
    pub place: i64,
    /// When it became true.
    pub at: Timestamp,
    /// The event.
    pub event: StaffEvent,
}

/// A delivery of an event that is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewStaffDelivery {
    /// By which people find what was sold or waits.
    pub subject: String,
    /// The destination's name.
    pub destination: String,
    /// The number of the event.
    pub place: i64,
}

impl Store {
    /// The publishers with events of which nobody has been told: one query, however many there are.
    /// Nothing where another process delivers.
    ///
    /// # Errors
    /// When the database fails, here as everywhere.
    pub fn publishers_with_unplanned(&self) -> Result<BTreeSet<String>, InternalError> {
        Ok(self.read_due(|db| db.publishers_with_unplanned())?.into_iter().collect())
    }

    /// Deliveries to people of publishers, the latest first: of one publisher, about one thing, in one
    /// state, or all.
    ///
    /// # Errors
    /// When the database fails.
    pub fn publisher_deliveries(
        &self,
        publisher: Option<&str>,
        subject: Option<&str>,
        state: Option<DeliveryState>,
    ) -> Result<Vec<DeliveryRecord>, InternalError> {
        self.read(|db| db.deliveries(DeliverySource::Publisher, publisher, subject, state))
    }

    /// The events of a publisher of which nobody has been told, the first ones first.
    ///
    /// # Errors
    /// When the database fails.
    pub fn unplanned_staff_events(
        &self,
        publisher: &str,
        limit: u32,
    ) -> Result<Vec<KeptStaffEvent>, InternalError> {
        self.read_due(|db| db.unplanned_staff_events(publisher, limit))
    }
}
