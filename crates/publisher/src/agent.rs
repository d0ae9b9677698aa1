//! Buyer agents, and what they may do.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::spending::SpendLimit;

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
    pub standing: AgentStanding,
    /// Whether it may work with sandbox accounts alone.
    pub sandbox_only: bool,
    /// Whether it works with live accounts alone, and so not with the test controller.
    pub live_only: bool,
    /// Who can be billed for what it buys; whoever the publisher bills when `None`.
    pub billing: Option<BTreeSet<Billing>>,
    /// What it may do with an account for which nothing else is said; everything when `None`.
    pub scope: Option<AccountRights>,
    /// What it may commit on an account in a day, where that is less than the publisher permits.
    pub spend_limits: Vec<SpendLimit>,
}

tradepost_wire::words! {
    /// How the relationship with a buyer agent stands.
    pub enum AgentStanding {
        /// It buys.
        Active = "active",
        /// Paused.
        Suspended = "suspended",
        /// Ended for good.
        Blocked = "blocked",
    }
}

tradepost_wire::words! {
    /// Who is billed.
    pub enum Billing {
        /// The operator that buys for the advertiser.
        Operator = "operator",
        /// The buyer agent.
        Agent = "agent",
        /// The advertiser itself.
        Advertiser = "advertiser",
    }
}

/// What a caller may do with an account; everything when nothing is said (`R-11`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountRights {
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
