//! Outcome of an AdCP task that did not fail: warnings beside a result, failed rows, a structured rejection,
//! and the decision of a governance agent. None of these is a failure of the request.
// P-1, B-8, T-4, K-1

use tradepost_adcp::error::{AdcpError, MAX_LISTED};
pub use tradepost_adcp::{AdcpTaskStatus, GovernanceDecision};
use tradepost_document::catalog::WireName;
use tradepost_document::json::Value;

use crate::failure::{CallFailure, KeptResponse};
use crate::recovery::{FailedAttempt, RecoveryAdvice, RetryBudget, advise};
use crate::refusal::{Adcp, RefusalForm, SellerRefusal, stated_by};
use crate::text::{SENTENCE, WORD, plain};

/// Outcome in a payload.
#[derive(Debug)]
#[non_exhaustive]
pub struct PayloadOutcome {
    /// Status of the task; `None` when the payload has none.
    pub standing: Option<WireName<AdcpTaskStatus>>,
    /// Warnings beside the result, which is valid nevertheless.
    pub warnings: Vec<AdcpError>,
    /// Rows that failed.
    pub rows: Vec<FailedRow>,
}

/// Row that failed, although others may have succeeded.
#[derive(Debug)]
#[non_exhaustive]
pub struct FailedRow {
    /// JSON Pointer to the row in the payload (`/accounts/0`).
    pub pointer: String,
    /// Errors of the row; at least one.
    pub errors: Vec<AdcpError>,
    /// True when the row was sent again alone, so that a later answer has its outcome.
    pub again: bool,
}

impl PayloadOutcome {
    /// Reads a payload that is no failure. Lists are bounded.
    #[must_use]
    pub fn read(payload: &Value) -> Self {
        let errors = payload.get("errors").or_else(|| payload.pointer("/payload/errors"));
        Self {
            standing: payload.get("status").and_then(Value::as_str).map(WireName::parse),
            warnings: errors.map(AdcpError::read_list).unwrap_or_default(),
            rows: rows(payload),
        }
    }

    /// Returns true when the task ended and its result can be used.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        matches!(self.standing, None | Some(WireName::Known(AdcpTaskStatus::Completed)))
    }
}

/// Reads the failed rows of all lists in a payload, such as `accounts`, `creatives` or `catalogs`.
fn rows(payload: &Value) -> Vec<FailedRow> {
    let mut found = Vec::new();
    for (name, list) in payload.as_object().into_iter().flatten() {
        for (index, row) in list.as_array().into_iter().flatten().enumerate() {
            let errors = row.get("errors").map(AdcpError::read_list).unwrap_or_default();
            if errors.is_empty() {
                continue;
            }
            if found.len() >= MAX_LISTED {
                return found;
            }
            let pointer = format!("/{}/{index}", plain(name, WORD));
            found.push(FailedRow { pointer, errors, again: false });
        }
    }
    found
}

impl FailedRow {
    /// Returns the advice for the row, as [`advise`], by its strictest error. A corrected or repeated request
    /// is one for this row alone.
    #[must_use]
    pub fn advise(&self, attempt: &FailedAttempt, budget: &RetryBudget) -> Option<RecoveryAdvice> {
        let by = RefusalForm::Adcp(Box::new(Adcp::from_errors(None, self.errors.clone())?));
        let refused =
            SellerRefusal { retry_after: stated_by(&by), by, kept: KeptResponse::default() };
        Some(advise(attempt, &CallFailure::Refused(Box::new(refused)), budget))
    }
}

/// Decision of a governance agent on a plan, with its conditions.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanDecision {
    /// Decision.
    pub decision: GovernanceDecision,
    /// Required changes.
    pub conditions: Vec<RequiredChange>,
    /// Explanation, fit for display.
    pub explanation: String,
}

/// Change that a governance agent requires.
#[derive(Debug, Clone, PartialEq)]
pub struct RequiredChange {
    /// Field to change, fit for display.
    pub field: String,
    /// Value that the field must have; without one a person has to read the reason.
    pub required: Option<Value>,
    /// Reason, fit for display.
    pub reason: String,
}

/// Next step after a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GovernanceStep {
    /// Continue.
    Proceed,
    /// Change the fields as the conditions say, and ask the governance agent again.
    ApplyAndCheckAgain,
    /// A person has to read the conditions: there are none, or one has no value.
    AskAPerson,
    /// The operation must not take place.
    Block,
}

impl PlanDecision {
    /// Reads the result of `check_governance`: `verdict` (3.1), or `status` in earlier releases. `None` when
    /// it has no decision, for example while a person still reviews the plan; that is a task like any other.
    #[must_use]
    pub fn read(payload: &Value) -> Option<Self> {
        let text = |value: &Value, name: &str| {
            plain(value.get(name).and_then(Value::as_str).unwrap_or_default(), SENTENCE)
        };
        let mut words = ["verdict", "status"].into_iter().filter_map(|name| payload.get(name));
        let decision = words.find_map(|word| match WireName::parse(word.as_str()?) {
            WireName::Known(decision) => Some(decision),
            WireName::Other(_) => None,
        })?;
        let conditions = payload.get("conditions").and_then(Value::as_array);
        let condition = |condition: &Value| RequiredChange {
            field: text(condition, "field"),
            required: condition.get("required_value").cloned(),
            reason: text(condition, "reason"),
        };
        let listed = conditions.into_iter().flatten().take(MAX_LISTED);
        Some(Self {
            decision,
            conditions: listed.map(condition).collect(),
            explanation: text(payload, "explanation"),
        })
    }

