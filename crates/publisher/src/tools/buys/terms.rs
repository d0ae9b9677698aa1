//! What a buyer proposes beside the price: how delivery is measured, to which standards, what is
//! reported, and what is optimized.

use tradepost_wire::adcp::error::{Code, Error};
use tradepost_wire::json::{Value, json};

use crate::catalogue::{Optimization, Product};
use crate::forms::buys::{
    CommittedMetric, Goal, GoalKind, MeasurementTerms, MetricScope, PackageRequest, Standard,
};
use crate::money::{self, Amount};
use crate::refuse::{at, invalid, with};

/// The least variance between two counts that is accepted where a product says nothing, in percent: no
/// two vendors ever count the same.
const LEAST_VARIANCE: Amount = Amount::whole(5);

/// Looks at the terms of a package.
pub(super) fn check(
    product: &Product,
    given: &PackageRequest,
    place: &str,
    problems: &mut Vec<Error>,
) {
    if let Some(terms) = &given.measurement_terms {
        measurement(product, terms, &format!("{place}.measurement_terms"), problems);
    }
    standards(product, &given.performance_standards, place, problems);
    metrics(product, &given.committed_metrics, place, problems);
    goals(product, &given.optimization_goals, place, problems);
}

/// A term that is not accepted, with what would be.
fn rejected(field: &str, message: &str, accepted: Value) -> Error {
    with(at(Code::TermsRejected, field, message), "accepted", accepted)
}

fn measurement(
    product: &Product,
    terms: &MeasurementTerms,
    place: &str,
    problems: &mut Vec<Error>,
) {
    let billing = terms.billing_measurement.as_ref();
    // The product says its terms in the words in which a buyer asks for others.
    let ours = product.published.measurement_terms.as_ref();
    let own = ours.and_then(|ours| ours.billing_measurement.as_ref());
    let least = own.and_then(|own| own.max_variance_percent).unwrap_or(LEAST_VARIANCE);
    let variance = billing.and_then(|billing| billing.max_variance_percent);
    if variance.is_some_and(|asked| asked < least) {
        let field = format!("{place}.billing_measurement.max_variance_percent");
        let message = "the counts of two vendors differ by more than that";
        let accepted = json!({"minimum": least});
        problems.push(rejected(&field, message, accepted));
    }
    let reported = product.published.reporting_capabilities.iter();
    let windows = reported.flat_map(|reported| reported.measurement_windows.iter());
    let windows: Vec<_> = windows.filter_map(|window| window.window_id.as_deref()).collect();
    if let Some(window) = billing.and_then(|billing| billing.measurement_window.as_deref())
        // A product that names no windows refuses none.
        && !windows.is_empty()
        && !windows.contains(&window)
    {
        let field = format!("{place}.billing_measurement.measurement_window");
        let message = "the product is not measured over this window";
        problems.push(rejected(&field, message, json!(windows)));
    }
    let offered = ours.and_then(|ours| ours.makegood_policy.as_ref());
    if let (Some(offered), Some(asked)) = (offered, &terms.makegood_policy)
        && !asked.available_remedies.iter().any(|one| offered.available_remedies.contains(one))
    {
        let field = format!("{place}.makegood_policy.available_remedies");
        let message = "the seller makes good in other ways";
        problems.push(rejected(&field, message, json!(offered.available_remedies)));
    }
}

/// A product promises its own standards, and no stricter ones.
fn standards(product: &Product, given: &[Standard], place: &str, problems: &mut Vec<Error>) {
    for (index, Standard { metric, threshold }) in given.iter().enumerate() {
        let mut ours = product.published.performance_standards.iter();
        let ours = ours.find(|ours| ours.metric.as_ref() == Some(metric));
        let promised = ours.and_then(|ours| ours.threshold);
        let threshold = *threshold;
        let fits = promised.is_some_and(|promised| {
            // Invalid traffic is a ceiling; everything else is a floor.
            if metric == "ivt" { threshold >= promised } else { threshold <= promised }
        });
        if !fits {
            let field = format!("{place}.performance_standards[{index}]");
            let message =
                "the product does not promise that; its performance_standards says what it does";
            let accepted = promised
                .map_or(json!([]), |promised| json!([{"metric": metric, "threshold": promised}]));
            problems.push(rejected(&field, message, accepted));
        }
    }
}

/// What is reported is what the product reports.
fn metrics(product: &Product, given: &[CommittedMetric], place: &str, problems: &mut Vec<Error>) {
    let known = product.metrics();
    for (index, asked) in given.iter().enumerate() {
        let is_known = known.iter().any(|known| *known == asked.metric_id);
        if asked.scope != MetricScope::Standard || !is_known {
            let field = format!("{place}.committed_metrics[{index}]");
            let message = "the product does not report this metric";
            problems.push(rejected(&field, message, json!(known)));
        }
    }
}

/// What a package is optimized for. A product that declares what it can be optimized for takes nothing
/// else; one that declares nothing takes a goal as a wish.
pub(super) fn goals(product: &Product, given: &[Goal], place: &str, problems: &mut Vec<Error>) {
    let declared = product.published.metric_optimization.as_ref();
    for (index, goal) in given.iter().enumerate() {
        let place = format!("{place}.optimization_goals[{index}]");
        match goal.kind {
            GoalKind::Metric => metric_goal(declared, goal, &place, problems),
            GoalKind::VendorMetric => {
                let message =
                    "this seller does not optimize for metrics of vendors; leave the goal out";
                problems.push(at(Code::UnsupportedFeature, &place, message));
            }
            GoalKind::Event => {}
        }
    }
}

fn metric_goal(
    declared: Option<&Optimization>,
    goal: &Goal,
    place: &str,
    problems: &mut Vec<Error>,
) {
    type List = fn(&Optimization) -> &Option<Vec<Value>>;
    let one_of = |list: List, member: &str, asked: &Option<Value>| -> Option<Error> {
        let (known, asked) = (list(declared?).as_ref()?, asked.as_ref()?);
        // A number is sent as `15` or as `15.0`.
        if known.iter().any(|one| one == asked || money::same(one, asked)) {
            return None;
        }
        let message =
            "the product cannot be optimized for that; details.accepted_values lists for what";
        let error = invalid(&format!("{place}.{member}"), message);
        Some(with(error, "accepted_values", json!(known)))
    };
    problems.extend(one_of(|it| &it.supported_metrics, "metric", &goal.metric));
    let seconds = &goal.view_duration_seconds;
    problems.extend(one_of(|it| &it.supported_view_durations, "view_duration_seconds", seconds));
    problems.extend(one_of(|it| &it.supported_reach_units, "reach_unit", &goal.reach_unit));
    let known = declared.and_then(|declared| declared.supported_targets.as_ref());
    if let (Some(target), Some(known)) = (&goal.target, known)
        && !known.iter().any(|known| *known == target.kind)
    {
        let message =
            "the product takes no such target; details.accepted_values lists which it takes";
        let error = invalid(&format!("{place}.target.kind"), message);
        problems.push(with(error, "accepted_values", json!(known)));
    }
}
