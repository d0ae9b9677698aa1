//! Delivery of counted units, added up by pool and day from the reports.

use std::collections::BTreeMap;

use jiff::Timestamp;
use tradepost_document::fault::InternalError;

use super::ledger::{self, MonthKey};
use super::record::{InventoryBooking, PoolDay};
use crate::buy::MediaBuy;
use crate::buy::days::DayChange;
use crate::buy::report;
use crate::store::StoreTx;

/// Units by which the delivery of a day changes.
#[derive(Debug, Default)]
struct UnitChange {
    removed: u64,
    added: u64,
}

/// Counts reports of what a buy has delivered, each in place of the report that it replaces. Each month of a pool is
/// written once.
pub(crate) fn count_delivery(
    tx: &dyn StoreTx,
    buy: &MediaBuy,
    changes: &[DayChange],
    now: Timestamp,
) -> Result<(), InternalError> {
    let Some(booking) = tx.find::<InventoryBooking>(&buy.media_buy_id)? else { return Ok(()) };
    let booking = booking.thing;
    let mut months: BTreeMap<MonthKey, BTreeMap<PoolDay, UnitChange>> = BTreeMap::new();
    for change in changes {
        let replaced = change.replaced.iter().map(|old| (old, false));
        for (report, is_added) in replaced.chain([(&change.report, true)]) {
            let shares = report::shares(buy, &[report]);
            for (package, share) in buy.packages.iter().zip(&shares) {
                let mut booked = booking.packages.iter();
                let booked = booked.rfind(|one| one.package_id == package.package_id);
                let Some(booked) = booked else { continue };
                let units: u64 =
                    share.iter().map(|part| part.figure(&booked.unit).to_count()).sum();
                if units == 0 {
                    continue;
                }
                let place = PoolDay::new(&booked.pool, report.day());
                let days = months.entry(MonthKey::new(&place)).or_default();
                let sum = days.entry(place).or_default();
                let side = if is_added { &mut sum.added } else { &mut sum.removed };
                *side = side.saturating_add(units);
            }
        }
    }
    for (key, days) in months {
        ledger::change_month(tx, &key, booking.is_sandbox, now, |month| {
            for (place, UnitChange { removed, added }) in &days {
                let known = month.delivered.get(&place.day).copied().unwrap_or_default();
                let sum = known.saturating_add(*added).saturating_sub(*removed);
                ledger::set(&mut month.delivered, place, sum);
            }
        })?;
    }
    Ok(())
}
