//! Requests in doubt at the end: leads, messages to an agent, and tasks that change something, which may have arrived
//! and had no final answer.

use tradepost_aap::AapCode;
use tradepost_adcp::error::{AdcpCode as TaskCode, RecoveryRule};
use tradepost_document::catalog::Vocabulary as _;

use super::BuyerIntent;
use crate::reply::BuyerReply;
use crate::sent::Digest;

/// Lead, message to an agent, or task in doubt: the buyer cannot know whether the seller has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownResult {
    /// Number of its last exchange.
    pub exchange: u64,
    /// Digest that the attempts of one intent share.
    pub intent: Digest,
    /// Number of attempts.
    pub attempts: u32,
    /// True when it had an idempotency key or a message id, by which it could be recognised.
    pub keyed: bool,
    /// True when the seller has it, which the buyer does not know.
    pub taken: bool,
}

impl UnknownResult {
    pub(super) fn new(digest: Digest, intent: &BuyerIntent) -> Self {
        Self {
            exchange: intent.number,
            intent: digest,
            attempts: intent.attempts,
            keyed: intent.key.is_some(),
            taken: intent.taken,
        }
    }
}

impl BuyerIntent {
    /// Returns true when the buyer's last reply leaves the effect in doubt.
    pub(super) fn is_in_doubt(&self) -> bool {
        match &self.reply {
            // No answer came, or it could not be understood.
            None | Some(BuyerReply::Nothing) => true,
            Some(BuyerReply::Success) => false,
            // Had the seller executed the request, it would have repeated the receipt.
            Some(BuyerReply::Refusal { code, retryable: false, .. }) if is_about_request(code) => {
                false
            }
            // A server that fails may have executed the request before (RFC 9110 §15.6).
            Some(BuyerReply::Refusal { code, .. }) => {
                self.was_in_doubt || code.starts_with("HTTP 5")
            }
        }
    }
}

/// Returns true when a final refusal is about the lead or the task itself, and not about its caller or its key.
fn is_about_request(code: &str) -> bool {
    AapCode::from_name(code).is_some_and(|code| code != AapCode::IdempotencyConflict)
        || TaskCode::from_name(code).is_some_and(|code| code.rule() == RecoveryRule::Class)
}
