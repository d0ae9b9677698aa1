//! What an ad server cannot do of an order, found by its capabilities alone. Every problem of every package
//! is reported at once.

use tradepost_publisher::ad_server::{AdServerCapabilities, LineItemSpec, OrderSpec};

use crate::port::PackageProblem;

/// Field of a package with its targeting.
pub(crate) const TARGETING: &str = "targeting_overlay";

/// Problems of one package.
pub(crate) struct PackageProblems<'a> {
    line_item: &'a LineItemSpec,
    problems: &'a mut Vec<PackageProblem>,
}

impl PackageProblems<'_> {
    /// Reports a problem of a field.
    pub(crate) fn report(&mut self, field: &str, message: impl Into<String>) {
        self.problems.push(problem(self.line_item, field, message));
    }

    /// Reports a problem of a member of the targeting.
    pub(crate) fn report_targeting(&mut self, member: &str, message: impl Into<String>) {
        self.report(&format!("{TARGETING}.{member}"), message);
    }
}

/// Creates a problem of a field of a line item's package.
pub(crate) fn problem(
    line_item: &LineItemSpec,
    field: &str,
    message: impl Into<String>,
) -> PackageProblem {
    PackageProblem {
        package_id: line_item.package_id.clone(),
        field: field.to_owned(),
        message: message.into(),
    }
}

/// Checks an order against capabilities, and each line item by what the adapter knows besides.
pub(crate) fn problems(
    capabilities: &AdServerCapabilities,
    order: &OrderSpec,
    line_items: &[LineItemSpec],
    has_advertiser: bool,
    mut check: impl FnMut(&LineItemSpec, &mut PackageProblems<'_>),
) -> Vec<PackageProblem> {
    let mut problems = Vec::new();
    for line_item in line_items {
        let mut found = PackageProblems { line_item, problems: &mut problems };
        if !has_advertiser {
            found.report("account", "The account has no advertiser at the ad server yet.");
        }
        check_line_item(capabilities, order, line_item, &mut found);
        check(line_item, &mut found);
    }
    problems
}

fn check_line_item(
    capabilities: &AdServerCapabilities,
    order: &OrderSpec,
    line_item: &LineItemSpec,
    found: &mut PackageProblems<'_>,
) {
    if !capabilities.line_items {
        found.report("product_id", "The ad server takes deals only.");
        return;
    }
    if !capabilities.pricing.contains(&line_item.pricing) {
        let pricing = line_item.pricing;
        found.report("pricing_option_id", format!("The ad server cannot bill by {pricing}."));
    }
    if line_item.currency != order.currency {
        found.report("pricing_option_id", "The ad server bills an order in one currency.");
    }
    if line_item.inventory.is_empty() {
        found.report("product_id", "The product names no inventory of the ad server.");
    }
    if line_item.end_time <= line_item.start_time {
        found.report("end_time", "The end has to be after the start.");
    }
    for name in line_item.targeting.keys() {
        if !capabilities.applies(name) && name != "ext" {
            found.report_targeting(name, "The ad server cannot apply this targeting.");
        }
    }
}
