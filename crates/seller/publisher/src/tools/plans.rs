//! The governance role: `sync_plans`, `check_governance`, `report_plan_outcome` and
//! `get_plan_audit_logs`.

use std::collections::BTreeSet;

use tradepost_adcp::error::AdcpCode;
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Map, Value, json};
use tradepost_document::typed::Typed as _;

use crate::forms::plans::{GivenPlan, KeptPlan, SyncPlans};
use crate::money::MoneyAmount;
use crate::plan::{
    CATEGORIES, GovernanceCheck, GovernanceOutcome, GovernancePlan, UNJUDGED, WINDOW,
};
use crate::refusals::{self, AdcpRefusal, ToolError};
use crate::reply::ToolReply;
use crate::store::{Query, Stored, own_id};
use crate::tool_context::{ToolContext, WriteContext};

mod audit;
mod check;
mod decision;
mod outcome;

pub(super) use audit::perform as audit;
pub(super) use check::perform as check;
pub(super) use outcome::perform as report;

/// Handles `sync_plans`.
pub(super) fn sync(work: &WriteContext<'_>, form: &SyncPlans) -> Result<ToolReply, ToolError> {
    // A row cannot carry errors, so that one invalid plan refuses the request.
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, plan) in form.plans.iter().enumerate() {
        if !seen.insert(&plan.plan_id) {
            let field = format!("plans[{index}].plan_id");
            errors.push(refusals::invalid(&field, "the same plan stands in the request twice"));
        }
        if plan.flight.end <= plan.flight.start {
            let field = format!("plans[{index}].flight.end");
            errors.push(refusals::invalid(&field, "the flight ends before it begins"));
        }
        if plan.budget.total < MoneyAmount::ZERO {
            let field = format!("plans[{index}].budget.total");
            errors.push(refusals::invalid(&field, "a budget is not less than nothing"));
        }
    }
    AdcpRefusal::of_all(errors)?;
    let mut shown = Vec::new();
    for GivenPlan { plan_id, sent, .. } in &form.plans {
        let version = put(work, &work.admitted.reach.tenant, plan_id, sent)?;
        shown.push(json!({
            "plan_id": plan_id,
            "status": "active",
            "version": version,
            "categories": categories(sent),
        }));
    }
    Ok(ToolReply::completed("the plans are there", json!({"plans": shown})))
}

/// Stores a plan and returns its revision.
pub(crate) fn put(
    work: &WriteContext<'_>,
    owner: &str,
    id: &str,
    given: &Map,
) -> Result<u64, InternalError> {
    let place = own_id(owner, "", id);
    let Some(mut known) = work.reader.find::<GovernancePlan>(&place)? else {
        work.add(&place, (owner, None), "", &GovernancePlan::new(id, given, Vec::new()))?;
        return Ok(1);
    };
    known.thing = GovernancePlan::new(id, given, known.thing.hashes);
    work.tx.change(&mut known, work.call.now)?;
    Ok(known.record.revision)
}

/// Finds the caller's plan by id; `field` is the member of the request that names it.
fn require(
    work: &ToolContext<'_>,
    id: &str,
    field: &str,
) -> Result<Stored<GovernancePlan>, ToolError> {
    let place = own_id(&work.admitted.reach.tenant, "", id);
    work.require(&place, AdcpCode::PlanNotFound, Some(field))
}

/// Reads the members of a plan.
fn read(plan: &Stored<GovernancePlan>) -> Result<KeptPlan, InternalError> {
    let unread = || InternalError::new("reading a plan", "it is not in the form that it has");
    KeptPlan::read(&plan.thing.given.clone().into()).ok_or_else(unread)
}

/// Checks and outcomes of a plan.
type History = (Vec<Stored<GovernanceCheck>>, Vec<Stored<GovernanceOutcome>>);

/// Returns all checks and outcomes of a plan in chronological order.
fn history(work: &ToolContext<'_>, plan_id: &str) -> Result<History, InternalError> {
    let reach = &work.admitted.reach;
    let query = Query::with_state(plan_id);
    Ok((reach.all(work.reader, &query)?, reach.all(work.reader, &query)?))
}

/// Returns the amount recently committed under all plans of the caller in a currency, except by one
/// action.
fn committed_lately(
    work: &ToolContext<'_>,
    action: &str,
    currency: Option<&str>,
) -> Result<MoneyAmount, InternalError> {
    let plans: Vec<Stored<GovernancePlan>> = work.all()?;
    let alike = plans.iter().filter(|stored| stored.thing.currency() == currency);
    let alike: BTreeSet<_> = alike.map(|stored| &stored.thing.plan_id).collect();
    let all: Vec<Stored<GovernanceOutcome>> = work.all()?;
    let recent = all.iter().filter(|stored| {
        stored.thing.action != action
            && alike.contains(&stored.record.state)
            && work.call.now.duration_since(stored.record.created_at) <= WINDOW
    });
    Ok(recent.map(|stored| stored.thing.committed).sum())
}

/// Returns the categories that a plan demands; those that are not evaluated here are inactive.
fn categories(plan: &Map) -> Vec<Value> {
    let evaluated = CATEGORIES.iter().map(|row| (row, "active"));
    let all = evaluated.chain(UNJUDGED.iter().map(|row| (row, "inactive")));
    let demanded = all.filter(|((_, member), _)| plan.contains_key(*member));
    let shown = demanded.map(|((name, _), status)| json!({"category_id": name, "status": status}));
    let mut shown: Vec<Value> = shown.collect();
    // Two adjacent members of a plan may belong to one category.
    shown.dedup();
    shown
}
