//! Queries of events for the staff of publishers, and of their deliveries.

use std::collections::BTreeSet;

use jiff::Timestamp;
use tradepost_dealer::delivery::{DeliveryRecord, DeliverySource, DeliveryState};
use tradepost_document::fault::InternalError;
use tradepost_publisher::staff_event::StaffEvent;

use super::Store;

/// Stored event for a publisher's staff.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptStaffEvent {
    /// Its number, which grows with each event.
    pub place: i64,
    /// Time of the event.
    pub at: Timestamp,
    /// The event.
    pub event: StaffEvent,
}

/// Delivery of an event that is to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewStaffDelivery {
    /// Name by which the staff finds the subject of the event.
    pub subject: String,
    /// The destination's name.
    pub destination: String,
    /// The number of the event.
    pub place: i64,
}

impl Store {
    /// Returns the publishers that have events without a planned delivery, in one query. Returns nothing where another
    /// process delivers.
    ///
    /// # Errors
    /// When the database fails.
    pub fn publishers_with_unplanned(&self) -> Result<BTreeSet<String>, InternalError> {
        Ok(self.read_due(|db| db.publishers_with_unplanned())?.into_iter().collect())
    }

    /// Returns deliveries to the staff of publishers, the latest first: of one publisher, about one subject, in one
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

    /// Returns the events of a publisher without a planned delivery, oldest first.
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
