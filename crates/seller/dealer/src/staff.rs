//! Staff of a dealer: roles, progress with leads, notes, and the audit log.
//!
//! The audit log is a hash chain like that of consents: the hash of each entry covers that of the
//! entry before, so no entry can be changed or removed without breaking all that follow. An entry
//! names a lead by its id and contains no customer data, so it remains when the customer is erased.

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::words;

use crate::consent::{START, Sha256Hash, add_texts, hex};

mod audit_detail;
pub mod lead_work;

pub use audit_detail::{
    MemberDetail, note_detail, note_digest_of, password_print, readable_detail,
};
pub use lead_work::{LostReason, NextStep, NextStepKind};

words! {
    /// Roles of staff.
    pub enum StaffRole {
        /// Sales: sees leads and works on them.
        Desk = "desk",
        /// Manages sales: releases, revokes and erases leads as well, and reads the audit log.
        Manager = "manager",
        /// Operates the server, without access to customer data.
        Engineer = "engineer",
        /// Sells for a publisher: looks, and suspends, resumes and settles what runs.
        Seller = "seller",
        /// Answers for what a publisher sells: approves, declines and grants, too, and sees who did what.
        Approver = "approver",
        /// Looks at what a publisher has sold, and changes nothing.
        Viewer = "viewer",
    }
}

impl StaffRole {
    /// Returns true for a role at a publisher.
    #[must_use]
    pub const fn is_of_publisher(self) -> bool {
        match self {
            Self::Desk | Self::Manager | Self::Engineer => false,
            Self::Seller | Self::Approver | Self::Viewer => true,
        }
    }
}

words! {
    /// Progress of staff with a lead.
    pub enum StaffStage {
        /// No staff member has taken it on.
        New = "new",
        /// A staff member works on it.
        Working = "working",
        /// The customer has bought.
        Sold = "sold",
        /// The customer has not bought.
        Lost = "lost",
    }
}

