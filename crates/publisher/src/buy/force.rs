//! What a sandbox can do to media buys beside what buyers do: force how they stand, report delivery,
//! spend budgets, and put buys there. For the test controller; nobody else has a way to it.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use tradepost_wire::adcp::rules::typed::Typed as _;
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::fault::Fault;
use tradepost_wire::json::{Map, Value, json};

use super::report::{ADDITIVE, Delivery, Report};
use super::{MediaBuy, Package, Status};
use crate::account::Account;
use crate::catalogue::PricingOption;
use crate::money::Amount;
use crate::shelf::{Kept, Kind, New, Shelf, Thing, own_id};

/// What came of forcing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forced {
    /// It stands as it was told to.
    Done {
        /// How it stood before.
        before: Status,
    },
    /// No way leads there.
    Impossible {
        /// How it stands.
        from: Status,
    },
}

/// Whether the published state machine has a way from one status to another; staying is one.
const fn leads(from: Status, to: Status) -> bool {
    match from {
        Status::PendingCreatives | Status::PendingStart => {
            !(matches!(from, Status::PendingStart) && matches!(to, Status::PendingCreatives))
        }
        Status::Active | Status::Paused => {
            matches!(to, Status::Active | Status::Paused | Status::Completed | Status::Canceled)
        }
        Status::Completed => matches!(to, Status::Completed),
        Status::Rejected => matches!(to, Status::Rejected),
        Status::Canceled => matches!(to, Status::Canceled),
    }
}

/// Lets a buy stand as wanted (`force_media_buy_status`). To force what is already so changes nothing.
///
/// # Errors
/// When the store fails.
pub fn status(
    shelf: &dyn Shelf,
    kept: &mut Kept<MediaBuy>,
    to: Status,
    reason: Option<&str>,
    now: Timestamp,
) -> Result<Forced, Fault> {
    let before = kept.thing.status_at(now);
    if !leads(before, to) {
        return Ok(Forced::Impossible { from: before });
    }
    if before == to {
        return Ok(Forced::Done { before });
    }
    let buy = &mut kept.thing;
    buy.paused = to == Status::Paused;
    buy.status = match to {
        Status::Paused => Status::Active,
        Status::PendingCreatives
        | Status::PendingStart
        | Status::Active
        | Status::Completed
        | Status::Rejected
        | Status::Canceled => to,
    };
    match to {
        Status::Canceled => {
            buy.cancellation = Some(json!({"canceled_at": now, "canceled_by": "seller"}));
        }
        Status::Rejected => buy.rejection_reason = reason.map(ToOwned::to_owned),
        // What is to wait for its beginning must not have begun.
        Status::PendingStart if buy.start_time <= now => {
            buy.start_time = now + SignedDuration::from_hours(1);
        }
        Status::PendingCreatives
        | Status::PendingStart
        | Status::Active
        | Status::Paused
        | Status::Completed => {}
    }
    let revision = kept.record.revision + 1;
    kept.thing.note(revision, now, "forced", "the sandbox changed how the buy stands");
    save(shelf, kept, now)?;
    Ok(Forced::Done { before })
}

/// Puts a changed buy back.
pub(crate) fn save(
    shelf: &dyn Shelf,
    kept: &mut Kept<MediaBuy>,
    now: Timestamp,
) -> Result<(), Fault> {
    kept.record.state = super::state(&kept.thing).to_owned();
    shelf.change(kept, now)
}

/// Adds a report to what a buy has delivered (`simulate_delivery`); the metrics of all its reports.
/// `figures` are the params of the controller.
///
/// # Errors
/// When the store fails.
pub fn deliver(
    shelf: &dyn Shelf,
    buy: &Kept<MediaBuy>,
    figures: &Map,
    now: Timestamp,
) -> Result<Map, Fault> {
    let number = |name: &str| figures.get(name).and_then(Amount::read);
    let mut sums: BTreeMap<String, Amount> = BTreeMap::new();
    for name in ADDITIVE {
        if let Some(figure) = number(name) {
            sums.insert(name.to_owned(), figure);
        }
    }
    let spend = figures.get("reported_spend").and_then(|spend| spend.get("amount"));
    if let Some(amount) = spend.and_then(Amount::read) {
        sums.insert("spend".to_owned(), amount);
    }
    let mut reached = Map::new();
    for name in ["reach", "reach_unit", "reach_window", "frequency"] {
        if let Some(value) = figures.get(name) {
            reached.insert(name.to_owned(), value.clone());
        }
    }
    if reached.contains_key("reach") && !reached.contains_key("reach_unit") {
        reached.insert("reach_unit".to_owned(), reach_unit(&buy.thing));
    }
    let viewability = figures.get("viewability").cloned();
    let report = Report { at: now, figures: sums, viewability, reached };
    let total = delivery(shelf, buy, now, |delivery| delivery.reports.push(report))?;
    Ok(super::report::metrics(&total.reports))
}

