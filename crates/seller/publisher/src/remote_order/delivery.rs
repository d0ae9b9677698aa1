//! Delivery that an ad server reports, in the delivery of the buy and in the books of counted inventory.

use std::collections::BTreeMap;

use jiff::Timestamp;
use tradepost_document::fault::InternalError;

use super::RemoteOrder;
use crate::ad_server::{RemoteDelivery, RemoteId};
use crate::buy::MediaBuy;
use crate::buy::report::BuyDelivery;
use crate::inventory;
use crate::store::{New, StoreTx, Stored};

/// Stores the rows of a report in the delivery of the buy. Rows of line items that are none of ours are left
/// out.
///
/// # Errors
/// When the store fails.
pub fn store_rows(
    tx: &dyn StoreTx,
    order: &Stored<RemoteOrder>,
    rows: &[RemoteDelivery],
    now: Timestamp,
) -> Result<(), InternalError> {
    let id = &order.record.id;
    let Some(buy) = tx.find::<MediaBuy>(id)? else { return Ok(()) };
    let line_items = order.thing.line_items.iter();
    let packages: BTreeMap<&RemoteId, &String> =
        line_items.map(|(package_id, item)| (&item.id, package_id)).collect();
    let known = tx.find::<BuyDelivery>(id)?;
    let mut delivery = known.as_ref().map(|known| known.thing.clone()).unwrap_or_default();
    delivery.media_buy_id.clone_from(&order.thing.media_buy_id);
    for row in rows {
        let Some(package_id) = packages.get(&row.line_item) else { continue };
        let Some((report, replaced)) = delivery.report_day(package_id, row) else { continue };
        if replaced.as_ref() != Some(&report) {
            inventory::count_delivery(tx, &buy.thing, &report, replaced.as_ref(), now)?;
        }
    }
    match known {
        Some(known) if known.thing == delivery => Ok(()),
        Some(mut known) => {
            known.thing = delivery;
            tx.change(&mut known, now)
        }
        None if delivery.reports.is_empty() => Ok(()),
        None => {
            let account = order.record.account.as_deref();
            tx.add(New { id, owner: &order.record.owner, account, state: "", now }, &delivery)
        }
    }
}
