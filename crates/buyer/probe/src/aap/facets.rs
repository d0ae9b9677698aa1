//! Checks of `inventory.facets` (R-FA).

use tradepost_aap::Skill;
use tradepost_client::replies::Facet;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};

use super::ask::first;
use crate::check::{
    Check, CheckResult, CheckVerdict, checks, fail_if, not_applicable, or_not_applicable,
    verdict_of,
};
use crate::run::ProbeRun;
use crate::shape::{ShapeProblems, items};

const WHY: &str = "A buyer agent offers its user the choices that the facets list.";

/// Names of the counted facets, and of the ranges (facets schema).
const TERMS: &[&str] = Facet::NAMES;
const RANGES: &[&str] = &["price_range", "mileage_range", "year_range"];

pub(super) const CHECKS: &[Check] = checks![
    "aap.facets.answer", Version, Must, ["R-FA-04"], "AAP facets schema",
    "Each facet is a list of values with their counts", WHY,
    "write value and count for each" => answer();
    "aap.facets.ranges", Version, Must, ["R-FA-04"], "AAP facets schema",
    "A range has min and max, in this order", WHY,
    "leave a range out where there is nothing in it" => ranges();
    "aap.facets.closed", Version, Must, ["R-FA-04"], "AAP facets schema",
    "There are no facets that the schema does not have", "Buyers that validate refuse the whole answer.",
    "leave out what the schema does not list" => closed();
    "aap.facets.filtered", Version, Must, ["R-FA-02"], "AAP inventory-facets",
    "With filters only what matches is counted", WHY,
    "count after filtering" => filtered();
    "aap.facets.same-keys", Version, Should, ["R-FA-03"], "AAP inventory-facets",
    "A filter takes away only facets that have nothing left", WHY,
    "compute the same facets with and without filters" => same_keys();
    "aap.facets.statuses", Version, Must, ["R-IS-02"], "AAP behavior rules",
    "Only vehicles on offer are counted", "A count of sold cars promises what nobody can buy.",
    "count available, intransit and pending" => statuses();
];

/// Returns the facets: `data` itself or its member `facets`.
fn body(data: &Value) -> Value {
    data.get("facets").unwrap_or(data).clone()
}

async fn facets(run: &mut ProbeRun) -> Result<Value, CheckVerdict> {
    Ok(body(&run.known(Skill::InventoryFacets, "{}").await?))
}

async fn answer(run: &mut ProbeRun) -> CheckResult {
    let facets = body(&run.data(Skill::InventoryFacets, "{}").await?);
    let mut wrong = ShapeProblems::default();
    for name in TERMS {
        for term in items(&facets, name) {
            let value = term.get("value").is_some_and(|value| value.is_string() || value.is_i64());
            wrong.unless(value, format!("an entry of {name} has no value"));
            let count = term.get("count").and_then(Value::as_u64).is_some();
            wrong.unless(count, format!("an entry of {name} has no count"));
        }
        let is_list = facets.get(name).is_none_or(Value::is_array);
        wrong.unless(is_list, format!("{name} is no list"));
    }
    verdict_of(&wrong.0)
}

async fn ranges(run: &mut ProbeRun) -> CheckResult {
    let facets = facets(run).await?;
    let mut wrong = ShapeProblems::default();
    let mut found = 0;
    for name in RANGES {
        let Some(range) = facets.get(name) else { continue };
        found += 1;
        let end = |name| range.get(name).and_then(Value::as_f64);
        match (end("min"), end("max")) {
            (Some(min), Some(max)) => wrong.unless(min <= max, format!("{name} is upside down")),
            _ => wrong.add(format!("{name} lacks min or max")),
        }
    }
    if found == 0 { not_applicable("there are no ranges") } else { verdict_of(&wrong.0) }
}

async fn closed(run: &mut ProbeRun) -> CheckResult {
    let facets = facets(run).await?;
    let mut wrong = ShapeProblems::default();
    wrong.closed(&facets, &[TERMS, RANGES, &["facets", "total"]].concat(), "facets");
    verdict_of(&wrong.0)
}

/// Returns all facets, and those of one make.
async fn of_one_make(run: &mut ProbeRun) -> Result<(Value, Value), CheckVerdict> {
    let all = facets(run).await?;
    let make = match items(&all, "makes").find_map(|term| term.get("value").cloned()) {
        Some(make) => make,
        None => {
            or_not_applicable(first(&run.vehicles().await?, "make").cloned(), "no make is known")?
        }
    };
    let members = json!({"filters": {"make": [make]}}).to_string();
    Ok((all, body(&run.data(Skill::InventoryFacets, &members).await?)))
}

fn sum(facets: &Value, name: &str) -> u64 {
    items(facets, name).filter_map(|term| term.get("count")?.as_u64()).sum()
}

async fn filtered(run: &mut ProbeRun) -> CheckResult {
    let (all, some) = of_one_make(run).await?;
    let mut wrong = ShapeProblems::default();
    for name in TERMS {
        let all = sum(&all, name);
        let some = sum(&some, name);
        wrong.unless(some <= all, format!("{name} counts {some} of {all}"));
    }
    let makes = items(&some, "makes").filter(|term| term.get("count") != Some(&json!(0))).count();
    wrong.unless(makes <= 1, format!("{makes} makes are counted, and one was asked for"));
    verdict_of(&wrong.0)
}

async fn same_keys(run: &mut ProbeRun) -> CheckResult {
    let (all, some) = of_one_make(run).await?;
    let has = |facets: &Value, name: &str| facets.get(name).is_some();
    // Facets that every vehicle has must be present.
    for name in ["makes", "statuses"] {
        fail_if(has(&all, name) && !has(&some, name), format!("{name} is gone"))?;
    }
    Ok(CheckVerdict::Pass)
}

async fn statuses(run: &mut ProbeRun) -> CheckResult {
    let facets = facets(run).await?;
    let mut wrong = ShapeProblems::default();
    for term in items(&facets, "statuses") {
        let value = term.get("value").and_then(Value::as_str).unwrap_or_default();
        let holds = super::search::STATUSES.contains(&value);
        wrong.unless(holds, format!("vehicles of the status {value:?} are counted"));
    }
    verdict_of(&wrong.0)
}
