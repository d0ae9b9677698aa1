//! Changes of media buys that only a sandbox makes: it forces their status, reports delivery, spends budgets,
//! and stores buys that nobody has bought.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Map, Value};
use tradepost_document::typed::{LenientList, Typed as _};
use tradepost_document::typed_struct;

use crate::account::Account;
use crate::buy::days::DayChange;
use crate::buy::report::{self, ADDITIVE, BuyDelivery, DeliveryReport, first_moment};
use crate::buy::save::save_buy;
use crate::buy::{Assigned, Cancellation, MediaBuy, MediaBuyStatus, Package, Party, ShownMembers};
use crate::inventory;
use crate::money::MoneyAmount;
use crate::store::{EntityRecord, New, StoreTx, Stored};

/// Result of forcing a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forced {
    /// Forced; the status before.
    Done(MediaBuyStatus),
    /// Not possible: no transition leads there from this status.
    Impossible(MediaBuyStatus),
}

/// Returns true if the published state machine permits a transition; staying is permitted.
const fn leads(from: MediaBuyStatus, to: MediaBuyStatus) -> bool {
    match from {
        MediaBuyStatus::PendingCreatives | MediaBuyStatus::PendingStart => {
            !(matches!(from, MediaBuyStatus::PendingStart)
                && matches!(to, MediaBuyStatus::PendingCreatives))
        }
        MediaBuyStatus::Active | MediaBuyStatus::Paused => {
            matches!(
                to,
                MediaBuyStatus::Active
                    | MediaBuyStatus::Paused
                    | MediaBuyStatus::Completed
                    | MediaBuyStatus::Canceled
            )
        }
        MediaBuyStatus::Completed => matches!(to, MediaBuyStatus::Completed),
        MediaBuyStatus::Rejected => matches!(to, MediaBuyStatus::Rejected),
        MediaBuyStatus::Canceled => matches!(to, MediaBuyStatus::Canceled),
    }
}

/// Forces the status of a buy (`force_media_buy_status`). Forcing the status that it has changes nothing.
///
/// # Errors
/// When the store fails.
pub fn status(
    tx: &dyn StoreTx,
    stored: &mut Stored<MediaBuy>,
    to: MediaBuyStatus,
    reason: Option<&str>,
    now: Timestamp,
) -> Result<Forced, InternalError> {
    let before = stored.thing.status_at(now);
    if !leads(before, to) {
        return Ok(Forced::Impossible(before));
    }
    if before == to {
        return Ok(Forced::Done(before));
    }
    let buy = &mut stored.thing;
    buy.paused = to == MediaBuyStatus::Paused;
    buy.hold = None;
    // A pause is stored apart from the status beneath it.
    buy.status = if to == MediaBuyStatus::Paused { MediaBuyStatus::Active } else { to };
    match to {
        MediaBuyStatus::Canceled => buy.cancellation = Some(Cancellation::new(Party::Seller, now)),
        MediaBuyStatus::Rejected => buy.rejection_reason = reason.map(ToOwned::to_owned),
        // A buy that is to wait for its start must not have begun.
        MediaBuyStatus::PendingStart if buy.start_time <= now => {
            buy.start_time = now + SignedDuration::from_hours(1);
        }
        MediaBuyStatus::PendingCreatives
        | MediaBuyStatus::PendingStart
        | MediaBuyStatus::Active
        | MediaBuyStatus::Paused
        | MediaBuyStatus::Completed => {}
    }
    let revision = stored.record.revision + 1;
    stored.thing.note(revision, now, "forced", "the sandbox changed how the buy stands", None);
    save_buy(tx, stored, now)?;
    Ok(Forced::Done(before))
}

