//! Rows of the staff lists as JSON. No row contains a credential.

use std::collections::BTreeSet;

use jiff::Timestamp;
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Map, Value, json};

use super::StaffView;
use super::pace::{self, DeliveryPace};
use crate::account::Account;
use crate::buy::report::{self, BuyDelivery, Period};
use crate::buy::{MediaBuy, MediaBuyStatus, Package};
use crate::creative::Creative;
use crate::proposal::Proposal;
use crate::store::{EntityRecord, Stored};
use crate::task::SubmittedTask;

/// Returns the buyer agent id of a tenant.
pub(super) fn agent(owner: &str) -> &str {
    owner.strip_prefix("agent:").unwrap_or(owner)
}

/// Returns the product ids of a media buy.
pub(super) fn products(buy: &MediaBuy) -> impl Iterator<Item = &str> {
    buy.packages.iter().map(|package| package.product_id.as_str())
}

/// Returns the state of a package: that of its media buy, unless the package itself is canceled or
/// paused.
pub(super) fn package_state(buy: &MediaBuy, package: &Package, now: Timestamp) -> MediaBuyStatus {
    let status = buy.status_at(now);
    if !package.is_live() {
        return MediaBuyStatus::Canceled;
    }
    if package.paused && status == MediaBuyStatus::Active { MediaBuyStatus::Paused } else { status }
}

/// Returns the delivery of a media buy; empty when nothing was reported.
pub(super) fn delivered(
    view: &StaffView<'_>,
    buy: &Stored<MediaBuy>,
) -> Result<BuyDelivery, InternalError> {
    let delivery = view.reader.find::<BuyDelivery>(&buy.record.id)?;
    Ok(delivery.map(|stored| stored.thing).unwrap_or_default())
}

/// Returns the media buy that a task requested, as it was requested. Tasks decided before the request was
/// stored return the resulting media buy as it is now.
pub(super) fn asked(
    view: &StaffView<'_>,
    task: &SubmittedTask,
) -> Result<Option<MediaBuy>, InternalError> {
    if let Some(asked) = task.draft.as_ref().or(task.asked.as_ref()) {
        return Ok(Some(asked.clone()));
    }
    match &task.subject {
        Some(id) => Ok(view.reader.find::<MediaBuy>(id)?.map(|stored| stored.thing)),
        None => Ok(None),
    }
}

/// Returns the row of a media buy.
pub(super) fn buy(view: &StaffView<'_>, stored: &Stored<MediaBuy>) -> Result<Value, InternalError> {
    let buy = &stored.thing;
    let now = view.now;
    let packages = buy.packages.iter().map(|package| {
        json!({
            "id": package.package_id, "product": package.product_id, "budget": package.budget,
            "state": package_state(buy, package, now),
        })
    });
    Ok(json!({
        "publisher": view.publisher.profile.id, "id": buy.media_buy_id,
        "state": buy.status_at(now), "paused": buy.paused, "account": stored.record.account,
        "agent": agent(&stored.record.owner), "products": products(buy).collect::<BTreeSet<_>>(),
        "currency": buy.currency, "budget": buy.total_budget,
        "spent": delivered(view, stored)?.spent(), "start_time": buy.start_time,
        "end_time": buy.end_time, "packages": packages.collect::<Vec<_>>(),
        "proposal": buy.proposal_id, "task": buy.task_id, "confirmed_at": buy.confirmed_at,
        "revision": stored.record.revision, "created_at": stored.record.created_at,
        "updated_at": stored.record.updated_at,
    }))
}

/// Returns the row of a package.
pub(super) fn package(view: &StaffView<'_>, stored: &Stored<MediaBuy>, package: &Package) -> Value {
    let buy = &stored.thing;
    let creatives = package.creative_assignments.iter();
    let creatives = creatives.filter_map(|assigned| assigned.creative_id.as_ref());
    json!({
        "publisher": view.publisher.profile.id, "id": package.package_id,
        "buy": buy.media_buy_id, "state": package_state(buy, package, view.now),
        "account": stored.record.account, "agent": agent(&stored.record.owner),
        "product": package.product_id, "pricing_option": package.pricing_option_id,
        "currency": buy.currency, "budget": package.budget,
        "start_time": package.start_time.unwrap_or(buy.start_time),
        "end_time": package.end_time.unwrap_or(buy.end_time), "paused": package.paused,
        "creatives": creatives.collect::<Vec<_>>(), "targeting": package.shown.targeting_overlay,
        "created_at": stored.record.created_at, "updated_at": stored.record.updated_at,
    })
}

/// Returns the row of a creative.
pub(super) fn creative(view: &StaffView<'_>, stored: &Stored<Creative>) -> Value {
    let creative = &stored.thing;
    let format = creative.given.format_id.as_ref().and_then(|format| format.id.as_ref());
    json!({
        "publisher": view.publisher.profile.id, "id": creative.creative_id,
        "state": creative.status_at(view.now), "account": stored.record.account,
        "agent": agent(&stored.record.owner), "name": creative.name(),
        "format": format.or(creative.given.format_kind.as_ref()),
        "reason": creative.rejection_reason, "review_ends_at": creative.review_ends_at,
        "created_at": stored.record.created_at, "updated_at": stored.record.updated_at,
    })
}

