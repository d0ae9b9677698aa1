//! The governance role: `sync_plans` and `check_governance`.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use tradepost_wire::adcp::Tool;

use super::{Reply, Work};
use crate::plan::{CATEGORIES, Plan, UNJUDGED};
use crate::refuse::{self, Refusal, Stop};
use crate::shelf::{Broken, Kept, New, own_id};

mod check;

/// Does the work of these tools.
pub(super) fn perform(work: &Work<'_>) -> Result<Reply, Stop> {
    if work.ask.tool == Tool::CheckGovernance { check::perform(work) } else { sync(work) }
}

fn sync(work: &Work<'_>) -> Result<Reply, Stop> {
    let plans = work.ask.arguments.get("plans").and_then(Value::as_array);
    let plans: Vec<&Map<String, Value>> =
        plans.into_iter().flatten().filter_map(Value::as_object).collect();
    // A row has no room for errors, so that one bad plan refuses them all.
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, plan) in plans.iter().enumerate() {
        if !seen.insert(id(plan)) {
            let field = format!("plans[{index}].plan_id");
            errors.push(refuse::invalid(&field, "the same plan stands in the request twice"));
        }
        let moment = |name: &str| flight(plan, name);
        if let (Some(start), Some(end)) = (moment("start"), moment("end"))
            && end <= start
        {
            let field = format!("plans[{index}].flight.end");
            errors.push(refuse::invalid(&field, "the flight ends before it begins"));
        }
        let total = plan.get("budget").and_then(|budget| budget.get("total"));
        if total.and_then(Value::as_f64).is_some_and(|total| total < 0.0) {
            let field = format!("plans[{index}].budget.total");
            errors.push(refuse::invalid(&field, "a budget is not less than nothing"));
        }
    }
    Refusal::of_all(errors)?;
    let mut shown = Vec::new();
    for plan in plans {
        let version = put(work, &work.admitted.reach.tenant, plan)?;
        shown.push(json!({
            "plan_id": id(plan),
            "status": "active",
            "version": version,
            "categories": categories(plan),
        }));
    }
    Ok(Reply::completed("the plans are there", json!({"plans": shown})))
}

/// Puts a plan there, and returns how often it was put.
pub(super) fn put(work: &Work<'_>, owner: &str, given: &Map<String, Value>) -> Result<u64, Broken> {
    let place = own_id(owner, "", id(given));
    let plan = Plan { plan_id: id(given).to_owned(), given: given.clone() };
    let known: Option<Kept<Plan>> = work.shelf.find(&place)?;
    let Some(mut known) = known else {
        let new = New { id: &place, owner, account: None, state: "", now: work.ask.now };
        work.shelf.add(new, &plan)?;
        return Ok(1);
    };
    known.thing = plan;
    work.shelf.change(&mut known, work.ask.now)?;
    Ok(known.record.revision)
}

/// What the plan is judged by; inactive is what it demands and nobody judges here.
fn categories(plan: &Map<String, Value>) -> Vec<Value> {
    let demanded = |(_, member): &&(&str, &str)| plan.contains_key(*member);
    let mut shown: Vec<Value> = CATEGORIES
        .iter()
        .filter(demanded)
        .map(|(name, _)| json!({"category_id": name, "status": "active"}))
        .collect();
    for (name, _) in UNJUDGED.iter().filter(demanded) {
        let row = json!({"category_id": name, "status": "inactive"});
        if !shown.contains(&row) {
            shown.push(row);
        }
    }
    shown
}

fn id(plan: &Map<String, Value>) -> &str {
    plan.get("plan_id").and_then(Value::as_str).unwrap_or_default()
}

fn flight(plan: &Map<String, Value>, name: &str) -> Option<Timestamp> {
    plan.get("flight")?.get(name)?.as_str()?.parse().ok()
}
