//! `get_media_buys`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use tradepost_adcp::error::AdcpCode;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Map, Value, json, object};
use tradepost_document::typed::OneOrMore;

use crate::account::Account;
use crate::buy::report::{self, BuyDelivery};
use crate::buy::{self, Assigned, MediaBuy, MediaBuyStatus, Package, action, health};
use crate::catalogue::Product;
use crate::creative::{Creative, CreativeStatus as Review};
use crate::forms::buys::GetMediaBuys;
use crate::refusals::{self, ToolError};
use crate::reply::{ToolReply, object};
use crate::store::{Query, Stored, own_id};
use crate::tool_context::ToolContext;
use crate::tools::page::{self, ListPage, PageSize};

/// Handles `get_media_buys`.
pub(in crate::tools) fn perform(
    work: &ToolContext<'_>,
    form: &GetMediaBuys,
) -> Result<ToolReply, ToolError> {
    let page = page(work, form)?;
    let offer = work.publisher.products(work.reader)?;
    let related = RelatedRecords::read(work, form, &page.items)?;
    let rows = page.items.iter().map(|stored| row(work, form, stored, &offer, &related));
    let shown: Vec<Map> = rows.collect();
    let accounts = page.items.iter().filter_map(|stored| related.account(stored));
    let sandbox = accounts.into_iter().any(|account| account.sandbox);
    let body = object!({
        "media_buys": shown, "pagination": page.pagination, "sandbox"?: sandbox.then_some(true),
    });
    Ok(ToolReply::completed("media buys", body))
}

/// Returns the requested page. Media buys named by id are few and are read whole.
fn page(
    work: &ToolContext<'_>,
    form: &GetMediaBuys,
) -> Result<ListPage<Stored<MediaBuy>>, ToolError> {
    let filter = form.status_filter.as_ref();
    let account = work.admitted.account_id();
    if let Some(ids) = form.media_buy_ids.as_deref() {
        let buys = chosen(work, Some(ids), filter)?;
        let scope = page::scope(&work.call.arguments, account);
        return Ok(page::requested(buys, form.pagination.as_ref(), &scope)?);
    }
    let statuses =
        filter.map_or(&[MediaBuyStatus::Active][..], |OneOrMore(asked)| asked.as_slice());
    let size = PageSize { usual: page::MOST, most: page::MOST };
    let asked = form.pagination.as_ref();
    Ok(page::read_stored(work, account, &in_status(statuses), asked, size)?.page)
}

/// Returns a query for media buys in one of these statuses.
fn in_status(statuses: &[MediaBuyStatus]) -> Query {
    let mut states: Vec<String> = statuses.iter().map(|status| status.name().to_owned()).collect();
    states.sort_unstable();
    states.dedup();
    Query { states, ..Query::default() }
}

/// Creative that a buyer chose for a package, by account and the buyer's id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ChosenCreative {
    account: Option<String>,
    id: String,
}

/// Records that the rows of a page show beside their media buys. They are read for all rows at once, so that
/// a page of a hundred needs no more statements than a page of one.
struct RelatedRecords {
    accounts: BTreeMap<String, Account>,
    creatives: BTreeMap<ChosenCreative, Stored<Creative>>,
    /// Delivery by the id of the media buy; empty when no snapshot is requested.
    deliveries: BTreeMap<String, BuyDelivery>,
}

impl RelatedRecords {
    /// Reads the records of these media buys.
    fn read(
        work: &ToolContext<'_>,
        form: &GetMediaBuys,
        buys: &[Stored<MediaBuy>],
    ) -> Result<Self, InternalError> {
        let mut deliveries = BTreeMap::new();
        if form.include_snapshot {
            let ids = buys.iter().map(|stored| stored.record.id.clone()).collect();
            for stored in work.reader.find_many::<BuyDelivery>(&ids)? {
                deliveries.insert(stored.record.id, stored.thing);
            }
        }
        let accounts = work.accounts_of(buys)?;
        Ok(Self { accounts, creatives: creatives(work, buys)?, deliveries })
    }

    fn account(&self, buy: &Stored<MediaBuy>) -> Option<&Account> {
        self.accounts.get(buy.record.account.as_ref()?)
    }