/// Returns the row of a proposal.
pub(super) fn proposal(view: &StaffView<'_>, stored: &Stored<Proposal>) -> Value {
    let proposal = &stored.thing;
    let products = proposal.allocations.iter().map(|part| &part.product_id);
    json!({
        "publisher": view.publisher.profile.id, "id": proposal.proposal_id,
        "state": proposal.state_at(view.now), "account": stored.record.account,
        "agent": agent(&stored.record.owner), "name": proposal.name,
        "products": products.collect::<Vec<_>>(), "currency": proposal.envelope.currency,
        "budget": proposal.envelope.budget, "expires_at": proposal.expires_at,
        "media_buy": proposal.bought_as, "created_at": stored.record.created_at,
        "updated_at": stored.record.updated_at,
    })
}

/// Returns the row of an account.
pub(super) fn account(view: &StaffView<'_>, stored: &Stored<Account>) -> Value {
    let account = &stored.thing;
    json!({
        "publisher": view.publisher.profile.id, "id": account.account_id,
        "state": account.status, "agent": agent(&stored.record.owner), "name": account.name,
        "brand": account.brand, "operator": account.operator, "billing": account.billing,
        "sandbox": account.sandbox, "created_at": stored.record.created_at,
        "updated_at": stored.record.updated_at,
    })
}

/// Returns the row of a task, with the requested media buy.
pub(super) fn task(
    view: &StaffView<'_>,
    stored: &Stored<SubmittedTask>,
    asked: Option<&MediaBuy>,
) -> Value {
    let task = &stored.thing;
    let decided = task.decided.as_ref();
    let is_open = task.is_open() && task.draft.is_some();
    let waits_for = match (is_open, task.due_at) {
        (true, None) => Some("person"),
        (true, Some(_)) => Some("time"),
        (false, Some(_) | None) => None,
    };
    json!({
        "publisher": view.publisher.profile.id, "id": task.task_id, "state": task.status,
        "account": stored.record.account, "agent": agent(&stored.record.owner),
        "asked_by": task.asked_by.as_deref().map(agent), "type": task.task_type,
        "currency": asked.map(|buy| &buy.currency), "budget": asked.map(|buy| buy.total_budget),
        "start_time": asked.map(|buy| buy.start_time), "end_time": asked.map(|buy| buy.end_time),
        "products": asked.map(|buy| products(buy).collect::<BTreeSet<_>>()),
        "waits_for": waits_for, "decides_at": task.due_at,
        "decided": decided.map(|decided| decided.verdict),
        "decided_at": decided.map(|decided| decided.at),
        "decider": decided.map(|decided| decided.decider),
        "decided_by": decided.and_then(|decided| decided.by.as_ref()),
        "reason": decided.and_then(|decided| decided.reason.as_ref()),
        "media_buy": task.subject, "created_at": stored.record.created_at,
        "updated_at": stored.record.updated_at,
    })
}

/// Returns the row of a media buy's delivery in a period.
pub(super) fn delivery(
    view: &StaffView<'_>,
    stored: &Stored<MediaBuy>,
    period: Period,
) -> Result<Value, InternalError> {
    let buy = &stored.thing;
    let delivery = delivered(view, stored)?;
    let reports: Vec<_> = delivery.within(period).collect();
    let are_final = reports.iter().filter(|report| report.finalized_at.is_some()).count();
    let are_pushed = reports.iter().filter(|report| report.pushed_at.is_some()).count();
    let mut row = json!({
        "publisher": view.publisher.profile.id, "id": buy.media_buy_id,
        "state": buy.status_at(view.now), "account": stored.record.account,
        "agent": agent(&stored.record.owner), "currency": buy.currency, "budget": buy.total_budget,
        "spent": delivery.spent(), "start_time": buy.start_time, "end_time": buy.end_time,
        "reports": reports.len(), "last_report_at": reports.last().map(|report| report.at),
        "final_reports": are_final, "pushed_reports": are_pushed,
    });
    extend(&mut row, report::metrics(reports));
    Ok(paced(row, pace::of_buy(view, stored, &delivery)?))
}

/// Returns a row with its pace.
pub(super) fn paced(mut row: Value, pace: DeliveryPace) -> Value {
    extend(&mut row, pace.members());
    row
}

/// Adds members to an object.
pub(super) fn extend(document: &mut Value, members: Map) {
    if let Some(document) = document.as_object_mut() {
        document.extend(members);
    }
}

/// Returns the creation as a history entry, for records without any other history.
pub(super) fn made(record: &EntityRecord) -> Value {
    json!({"at": record.created_at, "what": "created", "by": agent(&record.owner)})
}
