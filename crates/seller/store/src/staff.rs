//! Console data in the store: staff members, their leads, and the audit log.

use jiff::Timestamp;
use tradepost_dealer::record::{HeldFor, LeadHistory, LeadRecord, LeadState};
use tradepost_dealer::staff::{
    LeadNote, LostReason, NewAuditEntry, RecordCheck, StaffProgress, StaffRole, StaffStage,
};
use tradepost_document::fault::InternalError;

use super::Store;

/// Staff member who may sign in to the console.
#[derive(Clone, PartialEq, Eq)]
pub struct StaffMember {
    /// Name to sign in with.
    pub name: String,
    /// Dealer they work for; `None` for all dealers of the process.
    pub dealer_id: Option<String>,
    /// Their role.
    pub role: StaffRole,
    /// Hashed password: a PHC string.
    pub password: String,
    /// Time of creation.
    pub created_at: Timestamp,
}

impl std::fmt::Debug for StaffMember {
    /// Leaves the password's hash out.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("StaffMember");
        shown.field("name", &self.name).field("role", &self.role).finish_non_exhaustive()
    }
}

/// Session of a staff member in a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaffSession {
    /// Id by which it is listed and ended. It does not authenticate.
    pub id: String,
    /// Name of the staff member.
    pub name: String,
    /// Time at which it began.
    pub begun_at: Timestamp,
    /// Time of its last use, accurate to a minute.
    pub seen_at: Timestamp,
    /// Time at which it ends, however much it is used.
    pub expires_at: Timestamp,
    /// Browser as it identified itself, shortened.
    pub browser: String,
    /// Time at which the person last gave the password, or signed in anew at the provider. `None` for a session that an
    /// older version began, or whose provider did not report it.
    pub proven_at: Option<Timestamp>,
}

/// Filter for a list of leads.
#[derive(Debug, Clone, Copy, Default)]
pub struct LeadFilter<'a> {
    /// Leads of this dealer.
    pub dealer_id: Option<&'a str>,
    /// Leads in this state.
    pub state: Option<LeadState>,
    /// Leads at this stage.
    pub stage: Option<StaffStage>,
    /// Leads of the agent that gives itself this name, in upper or lower case. Leads that were stored before names
    /// could be searched are not found by it.
    pub agent: Option<&'a str>,
    /// Leads that the rooftop of this name handles, in upper or lower case.
    pub rooftop: Option<&'a str>,
    /// Leads about this listed vehicle.
    pub vehicle_id: Option<&'a str>,
    /// Leads of this owner.
    pub owner: Option<OwnerFilter<'a>>,
    /// Leads received at this time or later.
    pub received_since: Option<Timestamp>,
    /// Leads received before this time.
    pub received_before: Option<Timestamp>,
    /// Leads that are new or have changed since this time.
    pub changed_since: Option<Timestamp>,
    /// Leads whose next step is due before this time.
    pub due_before: Option<Timestamp>,
    /// Leads that wait for a member of the staff.
    pub waiting: Option<WaitingFor>,
    /// True to list the oldest first instead of the latest.
    pub oldest_first: bool,
    /// Maximum number of leads.
    pub limit: u32,
    /// Position after which the list begins, in its order.
    pub after: Option<LeadCursor>,
}

/// What leads of a list wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitingFor {
    /// An answer: they are received, new, and handled by no destination.
    Answer,
    /// An answer, or their release because they are held back.
    Anything,
}

/// Owner of the leads of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnerFilter<'a> {
    /// Nobody.
    Nobody,
    /// The member of this name.
    Member(&'a str),
}

/// Position of a lead in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeadCursor {
    /// Time of receipt.
    pub received_at: Timestamp,
    /// Number that orders leads of the same time.
    pub seq: i64,
}

/// Lead of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedLead {
    /// Number that orders leads of the same time.
    pub seq: i64,
    /// The lead.
    pub lead: LeadRecord,
    /// Its staff progress.
    pub progress: StaffProgress,
}

impl ListedLead {
    /// Returns the position of the lead.
    #[must_use]
    pub const fn cursor(&self) -> LeadCursor {
        LeadCursor { received_at: self.lead.received_at, seq: self.seq }
    }
}

/// A stage for a lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewStage {
    /// The stage.
    pub stage: StaffStage,
    /// Reason for which it is lost.
    pub lost_reason: Option<LostReason>,
}

/// Leads of a dealer that wait for an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WaitingLeads {
    /// Number of leads.
    pub number: u64,
    /// Time of receipt of the oldest.
    pub oldest: Option<Timestamp>,
    /// Number of the lead that was received last, which later ones exceed.
    pub latest: i64,
}

/// Maximum number of leads that a search reads, in the order in which they are listed.
pub const SEARCHED_LEADS: usize = 20_000;

/// Result of a search for leads.
#[derive(Debug, Default)]
pub struct FoundLeads {
    /// The leads.
    pub leads: Vec<ListedLead>,
    /// True when there are more leads than [`SEARCHED_LEADS`], so that the rest was not searched.
    pub is_cut: bool,
}

