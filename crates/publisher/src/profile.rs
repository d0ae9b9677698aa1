//! Who the publisher is, and on which terms it sells.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use tradepost_wire::adcp::signing::{Algorithm, Digest};

use crate::catalogue::Catalogue;

/// A publisher.
#[derive(Debug, Clone)]
pub struct Profile {
    /// The id in the store and in the log.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// The domain whose inventory it sells.
    pub domain: String,
    /// Whether this is a sandbox: there is a test controller, and accounts may say that they are
    /// for tests.
    pub sandbox: bool,
    /// Who can be billed; at least one.
    pub billing: Vec<Billing>,
    /// The payment terms that it accepts; the first is what holds when none are asked for.
    pub payment_terms: Vec<String>,
    /// The buyer agents that it knows.
    pub agents: Vec<Arc<BuyerAgent>>,
    /// On which terms it opens accounts.
    pub onboarding: Onboarding,
    /// For how long an idempotency key is remembered: from one hour to seven days.
    pub replay_ttl: SignedDuration,
    /// What it has to sell.
    pub catalogue: Catalogue,
    /// Whether refusals of requests that violate their schema name the published rule (`I-8`).
    pub internals: bool,
    /// What is signed, and how.
    pub signing: Signing,
}

/// What is signed, and how (RFC 9421).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Signing {
    /// What is demanded of signed requests; signatures are ignored when `None`.
    pub requests: Option<RequestSigning>,
    /// How webhooks are signed; `None` when the publisher sends none.
    pub webhooks: Option<Algorithm>,
    /// Where the publisher's own keys are found (`identity.brand_json_url`), with https.
    pub brand_json_url: Option<String>,
}

/// What is demanded of signed requests (`request_signing`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestSigning {
    /// Whether a signature covers the digest of the body.
    pub digest: Digest,
    /// The tools for which whoever has no other credential has to sign.
    pub required_for: BTreeSet<String>,
    /// The methods of the protocol beneath (`tasks/cancel`) for which it has to.
    pub methods_required_for: BTreeSet<String>,
}

/// A buyer agent, as it was onboarded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuyerAgent {
    /// Its id here.
    pub id: String,
    /// The address under which its keys are published, for signed requests.
    pub url: Option<String>,
    /// The names of its credentials.
    pub principals: BTreeSet<String>,
    /// How the relationship stands.
    pub standing: Standing,
    /// Whether it may work with sandbox accounts alone.
    pub sandbox_only: bool,
    /// Whether it works with live accounts alone, and so not with the test controller.
    pub live_only: bool,
    /// Who can be billed for what it buys; whoever the publisher bills when `None`.
    pub billing: Option<BTreeSet<Billing>>,
    /// What it may do with an account for which nothing else is said; everything when `None`.
    pub scope: Option<Authorization>,
}

/// On which terms a publisher opens accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Onboarding {
    /// Whether credentials that are mapped to no agent may do business. Those that may not learn
    /// what the seller can do, and nothing else (`G-2`).
    pub strangers: bool,
    /// Whether the first request that changes something opens an account for a brand and an operator
    /// that nobody has declared. Only in a sandbox, and only for agents whose identity is
    /// established: who is billed has to be beyond doubt.
    pub implicit: bool,
    /// What a person has to do before a new account can be used; accounts for tests need nothing.
    pub review: Option<Review>,
    /// The operators that the publisher bills; every one when `None` (`B-1`).
    pub operators: Option<BTreeSet<String>>,
    /// Domains that house several brands: an account there names one by its id (`B-7`).
    pub houses: BTreeSet<String>,
}

impl Default for Onboarding {
    /// Everybody may open accounts by declaring them.
    fn default() -> Self {
        Self {
            strangers: true,
            implicit: false,
            review: None,
            operators: None,
            houses: BTreeSet::new(),
        }
    }
}

/// What a person has to do before an account can be used (`setup` of an account).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    /// In words.
    pub message: String,
    /// Where; on the seller's own domain (`Z-3`).
    pub url: Option<String>,
}

/// How the relationship with a buyer agent stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It buys.
    Active,
    /// Paused.
    Suspended,
    /// Ended for good.
    Blocked,
}

/// Who is billed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Billing {
    /// The operator that buys for the advertiser.
    Operator,
    /// The buyer agent.
    Agent,
    /// The advertiser itself.
    Advertiser,
}

impl Billing {
    /// The party of a word.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Operator, Self::Agent, Self::Advertiser].into_iter().find(|it| it.name() == name)
    }

    /// The word on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Agent => "agent",
            Self::Advertiser => "advertiser",
        }
    }
}

/// What a caller may do with an account; everything when nothing is said (`R-11`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Authorization {
    /// The tools that it may call; all when `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_tasks: Option<BTreeSet<String>>,
    /// For a tool, the only fields that it may set.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub field_scopes: BTreeMap<String, BTreeSet<String>>,
    /// The name of the scope: `attestation_verifier`, or one that begins with `custom:`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope_name: Option<String>,
    /// Whether it may change nothing.
    #[serde(default)]
    pub read_only: bool,
}
