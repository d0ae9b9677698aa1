//! Advice on a failure: retry, fix, ask a person, or stop.
//!
//! [`advise`] is pure: it has no clock, no sleep and no randomness, and has an advice for every failure.
//! General rules come first and specific ones override them: how far the request got, then the status of HTTP
//! or gRPC, then the row of the code's catalog, then what the seller wrote in this error. A prohibition is
//! final, whatever the seller wrote: a rejected credential is not sent again, and a write that has happened
//! is not repeated.
//!
//! A seller's text decides nothing, with the one exception of the specification: a forgotten context, which
//! costs one corrected request at most.
// X-1, Z-3

use std::time::Duration;

use tradepost_adcp::error::Recovery;
use tradepost_document::backoff::{Backoff, drawn};
use tradepost_document::json::Value;

use crate::failure::{CallFailure, KeptResponse};
use crate::refusal::{RefusalForm, SellerRefusal};

mod rules;
mod strategy;
mod wording;

use strategy::Strategy;

/// Pauses before retries when the seller names no delay.
// H-2
pub const BACKOFF: Backoff =
    Backoff { first: Duration::from_secs(2), longest: Duration::from_secs(60) };

/// Number of retries after which a missing scope counts as missing for good.
//
pub const SCOPE_RETRIES: u32 = 3;

/// Effect of sending the request twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResendEffect {
    /// No effect: the request only reads.
    #[default]
    Read,
    /// The effect of sending it once: it has an idempotency key.
    Keyed,
    /// The effect may happen twice, because there is no idempotency key.
    Unkeyed,
}

/// Facts about the request that failed, and about earlier ones of the same intent.
#[derive(Debug, Clone, Default)]
pub struct FailedAttempt {
    /// Effect of sending the request twice.
    pub effect: ResendEffect,
    /// True when the request carried a credential.
    //
    pub had_credentials: bool,
    /// True when the caller can supply a credential or renew the one it has.
    pub has_supply: bool,
    /// True when the request carried a context id.
    pub had_context: bool,
    /// True when the caller can read the card with the seller's address again.
    pub has_card: bool,
    /// Seller's host; addresses that a person is sent to must be there.
    // Z-3
    pub seller: Option<String>,
    /// Remedies that were tried.
    pub tried: Tried,
}

/// Remedies that were tried for one intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tried {
    /// Number of times that a request was sent again unchanged.
    pub retries: u32,
    /// True when a credential was supplied or renewed.
    pub credentials: bool,
    /// True when the context id was dropped.
    pub context: bool,
    /// True when the card was read again.
    pub card: bool,
    /// True when a way of billing that the seller suggested was used.
    pub billing: bool,
}

/// Budgets that are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryBudget {
    /// Number of further requests for this intent.
    pub attempts: u32,
    /// Further time for this intent.
    pub time: Duration,
    /// Number of further retries for this seller, over all intents.
    pub tokens: u32,
}

/// Advice on a failure.
#[derive(Debug, Clone, PartialEq)]
pub enum RecoveryAdvice {
    /// Send the same request again, with the same idempotency key.
    Retry(Retry),
    /// Send another request, with a fresh idempotency key.
    Fix(Box<Fix>),
    /// A person has to act.
    Ask(AskReason),
    /// Nothing can be done with this seller.
    Stop(StopReason),
}

/// Pause and credential of a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// Time to wait first.
    pub wait: RetryWait,
    /// Step to take first.
    pub first: CredentialStep,
}

/// Span from which the moment of the next request is drawn at random, so that callers that failed together do
/// not come back together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RetryWait {
    /// Earliest moment.
    // H-1
    pub at_least: Duration,
    /// Latest moment.
    pub at_most: Duration,
}

/// Step before a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialStep {
    /// Nothing.
    Nothing,
    /// Supply a credential, because there was none.
    //
    Supply,
    /// Renew the token.
    //
    Renew,
    /// Read the card again, because the address in it does not work any more.
    ReadCard,
}

