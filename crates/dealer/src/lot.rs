//! What a dealer keeps of its leads, as [`lead`](crate::lead) asks for it. A [`Lot`] is open for one
//! transaction: whoever implements it sees to it that what happened on one happened whole or not
//! at all, and to two of them one after the other.

use jiff::Timestamp;
use tradepost_wire::fault::Fault;
use tradepost_wire::json::Value;

use crate::calendar::Occupied;
use crate::consent::Evidence;
use crate::record::{AppointmentRecord, LeadEventKind, LeadRecord};

/// A period, the end not included.
pub type Period = (Timestamp, Timestamp);

/// An idempotency key with those by whom it is known again.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'a> {
    /// Whose lead it is.
    pub dealer_id: &'a str,
    /// Each is enough.
    pub scopes: &'a [String],
    /// The key.
    pub key: &'a str,
    /// Keys from before are forgotten.
    pub since: Timestamp,
}

/// What was answered to the first request with an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedReply {
    /// Hash of the canonical payload.
    pub payload_hash: Vec<u8>,
    /// The answer, as JSON.
    pub reply: String,
    /// When.
    pub first_seen_at: Timestamp,
}

/// By what a lead is known again.
#[derive(Debug, Clone, Copy)]
pub struct KnownLead<'a> {
    /// Whose lead it is.
    pub dealer_id: &'a str,
    /// What shows that the caller is the same; each is enough.
    pub proofs: &'a [String],
    /// The customer's addresses, normalised; each is enough.
    pub contacts: &'a [String],
    /// What it is about.
    pub subject: &'a str,
    /// Leads from before are others.
    pub since: Timestamp,
}

/// A submission to be stored.
#[derive(Debug)]
pub struct TakenLead<'a> {
    /// The lead as it is from now on; its latest submission is the one to be stored. A new lead's
    /// person is worked out.
    pub lead: &'a LeadRecord,
    /// What happens to it.
    pub kind: LeadEventKind,
    /// By what it is known again.
    pub known: KnownLead<'a>,
    /// The department that the appointment occupies.
    pub department: &'static str,
    /// What it counts for, in limits.
    pub tallies: &'a [String],
    /// Tallies from before count no more.
    pub tallied_since: Timestamp,
}

/// How a lead came, on its way into the store.
#[derive(Debug, Clone, Copy)]
pub struct Grant<'a> {
    /// Whose lead it is.
    pub dealer_id: &'a str,
    /// The lead.
    pub lead_id: &'a str,
    /// The submission's number.
    pub submission: i64,
    /// When it came.
    pub at: Timestamp,
    /// The payload.
    pub payload: &'a Value,
    /// What proves the consent.
    pub evidence: &'a Evidence,
    /// The network of a caller without credentials.
    pub network: Option<&'a str>,
}

/// What is asked and written while a lead is taken.
pub trait Lot {
    /// What was answered under this key, in each of the scopes that know it.
    ///
    /// # Errors
    /// When the store fails, here as everywhere.
    fn claimed_replies(&self, claim: &Claim<'_>) -> Result<Vec<ClaimedReply>, Fault>;

    /// Remembers what was answered under a key, in each of its scopes.
    ///
    /// # Errors
    /// When the store fails.
    fn claim(&self, claim: &Claim<'_>, reply: &ClaimedReply) -> Result<(), Fault>;

    /// The lead that the same caller sent for the same customer about the same subject.
    ///
    /// # Errors
    /// When the store fails.
    fn known_lead(&self, known: &KnownLead<'_>) -> Result<Option<LeadRecord>, Fault>;

    /// What of a department's calendar is taken within a period: confirmed appointments, without those
    /// of one lead, and blocked times.
    ///
    /// # Errors
    /// When the store fails.
    fn occupied(
        &self,
        dealer_id: &str,
        rooftop: &str,
        department: &str,
        period: Period,
        except_lead: Option<&str>,
    ) -> Result<Vec<Occupied>, Fault>;

    /// An appointment as it stands now, where the dealer's people, or the end of its lead, have changed
    /// it; the current one of its lead where that has taken its place. `None` when it is as it was.
    ///
    /// # Errors
    /// When the store fails.
    fn changed_appointment(
        &self,
        dealer_id: &str,
        appointment_id: &str,
    ) -> Result<Option<AppointmentRecord>, Fault>;

    /// Whether as many submissions as `limit` have counted for something since a moment.
    ///
    /// # Errors
    /// When the store fails.
    fn has_tallied(
        &self,
        dealer_id: &str,
        subject: &str,
        since: Timestamp,
        limit: u32,
    ) -> Result<bool, Fault>;

    /// The same for those whose appointment is booked, without one lead's.
    ///
    /// # Errors
    /// When the store fails.
    fn has_booked(
        &self,
        dealer_id: &str,
        subject: &str,
        since: Timestamp,
        limit: u32,
        except_lead: Option<&str>,
    ) -> Result<bool, Fault>;

    /// Stores a submission: the lead as it is from now on, and the event that says so. Returns the
    /// submission's number.
    ///
    /// # Errors
    /// When the store fails.
    fn take_lead(&self, taken: &TakenLead<'_>) -> Result<i64, Fault>;

    /// How many bytes are kept of a network's leads since a moment, and when the first came.
    ///
    /// # Errors
    /// When the store fails.
    fn kept_of(
        &self,
        dealer_id: &str,
        network: &str,
        since: Timestamp,
    ) -> Result<(u64, Option<Timestamp>), Fault>;

    /// Keeps the evidence of a consent.
    ///
    /// # Errors
    /// When the store fails.
    fn keep_consent(&self, grant: &Grant<'_>) -> Result<(), Fault>;
}
