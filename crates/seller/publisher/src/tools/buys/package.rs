//! Validation of one package of a request: product, price, budget and dates.

use jiff::{SignedDuration, Timestamp};
use tradepost_adcp::error::{AdcpCode, AdcpError};
use tradepost_document::fault::InternalError;
use tradepost_document::json::Value;

use super::{BuyContext, all_not_done, deal, not_done, package_targeting, terms};
use crate::buy::{Package, ShownMembers};
use crate::catalogue::{PricingOption, Product, ProductFormatOption, ProductPrice};
use crate::forms::buys::PackageRequest;
use crate::money::MoneyAmount;
use crate::refusals::{self, at, invalid};
use crate::remote_order::PackageInventory;
use crate::reply::scrubbed_members;

/// Flight of a media buy.
#[derive(Debug, Clone, Copy)]
pub(super) struct BuyFlight {
    /// Start.
    pub start: Timestamp,
    /// End.
    pub end: Timestamp,
}

/// Valid package with its product.
pub(super) struct Bought {
    pub package: Package,
    pub product: Product,
    pub currency: String,
}

impl Bought {
    /// Creates a package with product, price and budget only. It has no id yet.
    pub(super) fn new(product: &Product, option: &PricingOption, budget: MoneyAmount) -> Self {
        let package = Package {
            package_id: String::new(),
            product_id: product.id().to_owned(),
            pricing_option_id: option.id().to_owned(),
            budget,
            start_time: None,
            end_time: None,
            paused: false,
            cancellation: None,
            creative_assignments: Vec::new(),
            price: option.clone(),
            ad_server: PackageInventory::from_product(product),
            shown: ShownMembers::default(),
        };
        Self { package, product: product.clone(), currency: option.currency().to_owned() }
    }
}

/// Validates the package at `place` (`packages[0]`) and adds its problems. Returns `None` when
/// product or price are unknown.
pub(super) fn bought(
    context: &BuyContext<'_>,
    given: &PackageRequest,
    place: &str,
    flight: BuyFlight,
    problems: &mut Vec<AdcpError>,
) -> Result<Option<Bought>, InternalError> {
    problems.extend(all_not_done(&given.not_done, place));
    let Some(product) = context.product(&given.product_id) else {
        let field = format!("{place}.product_id");
        problems.push(refusals::not_found(AdcpCode::ProductNotFound, Some(&field)));
        return Ok(None);
    };
    on_offer(context, product, place, problems);
    let account = context.account.map(|account| &account.thing);
    let Some(option) = product.price_for(account, &given.pricing_option_id) else {
        let known = product.prices_for(account).iter().map(PricingOption::id);
        let field = format!("{place}.pricing_option_id");
        let message = "the product has no such price; details.accepted_values lists its prices";
        problems.push(invalid(&field, message).with("accepted_values", known.collect::<Value>()));
        return Ok(None);
    };
    problems.extend(bid(option, given.bid_price, place));
    minimum(product, option, given.budget, &format!("{place}.budget"), problems);
    problems.extend(dates(given.start_time, given.end_time, flight, place));
    formats(product, given, place, problems);
    problems.extend(terms::problems(product, given, place));
    package_targeting::check_targeting(
        context,
        Some(product),
        given.targeting_overlay.as_ref(),
        place,
        problems,
    )?;
    let mut bought = Bought::new(product, option, given.budget);
    if given.creatives.is_some() {
        let message = "this seller takes creatives by sync_creatives; send them there, and assign them \
                       by creative_id";
        problems.push(at(AdcpCode::UnsupportedFeature, &format!("{place}.creatives"), message));
    }
    let assigned = &given.creative_assignments;
    if bought.package.is_deal() {
        let overlay = given.targeting_overlay.as_ref().map(|overlay| &overlay.sent);
        let targeting = deal::targeting(overlay, None);
        problems.extend(deal::problems(!assigned.is_empty(), &given.shown, targeting, place));
    }
    bought.package.creative_assignments =
        package_targeting::assignments(context, Some(product), &[], assigned, place, problems)?;
    let mut shown = scrubbed_members(&given.shown);
    // The time of the promise is added on confirmation.
    shown.extend(given.promised.clone());
    if let Some(deadline) = deadline(product, given.start_time.unwrap_or(flight.start), context.now)
    {
        shown.insert("creative_deadline".to_owned(), deadline.to_string().into());
    }
    let PackageRequest { start_time, end_time, paused, .. } = *given;
    bought.package = Package { start_time, end_time, paused, ..bought.package };
    bought.package.shown = ShownMembers::from_members(shown);
    Ok(Some(bought))
}

