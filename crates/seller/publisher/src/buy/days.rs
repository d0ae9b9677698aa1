//! Delivery by package and day: which of two reports of a day counts, and which figures of a period are final
//! (`docs/decisions/0120-delivery-that-is-pushed.md`).

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use tradepost_document::json::Map;

use super::report::{BuyDelivery, DeliveryReport, Period};
use super::{MediaBuy, Package};
use crate::inventory;
use crate::money::MoneyAmount;

/// Who reports a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DayOrigin {
    /// The ad server, when it was asked.
    Pulled,
    /// People or programs of the publisher.
    Pushed,
    /// The same, as a correction of figures that may be final.
    Corrected,
}

/// Report of a package on a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageDay {
    /// The package.
    pub package_id: String,
    /// Day in the publisher's time zone.
    pub day: Date,
    /// Impressions.
    pub impressions: u64,
    /// Clicks, where they are counted.
    pub clicks: Option<u64>,
    /// Completed views, where they are counted.
    pub completed_views: Option<u64>,
    /// Spend in the currency of the media buy.
    pub spend: MoneyAmount,
    /// True if the figures are declared final.
    pub is_final: bool,
    /// Who reports it.
    pub origin: DayOrigin,
}

/// What became of the report of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DayOutcome {
    /// It counts from now on.
    Stored,
    /// It says what was known.
    Unchanged,
    /// What is known is final, and stays.
    Closed,
}

/// A report that counts from now on.
#[derive(Debug, Clone, PartialEq)]
pub struct DayChange {
    /// The report.
    pub report: DeliveryReport,
    /// The report in whose place it counts.
    pub replaced: Option<DeliveryReport>,
}

/// Delivery of a media buy to which reports of days are added.
#[derive(Debug, Clone)]
pub struct DeliveryDays {
    delivery: BuyDelivery,
    places: BTreeMap<DayKey, usize>,
    changes: Vec<DayChange>,
}

/// Package and day of a report.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct DayKey {
    at: Timestamp,
    package_id: String,
}

impl PackageDay {
    /// Returns the figures. What people and programs leave out is not known to be zero, and stays as it was `before`.
    fn figures(&self, before: Option<&DeliveryReport>) -> BTreeMap<String, MoneyAmount> {
        let mut figures = self.own_figures();
        if self.is_pushed() {
            for name in ["clicks", "completed_views"] {
                let earlier = before.and_then(|before| before.figures.get(name));
                if let Some(earlier) = earlier.filter(|_| !figures.contains_key(name)) {
                    figures.insert(name.to_owned(), *earlier);
                }
            }
        }
        figures
    }

    /// Returns true if it may change figures that are final, or add to them.
    fn is_final_correction(&self) -> bool {
        self.is_final && self.origin == DayOrigin::Corrected
    }

    fn is_pushed(&self) -> bool {
        match self.origin {
            DayOrigin::Pulled => false,
            DayOrigin::Pushed | DayOrigin::Corrected => true,
        }
    }

    fn own_figures(&self) -> BTreeMap<String, MoneyAmount> {
        let counts = [
            ("impressions", Some(self.impressions)),
            ("clicks", self.clicks),
            ("completed_views", self.completed_views),
        ];
        let counts = counts
            .into_iter()
            .filter_map(|(name, count)| Some((name.to_owned(), MoneyAmount::from_count(count?))));
        counts.chain([("spend".to_owned(), self.spend)]).collect()
    }
}

/// Returns the moment that stands for a day in reports: its first one in UTC.
fn moment_of(day: Date) -> Option<Timestamp> {
    day.to_zoned(TimeZone::UTC).ok().map(|start| start.timestamp())
}

impl DeliveryDays {
    /// Begins with what is known.
    #[must_use]
    pub fn new(delivery: BuyDelivery) -> Self {
        let reports = delivery.reports.iter().enumerate();
        let places = reports.filter_map(|(place, report)| {
            let package_id = report.package_id.clone()?;
            Some((DayKey { at: report.at, package_id }, place))
        });
        Self { places: places.collect(), delivery, changes: Vec::new() }
    }

