//! `report_plan_outcome`: records the outcome of an action and the money that it commits.

use tradepost_adcp::error::AdcpCode;
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Value, json, object};

use super::decision::PlanFinding;
use super::{history, read, require};
use crate::forms::plans::ReportPlanOutcome;
use crate::money::MoneyAmount;
use crate::plan::{GovernanceCheck, GovernanceOutcome, PlanVerdict, Reported};
use crate::refusals::{self, AdcpRefusal, ToolError};
use crate::reply::ToolReply;
use crate::store::Stored;
use crate::tool_context::WriteContext;

pub(in crate::tools) fn perform(
    work: &WriteContext<'_>,
    form: &ReportPlanOutcome,
) -> Result<ToolReply, ToolError> {
    let id = form.plan_id.as_str();
    // Looked up before the plan, so that the same work is done whether the plan exists or not (AdCP
    // 3.1 `error-handling`, `U-9`).
    let named = form.check_id.as_ref().map(|id| work.find::<GovernanceCheck>(id)).transpose()?;
    let stored = require(work, id, "plan_id")?;
    let (checks, outcomes) = history(work, id)?;
    let check = authorizing(form, named, &checks)?;
    let check = check.as_ref();
    complete(form)?;
    let total = read(&stored)?.budget.and_then(|budget| budget.total).unwrap_or(MoneyAmount::ZERO);
    let committed = committed(form);
    let action = check.map_or(&form.governance_context, |check| &check.action);
    // A new report about an action replaces the earlier one.
    let others = outcomes.iter().filter(|stored| stored.thing.action != *action);
    let before: MoneyAmount = others.map(|stored| stored.thing.committed).sum();
    let all = before + committed;
    let found = findings(form, check, committed, all > total);
    let findings: Vec<Value> = found.iter().map(PlanFinding::show).collect();
    let of_check = || check.map(|check| check.purchase_type.clone());
    let purchase = form.purchase_type.clone().or_else(of_check);
    let response = form.seller_response.as_ref();
    let outcome = GovernanceOutcome {
        outcome_id: work.publisher.services.fresh_id("out"),
        action: action.clone(),
        outcome: form.outcome,
        purchase_type: purchase.unwrap_or_else(|| "media_buy".to_owned()),
        committed,
        seller_reference: response.and_then(|response| response.seller_reference.clone()),
        findings,
        governance_context: form.governance_context.clone(),
    };
    settle(work, &outcomes, &outcome)?;
    work.add(&outcome.outcome_id, (&work.admitted.reach.tenant, None), id, &outcome)?;
    let money = form.outcome != Reported::Delivery;
    let left = if all < total { total - all } else { MoneyAmount::ZERO };
    let state = if outcome.findings.is_empty() { "accepted" } else { "findings" };
    let body = object!({
        "outcome_id": outcome.outcome_id,
        "outcome_state": state,
        "committed_budget"?: money.then_some(committed),
        "findings"?: (state == "findings").then_some(outcome.findings),
        "plan_summary"?: money.then(|| json!({"total_committed": all, "budget_remaining": left})),
    });
    Ok(ToolReply::completed("the outcome is noted", body))
}

/// Returns the check that authorized the action: the named one, or the latest that issued the token.
/// Actions without a check are recorded as well, because their money is spent.
fn authorizing(
    form: &ReportPlanOutcome,
    named: Option<Option<Stored<GovernanceCheck>>>,
    checks: &[Stored<GovernanceCheck>],
) -> Result<Option<GovernanceCheck>, ToolError> {
    if let Some(found) = named {
        // A check of another plan does not count.
        let found = found.filter(|check| check.record.state == form.plan_id);
        let absent = || refusals::not_found(AdcpCode::ReferenceNotFound, None);
        return Ok(Some(found.ok_or_else(absent)?.thing));
    }
    let token = Some(&form.governance_context);
    let found =
        checks.iter().rev().find(|stored| stored.thing.governance_context.as_ref() == token);
    Ok(found.map(|stored| stored.thing.clone()))
}

/// Checks that the report has the part that its outcome requires (`report_plan_outcome`, "Fields").
fn complete(form: &ReportPlanOutcome) -> Result<(), AdcpRefusal> {
    let missing = match form.outcome {
        Reported::Completed if form.seller_response.is_none() => "seller_response",
        Reported::Failed if form.error.is_none() => "error",
        Reported::Delivery if form.delivery.is_none() => "delivery",
        Reported::Completed | Reported::Failed | Reported::Delivery => return Ok(()),
    };
    let message = "this part says what happened, and is required for this outcome";
    Err(refusals::invalid(missing, message).into())
}

/// Returns the amount committed by the seller's confirmation.
fn committed(form: &ReportPlanOutcome) -> MoneyAmount {
    let response = form.seller_response.as_ref();
    let Some(response) = response.filter(|_| form.outcome == Reported::Completed) else {
        return MoneyAmount::ZERO;
    };
    let packages = response.packages.iter().flatten();
    let planned = response.planned_delivery.as_ref().and_then(|planned| planned.total_budget);
    let summed: MoneyAmount = packages.filter_map(|package| package.budget).sum();
    // When packages have no budgets, the planned amount counts.
    let summed = if summed == MoneyAmount::ZERO { planned.unwrap_or(summed) } else { summed };
    response.committed_budget.unwrap_or(summed)
}

fn findings(
    form: &ReportPlanOutcome,
    check: Option<&GovernanceCheck>,
    committed: MoneyAmount,
    above: bool,
) -> Vec<PlanFinding> {
    let mut found = Vec::new();
    // A failed action has committed nothing.
    if form.outcome == Reported::Failed {
        return found;
    }
    match check {
        None => {
            let text = "no check under this plan issued the token of this action";
            found.push(PlanFinding::new("authorization", text));
        }
        Some(check) if check.verdict == PlanVerdict::Denied => {
            let text = "the action was denied and done all the same";
            found.push(PlanFinding::new("authorization", text));
        }
        Some(check) => {
            let approved = check.amount.filter(|amount| *amount != committed);
            if form.outcome == Reported::Completed
                && let Some(amount) = approved
            {
                let text = format!("{committed} is committed, and {amount} was checked");
                found.push(PlanFinding::warning("seller_verification", text));
            }
            let spent = form.delivery.as_ref().and_then(|delivered| delivered.spend);
            if check.amount.zip(spent).is_some_and(|(amount, spent)| spent > amount) {
                let text = "more was spent than was checked";
                found.push(PlanFinding::warning("budget_authority", text));
            }
        }
    }
    if above && form.outcome == Reported::Completed {
        let text = "more is committed than the plan's budget";
        found.push(PlanFinding::new("budget_authority", text));
    }
    found
}

/// Resets the earlier commitments of the action, unless the report is only about delivery.
fn settle(
    work: &WriteContext<'_>,
    known: &[Stored<GovernanceOutcome>],
    new: &GovernanceOutcome,
) -> Result<(), InternalError> {
    if new.outcome == Reported::Delivery {
        return Ok(());
    }
    let same = known.iter().filter(|stored| stored.thing.action == new.action);
    for stored in same.filter(|stored| stored.thing.committed != MoneyAmount::ZERO) {
        let mut stored = stored.clone();
        stored.thing.committed = MoneyAmount::ZERO;
        work.tx.change(&mut stored, work.call.now)?;
    }
    Ok(())
}
