//! Settings of a dealer: identity, rooftops, and terms of sale.

use jiff::SignedDuration;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use tradepost_aap::lead::AppointmentType;
use tradepost_aap::{self as aap, Skill, Version};

use crate::calendar::CalendarFeedDetail;
use crate::import::PricePolicy;
use crate::staff::lead_work::LeadAssignment;

/// A dealer or dealer group.
#[derive(Debug, Clone)]
pub struct DealerSettings {
    /// Id in the store and on the command line.
    pub id: String,
    /// Name on the agent card and in `dealer.information`.
    pub name: String,
    /// Greeting in `dealer.information`.
    pub welcome_message: Option<String>,
    /// Supported AAP versions; at least one, ascending.
    pub versions: Vec<Version>,
    /// Enabled skills; at least one, in catalog order.
    pub skills: Vec<Skill>,
    /// Rooftops with unique names; at least one.
    pub rooftops: Vec<RooftopSettings>,
    /// Search limits.
    pub search: SearchPolicy,
    /// Rules for leads.
    pub leads: LeadPolicy,
    /// Time for which a unit that left the offer has a tombstone (AAP 1.1 `inventory.vehicle`,
    /// C-23).
    pub tombstone_lifetime: SignedDuration,
    /// Treatment of units whose price leaves out what every buyer has to pay (AAP 1.1
    /// `pricing-and-ftc`, `R-PR-01`).
    pub price_truth: PricePolicy,
}

impl DealerSettings {
    /// Returns the time zone of its first rooftop, by which its days are counted.
    #[must_use]
    pub fn time_zone(&self) -> TimeZone {
        self.rooftops.first().map_or(TimeZone::UTC, |rooftop| rooftop.time_zone.clone())
    }
}

/// A location of a dealer.
#[derive(Debug, Clone)]
pub struct RooftopSettings {
    /// Profile for `dealer.information`. Opening hours by department are in `profile.schedules`,
    /// named `sales` and `service`.
    pub profile: aap::dealer::Rooftop,
    /// Other names that inventory feeds use for it.
    pub feed_names: Vec<String>,
    /// Time zone that `profile.timezone` names; UTC when it names none.
    pub time_zone: TimeZone,
    /// Fees that every buyer pays, in whole US dollars; the importer adds them to the advertised
    /// price, because AAP's `price` includes all that a buyer has to pay (`pricing-and-ftc`,
    /// `R-PR-01`).
    pub fees: Vec<Fee>,
    /// Rules for appointments.
    pub appointments: AppointmentPolicy,
}

/// A mandatory fee.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fee {
    /// Name, such as `Documentation`.
    pub name: String,
    /// Amount in whole US dollars.
    pub amount: u32,
}

impl RooftopSettings {
    /// Returns true for the rooftop's name, in any case.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        self.profile.name.to_lowercase() == name.to_lowercase()
    }
}

/// Rules for a rooftop's appointments.
#[derive(Debug, Clone)]
pub struct AppointmentPolicy {
    /// Types offered. When empty, every request is left to the staff.
    pub types: Vec<AppointmentType>,
    /// Length of a slot in minutes; days are divided from the opening time on.
    pub slot_minutes: u32,
    /// Maximum number at the same time, for each department.
    pub capacity: u32,
    /// Minimum time between request and start.
    pub notice: SignedDuration,
    /// Maximum number of days ahead.
    pub horizon_days: u32,
    /// Days on which the rooftop is closed.
    pub closed_on: Vec<Date>,
    /// What its calendar feed shows of an appointment.
    pub calendar_feed: CalendarFeedDetail,
}

/// Numbers of vehicles in an answer to a search; a larger `limit` is lowered to the maximum (AAP
/// 1.1 `inventory.search`, C-08).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SearchPolicy {
    /// Page size when the buyer names none.
    pub default_limit: u32,
    /// Maximum page size, 1 to 1000; larger requests are clamped.
    pub max_limit: u32,
}

