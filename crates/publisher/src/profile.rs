//! Who the publisher is, and on which terms it sells.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::SignedDuration;
use tradepost_wire::adcp::signing::DigestRule;
use tradepost_wire::algorithm::Algorithm;

use crate::agent::{Billing, BuyerAgent};
use crate::catalogue::Catalogue;
use crate::spending::SpendLimit;

/// A publisher.
#[derive(Debug, Clone)]
pub struct PublisherProfile {
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
    /// What may be committed on an account in a day, in each currency that is limited.
    pub spend_limits: Vec<SpendLimit>,
    /// Whether refusals of requests that violate their schema name the published rule (`I-8`).
    pub internals: bool,
    /// What is signed, and how.
    pub signing: Signing,
    /// Where its tools are called, the preferred place first.
    pub endpoints: Vec<ToolEndpoint>,
}

/// Where the publisher's tools are called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolEndpoint {
    /// By which protocol.
    pub transport: ToolTransport,
    /// The address.
    pub url: String,
}

tradepost_wire::words! {
    /// A protocol that carries calls of tools (`sponsored_intelligence.endpoint.transports`).
    pub enum ToolTransport {
        /// MCP.
        Mcp = "mcp",
        /// A2A.
        A2a = "a2a",
    }
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
    pub digest: DigestRule,
    /// The tools for which whoever has no other credential has to sign.
    pub required_for: BTreeSet<String>,
    /// The methods of the protocol beneath (`tasks/cancel`) for which it has to.
    pub methods_required_for: BTreeSet<String>,
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
    pub review: Option<AccountReview>,
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
pub struct AccountReview {
    /// In words.
    pub message: String,
    /// Where; on the seller's own domain (`Z-3`).
    pub url: Option<String>,
}
