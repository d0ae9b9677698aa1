//! `get_plan_audit_logs`: decisions under plans and their outcomes.

use std::collections::BTreeSet;

use tradepost_document::fault::InternalError;
use tradepost_document::json::{Value, json, object};

use super::{history, read, require};
use crate::forms::plans::GetPlanAuditLogs;
use crate::money::MoneyAmount;
use crate::plan::{GovernanceCheck, GovernanceOutcome, GovernancePlan, PlanVerdict};
use crate::refusals::ToolError;
use crate::reply::ToolReply;
use crate::store::{Stored, own_id};
use crate::tool_context::ToolContext;

pub(in crate::tools) fn perform(
    work: &ToolContext<'_>,
    form: &GetPlanAuditLogs,
) -> Result<ToolReply, ToolError> {
    let mut plans = Vec::new();
    for id in form.plan_ids.iter().flatten() {
        plans.push(require(work, id, "plan_ids")?);
    }
    for id in form.portfolio_plan_ids.iter().flatten() {
        let portfolio = require(work, id, "portfolio_plan_ids")?;
        let members = read(&portfolio)?.portfolio.and_then(|portfolio| portfolio.member_plan_ids);
        plans.push(portfolio);
        // A member that was never stored has no history.
        for member in members.iter().flatten() {
            plans.extend(work.find(&own_id(&work.admitted.reach.tenant, "", member))?);
        }
    }
    if form.plan_ids.is_none() && form.portfolio_plan_ids.is_none() {
        plans = work.all()?;
    }
    let mut seen = BTreeSet::new();
    plans.retain(|plan| seen.insert(plan.record.id.clone()));
    let mut shown = Vec::new();
    for plan in &plans {
        let audit = PlanHistory::new(work, form, plan)?;
        // A request without plan ids omits plans without matching entries.
        let asked = form.plan_ids.is_some() || form.portfolio_plan_ids.is_some();
        if asked || !audit.checks.is_empty() || !audit.outcomes.is_empty() {
            shown.push(audit.show(form.include_entries, plans.len() > 1)?);
        }
    }
    Ok(ToolReply::completed("the audit of the plans", json!({"plans": shown})))
}

/// History of one plan.
struct PlanHistory<'a> {
    plan: &'a Stored<GovernancePlan>,
    checks: Vec<Stored<GovernanceCheck>>,
    outcomes: Vec<Stored<GovernanceOutcome>>,
    /// Committed amount, regardless of the filters.
    committed: MoneyAmount,
}

impl<'a> PlanHistory<'a> {
    fn new(
        work: &ToolContext<'_>,
        form: &GetPlanAuditLogs,
        plan: &'a Stored<GovernancePlan>,
    ) -> Result<Self, InternalError> {
        let (mut checks, mut outcomes) = history(work, &plan.thing.plan_id)?;
        let committed = outcomes.iter().map(|stored| stored.thing.committed).sum();
        if let Some(kinds) = &form.purchase_types {
            checks.retain(|stored| kinds.contains(&stored.thing.purchase_type));
            outcomes.retain(|stored| kinds.contains(&stored.thing.purchase_type));
        }
        if let Some(tokens) = &form.governance_contexts {
            // A token identifies its action for the action's whole life.
            let is_named =
                |token: Option<&String>| token.is_some_and(|token| tokens.contains(token));
            let of_checks = checks.iter().map(|stored| &stored.thing);
            let of_checks = of_checks.filter(|check| is_named(check.governance_context.as_ref()));
            let of_outcomes = outcomes.iter().map(|stored| &stored.thing);
            let of_outcomes =
                of_outcomes.filter(|outcome| is_named(Some(&outcome.governance_context)));
            let of_outcomes = of_outcomes.map(|outcome| &outcome.action);
            let actions = of_checks.map(|check| &check.action).chain(of_outcomes);
            let actions: BTreeSet<String> = actions.cloned().collect();
            checks.retain(|stored| actions.contains(&stored.thing.action));
            outcomes.retain(|stored| actions.contains(&stored.thing.action));
        }
        Ok(Self { plan, checks, outcomes, committed })
    }

    /// Returns the plan with its budget, its governed actions, a summary and, with `entries`, the entries.
    fn show(&self, entries: bool, several: bool) -> Result<Value, InternalError> {
        let total =
            read(self.plan)?.budget.and_then(|budget| budget.total).unwrap_or(MoneyAmount::ZERO);
        let left = if self.committed < total { total - self.committed } else { MoneyAmount::ZERO };
        let used = MoneyAmount::whole(100).share(self.committed, total);
        Ok(object!({
            "plan_id": self.plan.thing.plan_id,
            "plan_version": self.plan.record.revision,
            "status": "active",
            "budget": {
                "authorized": total, "committed": self.committed, "remaining": left,
                "utilization_pct": used,
            },
            "governed_actions": self.actions(),
            "summary": self.summary(),
            "entries"?: entries.then(|| self.entries(several)),
        }))
    }

