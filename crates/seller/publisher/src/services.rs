//! Everything outside that is not the store: limits, identifiers, the ad server behind the publisher, and the
//! governance agents of buyers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tradepost_document::fault::InternalError;
use tradepost_document::json::{Map, Value};

use crate::ad_server::{Availability, LineItemSpec, OrderSpec, PackageProblem};

/// A boxed future, because [`Services`] is used as a trait object.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Everything outside that is not the store.
pub trait Services: Send + Sync + Debug {
    /// Creates an identifier that cannot be guessed, after a prefix: `mb_…`.
    fn fresh_id(&self, prefix: &str) -> String;

    /// Counts a request of a principal against its limit. One above the limit is refused, neither
    /// queued nor dropped (AdCP 3.1 `error-handling`, `H-5`).
    ///
    /// # Errors
    /// The time to wait, when there were too many.
    fn admit(&self, principal: &str, rate_class: RateClass) -> Result<(), LimitWait>;

    /// Checks that requests may be sent to an address that a caller chose, as far as that shows before it is
    /// resolved.
    ///
    /// # Errors
    /// The requirement that it does not meet: "must …".
    fn may_call(&self, url: &str) -> Result<(), &'static str>;

    /// Removes what is no longer needed, such as callers that have not called lately.
    fn tidy(&self);

    /// Asks a buyer's governance agent (`check_governance`).
    fn check_governance<'a>(
        &'a self,
        agent: &'a NamedGovernanceAgent,
        request: Map,
    ) -> BoxFuture<'a, Result<Map, CallError>>;

    /// Asks verifiers that the publisher accepts about creatives (`get_creative_features`), all at once: for
    /// each an address and the arguments. The answers are in the same order.
    fn creative_features(
        &self,
        questions: Vec<(String, Map)>,
    ) -> BoxFuture<'_, Vec<Result<Map, CallError>>>;

    /// Returns the address of the agent whose key signs notifications (`seller_agent_url`).
    fn agent_url(&self) -> String;

    /// Returns true if an address that may be called is on this very machine, by permission of its operator:
    /// such an address need not be public.
    fn is_own_machine(&self, url: &str) -> bool;

    /// Asks addresses whether they want what is going to be sent there, each by a signed request, all at
    /// once. Returns for each whether it repeated what it was asked ([`SubscriberChallenge::is_answered_by`]).
    fn challenge(&self, challenges: Vec<SubscriberChallenge>) -> BoxFuture<'_, Vec<bool>>;

    /// Signs a decision of the governance role: a compact JWS of these claims, of which a reader has to
    /// understand those that are `critical` (SEC, "AdCP JWS profile"). Returns `None` when there is no key.
    fn attest(&self, claims: &Value, critical: &[&str]) -> Option<String>;

    /// Returns the availability at the ad server. `stale` is set when it is from an earlier answer.
    fn inventory(&self) -> BoxFuture<'_, Result<Supply, Unavailable>>;

    /// Asks the ad server about an order before it is sold, within a bounded time.
    fn check_order<'a>(
        &'a self,
        question: &'a OrderQuestion,
    ) -> BoxFuture<'a, Result<OrderAnswer, Unavailable>>;

    /// Logs an internal error, and returns the id of the log entry.
    fn report(&self, broken: &InternalError) -> String;
}

/// A challenge to an address (`core/webhook-challenge.json`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriberChallenge {
    /// Address.
    pub url: String,
    /// Word that the answer has to repeat.
    pub word: String,
    /// Body of the request.
    pub body: String,
}

impl SubscriberChallenge {
    /// Returns true if an answer repeats the word, in one of the two members that may
    /// (`core/webhook-challenge-response.json`).
    #[must_use]
    pub fn is_answered_by(&self, body: &[u8]) -> bool {
        let Ok(answer) = tradepost_document::json::from_slice::<Map>(body) else {
            return false;
        };
        let mut members = answer.iter();
        let member = members.next().filter(|_| members.next().is_none());
        member.is_some_and(|(name, value)| {
            matches!(name.as_str(), "challenge" | "token") && value.as_str() == Some(&self.word)
        })
    }
}

/// Limit that counts a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RateClass {
    /// Requests that change nothing.
    Read,
    /// Requests that change something.
    Write,
    /// New idempotency keys (SEC, rule 8).
    Insert,
}

/// Time to wait, and the limit that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitWait {
    /// Time to wait.
    pub wait: Duration,
    /// Number of requests in the window.
    pub limit: u32,
    /// Length of the window in seconds.
    pub window_seconds: u32,
}

/// A governance agent that an account names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedGovernanceAgent {
    /// Its endpoint.
    pub url: String,
    /// The bearer credential that it accepts from us.
    pub credential: Option<String>,
}

/// Error of a call to a governance agent or a verifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallError {
    /// No answer, none in time, or one that cannot be read.
    NoAnswer,
    /// An error answer with this code (`PLAN_NOT_FOUND`).
    Refused(String),
}

/// Availability at the ad server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Supply {
    /// Products that it cannot deliver now, by id: sold out.
    pub sold_out: Vec<String>,
    /// Age in seconds; 0 when it was asked for now.
    pub age_seconds: u64,
    /// Reason for its age, when the ad server could not be asked.
    pub stale: Option<Stale>,
}

/// Question to the ad server about an order that is not sold yet. Its objects have no ids of ours yet:
/// packages are named by their place in the request.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderQuestion {
    /// The order.
    pub order: OrderSpec,
    /// Line items that are new, or that change.
    pub line_items: Vec<LineItemSpec>,
    /// Packages among them whose availability is asked for.
    pub forecast: BTreeSet<String>,
}

/// Answer of the ad server about an order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrderAnswer {
    /// What it cannot do. When there is anything, it was not asked for availability.
    pub problems: Vec<PackageProblem>,
    /// Availability by package.
    pub availability: BTreeMap<String, Availability>,
}

/// Reason for an answer from the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stale {
    /// Name of the service that could not be asked.
    pub upstream: String,
    /// Intended freshness in seconds.
    pub freshness_target_seconds: u64,
}

/// Reason for which the ad server gave no availability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unavailable {
    /// No answer, and nothing in the cache (`SERVICE_UNAVAILABLE`).
    Down {
        /// Time until it is asked again.
        retry_after: Option<Duration>,
    },
    /// Not set up (`CONFIGURATION_ERROR`).
    Misconfigured {
        /// Setting that an operator has to make, without values.
        setting: &'static str,
    },
}
