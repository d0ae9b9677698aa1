//! What to do about a failure: retry, fix, ask a person, or stop.
//!
//! [`advise`] is pure: it has no clock, no sleep and no randomness, and answers for every failure.
//! Large nets come first and small nets override them: how far the request got, then the status of
//! HTTP or gRPC, then the row of the code's catalog, then what the seller wrote in this error. What
//! a rule forbids ends it, whatever the seller wrote: a credential that was rejected is not
//! presented again, and a write that has happened is not repeated.
//!
//! Text of a seller decides nothing, with the one exception that the specification
//! makes: a forgotten context, which costs one corrected request at most.
// X-1, Z-3

use std::time::Duration;

use reqwest::Url;
use tradepost_wire::backoff::{Backoff, drawn};
use tradepost_wire::json::Value;

use crate::failure::{CallFailure, KeptResponse};
use crate::refusal::{RefusalForm, SellerRefusal};

mod course;
mod rules;
mod words;

use course::Strategy;

/// The pauses before retries that nobody asked for.
// H-2
pub const BACKOFF: Backoff =
    Backoff { first: Duration::from_secs(2), longest: Duration::from_secs(60) };

/// How often a scope is asked for again before it counts as missing.
//
pub const SCOPE_RETRIES: u32 = 3;

/// What may happen when the request is sent twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResendEffect {
    /// Nothing: it only reads.
    #[default]
    Read,
    /// Nothing more than when it is sent once: it has an idempotency key.
    Keyed,
    /// Something twice.
    Unkeyed,
}

/// What is known of the request that failed, and of those before it with the same intent.
#[derive(Debug, Clone, Default)]
pub struct FailedAttempt {
    /// What may happen when it is sent twice.
    pub effect: ResendEffect,
    /// Whether it carried a credential.
    //
    pub had_credentials: bool,
    /// Whether the caller can supply a credential or renew the one it has.
    pub has_supply: bool,
    /// Whether it carried a context id.
    pub had_context: bool,
    /// Whether the caller can read the card again that its address came from.
    pub has_card: bool,
    /// The seller's host: addresses that it wants people to visit must be there.
    // Z-3
    pub seller: Option<String>,
    /// What has been tried.
    pub tried: Tried,
}

/// What has been tried for one intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tried {
    /// How often a request has been sent again unchanged.
    pub retries: u32,
    /// Whether a credential was supplied or renewed on the way.
    pub credentials: bool,
    /// Whether the context was left behind.
    pub context: bool,
    /// Whether the card was read again.
    pub card: bool,
    /// Whether a way of billing that the seller suggested was taken.
    pub billing: bool,
}

/// What is left to be spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryBudget {
    /// How many more requests for this intent.
    pub attempts: u32,
    /// How much more time for this intent.
    pub time: Duration,
    /// How many more retries for this seller, whatever the intent.
    pub tokens: u32,
}

/// What to do.
#[derive(Debug, Clone, PartialEq)]
pub enum RecoveryAdvice {
    /// Send the same request again, with the same idempotency key.
    Retry(Retry),
    /// Send another request, with a fresh idempotency key.
    Fix(Box<Fix>),
    /// A person has to act.
    Ask(AskReason),
    /// There is nothing to be done with this seller.
    Stop(StopReason),
}

/// How to retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// How long to wait first.
    pub wait: RetryWait,
    /// What to do about the credential first.
    pub first: CredentialStep,
}

/// A span in which the moment of the next request is to be chosen at random, so that callers who
/// failed together do not come back together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RetryWait {
    /// Never earlier.
    // H-1
    pub at_least: Duration,
    /// Not later.
    pub at_most: Duration,
}

/// What comes before a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialStep {
    /// Nothing.
    Nothing,
    /// A credential has to be supplied: there was none.
    //
    Supply,
    /// The token has to be renewed.
    //
    Renew,
    /// The card has to be read again: nobody answers where it said.
    ReadCard,
}

/// How to fix.
#[derive(Debug, Clone, PartialEq)]
pub struct Fix {
    /// What to change.
    pub change: RequestChange,
    /// The fields at fault, in the seller's notation. For display: never a path by which to
    /// change a request.
    pub fields: Vec<String>,
    /// What the seller suggests, made fit for display and bounded.
    // Z-3
    pub suggestion: Option<String>,
    /// How long to wait first.
    pub wait: RetryWait,
}

/// What to change in a request.
#[derive(Debug, Clone, PartialEq)]
pub enum RequestChange {
    /// What the fields, the issues or the suggestion say.
    Request,
    /// Leave the fields out.
    Strip,
    /// Search again: what the request is about is not there, or not any more.
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
    /// This way of billing.
    Billing(String),
    /// Another way of billing, or none.
    OtherBilling,
    /// One of these versions.
    Versions(Vec<String>),
    /// This account, as the seller wrote it.
    Account(Value),
}

