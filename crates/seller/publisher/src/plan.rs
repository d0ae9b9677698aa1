//! Plans of the governance role, as stored. The record id is made of tenant and the id chosen by the caller.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::SignedDuration;
use sha2::{Digest as _, Sha256};
use tradepost_document::canonical;
use tradepost_document::json::{Map, Value};

use crate::money::MoneyAmount;
use crate::store::kept;

/// Number of days over which committed money is added up: thresholds are checked against the sum, so that
/// small purchases do not get around them (`governance.aggregation_window_days`).
pub const WINDOW_DAYS: i64 = 30;

/// Duration of the same window.
pub const WINDOW: SignedDuration = SignedDuration::from_hours(24 * WINDOW_DAYS);

/// Members that an agent notes about a plan itself, and that its hash does not bind (campaign governance,
/// "Excluded fields").
const UNHASHED_MEMBERS: [&str; 6] =
    ["version", "status", "syncedAt", "revisionHistory", "committedBudget", "committedByType"];

kept! {
    /// A plan: what a campaign may spend, when, where and on which channels.
    pub struct GovernancePlan: Plan {
        /// Id chosen by the caller.
        plan_id: String,
        /// As it was given (`governance/sync-plans-request.json`).
        given: Map,
        /// Hashes of its revisions, the oldest first: a decision stays bound to the revision that it is about.
        #[serde(default)]
        hashes: Vec<String>,
    }

    /// A decision about an action. Its state is the plan's id.
    pub struct GovernanceCheck: Check {
        /// Its id, and that of its record.
        check_id: String,
        /// Check with which the action began; its own id for the first.
        action: String,
        /// Caller that asked.
        caller: String,
        /// Tool that was to be called, for an intent.
        tool?: Option<String>,
        /// Type of the purchase (`enums/purchase-type.json`).
        purchase_type: String,
        /// Decision.
        verdict: PlanVerdict,
        /// Explanation of the decision.
        explanation: String,
        /// Findings.
        findings: Vec<Value>,
        /// Categories by which the plan was judged.
        categories: Vec<String>,
        /// Policies that were considered.
        policies: Vec<String>,
        /// Cost of the action, where it was given.
        amount?: Option<MoneyAmount>,
        /// True when a person had approved it.
        #[serde(default)]
        reviewed: bool,
        /// Hash of the plan by which it was judged.
        plan_hash: String,
        /// Token that was issued.
        governance_context?: Option<String>,
    }

    /// Outcome of an action. Its state is the plan's id.
    pub struct GovernanceOutcome: Outcome {
        /// Its id, and that of its record.
        outcome_id: String,
        /// Action, as its checks name it, or the token of an action that was not checked here.
        action: String,
        /// Reported outcome.
        outcome: Reported,
        /// Type of the purchase.
        purchase_type: String,
        /// Committed amount, in the currency of the plan.
        committed: MoneyAmount,
        /// Reference of the seller.
        seller_reference?: Option<String>,
        /// Findings.
        findings: Vec<Value>,
        /// Token that came with it.
        governance_context: String,
    }
}

impl GovernancePlan {
    /// Creates a plan as given, after revisions with these hashes.
    #[must_use]
    pub fn new(plan_id: &str, given: &Map, mut hashes: Vec<String>) -> Self {
        hashes.push(hash(given));
        Self { plan_id: plan_id.to_owned(), given: given.clone(), hashes }
    }

    /// Returns the currency of its budget.
    #[must_use]
    pub fn currency(&self) -> Option<&str> {
        self.given.get("budget")?.get("currency")?.as_str()
    }

    /// Returns the hash of its current revision.
    #[must_use]
    pub fn hash(&self) -> String {
        hash(&self.given)
    }
}

/// Returns the hash of a plan (`plan_hash`): SHA-256 of its canonical text (RFC 8785) in base64url.
#[must_use]
pub fn hash(given: &Map) -> String {
    let members = given.iter().filter(|(name, _)| !UNHASHED_MEMBERS.contains(&name.as_str()));
    let bound: Map = members.map(|(name, value)| (name.clone(), value.clone())).collect();
    URL_SAFE_NO_PAD.encode(Sha256::digest(canonical::to_string(&Value::Object(bound))))
}

tradepost_document::words! {
    /// A decision (`enums/governance-decision.json`).
    pub enum PlanVerdict {
        /// The action is permitted.
        Approved = "approved",
        /// The action is not permitted.
        Denied = "denied",
        /// The action is permitted under conditions.
        Conditions = "conditions",
    }

    /// Reported outcome of an action (`enums/outcome-type.json`).
    pub enum Reported {
        /// Confirmed by the seller.
        Completed = "completed",
        /// Failed; nothing is committed.
        Failed = "failed",
        /// Delivery so far.
        Delivery = "delivery",
    }
}

/// Categories by which plans are judged here, with the member of a plan that demands each.
pub const CATEGORIES: [(&str, &str); 5] = [
    ("budget_authority", "budget"),
    ("flight_compliance", "flight"),
    ("geo_compliance", "countries"),
    ("channel_compliance", "channels"),
    ("delegation_authority", "delegations"),
];

/// Categories that plans can demand and that are not judged here: they take a person, or data that is not sent.
pub const UNJUDGED: [(&str, &str); 4] = [
    ("policy_compliance", "custom_policies"),
    ("policy_compliance", "policy_ids"),
    ("audience_compliance", "audience"),
    ("audience_compliance", "restricted_attributes"),
];

#[cfg(test)]
mod tests {
    use tradepost_document::json::json;

    use super::*;

    /// The vectors `001-minimal-plan` and `003-bookkeeping-stripped` of the specification.
    #[test]
    fn the_hash_of_a_plan_binds_what_was_given_alone() {
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