/// In what the reach of a buy is counted: as its goal says.
fn reach_unit(buy: &MediaBuy) -> Value {
    let goals = buy.packages.iter().filter_map(|one| one.shown.get("optimization_goals"));
    let unit = goals
        .filter_map(Value::as_array)
        .flatten()
        .find_map(|goal| goal.get("reach_unit").cloned());
    unit.unwrap_or_else(|| "individuals".into())
}

/// Spends a share of a buy's budget (`simulate_budget_spend`), in place of what it has spent; the amount
/// and the budget.
///
/// # Errors
/// When the store fails.
pub fn spend(
    shelf: &dyn Shelf,
    buy: &Kept<MediaBuy>,
    percentage: Amount,
    now: Timestamp,
) -> Result<(Amount, Amount), Fault> {
    let budget = buy.thing.total_budget;
    let spent = budget.percent(percentage);
    delivery(shelf, buy, now, |delivery| delivery.spent = Some(spent))?;
    Ok((spent, budget))
}

/// Commits a share of what an account may spend, in place of what was committed; the amount and the
/// limit, or `None` when it has no limit.
///
/// # Errors
/// When the store fails.
pub fn spend_account(
    shelf: &dyn Shelf,
    account: &mut Kept<Account>,
    percentage: Amount,
    now: Timestamp,
) -> Result<Option<(Amount, Amount)>, Fault> {
    let Some(funds) = &mut account.thing.funds else {
        return Ok(None);
    };
    funds.committed = funds.limit.percent(percentage);
    let done = (funds.committed, funds.limit);
    shelf.change(account, now)?;
    Ok(Some(done))
}

/// Changes what a buy has delivered.
fn delivery(
    shelf: &dyn Shelf,
    buy: &Kept<MediaBuy>,
    now: Timestamp,
    change: impl FnOnce(&mut Delivery),
) -> Result<Delivery, Fault> {
    let id = buy.record.id.as_str();
    if let Some(mut known) = shelf.find::<Delivery>(id)? {
        change(&mut known.thing);
        shelf.change(&mut known, now)?;
        return Ok(known.thing);
    }
    let mut first = Delivery { media_buy_id: id.to_owned(), ..Delivery::default() };
    change(&mut first);
    let record = &buy.record;
    let account = record.account.as_deref();
    shelf.add(New { id, owner: &record.owner, account, state: "", now }, &first)?;
    Ok(first)
}

