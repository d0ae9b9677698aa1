//! Changes of the books: what is booked and held in the months of pools.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use tradepost_document::fault::InternalError;

use super::record::{
    InventoryBooking, PoolDay, PoolHold, PoolMonth, each_month, month_id, month_of,
};
use super::wanted::FlightDays;
use crate::store::{Entity as _, New, StoreTx};

/// Replaces what a buy has booked, in its own record and in the months.
pub(super) fn replace(
    tx: &dyn StoreTx,
    holder: &str,
    before: Option<&InventoryBooking>,
    after: Option<&InventoryBooking>,
    now: Timestamp,
) -> Result<(), InternalError> {
    if before == after {
        return Ok(());
    }
    let old = before.map(InventoryBooking::days).unwrap_or_default();
    let new = after.map(InventoryBooking::days).unwrap_or_default();
    let is_sandbox = after.or(before).is_some_and(|booking| booking.is_sandbox);
    let changed = old.keys().chain(new.keys()).filter(|place| old.get(place) != new.get(place));
    let mut by_month: BTreeMap<MonthKey, BTreeSet<&PoolDay>> = BTreeMap::new();
    for place in changed {
        by_month.entry(MonthKey::new(place)).or_default().insert(place);
    }
    for (key, places) in by_month {
        change_month(tx, &key, is_sandbox, now, |month| {
            for place in places {
                let old_units = old.get(place).copied().unwrap_or_default();
                let new_units = new.get(place).copied().unwrap_or_default();
                let sum =
                    month.booked_on(place.day).saturating_sub(old_units).saturating_add(new_units);
                set(&mut month.booked, place, sum);
            }
        })?;
    }
    let after = after.filter(|booking| !booking.packages.is_empty());
    match after {
        Some(booking) => keep(tx, holder, booking, now),
        None => tx.remove(InventoryBooking::KIND, holder).map(|_| ()),
    }
}

/// Stores what a buy has booked, in its own record only.
pub(super) fn keep(
    tx: &dyn StoreTx,
    holder: &str,
    booking: &InventoryBooking,
    now: Timestamp,
) -> Result<(), InternalError> {
    match tx.find::<InventoryBooking>(holder)? {
        Some(mut stored) => {
            stored.thing = booking.clone();
            tx.change(&mut stored, now)
        }
        None => {
            let state = if booking.is_sandbox { "sandbox" } else { "live" };
            tx.add(New { id: holder, owner: "", account: None, state, now }, booking)
        }
    }
}

/// Holds units for a proposal, in place of what it held on these days.
pub(super) fn hold(
    tx: &dyn StoreTx,
    holder: &str,
    days: &BTreeMap<PoolDay, u64>,
    expires_at: Timestamp,
    is_sandbox: bool,
    now: Timestamp,
) -> Result<(), InternalError> {
    let mut by_month: BTreeMap<MonthKey, BTreeMap<_, u64>> = BTreeMap::new();
    for (place, units) in days.iter().filter(|(_, units)| **units > 0) {
        by_month.entry(MonthKey::new(place)).or_default().insert(place.day, *units);
    }
    for (key, days) in by_month {
        let hold = PoolHold { holder: holder.to_owned(), expires_at, days };
        change_month(tx, &key, is_sandbox, now, |month| {
            month.holds.retain(|known| known.holder != holder);
            month.holds.push(hold);
        })?;
    }
    Ok(())
}

/// Releases what a proposal holds in pools during a flight.
pub(super) fn release_holds(
    tx: &dyn StoreTx,
    holder: &str,
    pools: &BTreeSet<&str>,
    flight: FlightDays,
    is_sandbox: bool,
    now: Timestamp,
) -> Result<(), InternalError> {
    for pool in pools {
        for day in each_month(flight.first, flight.last) {
            let Some(mut stored) = tx.find::<PoolMonth>(&month_id(pool, day, is_sandbox))? else {
                continue;
            };
            if stored.thing.holds.iter().any(|known| known.holder == holder) {
                stored.thing.holds.retain(|known| known.holder != holder && known.expires_at > now);
                tx.change(&mut stored, now)?;
            }
        }
    }
    Ok(())
}

/// Month of a pool.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MonthKey(PoolDay);

impl MonthKey {
    /// Creates the month of a pool's day.
    pub(super) fn new(place: &PoolDay) -> Self {
        Self(PoolDay::new(&place.pool, month_of(place.day)))
    }
}

/// Changes the record of a month, and drops holds that have expired.
pub(super) fn change_month(
    tx: &dyn StoreTx,
    key: &MonthKey,
    is_sandbox: bool,
    now: Timestamp,
    change: impl FnOnce(&mut PoolMonth),
) -> Result<(), InternalError> {
    let MonthKey(place) = key;
    let id = month_id(&place.pool, place.day, is_sandbox);
    if let Some(mut stored) = tx.find::<PoolMonth>(&id)? {
        stored.thing.holds.retain(|hold| hold.expires_at > now);
        change(&mut stored.thing);
        return tx.change(&mut stored, now);
    }
    let mut month = PoolMonth { pool: place.pool.clone(), is_sandbox, ..PoolMonth::default() };
    change(&mut month);
    let state = if is_sandbox { "sandbox" } else { "live" };
    tx.add(New { id: &id, owner: "", account: None, state, now }, &month)
}

/// Sets the units of a day; none are not stored.
pub(super) fn set(days: &mut BTreeMap<jiff::civil::Date, u64>, place: &PoolDay, units: u64) {
    if units == 0 {
        days.remove(&place.day);
    } else {
        days.insert(place.day, units);
    }
}
