//! Validation of an update: the resulting media buy, the actions that it consists of, and all
//! problems.

use std::cmp::Ordering;

use jiff::Timestamp;
use tradepost_adcp::error::{AdcpCode, AdcpError};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value};

use super::package::{self, BuyFlight};
use super::{BuyContext, all_not_done, deal, draft, not_done, package_targeting, reporting, terms};
use crate::buy::action::BuyAction;
use crate::buy::{Cancellation, MediaBuy, MediaBuyStatus, Package, Party};
use crate::catalogue::Product;
use crate::forms::buys::{PackageUpdate, UpdateMediaBuy};
use crate::money::MoneyAmount;
use crate::refusals::{self, AdcpRefusal, ToolError, at, invalid};
use crate::reply::{scrubbed, scrubbed_members};

mod left;
mod permission;

/// Members of an update that change something.
const CHANGES: [&str; 7] = [
    "paused",
    "canceled",
    "start_time",
    "end_time",
    "packages",
    "new_packages",
    "reporting_webhook",
];

/// Name of the member that limits the frequency of impressions.
const CAP: &str = "frequency_cap";

/// Valid update of a media buy.
#[derive(Debug)]
pub(super) struct BuyUpdate {
    /// Media buy after the update. New packages have no ids yet.
    pub buy: MediaBuy,
    /// Actions that the update consists of.
    pub actions: Vec<BuyAction>,
    /// Indexes of the packages that change.
    pub affected: Vec<usize>,
    /// True when the update changes anything.
    pub changes: bool,
}

impl BuyUpdate {
    /// Returns true when the update changes what money is committed to.
    pub(super) fn commits(&self) -> bool {
        self.actions.iter().any(|action| action.commits())
    }
}

/// Context of an update.
pub(super) struct UpdateContext<'a> {
    pub buy_context: BuyContext<'a>,
    /// Products of the media buy.
    pub products: &'a [Product],
    /// Media buy before the update.
    pub before: &'a MediaBuy,
    /// Amount already spent.
    pub spent: MoneyAmount,
    pub form: &'a UpdateMediaBuy,
}

/// Partial result of an update.
struct UpdateDraft {
    buy: MediaBuy,
    actions: Vec<(BuyAction, String)>,
    affected: Vec<usize>,
    problems: Vec<AdcpError>,
    /// Members that exceed what a proposal was priced for.
    beyond: Vec<String>,
}

impl UpdateDraft {
    fn act(&mut self, action: BuyAction, field: impl Into<String>) {
        self.actions.push((action, field.into()));
    }
}

/// Validates an update and computes its result.
///
/// # Errors
/// All problems of the update.
pub(super) fn work_out(amending: &UpdateContext<'_>) -> Result<BuyUpdate, ToolError> {
    let UpdateContext { before, form, .. } = *amending;
    let now = amending.buy_context.now;
    // Once a media buy has ended, its other problems do not matter.
    over(before, form, now)?;
    let mut found = UpdateDraft {
        buy: before.clone(),
        actions: Vec::new(),
        affected: Vec::new(),
        problems: all_not_done(&form.not_done, "").collect(),
        beyond: Vec::new(),
    };
    // A request with only unsupported members is refused for those.
    if form.changes.is_empty() && form.not_done.is_empty() {
        let error =
            refusals::error(AdcpCode::InvalidRequest, "the request names nothing to change");
        found.problems.push(error.with("accepted_fields", CHANGES));
    }
    if form.canceled == Some(true) {
        cancel(amending, &mut found);
    }
    if let Some(paused) = form.paused {
        found.act(if paused { BuyAction::Pause } else { BuyAction::Resume }, "paused");
        found.buy.paused = paused;
    }
    // The flight comes first, because new packages must run within the new one.
    flight(amending, &mut found);
    packages(amending, &mut found)?;
    new_packages(amending, &mut found)?;
    let context = &amending.buy_context;
    reporting::change(context, form, &mut found.buy, &mut found.problems);
    // Totals are checked after all changes are applied.
    found.buy.settle();
    budgets(amending, &mut found);
    inside(amending, &mut found);
    // One quote covers the whole request, so that everything beyond it is one error.
    if !found.beyond.is_empty() {
        found.problems.push(draft::requote(&found.beyond));
    }
    permission::check_actions(amending, &mut found);
    permission::check_two_persons(amending, &mut found);
    found.problems.extend(left::taken_days(amending, &found.buy)?);
    found.problems.extend(left::shortages(amending, &found.buy)?);
    AdcpRefusal::of_all_invalid_first(found.problems)?;
    if found.buy.packages.iter().all(|package| !package.is_live())
        && before.packages.iter().any(|package| package.is_live())
    {
        // A media buy whose last package is canceled is canceled as well.
        found.buy.status = MediaBuyStatus::Canceled;
        found.buy.cancellation = Some(Cancellation::new(Party::Buyer, now));
    }
    // A request that changes nothing creates no new revision.
    let changes = found.buy != *before;
    let mut actions: Vec<_> = found.actions.into_iter().map(|(action, _)| action).collect();
    actions.sort_unstable();
    actions.dedup();
    Ok(BuyUpdate { buy: found.buy, actions, affected: found.affected, changes })
}

