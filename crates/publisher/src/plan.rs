//! Plans of the governance role, as they are kept. The id of a record is made of tenant and the id
//! that the caller chose.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::SignedDuration;
use sha2::{Digest as _, Sha256};
use tradepost_wire::canonical;
use tradepost_wire::json::{Map, Value};

use crate::money::MoneyAmount;
use crate::shelf::kept;

/// Over how many days money counts that was committed: thresholds are held against all of it, so
/// that nobody stays below them by buying in small pieces (`governance.aggregation_window_days`).
pub const WINDOW_DAYS: i64 = 30;

/// The same as a duration.
pub const WINDOW: SignedDuration = SignedDuration::from_hours(24 * WINDOW_DAYS);

/// What an agent notes about a plan itself, and what is no part of what its hash binds (campaign
/// governance, "Excluded fields").
const NOTED: [&str; 6] =
    ["version", "status", "syncedAt", "revisionHistory", "committedBudget", "committedByType"];

kept! {
    /// A plan: what a campaign may spend, when, where and on which channels.
    pub struct GovernancePlan: Plan {
        /// The id that the caller chose.
        plan_id: String,
        /// As it was given (`governance/sync-plans-request.json`).
        given: Map,
        /// The hash of each of its revisions, the first first, by which what was decided about one stays
        /// bound to it.
        #[serde(default)]
        hashes: Vec<String>,
    }

    /// A decision about an action. Its state is the plan's id.
    pub struct GovernanceCheck: Check {
        /// Its id, and that of its record.
        check_id: String,
        /// The check with which the action began that it is about; its own id for the first.
        action: String,
        /// Who asked.
        caller: String,
        /// The tool that was to be called, for an intent.
        tool?: Option<String>,
        /// What was to be bought (`enums/purchase-type.json`).
        purchase_type: String,
        /// What was decided.
        verdict: PlanVerdict,
        /// Why.
        explanation: String,
        /// What was found.
        findings: Vec<Value>,
        /// By what the plan was judged.
        categories: Vec<String>,
        /// The policies that were looked at.
        policies: Vec<String>,
        /// What the action costs, where that was said.
        amount?: Option<MoneyAmount>,
        /// Whether a person had approved it.
        #[serde(default)]
        reviewed: bool,
        /// The hash of the plan by which it was judged.
        plan_hash: String,
        /// The token that was issued.
        governance_context?: Option<String>,
    }

    /// What became of an action. Its state is the plan's id.
    pub struct GovernanceOutcome: Outcome {
        /// Its id, and that of its record.
        outcome_id: String,
        /// The action, as its checks have it, or the token of an action that nobody checked here.
        action: String,
        /// What was reported.
        outcome: Reported,
        /// What was bought.
        purchase_type: String,
        /// What was committed, in the currency of the plan.
        committed: MoneyAmount,
        /// What the seller calls it.
        seller_reference?: Option<String>,
        /// What was found.
        findings: Vec<Value>,
        /// The token that came with it.
        governance_context: String,
    }
}

impl GovernancePlan {
    /// A plan that is put there, after revisions with these hashes.
    #[must_use]
    pub fn new(plan_id: &str, given: &Map, mut hashes: Vec<String>) -> Self {
        hashes.push(hash(given));
        Self { plan_id: plan_id.to_owned(), given: given.clone(), hashes }
    }

    /// The currency of its budget.
    #[must_use]
    pub fn currency(&self) -> Option<&str> {
        self.given.get("budget")?.get("currency")?.as_str()
    }

    /// The hash of what it is now.
    #[must_use]
    pub fn hash(&self) -> String {
        hash(&self.given)
    }
}

/// The hash of a plan (`plan_hash`): SHA-256 of its canonical text (RFC 8785) in base64url.
#[must_use]
pub fn hash(given: &Map) -> String {
    let members = given.iter().filter(|(name, _)| !NOTED.contains(&name.as_str()));
    let bound: Map = members.map(|(name, value)| (name.clone(), value.clone())).collect();
    URL_SAFE_NO_PAD.encode(Sha256::digest(canonical::to_string(&Value::Object(bound))))
}

tradepost_wire::words! {
    /// A decision (`enums/governance-decision.json`).
    pub enum PlanVerdict {
        /// It may be done.
        Approved = "approved",
        /// It may not.
        Denied = "denied",
        /// It may be done under conditions.
        Conditions = "conditions",
    }

    /// What is reported of an action (`enums/outcome-type.json`).
    pub enum Reported {
        /// The seller confirmed it.
        Completed = "completed",
        /// It failed; nothing is committed.
        Failed = "failed",
        /// What was delivered so far.
        Delivery = "delivery",
    }
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

#[cfg(test)]
mod tests {
    use tradepost_wire::json::json;

    use super::*;

    /// The vectors `001-minimal-plan` and `003-bookkeeping-stripped` of the specification.
    #[test]
    fn the_hash_of_a_plan_binds_what_was_given_and_nothing_that_is_noted() {
        let mut plan = json!({
            "plan_id": "plan_minimal_2026", "brand": {"domain": "example.com"},
            "objectives": "Drive awareness for Q1 launch.",
            "budget": {"total": 100000, "currency": "USD", "reallocation_threshold": 5000},
            "flight": {"start": "2026-04-01T00:00:00Z", "end": "2026-06-30T00:00:00Z"},
        });
        let expected = "oR0jFDEtzcwgPbNf-Ofd_fZHYfAyD1TRbzGOFBVCG-c";
        assert_eq!(hash(plan.as_object().unwrap()), expected);
        plan["version"] = json!(7);
        plan["committedBudget"] = json!(42500);
        assert_eq!(hash(plan.as_object().unwrap()), expected);
        plan["ext"] = json!({"trace": "v2"});
        assert_ne!(hash(plan.as_object().unwrap()), expected);
    }
}