words! {
    /// Actions in the audit log.
    pub enum AuditAction {
        /// Signed in.
        SignedIn = "signed_in",
        /// Signed out.
        SignedOut = "signed_out",
        /// Ended a session, their own or another.
        SessionEnded = "session_ended",
        /// Viewed a lead.
        LeadSeen = "lead_seen",
        /// Added a note to a lead; the detail is the hash of the note.
        NoteAdded = "note_added",
        /// Changed the progress of a lead.
        StageChanged = "stage_changed",
        /// Gave a lead an owner, or none; the detail has who had it and who has it.
        LeadAssigned = "lead_assigned",
        /// Set the next step with a lead; the detail is its kind and time.
        NextStepSet = "next_step_set",
        /// Did the next step with a lead.
        NextStepDone = "next_step_done",
        /// Removed the next step with a lead.
        NextStepRemoved = "next_step_removed",
        /// Had a lead delivered again.
        LeadResent = "lead_resent",
        /// Released a held lead.
        LeadReleased = "lead_released",
        /// Recorded that the customer has withdrawn the consent.
        ConsentRevoked = "consent_revoked",
        /// Erased the customer's data of a lead.
        LeadErased = "lead_erased",
        /// Confirmed a time for an appointment.
        AppointmentConfirmed = "appointment_confirmed",
        /// Moved an appointment to another time.
        AppointmentMoved = "appointment_moved",
        /// Cancelled an appointment.
        AppointmentCancelled = "appointment_cancelled",
        /// Recorded a no-show.
        AppointmentNoShow = "appointment_no_show",
        /// Blocked a period in a department's calendar.
        TimeBlocked = "time_blocked",
        /// Removed a block.
        TimeUnblocked = "time_unblocked",
        /// Created the calendar feed of a rooftop; the detail is the rooftop.
        CalendarFeedCreated = "calendar_feed_created",
        /// Renewed its secret address, so that the earlier one is not answered any more.
        CalendarFeedRenewed = "calendar_feed_renewed",
        /// Revoked it.
        CalendarFeedRevoked = "calendar_feed_revoked",
        /// Read it, for the first time on a day.
        CalendarFeedRead = "calendar_feed_read",
        /// Viewed a list of leads.
        LeadsListed = "leads_listed",
        /// Exported a lead to a file.
        LeadExported = "lead_exported",
        /// Exported the evidence of a lead's consent; the detail is the hash of the file's content.
        EvidenceTaken = "evidence_taken",
        /// Delivered a lead to a destination, which accepted it.
        LeadDelivered = "lead_delivered",
        /// Ran the prober against an agent.
        AgentProbed = "agent_probed",
        /// Tested a step that brings a dealer online; the detail is the step and its outcome.
        StepTested = "step_tested",
        /// Re-encrypted personal data with another key.
        KeyChanged = "key_changed",
        /// Gave up a lost key, with all data that only it could decrypt.
        KeyForgotten = "key_forgotten",
        /// Exported an audit log to a file.
        RecordExported = "record_exported",
        /// Added a member; the detail is the role, and a hash of the stored password hash.
        MemberAdded = "member_added",
        /// Set a member's password; the detail is a hash of the stored password hash.
        PasswordSet = "password_set",
        /// Removed a member.
        MemberRemoved = "member_removed",
        /// Failed to sign in, or to confirm their own password; the subject is the attempted name,
        /// where a member has it.
        SignInFailed = "sign_in_failed",
        /// Failed so often that no more attempts are taken for a while.
        SignInLocked = "sign_in_locked",
        /// Was refused an action that the role does not permit.
        AccessRefused = "access_refused",
        /// Confirmed their own password for a sensitive action.
        IdentityConfirmed = "identity_confirmed",
        /// Enabled their own second factor.
        SecondFactorSet = "second_factor_set",
        /// Disabled their own second factor.
        SecondFactorRemoved = "second_factor_removed",
        /// Reset another member's second factor.
        SecondFactorReset = "second_factor_reset",
        /// Generated new recovery codes.
        RecoveryCodesMade = "recovery_codes_made",
        /// Signed in with a recovery code.
        RecoveryCodeUsed = "recovery_code_used",
        /// Approved an advertiser's account, a creative, or a media buy that waited; the detail of this
        /// and of what follows says of which kind the thing is, how it stood and stands, and why.
        Approved = "approved",
        /// Declined one, or what was approved before.
        Declined = "declined",
        /// Stopped a media buy for a while.
        Paused = "paused",
        /// Canceled a media buy for good.
        Canceled = "canceled",
        /// Suspended an account or a creative.
        Suspended = "suspended",
        /// Let one go on after that, or a media buy that was paused.
        Resumed = "resumed",
        /// Closed an account for good.
        Closed = "closed",
        /// Had an account spend nothing before it has paid.
        PaymentDemanded = "payment_demanded",
        /// Let it spend again.
        PaymentSettled = "payment_settled",
        /// Said what an agent may do with an account.
        RightsGranted = "rights_granted",
        /// A media buy was carried into the ad server again.
        OrderRetried = "order_retried",
        /// Took that back.
        RightsRevoked = "rights_revoked",
        /// Wrote the books of a publisher's counted inventory anew; the detail is what differed.
        InventoryRepaired = "inventory_repaired",
        /// Reported what a media buy has delivered; the detail is how many days changed and became final.
        DeliveryReported = "delivery_reported",
        /// Had messages to a publisher's staff sent again that were given up; the subject is what they are about, the
        /// detail how many.
        StaffMessagesResent = "staff_messages_resent",
        /// Created an API key; the detail is its name and what it permits.
        ApiKeyCreated = "api_key_created",
        /// Revoked an API key; the detail is its name.
        ApiKeyRevoked = "api_key_revoked",
        /// Ran an inventory feed; the detail is the id of the run and its outcome.
        FeedRun = "feed_run",
        /// Replaced the inventory with a file; the subject is its name, the detail how many vehicles changed.
        InventoryImported = "inventory_imported",
        /// Retried webhooks that were given up; the subject is their task, the detail how many.
        WebhooksRetried = "webhooks_retried",
        /// Added a hosted dealer; the detail is its hosts.
        DealerAdded = "dealer_added",
        /// Changed the settings of a hosted dealer; the detail is which, without their values.
        DealerChanged = "dealer_changed",
        /// Suspended a hosted dealer.
        DealerSuspended = "dealer_suspended",
        /// Let a hosted dealer answer again.
        DealerResumed = "dealer_resumed",
        /// Removed a hosted dealer.
        DealerRemoved = "dealer_removed",
    }
}

/// An entry to be recorded in the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAuditEntry {
    /// The chain: a dealer's or publisher's id, or `*` for entries that concern all dealers of a process,
    /// which no dealer has as its id.
    pub chain: String,
    /// Time, with millisecond precision.
    pub at: Timestamp,
    /// Actor: a member's name, `cli:` with an operating-system user, `key:` with the name of an
    /// administrators' key, or a part of the server.
    pub actor: String,
    /// Action.
    pub action: AuditAction,
    /// Subject: the id of a lead or session, or the name of a member or file.
    pub subject: Option<String>,
    /// Details in our own words.
    pub detail: Option<String>,
}

/// Chain of entries that concern all dealers of a process.
pub const EVERYBODY: &str = "*";

/// Actor that erases leads after their retention.
pub const RETENTION: &str = "retention";

/// Actor that delivers leads to their destinations.
pub const DELIVERY: &str = "delivery";

/// Actor that reads a calendar feed, because the calendar program is unknown.
pub const CALENDAR_FEED: &str = "calendar-feed";

/// Actor of failed sign-ins, because the person is unknown.
pub const SIGN_IN: &str = "sign-in";

impl NewAuditEntry {
    /// Computes the hash of the entry with this number, given the hash of the entry before.
    #[must_use]
    pub fn hash(&self, seq: i64, previous: &Sha256Hash) -> Sha256Hash {
        let mut hasher = Sha256::new();
        // A prefix with name and version, so that the hash cannot be mistaken for another.
        hasher.update(b"tradepost audit entry 1\n");
        let seq = seq.to_string();
        let at = self.at.as_millisecond().to_string();
        let texts = [
            &hex(previous),
            &self.chain,
            &seq,
            &at,
            &self.actor,
            self.action.name(),
            self.subject.as_deref().unwrap_or_default(),
            self.detail.as_deref().unwrap_or_default(),
        ];
        add_texts(&mut hasher, &texts);
        hasher.finalize().into()
    }
}

