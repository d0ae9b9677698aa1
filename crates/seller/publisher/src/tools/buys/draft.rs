//! Validation of a new media buy, with all its problems.

use jiff::{SignedDuration, Timestamp};
use tradepost_adcp::error::{AdcpCode, AdcpError};
use tradepost_document::fault::InternalError;
use tradepost_document::json::Value;

use super::package::{self, Bought, BuyFlight};
use super::{BuyContext, all_not_done, reporting};
use crate::account::Funds;
use crate::buy::{BuyEnvelope, MediaBuy, MediaBuyStatus, Package};
use crate::catalogue::Product;
use crate::exclusive::{self, ExclusiveDays};
use crate::forms::Money;
use crate::forms::buys::{Acceptance, CreateMediaBuy, PackageRequest};
use crate::inventory::WantedUnits;
use crate::money::MoneyAmount;
use crate::proposal::{self, Proposal};
use crate::refusals::{self, AdcpRefusal, ToolError, at, invalid};
use crate::reply::scrubbed_members;

/// Maximum age of a start time that still counts as now: clocks differ, and requests take time.
const TOLERANCE: SignedDuration = SignedDuration::from_mins(5);

/// Valid media buy. Its packages have no ids yet.
pub(super) struct BuyDraft {
    /// The media buy.
    pub buy: MediaBuy,
    /// Products of the packages.
    pub products: Vec<Product>,
}

/// Creates the media buy that a request asks for.
///
/// # Errors
/// All problems of the request.
pub(super) fn make(context: &BuyContext<'_>, form: &CreateMediaBuy) -> Result<BuyDraft, ToolError> {
    let mut problems: Vec<AdcpError> = all_not_done(&form.not_done, "").collect();
    let start = form.start_time.at(context.now);
    let end = form.end_time;
    check_flight(context.now, Some(start), end, &mut problems);
    // A start within the tolerance is moved to now.
    let flight = BuyFlight { start: start.max(context.now), end };
    industry(context, form, &mut problems);
    let (bought, envelope) = match &form.proposal_id {
        Some(id) => proposed(context, id, form, flight, &mut problems)?,
        None => {
            if form.packages.is_none() {
                let text = "a media buy needs packages, or the proposal_id of a committed proposal";
                problems.push(invalid("packages", text));
            }
            let given = form.packages.as_deref().unwrap_or_default();
            (packages(context, given, "packages", flight, &mut problems)?, None)
        }
    };
    let total: MoneyAmount = bought.iter().map(|one| one.package.budget).sum();
    let currency = bought.first().map(|one| one.currency.clone()).unwrap_or_default();
    // With a proposal the total is divided among the packages and cannot disagree with them.
    if form.proposal_id.is_none()
        && let Some(named) = &form.total_budget
    {
        total_budget(named, total, &currency, &mut problems);
    }
    if let Some(account) = context.account
        && let Some(funds) = &account.thing.funds
        // Packages that could not be read have no currency to compare.
        && !bought.is_empty()
    {
        problems.extend(afford(funds, total, &currency, "packages"));
    }
    problems.extend(context.beyond_today(total, &currency, "packages"));
    problems.extend(taken_days(context, form, flight, &bought)?);
    problems.extend(shortages(context, form, flight, &bought)?);
    let sold: Vec<&Product> = bought.iter().map(|one| &one.product).collect();
    let webhook = form.reporting_webhook.as_ref();
    let reporting =
        webhook.map(|webhook| reporting::wanted(context, webhook, &sold, &mut problems));
    AdcpRefusal::of_all_invalid_first(problems)?;
    let mut shown = scrubbed_members(&form.shown);
    shown.insert("brand".to_owned(), form.brand.clone());
    let products = bought.iter().map(|one| one.product.clone()).collect();
    let packages: Vec<Package> = bought.into_iter().map(|one| one.package).collect();
    let mut buy = MediaBuy {
        media_buy_id: String::new(),
        status: MediaBuyStatus::PendingCreatives,
        paused: form.paused,
        hold: None,
        currency,
        total_budget: total,
        start_time: flight.start,
        end_time: flight.end,
        confirmed_at: None,
        proposal_id: form.proposal_id.clone(),
        task_id: None,
        envelope,
        cancellation: None,
        rejection_reason: None,
        plan_id: form.plan_id.clone(),
        governance_context: form.governance_context.clone(),
        packages,
        shown,
        reporting,
        history: Vec::new(),
    };
    buy.settle();
    Ok(BuyDraft { buy, products })
}

