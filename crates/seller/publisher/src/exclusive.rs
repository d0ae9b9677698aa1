//! Bookings of exclusive products. Each exclusive product has one record with its bookings, which a purchase
//! reads and writes in its own transaction, so that of two buyers of one day only one gets it.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use tradepost_adcp::error::{AdcpCode, AdcpError};
use tradepost_document::fault::InternalError;

use crate::buy::{MediaBuy, MediaBuyStatus};
use crate::catalogue::Product;
use crate::refusals;
use crate::store::{New, StoreRead, StoreTx, kept};

kept! {
    /// The bookings of one exclusive product. Purchases for tests have a calendar of their own.
    pub struct ExclusiveCalendar: ExclusiveCalendar {
        /// The bookings that have not ended, in no order.
        bookings: Vec<ExclusiveBooking>,
    }

    /// Days on which one holder has a product for itself.
    #[derive(Eq)]
    pub struct ExclusiveBooking {
        /// Id of the media buy or of the proposal.
        holder: String,
        /// The first day, in UTC.
        first_day: Date,
        /// The last day, in UTC.
        last_day: Date,
        /// End of a hold that is not bought; a sale has none.
        expires_at?: Option<Timestamp>,
    }
}

/// Days of an exclusive product that are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExclusiveDays {
    /// The product.
    pub product_id: String,
    /// True on a test account, which takes nothing from live ones.
    pub is_sandbox: bool,
    /// The first day, in UTC.
    pub first_day: Date,
    /// The last day, in UTC.
    pub last_day: Date,
    /// The place in the request that a refusal names.
    pub field: String,
}

impl ExclusiveDays {
    /// Creates the days that a flight touches. Its end is not part of it: midnight counts as the day before.
    pub(crate) fn new(
        product_id: &str,
        is_sandbox: bool,
        start: Timestamp,
        end: Timestamp,
        field: String,
    ) -> Self {
        let last = end.checked_sub(1.nanosecond()).unwrap_or(end).max(start);
        Self {
            product_id: product_id.to_owned(),
            is_sandbox,
            first_day: start.to_zoned(TimeZone::UTC).date(),
            last_day: last.to_zoned(TimeZone::UTC).date(),
            field,
        }
    }

    /// Returns true if all of another's days are among these.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        self.product_id == other.product_id
            && self.first_day <= other.first_day
            && other.last_day <= self.last_day
    }

    /// Returns the days that a buy's live packages want of exclusive products; none when it has ended or is
    /// not made. `field` names the place of a package in the request.
    pub(crate) fn from_buy(
        buy: &MediaBuy,
        products: &[Product],
        is_sandbox: bool,
        field: impl Fn(usize) -> String,
    ) -> Vec<Self> {
        if is_over(buy) {
            return Vec::new();
        }
        let mut days = Vec::new();
        for (index, package) in buy.packages.iter().enumerate() {
            let product = products.iter().find(|product| product.id() == package.product_id);
            if package.is_live() && product.is_some_and(Product::is_exclusive) {
                let start = package.start_time.unwrap_or(buy.start_time);
                let end = package.end_time.unwrap_or(buy.end_time);
                days.push(Self::new(&package.product_id, is_sandbox, start, end, field(index)));
            }
        }
        days
    }
}

/// Returns true if a buy has ended or is not made, so that it keeps no days.
pub(crate) fn is_over(buy: &MediaBuy) -> bool {
    matches!(
        buy.status,
        MediaBuyStatus::Canceled | MediaBuyStatus::Rejected | MediaBuyStatus::Completed
    )
}

/// Returns the id of the record with a product's bookings.
fn calendar_id(product_id: &str, is_sandbox: bool) -> String {
    format!("{}:{product_id}", if is_sandbox { "sandbox" } else { "live" })
}

impl ExclusiveBooking {
    /// Returns true if it keeps others out at a moment.
    fn is_in_force(&self, now: Timestamp) -> bool {
        let has_ended = self.last_day < now.to_zoned(TimeZone::UTC).date();
        let has_expired = self.expires_at.is_some_and(|moment| moment <= now);
        !has_ended && !has_expired
    }

    fn overlaps(&self, days: &ExclusiveDays) -> bool {
        self.first_day <= days.last_day && days.first_day <= self.last_day
    }
}

/// Maximum flight of an exclusive product in days.
const MAX_DAYS: i32 = 366;

