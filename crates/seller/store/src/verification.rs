//! Compares stored data with the audit log, and decrypts everything that is encrypted.

use tradepost_document::fault::InternalError;

use super::Store;

/// Result of comparing the notes on leads with their entries in the audit log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NoteCheck {
    /// Number of notes that match their entries.
    pub verified: u64,
    /// Number of notes from before entries had their hash: a change of them cannot be detected.
    pub unverified: u64,
    /// Faults, lead by lead.
    pub faults: Vec<NoteFault>,
}

/// Note, or entry about one, that does not match.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NoteFault {
    /// The lead.
    pub lead_id: String,
    /// Kind of the fault.
    pub kind: NoteFaultKind,
}

/// Kind of fault of a note.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoteFaultKind {
    /// No entry of the audit log is about a note with this content on this lead.
    Unexplained {
        /// Author that the note names.
        author: String,
    },
    /// An entry of the audit log is about a note that is missing or was changed.
    Missing {
        /// Chain of the entry.
        chain: String,
        /// Number of the entry.
        seq: i64,
    },
    /// Note that cannot be decrypted.
    Unreadable,
}

impl NoteFaultKind {
    /// Describes the fault, for people.
    #[must_use]
    pub fn summary(&self) -> String {
        match self {
            Self::Unexplained { author } => format!(
                "a note by {author} has no entry in the record: it was forged, changed, or moved here \
                 from another lead"
            ),
            Self::Missing { chain, seq } => {
                format!("the note of entry {seq} of {chain} was removed or changed")
            }
            Self::Unreadable => {
                "a note does not open: it was changed, or moved here from another lead".to_owned()
            }
        }
    }
}

/// Result of comparing the staff members with the audit log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StaffCheck {
    /// Number of members.
    pub members: u64,
    /// Number of passwords from before entries named them: a change of them cannot be detected.
    pub unverified_passwords: u64,
    /// Faults, member by member.
    pub faults: Vec<StaffFault>,
}

/// Staff member that differs from the audit log.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct StaffFault {
    /// The member's name.
    pub name: String,
    /// Kind of the fault.
    pub kind: StaffFaultKind,
}

/// Kind of fault of a staff member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StaffFaultKind {
    /// No entry adds them.
    NotAdded,
    /// They are missing, and no entry removes them.
    NotRemoved,
    /// Their role is not the recorded one.
    OtherRole,
    /// Their dealer is not the recorded one.
    OtherDealer,
    /// Their password is not the last recorded one.
    OtherPassword,
}

impl StaffFaultKind {
    /// Describes the fault, for people.
    #[must_use]
    pub const fn summary(self) -> &'static str {
        match self {
            Self::NotAdded => "may come in, and no entry of the record lets them in",
            Self::NotRemoved => "is gone, and no entry of the record removes them",
            Self::OtherRole => "has another role than the record says",
            Self::OtherDealer => "belongs to another dealer than the record says",
            Self::OtherPassword => "has a password that no entry of the record sets",
        }
    }
}

/// Result of decrypting everything that is encrypted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SealedCheck {
    /// Number of rows that were decrypted.
    pub opened: u64,
    /// Rows that could not be decrypted.
    pub faults: Vec<Unreadable>,
}

/// A row that cannot be decrypted any more.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unreadable {
    /// Its table.
    pub table: &'static str,
    /// The lead or the member that it belongs to, where that is known.
    pub owner: Option<RowOwner>,
}

/// What an encrypted row belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowOwner {
    /// A lead, by its id.
    Lead(String),
    /// A staff member, by the name.
    Member(String),
}

impl Unreadable {
    /// Creates a row of a lead, or of one that is not known.
    pub(crate) fn from_lead(table: &'static str, lead: Option<String>) -> Self {
        Self { table, owner: lead.map(RowOwner::Lead) }
    }

    /// Creates the row of a member's second factor.
    pub(crate) const fn from_second_factor(name: String) -> Self {
        Self { table: "second_factors", owner: Some(RowOwner::Member(name)) }
    }

    /// Returns the lead, where the row belongs to one that is known.
    #[must_use]
    pub fn lead(&self) -> Option<&str> {
        match &self.owner {
            Some(RowOwner::Lead(lead)) => Some(lead),
            Some(RowOwner::Member(_)) | None => None,
        }
    }

    /// Returns the staff member that the row belongs to.
    #[must_use]
    pub fn member(&self) -> Option<&str> {
        match &self.owner {
            Some(RowOwner::Member(name)) => Some(name),
            Some(RowOwner::Lead(_)) | None => None,
        }
    }
}

impl Store {
    /// Compares the notes on leads with the audit log.
    ///
    /// # Errors
    /// When the database fails, or notes are encrypted and no key was given.
    pub fn check_notes(&self) -> Result<NoteCheck, InternalError> {
        self.read(|db| db.check_notes())
    }

    /// Compares the staff members, their roles and passwords with the audit log.
    ///
    /// # Errors
    /// When the database fails.
    pub fn check_staff(&self) -> Result<StaffCheck, InternalError> {
        self.read(|db| db.check_staff())
    }

    /// Decrypts everything that is encrypted in leads, evidence of consents, stored replies and second factors. Notes
    /// are decrypted by [`Self::check_notes`].
    ///
    /// # Errors
    /// When the database fails, or data is encrypted and no key was given.
    pub fn check_sealed(&self) -> Result<SealedCheck, InternalError> {
        self.read(|db| db.check_sealed())
    }
}
