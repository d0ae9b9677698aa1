//! Detail pages for the publisher's staff: what was bought and delivered, what was requested and
//! decided, and by whom. Credentials and bank details are never shown.

use std::collections::BTreeSet;

use tradepost_document::fault::InternalError;
use tradepost_document::json::{Map, Value, json};

use super::list::Subject;
use super::{StaffView, pace, row};
use crate::account::{Account, AccountGrant};
use crate::buy::report::{self, DeliveryReport, Period};
use crate::buy::{MediaBuy, Package, health};
use crate::creative::Creative;
use crate::decision::LastDecision;
use crate::money::MoneyAmount;
use crate::proposal::Proposal;
use crate::remote_order::{DealState, RemoteOrder};
use crate::reply::object;
use crate::store::{Entity, EntityRecord, IndexField, Query, Stored, own_id};
use crate::task::SubmittedTask;
use crate::task::finish::record_id;

/// Members of a package row that repeat its media buy.
const OF_BUY: [&str; 6] = ["publisher", "buy", "account", "agent", "created_at", "updated_at"];

/// Reason why nothing is shown.
#[derive(Debug)]
pub enum NotShown {
    /// Nothing has this id.
    Absent,
    /// Items of several accounts have this id; the accounts.
    SeveralAccounts(Vec<String>),
    /// Several media buys of one account have a package with this id; the media buys.
    SeveralBuys(Vec<String>),
    /// Internal error.
    Broken(InternalError),
}

impl From<InternalError> for NotShown {
    fn from(broken: InternalError) -> Self {
        Self::Broken(broken)
    }
}

/// Returns the details of the item with an id; `account` selects one when several accounts have it.
///
/// # Errors
/// The reason why nothing is shown.
pub fn show(
    view: StaffView<'_>,
    subject: Subject,
    id: &str,
    account: Option<&str>,
) -> Result<Value, NotShown> {
    let view = &view;
    match subject {
        Subject::Buys => Ok(buy(view, &by_record(view, id, account)?)?),
        Subject::Packages => package(view, id, account),
        Subject::Creatives => Ok(creative(view, &by_chosen_id(view, id, account)?)),
        Subject::Proposals => Ok(proposal(view, &by_record(view, id, account)?)),
        Subject::Accounts => Ok(account_of(view, &by_record(view, id, account)?)?),
        Subject::Tasks => Ok(task(view, &by_chosen_id(view, id, account)?)?),
        Subject::Delivery => Ok(delivery(view, &by_record(view, id, account)?)?),
    }
}

/// Finds an entity whose id we assigned; it is the id of its record.
fn by_record<T: Entity>(
    view: &StaffView<'_>,
    id: &str,
    account: Option<&str>,
) -> Result<Stored<T>, NotShown> {
    let found = view.reader.find::<T>(id)?;
    let is_there =
        |stored: &Stored<T>| account.is_none() || stored.record.account.as_deref() == account;
    found.filter(is_there).ok_or(NotShown::Absent)
}

/// Finds an entity whose id its buyer chose; several accounts may have the same.
fn by_chosen_id<T: Entity>(
    view: &StaffView<'_>,
    id: &str,
    account: Option<&str>,
) -> Result<Stored<T>, NotShown> {
    let mut found = led_to_by(view, account, IndexField::ChosenId, id)?;
    let Some(only) = found.pop() else { return Err(NotShown::Absent) };
    if found.is_empty() {
        return Ok(only);
    }
    found.push(only);
    Err(NotShown::SeveralAccounts(accounts(&found)))
}

