//! What a buyer proposes beside the price: how delivery is measured, to which standards, what is
//! reported, and what is optimized.

use serde_json::{Map, Value, json};
use tradepost_wire::adcp::error::{Code, Error};

use super::{number, objects, text};
use crate::catalogue::Product;
use crate::money;
use crate::refuse::{at, invalid, with};

/// The least variance between two counts that is accepted where a product says nothing, in percent: no
/// two vendors ever count the same.
const LEAST_VARIANCE: f64 = 5.0;

/// Looks at the terms of a package.
pub(super) fn check(
    product: &Product,
    given: &Map<String, Value>,
    place: &str,
    problems: &mut Vec<Error>,
) {
    if let Some(terms) = given.get("measurement_terms").and_then(Value::as_object) {
        measurement(product, terms, &format!("{place}.measurement_terms"), problems);
    }
    standards(product, given, place, problems);
    metrics(product, given, place, problems);
    goals(product, given, place, problems);
}

/// A term that is not accepted, with what would be.
fn rejected(field: &str, message: &str, accepted: Value) -> Error {
    with(at(Code::TermsRejected, field, message), "accepted", accepted)
}

/// The member of an object within an object.
fn within<'a>(members: &'a Map<String, Value>, names: &[&str]) -> Option<&'a Value> {
    let (first, rest) = names.split_first()?;
    rest.iter().try_fold(members.get(*first)?, |value, name| value.get(name))
}

fn measurement(
    product: &Product,
    terms: &Map<String, Value>,
    place: &str,
    problems: &mut Vec<Error>,
) {
    let ours = product.published.get("measurement_terms").and_then(Value::as_object);
    let own = |names: &[&str]| ours.and_then(|ours| within(ours, names));
    let variance = within(terms, &["billing_measurement", "max_variance_percent"]);
    let least = own(&["billing_measurement", "max_variance_percent"]).and_then(Value::as_f64);
    let least = least.unwrap_or(LEAST_VARIANCE);
    if variance.and_then(Value::as_f64).is_some_and(|asked| asked < least) {
        let field = format!("{place}.billing_measurement.max_variance_percent");
        let message = "the counts of two vendors differ by more than that";
        let accepted = json!({"minimum": money::number(least)});
        problems.push(rejected(&field, message, accepted));
    }
    let windows = within(&product.published, &["reporting_capabilities", "measurement_windows"]);
    let windows: Vec<_> = windows
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|window| window.get("window_id").cloned())
        .collect();
    let window = within(terms, &["billing_measurement", "measurement_window"]);
    if let Some(window) = window
        && !windows.is_empty()
        && !windows.contains(window)
    {
        let field = format!("{place}.billing_measurement.measurement_window");
        let message = "the product is not measured over this window";
        problems.push(rejected(&field, message, json!(windows)));
    }
    let offered = own(&["makegood_policy", "available_remedies"]).and_then(Value::as_array);
    let asked = within(terms, &["makegood_policy", "available_remedies"]).and_then(Value::as_array);
    if let (Some(offered), Some(asked)) = (offered, asked)
        && !asked.iter().any(|remedy| offered.contains(remedy))
    {
        let field = format!("{place}.makegood_policy.available_remedies");
        let message = "the seller makes good in other ways";
        problems.push(rejected(&field, message, json!(offered)));
    }
}

/// A product promises its own standards, and no stricter ones.
fn standards(
    product: &Product,
    given: &Map<String, Value>,
    place: &str,
    problems: &mut Vec<Error>,
) {
    for (index, asked) in objects(given, "performance_standards") {
        let metric = text(asked, "metric").unwrap_or_default();
        let ours = objects(&product.published, "performance_standards")
            .find(|(_, ours)| text(ours, "metric") == Some(metric));
        let promised = ours.and_then(|(_, ours)| number(ours, "threshold"));
        let threshold = number(asked, "threshold").unwrap_or_default();
        let fits = promised.is_some_and(|promised| {
            // Invalid traffic is a ceiling; everything else is a floor.
            if metric == "ivt" { threshold >= promised } else { threshold <= promised }
        });
        if !fits {
            let field = format!("{place}.performance_standards[{index}]");
            let message =
                "the product does not promise that; its performance_standards says what it does";
            let accepted = promised.map_or(
                json!([]),
                |promised| json!([{"metric": metric, "threshold": money::number(promised)}]),
            );
            problems.push(rejected(&field, message, accepted));
        }
    }
}

/// What is reported is what the product reports.
fn metrics(product: &Product, given: &Map<String, Value>, place: &str, problems: &mut Vec<Error>) {
    let known = within(&product.published, &["reporting_capabilities", "available_metrics"]);
    let known = known.and_then(Value::as_array).cloned().unwrap_or_default();
    for (index, asked) in objects(given, "committed_metrics") {
        let standard = text(asked, "scope") == Some("standard");
        let fits = standard && asked.get("metric_id").is_some_and(|metric| known.contains(metric));
        if !fits {
            let field = format!("{place}.committed_metrics[{index}]");
            let message = "the product does not report this metric";
            problems.push(rejected(&field, message, json!(known)));
        }
    }
}

/// The metrics that are promised. When that was is added when the buy is confirmed.
pub(super) fn committed(given: &Map<String, Value>) -> Option<Value> {
    given.get("committed_metrics").cloned()
}

/// What a package is optimized for. A product that declares what it can be optimized for takes nothing
/// else; one that declares nothing takes a goal as a wish.
pub(super) fn goals(
    product: &Product,
    given: &Map<String, Value>,
    place: &str,
    problems: &mut Vec<Error>,
) {
    let declared = product.published.get("metric_optimization").and_then(Value::as_object);
    for (index, goal) in objects(given, "optimization_goals") {
        let place = format!("{place}.optimization_goals[{index}]");
        match text(goal, "kind") {
            Some("metric") => metric_goal(declared, goal, &place, problems),
            Some("vendor_metric") => {
                let message =
                    "this seller does not optimize for metrics of vendors; leave the goal out";
                problems.push(at(Code::UnsupportedFeature, &place, message));
            }
            Some(_) | None => {}
        }
    }
}

fn metric_goal(
    declared: Option<&Map<String, Value>>,
    goal: &Map<String, Value>,
    place: &str,
    problems: &mut Vec<Error>,
) {
    let one_of = |list: &str, member: &str| -> Option<Error> {
        let known = declared?.get(list)?.as_array()?;
        let asked = goal.get(member)?;
        let same =
            |one: &Value| one == asked || (one.is_number() && one.as_f64() == asked.as_f64());
        if known.iter().any(same) {
            return None;
        }
        let message =
            "the product cannot be optimized for that; details.accepted_values lists for what";
        let error = invalid(&format!("{place}.{member}"), message);
        Some(with(error, "accepted_values", json!(known)))
    };
    problems.extend(one_of("supported_metrics", "metric"));
    problems.extend(one_of("supported_view_durations", "view_duration_seconds"));
    problems.extend(one_of("supported_reach_units", "reach_unit"));
    let target = goal.get("target").and_then(|target| target.get("kind"));
    let known = declared.and_then(|declared| declared.get("supported_targets")?.as_array());
    if let (Some(target), Some(known)) = (target, known)
        && !known.contains(target)
    {
        let message =
            "the product takes no such target; details.accepted_values lists which it takes";
        let error = invalid(&format!("{place}.target.kind"), message);
        problems.push(with(error, "accepted_values", json!(known)));
    }
}
