//! A media buy as it would be after an update, what the update comes to, and everything that speaks
//! against it.

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use tradepost_wire::adcp::error::{Code, Error};

use super::package::{self, Flight, not_done};
use super::{Desk, aim, draft, moment, number, objects, scrubbed, terms, text};
use crate::buy::action::{self, Action, Refused};
use crate::buy::{MediaBuy, Status};
use crate::catalogue::Product;
use crate::money;
use crate::refuse::{self, Refusal, Stop, at, invalid, with};

/// Members of an update that this seller has nothing for.
const NOT_DONE: [&str; 2] = ["invoice_recipient", "reporting_webhook"];

/// Members of a package's update that this seller has nothing for: terms are agreed on once.
const PACKAGE_NOT_DONE: [&str; 5] =
    ["catalogs", "creatives", "measurement_terms", "performance_standards", "committed_metrics"];

/// Members of an update that change something.
const CHANGES: [&str; 6] =
    ["paused", "canceled", "start_time", "end_time", "packages", "new_packages"];

/// An update that can be carried out.
#[derive(Debug)]
pub(super) struct Change {
    /// The buy afterwards. New packages have no ids yet.
    pub buy: MediaBuy,
    /// What the update comes to; empty when everything is so already.
    pub actions: Vec<Action>,
    /// The places of the packages that change.
    pub affected: Vec<usize>,
    /// Whether anything changes at all.
    pub changes: bool,
}

impl Change {
    /// Whether it changes what money is committed to: a governance agent has a say in that.
    pub(super) fn commits(&self) -> bool {
        self.actions.iter().any(|action| match action {
            Action::ExtendFlight
            | Action::ShortenFlight
            | Action::UpdateFlightDates
            | Action::IncreaseBudget
            | Action::DecreaseBudget
            | Action::ReallocateBudget
            | Action::UpdateTargeting
            | Action::AddPackages => true,
            Action::Pause
            | Action::Resume
            | Action::Cancel
            | Action::UpdatePacing
            | Action::UpdateFrequencyCaps
            | Action::UpdateCreativeAssignments
            | Action::RemoveCreative
            | Action::RemovePackages
            | Action::SyncCreatives => false,
        })
    }
}

/// What an update is worked out with.
pub(super) struct Amending<'a> {
    pub desk: Desk<'a>,
    /// Everything that is sold.
    pub offer: &'a [Product],
    /// The products of the buy.
    pub products: &'a [Product],
    /// The buy as it is.
    pub before: &'a MediaBuy,
    /// What it has spent.
    pub spent: f64,
    pub arguments: &'a Map<String, Value>,
}

/// What has been found out so far.
struct Findings {
    buy: MediaBuy,
    actions: Vec<(Action, String)>,
    affected: Vec<usize>,
    problems: Vec<Error>,
    /// Members that go beyond what a proposal was priced for.
    beyond: Vec<String>,
}

impl Findings {
    fn act(&mut self, action: Action, field: impl Into<String>) {
        self.actions.push((action, field.into()));
    }
}

/// Works out an update.
///
/// # Errors
/// Everything that speaks against it, at once.
pub(super) fn work_out(amending: &Amending<'_>) -> Result<Change, Stop> {
    let (before, arguments, now) = (amending.before, amending.arguments, amending.desk.now);
    over(before, arguments, now)?;
    let mut found = Findings {
        buy: before.clone(),
        actions: Vec::new(),
        affected: Vec::new(),
        problems: Vec::new(),
        beyond: Vec::new(),
    };
    for name in NOT_DONE {
        if arguments.contains_key(name) {
            found.problems.push(not_done(name));
        }
    }
    if !CHANGES.iter().chain(&NOT_DONE).any(|name| arguments.contains_key(*name)) {
        let message = "the request names nothing to change";
        let mut error = refuse::error(Code::InvalidRequest, message);
        error.details.insert("accepted_fields".to_owned(), json!(CHANGES));
        found.problems.push(error);
    }
    if arguments.get("canceled").and_then(Value::as_bool) == Some(true) {
        cancel(amending, &mut found);
    }
    if let Some(paused) = arguments.get("paused").and_then(Value::as_bool) {
        found.act(if paused { Action::Pause } else { Action::Resume }, "paused");
        found.buy.paused = paused;
    }
    flight(amending, &mut found);
    packages(amending, &mut found)?;
    new_packages(amending, &mut found)?;
    found.buy.settle();
    budgets(amending, &mut found);
    inside(amending, &mut found);
    if !found.beyond.is_empty() {
        found.problems.push(draft::requote(&found.beyond));
    }
    permitted(amending, &mut found);
    Refusal::of_all(found.problems)?;
    if found.buy.packages.iter().all(|package| !package.is_live())
        && before.packages.iter().any(|package| package.is_live())
    {
        // Without packages there is nothing left to run.
        found.buy.status = Status::Canceled;
        found.buy.cancellation = Some(json!({"canceled_at": now, "canceled_by": "buyer"}));
    }
    let changes = found.buy != *before;
    let mut actions: Vec<_> = found.actions.into_iter().map(|(action, _)| action).collect();
    actions.sort_unstable();
    actions.dedup();
    Ok(Change { buy: found.buy, actions, affected: found.affected, changes })
}

