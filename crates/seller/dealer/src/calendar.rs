//! A dealer's calendar: taken periods and blocks. The agent, the console and the command line read
//! it by the same query of the store.

use jiff::Timestamp;
use jiff::civil::Date;
use tradepost_document::words;

use crate::consent::Sha256Hash;
use crate::record::{AppointmentRecord, LeadRecord, LeadState};
use crate::staff::{StaffProgress, StaffStage};

words! {
    /// A department of a rooftop, with opening hours and a capacity of its own.
    pub enum Department {
        /// Visits, test drives and trade-ins.
        Sales = "sales",
        /// The workshop.
        Service = "service",
    }
}

/// A period from its start up to, not including, its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimePeriod {
    /// Start.
    pub start: Timestamp,
    /// End, exclusive.
    pub end: Timestamp,
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

impl Visit {
    /// Returns a remark on the lead, if it is important for those who receive the customer.
    #[must_use]
    pub const fn remark(&self) -> Option<&'static str> {
        match (self.lead.state, self.progress.stage) {
            (LeadState::Revoked, _) => Some("consent withdrawn"),
            (LeadState::Erased, _) => Some("customer erased"),
            (LeadState::Held, _) => Some("lead held back"),
            (LeadState::Received, StaffStage::Lost) => Some("lead lost"),
            (LeadState::Received, StaffStage::New | StaffStage::Working | StaffStage::Sold) => None,
        }
    }
}

words! {
    /// What a calendar feed shows of an appointment. Each value shows what the ones before it show.
    pub enum CalendarFeedDetail {
        /// Time and type.
        Time = "time",
        /// The vehicle of the dealer's listing, without a text of the customer.
        Vehicle = "vehicle",
        /// The first name of the customer.
        FirstName = "first_name",
    }
}

/// A calendar feed: a secret address at which calendar programs read the calendar of a rooftop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalendarFeed {
    /// Id of the feed, which is not secret.
    pub feed_id: String,
    /// The dealer.
    pub dealer_id: String,
    /// Name of the rooftop.
    pub rooftop: String,
    /// Hash of the secret in the address.
    pub hash: Sha256Hash,
    /// Moment at which it was created.
    pub created_at: Timestamp,
    /// Name of the person who created it, as in the audit log.
    pub created_by: String,
    /// Moment from which the address is not answered any more.
    pub revoked_at: Option<Timestamp>,
    /// Last day (UTC) on which a calendar program has read it.
    pub last_used_on: Option<Date>,
}

/// The appointments and blocks of a period.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Calendar {
    /// Confirmed appointments, by start.
    pub visits: Vec<Visit>,
    /// Blocks, by start.
    pub blocks: Vec<BlockedTime>,
}
