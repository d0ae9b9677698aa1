//! What is kept of a lead: what it is now, the submissions that made it, and its events.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tradepost_wire::aap::Version;
use tradepost_wire::aap::lead::AppointmentType;
use tradepost_wire::json::Value;
use tradepost_wire::words;

use crate::consent::{ConsentRecord, Hash};

words! {
    /// How a lead stands.
    pub enum LeadState {
        /// The dealer has it.
        Received = "received",
        /// It is held back until somebody at the dealer releases it.
        Held = "held",
        /// The customer has withdrawn the consent: nobody may contact them.
        Revoked = "revoked",
        /// What it said about the customer is erased.
        Erased = "erased",
    }
}

words! {
    /// Why a lead is held back.
    pub enum HeldFor {
        /// The dealer denies the agent that brought it.
        DeniedAgent = "denied_agent",
        /// The dealer names the agents that it wants leads from, and this is none of them.
        UnlistedAgent = "unlisted_agent",
        /// Too many leads came from there, or for this customer, or at all, in a short time.
        Velocity = "velocity",
        /// The agent has sent as many leads as it may in a day.
        Quota = "quota",
    }
}

words! {
    /// How an appointment stands.
    pub enum AppointmentState {
        /// A person has to find a time.
        Requested = "requested",
        /// Not possible then; other times were proposed.
        Proposed = "proposed",
        /// Booked.
        Confirmed = "confirmed",
        /// Not offered.
        Rejected = "rejected",
        /// Another one of the same lead has taken its place.
        Superseded = "superseded",
        /// Called off by the dealer's people, or with its lead: its time is free again.
        Cancelled = "cancelled",
        /// The customer did not come.
        NoShow = "no_show",
    }
}

impl AppointmentState {
    /// Whether an appointment in this state takes a place in the calendar. The store's query for
    /// what is occupied says the same in SQL, and a test compares them.
    #[must_use]
    pub const fn occupies(self) -> bool {
        match self {
            Self::Confirmed => true,
            Self::Requested
            | Self::Proposed
            | Self::Rejected
            | Self::Superseded
            | Self::Cancelled
            | Self::NoShow => false,
        }
    }
}

words! {
    /// What happened to a lead.
    pub enum LeadEventKind {
        /// It came.
        Received = "received",
        /// Its caller sent it again.
        Resubmitted = "resubmitted",
        /// It was held back, and no longer is.
        Released = "released",
        /// The customer withdrew the consent.
        ConsentRevoked = "consent_revoked",
        /// What it said about the customer was erased.
        Erased = "erased",
        /// The dealer's people agreed on a time for its appointment.
        AppointmentConfirmed = "appointment_confirmed",
        /// The dealer's people moved its appointment to another time.
        AppointmentMoved = "appointment_moved",
        /// Its appointment was cancelled: by the dealer's people, or because the lead was marked
        /// lost or erased.
        AppointmentCancelled = "appointment_cancelled",
        /// The dealer's people noted that the customer did not come.
        AppointmentNoShow = "appointment_no_show",
    }
}

/// A lead as it is now: one state, one current appointment, and what was last said about it.
#[derive(Debug, Clone, PartialEq)]
pub struct LeadRecord {
    /// The lead.
    pub lead_id: String,
    /// Whose.
    pub dealer_id: String,
    /// When it came.
    pub received_at: Timestamp,
    /// When it changed last.
    pub changed_at: Timestamp,
    /// How it stands.
    pub state: LeadState,
    /// Why it is held back; also when it has been released since.
    pub held_for: Option<HeldFor>,
    /// What it shares with all leads that are probably of the same person: the id of the first one
    /// with a common e-mail address or telephone number. No proof, because everybody can write
    /// down everybody's address.
    pub person: String,
    /// The zone of the rooftop that takes care of it, by its IANA name.
    pub time_zone: Option<String>,
    /// The current appointment.
    pub appointment: Option<AppointmentRecord>,
    /// The latest submission.
    pub submission: SubmissionRecord,
}

impl LeadRecord {
    /// The zone of the rooftop that takes care of it; UTC when that has none.
    #[must_use]
    pub fn zone(&self) -> TimeZone {
        let named = self.time_zone.as_deref().and_then(|name| TimeZone::get(name).ok());
        named.unwrap_or(TimeZone::UTC)
    }

