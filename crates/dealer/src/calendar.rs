//! A dealer's calendar: what takes a place in it, and what of it is blocked. The agent, the console and
//! the command line all read it by the same query of the store.

use jiff::Timestamp;
use tradepost_wire::words;

use crate::record::{AppointmentRecord, LeadRecord};
use crate::staff::Progress;

words! {
    /// A department of a rooftop, with opening hours and a capacity of its own.
    pub enum Department {
        /// Visits, test drives and trade-ins.
        Sales = "sales",
        /// The workshop.
        Service = "service",
    }
}

/// A part of a department's calendar that is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occupied {
    /// Beginning.
    pub starts_at: Timestamp,
    /// End, this moment not included.
    pub ends_at: Timestamp,
    /// Number of places it takes; all of them when `None`.
    pub places: Option<u32>,
    /// Id of the appointment or blocked time that takes them.
    pub held_by: String,
}

/// A time of a department that the dealer's people have blocked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedTime {
    /// Its id.
    pub block_id: String,
    /// Whose calendar it is in.
    pub dealer_id: String,
    /// The rooftop, by its name.
    pub rooftop: String,
    /// The department.
    pub department: Department,
    /// Beginning.
    pub starts_at: Timestamp,
    /// End, this moment not included.
    pub ends_at: Timestamp,
    /// Number of places it takes; all of them when `None`.
    pub places: Option<u32>,
    /// The zone of the rooftop, by its IANA name.
    pub time_zone: Option<String>,
    /// Reason, in words of the dealer's people.
    pub reason: String,
    /// Moment at which it was blocked.
    pub created_at: Timestamp,
    /// Name of whoever blocked it, as the audit record has it.
    pub created_by: String,
}

/// An appointment with the lead that it belongs to.
#[derive(Debug, Clone, PartialEq)]
pub struct Visit {
    /// The appointment. The lead may have another current one.
    pub appointment: AppointmentRecord,
    /// The rooftop at which it takes place, by its name.
    pub rooftop: Option<String>,
    /// The department that it is with, as stored.
    pub department: String,
    /// True for the current appointment of its lead.
    pub is_current: bool,
    /// The lead as it is now.
    pub lead: LeadRecord,
    /// Progress of the dealer's people with the lead.
    pub progress: Progress,
}

/// The appointments and blocked times of a period.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Calendar {
    /// Confirmed appointments, in the order of their beginning.
    pub visits: Vec<Visit>,
    /// Blocked times, in the order of their beginning.
    pub blocks: Vec<BlockedTime>,
}
