//! `get_plan_audit_logs`: what was decided under plans, and what became of it.

use std::collections::BTreeSet;

use tradepost_wire::adcp::error::Code;
use tradepost_wire::adcp::rules::typed::Typed as _;
use tradepost_wire::fault::Fault;
use tradepost_wire::json::{Value, json};

use super::history;
use crate::forms::plans::{GetPlanAuditLogs, KeptPlan};
use crate::money::Amount;
use crate::plan::{Check, Outcome, Plan, Verdict};
use crate::refuse::Stop;
use crate::reply::{Reply, object};
use crate::shelf::{Kept, Query, own_id};
use crate::work::Work;

pub(in crate::tools) fn perform(work: &Work<'_>, form: &GetPlanAuditLogs) -> Result<Reply, Stop> {
    let mut plans = Vec::new();
    for id in form.plan_ids.iter().flatten() {
        plans.push(require(work, id, "plan_ids")?);
    }
    for id in form.portfolio_plan_ids.iter().flatten() {
        let portfolio = require(work, id, "portfolio_plan_ids")?;
        let members = read(&portfolio)?.portfolio.and_then(|portfolio| portfolio.member_plan_ids);
        plans.push(portfolio);
        // A member that was never put there has no history.
        for member in members.iter().flatten() {
            let place = own_id(&work.admitted.reach.tenant, "", member);
            plans.extend(work.admitted.reach.find::<Plan>(work.shelf, &place)?);
        }
    }
    if form.plan_ids.is_none() && form.portfolio_plan_ids.is_none() {
        plans = work.admitted.reach.all(work.shelf, &Query::default())?;
    }
    let mut seen = BTreeSet::new();
    plans.retain(|plan| seen.insert(plan.record.id.clone()));
    let mut shown = Vec::new();
    for plan in &plans {
        let audit = Audit::of(work, form, plan)?;
        // Who asks for actions alone is told nothing of plans that have none of them.
        let asked = form.plan_ids.is_some() || form.portfolio_plan_ids.is_some();
        if asked || !audit.checks.is_empty() || !audit.outcomes.is_empty() {
            shown.push(audit.show(form.include_entries, plans.len() > 1)?);
        }
    }
    Ok(Reply::completed("the audit of the plans", json!({"plans": shown})))
}

fn require(work: &Work<'_>, id: &str, field: &str) -> Result<Kept<Plan>, Stop> {
    let reach = &work.admitted.reach;
    let place = own_id(&reach.tenant, "", id);
    reach.require::<Plan>(work.shelf, &place, Code::PlanNotFound, Some(field))
}

fn read(plan: &Kept<Plan>) -> Result<KeptPlan, Fault> {
    let unread = || Fault::new("reading a plan", "it is not in the form that it has");
    KeptPlan::read(&plan.thing.given.clone().into()).ok_or_else(unread)
}

/// The history of one plan.
struct Audit<'a> {
    plan: &'a Kept<Plan>,
    checks: Vec<Kept<Check>>,
    outcomes: Vec<Kept<Outcome>>,
    /// What is committed, whatever the caller asked to see.
    committed: Amount,
}

impl<'a> Audit<'a> {
    fn of(work: &Work<'_>, form: &GetPlanAuditLogs, plan: &'a Kept<Plan>) -> Result<Self, Fault> {
        let (mut checks, mut outcomes) = history(work, &plan.thing.plan_id)?;
        let committed = outcomes.iter().map(|kept| kept.thing.committed).sum();
        if let Some(kinds) = &form.purchase_types {
            checks.retain(|kept| kinds.contains(&kept.thing.purchase_type));
            outcomes.retain(|kept| kinds.contains(&kept.thing.purchase_type));
        }
        if let Some(tokens) = &form.governance_contexts {
            // A token stands for the whole life of its action.
            let of_checks = checks.iter().filter(|kept| {
                kept.thing.governance_context.as_ref().is_some_and(|it| tokens.contains(it))
            });
            let of_outcomes =
                outcomes.iter().filter(|kept| tokens.contains(&kept.thing.governance_context));
            let actions: BTreeSet<String> = of_checks
                .map(|kept| kept.thing.action.clone())
                .chain(of_outcomes.map(|kept| kept.thing.action.clone()))
                .collect();
            checks.retain(|kept| actions.contains(&kept.thing.action));
            outcomes.retain(|kept| actions.contains(&kept.thing.action));
        }
        Ok(Self { plan, checks, outcomes, committed })
    }

    fn show(&self, entries: bool, several: bool) -> Result<Value, Fault> {
        let total = read(self.plan)?.budget.and_then(|budget| budget.total).unwrap_or(Amount::ZERO);
        let left = if self.committed < total { total - self.committed } else { Amount::ZERO };
        let used = Amount::whole(100).share(self.committed, total);
        let budget = json!({
            "authorized": total, "committed": self.committed, "remaining": left,
            "utilization_pct": used,
        });
        Ok(Value::Object(object([
            ("plan_id", Some(json!(self.plan.thing.plan_id))),
            ("plan_version", Some(json!(self.plan.record.revision))),
            ("status", Some("active".into())),
            ("budget", Some(budget)),
            ("governed_actions", Some(self.actions().into())),
            ("summary", Some(self.summary())),
            ("entries", entries.then(|| self.entries(several).into())),
        ])))
    }

