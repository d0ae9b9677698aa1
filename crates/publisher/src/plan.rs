//! Plans of the governance role, as they are kept. The id of a record is made of tenant and the id
//! that the caller chose.

use serde::{Deserialize, Serialize};
use tradepost_wire::json::Map;

use crate::shelf::{Kind, Thing};

/// A plan: what a campaign may spend, when, where and on which channels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The id that the caller chose.
    pub plan_id: String,
    /// As it was given (`governance/sync-plans-request.json`).
    pub given: Map,
}

impl Thing for Plan {
    const KIND: Kind = Kind::Plan;
}

/// What plans are judged by here, with the member of a plan that demands it.
pub const CATEGORIES: [(&str, &str); 5] = [
    ("budget_authority", "budget"),
    ("flight_compliance", "flight"),
    ("geo_compliance", "countries"),
    ("channel_compliance", "channels"),
    ("delegation_authority", "delegations"),
];

/// What plans can demand and nobody judges here: it takes a person, or data that is not sent.
pub const UNJUDGED: [(&str, &str); 4] = [
    ("policy_compliance", "custom_policies"),
    ("policy_compliance", "policy_ids"),
    ("audience_compliance", "audience"),
    ("audience_compliance", "restricted_attributes"),
];