    /// Returns the creatives of a media buy's packages, oldest first.
    fn library(&self, buy: &Stored<MediaBuy>) -> Vec<&Stored<Creative>> {
        let mut library: Vec<_> =
            chosen_creatives(buy).iter().filter_map(|chosen| self.creatives.get(chosen)).collect();
        library.sort_by_key(|stored| stored.record.place);
        library
    }
}

/// Returns the creatives that the packages of a media buy name.
fn chosen_creatives(buy: &Stored<MediaBuy>) -> BTreeSet<ChosenCreative> {
    let assigned = buy.thing.packages.iter().flat_map(|package| &package.creative_assignments);
    let ids = assigned.filter_map(|assigned| assigned.creative_id.clone());
    ids.map(|id| ChosenCreative { account: buy.record.account.clone(), id }).collect()
}

/// Reads the creatives of media buys. Most are on the account of their media buy; the others are looked for
/// one by one.
fn creatives(
    work: &ToolContext<'_>,
    buys: &[Stored<MediaBuy>],
) -> Result<BTreeMap<ChosenCreative, Stored<Creative>>, InternalError> {
    let mut near: BTreeMap<String, ChosenCreative> = BTreeMap::new();
    let mut elsewhere: BTreeMap<ChosenCreative, &Stored<MediaBuy>> = BTreeMap::new();
    for buy in buys {
        for chosen in chosen_creatives(buy) {
            if let Some(account) = &chosen.account {
                near.insert(own_id(&buy.record.owner, account, &chosen.id), chosen.clone());
            }
            elsewhere.insert(chosen, buy);
        }
    }
    let mut found = BTreeMap::new();
    for stored in work.find_many::<Creative>(&near.keys().cloned().collect())? {
        if let Some(chosen) = near.remove(&stored.record.id) {
            elsewhere.remove(&chosen);
            found.insert(chosen, stored);
        }
    }
    for (chosen, buy) in elsewhere {
        let reach = &work.admitted.reach;
        let creative = reach.chosen::<Creative>(work.reader, Some(&buy.record), &chosen.id)?;
        found.extend(creative.map(|creative| (chosen, creative)));
    }
    Ok(found)
}

/// Returns the media buys that a request means: those with these ids on any account, or all that the
/// caller can access, on the named account if any. The status filter applies to both.
///
/// # Errors
/// `MEDIA_BUY_NOT_FOUND` when any id does not resolve, without saying which (AdCP 3.1
/// `error-handling`, `U-4`).
pub(crate) fn chosen(
    work: &ToolContext<'_>,
    ids: Option<&[String]>,
    filter: Option<&OneOrMore<MediaBuyStatus>>,
) -> Result<Vec<Stored<MediaBuy>>, ToolError> {
    let wanted = filter.map(|OneOrMore(asked)| asked.as_slice());
    let Some(ids) = ids else {
        let query = in_status(wanted.unwrap_or_default());
        let reach = &work.admitted.reach;
        let account = work.admitted.account_id();
        return Ok(reach.page(work.reader, account, &query, work.call.now)?);
    };
    // Every id is looked up, even after one that does not resolve.
    let found = ids.iter().map(|id| work.find(id)).collect::<Result<Vec<_>, _>>()?;
    let absent = || refusals::not_found(AdcpCode::MediaBuyNotFound, Some("media_buy_ids"));
    let mut buys: Vec<Stored<MediaBuy>> =
        found.into_iter().collect::<Option<_>>().ok_or_else(absent)?;
    buys.sort_by_key(|stored| stored.record.place);
    // An id may be named twice.
    buys.dedup_by_key(|stored| stored.record.place);
    if let Some(wanted) = wanted {
        buys.retain(|stored| wanted.contains(&stored.thing.status_at(work.call.now)));
    }
    Ok(buys)
}