/// Returns the member of the update that changes the units of a package.
fn changed_field(amending: &UpdateContext<'_>, index: usize) -> String {
    let package = amending.before.packages.get(index);
    let place = package.and_then(|package| amending.form.place_of(&package.package_id));
    match place.and_then(|place| Some((place, amending.form.packages.get(place)?))) {
        Some((place, given)) if given.budget.is_some() => format!("packages[{place}].budget"),
        Some(_) | None => moved_field(amending, index),
    }
}

/// Returns the member of the update that changes the days of a package.
fn moved_field(amending: &UpdateContext<'_>, index: usize) -> String {
    let form = amending.form;
    let Some(package) = amending.before.packages.get(index) else {
        let new = index.saturating_sub(amending.before.packages.len());
        return format!("new_packages[{new}].product_id");
    };
    let place = form.place_of(&package.package_id);
    let given = place.and_then(|place| Some((place, form.packages.get(place)?)));
    match given {
        Some((place, given)) if given.end_time.is_some() => format!("packages[{place}].end_time"),
        Some((place, given)) if given.start_time.is_some() => {
            format!("packages[{place}].start_time")
        }
        Some(_) | None if form.end_time.is_some() => "end_time".to_owned(),
        Some(_) | None => "start_time".to_owned(),
    }
}

/// Refuses changes of a media buy that has ended.
fn over(buy: &MediaBuy, form: &UpdateMediaBuy, now: Timestamp) -> Result<(), AdcpRefusal> {
    let status = buy.status_at(now);
    if !status.is_terminal() {
        return Ok(());
    }
    if form.canceled.is_some() {
        let message =
            "the media buy is over and cannot be canceled; details.status says how it stands";
        let error = at(AdcpCode::NotCancellable, "canceled", message);
        return Err(error.with("status", status.name()).into());
    }
    let message = "the media buy is over and cannot be changed; details.status says how it stands";
    Err(refusals::error(AdcpCode::InvalidState, message).with("status", status.name()).into())
}

fn cancel(amending: &UpdateContext<'_>, found: &mut UpdateDraft) {
    for name in amending.form.changes.keys().filter(|name| *name != "canceled") {
        let message = "what is canceled is not changed besides; leave this out";
        found.problems.push(invalid(name, message));
    }
    found.act(BuyAction::Cancel, "canceled");
    found.buy.status = MediaBuyStatus::Canceled;
    found.buy.cancellation =
        Some(cancellation(&amending.form.cancellation_reason, amending.buy_context.now));
}

fn cancellation(reason: &Option<String>, now: Timestamp) -> Cancellation {
    Cancellation { reason: reason.clone(), ..Cancellation::new(Party::Buyer, now) }
}