    /// The actions, in the order in which they began.
    fn actions(&self) -> Vec<Value> {
        let mut seen = BTreeSet::new();
        let of_checks = self.checks.iter().map(|kept| &kept.thing.action);
        let of_outcomes = self.outcomes.iter().map(|kept| &kept.thing.action);
        let actions = of_checks.chain(of_outcomes).filter(|action| seen.insert(*action));
        actions.map(|action| self.action(action)).collect()
    }

    fn action(&self, action: &str) -> Value {
        let checks: Vec<_> =
            self.checks.iter().filter(|kept| kept.thing.action == action).collect();
        let outcomes: Vec<_> =
            self.outcomes.iter().filter(|kept| kept.thing.action == action).collect();
        let token = checks.iter().find_map(|kept| kept.thing.governance_context.clone());
        let kind = checks.first().map(|kept| &kept.thing.purchase_type);
        let kind = kind.or_else(|| outcomes.first().map(|kept| &kept.thing.purchase_type));
        let reference = outcomes.iter().rev().find_map(|kept| kept.thing.seller_reference.clone());
        let committed: Amount = outcomes.iter().map(|kept| kept.thing.committed).sum();
        Value::Object(object([
            // An action that was never attested goes by its first check.
            ("governance_context", Some(json!(token.as_deref().unwrap_or(action)))),
            ("purchase_type", kind.map(|kind| json!(kind))),
            ("status", Some("active".into())),
            ("committed", Some(json!(committed))),
            ("check_count", Some(json!(checks.len()))),
            ("seller_reference", reference.map(|it| json!(it))),
        ]))
    }

    fn summary(&self) -> Value {
        let of = |verdict| self.checks.iter().filter(|kept| kept.thing.verdict == verdict).count();
        let of_checks = self.checks.iter().map(|kept| kept.thing.findings.len());
        let of_outcomes = self.outcomes.iter().map(|kept| kept.thing.findings.len());
        json!({
            "checks_performed": self.checks.len(),
            "outcomes_reported": self.outcomes.len(),
            "statuses": {
                "approved": of(Verdict::Approved),
                "denied": of(Verdict::Denied),
                "conditions": of(Verdict::Conditions),
                "human_reviewed": self.checks.iter().filter(|kept| kept.thing.reviewed).count(),
            },
            "findings_count": of_checks.chain(of_outcomes).sum::<usize>(),
        })
    }

    /// Everything, in the order of happening.
    fn entries(&self, several: bool) -> Vec<Value> {
        let id = several.then(|| json!(self.plan.thing.plan_id));
        let checks = self.checks.iter().map(|kept| (&kept.record, check(kept, id.clone())));
        let outcomes = self.outcomes.iter().map(|kept| (&kept.record, outcome(kept, id.clone())));
        let mut all: Vec<_> = checks.chain(outcomes).collect();
        all.sort_by_key(|(record, _)| record.place);
        all.into_iter().map(|(_, entry)| entry).collect()
    }
}

fn check(kept: &Kept<Check>, plan_id: Option<Value>) -> Value {
    let Check { check_id, caller, tool, verdict, explanation, .. } = &kept.thing;
    let Check { categories, policies, findings, plan_hash, purchase_type, .. } = &kept.thing;
    Value::Object(object([
        ("id", Some(json!(check_id))),
        ("type", Some("check".into())),
        ("timestamp", Some(json!(kept.record.created_at))),
        ("plan_id", plan_id),
        ("caller", Some(json!(caller))),
        ("tool", tool.as_ref().map(|tool| json!(tool))),
        ("check_type", Some(if tool.is_some() { "intent" } else { "execution" }.into())),
        ("mode", Some("enforce".into())),
        ("purchase_type", Some(json!(purchase_type))),
        ("verdict", Some(json!(verdict))),
        ("explanation", Some(json!(explanation))),
        ("categories_evaluated", Some(json!(categories))),
        ("policies_evaluated", (!policies.is_empty()).then(|| json!(policies))),
        ("findings", (!findings.is_empty()).then(|| json!(findings))),
        ("plan_hash", Some(json!(plan_hash))),
        ("governance_context", kept.thing.governance_context.as_ref().map(|it| json!(it))),
    ]))
}

fn outcome(kept: &Kept<Outcome>, plan_id: Option<Value>) -> Value {
    let Outcome { outcome_id, outcome, committed, findings, purchase_type, .. } = &kept.thing;
    let state = if findings.is_empty() { "accepted" } else { "findings" };
    Value::Object(object([
        ("id", Some(json!(outcome_id))),
        ("type", Some("outcome".into())),
        ("timestamp", Some(json!(kept.record.created_at))),
        ("plan_id", plan_id),
        ("purchase_type", Some(json!(purchase_type))),
        ("outcome", Some(json!(outcome))),
        ("outcome_status", Some(state.into())),
        ("committed_budget", Some(json!(committed))),
        ("findings", (!findings.is_empty()).then(|| json!(findings))),
        ("governance_context", Some(json!(kept.thing.governance_context))),
    ]))
}