/// Adds a report to the delivery of a buy (`simulate_delivery`), and returns the metrics of all its reports.
/// `params` are those of the controller. The report is about the day that they name (`delivery_date`), or
/// else about now.
///
/// # Errors
/// When the store fails.
pub fn deliver(
    tx: &dyn StoreTx,
    buy: &Stored<MediaBuy>,
    params: &Map,
    now: Timestamp,
) -> Result<Map, InternalError> {
    let given = ForcedDelivery::read(&params.clone().into()).unwrap_or_default();
    let figure =
        |name: &str| Some((name.to_owned(), params.get(name).and_then(MoneyAmount::read)?));
    let mut figures: BTreeMap<String, MoneyAmount> =
        ADDITIVE.iter().copied().filter_map(figure).collect();
    let spend = given.reported_spend.and_then(|spend| spend.amount);
    figures.extend(spend.map(|spend| ("spend".to_owned(), spend)));
    let mut reached = given.reached;
    if given.reach.is_some() && given.reach_unit.is_none() {
        reached.insert("reach_unit".to_owned(), reach_unit(&buy.thing));
    }
    let measured = given.vendor_metric_values.iter().cloned().collect();
    let at = given.delivery_date.as_deref().and_then(first_moment).unwrap_or(now);
    let viewability = given.viewability;
    let report = DeliveryReport {
        at,
        package_id: None,
        figures,
        viewability,
        reached,
        measured,
        finalized_at: None,
        pushed_at: None,
    };
    let change = DayChange { report: report.clone(), replaced: None };
    inventory::count_delivery(tx, &buy.thing, std::slice::from_ref(&change), now)?;
    let total = delivery(tx, buy, now, |delivery| {
        let place = delivery.reports.partition_point(|known| known.at <= at);
        delivery.reports.insert(place, report);
    })?;
    Ok(report::metrics(&total.reports))
}

/// Returns the unit in which the reach of a buy is counted, as its goal says.
fn reach_unit(buy: &MediaBuy) -> Value {
    let mut goals = buy.packages.iter().flat_map(|one| one.shown.optimization_goals.iter());
    let unit = goals.find_map(|goal| goal.reach_unit.clone());
    unit.unwrap_or_else(|| "individuals".into())
}

/// Sets the spend of a buy to a share of its budget (`simulate_budget_spend`). Returns the amount and the
/// budget.
///
/// # Errors
/// When the store fails.
pub fn spend(
    tx: &dyn StoreTx,
    buy: &Stored<MediaBuy>,
    percentage: MoneyAmount,
    now: Timestamp,
) -> Result<(MoneyAmount, MoneyAmount), InternalError> {
    let budget = buy.thing.total_budget;
    let spent = budget.percent(percentage);
    delivery(tx, buy, now, |delivery| delivery.spent = Some(spent))?;
    Ok((spent, budget))
}

/// Sets the committed amount of an account to a share of its limit. Returns the amount and the limit, or
/// `None` when it has no limit.
///
/// # Errors
/// When the store fails.
pub fn spend_account(
    tx: &dyn StoreTx,
    account: &mut Stored<Account>,
    percentage: MoneyAmount,
    now: Timestamp,
) -> Result<Option<(MoneyAmount, MoneyAmount)>, InternalError> {
    let Some(funds) = &mut account.thing.funds else {
        return Ok(None);
    };
    funds.committed = funds.limit.percent(percentage);
    let done = (funds.committed, funds.limit);
    tx.change(account, now)?;
    Ok(Some(done))
}

/// Changes the delivery of a buy, and returns it.
fn delivery(
    tx: &dyn StoreTx,
    buy: &Stored<MediaBuy>,
    now: Timestamp,
    change: impl FnOnce(&mut BuyDelivery),
) -> Result<BuyDelivery, InternalError> {
    let EntityRecord { id, owner, account, .. } = &buy.record;
    if let Some(mut known) = tx.find::<BuyDelivery>(id)? {
        change(&mut known.thing);
        tx.change(&mut known, now)?;
        return Ok(known.thing);
    }
    let mut first = BuyDelivery { media_buy_id: id.clone(), ..BuyDelivery::default() };
    change(&mut first);
    tx.add(New { id, owner, account: account.as_deref(), state: "", now }, &first)?;
    Ok(first)
}