/// Changes the flight of the whole media buy.
fn flight(amending: &UpdateContext<'_>, found: &mut UpdateDraft) {
    let UpdateContext { before, form, .. } = *amending;
    let now = amending.buy_context.now;
    let start = form.start_time.map(|start| start.at(now));
    if let Some(start) = start.filter(|start| *start != before.start_time) {
        // The action counts even if the time is corrected below, because products permit or forbid
        // what was requested.
        found.act(BuyAction::UpdateFlightDates, "start_time");
        // A flight cannot be moved into the past; one that has begun keeps its start.
        found.buy.start_time = start.max(now.min(before.start_time));
    }
    if let Some(end) = form.end_time.filter(|end| *end != before.end_time) {
        let later = end > before.end_time;
        found.act(
            if later { BuyAction::ExtendFlight } else { BuyAction::ShortenFlight },
            "end_time",
        );
        found.buy.end_time = end;
    }
    if start.is_some() || form.end_time.is_some() {
        // A past start that the request does not change is no error of this request.
        let begins = start.or((before.start_time > now).then_some(before.start_time));
        draft::check_flight(now, begins, found.buy.end_time, &mut found.problems);
    }
    // Only a buy from a proposal has an envelope: its price was quoted for this flight.
    if let Some(envelope) = &before.envelope {
        if found.buy.start_time < envelope.start_time {
            found.beyond.push("start_time".to_owned());
        }
        if found.buy.end_time > envelope.end_time {
            found.beyond.push("end_time".to_owned());
        }
    }
}

/// Changes existing packages.
fn packages(amending: &UpdateContext<'_>, found: &mut UpdateDraft) -> Result<(), ToolError> {
    for (index, given) in amending.form.packages.iter().enumerate() {
        let place = format!("packages[{index}]");
        let mut known = amending.before.packages.iter().enumerate();
        // Only in this media buy: a package of another one is treated as absent (AdCP 3.1
        // `error-handling`, `U-1`).
        let known = known.find(|(_, package)| package.package_id == given.package_id);
        let Some((position, before)) = known else {
            let field = format!("{place}.package_id");
            found.problems.push(refusals::not_found(AdcpCode::PackageNotFound, Some(&field)));
            continue;
        };
        // With two changes of one package, their order would decide.
        if found.affected.contains(&position) {
            let message = "the request names this package twice";
            found.problems.push(invalid(&format!("{place}.package_id"), message));
            continue;
        }
        found.affected.push(position);
        one(amending, position, before, given, &place, found)?;
    }
    Ok(())
}