/// Returns the accounts of entities, each once.
fn accounts<T>(found: &[Stored<T>]) -> Vec<String> {
    let accounts = found.iter().map(|stored| stored.record.account.clone().unwrap_or_default());
    accounts.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Returns all entities of a type with an index term that need not be unique.
fn led_to_by<T: Entity>(
    view: &StaffView<'_>,
    account: Option<&str>,
    field: IndexField,
    id: &str,
) -> Result<Vec<Stored<T>>, InternalError> {
    let query = Query { account: account.map(ToOwned::to_owned), ..Query::default() };
    view.reader.all(&query.led_to_by(field, id))
}

/// Returns a media buy with its packages and history.
fn buy(view: &StaffView<'_>, stored: &Stored<MediaBuy>) -> Result<Value, InternalError> {
    let buy = &stored.thing;
    let now = view.now;
    let delivery = row::delivered(view, stored)?;
    let reports: Vec<_> = delivery.reports.iter().collect();
    let shares = report::shares(buy, &reports);
    let library = creatives_of(view, stored)?;
    let names = product_names(view)?;
    let paces = pace::of_packages(view, stored, &delivery)?;
    let has_deals = buy.packages.iter().any(Package::is_deal);
    let remote = if has_deals { view.reader.find::<RemoteOrder>(&stored.record.id)? } else { None };
    let remote = remote.map(|remote| remote.thing);
    let packages = buy.packages.iter().zip(&shares).zip(paces).map(|((package, share), pace)| {
        let mut shown = row::paced(package_document(view, stored, package, &library), pace);
        if let Some(members) = shown.as_object_mut() {
            members.retain(|name, _| !OF_BUY.contains(&name.as_str()));
        }
        let name = names.get(&package.product_id).cloned();
        row::extend(
            &mut shown,
            object([
                ("product_name", name),
                ("delivery", Some(report::metrics(share).into())),
                ("deal", deal(buy, package, share, remote.as_ref())),
            ]),
        );
        shown
    });
    let packages: Vec<Value> = packages.collect();
    let account = Account::find_for(&stored.record, view.reader)?;
    let mut figures = report::metrics(reports.iter().copied());
    figures.insert("reports".to_owned(), reports.len().into());
    let last = reports.last().map(|report| json!(report.at));
    figures.insert("last_report_at".to_owned(), last.unwrap_or_default());
    let history = history(view, stored)?;
    let mut shown = row::buy(view, stored)?;
    row::extend(
        &mut shown,
        object([
            ("packages", Some(packages.into())),
            ("account_name", account.map(|account| account.thing.name.into())),
            ("terms", Some(buy.shown.clone().into())),
            ("plan", buy.plan_id.clone().map(Value::from)),
            ("cancellation", buy.cancellation.as_ref().map(|cancellation| json!(cancellation))),
            ("rejection_reason", buy.rejection_reason.clone().map(Value::from)),
            (
                "impairments",
                Some(health::impairments(buy, &library.iter().collect::<Vec<_>>(), now).into()),
            ),
            ("delivery", Some(figures.into())),
            ("days", Some(report::daily(reports.iter().copied()))),
            ("held_since", buy.hold.as_ref().map(|hold| json!(hold.since))),
            ("held_because", buy.hold.as_ref().map(|hold| json!(hold.reason))),
            ("history", Some(history.into())),
        ]),
    );
    Ok(shown)
}

/// Returns the deal of a package with its state at the receiver and what it has spent as far as it is reported; `None` for a
/// package that is not sold as a deal. The exchange knows no budget, so that people have to pause a deal that has spent it.
fn deal(
    buy: &MediaBuy,
    package: &Package,
    share: &[DeliveryReport],
    remote: Option<&RemoteOrder>,
) -> Option<Value> {
    let id = package.deal_id(buy)?;
    let known = remote.and_then(|remote| remote.deals.get(&package.package_id));
    let state = known.map_or(DealState::Unsent, |known| known.shown_state());
    let spent: MoneyAmount = share.iter().map(|report| report.figure("spend")).sum();
    Some(json!({
        "id": id, "state": state, "refusal": known.and_then(|known| known.refusal.as_ref()),
        "budget": package.budget, "spent": spent, "budget_spent": spent >= package.budget,
    }))
}

/// Returns the names of products by id.
fn product_names(view: &StaffView<'_>) -> Result<Map, InternalError> {
    let products = view.publisher.products(view.reader)?;
    let name = |product: &crate::catalogue::Product| {
        Some((product.id().to_owned(), product.published.name.clone()?.into()))
    };
    Ok(products.iter().filter_map(name).collect())
}

/// Returns the creatives of a media buy's packages that are in the library.
fn creatives_of(
    view: &StaffView<'_>,
    stored: &Stored<MediaBuy>,
) -> Result<Vec<Stored<Creative>>, InternalError> {
    let assigned = stored.thing.packages.iter().flat_map(|package| &package.creative_assignments);
    let ids = assigned.filter_map(|assignment| assignment.creative_id.as_deref());
    let ids: BTreeSet<_> = ids.collect();
    let account = stored.record.account.as_deref().unwrap_or_default();
    let mut found = Vec::new();
    for id in ids {
        let record = own_id(&stored.record.owner, account, id);
        found.extend(view.reader.find::<Creative>(&record)?);
    }
    Ok(found)
}

/// Returns a package with its terms and the state of its creatives.
fn package_document(
    view: &StaffView<'_>,
    stored: &Stored<MediaBuy>,
    package: &Package,
    library: &[Stored<Creative>],
) -> Value {
    let creatives = package.creative_assignments.iter().map(|assigned| {
        let mut library = library.iter().map(|stored| &stored.thing);
        let known = library.find(|creative| assigned.is(&creative.creative_id));
        json!({
            "id": assigned.creative_id, "name": known.map(Creative::name),
            "state": known.map(|creative| creative.status_at(view.now)),
            "reason": known.and_then(|creative| creative.rejection_reason.as_ref()),
        })
    });
    let creatives: Vec<Value> = creatives.collect();
    let mut shown = row::package(view, stored, package);
    row::extend(
        &mut shown,
        object([
            ("creatives", Some(creatives.into())),
            ("price", Some(json!(package.price))),
            ("cancellation", package.cancellation.as_ref().map(|cancellation| json!(cancellation))),
            ("terms", Some(package.shown.members.clone().into())),
        ]),
    );
    shown
}

/// Returns the history of a media buy: request, decision and changes, oldest first.
fn history(view: &StaffView<'_>, stored: &Stored<MediaBuy>) -> Result<Vec<Value>, InternalError> {
    let mut history = Vec::new();
    if let Some(task_id) = &stored.thing.task_id {
        let record = record_id(&stored.record.owner, task_id);
        if let Some(task) = view.reader.find::<SubmittedTask>(&record)? {
            history = task_history(&task);
        }
    }
    history.extend(stored.thing.history.iter().map(|change| {
        json!({
            "at": change.timestamp, "what": change.action, "by": change.by.as_deref().map(row::agent),
            "summary": change.summary, "revision": change.revision,
        })
    }));
    Ok(history)
}

/// Returns the request and the decision of a task, oldest first.
fn task_history(stored: &Stored<SubmittedTask>) -> Vec<Value> {
    let task = &stored.thing;
    let asked_by = task.asked_by.as_deref().unwrap_or(&stored.record.owner);
    let mut history = vec![json!({
        "at": stored.record.created_at, "what": "asked", "by": row::agent(asked_by),
        "summary": format!("{} became task {}", task.task_type, task.task_id),
    })];
    history.extend(task.approvals.iter().map(|one| {
        json!({"at": one.at, "what": "approved", "by": one.by,
               "summary": "the first of two approvals"})
    }));
    let what = match (&task.decided, task.completed_at) {
        (Some(decided), _) => json!({
            "at": decided.at, "what": decided.verdict, "by": decided.by,
            "decider": decided.decider, "reason": decided.reason,
        }),
        // Tasks decided before the decider was recorded.
        (None, Some(at)) => json!({"at": at, "what": task.status, "by": null}),
        (None, None) => return history,
    };
    history.push(what);
    history
}

/// Returns the package with this id, with the state and history of its media buy. Fails when several media buys have
/// such a package.
fn package(view: &StaffView<'_>, id: &str, account: Option<&str>) -> Result<Value, NotShown> {
    let mut found = led_to_by::<MediaBuy>(view, account, IndexField::Package, id)?;
    let Some(only) = found.pop() else { return Err(NotShown::Absent) };
    if !found.is_empty() {
        found.push(only);
        let accounts = accounts(&found);
        if accounts.len() > 1 {
            return Err(NotShown::SeveralAccounts(accounts));
        }
        let buys = found.into_iter().map(|stored| stored.record.id);
        return Err(NotShown::SeveralBuys(buys.collect()));
    }
    let whole = buy(view, &only)?;
    let mut packages = whole.get("packages").and_then(Value::as_array).into_iter().flatten();
    let known = packages.find(|package| package.get("id").and_then(Value::as_str) == Some(id));
    let known = known.and_then(Value::as_object).cloned().ok_or(NotShown::Absent)?;
    let package = only.thing.package(id).ok_or(NotShown::Absent)?;
    let mut shown = row::package(view, &only, package);
    row::extend(&mut shown, known);
    let of_buy = |name: &str| whole.get(name).cloned();
    row::extend(
        &mut shown,
        object([
            ("buy_state", of_buy("state")),
            ("account_name", of_buy("account_name")),
            ("history", of_buy("history")),
        ]),
    );
    Ok(shown)
}

/// Returns the creation of a record and the latest decision about it, oldest first.
fn decided_history(record: &EntityRecord, decided: Option<&LastDecision>) -> Vec<Value> {
    let decided = decided
        .map(|decided| json!({"at": decided.at, "what": decided.step.done(), "by": decided.by}));
    std::iter::once(row::made(record)).chain(decided).collect()
}

/// Returns a creative with all that staff may see of it.
fn creative(view: &StaffView<'_>, stored: &Stored<Creative>) -> Value {
    let creative = &stored.thing;
    let packages = creative.assigned.iter();
    let packages = packages.map(|(package, at)| json!({"id": package, "assigned_at": at}));
    let mut shown = row::creative(view, stored);
    row::extend(
        &mut shown,
        object([
            ("given", Some(json!(creative.given))),
            ("packages", Some(packages.collect())),
            ("offline_since", creative.offline.map(|offline| json!(offline.since))),
            ("offline_reason", creative.offline.map(|offline| json!(offline.reason))),
            ("observations", Some(creative.observations.clone().into())),
            ("verifiers", Some(json!(creative.asked))),
            ("revision", Some(stored.record.revision.into())),
            ("history", Some(decided_history(&stored.record, creative.decision.as_ref()).into())),
        ]),
    );
    shown
}

/// Returns a proposal with its allocations.
fn proposal(view: &StaffView<'_>, stored: &Stored<Proposal>) -> Value {
    let proposal = &stored.thing;
    let allocations = proposal.allocations.iter().map(|part| {
        json!({
            "product": part.product_id, "pricing_option": part.pricing_option_id,
            "percentage": part.percentage, "rationale": part.rationale,
        })
    });
    let mut shown = row::proposal(view, stored);
    row::extend(
        &mut shown,
        object([
            ("description", Some(json!(proposal.description))),
            ("allocations", Some(allocations.collect())),
            ("envelope", Some(json!(proposal.envelope))),
            ("insertion_order", proposal.io_id.clone().map(Value::from)),
            ("history", Some(json!([row::made(&stored.record)]))),
        ]),
    );
    shown
}

fn account_of(view: &StaffView<'_>, stored: &Stored<Account>) -> Result<Value, InternalError> {
    let account = &stored.thing;
    let of_account = Query { account: Some(account.account_id.clone()), ..Query::default() };
    let grants = view.reader.all::<AccountGrant>(&of_account)?;
    let grants = grants.iter().map(|grant| {
        let granted = &grant.thing.authorization;
        json!({
            "agent": row::agent(&grant.record.owner), "tasks": granted.allowed_tasks,
            "fields": granted.field_scopes, "read_only": granted.read_only,
            "since": grant.record.updated_at,
        })
    });
    let published = account.published();
    let of_published = |name: &str| published.get(name).cloned();
    let mut shown = row::account(view, stored);
    row::extend(
        &mut shown,
        object([
            ("opened_by_itself", Some(account.implicit.into())),
            ("payment_terms", account.payment_terms.clone().map(Value::from)),
            ("billing_entity", of_published("billing_entity")),
            ("setup", of_published("setup")),
            ("governance_agents", of_published("governance_agents")),
            ("notifications", of_published("notification_configs")),
            ("funds", account.funds.as_ref().map(|funds| json!(funds))),
            ("committed_today", account.day.as_ref().map(|day| json!(day))),
            ("grants", Some(grants.collect())),
            ("history", Some(decided_history(&stored.record, account.decision.as_ref()).into())),
        ]),
    );
    Ok(shown)
}

/// Returns a task with its request and its decisions.
fn task(view: &StaffView<'_>, stored: &Stored<SubmittedTask>) -> Result<Value, InternalError> {
    let task = &stored.thing;
    let asked = row::asked(view, task)?;
    let names = product_names(view)?;
    let packages = asked.as_ref().map(|buy| {
        let packages = buy.packages.iter().map(|package| {
            json!({
                "id": package.package_id, "product": package.product_id,
                "product_name": names.get(&package.product_id),
                "pricing_option": package.pricing_option_id, "budget": package.budget,
                "start_time": package.start_time.unwrap_or(buy.start_time),
                "end_time": package.end_time.unwrap_or(buy.end_time),
                "targeting": package.shown.targeting_overlay,
                "creatives": package.creative_assignments, "terms": package.shown.members,
            })
        });
        packages.collect::<Vec<_>>()
    });
    let mut request = task.history.first().and_then(|first| first.get("data")).cloned();
    if let Some(members) = request.as_mut().and_then(Value::as_object_mut) {
        // The token is removed, because its bearer can use it with the governance agent.
        members.shift_remove("governance_context");
    }
    let mut shown = row::task(view, stored, asked.as_ref());
    let account = Account::find_for(&stored.record, view.reader)?;
    let profile = &view.publisher.profile;
    let needs_two = task
        .draft
        .as_ref()
        .is_some_and(|draft| profile.needs_two_persons(&draft.currency, draft.total_budget));
    let approvals: Vec<Value> =
        task.approvals.iter().map(|one| json!({"at": one.at, "by": one.by})).collect();
    row::extend(
        &mut shown,
        object([
            ("packages", packages.map(Value::from)),
            ("account_name", account.map(|account| account.thing.name.into())),
            ("terms", asked.map(|buy| buy.shown.into())),
            ("request", request),
            ("errors", Some(task.errors.clone().into())),
            ("result", task.result.clone().map(Value::from)),
            // Only the URL: the other members are the receiver's secrets.
            ("notifies", task.push.as_ref().and_then(|push| push.url.clone()).map(Value::from)),
            ("completed_at", task.completed_at.map(|at| json!(at))),
            ("revision", Some(stored.record.revision.into())),
            ("approvals", (!approvals.is_empty()).then(|| approvals.into())),
            ("needs_two_approvals", needs_two.then(|| true.into())),
            ("history", Some(task_history(stored).into())),
        ]),
    );
    Ok(shown)
}

/// Returns the delivery of a media buy, by package and by day.
fn delivery(view: &StaffView<'_>, stored: &Stored<MediaBuy>) -> Result<Value, InternalError> {
    let buy = &stored.thing;
    let delivery = row::delivered(view, stored)?;
    let reports: Vec<_> = delivery.reports.iter().collect();
    let shares = report::shares(buy, &reports);
    let packages = buy.packages.iter().zip(&shares).map(|(package, share)| {
        let mut shown = json!({
            "id": package.package_id, "product": package.product_id, "budget": package.budget,
            "state": row::package_state(buy, package, view.now),
        });
        row::extend(&mut shown, report::metrics(share));
        shown
    });
    let all = Period { start: jiff::Timestamp::MIN, end: jiff::Timestamp::MAX };
    let mut shown = row::delivery(view, stored, all)?;
    row::extend(
        &mut shown,
        object([
            ("packages", Some(packages.collect())),
            ("days", Some(report::daily(reports.iter().copied()))),
        ]),
    );
    Ok(shown)
}