    /// Takes the report of a day. It replaces an earlier report of the same package and day, also when it says
    /// less; a final one is replaced only by a correction that is final, too. Clicks and completed views that a pushed row
    /// leaves out stay.
    pub fn report(&mut self, row: &PackageDay, now: Timestamp) -> DayOutcome {
        let Some(at) = moment_of(row.day) else { return DayOutcome::Unchanged };
        let key = DayKey { at, package_id: row.package_id.clone() };
        let place = self.places.get(&key).copied();
        let known = place.and_then(|place| self.delivery.reports.get_mut(place));
        let was_final = known.as_ref().is_some_and(|known| known.finalized_at.is_some());
        let figures = row.figures(known.as_deref());
        let is_same = known.as_ref().is_some_and(|known| known.figures == figures);
        if is_same && (was_final || !row.is_final) {
            return DayOutcome::Unchanged;
        }
        if was_final && !row.is_final_correction() {
            return DayOutcome::Closed;
        }
        let report = DeliveryReport {
            at,
            package_id: Some(row.package_id.clone()),
            figures,
            viewability: None,
            reached: Map::new(),
            measured: Vec::new(),
            finalized_at: row.is_final.then_some(now),
            pushed_at: row.is_pushed().then_some(now),
        };
        let replaced = known.map(|known| std::mem::replace(known, report.clone()));
        if replaced.is_none() {
            self.places.insert(key, self.delivery.reports.len());
            self.delivery.reports.push(report.clone());
        }
        self.changes.push(DayChange { report, replaced });
        DayOutcome::Stored
    }

    /// Returns the reports that count from now on.
    #[must_use]
    pub fn changes(&self) -> &[DayChange] {
        &self.changes
    }

    /// Returns true if there is a report of a package and day.
    #[must_use]
    pub fn has(&self, package_id: &str, day: Date) -> bool {
        self.report_of(package_id, day).is_some()
    }

    /// Returns true if every day of a flight has a final report, and no report of another day may still change.
    #[must_use]
    pub fn is_closed(&self, package_id: &str, flight: PackageDays) -> bool {
        let reports = self.delivery.reports.iter();
        let mut own = reports.filter(|report| report.package_id.as_deref() == Some(package_id));
        let has_report = |day: Date| self.has(package_id, day);
        flight.first <= flight.last
            && flight.each_day().all(has_report)
            && own.all(|report| report.finalized_at.is_some())
    }

    /// Takes the report of a day of a package that is closed ([`is_closed`](Self::is_closed)): another day is added by a
    /// final correction alone, because any other report would open again what buyers may be billed by.
    pub fn report_closed(&mut self, row: &PackageDay, now: Timestamp) -> DayOutcome {
        if !row.is_final_correction() && !self.has(&row.package_id, row.day) {
            return DayOutcome::Closed;
        }
        self.report(row, now)
    }

    fn report_of(&self, package_id: &str, day: Date) -> Option<&DeliveryReport> {
        let key = DayKey { at: moment_of(day)?, package_id: package_id.to_owned() };
        self.delivery.reports.get(*self.places.get(&key)?)
    }

    /// Returns the figures of a package, over all days.
    #[must_use]
    pub fn total(&self, package_id: &str, figure: &str) -> MoneyAmount {
        self.delivery.package_total(package_id, figure)
    }

    /// Returns the delivery with all reports, the oldest first.
    #[must_use]
    pub fn into_delivery(mut self) -> BuyDelivery {
        // Stable, so that reports of one moment stay in the order in which they came.
        self.delivery.reports.sort_by_key(|report| report.at);
        self.delivery
    }
}

/// Whether figures of a period are final.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finality {
    /// True if nothing of them will change, unless it is corrected.
    pub is_final: bool,
    /// Time at which the last of them became final.
    pub finalized_at: Option<Timestamp>,
}

/// Whether the figures of a media buy's packages in a period are final, in the order of the packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuyFinality {
    /// The packages.
    pub packages: Vec<Finality>,
    /// True if a package is billed by a measurement window, which reports of days do not have.
    has_windows: bool,
}

impl Finality {
    const OPEN: Self = Self { is_final: false, finalized_at: None };

    /// Returns the members of a report (`is_final`, `finalized_at`).
    #[must_use]
    pub fn members(self) -> Map {
        let finalized_at = self.finalized_at.filter(|_| self.is_final);
        crate::reply::object([
            ("is_final", Some(self.is_final.into())),
            ("finalized_at", finalized_at.map(|at| at.to_string().into())),
        ])
    }
}