/// What is over does not change.
fn over(buy: &MediaBuy, arguments: &Map<String, Value>, now: Timestamp) -> Result<(), Refusal> {
    let status = buy.status_at(now);
    if !status.is_terminal() {
        return Ok(());
    }
    if arguments.contains_key("canceled") {
        let message =
            "the media buy is over and cannot be canceled; details.status says how it stands";
        let error = at(Code::NotCancellable, "canceled", message);
        return Err(with(error, "status", status.name()).into());
    }
    let message = "the media buy is over and cannot be changed; details.status says how it stands";
    Err(with(refuse::error(Code::InvalidState, message), "status", status.name()).into())
}

fn cancel(amending: &Amending<'_>, found: &mut Findings) {
    let arguments = amending.arguments;
    for name in CHANGES {
        if name != "canceled" && arguments.contains_key(name) {
            let message = "what is canceled is not changed besides; leave this out";
            found.problems.push(invalid(name, message));
        }
    }
    found.act(Action::Cancel, "canceled");
    found.buy.status = Status::Canceled;
    found.buy.cancellation = Some(cancellation(arguments, amending.desk.now));
}

fn cancellation(given: &Map<String, Value>, now: Timestamp) -> Value {
    let mut cancellation = json!({"canceled_at": now, "canceled_by": "buyer"});
    if let (Some(members), Some(reason)) =
        (cancellation.as_object_mut(), given.get("cancellation_reason"))
    {
        members.insert("reason".to_owned(), reason.clone());
    }
    cancellation
}

/// The flight of the whole buy.
fn flight(amending: &Amending<'_>, found: &mut Findings) {
    let (before, arguments, now) = (amending.before, amending.arguments, amending.desk.now);
    let start = match text(arguments, "start_time") {
        Some("asap") => Some(now),
        Some(_) => moment(arguments, "start_time"),
        None => None,
    };
    let end = moment(arguments, "end_time");
    if let Some(start) = start
        && start != before.start_time
    {
        found.act(Action::UpdateFlightDates, "start_time");
        found.buy.start_time = start.max(now.min(before.start_time));
    }
    if let Some(end) = end
        && end != before.end_time
    {
        let later = end > before.end_time;
        found.act(if later { Action::ExtendFlight } else { Action::ShortenFlight }, "end_time");
        found.buy.end_time = end;
    }
    if start.is_some() || end.is_some() {
        let begins = start.or((before.start_time > now).then_some(before.start_time));
        draft::check_flight(now, begins, found.buy.end_time, &mut found.problems);
    }
    if let Some(envelope) = &before.envelope {
        if found.buy.start_time < envelope.start_time {
            found.beyond.push("start_time".to_owned());
        }
        if found.buy.end_time > envelope.end_time {
            found.beyond.push("end_time".to_owned());
        }
    }
}

/// Changes of packages that there are.
fn packages(amending: &Amending<'_>, found: &mut Findings) -> Result<(), Stop> {
    for (index, given) in objects(amending.arguments, "packages") {
        let place = package::place("packages", index);
        let id = text(given, "package_id").unwrap_or_default();
        let packages = &amending.before.packages;
        let Some(position) = packages.iter().position(|package| package.package_id == id) else {
            let field = format!("{place}.package_id");
            found.problems.push(refuse::not_found(Code::PackageNotFound, Some(&field)));
            continue;
        };
        if found.affected.contains(&position) {
            let message = "the request names this package twice";
            found.problems.push(invalid(&format!("{place}.package_id"), message));
            continue;
        }
        found.affected.push(position);
        one(amending, position, given, &place, found)?;
    }
    Ok(())
}

