//! Compares what is kept with the record of what people did, and opens everything that is sealed.

use tradepost_wire::fault::InternalError;

use super::Store;
use super::tables::privacy::Unreadable;

/// Result of comparing the notes about leads with their entries in the record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NoteCheck {
    /// Number of notes that are what their entries say.
    pub verified: u64,
    /// Number of notes that were written before entries had their hash: a change of them does not show.
    pub unverified: u64,
    /// What does not fit, lead by lead.
    pub faults: Vec<NoteFault>,
}

/// A note, or the entry of one, that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NoteFault {
    /// The lead.
    pub lead_id: String,
    /// What is wrong.
    pub kind: NoteFaultKind,
}

/// What is wrong with a note.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoteFaultKind {
    /// No entry of the record is about a note with this content at this lead.
    Unexplained {
        /// Who is said to have written it.
        author: String,
    },
    /// An entry of the record is about a note that is not there as it was written.
    Missing {
        /// The record, and the number of the entry in it.
        chain: String,
        /// Number of the entry.
        seq: i64,
    },
    /// It does not open.
    Unreadable,
}

impl NoteFaultKind {
    /// Says what is wrong, for people.
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

/// Result of comparing the members of the staff with the record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StaffCheck {
    /// Number of members.
    pub members: u64,
    /// Number of passwords that were set before entries named them: a change of them does not show.
    pub unverified_passwords: u64,
    /// What does not fit, member by member.
    pub faults: Vec<StaffFault>,
}

/// A member of the staff who is not what the record says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct StaffFault {
    /// The member's name.
    pub name: String,
    /// What is wrong.
    pub kind: StaffFaultKind,
}

/// What is wrong with a member of the staff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StaffFaultKind {
    /// No entry lets them in.
    NotAdded,
    /// No entry shuts them out, and they are gone.
    NotRemoved,
    /// The role is not the one that was given.
    OtherRole,
    /// The dealer is not the one for whom they were let in.
    OtherDealer,
    /// The password is not the one that was set last.
    OtherPassword,
}

impl StaffFaultKind {
    /// Says what is wrong, for people.
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

/// Result of opening everything that is sealed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SealedCheck {
    /// Number of rows that opened.
    pub opened: u64,
    /// The rows that did not, each with its table and its lead, where that is known.
    pub faults: Vec<Unreadable>,
}

impl Store {
    /// Compares the notes about leads with the record.
    ///
    /// # Errors
    /// When the database fails, or notes are sealed and no key was given.
    pub fn check_notes(&self) -> Result<NoteCheck, InternalError> {
        self.read(|db| db.check_notes())
    }

    /// Compares the members of the staff, their roles and passwords with the record.
    ///
    /// # Errors
    /// When the database fails.
    pub fn check_staff(&self) -> Result<StaffCheck, InternalError> {
        self.read(|db| db.check_staff())
    }

    /// Opens everything that is sealed in leads, evidence of consents and remembered answers. Notes are
    /// opened by [`Self::check_notes`].
    ///
    /// # Errors
    /// When the database fails, or something is sealed and no key was given.
    pub fn check_sealed(&self) -> Result<SealedCheck, InternalError> {
        self.read(|db| db.check_sealed())
    }
}