/// Correction of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Fix {
    /// Change to make.
    pub change: RequestChange,
    /// Fields at fault, in the seller's notation. For display only: never used as a path for changing a request.
    pub fields: Vec<String>,
    /// Seller's suggestion, made fit for display and bounded.
    // Z-3
    pub suggestion: Option<String>,
    /// Time to wait first.
    pub wait: RetryWait,
}

/// Change to a request.
#[derive(Debug, Clone, PartialEq)]
pub enum RequestChange {
    /// Correct the request as the fields, the issues or the suggestion say.
    Request,
    /// Leave the fields out.
    Strip,
    /// Search again, because the subject of the request does not exist, or not any more.
    SearchAgain,
    /// Read the resource again and make the change to its present state.
    Reread,
    /// Find out whether the first request succeeded; only if not, send it with a fresh key.
    Reconcile,
    /// The key belongs to another request: use a fresh one.
    NewKey,
    /// Leave the context id out.
    DropContext,
    /// Get a governance token.
    Token,
    /// Use this way of billing.
    Billing(String),
    /// Use another way of billing, or none.
    OtherBilling,
    /// Use one of these versions.
    Versions(Vec<String>),
    /// Use this account, as the seller wrote it.
    Account(Value),
}

/// Reason why a person has to act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskReason {
    /// The seller says that only a person can help.
    Terminal,
    /// The request may have had an effect, and repeating it might have the effect twice.
    InDoubt,
    /// The seller does not promise to recognise the key of the request, or not for that long.
    Unpromised,
    /// There is no credential to send.
    CredentialsMissing,
    /// The credential was rejected.
    CredentialsRejected,
    /// The arguments contain credentials, which may have been logged; at these places, when known.
    CredentialInArguments(Vec<String>),
    /// The caller has no permission.
    Permission,
    /// The scope is missing, and was still missing after this many retries.
    Scope(u32),
    /// The seller's relationship with this agent does not permit it.
    AgentGate,
    /// The seller is misconfigured.
    SellerMisconfigured,
    /// The seller's answer or data is wrong.
    SellerDefect,
    /// The error is a note rather than a failure.
    Advisory,
    /// The seller repeatedly limits the rate of requests.
    Throttled,
    /// This budget is spent.
    Spent(Spent),
    /// The caller stopped.
    Stopped,
    /// No way of billing is left that the seller accepts.
    Billing,
    /// The account has to be set up, at this address if the seller gave a safe one.
    Setup(Option<String>),
    /// A person has to agree to something or connect something.
    Agreement,
    /// The user has to consent.
    Consent,
    /// The user has to choose another time.
    OtherTime,
    /// The request is still being processed, and the seller does not say when to come back.
    InFlight,
    /// The write has happened.
    Done,
    /// The seller says that retrying does not help.
    NotRetryable,
    /// The meaning of the failure is not known.
    Unclear,
}

/// Budget that is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spent {
    /// Number of requests.
    Attempts,
    /// Time: the next request may come after this long at the earliest.
    Time(Duration),
    /// Retries of the seller, over all intents.
    Tokens,
}

/// Reason why nothing can be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The address cannot be used.
    Address,
    /// No agent of a supported protocol answers at the address.
    NoAgent,
    /// The seller does not offer this.
    NotOffered,
    /// The seller's certificate is not trusted.
    Certificate,
    /// The proxy does not connect to the seller.
    Proxy,
    /// This machine cannot send.
    Local,
    /// The subject of the request has ended.
    Final,
}

impl FailedAttempt {
    /// Creates the first attempt at a seller with this host.
    #[must_use]
    pub fn with_host(host: Option<&str>, effect: ResendEffect, had_credentials: bool) -> Self {
        let seller = host.map(ToOwned::to_owned);
        Self { effect, had_credentials, seller, ..Self::default() }
    }
}

impl RecoveryAdvice {
    /// Returns the advice in one word: `retry`, `fix`, `ask` or `stop`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Retry(_) => "retry",
            Self::Fix(_) => "fix",
            Self::Ask(_) => "ask",
            Self::Stop(_) => "stop",
        }
    }
}

impl RetryWait {
    /// Returns the wait for a draw between 0 and 1; another draw counts as the nearer bound.
    #[must_use]
    pub fn drawn(self, draw: f64) -> Duration {
        drawn(self.at_least, self.at_most, draw)
    }