/// Checks that a product can be bought now.
fn on_offer(
    context: &BuyContext<'_>,
    product: &Product,
    place: &str,
    problems: &mut Vec<AdcpError>,
) {
    let field = format!("{place}.product_id");
    if product.is_expired(context.now) {
        let message = "the product has left the offer; ask get_products for what there is now";
        problems.push(at(AdcpCode::ProductExpired, &field, message));
    }
    let is_sold_out =
        context.supply.is_some_and(|supply| supply.sold_out.iter().any(|id| id == product.id()));
    if product.terms.sold_out || is_sold_out {
        let message = "the product is sold out; choose another one";
        problems.push(at(AdcpCode::ProductUnavailable, &field, message));
    }
}

/// Returns an error when a bid is below the floor price. Bids on fixed prices are ignored.
pub(super) fn bid(
    option: &PricingOption,
    bid: Option<MoneyAmount>,
    place: &str,
) -> Option<AdcpError> {
    let bid = bid?;
    let ProductPrice::Auction(Some(floor)) = option.price() else { return None };
    let message = "the bid is below the floor of this price, which details.minimum has";
    let error = invalid(&format!("{place}.bid_price"), message).with("minimum", floor);
    (bid < floor).then(|| error.with("currency", option.currency()))
}

/// Checks that a budget reaches the minimum of its price.
pub(super) fn minimum(
    product: &Product,
    option: &PricingOption,
    budget: MoneyAmount,
    field: &str,
    problems: &mut Vec<AdcpError>,
) {
    // A flat rate is only sold as a whole.
    let flat = match option.price() {
        ProductPrice::Fixed(price) if option.pricing_model.as_deref() == Some("flat_rate") => {
            Some(price)
        }
        ProductPrice::Fixed(_) | ProductPrice::Auction(_) => None,
    };
    let least = product.minimum(option).into_iter().chain(flat).reduce(Ord::max);
    if budget >= least.unwrap_or_default() && budget > MoneyAmount::ZERO {
        return;
    }
    let message = "the budget is below the least that a package of this product may cost";
    let mut error = at(AdcpCode::BudgetTooLow, field, message);
    if let Some(least) = least {
        error = error.with("minimum_budget", least);
    }
    problems.push(error.with("currency", option.currency()));
}

/// Returns the problems of a package's dates with the flight of its media buy.
pub(super) fn dates(
    start: Option<Timestamp>,
    end: Option<Timestamp>,
    flight: BuyFlight,
    place: &str,
) -> Vec<AdcpError> {
    let mut problems = Vec::new();
    let message = "a package runs within the flight of its media buy";
    if start.is_some_and(|start| start < flight.start || start >= flight.end) {
        problems.push(invalid(&format!("{place}.start_time"), message));
    }
    if end.is_some_and(|end| end > flight.end || end <= flight.start) {
        problems.push(invalid(&format!("{place}.end_time"), message));
    } else if let Some(start) = start
        && let Some(end) = end
        && end <= start
    {
        problems.push(invalid(&format!("{place}.end_time"), "the end is not after the beginning"));
    }
    problems
}

/// Checks that a product is available in the chosen formats.
fn formats(product: &Product, given: &PackageRequest, place: &str, problems: &mut Vec<AdcpError>) {
    for (index, format) in given.format_ids.iter().enumerate() {
        if !product.formats().iter().any(|one| one.means(format)) {
            let field = format!("{place}.format_ids[{index}]");
            let message = "the product does not come in this format; its format_ids says in which";
            problems.push(invalid(&field, message));
        }
    }
    let known = &product.published.format_options;
    for (index, chosen) in given.format_option_refs.iter().enumerate() {
        let id = chosen.format_option_id.as_str();
        if !known.iter().any(|option| option.format_option_id.as_deref() == Some(id)) {
            let field = format!("{place}.format_option_refs[{index}]");
            let message = "the product has no such format option; its format_options lists them";
            problems.push(invalid(&field, message));
        }
    }
    let chosen = !given.format_ids.is_empty() || !given.format_option_refs.is_empty();
    let fits = |option: &ProductFormatOption, kind: &String| {
        option.format_kind.as_ref() == Some(kind)
            && (chosen || option.is_met_by(given.params.as_ref()))
    };
    if let Some(kind) = &given.format_kind
        && !known.iter().any(|option| fits(option, kind))
    {
        problems.push(not_done(&format!("{place}.format_kind")));
    }
}

/// Returns the deadline for creative changes; `None` when it would already have passed.
fn deadline(product: &Product, start: Timestamp, now: Timestamp) -> Option<Timestamp> {
    let hours = product.terms.creative_lead_hours?;
    let deadline = start - SignedDuration::from_hours(i64::from(hours));
    (deadline > now).then_some(deadline)
}