/// Changes one package.
fn one(
    amending: &UpdateContext<'_>,
    position: usize,
    before: &Package,
    given: &PackageUpdate,
    place: &str,
    found: &mut UpdateDraft,
) -> Result<(), ToolError> {
    let context = &amending.buy_context;
    let mut after = before.clone();
    if !before.is_live() {
        let cancels = given.canceled.is_some();
        let code = if cancels { AdcpCode::NotCancellable } else { AdcpCode::InvalidState };
        let message = "the package was canceled and cannot be changed";
        found.problems.push(at(code, &format!("{place}.package_id"), message));
        return Ok(());
    }
    found.problems.extend(all_not_done(&given.not_done, place));
    if given.canceled == Some(true) {
        found.act(BuyAction::RemovePackages, format!("{place}.canceled"));
        after.cancellation = Some(cancellation(&given.cancellation_reason, context.now));
    }
    if before.is_deal() {
        let assigned = given.creative_assignments.as_ref();
        let has_creatives = assigned.is_some_and(|assigned| !assigned.is_empty());
        let overlay = given.targeting_overlay.as_ref().map(|overlay| &overlay.sent);
        let mut targeting = deal::targeting(overlay, before.shown.targeting_overlay.as_ref());
        targeting
            .extend(given.keyword_targets_add.iter().map(|_| "keyword_targets_add".to_owned()));
        let negative = given.negative_keywords_add.iter();
        targeting.extend(negative.map(|_| "negative_keywords_add".to_owned()));
        found.problems.extend(deal::problems(has_creatives, &given.shown, targeting, place));
    }
    after.paused = given.paused.unwrap_or(after.paused);
    // The product may no longer be on sale. Its packages continue and can be changed without the
    // checks that need the product.
    let product = context.product(&before.product_id);
    if let Some(budget) = given.budget {
        let field = format!("{place}.budget");
        if let Some(product) = product {
            // The agreed price applies, not the current one.
            package::minimum(product, &before.price, budget, &field, &mut found.problems);
        } else if budget <= MoneyAmount::ZERO {
            let message = "a budget is more than nothing";
            found.problems.push(at(AdcpCode::BudgetTooLow, &field, message));
        }
        after.budget = budget;
    }
    found.problems.extend(package::bid(&before.price, given.bid_price, place));
    schedule(given, place, &mut after, found);
    for (name, value) in
        given.shown.iter().filter(|(name, value)| before.shown.members.get(*name) != Some(*value))
    {
        after.shown.set(name, scrubbed(value));
        if name == "pacing" {
            found.act(BuyAction::UpdatePacing, format!("{place}.pacing"));
        }
    }
    if let Some(product) = product {
        found.problems.extend(terms::goals(product, &given.optimization_goals, place));
    }
    let overlay = given.targeting_overlay.as_ref();
    package_targeting::check_targeting(context, product, overlay, place, &mut found.problems)?;
    check_added_keywords(context, given, place, &mut found.problems);
    target(given, place, &mut after, found);
    creatives(context, product, given, place, &mut after, found)?;
    // A quote was made for this targeting.
    if before.shown.targeting_overlay != after.shown.targeting_overlay
        && amending.before.envelope.is_some()
    {
        found.beyond.push(format!("{place}.targeting_overlay"));
    }
    if let Some(slot) = found.buy.packages.get_mut(position) {
        *slot = after;
    }
    Ok(())
}

/// Changes the dates of a package. That they are within the flight is checked at the end.
fn schedule(given: &PackageUpdate, place: &str, after: &mut Package, found: &mut UpdateDraft) {
    // A package without dates runs with the flight, so that equal dates are no change.
    let from = after.start_time.unwrap_or(found.buy.start_time);
    let until = after.end_time.unwrap_or(found.buy.end_time);
    if given.start_time.is_some_and(|start| start != from) {
        found.act(BuyAction::UpdateFlightDates, format!("{place}.start_time"));
    }
    if let Some(end) = given.end_time.filter(|end| *end != until) {
        let action = if end > until { BuyAction::ExtendFlight } else { BuyAction::ShortenFlight };
        found.act(action, format!("{place}.end_time"));
    }
    after.start_time = given.start_time.or(after.start_time);
    after.end_time = given.end_time.or(after.end_time);
}

/// Checks that the publisher supports the keywords that an update adds.
fn check_added_keywords(
    context: &BuyContext<'_>,
    given: &PackageUpdate,
    place: &str,
    problems: &mut Vec<AdcpError>,
) {
    let applied = context.profile().targeting();
    for (list, added) in [
        ("keyword_targets", &given.keyword_targets_add),
        ("negative_keywords", &given.negative_keywords_add),
    ] {
        let Some(added) = added else { continue };
        let words: Value = added.iter().map(|word| Value::Object(word.sent.clone())).collect();
        let overlay = Map::from_iter([(list.to_owned(), words)]);
        for path in applied.unsupported(&overlay) {
            let path = path.replacen(list, &format!("{list}_add"), 1);
            problems.push(not_done(&format!("{place}.{path}")));
        }
    }
}