/// The change of one package.
fn one(
    amending: &Amending<'_>,
    position: usize,
    given: &Map<String, Value>,
    place: &str,
    found: &mut Findings,
) -> Result<(), Stop> {
    let desk = &amending.desk;
    let Some(before) = amending.before.packages.get(position) else {
        return Ok(());
    };
    let mut after = before.clone();
    if !before.is_live() {
        let wants_cancel = given.contains_key("canceled");
        let code = if wants_cancel { Code::NotCancellable } else { Code::InvalidState };
        let message = "the package was canceled and cannot be changed";
        found.problems.push(at(code, &format!("{place}.package_id"), message));
        return Ok(());
    }
    for name in PACKAGE_NOT_DONE {
        if given.contains_key(name) {
            found.problems.push(not_done(&format!("{place}.{name}")));
        }
    }
    if given.get("canceled").and_then(Value::as_bool) == Some(true) {
        found.act(Action::RemovePackages, format!("{place}.canceled"));
        after.cancellation = Some(cancellation(given, desk.now));
    }
    if let Some(paused) = given.get("paused").and_then(Value::as_bool) {
        after.paused = paused;
    }
    let product = amending.offer.iter().find(|product| product.id() == before.product_id);
    if let Some(budget) = number(given, "budget") {
        let field = format!("{place}.budget");
        match product {
            Some(product) => {
                package::minimum(product, &before.price, budget, &field, &mut found.problems);
            }
            None if budget <= 0.0 => {
                let message = "a budget is more than nothing";
                found.problems.push(at(Code::BudgetTooLow, &field, message));
            }
            None => {}
        }
        after.budget = money::tidy(budget);
    }
    package::bid(&before.price, given, place, &mut found.problems);
    schedule(given, place, &mut after, found);
    for name in ["bid_price", "impressions", "pacing", "optimization_goals", "context"] {
        if let Some(value) = given.get(name)
            && before.shown.get(name) != Some(value)
        {
            after.shown.insert(name.to_owned(), scrubbed(value));
            if name == "pacing" {
                found.act(Action::UpdatePacing, format!("{place}.pacing"));
            }
        }
    }
    if let Some(product) = product {
        terms::goals(product, given, place, &mut found.problems);
        aim::targeting(desk, product, given, place, &mut found.problems)?;
    }
    target(given, place, &mut after, found);
    creatives(desk, given, place, &mut after, found)?;
    if before.shown.get("targeting_overlay") != after.shown.get("targeting_overlay")
        && amending.before.envelope.is_some()
    {
        found.beyond.push(format!("{place}.targeting_overlay"));
    }
    if let Some(slot) = found.buy.packages.get_mut(position) {
        *slot = after;
    }
    Ok(())
}

/// When a package runs. That it does so within the flight is seen at the end.
fn schedule(
    given: &Map<String, Value>,
    place: &str,
    after: &mut crate::buy::Package,
    found: &mut Findings,
) {
    let buy = &found.buy;
    let (start, end) = (moment(given, "start_time"), moment(given, "end_time"));
    let from = after.start_time.unwrap_or(buy.start_time);
    let until = after.end_time.unwrap_or(buy.end_time);
    if let Some(start) = start {
        after.start_time = Some(start);
        if start != from {
            found.act(Action::UpdateFlightDates, format!("{place}.start_time"));
        }
    }
    if let Some(end) = end {
        after.end_time = Some(end);
        if end != until {
            let action = if end > until { Action::ExtendFlight } else { Action::ShortenFlight };
            found.act(action, format!("{place}.end_time"));
        }
    }
}

