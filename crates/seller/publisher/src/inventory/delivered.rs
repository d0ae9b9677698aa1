//! Delivery of counted units, added up by pool and day from the reports.

use jiff::Timestamp;
use tradepost_document::fault::InternalError;

use super::ledger::{self, MonthKey};
use super::record::{InventoryBooking, PoolDay};
use crate::buy::MediaBuy;
use crate::buy::report::{self, DeliveryReport};
use crate::store::StoreTx;

/// Counts a report of what a buy has delivered, in place of an earlier report of it (`corrected`).
pub(crate) fn count_delivery(
    tx: &dyn StoreTx,
    buy: &MediaBuy,
    report: &DeliveryReport,
    corrected: Option<&DeliveryReport>,
    now: Timestamp,
) -> Result<(), InternalError> {
    let Some(booking) = tx.find::<InventoryBooking>(&buy.media_buy_id)? else { return Ok(()) };
    let booking = booking.thing;
    for (report, is_added) in corrected.map(|old| (old, false)).into_iter().chain([(report, true)])
    {
        let shares = report::shares(buy, &[report]);
        for (package, share) in buy.packages.iter().zip(&shares) {
            let mut booked = booking.packages.iter();
            let booked = booked.rfind(|one| one.package_id == package.package_id);
            let Some(booked) = booked else { continue };
            let units: u64 = share.iter().map(|part| part.figure(&booked.unit).to_count()).sum();
            if units == 0 {
                continue;
            }
            let place = PoolDay::new(&booked.pool, report.day());
            ledger::change_month(tx, &MonthKey::new(&place), booking.is_sandbox, now, |month| {
                let known = month.delivered.get(&place.day).copied().unwrap_or_default();
                let sum = if is_added {
                    known.saturating_add(units)
                } else {
                    known.saturating_sub(units)
                };
                ledger::set(&mut month.delivered, &place, sum);
            })?;
        }
    }
    Ok(())
}
