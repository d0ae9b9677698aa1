//! The ad server is asked before a media buy is sold or changed: what it cannot do of the packages that it is
//! to deliver, and whether it has enough for guaranteed ones. It is asked outside of any transaction.

use std::collections::{BTreeMap, BTreeSet};

use tradepost_adcp::error::{AdcpCode, AdcpError};

use super::BuyContext;
use super::draft::BuyDraft;
use crate::account::Account;
use crate::ad_server::{Availability, GoalUnit, LineItemSpec, PackageProblem};
use crate::availability;
use crate::buy::{MediaBuy, Package};
use crate::forms::buys::{CreateMediaBuy, UpdateMediaBuy};
use crate::profile::AdServerProfile;
use crate::publisher::Publisher;
use crate::refusals::{AdcpRefusal, ToolError, at};
use crate::remote_order::wanted::{OrderTerms, PlannedOrder, Untranslatable, planned};
use crate::services::OrderQuestion;
use crate::store::Stored;

/// Member of a package with its targeting.
const TARGETING: &str = "targeting_overlay";

/// Name of a media buy that has no id yet, in questions.
const NEW_BUY: &str = "new";

/// Question about a media buy, with the places in the request that the answer is about.
pub(super) struct OrderCheck {
    question: OrderQuestion,
    packages: BTreeMap<String, CheckedPackage>,
    /// Problems that were found without asking.
    problems: Vec<AdcpError>,
}

/// Package that the ad server is asked about.
struct CheckedPackage {
    product_id: String,
    place: PackagePlace,
    line_item: LineItemSpec,
    /// The line item before the request; `None` for a new package.
    before: Option<LineItemSpec>,
    /// Impressions that the request adds to a guaranteed package.
    more: u64,
}

