//! `get_media_buys`.

use tradepost_wire::adcp::error::Code;
use tradepost_wire::adcp::rules::typed::OneOrMore;
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::fault::Fault;
use tradepost_wire::json::{Map, Value, json};

use super::Desk;
use crate::account::Account;
use crate::buy::report::{self, Delivery, Period};
use crate::buy::{self, Assigned, MediaBuy, Package, Status, action, health};
use crate::creative::{Creative, Status as Review};
use crate::forms::buys::GetMediaBuys;
use crate::refuse::{self, Stop};
use crate::reply::{Reply, object};
use crate::shelf::{Kept, Query};
use crate::tools::page;
use crate::work::Work;

/// Replies.
pub(in crate::tools) fn perform(work: &Work<'_>, form: &GetMediaBuys) -> Result<Reply, Stop> {
    let desk = Desk::of(work);
    let (ids, filter) = (form.media_buy_ids.as_deref(), form.status_filter.as_ref());
    let buys = chosen(work, ids, filter, Some(&[Status::Active]))?;
    let scope = page::scope(&work.ask.arguments, work.admitted.account_id());
    let page = page::of(buys, form.pagination.as_ref(), &scope)?;
    let offer = desk.offer()?;
    let library = desk.reach.all::<Creative>(desk.shelf, &Query::default())?;
    let mut sandbox = false;
    let mut shown = Vec::new();
    for kept in &page.items {
        let products: Vec<_> =
            offer.iter().filter(|product| kept.thing.has(product)).cloned().collect();
        let account = match &kept.record.account {
            Some(id) => desk.shelf.find::<Account>(id)?,
            None => None,
        };
        sandbox |= account.as_ref().is_some_and(|account| account.thing.sandbox);
        let actions = action::permitted(&kept.thing, &products, work.ask.now);
        let mut row = row(kept, &actions, work, form.include_history);
        let impairments = health::impairments(&kept.thing, &library, work.ask.now);
        let health = if impairments.is_empty() { "ok" } else { "impaired" };
        row.insert("health".to_owned(), health.into());
        if !impairments.is_empty() {
            row.insert("impairments".to_owned(), impairments.into());
        }
        let packages = packages(work, kept, &library, form.include_snapshot)?;
        row.insert("packages".to_owned(), packages);
        if let Some(account) = account {
            row.insert("account".to_owned(), account.thing.published().into());
        }
        shown.push(Value::Object(row));
    }
    let mut body = json!({"media_buys": shown, "pagination": page.pagination});
    if sandbox && let Some(members) = body.as_object_mut() {
        members.insert("sandbox".to_owned(), true.into());
    }
    Ok(Reply::completed("media buys", body))
}

/// The buys that a request means: by their ids, whatever account they lie on, or all that the caller
/// reaches, on the account that is named and in the statuses that are asked for. `usual` are the statuses
/// when nothing is asked for; all when `None`.
///
/// # Errors
/// `MEDIA_BUY_NOT_FOUND` when any id does not resolve, without saying which (`U-4`).
pub(crate) fn chosen(
    work: &Work<'_>,
    ids: Option<&[String]>,
    filter: Option<&OneOrMore<Status>>,
    usual: Option<&[Status]>,
) -> Result<Vec<Kept<MediaBuy>>, Stop> {
    let (reach, shelf) = (&work.admitted.reach, work.shelf);
    let mut buys = Vec::new();
    match ids {
        Some(ids) => {
            let mut missing = false;
            for id in ids {
                // Every id is looked up, whatever became of the one before.
                match reach.find::<MediaBuy>(shelf, id)? {
                    Some(kept) => buys.push(kept),
                    None => missing = true,
                }
            }
            if missing {
                let field = Some("media_buy_ids");
                return Err(refuse::not_found(Code::MediaBuyNotFound, field).into());
            }
            buys.sort_by_key(|kept: &Kept<MediaBuy>| kept.record.place);
            // An id may be named twice, and is one buy.
            buys.dedup_by_key(|kept| kept.record.place);
        }
        None => {
            buys = reach.all::<MediaBuy>(shelf, &Query::default())?;
            if let Some(account) = &work.admitted.account {
                buys.retain(|kept| kept.record.account.as_deref() == Some(&account.record.id));
            }
        }
    }
    let wanted = match (filter, ids) {
        (Some(OneOrMore(asked)), _) => Some(asked.as_slice()),
        (None, None) => usual,
        (None, Some(_)) => None,
    };
    if let Some(wanted) = wanted {
        buys.retain(|kept| wanted.contains(&kept.thing.status_at(work.ask.now)));
    }
    Ok(buys)
}

