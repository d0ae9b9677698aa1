//! Refusal of what is more than there is.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use tradepost_adcp::error::{AdcpCode, AdcpError};
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Value, json};

use super::quantity::pool_capacity;
use super::record::{InventoryBooking, PoolDay, PoolMonth, month_id};
use super::wanted::WantedUnits;
use super::{InventoryContext, record};
use crate::buy::MediaBuy;
use crate::refusals;
use crate::store::{StoreRead, Stored};

/// Maximum flight of a counted product in days.
const MAX_DAYS: i32 = 366;

/// Maximum number of days that a refusal names.
const NAMED_DAYS: usize = 31;

/// Day on which too little is left.
struct ShortDay {
    day: Date,
    requested: u64,
    available: u64,
}

/// Returns a refusal for each package for which too little is left; see
/// [`shortages`](InventoryContext::shortages).
pub(super) fn find(
    context: &InventoryContext<'_>,
    reader: &dyn StoreRead,
    wanted: &[WantedUnits],
    holder: Option<&MediaBuy>,
    held_by: Option<&str>,
) -> Result<Vec<AdcpError>, InternalError> {
    let mut problems = Vec::new();
    let mut counted = Vec::new();
    for one in wanted {
        let length = one.first_day.until(one.last_day).map_or(i32::MAX, |span| span.get_days());
        if length >= MAX_DAYS {
            let message = "a counted product is sold for at most 366 days at once";
            problems.push(refusals::invalid(&one.field, message));
        } else {
            counted.push(one);
        }
    }
    if counted.is_empty() {
        return Ok(problems);
    }
    let known = match holder {
        Some(buy) => reader.find::<InventoryBooking>(&buy.media_buy_id)?.map(|stored| stored.thing),
        None => None,
    };
    let own = known.as_ref().map(InventoryBooking::days).unwrap_or_default();
    let months = months_of(context, reader, &counted)?;
    let mut taken: BTreeMap<PoolDay, u64> = BTreeMap::new();
    for one in counted {
        let Some(capacity) = pool_capacity(context.offer, &one.pool) else { continue };
        let mut short = Vec::new();
        for (day, units) in planned(context, one, holder, known.as_ref()) {
            let place = PoolDay::new(&one.pool, day);
            let month = months.get(&month_id(&one.pool, day, context.is_sandbox));
            let booked = month.map_or(0, |month| month.booked_on(day));
            let held = month.map_or(0, |month| month.held_on(day, held_by, context.now));
            let had = own.get(&place).copied().unwrap_or_default();
            let others = booked.saturating_sub(had).saturating_add(held);
            let left = capacity.on(day).saturating_sub(others);
            let so_far = taken.entry(place).or_default();
            // What a buy has it may keep, also where more was sold than there is.
            let available = left.max(had).saturating_sub(*so_far);
            *so_far = so_far.saturating_add(units);
            if units > available {
                short.push(ShortDay { day, requested: units, available });
            }
        }
        if !short.is_empty() {
            problems.push(refusal(one, &short));
        }
    }
    Ok(problems)
}

/// Returns the units of a package by day, from today on.
fn planned(
    context: &InventoryContext<'_>,
    wanted: &WantedUnits,
    holder: Option<&MediaBuy>,
    known: Option<&InventoryBooking>,
) -> BTreeMap<Date, u64> {
    let packages = known.into_iter().flat_map(|booking| &booking.packages);
    let own = packages
        .filter(|booked| booked.package_id == wanted.package_id && !wanted.package_id.is_empty());
    let own: Vec<_> = own.collect();
    let runs = holder.is_some_and(|buy| buy.confirmed_at.is_some());
    if runs && own.is_empty() {
        // It was made before its product was counted, and what it had by now has run.
        let mut days = wanted.spread(context.offer, wanted.first_day, 0);
        days.retain(|day, _| *day >= context.today());
        return days;
    }
    let past = holder.map_or(0, |buy| {
        let ran = own.iter().flat_map(|booked| context.ran(buy, booked).into_values());
        ran.fold(0_u64, u64::saturating_add)
    });
    // A buy that waits begins, at the earliest, today.
    wanted.spread(context.offer, context.today(), past)
}

/// Reads the months of what is wanted.
fn months_of(
    context: &InventoryContext<'_>,
    reader: &dyn StoreRead,
    wanted: &[&WantedUnits],
) -> Result<BTreeMap<String, PoolMonth>, InternalError> {
    let mut ids = BTreeSet::new();
    for one in wanted {
        for day in record::each_month(one.first_day.max(context.today()), one.last_day) {
            ids.insert(month_id(&one.pool, day, context.is_sandbox));
        }
    }
    let found: Vec<Stored<PoolMonth>> = reader.find_many(&ids)?;
    Ok(found.into_iter().map(|stored| (stored.record.id, stored.thing)).collect())
}

/// Creates the refusal of a package. It says how much is left, and not whose the rest is.
fn refusal(wanted: &WantedUnits, short: &[ShortDay]) -> AdcpError {
    let message = "too little of the product is left on some of these days; details.days says how much; buy \
                   less, or choose other days or another product";
    let error = refusals::at(AdcpCode::ProductUnavailable, &wanted.field, message);
    let named = short.iter().take(NAMED_DAYS).map(
        |one| json!({"date": one.day, "requested": one.requested, "available": one.available}),
    );
    let error = error.with("product_id", wanted.product_id.as_str());
    let error = error.with("unit", wanted.unit.as_str());
    error.with("days", named.collect::<Value>()).with("short_days", short.len())
}