/// Why a person has to act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskReason {
    /// The seller says that only a person can.
    Terminal,
    /// Nobody knows whether the request had an effect, and repeating it might have it twice.
    InDoubt,
    /// The seller does not promise to know the request again by its key, or not for so long.
    Unpromised,
    /// There is no credential to send.
    CredentialsMissing,
    /// The credential was rejected.
    CredentialsRejected,
    /// Credentials stand in the arguments; they may have been logged. The places, when known.
    CredentialInArguments(Vec<String>),
    /// The caller may not do this.
    Permission,
    /// The scope is missing, and stayed so over this many retries.
    Scope(u32),
    /// The seller's relationship with this agent does not permit it.
    AgentGate,
    /// The seller is set up wrongly.
    SellerMisconfigured,
    /// The seller's answer or data is wrong.
    SellerDefect,
    /// A note rather than a failure.
    Advisory,
    /// The seller keeps saying that requests come too often.
    Throttled,
    /// The budget is spent.
    Spent(Spent),
    /// The caller stopped.
    Stopped,
    /// No way of billing is left that the seller accepts.
    Billing,
    /// The account has to be set up, at this address when the seller gave one that is safe.
    Setup(Option<String>),
    /// Somebody has to agree to something or connect something.
    Agreement,
    /// The user has to consent.
    Consent,
    /// The user has to choose another time.
    OtherTime,
    /// The request is still being worked on, and the seller does not say when to come back.
    InFlight,
    /// The write has happened.
    Done,
    /// The seller says that retrying does not help.
    NotRetryable,
    /// Nobody knows what the failure means.
    Unclear,
}

/// Which budget is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spent {
    /// That of requests.
    Attempts,
    /// That of time: the next request may come after this long.
    Time(Duration),
    /// The seller's, over all intents.
    Tokens,
}

/// Why there is nothing to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The address cannot be used.
    Address,
    /// No agent of a protocol that we speak answers there.
    NoAgent,
    /// The seller does not offer this.
    NotOffered,
    /// The seller's certificate is not to be believed.
    Certificate,
    /// The proxy lets nothing through.
    Proxy,
    /// This machine cannot send.
    Local,
    /// It is over: there is nothing left to do it to.
    Final,
}

impl FailedAttempt {
    /// The first one at an address.
    pub(crate) fn at(endpoint: &Url, effect: ResendEffect, had_credentials: bool) -> Self {
        let seller = endpoint.host_str().map(ToOwned::to_owned);
        Self { effect, had_credentials, seller, ..Self::default() }
    }
}

impl RecoveryAdvice {
    /// In one word: `retry`, `fix`, `ask` or `stop`.
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
    /// The wait for a draw between 0 and 1; anything else counts as the nearer of the two.
    #[must_use]
    pub fn drawn(self, draw: f64) -> Duration {
        drawn(self.at_least, self.at_most, draw)
    }

    /// The same, ending with the time that is left, though never beginning earlier.
    fn within(self, time: Duration) -> Self {
        Self { at_most: self.at_most.min(time).max(self.at_least), ..self }
    }

    /// What a seller asked for, and up to a quarter more: never less.
    // H-1, E-2
    fn of_seller(delay: Duration) -> Self {
        let at_least = delay.max(Duration::from_secs(1));
        Self { at_least, at_most: at_least + at_least / 4 }
    }

    /// What nobody asked for: a quarter more or less, and never more than the longest.
    // H-2
    fn backoff(retries: u32) -> Self {
        let middle = BACKOFF.pause(retries);
        Self { at_least: middle - middle / 4, at_most: (middle + middle / 4).min(BACKOFF.longest) }
    }
}

/// What to do about the failure of an attempt, with this much left to be spent.
#[must_use]
pub fn advise(
    attempt: &FailedAttempt,
    failure: &CallFailure,
    budget: &RetryBudget,
) -> RecoveryAdvice {
    match course::of(attempt, failure) {
        Strategy::Again { pace, first } => {
            // Before the budget is looked at: however many retries are left, none of them is safe.
            if attempt.effect == ResendEffect::Unkeyed && failure.in_doubt() {
                return RecoveryAdvice::Ask(AskReason::InDoubt);
            }
            course::retry(pace, first, attempt, failure, budget)
        }
        Strategy::Fix { change, fields, suggestion } => {
            let wait = match change {
                // The one correction of something transient: others hurry for it too.
                RequestChange::Reread => course::pause(attempt, failure).within(budget.time),
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

/// The advice for a bare error, without details, at the first attempt of a request that only reads
/// and carried no credential: what a code means in general.
#[must_use]
pub fn in_general(by: RefusalForm) -> RecoveryAdvice {
    let refused = SellerRefusal { retry_after: None, by, kept: KeptResponse::default() };
    let budget = RetryBudget { attempts: 3, time: Duration::from_secs(300), tokens: 10 };
    advise(&FailedAttempt::default(), &CallFailure::Refused(Box::new(refused)), &budget)
}

/// Looks before sending: a credential among the arguments of an AdCP task is never sent.
///
/// # Errors
/// The advice, when there is one.
//
pub fn preflight(arguments: &Value) -> Result<(), RecoveryAdvice> {
    let found = tradepost_wire::adcp::credentials::find(arguments);
    if found.is_empty() {
        return Ok(());
    }
    Err(RecoveryAdvice::Ask(AskReason::CredentialInArguments(found)))
}

#[cfg(test)]
mod tests;