/// At whom a package is aimed: a whole overlay takes the place of the one before, and keywords come and
/// go one by one.
fn target(
    given: &Map<String, Value>,
    place: &str,
    after: &mut crate::buy::Package,
    found: &mut Findings,
) {
    let before = after.shown.get("targeting_overlay").cloned().unwrap_or_else(|| json!({}));
    let mut overlay = given.get("targeting_overlay").map_or_else(|| before.clone(), scrubbed);
    let same = |one: &Value, other: &Value| {
        one.get("keyword") == other.get("keyword")
            && one.get("match_type") == other.get("match_type")
    };
    for (member, list) in
        [("keyword_targets", "keyword_targets"), ("negative_keywords", "negative_keywords")]
    {
        let added = given.get(&format!("{member}_add")).and_then(Value::as_array);
        let removed = given.get(&format!("{member}_remove")).and_then(Value::as_array);
        if added.is_none() && removed.is_none() {
            continue;
        }
        let known = overlay.get(list).and_then(Value::as_array).cloned().unwrap_or_default();
        let gone = |one: &Value| {
            removed.into_iter().flatten().any(|gone| same(gone, one))
                || added.into_iter().flatten().any(|new| same(new, one))
        };
        let mut words: Vec<Value> = known.into_iter().filter(|one| !gone(one)).collect();
        words.extend(added.into_iter().flatten().cloned());
        if let Some(members) = overlay.as_object_mut() {
            if words.is_empty() {
                members.remove(list);
            } else {
                members.insert(list.to_owned(), words.into());
            }
        }
    }
    if overlay == before {
        return;
    }
    let without_cap = |overlay: &Value| {
        let mut members = overlay.as_object().cloned().unwrap_or_default();
        members.remove("frequency_cap");
        members
    };
    if overlay.get("frequency_cap") != before.get("frequency_cap") {
        let field = format!("{place}.targeting_overlay.frequency_cap");
        found.act(Action::UpdateFrequencyCaps, field);
    }
    if without_cap(&overlay) != without_cap(&before) {
        found.act(Action::UpdateTargeting, format!("{place}.targeting_overlay"));
    }
    after.shown.insert("targeting_overlay".to_owned(), overlay);
}

/// Which creatives a package shows.
fn creatives(
    desk: &Desk<'_>,
    given: &Map<String, Value>,
    place: &str,
    after: &mut crate::buy::Package,
    found: &mut Findings,
) -> Result<(), Stop> {
    if !given.contains_key("creative_assignments") {
        return Ok(());
    }
    let assigned = aim::assignments(desk, given, place, &mut found.problems)?;
    if assigned == after.creative_assignments {
        return Ok(());
    }
    let field = format!("{place}.creative_assignments");
    if after.creative_deadline().is_some_and(|deadline| deadline < desk.now) {
        let message = "the creatives of this package could be changed until its creative_deadline";
        found.problems.push(at(Code::CreativeDeadlineExceeded, &field, message));
    }
    let only_fewer = assigned.iter().all(|one| after.creative_assignments.contains(one));
    let action =
        if only_fewer { Action::RemoveCreative } else { Action::UpdateCreativeAssignments };
    found.act(action, field);
    after.creative_assignments = assigned;
    Ok(())
}

/// Packages that are bought besides.
fn new_packages(amending: &Amending<'_>, found: &mut Findings) -> Result<(), Stop> {
    if !amending.arguments.contains_key("new_packages") {
        return Ok(());
    }
    found.act(Action::AddPackages, "new_packages");
    let start = found.buy.start_time.max(amending.desk.now);
    let flight = Flight { start, end: found.buy.end_time };
    let (desk, arguments) = (&amending.desk, amending.arguments);
    let list = "new_packages";
    let bought =
        draft::packages(desk, amending.offer, arguments, list, flight, &mut found.problems)?;
    for one in bought {
        if one.currency != found.buy.currency {
            let message =
                "the media buy is priced in another currency; details.accepted_values has it";
            let error = invalid(list, message);
            let currency = found.buy.currency.clone();
            found.problems.push(with(error, "accepted_values", json!([currency])));
        }
        found.affected.push(found.buy.packages.len());
        found.buy.packages.push(one.package);
    }
    Ok(())
}

