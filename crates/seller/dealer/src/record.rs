//! Stored leads: the current state, the submissions, and the events.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tradepost_aap::Version;
use tradepost_aap::lead::AppointmentType;
use tradepost_document::json::Value;
use tradepost_document::words;

use crate::consent::{ConsentRecord, Sha256Hash};
use crate::staff::StaffProgress;

words! {
    /// States of a lead.
    pub enum LeadState {
        /// The dealer has it.
        Received = "received",
        /// Held until a member of staff releases it.
        Held = "held",
        /// The customer has withdrawn the consent and may not be contacted.
        Revoked = "revoked",
        /// The customer's data is erased.
        Erased = "erased",
    }
}

words! {
    /// Reasons for holding a lead.
    pub enum HeldFor {
        /// The dealer denies the agent that sent it.
        DeniedAgent = "denied_agent",
        /// The dealer accepts leads from listed agents only, and this is none of them.
        UnlistedAgent = "unlisted_agent",
        /// Too many leads from this source, for this customer, or in total, in a short time.
        Velocity = "velocity",
        /// The agent has used up its daily quota.
        Quota = "quota",
    }
}

words! {
    /// States of an appointment.
    pub enum AppointmentState {
        /// A member of staff has to find a time.
        Requested = "requested",
        /// The requested time is not possible; others were proposed.
        Proposed = "proposed",
        /// Booked.
        Confirmed = "confirmed",
        /// The rooftop does not offer it.
        Rejected = "rejected",
        /// Another appointment of the same lead has replaced it.
        Superseded = "superseded",
        /// Cancelled by staff, or with its lead; its time is free again.
        Cancelled = "cancelled",
        /// The customer did not come.
        NoShow = "no_show",
    }
}

impl AppointmentState {
    /// Returns true when an appointment in this state takes a place in the calendar. The store's
    /// query for occupied periods has the same rule in SQL, and a test compares them.
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
    /// Kinds of events of a lead.
    pub enum LeadEventKind {
        /// The lead was received.
        Received = "received",
        /// The same caller sent it again.
        Resubmitted = "resubmitted",
        /// The lead was held, and was released.
        Released = "released",
        /// The customer withdrew the consent.
        ConsentRevoked = "consent_revoked",
        /// The customer's data was erased.
        Erased = "erased",
        /// Staff confirmed a time for its appointment.
        AppointmentConfirmed = "appointment_confirmed",
        /// Staff moved its appointment to another time.
        AppointmentMoved = "appointment_moved",
        /// Its appointment was cancelled: by staff, or because the lead was marked lost or erased.
        AppointmentCancelled = "appointment_cancelled",
        /// Staff recorded that the customer did not come.
        AppointmentNoShow = "appointment_no_show",
    }
}

/// A lead in its current state, with its current appointment and latest submission.
#[derive(Debug, Clone, PartialEq)]
pub struct LeadRecord {
    /// Id of the lead.
    pub lead_id: String,
    /// The dealer.
    pub dealer_id: String,
    /// Time of receipt.
    pub received_at: Timestamp,
    /// Time of the last change.
    pub changed_at: Timestamp,
    /// State of the lead.
    pub state: LeadState,
    /// Reason for holding it, also after its release.
    pub held_for: Option<HeldFor>,
    /// Group of leads that are probably from the same person: the id of the first lead with a
    /// common e-mail address or telephone number. No proof, because anyone can give anyone's
    /// address.
    pub person: String,
    /// IANA name of the time zone of the responsible rooftop.
    pub time_zone: Option<String>,
    /// The current appointment.
    pub appointment: Option<AppointmentRecord>,
    /// The latest submission.
    pub submission: SubmissionRecord,
}

impl LeadRecord {
    /// Returns the time zone of the responsible rooftop; UTC when there is none.
    #[must_use]
    pub fn zone(&self) -> TimeZone {
        let named = self.time_zone.as_deref().and_then(|name| TimeZone::get(name).ok());
        named.unwrap_or(TimeZone::UTC)
    }

