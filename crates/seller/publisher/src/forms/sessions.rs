//! Sponsored conversations: `si_get_offering`, `si_initiate_session`, `si_send_message`,
//! `si_terminate_session`.

use tradepost_document::json::Value;
use tradepost_document::typed_struct;

typed_struct! {
    /// `sponsored-intelligence/si-get-offering-request.json`.
    pub(crate) struct GetOffering {
        offering_id: String,
        intent: Option<String>,
        include_products: bool,
        product_limit: Option<u64>,
    }

    /// `sponsored-intelligence/si-initiate-session-request.json`.
    pub(crate) struct InitiateSession {
        intent: String,
        identity: SpeakerIdentity,
        media_buy_id: Option<String>,
        offering_id: Option<String>,
    }

    /// Identity of the person who speaks (`si-identity`).
    pub(crate) struct SpeakerIdentity {
        consent_granted: bool,
        user: Option<Value>,
    }

    /// `sponsored-intelligence/si-send-message-request.json`.
    pub(crate) struct SendMessageForm {
        session_id: String,
        message: Option<String>,
        action_response: Option<ActionResponse>,
    }

    /// Reaction of the person to something that was shown.
    pub(crate) struct ActionResponse {
        action: Option<String>,
    }

    /// `sponsored-intelligence/si-terminate-session-request.json`.
    pub(crate) struct TerminateSession {
        session_id: String,
        reason: SessionEndReason,
    }
}

tradepost_document::words! {
    /// Reason for the end of a conversation.
    pub(crate) enum SessionEndReason {
        /// The person buys at the host.
        HandoffTransaction = "handoff_transaction",
        /// The person has reached their goal.
        HandoffComplete = "handoff_complete",
        /// The person left.
        UserExit = "user_exit",
        /// The conversation was idle for too long.
        SessionTimeout = "session_timeout",
        /// The host ended it.
        HostTerminated = "host_terminated",
    }
}

impl SessionEndReason {
    /// Returns true when the conversation reached its goal.
    pub(crate) fn is_aim(self) -> bool {
        matches!(self, Self::HandoffTransaction | Self::HandoffComplete)
    }
}