typed_struct! {
    /// Members of a controller's report other than its figures.
    #[derive(Default)]
    struct ForcedDelivery {
        reported_spend: Option<Spend>,
        delivery_date: Option<String>,
        reach: Option<Value>,
        reach_unit: Option<Value>,
        viewability: Option<Value>,
        vendor_metric_values: LenientList<Value>;
        keep reached: ["reach", "reach_unit", "reach_window", "frequency"]
    }

    struct Spend {
        amount: Option<MoneyAmount>,
    }

    /// Members that a fixture may give of a buy. They are not part of the schema; the rest is filled in.
    #[derive(Default)]
    struct BuyFixture {
        media_buy_status: Option<MediaBuyStatus>,
        status: Option<MediaBuyStatus>,
        currency: Option<String>,
        total_budget: Option<MoneyAmount>,
        start_time: Option<Timestamp>,
        end_time: Option<Timestamp>,
        rejection_reason: Option<String>,
        revision: Option<u64>,
        packages: LenientList<PackageFixture>,
    }

    /// Members that a fixture may give of a package; others are shown as given.
    struct PackageFixture {
        package_id: Option<String>,
        product_id: Option<String>,
        pricing_option_id: Option<String>,
        budget: Option<MoneyAmount>,
        paused: Option<bool>,
        creative_assignments: LenientList<Assigned>;
        whole members
    }
}

/// Members of a package that are stored as typed fields.
const TYPED: [&str; 6] =
    ["package_id", "product_id", "pricing_option_id", "budget", "paused", "creative_assignments"];

/// Stores a buy (`seed_media_buy`), with the members that the fixture lacks filled in, under an id that no
/// buy has.
///
/// # Errors
/// When the store fails.
pub fn seed(
    tx: &dyn StoreTx,
    owner: &str,
    account: &str,
    id: &str,
    fixture: &Map,
    now: Timestamp,
) -> Result<(), InternalError> {
    let given = BuyFixture::read(&fixture.clone().into()).unwrap_or_default();
    let status = given.media_buy_status.or(given.status).unwrap_or(MediaBuyStatus::Active);
    let package = |(place, mut given): (usize, PackageFixture)| {
        // Typed members are not stored twice, or a change would leave the second one behind.
        given.members.retain(|name, _| !TYPED.contains(&name.as_str()));
        Package {
            package_id: given.package_id.unwrap_or_else(|| format!("{id}_{}", place + 1)),
            product_id: given.product_id.unwrap_or_default(),
            pricing_option_id: given.pricing_option_id.unwrap_or_default(),
            budget: given.budget.unwrap_or_default(),
            paused: given.paused.unwrap_or_default(),
            creative_assignments: given.creative_assignments.0,
            shown: ShownMembers::from_members(given.members),
            ..Package::default()
        }
    };
    let packages: Vec<_> = given.packages.0.into_iter().enumerate().map(package).collect();
    let mut buy = MediaBuy {
        media_buy_id: id.to_owned(),
        status: if status == MediaBuyStatus::Paused { MediaBuyStatus::Active } else { status },
        paused: status == MediaBuyStatus::Paused,
        hold: None,
        currency: given.currency.unwrap_or_else(|| "USD".to_owned()),
        total_budget: packages.iter().map(|package| package.budget).sum(),
        start_time: given.start_time.unwrap_or(now),
        end_time: given.end_time.unwrap_or(now + SignedDuration::from_hours(30 * 24)),
        confirmed_at: Some(now),
        proposal_id: None,
        task_id: None,
        envelope: None,
        cancellation: (status == MediaBuyStatus::Canceled)
            .then(|| Cancellation::new(Party::Seller, now)),
        rejection_reason: given.rejection_reason,
        plan_id: None,
        governance_context: None,
        packages,
        shown: Map::new(),
        reporting: None,
        history: Vec::new(),
    };
    if buy.packages.is_empty() {
        buy.total_budget = given.total_budget.unwrap_or_default();
    }
    buy.note(1, now, "created", "the sandbox put the buy there", None);
    let mut record = New { id, owner, account: Some(account), state: "", now }.record(&buy)?;
    record.revision = given.revision.unwrap_or(1).max(1);
    tx.put(record)
}
