//! What the console asks of the store: who may come in, what they work on, and what they have done.

use jiff::Timestamp;
use tradepost_dealer::record::{HeldFor, LeadRecord, LeadState};
use tradepost_dealer::staff::{
    LeadNote, NewAuditEntry, RecordCheck, StaffProgress, StaffRole, StaffStage,
};
use tradepost_wire::fault::InternalError;

use super::Store;

/// Somebody who may come in.
#[derive(Clone, PartialEq, Eq)]
pub struct StaffMember {
    /// The name, by which they sign in.
    pub name: String,
    /// Whose people they are; every dealer's of the process when `None`.
    pub dealer_id: Option<String>,
    /// What they are for.
    pub role: StaffRole,
    /// The password, hashed: a PHC string.
    pub password: String,
    /// Since when.
    pub created_at: Timestamp,
}

impl std::fmt::Debug for StaffMember {
    /// Without the password's hash.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Member");
        shown.field("name", &self.name).field("role", &self.role).finish_non_exhaustive()
    }
}

/// Somebody's session in a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaffSession {
    /// By which it is listed and ended. It lets nobody in.
    pub id: String,
    /// Whose.
    pub name: String,
    /// Since when.
    pub begun_at: Timestamp,
    /// When it was used last, give or take a minute.
    pub seen_at: Timestamp,
    /// When it ends, however much it is used.
    pub expires_at: Timestamp,
    /// What the browser said that it is, shortened.
    pub browser: String,
    /// When the person last gave the password, or signed in anew at the provider. `None` for a
    /// session that an older version began, or whose provider did not say.
    pub proven_at: Option<Timestamp>,
}

/// Which leads are wanted.
#[derive(Debug, Clone, Copy, Default)]
pub struct LeadFilter<'a> {
    /// Of this dealer.
    pub dealer_id: Option<&'a str>,
    /// In this state.
    pub state: Option<LeadState>,
    /// At this stage.
    pub stage: Option<StaffStage>,
    /// The oldest first, and not the latest.
    pub oldest_first: bool,
    /// How many at most.
    pub limit: u32,
    /// How many are left out before.
    pub skip: u32,
}

/// How many leads a search looks through at most, in the order in which they are listed.
pub const SEARCHED_LEADS: usize = 20_000;

/// What a search for leads has found.
#[derive(Debug, Default)]
pub struct FoundLeads {
    /// The leads, with how the dealer's people stand with each.
    pub leads: Vec<(LeadRecord, StaffProgress)>,
    /// There are more leads than [`SEARCHED_LEADS`], and those beyond were not looked through.
    pub is_cut: bool,
}

/// From whom a submission of a lead came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmissionOrigin {
    /// When it came.
    pub at: Timestamp,
    /// The credential's name, or `anonymous`.
    pub principal: String,
    /// What the agent calls itself.
    pub agent: Option<String>,
    /// Whether the lead was known already.
    pub is_repeated: bool,
    /// Why the lead was held back, if it was.
    pub held_for: Option<HeldFor>,
    /// How far the people are with the lead, if anybody has looked at it.
    pub stage: Option<StaffStage>,
}

impl Store {
    /// The names of the records that there are.
    ///
    /// # Errors
    /// When the database fails.
    pub fn chains(&self) -> Result<Vec<String>, InternalError> {
        self.read(|db| db.chains())
    }

    /// Records what somebody was shown or took away.
    ///
    /// # Errors
    /// When the database fails; nothing may be shown then.
    pub fn record_all(&self, entries: Vec<NewAuditEntry>) -> Result<(), InternalError> {
        if entries.is_empty() {
            return Ok(());
        }
        self.write_blocking(move |tx| tx.record_all(&entries))
    }

    /// Looks through all records.
    ///
    /// # Errors
    /// When the database fails.
    pub fn check_records(&self) -> Result<Vec<RecordCheck>, InternalError> {
        self.read(|db| db.check_records())
    }

    /// Leads, with how the dealer's people stand with each.
    ///
    /// # Errors
    /// When the database fails.
    pub fn lead_list(
        &self,
        filter: &LeadFilter<'_>,
    ) -> Result<Vec<(LeadRecord, StaffProgress)>, InternalError> {
        self.read(|db| db.lead_list(filter))
    }

    /// Finds leads by a text: words of the name, e-mail address, message, vehicle, stock number, rooftop, lead
    /// id and notes, all of which must occur, whatever their case and accents, or a part of a telephone
    /// number however it is written. The result is the same with encrypted personal data as without.
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

    /// How the dealer's people stand with a lead, and what they wrote about it.
    ///
    /// # Errors
    /// When the database fails.
    pub fn lead_work(
        &self,
        lead_id: &str,
    ) -> Result<(StaffProgress, Vec<LeadNote>), InternalError> {
        self.read(|db| Ok((db.progress(lead_id)?, db.notes(lead_id)?)))
    }

    /// Erases what a lead says about its customer, and records who did. Returns whether there was
    /// something to erase.
    ///
    /// # Errors
    /// When the database fails.
    pub fn erase_lead(&self, lead_id: String, entry: NewAuditEntry) -> Result<bool, InternalError> {
        let erased = self.write_blocking(move |tx| {
            let erased = tx.erase_lead(&lead_id, entry.at)?;
            if erased {
                tx.record(&entry)?;
            }
            Ok(erased)
        })?;
        // Also when there was nothing to erase: the process may have ended here the last time.
        self.read(|db| db.0.empty_log())?;
        Ok(erased)
    }
}