    /// Ends the span at the time that is left, but not before its beginning.
    fn within(self, time: Duration) -> Self {
        Self { at_most: self.at_most.min(time).max(self.at_least), ..self }
    }

    /// Creates the span for a seller's delay: at least the delay, and up to a quarter more.
    // H-1, E-2
    fn from_delay(delay: Duration) -> Self {
        let at_least = delay.max(Duration::from_secs(1));
        Self { at_least, at_most: at_least + at_least / 4 }
    }

    /// Creates the span without a seller's delay: the backoff plus or minus a quarter, at most its longest
    /// pause.
    // H-2
    fn backoff(retries: u32) -> Self {
        let middle = BACKOFF.pause(retries);
        Self { at_least: middle - middle / 4, at_most: (middle + middle / 4).min(BACKOFF.longest) }
    }
}

/// Returns the advice on the failure of an attempt, with these budgets left.
#[must_use]
pub fn advise(
    attempt: &FailedAttempt,
    failure: &CallFailure,
    budget: &RetryBudget,
) -> RecoveryAdvice {
    match strategy::choose(attempt, failure) {
        Strategy::Again { pace, first } => {
            // Before the budgets, because no retry is safe, however many are left.
            if attempt.effect == ResendEffect::Unkeyed && failure.in_doubt() {
                return RecoveryAdvice::Ask(AskReason::InDoubt);
            }
            strategy::retry(pace, first, attempt, failure, budget)
        }
        Strategy::Fix { change, fields, suggestion } => {
            let wait = match change {
                // The only correction of a transient failure, which other callers have at the same time.
                RequestChange::Reread => strategy::pause(attempt, failure).within(budget.time),
                RequestChange::Request
                | RequestChange::Strip
                | RequestChange::SearchAgain
                | RequestChange::Reconcile
                | RequestChange::NewKey
                | RequestChange::DropContext
                | RequestChange::Token
                | RequestChange::Billing(_)
                | RequestChange::OtherBilling
                | RequestChange::Versions(_)
                | RequestChange::Account(_) => RetryWait::default(),
            };
            RecoveryAdvice::Fix(Box::new(Fix { change, fields, suggestion, wait }))
        }
        Strategy::Ask(why) => RecoveryAdvice::Ask(why),
        Strategy::Stop(end) => RecoveryAdvice::Stop(end),
    }
}

/// Returns the recovery class of a failure, in AdCP's words for all protocols: that of AdCP's error, else what the
/// rules say of the same request, whatever the budgets.
#[must_use]
pub fn class(attempt: &FailedAttempt, failure: &CallFailure) -> Recovery {
    if let Some(error) = failure.adcp() {
        return error.class();
    }
    match strategy::choose(attempt, failure) {
        Strategy::Again { .. } => Recovery::Transient,
        // Another request may succeed, once its user has said something or a credential is there.
        Strategy::Fix { .. }
        | Strategy::Ask(
            AskReason::Consent | AskReason::OtherTime | AskReason::CredentialsMissing,
        ) => Recovery::Correctable,
        Strategy::Ask(_) | Strategy::Stop(_) => Recovery::Terminal,
    }
}

/// Returns the advice for an error without details, at the first attempt of a request that only reads and
/// carried no credential: the general meaning of a code.
#[must_use]
pub fn in_general(by: RefusalForm) -> RecoveryAdvice {
    let refused = SellerRefusal { retry_after: None, by, kept: KeptResponse::default() };
    let budget = RetryBudget { attempts: 3, time: Duration::from_secs(300), tokens: 10 };
    advise(&FailedAttempt::default(), &CallFailure::Refused(Box::new(refused)), &budget)
}

/// Checks the arguments of an AdCP task before sending: they must not contain a credential.
///
/// # Errors
/// The advice, when they contain one.
//
pub fn preflight(arguments: &Value) -> Result<(), RecoveryAdvice> {
    let found = tradepost_adcp::credentials::find(arguments);
    if found.is_empty() {
        return Ok(());
    }
    Err(RecoveryAdvice::Ask(AskReason::CredentialInArguments(found)))
}

#[cfg(test)]
mod tests;
