//! Buyer agents and their rights.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::spending::SpendLimit;

/// A buyer agent, as it was onboarded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuyerAgent {
    /// Id with this publisher.
    pub id: String,
    /// The address under which its keys are published, for signed requests.
    pub url: Option<String>,
    /// The names of its credentials.
    pub principals: BTreeSet<String>,
    /// Status of the relationship.
    pub standing: AgentStanding,
    /// True when it may work with sandbox accounts only.
    pub sandbox_only: bool,
    /// True when it works with live accounts only, and so not with the test controller.
    pub live_only: bool,
    /// Parties that can be billed for what it buys; all that the publisher bills when `None`.
    pub billing: Option<BTreeSet<Billing>>,
    /// Rights on accounts that have no grant of their own; everything is permitted when `None`.
    pub scope: Option<AccountRights>,
    /// Daily limits of what it may commit on an account, where they are lower than the publisher's.
    pub spend_limits: Vec<SpendLimit>,
}

tradepost_document::words! {
    /// Status of the relationship with a buyer agent.
    pub enum AgentStanding {
        /// Allowed to buy.
        Active = "active",
        /// Paused.
        Suspended = "suspended",
        /// Ended for good.
        Blocked = "blocked",
    }
}

tradepost_document::words! {
    /// Party that is billed.
    pub enum Billing {
        /// The operator that buys for the advertiser.
        Operator = "operator",
        /// The buyer agent.
        Agent = "agent",
        /// The advertiser itself.
        Advertiser = "advertiser",
    }
}

/// Rights of a caller on an account, from which `authorization` in answers is made; what is not
/// restricted is permitted (AdCP 3.1 `accounts/overview`, `R-11`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountRights {
    /// Tools that it may call; all when `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_tasks: Option<BTreeSet<String>>,
    /// Fields that it may set, by tool; all fields of a tool that is not listed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub field_scopes: BTreeMap<String, BTreeSet<String>>,
    /// The name of the scope: `attestation_verifier`, or one that begins with `custom:`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope_name: Option<String>,
    /// True when it may not change anything.
    #[serde(default)]
    pub read_only: bool,
}