/// Returns a refusal for each product whose days are too many or belong to another holder. `own` are the
/// holders that do not count: a buy that is changed, and the proposal that is bought.
pub(crate) fn taken_days(
    reader: &dyn StoreRead,
    wanted: &[ExclusiveDays],
    own: &[&str],
    now: Timestamp,
) -> Result<Vec<AdcpError>, InternalError> {
    let mut problems = Vec::new();
    for days in wanted {
        let length = days.first_day.until(days.last_day).map_or(i32::MAX, |span| span.get_days());
        if length >= MAX_DAYS {
            let message = "an exclusive product is sold for at most 366 days at once";
            problems.push(refusals::invalid(&days.field, message));
            continue;
        }
        let id = calendar_id(&days.product_id, days.is_sandbox);
        let calendar = reader.find::<ExclusiveCalendar>(&id)?;
        let bookings = calendar.map(|stored| stored.thing.bookings).unwrap_or_default();
        let is_taken = bookings.iter().any(|booking| {
            booking.is_in_force(now)
                && booking.overlaps(days)
                && !own.contains(&booking.holder.as_str())
        });
        if is_taken {
            let message = "the product is exclusive and taken on some of these days; choose other \
                           days or another product";
            problems.push(refusals::at(AdcpCode::ProductUnavailable, &days.field, message));
        }
    }
    Ok(problems)
}

/// Books days for a holder, in place of what it had in these products before.
pub(crate) fn book_days(
    tx: &dyn StoreTx,
    holder: &str,
    wanted: &[ExclusiveDays],
    expires_at: Option<Timestamp>,
    now: Timestamp,
) -> Result<(), InternalError> {
    let calendar_of = |days: &ExclusiveDays| calendar_id(&days.product_id, days.is_sandbox);
    let mut calendars: Vec<String> = wanted.iter().map(calendar_of).collect();
    calendars.sort_unstable();
    calendars.dedup();
    for id in &calendars {
        let new = wanted.iter().filter(|days| calendar_of(days) == *id);
        let new = new.map(|days| ExclusiveBooking {
            holder: holder.to_owned(),
            first_day: days.first_day,
            last_day: days.last_day,
            expires_at,
        });
        match tx.find::<ExclusiveCalendar>(id)? {
            Some(mut stored) => {
                let bookings = &mut stored.thing.bookings;
                bookings.retain(|booking| booking.holder != holder && booking.is_in_force(now));
                bookings.extend(new);
                tx.change(&mut stored, now)?;
            }
            None => {
                let calendar = ExclusiveCalendar { bookings: new.collect() };
                let new = New { id, owner: "", account: None, state: "", now };
                tx.add(new, &calendar)?;
            }
        }
    }
    Ok(())
}

/// Releases the days that a holder has of these products.
pub(crate) fn release_days<'a>(
    tx: &dyn StoreTx,
    holder: &str,
    product_ids: impl Iterator<Item = &'a str>,
    now: Timestamp,
) -> Result<(), InternalError> {
    for product_id in product_ids {
        for is_sandbox in [false, true] {
            let id = calendar_id(product_id, is_sandbox);
            let Some(mut stored) = tx.find::<ExclusiveCalendar>(&id)? else { continue };
            let before = stored.thing.bookings.len();
            stored.thing.bookings.retain(|booking| booking.holder != holder);
            if stored.thing.bookings.len() != before {
                tx.change(&mut stored, now)?;
            }
        }
    }
    Ok(())
}

/// Books the days that a buy has after a change. Days of a product that has left the offer stay booked while
/// a package of it is live: it is not known then whether it is exclusive.
pub(crate) fn rebook_buy(
    tx: &dyn StoreTx,
    buy: &MediaBuy,
    offer: &[Product],
    is_sandbox: bool,
    now: Timestamp,
) -> Result<(), InternalError> {
    let is_known = |id: &str| offer.iter().any(|product| product.id() == id);
    let is_wanted = |id: &str| {
        let mut packages = buy.packages.iter().filter(|package| package.product_id == id);
        !is_over(buy) && packages.any(|package| package.is_live())
    };
    let ids = buy.packages.iter().map(|package| package.product_id.as_str());
    let released = ids.filter(|id| is_known(id) || !is_wanted(id));
    release_days(tx, &buy.media_buy_id, released, now)?;
    let days =
        ExclusiveDays::from_buy(buy, offer, is_sandbox, |index| format!("packages[{index}]"));
    book_days(tx, &buy.media_buy_id, &days, None, now)
}

