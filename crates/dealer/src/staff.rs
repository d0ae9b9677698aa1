//! The dealer's people: what each of them is for, how far they are with a lead, and the record of what
//! they have seen and done.
//!
//! The record is a chain as that of consents is: the hash of each entry covers that of the one before,
//! so none can be changed or taken out without breaking all that follow. An entry names a lead by its id
//! and holds nothing of a customer, so it can stay when the customer is erased.

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::words;

use crate::consent::{Hash, START, add_texts, from_hex, hex};

words! {
    /// What somebody is for.
    pub enum Role {
        /// Sells: sees leads and works on them.
        Desk = "desk",
        /// Answers for the desk: releases, withdraws and erases leads, too, and sees who did what.
        Manager = "manager",
        /// Sees to it that everything runs, and sees nothing of customers.
        Engineer = "engineer",
    }
}

words! {
    /// How far the dealer's people are with a lead.
    pub enum Stage {
        /// Nobody has taken it on.
        New = "new",
        /// Somebody has.
        Working = "working",
        /// The customer has bought.
        Sold = "sold",
        /// The customer has not.
        Lost = "lost",
    }
}

words! {
    /// What somebody has done.
    pub enum Action {
        /// Came in.
        SignedIn = "signed_in",
        /// Left.
        SignedOut = "signed_out",
        /// Ended a session, of themselves or of somebody else.
        SessionEnded = "session_ended",
        /// Was shown a lead.
        LeadSeen = "lead_seen",
        /// Wrote a note about a lead; the detail is the hash of the note.
        NoteAdded = "note_added",
        /// Said how far they are with a lead.
        StageChanged = "stage_changed",
        /// Had a lead delivered again.
        LeadResent = "lead_resent",
        /// Released a lead that was held back.
        LeadReleased = "lead_released",
        /// Noted that the customer has withdrawn the consent.
        ConsentRevoked = "consent_revoked",
        /// Erased what a lead said about its customer.
        LeadErased = "lead_erased",
        /// Agreed on a time for an appointment.
        AppointmentConfirmed = "appointment_confirmed",
        /// Moved an appointment to another time.
        AppointmentMoved = "appointment_moved",
        /// Cancelled an appointment.
        AppointmentCancelled = "appointment_cancelled",
        /// Noted that a customer did not come to an appointment.
        AppointmentNoShow = "appointment_no_show",
        /// Blocked a time of a department, so that nobody can book it.
        TimeBlocked = "time_blocked",
        /// Took a blocked time back.
        TimeUnblocked = "time_unblocked",
        /// Was shown a list of leads.
        LeadsListed = "leads_listed",
        /// Took a lead away in a file.
        LeadExported = "lead_exported",
        /// Took the evidence of a lead's consent away; the detail is the hash of the file's content.
        EvidenceTaken = "evidence_taken",
        /// Brought a lead to a destination, which took it.
        LeadDelivered = "lead_delivered",
        /// Had the prober look at an agent.
        AgentProbed = "agent_probed",
        /// Had everything personal encrypted by another key.
        KeyChanged = "key_changed",
        /// Gave up a key that was lost, with everything that it alone could read.
        KeyForgotten = "key_forgotten",
        /// Took a record away in a file.
        RecordExported = "record_exported",
        /// Let somebody in from now on; the detail is the role, and a hash of the kept password.
        MemberAdded = "member_added",
        /// Gave somebody another password; the detail is a hash of the kept password.
        PasswordSet = "password_set",
        /// Lets somebody in no more.
        MemberRemoved = "member_removed",
        /// Could not sign in, or not prove the own password: the subject is the name that was tried,
        /// where somebody has it.
        SignInFailed = "sign_in_failed",
        /// Failed so often that no more attempts are taken for a while.
        SignInLocked = "sign_in_locked",
        /// Asked for something that the role does not permit.
        AccessRefused = "access_refused",
        /// Gave the own password again before something that needs it.
        IdentityConfirmed = "identity_confirmed",
        /// Switched the own second factor on.
        SecondFactorSet = "second_factor_set",
        /// Switched the own second factor off.
        SecondFactorRemoved = "second_factor_removed",
        /// Took the second factor from somebody else, who sets up another.
        SecondFactorReset = "second_factor_reset",
        /// Made new recovery codes.
        RecoveryCodesMade = "recovery_codes_made",
        /// Signed in with a recovery code.
        RecoveryCodeUsed = "recovery_code_used",
    }
}

