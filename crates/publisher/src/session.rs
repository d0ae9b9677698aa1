//! Sponsored conversations, as they are kept: how they stand, and about which offering they are. Of
//! what people say in them, and of who they are, nothing is kept.

use jiff::{SignedDuration, Timestamp};

use crate::shelf::kept;

/// After how long a conversation in which nobody speaks is over.
pub const LIFE: SignedDuration = SignedDuration::from_mins(30);

kept! {
    /// A conversation. Its id is that of its record.
    pub struct SponsoredSession: Session {
        /// Its id.
        session_id: String,
        /// How it stands.
        status: SessionStatus,
        /// The offering that it is about, when there is one.
        offering_id?: Option<String>,
        /// How often the host has spoken.
        turns: u32,
        /// When the host spoke last.
        spoken_at: Timestamp,
        /// Why it ended.
        reason?: Option<String>,
    }
}

tradepost_wire::words! {
    /// How a conversation stands (`si-session-status`).
    pub enum SessionStatus {
        /// It goes on.
        Active = "active",
        /// The host is to take the person to the checkout.
        PendingHandoff = "pending_handoff",
        /// It came to its aim.
        Complete = "complete",
        /// It was ended before.
        Terminated = "terminated",
    }
}

impl SessionStatus {
    /// Whether nothing comes after it.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Complete | Self::Terminated)
    }
}

impl SponsoredSession {
    /// Whether nobody has spoken for too long. What has ended does not expire, so that it can still
    /// be told from what never was.
    #[must_use]
    pub fn is_expired(&self, now: Timestamp) -> bool {
        !self.status.is_terminal() && now.duration_since(self.spoken_at) > LIFE
    }
}