    /// Returns the actions in order of their start.
    fn actions(&self) -> Vec<Value> {
        let mut seen = BTreeSet::new();
        let of_checks = self.checks.iter().map(|stored| &stored.thing.action);
        let of_outcomes = self.outcomes.iter().map(|stored| &stored.thing.action);
        let actions = of_checks.chain(of_outcomes).filter(|action| seen.insert(*action));
        actions.map(|action| self.action(action)).collect()
    }

    /// Summarizes the checks and outcomes of one action.
    fn action(&self, action: &str) -> Value {
        let checks = self.checks.iter().map(|stored| &stored.thing);
        let checks: Vec<_> = checks.filter(|check| check.action == action).collect();
        let outcomes = self.outcomes.iter().map(|stored| &stored.thing);
        let outcomes: Vec<_> = outcomes.filter(|outcome| outcome.action == action).collect();
        let token = checks.iter().find_map(|check| check.governance_context.as_deref());
        let kind = checks.first().map(|check| &check.purchase_type);
        let mut latest = outcomes.iter().rev();
        let reference = latest.find_map(|outcome| outcome.seller_reference.as_ref());
        object!({
            // An action without a token is named by its first check.
            "governance_context": token.unwrap_or(action),
            "purchase_type"?: kind.or_else(|| Some(&outcomes.first()?.purchase_type)),
            "status": "active",
            "committed": outcomes.iter().map(|outcome| outcome.committed).sum::<MoneyAmount>(),
            "check_count": checks.len(),
            "seller_reference"?: reference,
        })
    }

    /// Counts checks, outcomes, verdicts and findings.
    fn summary(&self) -> Value {
        let of =
            |verdict| self.checks.iter().filter(|stored| stored.thing.verdict == verdict).count();
        let of_checks = self.checks.iter().map(|stored| stored.thing.findings.len());
        let of_outcomes = self.outcomes.iter().map(|stored| stored.thing.findings.len());
        json!({
            "checks_performed": self.checks.len(),
            "outcomes_reported": self.outcomes.len(),
            "statuses": {
                "approved": of(PlanVerdict::Approved),
                "denied": of(PlanVerdict::Denied),
                "conditions": of(PlanVerdict::Conditions),
                "human_reviewed": self.checks.iter().filter(|stored| stored.thing.reviewed).count(),
            },
            "findings_count": of_checks.chain(of_outcomes).sum::<usize>(),
        })
    }

    /// Returns all entries in chronological order.
    fn entries(&self, several: bool) -> Vec<Value> {
        let id = several.then_some(self.plan.thing.plan_id.as_str());
        let checks = self.checks.iter().map(|stored| (&stored.record, check(stored, id)));
        let outcomes = self.outcomes.iter().map(|stored| (&stored.record, outcome(stored, id)));
        let mut all: Vec<_> = checks.chain(outcomes).collect();
        all.sort_by_key(|(record, _)| record.place);
        all.into_iter().map(|(_, entry)| entry).collect()
    }
}

fn check(stored: &Stored<GovernanceCheck>, plan_id: Option<&str>) -> Value {
    let check = &stored.thing;
    object!({
        "id": check.check_id,
        "type": "check",
        "timestamp": stored.record.created_at,
        "plan_id"?: plan_id,
        "caller": check.caller,
        "tool"?: check.tool,
        "check_type": if check.tool.is_some() { "intent" } else { "execution" },
        "mode": "enforce",
        "purchase_type": check.purchase_type,
        "verdict": check.verdict,
        "explanation": check.explanation,
        "categories_evaluated": check.categories,
        "policies_evaluated"?: (!check.policies.is_empty()).then_some(&check.policies),
        "findings"?: (!check.findings.is_empty()).then_some(&check.findings),
        "plan_hash": check.plan_hash,
        "governance_context"?: check.governance_context,
    })
}

fn outcome(stored: &Stored<GovernanceOutcome>, plan_id: Option<&str>) -> Value {
    let outcome = &stored.thing;
    object!({
        "id": outcome.outcome_id,
        "type": "outcome",
        "timestamp": stored.record.created_at,
        "plan_id"?: plan_id,
        "purchase_type": outcome.purchase_type,
        "outcome": outcome.outcome,
        "outcome_status": if outcome.findings.is_empty() { "accepted" } else { "findings" },
        "committed_budget": outcome.committed,
        "findings"?: (!outcome.findings.is_empty()).then_some(&outcome.findings),
        "governance_context": outcome.governance_context,
    })
}