    /// Returns the appointment of the latest submission, when it is not the current one.
    #[must_use]
    pub fn asked_besides(&self) -> Option<&AppointmentRecord> {
        let current = self.appointment.as_ref().map(|current| &current.appointment_id);
        let asked = self.submission.appointment.as_ref();
        asked.filter(|asked| Some(&asked.appointment_id) != current)
    }
}

/// One submission of a lead. Each is stored, because each has its own consent (AAP 1.1
/// `lead.submit`, `R-LD-19`).
#[derive(Debug, Clone, PartialEq)]
pub struct SubmissionRecord {
    /// Time of receipt.
    pub received_at: Timestamp,
    /// AAP version of the request.
    pub version: Version,
    /// Sender: the credential's name or `anonymous`.
    pub principal: String,
    /// Network address of the sender.
    pub address: Option<String>,
    /// The payload as sent (`lead.submit.request`), consent included; null when it cannot be read.
    pub payload: Value,
    /// Reason why payload and address cannot be read: their key is lost, or they were changed.
    pub unreadable: Option<String>,
    /// The responsible rooftop.
    pub rooftop: Option<String>,
    /// The listing of the vehicle of interest, as it was then.
    pub listing: Option<Value>,
    /// The requested appointment.
    pub appointment: Option<AppointmentRecord>,
}

/// An appointment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppointmentRecord {
    /// Id of the appointment.
    pub appointment_id: String,
    /// Type of appointment.
    pub kind: AppointmentType,
    /// State of the appointment.
    pub state: AppointmentState,
    /// Requested start.
    pub requested_at: Option<Timestamp>,
    /// Start, present exactly when confirmed.
    pub starts_at: Option<Timestamp>,
    /// End, present exactly when confirmed.
    pub ends_at: Option<Timestamp>,
    /// Proposed times.
    pub proposed: Vec<Timestamp>,
    /// Number of its changes: 1 until staff, or the end of its lead, change it. A change names the
    /// version that its author has seen.
    pub version: i64,
}

/// An event of a lead, with the state of the lead after it.
#[derive(Debug, Clone, PartialEq)]
pub struct LeadEvent {
    /// Sequence number over all leads; later events have larger ones, and none is reused.
    pub seq: i64,
    /// Time.
    pub at: Timestamp,
    /// Kind of event.
    pub kind: LeadEventKind,
    /// State of the lead after it.
    pub state: LeadState,
    /// Current appointment after it, as it was then.
    pub appointment: Option<AppointmentRecord>,
    /// Index of the latest submission then.
    pub submission: u32,
}

/// A stored consent record of a lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredConsent {
    /// The record.
    pub record: ConsentRecord,
    /// Hash of the record in the chain.
    pub hash: Sha256Hash,
    /// User agent of the caller; `None` when it sent none, or when it is erased or cannot be read.
    pub user_agent: Option<String>,
}

/// A lead with its whole history.
#[derive(Debug, Clone, PartialEq)]
pub struct LeadHistory {
    /// Current state.
    pub lead: LeadRecord,
    /// Submissions, oldest first; at least one.
    pub submissions: Vec<SubmissionRecord>,
    /// Events, oldest first; at least one.
    pub events: Vec<LeadEvent>,
    /// Ids of other leads probably from the same person, oldest first, a limited number.
    pub same_person: Vec<String>,
    /// Consent records, oldest first.
    pub consents: Vec<StoredConsent>,
    /// Time of the first successful delivery; `None` without any.
    pub delivered_at: Option<Timestamp>,
    /// Progress of staff with it.
    pub progress: StaffProgress,
}

impl LeadHistory {
    /// Returns true when every submission can be read.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.submissions.iter().all(|sent| sent.unreadable.is_none())
    }

    /// Iterates over the events, each with the lead as it was after it.
    pub fn changes(&self) -> impl Iterator<Item = (&LeadEvent, LeadRecord)> {
        self.events.iter().filter_map(|event| {
            let lead = LeadRecord {
                changed_at: event.at,
                // A withdrawal applies to earlier states too.
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