/// Returns the row of a media buy.
fn row(
    work: &ToolContext<'_>,
    form: &GetMediaBuys,
    stored: &Stored<MediaBuy>,
    offer: &[Product],
    related: &RelatedRecords,
) -> Map {
    let buy = &stored.thing;
    let library = related.library(stored);
    let now = work.call.now;
    let mut row = buy::summary(stored, &action::permitted(buy, &buy.products(offer), now), now);
    // Rows name it `status`; the longer name only distinguishes it from the status of a task.
    row.shift_remove("media_buy_status");
    let history = form.include_history.and_then(|wanted| usize::try_from(wanted).ok());
    let history = history.filter(|wanted| *wanted > 0);
    let history = history.map(|most| {
        let latest = buy.history.iter().rev().take(most);
        latest.map(buy::BuyHistoryEntry::published).collect::<Vec<_>>()
    });
    let impairments = health::impairments(buy, &library, now);
    let health = if impairments.is_empty() { "ok" } else { "impaired" };
    row.extend(object([
        ("status", Some(buy.status_at(now).name().into())),
        ("status_as_of", Some(json!(now))),
        ("confirmed_at", Some(json!(buy.confirmed_at))),
        ("start_time", Some(json!(buy.start_time))),
        ("end_time", Some(json!(buy.end_time))),
        ("created_at", Some(json!(stored.record.created_at))),
        ("updated_at", Some(json!(stored.record.updated_at))),
        ("proposal_id", buy.proposal_id.clone().map(Value::from)),
        ("cancellation", buy.cancellation.as_ref().map(|cancellation| json!(cancellation))),
        ("rejection_reason", buy.rejection_reason.clone().map(Value::from)),
        ("context", buy.shown.get("context").cloned()),
        ("history", history.map(Value::from)),
        ("health", Some(health.into())),
        ("impairments", (!impairments.is_empty()).then(|| impairments.into())),
        ("packages", Some(packages(work, form, stored, related, &library))),
        ("account", related.account(stored).map(|account| account.published().into())),
    ]));
    row
}

/// Returns the packages with the approval of their creatives and, on request, a snapshot of their
/// delivery.
fn packages(
    work: &ToolContext<'_>,
    form: &GetMediaBuys,
    stored: &Stored<MediaBuy>,
    related: &RelatedRecords,
    library: &[&Stored<Creative>],
) -> Value {
    let buy = &stored.thing;
    let now = work.call.now;
    let delivery = related.deliveries.get(&stored.record.id);
    let reports: Vec<_> = delivery.iter().flat_map(|delivery| &delivery.reports).collect();
    let shares = if form.include_snapshot { report::shares(buy, &reports) } else { Vec::new() };
    let mut snapshots = shares.iter().map(report::metrics).map(|metrics| {
        object!({
            "as_of": now,
            "staleness_seconds": 0,
            "impressions": metrics.get("impressions").unwrap_or(&Value::from(0)),
            "spend": metrics.get("spend").unwrap_or(&Value::from(0)),
            "currency": buy.currency,
            "clicks"?: metrics.get("clicks"),
        })
    });
    let shown = buy.packages.iter().map(|package| {
        let mut shown = package.published(buy);
        let approvals = approvals(package, library, now);
        if let Some(members) = shown.as_object_mut() {
            members.extend(object([
                ("currency", Some(json!(buy.currency))),
                ("creative_approvals", (!approvals.is_empty()).then(|| approvals.into())),
                ("snapshot", snapshots.next()),
            ]));
        }
        shown
    });
    shown.collect()
}

fn approvals(package: &Package, library: &[&Stored<Creative>], now: Timestamp) -> Vec<Value> {
    let approval = |assignment: &Assigned| {
        let id = assignment.creative_id.as_ref()?;
        let mut library = library.iter().map(|stored| &stored.thing);
        let creative = library.find(|creative| creative.creative_id == *id)?;
        let status = match creative.status_at(now) {
            // `creative_approvals` has only three values. Suspended and archived creatives had been
            // approved.
            Review::Processing | Review::PendingReview => "pending_review",
            Review::Approved | Review::Suspended | Review::Archived => "approved",
            Review::Rejected => "rejected",
        };
        let reason = &creative.rejection_reason;
        Some(object!({"creative_id": id, "approval_status": status, "rejection_reason"?: reason}))
    };
    package.creative_assignments.iter().filter_map(approval).collect()
}