/// A buy, without its packages.
fn row(
    kept: &Kept<MediaBuy>,
    actions: &[buy::Offered],
    work: &Work<'_>,
    history: Option<u64>,
) -> Map {
    let (buy, now) = (&kept.thing, work.ask.now);
    let mut row = buy::summary(kept, actions, now);
    // The long name keeps it apart from the status of a task; in a row `status` is the buy's own.
    row.shift_remove("media_buy_status");
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            row.insert(name.to_owned(), value);
        }
    };
    put("status", Some(buy.status_at(now).name().into()));
    put("status_as_of", Some(now.to_string().into()));
    put("confirmed_at", Some(buy.confirmed_at.map(|at| at.to_string()).into()));
    put("start_time", Some(buy.start_time.to_string().into()));
    put("end_time", Some(buy.end_time.to_string().into()));
    put("created_at", Some(kept.record.created_at.to_string().into()));
    put("updated_at", Some(kept.record.updated_at.to_string().into()));
    put("proposal_id", buy.proposal_id.clone().map(Value::from));
    put("cancellation", buy.cancellation.as_ref().map(|it| json!(it)));
    put("rejection_reason", buy.rejection_reason.clone().map(Value::from));
    put("context", buy.shown.get("context").cloned());
    if let Some(wanted) = history.and_then(|wanted| usize::try_from(wanted).ok())
        && wanted > 0
    {
        let history: Vec<_> = buy.history.iter().rev().take(wanted).cloned().collect();
        put("history", Some(json!(history)));
    }
    row
}

/// The packages with how their creatives stand and, where asked for, what they have delivered.
fn packages(
    work: &Work<'_>,
    kept: &Kept<MediaBuy>,
    library: &[Kept<Creative>],
    snapshot: bool,
) -> Result<Value, Fault> {
    let (buy, now) = (&kept.thing, work.ask.now);
    let snapshots = if snapshot {
        let delivery = work.shelf.find::<Delivery>(&kept.record.id)?;
        let delivery = delivery.map(|kept| kept.thing).unwrap_or_default();
        let period = Period { start: jiff::Timestamp::MIN, end: jiff::Timestamp::MAX };
        let reports: Vec<_> = delivery.within(period).collect();
        report::shares(buy, &reports)
    } else {
        Vec::new()
    };
    let shown = buy.packages.iter().enumerate().map(|(position, package)| {
        let mut shown = package.published(buy);
        if let Some(members) = shown.as_object_mut() {
            members.insert("currency".to_owned(), buy.currency.clone().into());
            let approvals = approvals(package, library, now);
            if !approvals.is_empty() {
                members.insert("creative_approvals".to_owned(), approvals.into());
            }
            if let Some(reports) = snapshots.get(position) {
                let metrics = report::metrics(reports);
                let none = || Value::from(0);
                let figure = |name: &str| metrics.get(name).cloned();
                let mut snapshot = json!({
                    "as_of": now,
                    "staleness_seconds": 0,
                    "impressions": figure("impressions").unwrap_or_else(none),
                    "spend": figure("spend").unwrap_or_else(none),
                    "currency": buy.currency,
                });
                if let (Some(snapshot), Some(clicks)) = (snapshot.as_object_mut(), figure("clicks"))
                {
                    snapshot.insert("clicks".to_owned(), clicks);
                }
                members.insert("snapshot".to_owned(), snapshot);
            }
        }
        shown
    });
    Ok(shown.collect())
}

fn approvals(package: &Package, library: &[Kept<Creative>], now: jiff::Timestamp) -> Vec<Value> {
    let approval = |assignment: &Assigned| {
        let id = assignment.creative_id.as_ref()?;
        let mut library = library.iter().map(|kept| &kept.thing);
        let creative = library.find(|creative| creative.creative_id == *id)?;
        let status = match creative.status_at(now) {
            // `creative_approvals` has three words. What was suspended or
            // put away had been approved.
            Review::Processing | Review::PendingReview => "pending_review",
            Review::Approved | Review::Suspended | Review::Archived => "approved",
            Review::Rejected => "rejected",
        };
        Some(Value::Object(object([
            ("creative_id", Some(json!(id))),
            ("approval_status", Some(status.into())),
            ("rejection_reason", creative.rejection_reason.clone().map(Into::into)),
        ])))
    };
    package.creative_assignments.iter().filter_map(approval).collect()
}