    /// Returns the next step.
    #[must_use]
    pub fn next(&self) -> GovernanceStep {
        match self.decision {
            GovernanceDecision::Approved => GovernanceStep::Proceed,
            GovernanceDecision::Denied => GovernanceStep::Block,
            GovernanceDecision::Conditions => {
                let exact = self.conditions.iter().all(|condition| condition.required.is_some());
                if exact && !self.conditions.is_empty() {
                    GovernanceStep::ApplyAndCheckAgain
                } else {
                    GovernanceStep::AskAPerson
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tradepost_document::json::json;

    use super::*;
    use crate::recovery::{AskReason, RequestChange};
    use crate::response::{RawResponse, Via, read};

    fn failure(payload: &Value) -> Option<CallFailure> {
        let body = json!({"structuredContent": payload}).to_string();
        let content_type = None;
        let retry_after = None;
        let body = body.as_bytes();
        read(&RawResponse {
            via: Via::McpTool,
            status: 200,
            content_type,
            retry_after,
            challenges: &[],
            body,
        })
    }

    #[test]
    fn p_1_warnings_stand_beside_a_result_that_is_kept() {
        let payload = json!({"status": "completed", "media_buy_id": "mb_123", "errors": [{
            "code": "COMPLIANCE_UNSATISFIED", "message": "one placement cannot",
            "field": "packages[0].placements[2]", "severity": "warning"}]});
        assert!(failure(&payload).is_none());
        let outcome = PayloadOutcome::read(&payload);
        assert!(outcome.is_complete());
        assert_eq!(outcome.warnings.len(), 1);
        let pending = PayloadOutcome::read(&json!({"status": "input-required"}));
        assert!(!pending.is_complete());
        assert!(!PayloadOutcome::read(&json!({"status": "new word"})).is_complete());
    }

    #[test]
    fn t_4_a_rejection_is_no_failure() {
        let payload = json!({"status": "rejected", "reason": "policy"});
        assert!(failure(&payload).is_none());
        let outcome = PayloadOutcome::read(&payload);
        assert_eq!(outcome.standing, Some(WireName::Known(AdcpTaskStatus::Rejected)));
    }

    #[test]
    fn b_8_and_b_5_failed_rows_have_own_advice() {
        let payload = json!({"status": "completed", "accounts": [
            {"action": "created"},
            {"action": "failed", "status": "rejected", "errors": [{
                "code": "BILLING_NOT_PERMITTED_FOR_AGENT", "recovery": "correctable",
                "details": {"rejected_billing": "agent", "suggested_billing": "operator"}}]}]});
        assert!(failure(&payload).is_none());
        let outcome = PayloadOutcome::read(&payload);
        let [row] = outcome.rows.as_slice() else { panic!("{outcome:?}") };
        assert_eq!(row.pointer, "/accounts/1");
        let budget = RetryBudget { attempts: 3, time: Duration::from_secs(300), tokens: 10 };
        let mut attempt = FailedAttempt::default();
        let Some(RecoveryAdvice::Fix(fix)) = row.advise(&attempt, &budget) else { panic!() };
        assert_eq!(fix.change, RequestChange::Billing("operator".into()));
        attempt.tried.billing = true;
        assert_eq!(row.advise(&attempt, &budget), Some(RecoveryAdvice::Ask(AskReason::Billing)));
        let many = json!({"rows": vec![json!({"errors": [{"code": "A"}]}); 500]});
        assert_eq!(PayloadOutcome::read(&many).rows.len(), MAX_LISTED);
    }

    #[test]
    fn k_1_decisions_of_governance_are_no_errors() {
        let value = json!({"field": "budget", "required_value": 5, "reason": "limit"});
        let words = json!({"field": "brief", "reason": "tone\u{202e}"});
        for (payload, expected) in [
            (json!({"verdict": "approved"}), Some(GovernanceStep::Proceed)),
            (json!({"verdict": "denied", "status": "completed"}), Some(GovernanceStep::Block)),
            (json!({"status": "denied"}), Some(GovernanceStep::Block)),
            (
                json!({"verdict": "conditions", "conditions": [value]}),
                Some(GovernanceStep::ApplyAndCheckAgain),
            ),
            (
                json!({"verdict": "conditions", "conditions": [value, words]}),
                Some(GovernanceStep::AskAPerson),
            ),
            (json!({"verdict": "conditions"}), Some(GovernanceStep::AskAPerson)),
            (json!({"status": "submitted"}), None),
            (json!({"verdict": "escalated"}), None),
            (json!([]), None),
        ] {
            assert!(failure(&payload).is_none());
            let governance = PlanDecision::read(&payload);
            assert_eq!(governance.as_ref().map(PlanDecision::next), expected, "{payload}");
        }
    }
}
