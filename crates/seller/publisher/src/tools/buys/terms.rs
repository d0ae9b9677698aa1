//! Terms that a buyer proposes in addition to the price: measurement, performance standards,
//! committed metrics and optimization goals.

use tradepost_adcp::error::{AdcpCode, AdcpError};
use tradepost_document::json::{Value, json};

use crate::catalogue::{Optimization, Product};
use crate::forms::buys::{
    CommittedMetric, GoalKind, MeasurementTerms, MetricScope, OptimizationGoal, PackageRequest,
    Standard,
};
use crate::money::{self, MoneyAmount};
use crate::refusals::{at, invalid};

/// Default minimum of the accepted variance between two counts, in percent: no two vendors count the
/// same.
const LEAST_VARIANCE: MoneyAmount = MoneyAmount::whole(5);

/// Returns the problems of a package's terms.
pub(super) fn problems(product: &Product, given: &PackageRequest, place: &str) -> Vec<AdcpError> {
    let terms = given.measurement_terms.iter();
    let mut problems: Vec<_> = terms.flat_map(|terms| measurement(product, terms, place)).collect();
    problems.extend(standards(product, &given.performance_standards, place));
    problems.extend(metrics(product, &given.committed_metrics, place));
    problems.extend(goals(product, &given.optimization_goals, place));
    problems
}

/// Returns the error of a rejected term with the accepted values.
fn rejected(field: &str, message: &str, accepted: Value) -> AdcpError {
    at(AdcpCode::TermsRejected, field, message).with("accepted", accepted)
}

/// Returns the problems of measurement terms that the product does not accept.
fn measurement(product: &Product, terms: &MeasurementTerms, place: &str) -> Vec<AdcpError> {
    let mut problems = Vec::new();
    let mut reject = |field: &str, message: &str, accepted: Value| {
        problems.push(rejected(&format!("{place}.measurement_terms.{field}"), message, accepted));
    };
    let billing = terms.billing_measurement.as_ref();
    // A product declares its terms in the form in which a buyer proposes others.
    let product_terms = product.published.measurement_terms.as_ref();
    let own = product_terms.and_then(|product_terms| product_terms.billing_measurement.as_ref());
    let least = own.and_then(|own| own.max_variance_percent).unwrap_or(LEAST_VARIANCE);
    let variance = billing.and_then(|billing| billing.max_variance_percent);
    if variance.is_some_and(|asked| asked < least) {
        let message = "the counts of two vendors differ by more than that";
        let accepted = json!({"minimum": least});
        reject("billing_measurement.max_variance_percent", message, accepted);
    }
    let reported = product.published.reporting_capabilities.iter();
    let windows = reported.flat_map(|reported| reported.measurement_windows.iter());
    let windows: Vec<_> = windows.filter_map(|window| window.window_id.as_deref()).collect();
    if let Some(window) = billing.and_then(|billing| billing.measurement_window.as_deref())
        // A product without declared windows accepts any.
        && !windows.is_empty()
        && !windows.contains(&window)
    {
        let message = "the product is not measured over this window";
        reject("billing_measurement.measurement_window", message, json!(windows));
    }
    let offered = product_terms.and_then(|product_terms| product_terms.makegood_policy.as_ref());
    if let Some(offered) = offered
        && let Some(asked) = &terms.makegood_policy
        && !asked.available_remedies.iter().any(|one| offered.available_remedies.contains(one))
    {
        let message = "the seller makes good in other ways";
        let offered = &offered.available_remedies;
        reject("makegood_policy.available_remedies", message, json!(offered));
    }
    problems
}

/// Refuses standards that are stricter than the product's own.
fn standards(product: &Product, given: &[Standard], place: &str) -> Vec<AdcpError> {
    let mut problems = Vec::new();
    for (index, Standard { metric, threshold }) in given.iter().enumerate() {
        let mut own = product.published.performance_standards.iter();
        let standard = own.find(|standard| standard.metric.as_ref() == Some(metric));
        let promised = standard.and_then(|standard| standard.threshold);
        let fits = |promised: &MoneyAmount| {
            // Invalid traffic is an upper bound; all other metrics are lower bounds.
            if metric == "ivt" { threshold >= promised } else { threshold <= promised }
        };
        if !promised.as_ref().is_some_and(fits) {
            let field = format!("{place}.performance_standards[{index}]");
            let message =
                "the product does not promise that; its performance_standards says what it does";
            let accepted =
                promised.map(|promised| json!({"metric": metric, "threshold": promised}));
            problems.push(rejected(&field, message, accepted.into_iter().collect()));
        }
    }
    problems
}

/// Refuses metrics that the product does not report.
fn metrics(product: &Product, given: &[CommittedMetric], place: &str) -> Vec<AdcpError> {
    let known = product.metrics();
    let is_known = |asked: &CommittedMetric| {
        asked.scope == MetricScope::Standard
            && known.iter().any(|metric| *metric == asked.metric_id)
    };
    let reject = |(index, _): (usize, &CommittedMetric)| {
        let field = format!("{place}.committed_metrics[{index}]");
        rejected(&field, "the product does not report this metric", json!(known))
    };
    given.iter().enumerate().filter(|(_, asked)| !is_known(asked)).map(reject).collect()
}

/// Checks optimization goals. A product accepts only the metric goals that it declares; without a
/// declaration a metric goal is accepted without a promise.
pub(super) fn goals(product: &Product, given: &[OptimizationGoal], place: &str) -> Vec<AdcpError> {
    let declared = product.published.metric_optimization.as_ref();
    let mut problems = Vec::new();
    for (index, goal) in given.iter().enumerate() {
        let place = format!("{place}.optimization_goals[{index}]");
        match goal.kind {
            GoalKind::Metric => {
                let declared = declared.into_iter();
                problems.extend(declared.flat_map(|declared| metric_goal(declared, goal, &place)));
            }
            GoalKind::VendorMetric => {
                let message =
                    "this seller does not optimize for metrics of vendors; leave the goal out";
                problems.push(at(AdcpCode::UnsupportedFeature, &place, message));
            }
            GoalKind::Event => {}
        }
    }
    problems
}

/// Returns the problems of a goal for a metric.
fn metric_goal(
    declared: &Optimization,
    goal: &OptimizationGoal,
    place: &str,
) -> impl Iterator<Item = AdcpError> {
    let error = |member: &str, message: &str, known: Value| {
        invalid(&format!("{place}.{member}"), message).with("accepted_values", known)
    };
    let one_of = |known: &Option<Vec<Value>>, member: &str, asked: &Option<Value>| {
        let known = known.as_ref()?;
        let asked = asked.as_ref()?;
        // A number may be sent as `15` or as `15.0`.
        let fits = known.iter().any(|one| one == asked || money::same(one, asked));
        let message =
            "the product cannot be optimized for that; details.accepted_values lists for what";
        (!fits).then(|| error(member, message, json!(known)))
    };
    let target = goal.target.as_ref();
    let known = declared.supported_targets.as_ref();
    let target = target.zip(known);
    let target = target.filter(|(target, known)| !known.iter().any(|kind| *kind == target.kind));
    let message = "the product takes no such target; details.accepted_values lists which it takes";
    let seconds = &goal.view_duration_seconds;
    let problems = [
        one_of(&declared.supported_metrics, "metric", &goal.metric),
        one_of(&declared.supported_view_durations, "view_duration_seconds", seconds),
        one_of(&declared.supported_reach_units, "reach_unit", &goal.reach_unit),
        target.map(|(_, known)| error("target.kind", message, json!(known))),
    ];
    problems.into_iter().flatten()
}
