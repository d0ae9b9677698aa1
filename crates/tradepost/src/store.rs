//! What must survive a crash: listings, leads, appointments, idempotency keys and cards. Every
//! query is named for its intent; SQL is in `store/sqlite.rs` only.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tradepost_wire::aap::{Vehicle, Version};

use crate::aap::import::Unit;
use crate::aap::inventory::Tombstone;
use crate::fault::Fault;

/// The store. One writer, any number of readers; cheap to share behind an `Arc`.
#[derive(Debug)]
pub struct Store {}

/// A lead as it was submitted. A lead submitted again as a duplicate is a further record with the
/// same `lead_id`, because every consent is kept (`R-LD-19`).
#[derive(Debug, Clone, PartialEq)]
pub struct LeadRecord {
    /// The lead.
    pub lead_id: String,
    /// Whose.
    pub dealer_id: String,
    /// When this submission was received.
    pub received_at: Timestamp,
    /// Whether this submission repeats an earlier one.
    pub duplicate: bool,
    /// The AAP version it came in.
    pub version: Version,
    /// Who sent it: the credential's name or `anonymous`.
    pub principal: String,
    /// The payload as it was sent (`lead.submit.request`), consent included.
    pub payload: Value,
    /// The rooftop that takes care of it.
    pub rooftop: Option<String>,
    /// The listing that the vehicle of interest matched, as it was then.
    pub listing: Option<Value>,
    /// The appointment that this submission asked for.
    pub appointment: Option<AppointmentRecord>,
}

/// An appointment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppointmentRecord {
    /// The dealer's id of it.
    pub appointment_id: String,
    /// What for: `sales`, `service`, `test_drive`, `trade_in`.
    pub kind: String,
    /// `requested`, `proposed`, `confirmed` or `rejected`.
    pub status: String,
    /// When it was asked to start.
    pub requested_at: Option<Timestamp>,
    /// When it starts, exactly when confirmed.
    pub starts_at: Option<Timestamp>,
    /// When it ends, exactly when confirmed.
    pub ends_at: Option<Timestamp>,
    /// The times proposed instead.
    pub proposed: Vec<Timestamp>,
}

/// What a replacement of the inventory did, or would do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Replacement {
    /// Units that are new on offer.
    pub added: usize,
    /// Units whose listing changed.
    pub changed: usize,
    /// Units as they were; their `updated_at` is confirmed.
    pub unchanged: usize,
    /// Units that were on offer and are no longer in the feed, or are sold: now tombstones.
    pub removed: usize,
    /// Units on offer before.
    pub before: usize,
}

impl Store {
    /// Opens or creates the store in a folder.
    ///
    /// # Errors
    /// When the folder or the database in it cannot be used.
    pub fn open(_directory: &Path) -> Result<Self, Fault> {
        Ok(Self {})
    }

    /// Makes `units` the whole inventory of a dealer, or with `dry_run` only says what would
    /// change. All or nothing.
    ///
    /// # Errors
    /// When the database fails; nothing has changed then.
    pub fn replace_inventory(
        &self,
        _dealer_id: &str,
        _units: &[Unit],
        _now: Timestamp,
        _dry_run: bool,
    ) -> Result<Replacement, Fault> {
        Ok(Replacement::default())
    }

    /// A dealer's listings, and the tombstones that are younger than `lifetime`.
    ///
    /// # Errors
    /// When the database fails.
    pub fn inventory(
        &self,
        _dealer_id: &str,
        _now: Timestamp,
        _lifetime: SignedDuration,
    ) -> Result<(Vec<Vehicle>, Vec<Tombstone>), Fault> {
        Ok((Vec::new(), Vec::new()))
    }

    /// Leads, newest first; of one dealer when `dealer_id` is given. Duplicates are left out.
    ///
    /// # Errors
    /// When the database fails.
    pub fn leads(&self, _dealer_id: Option<&str>) -> Result<Vec<LeadRecord>, Fault> {
        Ok(Vec::new())
    }

    /// Every submission of a lead, the first one first; empty when there is no such lead.
    ///
    /// # Errors
    /// When the database fails.
    pub fn lead(&self, _lead_id: &str) -> Result<Vec<LeadRecord>, Fault> {
        Ok(Vec::new())
    }
}