/// Moves the days of a buy that waits to the id under which it is made.
pub(crate) fn rename_holder(
    tx: &dyn StoreTx,
    buy: &MediaBuy,
    new_id: &str,
    now: Timestamp,
) -> Result<(), InternalError> {
    for package in &buy.packages {
        for is_sandbox in [false, true] {
            let id = calendar_id(&package.product_id, is_sandbox);
            let Some(mut stored) = tx.find::<ExclusiveCalendar>(&id)? else { continue };
            let bookings = stored.thing.bookings.iter_mut();
            let own: Vec<_> =
                bookings.filter(|booking| booking.holder == buy.media_buy_id).collect();
            if own.is_empty() {
                continue;
            }
            own.into_iter().for_each(|booking| new_id.clone_into(&mut booking.holder));
            tx.change(&mut stored, now)?;
        }
    }
    Ok(())
}

/// Releases the days of a buy that is not made, or that has ended early.
pub(crate) fn release_buy(
    tx: &dyn StoreTx,
    buy: &MediaBuy,
    now: Timestamp,
) -> Result<(), InternalError> {
    let products = buy.packages.iter().map(|package| package.product_id.as_str());
    release_days(tx, &buy.media_buy_id, products, now)
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;
    use crate::store::PublisherStore;
    use crate::store::memory::MemoryPublisherStore;

    fn change(
        store: &dyn PublisherStore,
        job: impl Fn(&dyn StoreTx) -> Result<(), InternalError> + Send + 'static,
    ) {
        let changing = pin!(store.act(job));
        let Poll::Ready(changed) = changing.poll(&mut Context::from_waker(Waker::noop())) else {
            panic!("memory does not wait");
        };
        changed.unwrap();
    }

    fn days(first: &str, last: &str) -> ExclusiveDays {
        days_on(false, first, last)
    }

    fn days_on(is_sandbox: bool, first: &str, last: &str) -> ExclusiveDays {
        let start = format!("{first}T08:00:00Z").parse().unwrap();
        let end = format!("{last}T20:00:00Z").parse().unwrap();
        ExclusiveDays::new("front_page", is_sandbox, start, end, "packages[0].product_id".into())
    }

    #[test]
    fn flights_are_counted_in_whole_days_of_utc() {
        let start = "2026-07-01T23:00:00Z".parse().unwrap();
        let end = "2026-07-03T00:00:00Z".parse().unwrap();
        let days = ExclusiveDays::new("p", false, start, end, String::new());
        assert_eq!(days.first_day.to_string(), "2026-07-01");
        assert_eq!(days.last_day.to_string(), "2026-07-02");
    }

    #[test]
    fn days_have_one_holder_until_they_are_given_back() {
        let memory = MemoryPublisherStore::default();
        let store: &dyn PublisherStore = &memory;
        let now: Timestamp = "2026-06-01T00:00:00Z".parse().unwrap();
        let later: Timestamp = "2026-06-03T00:00:00Z".parse().unwrap();
        let taken = |first: &str, last: &str, own: &[&str], now: Timestamp| {
            let wanted = [days(first, last)];
            store.look(|reader| taken_days(reader, &wanted, own, now)).unwrap().len()
        };
        let booked = [days("2026-07-01", "2026-07-02")];
        let held = [days("2026-07-05", "2026-07-05")];
        change(store, move |tx| {
            book_days(tx, "mb_1", &booked, None, now)?;
            book_days(tx, "prop_1", &held, Some(later), now)
        });
        assert_eq!(taken("2026-07-02", "2026-07-03", &[], now), 1);
        assert_eq!(taken("2026-07-03", "2026-07-04", &[], now), 0);
        assert_eq!(taken("2026-07-02", "2026-07-03", &["mb_1"], now), 0, "the buy itself");
        let for_tests = [days_on(true, "2026-07-01", "2026-07-02")];
        let tests = store.look(|reader| taken_days(reader, &for_tests, &[], now)).unwrap();
        assert_eq!(tests, [], "accounts for tests have a calendar of their own");
        assert_eq!(taken("2027-01-01", "2028-01-02", &[], now), 1, "too long");
        assert_eq!(taken("2027-01-01", "2028-01-01", &[], now), 0);
        assert_eq!(taken("2026-07-05", "2026-07-05", &[], now), 1, "held by a proposal");
        assert_eq!(taken("2026-07-05", "2026-07-05", &[], later), 0, "the hold has expired");
        change(store, move |tx| release_days(tx, "mb_1", ["front_page"].into_iter(), now));
        assert_eq!(taken("2026-07-01", "2026-07-02", &[], now), 0);
    }
}