/// Changes the targeting of a package: an overlay replaces the previous one, keywords are added and
/// removed one by one.
fn target(given: &PackageUpdate, place: &str, after: &mut Package, found: &mut UpdateDraft) {
    let mut before = after.shown.targeting_overlay.clone().unwrap_or_default();
    let mut overlay = match &given.targeting_overlay {
        Some(overlay) => scrubbed_members(&overlay.sent),
        None => before.clone(),
    };
    for (list, added, removed) in [
        ("keyword_targets", &given.keyword_targets_add, &given.keyword_targets_remove),
        ("negative_keywords", &given.negative_keywords_add, &given.negative_keywords_remove),
    ] {
        if added.is_none() && removed.is_none() {
            continue;
        }
        let known = overlay.get(list).and_then(Value::as_array).cloned().unwrap_or_default();
        // Removed keywords are dropped. An added keyword replaces the same keyword with another bid.
        let is_dropped =
            |known: &Value| removed.iter().chain(added).flatten().any(|word| word.is(known));
        let mut words: Vec<Value> = known.into_iter().filter(|one| !is_dropped(one)).collect();
        words.extend(added.iter().flatten().map(|word| Value::Object(word.sent.clone())));
        // An empty list means the same as no list, but would count as a change.
        if words.is_empty() {
            overlay.swap_remove(list);
        } else {
            overlay.insert(list.to_owned(), words.into());
        }
    }
    if overlay == before {
        return;
    }
    // The overlay itself was already checked; this adds contradictions of the keywords.
    let overlay_place = format!("{place}.targeting_overlay");
    let contradicted = package_targeting::contradicted(&overlay, &overlay_place);
    let new: Vec<AdcpError> = contradicted
        .filter(|error| !found.problems.iter().any(|known| known.field == error.field))
        .collect();
    found.problems.extend(new);
    // Frequency caps are an action of their own, which a product may permit without other targeting
    // changes.
    let mut now = overlay.clone();
    if now.swap_remove(CAP) != before.swap_remove(CAP) {
        found.act(BuyAction::UpdateFrequencyCaps, format!("{place}.targeting_overlay.{CAP}"));
    }
    if now != before {
        found.act(BuyAction::UpdateTargeting, format!("{place}.targeting_overlay"));
    }
    after.shown.set("targeting_overlay", overlay.into());
}

/// Changes the creatives of a package.
fn creatives(
    context: &BuyContext<'_>,
    product: Option<&Product>,
    given: &PackageUpdate,
    place: &str,
    after: &mut Package,
    found: &mut UpdateDraft,
) -> Result<(), ToolError> {
    let Some(given) = &given.creative_assignments else {
        return Ok(());
    };
    let shown = after.creative_assignments.as_slice();
    let assigned =
        package_targeting::assignments(context, product, shown, given, place, &mut found.problems)?;
    if assigned == after.creative_assignments {
        return Ok(());
    }
    let field = format!("{place}.creative_assignments");
    if after.creative_deadline().is_some_and(|deadline| deadline < context.now) {
        let message = "the creatives of this package could be changed until its creative_deadline";
        found.problems.push(at(AdcpCode::CreativeDeadlineExceeded, &field, message));
    }
    // Products may permit removal without other changes.
    let only_fewer = assigned.iter().all(|one| after.creative_assignments.contains(one));
    let action =
        if only_fewer { BuyAction::RemoveCreative } else { BuyAction::UpdateCreativeAssignments };
    found.act(action, field);
    after.creative_assignments = assigned;
    Ok(())
}

/// Adds new packages.
fn new_packages(amending: &UpdateContext<'_>, found: &mut UpdateDraft) -> Result<(), ToolError> {
    let Some(given) = &amending.form.new_packages else {
        return Ok(());
    };
    found.act(BuyAction::AddPackages, "new_packages");
    // Packages added to a running media buy cannot start before now.
    let start = found.buy.start_time.max(amending.buy_context.now);
    let flight = BuyFlight { start, end: found.buy.end_time };
    let list = "new_packages";
    let bought = draft::packages(&amending.buy_context, given, list, flight, &mut found.problems)?;
    for one in bought {
        if one.currency != found.buy.currency {
            let message =
                "the media buy is priced in another currency; details.accepted_values has it";
            let currency = [found.buy.currency.as_str()];
            found.problems.push(invalid(list, message).with("accepted_values", currency));
        }
        found.affected.push(found.buy.packages.len());
        found.buy.packages.push(one.package);
    }
    Ok(())
}

