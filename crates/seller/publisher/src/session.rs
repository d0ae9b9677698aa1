//! Sponsored conversations, as stored: their status and their offering. Nothing is stored of what people say
//! in them, or of who they are.

use jiff::{SignedDuration, Timestamp};

use crate::store::kept;

/// Time of silence of the host after which a conversation expires.
pub const LIFE: SignedDuration = SignedDuration::from_mins(30);

kept! {
    /// A conversation. Its id is that of its record.
    pub struct SponsoredSession: Session {
        /// Its id.
        session_id: String,
        /// Status of the conversation.
        status: SessionStatus,
        /// Offering that it is about, if any.
        offering_id?: Option<String>,
        /// Number of times that the host has spoken.
        turns: u32,
        /// Time at which the host spoke last.
        spoken_at: Timestamp,
        /// Reason for its end.
        reason?: Option<String>,
    }
}

tradepost_document::words! {
    /// Status of a conversation (`si-session-status`).
    pub enum SessionStatus {
        /// Under way.
        Active = "active",
        /// The host is to take the person to the checkout.
        PendingHandoff = "pending_handoff",
        /// Ended, with its aim reached.
        Complete = "complete",
        /// Ended before that.
        Terminated = "terminated",
    }
}

impl SessionStatus {
    /// Returns true for a final status.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Complete | Self::Terminated)
    }
}

impl SponsoredSession {
    /// Returns true if the host has been silent for too long. A conversation that has ended does not expire,
    /// so that it can still be told from one that never existed.
    #[must_use]
    pub fn is_expired(&self, now: Timestamp) -> bool {
        !self.status.is_terminal() && now.duration_since(self.spoken_at) > LIFE
    }
}