/// Limits of reading leads with their histories.
#[derive(Debug, Clone, Copy)]
pub struct HistoryLimits {
    /// Most leads that are returned.
    pub returned: u32,
    /// Most leads in which a text is searched.
    pub searched: usize,
}

/// Leads with their histories, or the limit that they exceed: a part of them is never returned.
#[derive(Debug)]
pub enum LeadHistories {
    /// All of them.
    All(Vec<LeadHistory>),
    /// There are more than [`HistoryLimits::returned`].
    TooMany,
    /// The text was searched in [`HistoryLimits::searched`] leads, and there are more.
    NotAllSearched,
}

/// Origin of a submission of a lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmissionOrigin {
    /// Time of arrival.
    pub at: Timestamp,
    /// Name of the credential, or `anonymous`.
    pub principal: String,
    /// Name that the agent gives itself.
    pub agent: Option<String>,
    /// True when the lead was already known.
    pub is_repeated: bool,
    /// Reason why the lead was held back, if it was.
    pub held_for: Option<HeldFor>,
    /// Stage of the lead.
    pub stage: StaffStage,
}

impl Store {
    /// Returns the names of the chains in the audit log.
    ///
    /// # Errors
    /// When the database fails.
    pub fn chains(&self) -> Result<Vec<String>, InternalError> {
        self.read(|db| db.chains())
    }

    /// Records which data was shown or exported to a staff member.
    ///
    /// # Errors
    /// When the database fails; nothing may be shown then.
    pub fn record_all(&self, entries: Vec<NewAuditEntry>) -> Result<(), InternalError> {
        if entries.is_empty() {
            return Ok(());
        }
        self.write_blocking(move |tx| tx.record_all(&entries))
    }

    /// Checks all chains of the audit log.
    ///
    /// # Errors
    /// When the database fails.
    pub fn check_records(&self) -> Result<Vec<RecordCheck>, InternalError> {
        self.read(|db| db.check_records())
    }

    /// Returns leads, each with its staff progress: the page of a filter after its cursor.
    ///
    /// # Errors
    /// When the database fails.
    pub fn lead_list(&self, filter: &LeadFilter<'_>) -> Result<Vec<ListedLead>, InternalError> {
        self.read(|db| db.lead_list(filter))
    }

    /// Returns the ids of leads: the page of a filter after its cursor.
    ///
    /// # Errors
    /// When the database fails.
    pub fn lead_ids(&self, filter: &LeadFilter<'_>) -> Result<Vec<String>, InternalError> {
        self.read(|db| db.lead_ids(filter))
    }

    /// Returns the leads of a filter, or those of them in which a text occurs, with their full histories.
    ///
    /// # Errors
    /// When the database fails.
    pub fn lead_histories(
        &self,
        filter: &LeadFilter<'_>,
        text: Option<&str>,
        limits: HistoryLimits,
    ) -> Result<LeadHistories, InternalError> {
        let filter = LeadFilter { limit: limits.returned.saturating_add(1), ..*filter };
        self.read(|db| {
            let found = match text {
                Some(text) => db.find_leads(&filter, text, limits.searched)?,
                None => FoundLeads { leads: db.lead_list(&filter)?, is_cut: false },
            };
            if found.leads.len() > limits.returned as usize {
                return Ok(LeadHistories::TooMany);
            }
            if found.is_cut {
                return Ok(LeadHistories::NotAllSearched);
            }
            found
                .leads
                .into_iter()
                .map(|listed| db.history_of(listed.lead))
                .collect::<Result<_, _>>()
                .map(LeadHistories::All)
        })
    }

    /// Counts the leads of a filter, without its cursor and limit.
    ///
    /// # Errors
    /// When the database fails.
    pub fn count_leads(&self, filter: &LeadFilter<'_>) -> Result<u32, InternalError> {
        self.read(|db| db.count_leads(filter))
    }

    /// Finds leads by a text: words of the name, e-mail address, message, vehicle, stock number, rooftop, lead id and
    /// notes, all of which must occur, regardless of case and accents, or a part of a telephone number in any notation.
    /// The result is the same with encrypted personal data as without.
    ///
    /// # Errors
    /// When the database fails.
    pub fn find_leads(
        &self,
        filter: &LeadFilter<'_>,
        text: &str,
    ) -> Result<FoundLeads, InternalError> {
        self.read(|db| db.find_leads(filter, text, SEARCHED_LEADS))
    }

    /// Returns the staff progress of a lead, and the notes on it.
    ///
    /// # Errors
    /// When the database fails.
    pub fn lead_work(
        &self,
        lead_id: &str,
    ) -> Result<(StaffProgress, Vec<LeadNote>), InternalError> {
        self.read(|db| Ok((db.progress(lead_id)?, db.notes(lead_id)?)))
    }
}
