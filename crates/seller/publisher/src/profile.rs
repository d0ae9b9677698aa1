//! Profile of the publisher: its identity and the terms on which it sells.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::SignedDuration;
use tradepost_adcp::signing::DigestRule;
use tradepost_document::algorithm::Algorithm;

use crate::ad_server::{AdServerCapabilities, RemoteId};
use crate::agent::{Billing, BuyerAgent};
use crate::catalogue::Catalogue;
use crate::catalogue::targeting::AppliedTargeting;
use crate::money::MoneyAmount;
use crate::spending::SpendLimit;

/// Profile of a publisher.
#[derive(Debug, Clone)]
pub struct PublisherProfile {
    /// Id in the store and in the log.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// The domain whose inventory it sells.
    pub domain: String,
    /// True in a sandbox: there is a test controller, and accounts can be for tests.
    pub sandbox: bool,
    /// Parties that can be billed; at least one.
    pub billing: Vec<Billing>,
    /// Payment terms that it accepts; the first holds when none are asked for.
    pub payment_terms: Vec<String>,
    /// The buyer agents that it knows.
    pub agents: Vec<Arc<BuyerAgent>>,
    /// Terms on which it opens accounts.
    pub onboarding: Onboarding,
    /// Time for which an idempotency key is remembered: from one hour to seven days.
    pub replay_ttl: SignedDuration,
    /// Its catalogue.
    pub catalogue: Catalogue,
    /// Daily limits of what may be committed on an account, one for each limited currency.
    pub spend_limits: Vec<SpendLimit>,
    /// Amounts above which two persons approve a media buy, one for each currency that has one.
    pub four_eyes: Vec<FourEyesLimit>,
    /// True when refusals of requests that violate their schema name the published rule
    /// (`schema_id`, `schemaPath`, `discriminator`), which a seller may leave out (AdCP 3.1
    /// `error-handling`, `I-8`).
    pub internals: bool,
    /// Signing of requests and webhooks.
    pub signing: Signing,
    /// Endpoints of its tools, the preferred one first.
    pub endpoints: Vec<ToolEndpoint>,
    /// The ad server that its buys are carried into; `None` when there is none.
    pub ad_server: Option<AdServerProfile>,
}

/// The ad server behind a publisher, as far as it decides what is sold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AdServerProfile {
    /// What it can do.
    pub capabilities: AdServerCapabilities,
    /// The advertiser there for all orders.
    pub advertiser: Option<RemoteId>,
    /// True if buys of test accounts are made there, too.
    pub test_accounts: bool,
}

/// Amount above which two persons approve a media buy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FourEyesLimit {
    /// Currency (ISO 4217).
    pub currency: String,
    /// Total budget of a media buy that one person may still approve.
    pub above: MoneyAmount,
}

impl PublisherProfile {
    /// Returns true when two persons have to approve a media buy of this total budget.
    #[must_use]
    pub fn needs_two_persons(&self, currency: &str, budget: MoneyAmount) -> bool {
        let mut limits = self.four_eyes.iter();
        limits.any(|limit| limit.currency == currency && budget > limit.above)
    }

    /// Returns the targeting that is applied.
    #[must_use]
    pub fn targeting(&self) -> AppliedTargeting {
        self.catalogue.targeting.within(self.ad_server_capabilities())
    }

    /// Returns what the ad server can do, if there is one.
    #[must_use]
    pub fn ad_server_capabilities(&self) -> Option<&AdServerCapabilities> {
        self.ad_server.as_ref().map(|ad_server| &ad_server.capabilities)
    }
}

/// Endpoint of the publisher's tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolEndpoint {
    /// Protocol.
    pub transport: ToolTransport,
    /// Address.
    pub url: String,
}

tradepost_document::words! {
    /// A protocol that carries calls of tools (`sponsored_intelligence.endpoint.transports`).
    pub enum ToolTransport {
        /// MCP.
        Mcp = "mcp",
        /// A2A.
        A2a = "a2a",
    }
}

/// Signing of requests and webhooks (RFC 9421).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Signing {
    /// Requirements on signed requests; signatures are ignored when `None`.
    pub requests: Option<RequestSigning>,
    /// Algorithm by which webhooks are signed; `None` when the publisher sends none.
    pub webhooks: Option<Algorithm>,
    /// Address of the publisher's own keys (`identity.brand_json_url`), with https.
    pub brand_json_url: Option<String>,
}

/// Requirements on signed requests (`request_signing`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestSigning {
    /// Rule on whether a signature covers the digest of the body.
    pub digest: DigestRule,
    /// Tools that callers without another credential have to sign.
    pub required_for: BTreeSet<String>,
    /// Methods of the protocol beneath (`tasks/cancel`) that they have to sign.
    pub methods_required_for: BTreeSet<String>,
}

/// Terms on which a publisher opens accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Onboarding {
    /// True when credentials that are mapped to no agent may do business. Otherwise they may only read what
    /// the seller can do; the rest is refused in general terms (AdCP 3.1 `error-handling`, `G-2`).
    pub strangers: bool,
    /// True when the first request that changes something opens an account for a brand and an operator that
    /// were not declared. Only in a sandbox, and only for agents whose identity is established: the billed
    /// party has to be certain.
    pub implicit: bool,
    /// Review of a new account by a person before it can be used; accounts for tests need none.
    pub review: Option<AccountReview>,
    /// Operators that the publisher bills; every one when `None`. Billing another is refused with
    /// `BILLING_NOT_SUPPORTED` (AdCP 3.1 `error-handling`, `B-1`).
    pub operators: Option<BTreeSet<String>>,
    /// Domains that house several brands: an account there names one by its id. `sync_accounts`
    /// opens none without it (`BRAND_REQUIRED`; AdCP 3.1 `error-handling`, `B-7`).
    pub houses: BTreeSet<String>,
}

impl Default for Onboarding {
    /// Returns terms on which every caller may open accounts by declaring them.
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

/// Step that a person has to take before an account can be used (`setup` of an account).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountReview {
    /// Description of the step.
    pub message: String,
    /// Address for the step, on the seller's own domain, because buyers follow no other (AdCP 3.1
    /// `transport-errors`, `Z-3`).
    pub url: Option<String>,
}
