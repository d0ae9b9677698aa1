//! Who a dealer is, and on which terms it sells: the settings that a process reads for it.

use jiff::SignedDuration;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use tradepost_wire::aap::lead::AppointmentType;
use tradepost_wire::aap::{self, Skill, Version};

use crate::import::PriceTruth;

/// A dealer or dealer group.
#[derive(Debug, Clone)]
pub struct Dealer {
    /// The id in the store and on the command line.
    pub id: String,
    /// The name on the card and in `dealer.information`.
    pub name: String,
    /// A greeting in `dealer.information`.
    pub welcome_message: Option<String>,
    /// The AAP versions spoken; at least one, ascending.
    pub versions: Vec<Version>,
    /// The skills switched on; at least one, in catalog order.
    pub skills: Vec<Skill>,
    /// At least one; names are unique.
    pub rooftops: Vec<Rooftop>,
    /// Search limits.
    pub search: SearchPolicy,
    /// Rules for leads.
    pub leads: LeadPolicy,
    /// For how long a unit that left the offer is remembered (C-23).
    pub tombstone_lifetime: SignedDuration,
    /// What becomes of a unit whose price is not the whole truth (`R-PR-01`).
    pub price_truth: PriceTruth,
}

/// A physical store.
#[derive(Debug, Clone)]
pub struct Rooftop {
    /// What `dealer.information` tells about it. Opening hours by department are in
    /// `profile.schedules`, named `sales` and `service`.
    pub profile: aap::dealer::Rooftop,
    /// What inventory feeds call it besides its name.
    pub feed_names: Vec<String>,
    /// The time zone that `profile.timezone` names; UTC when it names none.
    pub time_zone: TimeZone,
    /// Fees that every buyer pays, whole US dollars; the importer adds them to the advertised
    /// price (`R-PR-01`).
    pub fees: Vec<Fee>,
    /// How it takes appointments.
    pub appointments: Appointments,
}

/// A mandatory fee.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fee {
    /// Such as `Documentation`.
    pub name: String,
    /// Whole US dollars.
    pub amount: u32,
}

impl Rooftop {
    /// Returns true for the rooftop's name, in any case.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        self.profile.name.to_lowercase() == name.to_lowercase()
    }
}

/// How a rooftop takes appointments.
#[derive(Debug, Clone)]
pub struct Appointments {
    /// What it offers. When empty, every request is left to a person.
    pub types: Vec<AppointmentType>,
    /// The slots into which a day is divided from the opening on.
    pub slot_minutes: u32,
    /// How many can run at the same time, for each department.
    pub capacity: u32,
    /// How long before its start one must be requested.
    pub notice: SignedDuration,
    /// How far ahead one can be.
    pub horizon_days: u32,
    /// Days on which the rooftop is closed.
    pub closed_on: Vec<Date>,
}

/// Search limits (C-08).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SearchPolicy {
    /// The page size when the buyer names none.
    pub default_limit: u32,
    /// The largest page, 1 to 1000; larger requests are clamped.
    pub max_limit: u32,
}

/// Rules for leads.
#[derive(Debug, Clone)]
pub struct LeadPolicy {
    /// How far a consent may lie in the future.
    pub clock_skew: SignedDuration,
    /// How long a consent without `expires_at` holds; for ever when `None` (`R-LD-07`).
    pub consent_lifetime: Option<SignedDuration>,
    /// Whether a test drive needs a vehicle of interest (`R-LD-25`).
    pub test_drive_needs_vehicle: bool,
    /// For how long equivalent leads count as duplicates (C-19).
    pub duplicate_window: SignedDuration,
    /// For how long idempotency keys are remembered; at least 24 hours (`R-LD-15`).
    pub idempotency_lifetime: SignedDuration,
    /// Whether an appointment that can be neither confirmed nor proposed is an error (C-20).
    pub strict_appointments: bool,
    /// How many times to propose.
    pub proposed_times: usize,
    /// For how long a lead is kept after its last change; for ever when `None`.
    pub retention: Option<SignedDuration>,
    /// Whether that holds also for a lead that a destination is still to be told of.
    pub erase_undelivered: bool,
    /// How many bytes of leads are kept of one network address in a day, of callers without
    /// credentials.
    pub daily_bytes_per_address: u64,
    /// How many appointments are confirmed without a person.
    pub confirmations: Confirmations,
    /// How many leads come without being held back.
    pub velocity: Velocity,
    /// Whose leads come without being held back.
    pub agents: Agents,
}

/// How many appointments callers without credentials get confirmed in a day of 24 hours at most;
/// beyond, a person has to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Confirmations {
    /// From one network address.
    pub per_address: u32,
    /// For one e-mail address or telephone number.
    pub per_contact: u32,
    /// For one vehicle.
    pub per_vehicle: u32,
    /// All together.
    pub all: u32,
}

/// How many leads of callers without credentials are taken in a window at most; beyond, they are
/// held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Velocity {
    /// The window; at most a day.
    pub window: SignedDuration,
    /// From one network address.
    pub per_address: u32,
    /// For one e-mail address or telephone number.
    pub per_contact: u32,
    /// All together.
    pub all: u32,
}

/// Which agents' leads are taken; those of others are held back. An agent is known by the name of
/// its credential, and by the name that the lead gives, which everybody can write there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agents {
    /// These alone, unless there is none.
    pub allow: Vec<String>,
    /// These not.
    pub deny: Vec<String>,
    /// How many leads of one agent are taken in a day of 24 hours; any number when `None`.
    pub quota: Option<u32>,
}

impl Default for Appointments {
    /// None offered.
    fn default() -> Self {
        Self {
            types: Vec::new(),
            slot_minutes: 30,
            capacity: 1,
            notice: SignedDuration::from_hours(2),
            horizon_days: 30,
            closed_on: Vec::new(),
        }
    }
}

impl Default for SearchPolicy {
    fn default() -> Self {
        // C-08
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
            confirmations: Confirmations::default(),
            velocity: Velocity::default(),
            agents: Agents::default(),
        }
    }
}

impl Default for Confirmations {
    /// More than a customer needs. An address may be that of an agent with many customers.
    fn default() -> Self {
        Self { per_address: 10, per_contact: 3, per_vehicle: 4, all: 40 }
    }
}

impl Default for Velocity {
    /// More than a dealer gets on a good day.
    fn default() -> Self {
        Self { window: SignedDuration::from_hours(1), per_address: 60, per_contact: 10, all: 600 }
    }
}