/// Something that is to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEntry {
    /// Whose record: a dealer's; `*` for what concerns all dealers of a process. No dealer's id is
    /// that.
    pub chain: String,
    /// When, to the millisecond.
    pub at: Timestamp,
    /// Who: a member's name, `cli:` with a user of the machine, or a part of the server itself.
    pub actor: String,
    /// What.
    pub action: Action,
    /// With what: a lead's id, a session's, a member's name.
    pub subject: Option<String>,
    /// More about it, in our words.
    pub detail: Option<String>,
}

/// The record of what concerns all dealers of a process.
pub const EVERYBODY: &str = "*";

/// Who erases leads that were kept long enough.
pub const RETENTION: &str = "retention";

/// Who brings leads to their destinations.
pub const DELIVERY: &str = "delivery";

/// Who records that somebody could not sign in: nobody knows who it was.
pub const SIGN_IN: &str = "sign-in";

impl NewEntry {
    /// The hash of the entry with this number after the one with the hash `previous`.
    #[must_use]
    pub fn hash(&self, seq: i64, previous: &Hash) -> Hash {
        let mut hasher = Sha256::new();
        // What it is and in which version: nothing else that is hashed begins so.
        hasher.update(b"tradepost audit entry 1\n");
        let (seq, at) = (seq.to_string(), self.at.as_millisecond().to_string());
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

/// An entry as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its number in its record, from 1, without a gap.
    pub seq: i64,
    /// What it says.
    pub said: NewEntry,
    /// Its hash.
    pub hash: Hash,
}

/// What looking through a record has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordCheck {
    /// Whose record.
    pub chain: String,
    /// How many entries it has.
    pub entries: usize,
    /// The hash of the last one.
    pub head: Hash,
    /// The entries that were changed, or before which one is missing.
    pub faults: Vec<i64>,
}

impl RecordCheck {
    /// For a record of which nothing has been seen.
    #[must_use]
    pub fn new(chain: String) -> Self {
        Self { chain, entries: 0, head: START, faults: Vec::new() }
    }

    /// Takes the next entry.
    pub fn take(&mut self, entry: &Entry) {
        self.entries += 1;
        let expected = i64::try_from(self.entries).unwrap_or(i64::MAX);
        let is_whole =
            entry.seq == expected && entry.said.hash(entry.seq, &self.head) == entry.hash;
        if !is_whole {
            self.faults.push(entry.seq);
        }
        // Of what is stored: an entry that was changed is one fault, and
        // not one for each that follows.
        self.head = entry.hash;
    }

    /// Takes an entry that cannot be read, with its number and its hash.
    pub fn take_unread(&mut self, seq: i64, hash: Hash) {
        self.entries += 1;
        self.faults.push(seq);
        self.head = hash;
    }
}

/// A remark of the dealer's people about a lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// When it was written.
    pub at: Timestamp,
    /// By whom.
    pub author: String,
    /// What it says; `None` where that cannot be read any more.
    pub text: Option<String>,
}

impl Note {
    /// Returns the hash of the note of a lead, which its entry in the record has; `None` where the text
    /// cannot be read. The salt is kept with the note and goes with it: without it short texts could be
    /// tried against the hash, which stays.
    #[must_use]
    pub fn digest(&self, dealer_id: &str, lead_id: &str, salt: &str) -> Option<Hash> {
        let text = self.text.as_deref()?;
        let mut hasher = Sha256::new();
        hasher.update(b"tradepost lead note 1\n");
        let at = self.at.as_millisecond().to_string();
        add_texts(&mut hasher, &[salt, dealer_id, lead_id, &at, &self.author, text]);
        Some(hasher.finalize().into())
    }
}