/// Returns a refusal for each exclusive product that is already taken on a day of the flight.
fn taken_days(
    context: &BuyContext<'_>,
    form: &CreateMediaBuy,
    flight: BuyFlight,
    bought: &[Bought],
) -> Result<Vec<AdcpError>, InternalError> {
    let mut wanted = Vec::new();
    for (index, one) in bought.iter().enumerate().filter(|(_, one)| one.product.is_exclusive()) {
        let start = one.package.start_time.unwrap_or(flight.start);
        let end = one.package.end_time.unwrap_or(flight.end);
        let field = match &form.proposal_id {
            Some(_) => "proposal_id".to_owned(),
            None => format!("packages[{index}].product_id"),
        };
        wanted.push(ExclusiveDays::new(
            one.product.id(),
            context.is_for_tests(),
            start,
            end,
            field,
        ));
    }
    let own: Vec<&str> = form.proposal_id.iter().map(String::as_str).collect();
    exclusive::taken_days(context.reader, &wanted, &own, context.now)
}

/// Returns a refusal for each package of a counted product of which too little is left.
fn shortages(
    context: &BuyContext<'_>,
    form: &CreateMediaBuy,
    flight: BuyFlight,
    bought: &[Bought],
) -> Result<Vec<AdcpError>, InternalError> {
    let inventory = context.inventory();
    let wanted = bought.iter().enumerate().filter_map(|(index, one)| {
        let start = one.package.start_time.unwrap_or(flight.start);
        let end = one.package.end_time.unwrap_or(flight.end);
        let field = match &form.proposal_id {
            Some(_) => "proposal_id".to_owned(),
            None => format!("packages[{index}].product_id"),
        };
        WantedUnits::from_package(&inventory, &one.package, start, end, field)
    });
    let wanted: Vec<WantedUnits> = wanted.collect();
    inventory.shortages(context.reader, &wanted, None, form.proposal_id.as_deref())
}

/// Checks that a flight starts and ends in the future and in this order. `start` is `None` when it has
/// begun.
pub(super) fn check_flight(
    now: Timestamp,
    start: Option<Timestamp>,
    end: Timestamp,
    problems: &mut Vec<AdcpError>,
) {
    if start.is_some_and(|start| start < now - TOLERANCE) {
        let message = "the beginning is in the past; send one that is to come, or asap";
        problems.push(invalid("start_time", message));
    }
    if end <= now {
        problems.push(invalid("end_time", "the end is in the past"));
    } else if start.is_some_and(|start| end <= start) {
        problems.push(invalid("end_time", "the end is not after the beginning"));
    }
}