/// What the update comes to in money.
fn budgets(amending: &Amending<'_>, found: &mut Findings) {
    let before = amending.before;
    let stays = |position: usize| {
        found.buy.packages.get(position).is_some_and(crate::buy::Package::is_live)
    };
    let mut raised = Vec::new();
    let (mut lowered, mut old, mut new) = (Vec::new(), 0.0, 0.0);
    for (position, package) in before.packages.iter().enumerate() {
        let Some(after) = found.buy.packages.get(position).filter(|_| stays(position)) else {
            continue;
        };
        if !package.is_live() {
            continue;
        }
        let field = || {
            let place = objects(amending.arguments, "packages")
                .find(|(_, given)| text(given, "package_id") == Some(&package.package_id));
            format!("packages[{}].budget", place.map_or(position, |(index, _)| index))
        };
        if after.budget > package.budget {
            raised.push(field());
        } else if after.budget < package.budget {
            lowered.push(field());
        }
        old += package.budget;
        new += after.budget;
    }
    let (old, new) = (money::tidy(old), money::tidy(new));
    let field = raised.first().or(lowered.first()).cloned();
    if let Some(field) = field {
        let action = if new > old {
            Action::IncreaseBudget
        } else if new < old {
            Action::DecreaseBudget
        } else {
            Action::ReallocateBudget
        };
        found.act(action, field);
    }
    let total = found.buy.total_budget;
    if let Some(field) = lowered.first()
        && total < amending.spent
    {
        let message = "more than that has been spent already; see details";
        let error = at(Code::BudgetExceeded, field, message);
        let error = with(error, "requested", money::number(total));
        found.problems.push(with(error, "spent", money::number(amending.spent)));
    }
    if let Some(envelope) = &before.envelope
        && total > envelope.total_budget
    {
        found.beyond.extend(raised.iter().cloned());
        if amending.arguments.contains_key("new_packages") {
            found.beyond.push("new_packages".to_owned());
        }
    }
    let goes_on = found
        .actions
        .iter()
        .find(|(action, _)| matches!(action, Action::Resume | Action::ExtendFlight));
    if let Some((_, field)) = goes_on
        && amending.spent > 0.0
        && amending.spent >= total
    {
        let message = "the budget has been spent; raise it in the same request";
        found.problems.push(at(Code::BudgetExhausted, field, message));
    }
    let funds = amending.desk.account.and_then(|account| account.thing.funds.as_ref());
    let more = money::tidy(total - before.total_budget);
    if let Some(funds) = funds
        && more > 0.0
    {
        let field = raised.first().map_or("new_packages", String::as_str);
        found.problems.extend(draft::afford(funds, more, &before.currency, field));
    }
}

/// Every package that still counts runs within the flight.
fn inside(amending: &Amending<'_>, found: &mut Findings) {
    let flight = Flight { start: found.buy.start_time, end: found.buy.end_time };
    for (position, package) in found.buy.packages.iter().enumerate() {
        if !package.is_live() || position >= amending.before.packages.len() {
            continue;
        }
        let place = objects(amending.arguments, "packages")
            .find(|(_, given)| text(given, "package_id") == Some(&package.package_id));
        let place = place.map(|(index, _)| package::place("packages", index));
        let (start, end) = (package.start_time, package.end_time);
        match place {
            Some(place) => package::dates(start, end, flight, &place, &mut found.problems),
            None => {
                let mut other = Vec::new();
                package::dates(start, end, flight, "", &mut other);
                if !other.is_empty() {
                    let message = "a package would run outside of the flight; change its dates too";
                    let name = if start.is_some_and(|start| start < flight.start) {
                        "start_time"
                    } else {
                        "end_time"
                    };
                    found.problems.push(invalid(name, message));
                }
            }
        }
    }
}

/// Whether the buy and its products permit what the update comes to.
fn permitted(amending: &Amending<'_>, found: &mut Findings) {
    let (before, products, now) = (amending.before, amending.products, amending.desk.now);
    let open = || action::available(&action::permitted(before, products, now));
    let mut seen = Vec::new();
    for (action, field) in &found.actions {
        let Err(reason) = action::judge(*action, before, products, now) else {
            continue;
        };
        if seen.contains(action) {
            continue;
        }
        seen.push(*action);
        let ends = matches!(action, Action::Cancel | Action::RemovePackages);
        if ends && reason == Refused::NotSupportedOnProduct {
            let message = "the terms of what was bought have no cancellation; ask the seller";
            found.problems.push(at(Code::NotCancellable, field, message));
            continue;
        }
        let message =
            "the media buy does not permit this now; details say why, and what it permits";
        let error = at(Code::ActionNotAllowed, field, message);
        let error = with(error, "attempted_action", action.name());
        let error = with(error, "reason", reason.name());
        found.problems.push(with(error, "currently_available_actions", open()));
    }
}
