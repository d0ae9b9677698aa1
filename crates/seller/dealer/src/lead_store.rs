//! Storage interface of [`lead`](crate::lead). A [`LeadStore`] is open for one transaction: the
//! implementation guarantees that it takes effect completely or not at all, and that transactions
//! are serialised.

use jiff::Timestamp;
use tradepost_document::fault::InternalError;
use tradepost_document::json::Value;

use crate::calendar::{OccupiedPeriod, TimePeriod};
use crate::consent::ConsentEvidence;
use crate::record::{AppointmentRecord, LeadEventKind, LeadRecord};
use crate::staff::lead_work::LeadAssignment;

/// An idempotency key with its scopes.
#[derive(Debug, Clone, Copy)]
pub struct ScopedKey<'a> {
    /// The dealer.
    pub dealer_id: &'a str,
    /// Scopes in which the key is known; each is sufficient.
    pub scopes: &'a [String],
    /// The key.
    pub key: &'a str,
    /// Keys first used at this time or before it are forgotten.
    pub since: Timestamp,
}

/// Stored answer to the first request with an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredReply {
    /// Hash of the canonical payload.
    pub payload_hash: Vec<u8>,
    /// The answer as JSON.
    pub reply: String,
    /// Moment of the first request.
    pub first_seen_at: Timestamp,
}

/// Criteria by which a lead is recognised as an earlier one.
#[derive(Debug, Clone, Copy)]
pub struct RepeatCriteria<'a> {
    /// The dealer.
    pub dealer_id: &'a str,
    /// Proofs that the caller is the same; each is sufficient.
    pub proofs: &'a [String],
    /// Contact values of the customer, normalised; each is sufficient.
    pub contacts: &'a [String],
    /// Vehicle and type of appointment.
    pub subject: &'a str,
    /// Leads of this time, or older ones, are not considered.
    pub since: Timestamp,
}

/// A submission to be stored.
#[derive(Debug)]
pub struct NewLead<'a> {
    /// The lead with the submission to be stored as its latest. The person of a new lead is
    /// determined by the store.
    pub lead: &'a LeadRecord,
    /// Event that the submission causes.
    pub kind: LeadEventKind,
    /// Criteria by which the lead will be recognised.
    pub known: RepeatCriteria<'a>,
    /// The department that the appointment occupies.
    pub department: &'static str,
    /// Subjects under which it is counted.
    pub tallies: &'a [String],
    /// Counts of this time, and older ones, can be deleted.
    pub tallied_since: Timestamp,
    /// How a new lead gets its owner.
    pub assignment: LeadAssignment,
}

/// Consent of a lead, to be stored with its evidence.
#[derive(Debug, Clone, Copy)]
pub struct NewConsent<'a> {
    /// The dealer.
    pub dealer_id: &'a str,
    /// The lead.
    pub lead_id: &'a str,
    /// Number of the submission.
    pub submission: i64,
    /// Time of arrival.
    pub at: Timestamp,
    /// The payload.
    pub payload: &'a Value,
    /// Evidence of the consent.
    pub evidence: &'a ConsentEvidence,
    /// The network of a caller without credentials.
    pub network: Option<&'a str>,
}

/// Storage operations of one transaction for leads.
pub trait LeadStore {
    /// Returns the stored answers under this key, one for each scope that has it.
    ///
    /// # Errors
    /// When the store fails, as for all operations.
    fn claimed_replies(&self, claim: &ScopedKey<'_>) -> Result<Vec<StoredReply>, InternalError>;

    /// Stores the answer under a key, in each of its scopes.
    ///
    /// # Errors
    /// When the store fails.
    fn store_reply(&self, claim: &ScopedKey<'_>, reply: &StoredReply) -> Result<(), InternalError>;

    /// Returns the lead that the same caller sent for the same customer about the same subject.
    ///
    /// # Errors
    /// When the store fails.
    fn known_lead(&self, known: &RepeatCriteria<'_>) -> Result<Option<LeadRecord>, InternalError>;

    /// Returns the taken parts of a department's calendar within a period: confirmed appointments,
    /// without those of one lead, and blocks.
    ///
    /// # Errors
    /// When the store fails.
    fn occupied(
        &self,
        dealer_id: &str,
        rooftop: &str,
        department: &str,
        period: TimePeriod,
        except_lead: Option<&str>,
    ) -> Result<Vec<OccupiedPeriod>, InternalError>;

    /// Returns an appointment in its current state, when staff or the end of its lead have changed
    /// it; the current one of its lead when that has replaced it. `None` when it is unchanged.
    ///
    /// # Errors
    /// When the store fails.
    fn appointment_if_changed(
        &self,
        dealer_id: &str,
        appointment_id: &str,
    ) -> Result<Option<AppointmentRecord>, InternalError>;

    /// Returns true when at least `limit` submissions were counted under a subject after a moment.
    ///
    /// # Errors
    /// When the store fails.
    fn has_reached_submissions(
        &self,
        dealer_id: &str,
        subject: &str,
        since: Timestamp,
        limit: u32,
    ) -> Result<bool, InternalError>;

    /// Returns true when at least `limit` booked appointments were counted under a subject after a
    /// moment, without those of one lead.
    ///
    /// # Errors
    /// When the store fails.
    fn has_reached_bookings(
        &self,
        dealer_id: &str,
        subject: &str,
        since: Timestamp,
        limit: u32,
        except_lead: Option<&str>,
    ) -> Result<bool, InternalError>;

    /// Stores a submission: the lead with its changes, and the event. Returns the number of the
    /// submission.
    ///
    /// # Errors
    /// When the store fails.
    fn store_lead(&self, taken: &NewLead<'_>) -> Result<i64, InternalError>;

    /// Returns the number of bytes stored for a network's leads after a moment, and the time of the
    /// first.
    ///
    /// # Errors
    /// When the store fails.
    fn stored_bytes(
        &self,
        dealer_id: &str,
        network: &str,
        since: Timestamp,
    ) -> Result<(u64, Option<Timestamp>), InternalError>;

    /// Stores the evidence of a consent.
    ///
    /// # Errors
    /// When the store fails.
    fn store_consent(&self, grant: &NewConsent<'_>) -> Result<(), InternalError>;
}