/// Begins the detail of an entry about a note, before the note's hash.
const NOTE_MARK: &str = "sha256:";

/// Begins the word of an entry's detail that tells one password from another.
const PASSWORD_MARK: &str = "password:";

/// Writes the detail of an entry about a note with this hash.
#[must_use]
pub fn note_detail(digest: &Hash) -> String {
    format!("{NOTE_MARK}{}", hex(digest))
}

/// Reads the hash of a note from the detail of its entry; `None` for entries that were written before
/// they had one.
#[must_use]
pub fn note_digest_of(detail: Option<&str>) -> Option<Hash> {
    from_hex(detail?.strip_prefix(NOTE_MARK)?)
}

/// Writes the detail of an entry about somebody whose role or password was set. `password` is what is kept
/// of it, a salted hash; the detail has a hash of that, by which another password shows.
#[must_use]
pub fn member_detail(role: Option<Role>, password: &str) -> String {
    let print = format!("{PASSWORD_MARK}{}", password_print(password));
    role.map_or_else(|| print.clone(), |role| format!("{} {print}", role.name()))
}

/// Returns the hash by which one kept password is told from another: 32 hexadecimal digits.
#[must_use]
pub fn password_print(password: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update(b"tradepost kept password 1\n");
    hasher.update(password);
    let digest: Hash = hasher.finalize().into();
    hex(&digest).chars().take(32).collect()
}

/// What the detail of an entry says about somebody.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberDetail {
    /// Their role, where it was set.
    pub role: Option<Role>,
    /// The hash of the kept password, where it was set and is named.
    pub password_print: Option<String>,
}

impl MemberDetail {
    /// Reads the detail of an entry that lets somebody in or sets a password.
    #[must_use]
    pub fn parse(detail: Option<&str>) -> Self {
        let mut parsed = Self::default();
        for word in detail.unwrap_or_default().split_whitespace() {
            match word.strip_prefix(PASSWORD_MARK) {
                Some(print) => parsed.password_print = Some(print.to_owned()),
                None => parsed.role = Role::from_name(word),
            }
        }
        parsed
    }
}

/// Returns the detail of an entry as people read it: without the hashes, which are for programs.
#[must_use]
pub fn readable_detail(detail: &str) -> Option<String> {
    let is_hash = |word: &str| word.starts_with(NOTE_MARK) || word.starts_with(PASSWORD_MARK);
    let is_marked = detail.split_whitespace().any(is_hash);
    if !is_marked {
        return Some(detail.to_owned());
    }
    let words: Vec<&str> = detail.split_whitespace().filter(|word| !is_hash(word)).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// How the dealer's people stand with a lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// How far they are.
    pub stage: Stage,
    /// Since when, and who said so; `None` while nobody has.
    pub changed: Option<(Timestamp, String)>,
    /// When somebody of them first saw it.
    pub seen_at: Option<Timestamp>,
    /// When somebody of them first took it on.
    pub answered_at: Option<Timestamp>,
}

impl Default for Progress {
    /// Nobody has looked at it.
    fn default() -> Self {
        Self { stage: Stage::New, changed: None, seen_at: None, answered_at: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(seq: i64, actor: &str, previous: &Hash) -> Entry {
        let said = NewEntry {
            chain: "larkspur".into(),
            at: Timestamp::UNIX_EPOCH,
            actor: actor.into(),
            action: Action::LeadSeen,
            subject: Some("lead_1".into()),
            detail: None,
        };
        let hash = said.hash(seq, previous);
        Entry { seq, said, hash }
    }

    fn check(entries: &[Entry]) -> Vec<i64> {
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
