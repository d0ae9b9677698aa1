//! Sponsored conversations: `si_get_offering`, `si_initiate_session`, `si_send_message`,
//! `si_terminate_session`.

use tradepost_wire::form;
use tradepost_wire::json::Value;

form! {
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

    /// Whoever speaks (`si-identity`).
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

    /// What a person did with what was shown.
    pub(crate) struct ActionResponse {
        action: Option<String>,
    }

    /// `sponsored-intelligence/si-terminate-session-request.json`.
    pub(crate) struct TerminateSession {
        session_id: String,
        reason: SessionEndReason,
    }
}

tradepost_wire::words! {
    /// Why a conversation ends.
    pub(crate) enum SessionEndReason {
        /// The person buys, at the host.
        HandoffTransaction = "handoff_transaction",
        /// The person is where they wanted to be.
        HandoffComplete = "handoff_complete",
        /// The person left.
        UserExit = "user_exit",
        /// Nobody spoke.
        SessionTimeout = "session_timeout",
        /// The host ended it.
        HostTerminated = "host_terminated",
    }
}

impl SessionEndReason {
    /// Whether the conversation came to its aim.
    pub(crate) fn is_aim(self) -> bool {
        matches!(self, Self::HandoffTransaction | Self::HandoffComplete)
    }
}