    /// What the latest submission asked for, where that is not the current appointment.
    #[must_use]
    pub fn asked_besides(&self) -> Option<&AppointmentRecord> {
        let current = self.appointment.as_ref().map(|current| &current.appointment_id);
        let asked = self.submission.appointment.as_ref();
        asked.filter(|asked| Some(&asked.appointment_id) != current)
    }
}

/// One submission of a lead. Every one is kept, because each has its own consent (`R-LD-19`).
#[derive(Debug, Clone, PartialEq)]
pub struct SubmissionRecord {
    /// When it was received.
    pub received_at: Timestamp,
    /// The AAP version it came in.
    pub version: Version,
    /// Who sent it: the credential's name or `anonymous`.
    pub principal: String,
    /// From which network address.
    pub address: Option<String>,
    /// The payload as it was sent (`lead.submit.request`), consent included; null when it cannot be read.
    pub payload: Value,
    /// Why payload and address cannot be read any more, if they cannot: their key is lost, or
    /// somebody changed them.
    pub unreadable: Option<String>,
    /// The rooftop that takes care of it.
    pub rooftop: Option<String>,
    /// The listing that the vehicle of interest matched, as it was then.
    pub listing: Option<Value>,
    /// What became of the appointment that it asked for.
    pub appointment: Option<AppointmentRecord>,
}

/// An appointment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppointmentRecord {
    /// The dealer's id of it.
    pub appointment_id: String,
    /// What for.
    pub kind: AppointmentType,
    /// How it stands.
    pub state: AppointmentState,
    /// When it was asked to start.
    pub requested_at: Option<Timestamp>,
    /// When it starts, exactly when it was confirmed.
    pub starts_at: Option<Timestamp>,
    /// When it ends, exactly when it was confirmed.
    pub ends_at: Option<Timestamp>,
    /// The times proposed instead.
    pub proposed: Vec<Timestamp>,
    /// Counts its changes: 1 until the dealer's people, or the end of its lead, change it. Whoever
    /// changes it says which version they have seen.
    pub version: i64,
}

/// Something that happened to a lead, with how the lead stood then.
#[derive(Debug, Clone, PartialEq)]
pub struct LeadEvent {
    /// Its number: later events of all leads have larger ones, and none is given twice.
    pub seq: i64,
    /// When.
    pub at: Timestamp,
    /// What.
    pub kind: LeadEventKind,
    /// How the lead stood after it.
    pub state: LeadState,
    /// The current appointment after it, in the state and at the time of then.
    pub appointment: Option<AppointmentRecord>,
    /// The latest submission then, counted from 0.
    pub submission: u32,
}

/// A lead with everything that is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct LeadHistory {
    /// As it is now.
    pub lead: LeadRecord,
    /// The first one first; at least one.
    pub submissions: Vec<SubmissionRecord>,
    /// The first one first; at least one.
    pub events: Vec<LeadEvent>,
    /// The other leads of probably the same person, the first ones first, a limited number.
    pub same_person: Vec<String>,
    /// What is on record about its consent, the first one first, each with its hash and what the
    /// caller said that it is.
    pub consents: Vec<(ConsentRecord, Hash, Option<String>)>,
    /// When a destination first took it; `None` while none has.
    pub delivered_at: Option<Timestamp>,
}

impl LeadHistory {
    /// Whether everything that was sent can be read.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.submissions.iter().all(|sent| sent.unreadable.is_none())
    }

    /// The lead as it was after each event.
    pub fn changes(&self) -> impl Iterator<Item = (&LeadEvent, LeadRecord)> {
        self.events.iter().filter_map(|event| {
            let lead = LeadRecord {
                changed_at: event.at,
                // What is withdrawn is withdrawn for what came before, too.
                state: match self.lead.state {
                    LeadState::Revoked | LeadState::Erased => self.lead.state,
                    LeadState::Received | LeadState::Held => event.state,
                },
                appointment: event.appointment.clone(),
                submission: self.submissions.get(event.submission as usize)?.clone(),
                ..self.lead.clone()
            };
            Some((event, lead))
        })
    }
}