/// Puts a buy there (`seed_media_buy`), with what the fixture leaves open filled in. Whether it could:
/// an id that another tenant's buy has cannot be taken.
///
/// # Errors
/// When the store fails.
pub fn seed(
    shelf: &dyn Shelf,
    owner: &str,
    account: &str,
    id: &str,
    fixture: &Map,
    now: Timestamp,
) -> Result<bool, Fault> {
    let whose = shelf.whose(Kind::MediaBuy, id)?;
    if whose.is_some_and(|whose| whose.owner != owner) {
        return Ok(false);
    }
    let text = |map: &Map, name: &str| map.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
    let time = |name: &str| text(fixture, name).and_then(|time| time.parse::<Timestamp>().ok());
    let named = text(fixture, "media_buy_status").or_else(|| text(fixture, "status"));
    let status = named.as_deref().and_then(Status::from_name).unwrap_or(Status::Active);
    let package = |(place, value): (usize, &Value)| {
        let none = Map::new();
        let given = value.as_object().unwrap_or(&none);
        let budget = given.get("budget").and_then(Amount::read).unwrap_or_default();
        let mut shown = given.clone();
        let taken = [
            "package_id",
            "product_id",
            "pricing_option_id",
            "budget",
            "paused",
            "creative_assignments",
        ];
        shown.retain(|name, _| !taken.contains(&name.as_str()));
        let assigned = given.get("creative_assignments").and_then(Value::as_array);
        Package {
            package_id: text(given, "package_id").unwrap_or_else(|| format!("{id}_{}", place + 1)),
            product_id: text(given, "product_id").unwrap_or_default(),
            pricing_option_id: text(given, "pricing_option_id").unwrap_or_default(),
            budget,
            start_time: None,
            end_time: None,
            paused: given.get("paused").and_then(Value::as_bool).unwrap_or_default(),
            cancellation: None,
            creative_assignments: assigned.cloned().unwrap_or_default(),
            price: PricingOption::default(),
            shown,
        }
    };
    let packages = fixture.get("packages").and_then(Value::as_array);
    let packages: Vec<_> = packages.into_iter().flatten().enumerate().map(package).collect();
    let total = fixture.get("total_budget").and_then(Amount::read);
    let mut buy = MediaBuy {
        media_buy_id: id.to_owned(),
        status: if status == Status::Paused { Status::Active } else { status },
        paused: status == Status::Paused,
        currency: text(fixture, "currency").unwrap_or_else(|| "USD".to_owned()),
        total_budget: packages.iter().map(|package| package.budget).sum(),
        start_time: time("start_time").unwrap_or(now),
        end_time: time("end_time").unwrap_or(now + SignedDuration::from_hours(30 * 24)),
        confirmed_at: Some(now),
        proposal_id: None,
        envelope: None,
        cancellation: (status == Status::Canceled)
            .then(|| json!({"canceled_at": now, "canceled_by": "seller"})),
        rejection_reason: text(fixture, "rejection_reason"),
        plan_id: None,
        governance_context: None,
        packages,
        shown: Map::new(),
        history: Vec::new(),
    };
    if buy.packages.is_empty() {
        buy.total_budget = total.unwrap_or_default();
    }
    buy.note(1, now, "created", "the sandbox put the buy there");
    let state = super::state(&buy);
    let revision = fixture.get("revision").and_then(Value::as_u64);
    match shelf.find::<MediaBuy>(id)? {
        Some(mut known) => {
            known.thing = buy;
            save(shelf, &mut known, now)?;
        }
        None => shelf.add(New { id, owner, account: Some(account), state, now }, &buy)?,
    }
    if let Some(revision) = revision
        && let Some(mut known) = shelf.find::<MediaBuy>(id)?
    {
        known.record.revision = revision.max(1);
        known.record.body = tradepost_wire::json::to_value(&known.thing)
            .map_err(|error| Fault::new("writing what is to be kept", error))?;
        shelf.put(known.record)?;
    }
    Ok(true)
}

/// How the next `create_media_buy` of a tenant has to be answered (`force_create_media_buy_arm`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// `submitted` or `input-required`.
    pub arm: String,
    /// The id that the task has to have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// What to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl Thing for Arm {
    const KIND: Kind = Kind::Directive;
}

fn arm_id(tenant: &str) -> String {
    own_id(tenant, "", "create_media_buy_arm")
}

impl Arm {
    /// Prepares it for the next request of a tenant, in place of an earlier one.
    ///
    /// # Errors
    /// When the store fails.
    pub fn set(&self, shelf: &dyn Shelf, tenant: &str, now: Timestamp) -> Result<(), Fault> {
        let id = arm_id(tenant);
        shelf.remove(Kind::Directive, &id)?;
        shelf.add(New { id: &id, owner: tenant, account: None, state: "", now }, self)
    }

    /// Takes what was prepared: it holds once.
    pub(crate) fn take(shelf: &dyn Shelf, tenant: &str) -> Result<Option<Self>, Fault> {
        let id = arm_id(tenant);
        let found = shelf.find::<Self>(&id)?.map(|kept| kept.thing);
        if found.is_some() {
            shelf.remove(Kind::Directive, &id)?;
        }
        Ok(found)
    }
}
