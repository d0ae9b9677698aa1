//! A dealer's calendar: taken periods and blocks. The agent, the console and the command line read
//! it by the same query of the store.

use jiff::Timestamp;
use tradepost_document::words;

use crate::record::{AppointmentRecord, LeadRecord};
use crate::staff::StaffProgress;

words! {
    /// A department of a rooftop, with opening hours and a capacity of its own.
    pub enum Department {
        /// Visits, test drives and trade-ins.
        Sales = "sales",
        /// The workshop.
        Service = "service",
    }
}

/// A taken part of a department's calendar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OccupiedPeriod {
    /// Start.
    pub starts_at: Timestamp,
    /// End, exclusive.
    pub ends_at: Timestamp,
    /// Number of places it takes; all when `None`.
    pub places: Option<u32>,
    /// Id of the appointment or block that takes them.
    pub held_by: String,
}

/// A block: a period that staff have taken out of a department's calendar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedTime {
    /// Id of the block.
    pub block_id: String,
    /// The dealer.
    pub dealer_id: String,
    /// Name of the rooftop.
    pub rooftop: String,
    /// The department.
    pub department: Department,
    /// Start.
    pub starts_at: Timestamp,
    /// End, exclusive.
    pub ends_at: Timestamp,
    /// Number of places it takes; all when `None`.
    pub places: Option<u32>,
    /// IANA name of the rooftop's time zone.
    pub time_zone: Option<String>,
    /// Reason, as staff wrote it.
    pub reason: String,
    /// Moment at which it was made.
    pub created_at: Timestamp,
    /// Name of the person who made it, as in the audit log.
    pub created_by: String,
}

/// An appointment with the lead that it belongs to.
#[derive(Debug, Clone, PartialEq)]
pub struct Visit {
    /// The appointment. The lead may have another current one.
    pub appointment: AppointmentRecord,
    /// Name of the rooftop.
    pub rooftop: Option<String>,
    /// The department, as stored.
    pub department: String,
    /// True for the current appointment of its lead.
    pub is_current: bool,
    /// The lead in its current state.
    pub lead: LeadRecord,
    /// Progress of the staff with the lead.
    pub progress: StaffProgress,
}

/// The appointments and blocks of a period.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Calendar {
    /// Confirmed appointments, by start.
    pub visits: Vec<Visit>,
    /// Blocks, by start.
    pub blocks: Vec<BlockedTime>,
}
