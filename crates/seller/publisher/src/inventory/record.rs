//! Stored records of inventory.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;

use crate::store::kept;

kept! {
    /// Units of a pool in one month. Bookings of test accounts are in other records.
    #[derive(Default)]
    pub struct PoolMonth: InventoryMonth {
        /// The pool.
        pool: String,
        /// True for the bookings of test accounts.
        is_sandbox?: bool,
        /// Units that are booked on each day.
        booked?: BTreeMap<Date, u64>,
        /// Units that were reported as delivered on each day (UTC), of what is booked.
        delivered?: BTreeMap<Date, u64>,
        /// Units that committed proposals hold, in no particular order.
        holds?: Vec<PoolHold>,
    }

    /// Units that a committed proposal holds in a pool and a month.
    #[derive(Eq)]
    pub struct PoolHold {
        /// Id of the proposal.
        holder: String,
        /// End of the hold.
        expires_at: Timestamp,
        /// Units on each day.
        days: BTreeMap<Date, u64>,
    }

    /// What a media buy has booked; its record has the id of the buy.
    #[derive(Default, Eq)]
    pub struct InventoryBooking: InventoryBooking {
        /// True when it is for a test account.
        is_sandbox?: bool,
        /// Packages with booked units, in the order of the buy.
        packages: Vec<BookedPackage>,
    }

    /// What a package has booked in a pool.
    #[derive(Eq)]
    pub struct BookedPackage {
        /// The package.
        package_id: String,
        /// Product of the package.
        product_id: String,
        /// The pool.
        pool: String,
        /// Unit that the pool counted.
        unit: String,
        /// Days with booked units, the earliest first.
        runs: Vec<UnitRun>,
    }

    /// Consecutive days with the same number of units.
    #[derive(Eq)]
    pub struct UnitRun {
        /// The first day.
        first_day: Date,
        /// The last day.
        last_day: Date,
        /// Units on each of them.
        units: u64,
    }
}

impl PoolMonth {
    /// Returns the units that proposals hold on a day, without those of `except` and without holds
    /// that have expired.
    pub(crate) fn held_on(&self, day: Date, except: Option<&str>, now: Timestamp) -> u64 {
        let others = self.holds.iter().filter(|hold| {
            hold.expires_at > now && except.is_none_or(|holder| hold.holder != holder)
        });
        others
            .fold(0_u64, |sum, hold| sum.saturating_add(hold.days.get(&day).copied().unwrap_or(0)))
    }

    /// Returns the units that are booked on a day.
    pub(crate) fn booked_on(&self, day: Date) -> u64 {
        self.booked.get(&day).copied().unwrap_or_default()
    }
}

impl InventoryBooking {
    /// Returns the units of each pool and day.
    pub(crate) fn days(&self) -> BTreeMap<PoolDay, u64> {
        let mut days = BTreeMap::new();
        for package in &self.packages {
            for (day, units) in package.days() {
                let sum: &mut u64 = days.entry(PoolDay::new(&package.pool, day)).or_default();
                *sum = sum.saturating_add(units);
            }
        }
        days
    }
}

impl BookedPackage {
    /// Returns the units of each day.
    pub(crate) fn days(&self) -> BTreeMap<Date, u64> {
        let mut days = BTreeMap::new();
        for run in &self.runs {
            days.extend(each_day(run.first_day, run.last_day).map(|day| (day, run.units)));
        }
        days
    }
}

/// Returns the days from one to another, both included.
pub(crate) fn each_day(first: Date, last: Date) -> impl Iterator<Item = Date> {
    std::iter::successors(Some(first), |day| day.tomorrow().ok())
        .take_while(move |day| *day <= last)
}

/// Returns the first days of the months from that of one day to that of another.
pub(crate) fn each_month(first: Date, last: Date) -> impl Iterator<Item = Date> {
    let next = |day: &Date| day.last_of_month().tomorrow().ok();
    std::iter::successors(Some(month_of(first)), next).take_while(move |day| *day <= last)
}

/// Writes the units of days as runs; days without units are left out.
pub(crate) fn runs_of(days: &BTreeMap<Date, u64>) -> Vec<UnitRun> {
    let mut runs: Vec<UnitRun> = Vec::new();
    for (day, units) in days.iter().filter(|(_, units)| **units > 0) {
        match runs.last_mut() {
            Some(run) if run.units == *units && run.last_day.tomorrow().ok() == Some(*day) => {
                run.last_day = *day;
            }
            Some(_) | None => {
                runs.push(UnitRun { first_day: *day, last_day: *day, units: *units });
            }
        }
    }
    runs
}

/// Day of a pool.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PoolDay {
    /// The pool.
    pub pool: String,
    /// The day.
    pub day: Date,
}

impl PoolDay {
    /// Creates the day of a pool.
    pub(crate) fn new(pool: &str, day: Date) -> Self {
        Self { pool: pool.to_owned(), day }
    }
}

/// Returns the first day of the month of a day.
pub(crate) fn month_of(day: Date) -> Date {
    day.first_of_month()
}

/// Returns the id of the record with the units of a pool in the month of a day.
pub(crate) fn month_id(pool: &str, day: Date, is_sandbox: bool) -> String {
    let kind = if is_sandbox { "sandbox" } else { "live" };
    format!("{kind}:{:04}-{:02}:{pool}", day.year(), day.month())
}