/// Rules for leads.
#[derive(Debug, Clone)]
pub struct LeadPolicy {
    /// Tolerance for consents that lie in the future.
    pub clock_skew: SignedDuration,
    /// Validity of a consent without `expires_at`; unlimited when `None` (AAP 1.1 `lead.submit`,
    /// `R-LD-07`).
    pub consent_lifetime: Option<SignedDuration>,
    /// True when a test drive without a vehicle of interest is refused, which AAP permits
    /// (`lead.submit`, `R-LD-25`; `E-097`).
    pub test_drive_needs_vehicle: bool,
    /// Window in which equivalent leads count as duplicates (C-19).
    pub duplicate_window: SignedDuration,
    /// Time for which idempotency keys are remembered; at least 24 hours (AAP 1.1 `lead.submit`,
    /// `R-LD-15`).
    pub idempotency_lifetime: SignedDuration,
    /// True when an appointment that can be neither confirmed nor proposed is an error (C-20).
    pub strict_appointments: bool,
    /// Number of times to propose.
    pub proposed_times: usize,
    /// Time for which a lead is kept after its last change; unlimited when `None`.
    pub retention: Option<SignedDuration>,
    /// True when a lead is erased although a delivery of it is still due.
    pub erase_undelivered: bool,
    /// Maximum number of bytes of leads kept per network address in a day, for callers without
    /// credentials.
    pub daily_bytes_per_address: u64,
    /// Limits for confirming appointments without a person.
    pub confirmations: ConfirmationLimit,
    /// Limits beyond which leads are held.
    pub velocity: LeadRateLimit,
    /// Agents whose leads are accepted.
    pub agents: AgentPolicy,
    /// How new leads get their owner.
    pub assignment: LeadAssignment,
    /// Time after which an unanswered lead raises an alert; never when `None`.
    pub answer_within: Option<SignedDuration>,
}

/// Maximum number of confirmed appointments in 24 hours for callers without credentials; beyond it,
/// staff have to confirm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfirmationLimit {
    /// Per network address.
    pub per_address: u32,
    /// Per e-mail address or telephone number.
    pub per_contact: u32,
    /// Per vehicle.
    pub per_vehicle: u32,
    /// All together.
    pub all: u32,
}

/// Maximum number of leads in a window for callers without credentials; further ones are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeadRateLimit {
    /// Length of the window; at most a day.
    pub window: SignedDuration,
    /// Per network address.
    pub per_address: u32,
    /// Per e-mail address or telephone number.
    pub per_contact: u32,
    /// All together.
    pub all: u32,
}

/// Rules for agents; leads of agents that are not accepted are held. An agent is identified by the
/// name of its credential, and by the name in the lead, which the caller can choose.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentPolicy {
    /// Accepted agents; all when empty.
    pub allow: Vec<String>,
    /// Denied agents.
    pub deny: Vec<String>,
    /// Maximum number of leads per agent in 24 hours; unlimited when `None`.
    pub quota: Option<u32>,
}

impl Default for AppointmentPolicy {
    /// Offers no appointments.
    fn default() -> Self {
        Self {
            types: Vec::new(),
            slot_minutes: 30,
            capacity: 1,
            notice: SignedDuration::from_hours(2),
            horizon_days: 30,
            closed_on: Vec::new(),
            // Other servers fetch and keep what a feed shows, so a customer's name needs a decision.
            calendar_feed: CalendarFeedDetail::Vehicle,
        }
    }
}

impl Default for SearchPolicy {
    fn default() -> Self {
        // The defaults of AAP 1.1 `inventory.search` (C-08).
        Self { default_limit: 20, max_limit: 100 }
    }
}

impl Default for LeadPolicy {
    fn default() -> Self {
        Self {
            clock_skew: SignedDuration::from_mins(5), // E-071
            consent_lifetime: None,
            test_drive_needs_vehicle: true,                   // E-097
            duplicate_window: SignedDuration::from_hours(24), // R-LD-17
            idempotency_lifetime: SignedDuration::from_hours(24), // R-LD-15
            strict_appointments: false,                       // C-20
            proposed_times: 3,
            retention: None,
            erase_undelivered: false,
            daily_bytes_per_address: 4 << 20,
            confirmations: ConfirmationLimit::default(),
            velocity: LeadRateLimit::default(),
            agents: AgentPolicy::default(),
            assignment: LeadAssignment::ByHand,
            answer_within: None,
        }
    }
}

impl Default for ConfirmationLimit {
    /// Allows more than one customer needs, because an address may be that of an agent with many
    /// customers.
    fn default() -> Self {
        Self { per_address: 10, per_contact: 3, per_vehicle: 4, all: 40 }
    }
}

impl Default for LeadRateLimit {
    /// Allows more than a dealer gets on a good day.
    fn default() -> Self {
        Self { window: SignedDuration::from_hours(1), per_address: 60, per_contact: 10, all: 600 }
    }
}