/// Place in a request that decides about a package.
#[derive(Debug, Clone)]
enum PackagePlace {
    /// An object with the members of a new package.
    New(String),
    /// An object with what changes of a package.
    Change(String),
    /// A member that changes packages without naming them.
    Member(&'static str),
}

impl PackagePlace {
    fn field(&self, field: &str) -> String {
        let is_changeable =
            field.starts_with(TARGETING) || matches!(field, "budget" | "start_time" | "end_time");
        match self {
            Self::New(place) => format!("{place}.{field}"),
            Self::Change(place) if is_changeable => format!("{place}.{field}"),
            Self::Change(place) => format!("{place}.package_id"),
            Self::Member(name) => (*name).to_owned(),
        }
    }
}

/// Returns the question about a new media buy; `None` when the ad server is not concerned.
pub(super) fn of_purchase(
    context: &BuyContext<'_>,
    form: &CreateMediaBuy,
    draft: &BuyDraft,
) -> Option<OrderCheck> {
    let place = |index: usize, _: &str| match form.proposal_id {
        Some(_) => PackagePlace::Member("proposal_id"),
        None => PackagePlace::New(format!("packages[{index}]")),
    };
    check(context, context.account, &draft.buy, None, place)
}

/// Returns the question about a changed media buy; `None` when nothing changes that the ad server could refuse.
pub(super) fn of_change(
    context: &BuyContext<'_>,
    account: Option<&Stored<Account>>,
    form: &UpdateMediaBuy,
    before: &MediaBuy,
    after: &MediaBuy,
) -> Option<OrderCheck> {
    let known = before.packages.len();
    let place = |index: usize, package_id: &str| match form.place_of(package_id) {
        _ if index >= known => PackagePlace::New(format!("new_packages[{}]", index - known)),
        Some(place) => PackagePlace::Change(format!("packages[{place}]")),
        None if form.end_time.is_some() => PackagePlace::Member("end_time"),
        None => PackagePlace::Member("start_time"),
    };
    check(context, account, after, Some(before), place)
}

fn check(
    context: &BuyContext<'_>,
    account: Option<&Stored<Account>>,
    buy: &MediaBuy,
    before: Option<&MediaBuy>,
    place: impl Fn(usize, &str) -> PackagePlace,
) -> Option<OrderCheck> {
    let ad_server = context.profile().ad_server.as_ref()?;
    let account = account.map(|account| &account.thing);
    let earlier = before.map(|before| line_items_of(before, account, ad_server));
    let earlier = earlier.unwrap_or_default();
    let mut named = buy.clone();
    if named.media_buy_id.is_empty() {
        NEW_BUY.clone_into(&mut named.media_buy_id);
    }
    for (index, package) in named.packages.iter_mut().enumerate() {
        if package.package_id.is_empty() {
            package.package_id = format!("{NEW_BUY}-{index}");
        }
    }
    let PlannedOrder { order, line_items, deals } = planned(&named, account, &terms(ad_server))?;
    let mut packages = BTreeMap::new();
    let mut problems = Vec::new();
    for (index, deal) in deals {
        let Some(package) = named.packages.get(index) else { continue };
        let before = before.and_then(|before| before.package(&package.package_id));
        let place = place(index, &package.package_id);
        problems.extend(deal_problems(ad_server, package, &deal, before, &place));
    }
    for (index, line_item) in line_items {
        let Some(package) = named.packages.get(index) else { continue };
        let package_id = package.package_id.clone();
        let place = place(index, &package_id);
        let line_item = match line_item {
            Ok(line_item) => line_item,
            // What was sold like that before can still be changed: people set it up by hand.
            Err(Untranslatable(_)) if matches!(place, PackagePlace::New(_)) => {
                let reason = "The ad server has no line items with this pricing model.";
                problems.push(refusal(&place, "pricing_option_id", reason, &package.product_id));
                continue;
            }
            Err(Untranslatable(_)) => continue,
        };
        let before = earlier.get(&package_id).cloned();
        if before.as_ref().is_some_and(|before| is_same(before, &line_item)) {
            continue;
        }
        let more = added_impressions(before.as_ref(), &line_item);
        let product_id = package.product_id.clone();
        packages.insert(package_id, CheckedPackage { product_id, place, line_item, before, more });
    }
    if packages.is_empty() && problems.is_empty() {
        return None;
    }
    let line_items = packages.values().map(|checked| checked.line_item.clone()).collect();
    let forecasts = ad_server.capabilities.forecasts;
    let asked = packages.iter().filter(|(_, checked)| forecasts && checked.more > 0);
    let forecast: BTreeSet<String> = asked.map(|(package_id, _)| package_id.clone()).collect();
    let question = OrderQuestion { order, line_items, forecast };
    Some(OrderCheck { question, packages, problems })
}

/// Returns what a deal cannot be, by the capabilities of the ad server alone: a receiver of deals has nothing to be
/// asked. What was sold before stays as it was.
fn deal_problems(
    ad_server: &AdServerProfile,
    package: &Package,
    deal: &Result<(), Untranslatable>,
    before: Option<&Package>,
    place: &PackagePlace,
) -> Vec<AdcpError> {
    let mut problems = Vec::new();
    if before.is_some() {
        return problems;
    }
    let refuse = |field: &str, reason: &str| refusal(place, field, reason, &package.product_id);
    let is_guaranteed = package.ad_server.as_ref().is_some_and(|terms| terms.is_guaranteed);
    if !ad_server.capabilities.deals || is_guaranteed {
        problems.push(refuse("product_id", ""));
    }
    if deal.is_err() {
        problems
            .push(refuse("pricing_option_id", "A deal has a price for a thousand impressions."));
    }
    problems
}

/// Returns the terms of orders that are asked about: without the sizes of formats, which no sale depends on.
fn terms(ad_server: &AdServerProfile) -> OrderTerms {
    OrderTerms {
        advertiser: ad_server.advertiser.clone(),
        test_accounts: ad_server.test_accounts,
        ..OrderTerms::default()
    }
}

/// Returns the line items of a media buy as it was, by package.
fn line_items_of(
    buy: &MediaBuy,
    account: Option<&Account>,
    ad_server: &AdServerProfile,
) -> BTreeMap<String, LineItemSpec> {
    let planned = planned(buy, account, &terms(ad_server));
    let line_items = planned.into_iter().flat_map(|planned| planned.line_items.into_values());
    let line_items = line_items.filter_map(Result::ok);
    line_items.map(|line_item| (line_item.package_id.clone(), line_item)).collect()
}

/// Returns true if nothing has changed that an ad server could refuse. A pause never depends on it.
fn is_same(before: &LineItemSpec, after: &LineItemSpec) -> bool {
    let paused = LineItemSpec { is_paused: after.is_paused, ..before.clone() };
    paused == *after
}

/// Returns the impressions that a request adds to a guaranteed line item; 0 for one that promises none.
fn added_impressions(before: Option<&LineItemSpec>, after: &LineItemSpec) -> u64 {
    let promised = |line_item: &LineItemSpec| match line_item.goal {
        Some(goal)
            if line_item.is_guaranteed
                && matches!(goal.unit, GoalUnit::Impressions | GoalUnit::ViewableImpressions) =>
        {
            goal.amount
        }
        Some(_) | None => 0,
    };
    promised(after).saturating_sub(before.map_or(0, promised))
}

/// Asks the ad server.
///
/// # Errors
/// Every problem that it has with the packages; `SERVICE_UNAVAILABLE` when it does not answer in time.
pub(super) async fn ask(publisher: &Publisher, check: Option<OrderCheck>) -> Result<(), ToolError> {
    let Some(OrderCheck { question, packages, mut problems }) = check else { return Ok(()) };
    if !question.line_items.is_empty() {
        let answer = publisher.services.check_order(&question).await;
        let answer = answer.map_err(availability::unavailable)?;
        let found = answer.problems.iter().filter_map(|problem| refused(&packages, problem));
        problems.extend(found);
        problems.extend(shortages(&packages, &answer.availability));
    }
    problems.dedup();
    Ok(AdcpRefusal::of_all(problems)?)
}

/// Returns the refusal of what the ad server cannot do; `None` for what the request does not change.
fn refused(
    packages: &BTreeMap<String, CheckedPackage>,
    problem: &PackageProblem,
) -> Option<AdcpError> {
    let checked = packages.get(&problem.package_id)?;
    let field = problem.field.as_str();
    let after = &checked.line_item;
    let is_asked_for = match &checked.before {
        None => true,
        Some(before) if field.starts_with(TARGETING) => before.targeting != after.targeting,
        Some(before) => match field {
            "budget" => before.budget != after.budget || before.goal != after.goal,
            "start_time" => before.start_time != after.start_time,
            "end_time" => before.end_time != after.end_time,
            // Product, price and account stay as they were bought.
            _ => false,
        },
    };
    is_asked_for.then(|| refusal(&checked.place, field, &problem.message, &checked.product_id))
}

/// Creates the refusal of a field of a package.
fn refusal(place: &PackagePlace, field: &str, reason: &str, product_id: &str) -> AdcpError {
    let path = place.field(field);
    if field.starts_with(TARGETING) || field == "pricing_option_id" {
        let message = "the seller's ad server does not do this; details.reason says what; leave it out, or \
                       choose something else";
        return at(AdcpCode::UnsupportedFeature, &path, message).with("reason", reason);
    }
    match field {
        // What is missing there is the seller's to set up.
        "account" => availability::misconfigured(),
        "product_id" => {
            let message =
                "the seller's ad server cannot deliver this product now; choose another one";
            at(AdcpCode::ProductUnavailable, &path, message).with("product_id", product_id)
        }
        _ => {
            let message =
                "the seller's ad server does not accept this value; details.reason says why";
            at(AdcpCode::InvalidRequest, &path, message).with("reason", reason)
        }
    }
}

/// Returns a refusal for each guaranteed package for which the ad server has too little. Packages of one
/// request with the same inventory and targeting take from the same impressions.
fn shortages(
    packages: &BTreeMap<String, CheckedPackage>,
    available: &BTreeMap<String, Availability>,
) -> Vec<AdcpError> {
    let mut short = Vec::new();
    for (package_id, checked) in packages {
        let Some(availability) = available.get(package_id) else { continue };
        let own = &checked.line_item;
        let is_shared = |other: &&CheckedPackage| {
            let other = &other.line_item;
            other.inventory == own.inventory
                && other.targeting == own.targeting
                && other.start_time < own.end_time
                && own.start_time < other.end_time
        };
        let requested = packages.values().filter(is_shared).map(|other| other.more);
        let requested = requested.fold(0_u64, u64::saturating_add);
        if requested > availability.available {
            let message = "the seller's ad server has too little left for these days and this targeting; \
                           details.available says how much; buy less, or choose other days or another \
                           product";
            let field = match &checked.before {
                Some(_) => "budget",
                None => "product_id",
            };
            let error = at(AdcpCode::ProductUnavailable, &checked.place.field(field), message);
            let error = error.with("product_id", checked.product_id.as_str());
            let error = error.with("unit", "impressions").with("requested", requested);
            short.push(error.with("available", availability.available));
        }
    }
    short
}