/// Checks that the products accept the buyer's industry.
fn industry(context: &BuyContext<'_>, form: &CreateMediaBuy, problems: &mut Vec<AdcpError>) {
    let Some(industry) = form.advertiser_industry.as_deref() else {
        return;
    };
    // Industries are paths: `gambling` excludes `gambling.casino` but not `gambling_news`.
    let below = |refused: &String| {
        let rest = industry.strip_prefix(refused.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let bought = form.packages.iter().flatten();
    let mut bought = bought.filter_map(|package| context.product(&package.product_id));
    if bought.any(|product| product.terms.refused_industries.iter().any(below)) {
        let message = "a product in the request is not sold to this industry; see details";
        let error = at(AdcpCode::PolicyViolation, "advertiser_industry", message);
        let error = error.with("policy_id", "advertiser_industry");
        problems.push(error.with("violated_rules", ["the product is closed to the industry"]));
        return;
    }
    // Policies match words, but industry names join words by punctuation.
    let spelled = industry.replace(['.', '_'], " ");
    problems.extend(context.profile().catalogue.violations("advertiser_industry", &spelled));
}

/// Reads the packages of a list of the request; `list` is its name.
pub(super) fn packages(
    context: &BuyContext<'_>,
    given: &[PackageRequest],
    list: &str,
    flight: BuyFlight,
    problems: &mut Vec<AdcpError>,
) -> Result<Vec<Bought>, ToolError> {
    let mut bought: Vec<Bought> = Vec::new();
    // The first package decides the currency; differences are reported after all other problems.
    let mut others = Vec::new();
    for (index, given) in given.iter().enumerate() {
        let place = format!("{list}[{index}]");
        if let Some(one) = package::bought(context, given, &place, flight, problems)? {
            bought.push(one);
            if let [first, .., last] = bought.as_slice()
                && last.currency != first.currency
            {
                let message = "all packages of a media buy are priced in one currency";
                let error = invalid(&format!("{place}.pricing_option_id"), message);
                others.push(error.with("accepted_values", [first.currency.as_str()]));
            }
        }
    }
    problems.extend(others);
    Ok(bought)
}

/// Returns the packages of a proposal and the envelope that it was priced for.
fn proposed(
    context: &BuyContext<'_>,
    id: &str,
    form: &CreateMediaBuy,
    flight: BuyFlight,
    problems: &mut Vec<AdcpError>,
) -> Result<(Vec<Bought>, Option<BuyEnvelope>), ToolError> {
    if form.packages.is_some() {
        let message = "a proposal has its packages; leave them out, or leave proposal_id out";
        problems.push(invalid("packages", message));
    }
    let stored =
        match proposal::committed(context.reach, context.reader, id, "proposal_id", context.now) {
            Ok(stored) => stored,
            Err(stop) => {
                problems.extend(stop.reasons()?);
                return Ok((Vec::new(), None));
            }
        };
    // The schema requires it with a proposal.
    let total = form.total_budget.as_ref();
    let amount = total.map_or(MoneyAmount::ZERO, |total| total.amount);
    let named = total.map_or("", |total| total.currency.as_str());
    let proposal = &stored.thing;
    order(proposal, form.io_acceptance.as_ref(), problems);
    let outside = proposal.outside(amount, named, flight.start, flight.end);
    if !outside.is_empty() {
        problems.push(requote(&outside));
    }
    let mut bought = Vec::new();
    for (part, share) in proposal.divide(amount) {
        let account = context.account.map(|account| &account.thing);
        let product = context.product(&part.product_id);
        let option =
            product.and_then(|product| product.price_for(account, &part.pricing_option_id));
        let (Some(product), Some(option)) = (product, option) else {
            let message =
                "a product of the proposal is no longer to be had; ask for another proposal";
            problems.push(at(AdcpCode::ProductUnavailable, "proposal_id", message));
            continue;
        };
        package::minimum(product, option, share, "total_budget.amount", problems);
        bought.push(Bought::new(product, option, share));
    }
    // The buy may grow up to the budget of the proposal without another quote, because the price
    // holds for all of it.
    let most = amount.max(proposal.envelope.budget.unwrap_or(amount));
    let BuyFlight { start: start_time, end: end_time } = flight;
    Ok((bought, Some(BuyEnvelope { total_budget: most, start_time, end_time })))
}

/// Checks that the insertion order of a proposal is accepted when one is required.
fn order(proposal: &Proposal, acceptance: Option<&Acceptance>, problems: &mut Vec<AdcpError>) {
    match (acceptance, &proposal.io_id) {
        (None, Some(_)) if proposal::SIGNED => {
            let message =
                "the proposal has an insertion order that has to be accepted; send io_acceptance";
            problems.push(at(AdcpCode::IoRequired, "io_acceptance", message));
        }
        (Some(acceptance), Some(id)) if acceptance.io_id != *id => {
            let message = "this is not the insertion order of the proposal";
            problems.push(invalid("io_acceptance.io_id", message));
        }
        (Some(_) | None, Some(_) | None) => {}
    }
}

/// Returns the error of a purchase or change that exceeds its quote.
pub(super) fn requote<T: AsRef<str>>(fields: &[T]) -> AdcpError {
    let message = "this goes beyond what the price was quoted for; details.envelope_field names what \
                   does; stay within it, or ask for another proposal";
    let mut error = refusals::error(AdcpCode::RequoteRequired, message);
    error.field = fields.first().map(|field| field.as_ref().to_owned());
    let fields: Vec<_> = fields.iter().map(|field| Value::from(field.as_ref())).collect();
    error.with("envelope_field", fields)
}

/// Checks that the packages stay within the total that the request names.
fn total_budget(named: &Money, total: MoneyAmount, currency: &str, problems: &mut Vec<AdcpError>) {
    if !currency.is_empty() && named.currency != currency {
        let message = "the packages are priced in another currency";
        let error = invalid("total_budget.currency", message);
        problems.push(error.with("accepted_values", [currency]));
    }
    let amount = named.amount;
    if total > amount {
        let message = "the packages cost more than total_budget; see details";
        let error = at(AdcpCode::BudgetExceeded, "total_budget.amount", message);
        problems.push(error.with("requested", total).with("available", amount));
    }
}

/// Returns an error when an account has too little money left.
pub(super) fn afford(
    funds: &Funds,
    more: MoneyAmount,
    currency: &str,
    field: &str,
) -> Option<AdcpError> {
    if funds.currency != currency {
        let message = "the account is kept in another currency; details.accepted_values has it";
        return Some(invalid(field, message).with("accepted_values", [funds.currency.as_str()]));
    }
    let left = (funds.limit - funds.committed).max(MoneyAmount::ZERO);
    if left <= MoneyAmount::ZERO && more > MoneyAmount::ZERO {
        let message = "the account has nothing left to spend; the buyer has to add funds";
        return Some(at(AdcpCode::BudgetExhausted, field, message));
    }
    if more > left {
        let message = "the account has less left to spend than this costs; see details";
        let error = at(AdcpCode::BudgetExceeded, field, message).with("requested", more);
        return Some(error.with("available", left).with("currency", currency));
    }
    None
}
