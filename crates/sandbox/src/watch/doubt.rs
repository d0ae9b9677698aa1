//! How a buyer ended: leads, messages to an agent, and tasks that change something, that may have arrived
//! and about which nothing final was said.

use tradepost_wire::aap::AapCode;
use tradepost_wire::adcp::error::{AdcpCode as TaskCode, RecoveryRule};
use tradepost_wire::catalog::Vocabulary as _;

use super::BuyerIntent;
use crate::reply::BuyerReply;
use crate::sent::Digest;

/// A lead, a message to an agent, or a task, of which its buyer cannot know whether the seller has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownResult {
    /// Its last exchange.
    pub exchange: u64,
    /// What tells its attempts from those of other intents.
    pub intent: Digest,
    /// How often it was sent.
    pub attempts: u32,
    /// Whether it had an idempotency key, or a message's id, by which it could be known again.
    pub keyed: bool,
    /// What the buyer does not know: whether the seller has it.
    pub taken: bool,
}

impl UnknownResult {
    pub(super) fn of(digest: Digest, intent: &BuyerIntent) -> Self {
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
    /// Whether what its buyer was told leaves open what the dealer has done.
    pub(super) fn is_open(&self) -> bool {
        match &self.reply {
            // An answer that never came, or that made no sense.
            None | Some(BuyerReply::Nothing) => true,
            Some(BuyerReply::Success) => false,
            // A dealer who had taken it would have repeated the receipt.
            Some(BuyerReply::Refusal { code, retryable: false, .. }) if settles(code) => false,
            // Whoever fails in the middle may have done it before (RFC 9110 §15.6).
            Some(BuyerReply::Refusal { code, .. }) => self.was_open || code.starts_with("HTTP 5"),
        }
    }
}

/// Whether a refusal for good is one of the lead or the task itself, and not of its caller or its key.
fn settles(code: &str) -> bool {
    AapCode::from_name(code).is_some_and(|code| code != AapCode::IdempotencyConflict)
        || TaskCode::from_name(code).is_some_and(|code| code.rule() == RecoveryRule::Class)
}