impl BuyFinality {
    /// Reads which figures of a period are final, from the reports of the period. It says nothing of a buy without
    /// [final figures](BuyDelivery::has_final), whose publisher does not distinguish them.
    #[must_use]
    pub fn from_reports(
        buy: &MediaBuy,
        reports: &[&DeliveryReport],
        period: Period,
        zone: &TimeZone,
    ) -> Self {
        let mut by_package: BTreeMap<&str, Vec<&DeliveryReport>> = BTreeMap::new();
        let mut is_shared = false;
        for report in reports {
            match &report.package_id {
                Some(package_id) => by_package.entry(package_id).or_default().push(report),
                // What is divided over the packages is never declared final.
                None => is_shared = true,
            }
        }
        let packages = buy.packages.iter().map(|package| {
            let reports =
                by_package.get(package.package_id.as_str()).map_or(&[][..], Vec::as_slice);
            if is_shared {
                return Finality::OPEN;
            }
            finality(reports, PackageDays::from_package(buy, package, zone).within(period))
        });
        let has_windows = |package: &Package| {
            let terms = package.shown.members.get("measurement_terms");
            terms.is_some_and(|terms| {
                terms.pointer("/billing_measurement/measurement_window").is_some()
            })
        };
        let has_windows = buy.packages.iter().any(has_windows);
        Self { packages: packages.collect(), has_windows }
    }

    /// Returns whether the figures of all packages are final. `None` where a package is billed by a measurement
    /// window: then only the packages say it.
    #[must_use]
    pub fn whole(&self) -> Option<Finality> {
        let finalized_at = self.packages.iter().filter_map(|package| package.finalized_at).max();
        let is_final = self.packages.iter().all(|package| package.is_final);
        (!self.has_windows).then_some(Finality { is_final, finalized_at })
    }

    /// Returns true if the figures of every package are final.
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.packages.iter().all(|package| package.is_final)
    }
}

/// Returns whether reports are final that have to be there for some days.
fn finality(reports: &[&DeliveryReport], expected: PackageDays) -> Finality {
    let are_final = reports.iter().all(|report| report.finalized_at.is_some());
    let known: BTreeSet<Date> = reports.iter().map(|report| report.day()).collect();
    // Ends at the first day without a report, so that a long flight costs no more than its reports.
    if !are_final || !expected.each_day().all(|day| known.contains(&day)) {
        return Finality::OPEN;
    }
    let finalized_at = reports.iter().filter_map(|report| report.finalized_at).max();
    Finality { is_final: true, finalized_at }
}

/// First and last day of a package's flight in the publisher's time zone, up to its cancellation. There is none when
/// the last is before the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackageDays {
    /// First day.
    pub first: Date,
    /// Last day.
    pub last: Date,
}

impl PackageDays {
    /// Reads the days of a package.
    #[must_use]
    pub fn from_package(buy: &MediaBuy, package: &Package, zone: &TimeZone) -> Self {
        let canceled = package.cancellation.iter().chain(&buy.cancellation);
        let ended = canceled.map(|canceled| canceled.canceled_at).min();
        let end = package.end_time.unwrap_or(buy.end_time);
        Self::from_flight(
            package.start_time.unwrap_or(buy.start_time),
            end.min(ended.unwrap_or(end)),
            zone,
        )
    }

    /// Returns the days whose moments are in a period.
    fn within(self, period: Period) -> Self {
        let asked = Self::from_flight(period.start, period.end, &TimeZone::UTC);
        // A day whose first moment is before the period is not in it.
        let begins_earlier = moment_of(asked.first).is_none_or(|at| at < period.start);
        let first = if begins_earlier { asked.first.tomorrow() } else { Ok(asked.first) };
        Self { first: self.first.max(first.unwrap_or(Date::MAX)), last: self.last.min(asked.last) }
    }

    /// Returns each day.
    fn each_day(self) -> impl Iterator<Item = Date> {
        inventory::each_day(self.first, self.last)
    }

    /// Returns the days between a moment and another one, which is not included.
    #[must_use]
    pub fn from_flight(start: Timestamp, end: Timestamp, zone: &TimeZone) -> Self {
        let day_of = |moment: Timestamp| moment.to_zoned(zone.clone()).date();
        Self { first: day_of(start), last: day_of(end.checked_sub(1.nanosecond()).unwrap_or(end)) }
    }
}
