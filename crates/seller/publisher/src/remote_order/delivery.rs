//! Delivery that an ad server reports, in the delivery of the buy and in the books of counted inventory.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tradepost_document::fault::InternalError;

use super::RemoteOrder;
use crate::ad_server::{RemoteDelivery, RemoteId};
use crate::buy::MediaBuy;
use crate::buy::days::{DayOrigin, DeliveryDays, PackageDay, PackageDays};
use crate::buy::report::BuyDelivery;
use crate::inventory;
use crate::store::{EntityRecord, New, StoreTx, Stored};

impl PackageDay {
    /// Reads what the ad server reports of a package's line item.
    #[must_use]
    pub fn from_remote(package_id: &str, row: &RemoteDelivery) -> Self {
        Self {
            package_id: package_id.to_owned(),
            day: row.day,
            impressions: row.impressions,
            clicks: Some(row.clicks),
            completed_views: row.completed_views,
            spend: row.spend,
            is_final: row.is_final,
            origin: DayOrigin::Pulled,
        }
    }
}

/// Stores the rows of a report in the delivery of the buy, whose days are those of `zone`. Rows of line items that are
/// none of ours are left out, and so are those of days that are final, and of further days of a flight that is.
///
/// # Errors
/// When the store fails.
pub fn store_rows(
    tx: &dyn StoreTx,
    order: &Stored<RemoteOrder>,
    rows: &[RemoteDelivery],
    zone: &TimeZone,
    now: Timestamp,
) -> Result<(), InternalError> {
    let Some(buy) = tx.find::<MediaBuy>(&order.record.id)? else { return Ok(()) };
    let line_items = order.thing.line_items.iter();
    let packages: BTreeMap<&RemoteId, &String> =
        line_items.map(|(package_id, item)| (&item.id, package_id)).collect();
    let known = tx.find::<BuyDelivery>(&order.record.id)?;
    let delivery = known.as_ref().map(|known| known.thing.clone()).unwrap_or_default();
    let mut days = DeliveryDays::new(delivery);
    // As it was before: the days of one report close a flight together.
    let closed: BTreeSet<String> = buy
        .thing
        .packages
        .iter()
        .filter(|package| {
            days.is_closed(
                &package.package_id,
                PackageDays::from_package(&buy.thing, package, zone),
            )
        })
        .map(|package| package.package_id.clone())
        .collect();
    for row in rows {
        let Some(package_id) = packages.get(&row.line_item) else { continue };
        let day = PackageDay::from_remote(package_id, row);
        if closed.contains(*package_id) {
            days.report_closed(&day, now);
        } else {
            days.report(&day, now);
        }
    }
    store_days(tx, &buy, known, days, now)
}

/// Stores the delivery of a buy with the reports that were added to it. Nothing is written when there are none.
pub(crate) fn store_days(
    tx: &dyn StoreTx,
    buy: &Stored<MediaBuy>,
    known: Option<Stored<BuyDelivery>>,
    days: DeliveryDays,
    now: Timestamp,
) -> Result<(), InternalError> {
    if days.changes().is_empty() {
        return Ok(());
    }
    inventory::count_delivery(tx, &buy.thing, days.changes(), now)?;
    let mut delivery = days.into_delivery();
    delivery.media_buy_id.clone_from(&buy.thing.media_buy_id);
    match known {
        Some(mut known) => {
            known.thing = delivery;
            tx.change(&mut known, now)
        }
        None => {
            let EntityRecord { id, owner, account, .. } = &buy.record;
            tx.add(New { id, owner, account: account.as_deref(), state: "", now }, &delivery)
        }
    }
}