/// Checks the changed budgets.
fn budgets(amending: &UpdateContext<'_>, found: &mut UpdateDraft) {
    let before = amending.before;
    let mut raised = Vec::new();
    let mut lowered = Vec::new();
    let mut old = MoneyAmount::ZERO;
    let mut new = MoneyAmount::ZERO;
    // New packages follow the existing ones.
    let pairs = before.packages.iter().zip(&found.buy.packages).enumerate();
    // Canceling a package is an action of its own, not a change of its budget.
    let stay = |(_, (was, is)): &(usize, (&Package, &Package))| was.is_live() && is.is_live();
    for (position, (was, is)) in pairs.filter(stay) {
        let place = amending.form.place_of(&was.package_id);
        let field = format!("packages[{}].budget", place.unwrap_or(position));
        match is.budget.cmp(&was.budget) {
            Ordering::Greater => raised.push(field),
            Ordering::Less => lowered.push(field),
            Ordering::Equal => {}
        }
        old += was.budget;
        new += is.budget;
    }
    if let Some(field) = raised.first().or(lowered.first()).cloned() {
        // All budgets together are one action: moving money between packages is no increase.
        let action = match new.cmp(&old) {
            Ordering::Greater => BuyAction::IncreaseBudget,
            Ordering::Less => BuyAction::DecreaseBudget,
            Ordering::Equal => BuyAction::ReallocateBudget,
        };
        found.act(action, field);
    }
    let total = found.buy.total_budget;
    if let Some(field) = lowered.first()
        && total < amending.spent
    {
        let message = "more than that has been spent already; see details";
        let error = at(AdcpCode::BudgetExceeded, field, message).with("requested", total);
        found.problems.push(error.with("spent", amending.spent));
    }
    if let Some(envelope) = &before.envelope
        && total > envelope.total_budget
    {
        found.beyond.extend(raised.iter().cloned());
        if amending.form.new_packages.is_some() {
            found.beyond.push("new_packages".to_owned());
        }
    }
    // Continuing a media buy without budget would deliver nothing.
    let continues =
        |action: &BuyAction| matches!(action, BuyAction::Resume | BuyAction::ExtendFlight);
    if let Some((_, field)) = found.actions.iter().find(|(action, _)| continues(action))
        && amending.spent > MoneyAmount::ZERO
        && amending.spent >= total
    {
        let message = "the budget has been spent; raise it in the same request";
        found.problems.push(at(AdcpCode::BudgetExhausted, field, message));
    }
    // The earlier total is already committed; only the increase has to be available.
    let more = total - before.total_budget;
    if more > MoneyAmount::ZERO {
        let field = raised.first().map_or("new_packages", String::as_str);
        found.problems.extend(amending.buy_context.beyond_today(more, &before.currency, field));
        let funds = amending.buy_context.account.and_then(|account| account.thing.funds.as_ref());
        let beyond = funds.and_then(|funds| draft::afford(funds, more, &before.currency, field));
        found.problems.extend(beyond);
    }
}

/// Checks that every active package runs within the flight.
fn inside(amending: &UpdateContext<'_>, found: &mut UpdateDraft) {
    let flight = BuyFlight { start: found.buy.start_time, end: found.buy.end_time };
    for (position, package) in found.buy.packages.iter().enumerate() {
        // New packages, which follow the others, were checked against this flight when they were
        // read.
        if !package.is_live() || position >= amending.before.packages.len() {
            continue;
        }
        let place = amending.form.place_of(&package.package_id);
        let place = place.map(|index| format!("packages[{index}]"));
        let start = package.start_time;
        let end = package.end_time;
        let problems = package::dates(start, end, flight, place.as_deref().unwrap_or_default());
        if place.is_some() {
            found.problems.extend(problems);
        } else if !problems.is_empty() {
            // The request does not name the package, so that the error is reported at the changed
            // flight.
            let message = "a package would run outside of the flight; change its dates too";
            let early = start.is_some_and(|start| start < flight.start);
            let name = if early { "start_time" } else { "end_time" };
            found.problems.push(invalid(name, message));
        }
    }
}