/// A stored entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Number in its chain, from 1, without gaps.
    pub seq: i64,
    /// Content.
    pub said: NewAuditEntry,
    /// Hash.
    pub hash: Sha256Hash,
}

/// Result of checking a chain of the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordCheck {
    /// The chain.
    pub chain: String,
    /// Number of entries.
    pub entries: usize,
    /// Hash of the last entry.
    pub head: Sha256Hash,
    /// Numbers of entries that were changed, or before which one is missing.
    pub faults: Vec<i64>,
}

impl RecordCheck {
    /// Starts a check of a chain.
    #[must_use]
    pub fn new(chain: String) -> Self {
        Self { chain, entries: 0, head: START, faults: Vec::new() }
    }

    /// Checks the next entry.
    pub fn take(&mut self, entry: &AuditEntry) {
        self.entries += 1;
        let expected = i64::try_from(self.entries).unwrap_or(i64::MAX);
        let is_whole =
            entry.seq == expected && entry.said.hash(entry.seq, &self.head) == entry.hash;
        if !is_whole {
            self.faults.push(entry.seq);
        }
        // Continues from the stored hash, so that one changed entry is one defect and not one for
        // each entry that follows.
        self.head = entry.hash;
    }

    /// Records an entry that cannot be read, with its number and its hash.
    pub fn take_unread(&mut self, seq: i64, hash: Sha256Hash) {
        self.entries += 1;
        self.faults.push(seq);
        self.head = hash;
    }
}

/// A note of staff about a lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeadNote {
    /// Time of writing.
    pub at: Timestamp,
    /// Author.
    pub author: String,
    /// Text; `None` when it cannot be read any more.
    pub text: Option<String>,
}

impl LeadNote {
    /// Returns the hash of a note for its audit entry; `None` when the text cannot be read. The
    /// salt is stored with the note and erased with it, because otherwise short texts could be
    /// guessed from the hash, which remains.
    #[must_use]
    pub fn digest(&self, dealer_id: &str, lead_id: &str, salt: &str) -> Option<Sha256Hash> {
        let text = self.text.as_deref()?;
        let mut hasher = Sha256::new();
        hasher.update(b"tradepost lead note 1\n");
        let at = self.at.as_millisecond().to_string();
        add_texts(&mut hasher, &[salt, dealer_id, lead_id, &at, &self.author, text]);
        Some(hasher.finalize().into())
    }
}

/// Progress of staff with a lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaffProgress {
    /// Progress.
    pub stage: StaffStage,
    /// Reason for which it was lost; `None` for other stages, and when it was lost before reasons
    /// were asked for.
    pub lost_reason: Option<LostReason>,
    /// Name of the member who works on it.
    pub owner: Option<String>,
    /// The next step.
    pub next_step: Option<NextStep>,
    /// Destination that has accepted the lead and handles it, such as a CRM.
    pub handled_by: Option<String>,
    /// Time and author of the last change; `None` without any.
    pub changed: Option<(Timestamp, String)>,
    /// Time at which a member of staff first viewed it.
    pub seen_at: Option<Timestamp>,
    /// Time at which a member of staff first took it on.
    pub answered_at: Option<Timestamp>,
}

impl Default for StaffProgress {
    /// Starts as new and not viewed.
    fn default() -> Self {
        Self {
            stage: StaffStage::New,
            lost_reason: None,
            owner: None,
            next_step: None,
            handled_by: None,
            changed: None,
            seen_at: None,
            answered_at: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(seq: i64, actor: &str, previous: &Sha256Hash) -> AuditEntry {
        let said = NewAuditEntry {
            chain: "larkspur".into(),
            at: Timestamp::UNIX_EPOCH,
            actor: actor.into(),
            action: AuditAction::LeadSeen,
            subject: Some("lead_1".into()),
            detail: None,
        };
        let hash = said.hash(seq, previous);
        AuditEntry { seq, said, hash }
    }

    fn check(entries: &[AuditEntry]) -> Vec<i64> {
        let mut check = RecordCheck::new("larkspur".into());
        entries.iter().for_each(|entry| check.take(entry));
        check.faults
    }

    #[test]
    fn what_was_changed_or_taken_out_shows() {
        let first = entry(1, "ada", &START);
        let second = entry(2, "grace", &first.hash);
        let third = entry(3, "ada", &second.hash);
        assert!(check(&[first.clone(), second.clone(), third.clone()]).is_empty());
        assert_eq!(check(&[first.clone(), third.clone()]), [3], "one is missing");
        let mut other = second.clone();
        other.said.actor = "ada".into();
        assert_eq!(check(&[first.clone(), other, third]), [2], "one was changed");
        let mut moved = second;
        moved.said.subject = None;
        moved.said.detail = Some("lead_1".into());
        assert_eq!(check(&[first, moved]), [2], "where something stands counts");
    }
}
