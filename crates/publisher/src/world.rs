//! What is outside: limits, identifiers, the ad server behind the publisher, and the governance
//! agents of buyers.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;

use tradepost_wire::fault::InternalError;
use tradepost_wire::json::{Map, Value};

/// A future in a box, because the world is behind a pointer.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Everything outside that is no store.
pub trait Services: Send + Sync + Debug {
    /// A new identifier that nobody can guess, after a prefix: `mb_…`.
    fn fresh_id(&self, prefix: &str) -> String;

    /// Counts a request of a principal; says how long to wait when there were too many (`H-5`).
    ///
    /// # Errors
    /// When the next request may be sent.
    fn admit(&self, principal: &str, lane: RateClass) -> Result<(), LimitWait>;

    /// Whether something may be sent to an address that a caller chose, as far as that shows before
    /// it is resolved.
    ///
    /// # Errors
    /// What it must be instead: "must …".
    fn may_call(&self, url: &str) -> Result<(), &'static str>;

    /// Forgets what nobody needs any more, such as callers that have not called lately.
    fn tidy(&self);

    /// Asks a buyer's governance agent (`check_governance`).
    fn check_governance<'a>(
        &'a self,
        agent: &'a NamedGovernanceAgent,
        request: Map,
    ) -> BoxFuture<'a, Result<Map, CallError>>;

    /// Asks verifiers that the publisher accepts what they know of creatives (`get_creative_features`),
    /// all at once: an address with the arguments. The answers in the same order.
    fn creative_features(
        &self,
        questions: Vec<(String, Map)>,
    ) -> BoxFuture<'_, Vec<Result<Map, CallError>>>;

    /// The address of the agent whose key signs notifications (`seller_agent_url`).
    fn agent_url(&self) -> String;

    /// Whether an address that may be called is on this very machine, which its operator has permitted:
    /// nobody else can have named it in earnest.
    fn is_own_machine(&self, url: &str) -> bool;

    /// Asks addresses whether they want what is going to be sent there, each by a signed request, all at
    /// once. Whether each has said back what it was asked ([`Challenge::is_answered_by`]).
    fn challenge(&self, challenges: Vec<Challenge>) -> BoxFuture<'_, Vec<bool>>;

    /// Signs what the governance role has decided: a compact JWS of these claims, of which whoever
    /// reads it has to understand those that are `critical` (SEC, "AdCP JWS profile"). `None` when
    /// there is no key.
    fn attest(&self, claims: &Value, critical: &[&str]) -> Option<String>;

    /// What the ad server has on offer now. `fresh` is false when it is what an earlier answer
    /// said.
    fn inventory(&self) -> BoxFuture<'_, Result<Supply, Unavailable>>;

    /// Notes that something of ours broke, and returns the id under which the log has it.
    fn report(&self, broken: &InternalError) -> String;
}

/// A question to an address (`core/webhook-challenge.json`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    /// Where to.
    pub url: String,
    /// What has to be said back.
    pub word: String,
    /// The body.
    pub body: String,
}

impl Challenge {
    /// Whether an answer says the word back, in one of the two members that may
    /// (`core/webhook-challenge-response.json`).
    #[must_use]
    pub fn is_answered_by(&self, body: &[u8]) -> bool {
        let Ok(answer) = tradepost_wire::json::from_slice::<Map>(body) else {
            return false;
        };
        let mut said = answer.iter();
        let only = said.next().filter(|_| said.next().is_none());
        only.is_some_and(|(name, value)| {
            matches!(name.as_str(), "challenge" | "token") && value.as_str() == Some(&self.word)
        })
    }
}

/// Which limit counts a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RateClass {
    /// Requests that change nothing.
    Read,
    /// Requests that change something.
    Write,
    /// New idempotency keys (SEC, rule 8).
    Insert,
}

/// How long to wait, and which limit it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitWait {
    /// Seconds, rounded up.
    pub seconds: u32,
    /// Requests in the window.
    pub limit: u32,
    /// The window in seconds.
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

/// Why a governance agent, or a verifier, said nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallError {
    /// It did not answer, or not in time, or with something that is no answer.
    Silent,
    /// It answered with an error of this code (`PLAN_NOT_FOUND`).
    Refused(String),
}

/// What the ad server has on offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Supply {
    /// Products that it cannot deliver now, by id: sold out.
    pub sold_out: Vec<String>,
    /// How old it is, in seconds; 0 when it was asked for now.
    pub age_seconds: u64,
    /// Why it is not fresh, when the ad server could not be asked.
    pub stale: Option<Stale>,
}

/// Why something comes from a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stale {
    /// The name of what could not be asked.
    pub upstream: String,
    /// How fresh it is meant to be, in seconds.
    pub freshness_target_seconds: u64,
}

/// Why the ad server has nothing to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unavailable {
    /// It does not answer, and there is nothing in the cache (`SERVICE_UNAVAILABLE`).
    Down {
        /// Seconds until it is asked again.
        retry_after: Option<u32>,
    },
    /// It is not set up (`CONFIGURATION_ERROR`).
    Misconfigured {
        /// What an operator has to set, without values.
        setting: &'static str,
    },
}
