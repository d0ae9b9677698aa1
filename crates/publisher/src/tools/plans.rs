//! The governance role: `sync_plans` and `check_governance`.

use std::collections::BTreeSet;

use tradepost_wire::fault::Fault;
use tradepost_wire::json::{Map, Value, json};

use crate::forms::plans::{GivenPlan, SyncPlans};
use crate::money::Amount;
use crate::plan::{CATEGORIES, Plan, UNJUDGED};
use crate::refuse::{self, Refusal, Stop};
use crate::reply::Reply;
use crate::shelf::{Kept, New, own_id};
use crate::work::Work;

mod check;

pub(super) use check::perform as check;

/// `sync_plans`.
pub(super) fn sync(work: &Work<'_>, form: &SyncPlans) -> Result<Reply, Stop> {
    // A row has no room for errors, so that one bad plan refuses them all.
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, plan) in form.plans.iter().enumerate() {
        if !seen.insert(&plan.plan_id) {
            let field = format!("plans[{index}].plan_id");
            errors.push(refuse::invalid(&field, "the same plan stands in the request twice"));
        }
        if plan.flight.end <= plan.flight.start {
            let field = format!("plans[{index}].flight.end");
            errors.push(refuse::invalid(&field, "the flight ends before it begins"));
        }
        if plan.budget.total < Amount::ZERO {
            let field = format!("plans[{index}].budget.total");
            errors.push(refuse::invalid(&field, "a budget is not less than nothing"));
        }
    }
    Refusal::of_all(errors)?;
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
    Ok(Reply::completed("the plans are there", json!({"plans": shown})))
}

/// Puts a plan there, and returns how often it was put.
pub(super) fn put(work: &Work<'_>, owner: &str, id: &str, given: &Map) -> Result<u64, Fault> {
    let place = own_id(owner, "", id);
    let plan = Plan { plan_id: id.to_owned(), given: given.clone() };
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
fn categories(plan: &Map) -> Vec<Value> {
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
