//! Delivery that people or programs of the publisher report: days of packages, all stored or none
//! (`docs/decisions/0120-delivery-that-is-pushed.md`).

use std::collections::BTreeMap;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use serde::Serialize;
use tradepost_document::fault::InternalError;

use crate::buy::days::{DayOrigin, DayOutcome, DeliveryDays, PackageDay, PackageDays};
use crate::buy::report::BuyDelivery;
use crate::buy::{MediaBuy, MediaBuyStatus, Package};
use crate::money::MoneyAmount;
use crate::publisher::Publisher;
use crate::remote_order::RemoteOrder;
use crate::remote_order::delivery::store_days;
use crate::staff::spent_deals::follow_deal_budgets;
use crate::staff_event::StaffEventRecorder;
use crate::store::{IndexField, Query, StoreTx};

mod buy_rows;

use buy_rows::{BuyRows, SeenDay};

/// Maximum number of rows that are reported at once.
pub const MAX_ROWS: usize = 10_000;

/// Number of days after the flight for which delivery may be reported: ad servers count what ends late.
pub const DAYS_AFTER_FLIGHT: i64 = 7;

/// Multiple of a package's budget above which its spend is refused as written in another unit.
pub const MAX_BUDGETS: u32 = 2;

/// Maximum of a count in a row: more is a mistake.
pub const MAX_COUNT: u64 = 1_000_000_000_000;

/// Time after which an ad server whose report is due counts as one that is not asked any more.
const SILENT: SignedDuration = SignedDuration::from_hours(3 * 24);

tradepost_document::words! {
    /// Field of a row, by its name in documents and tables.
    pub enum ReportField {
        /// The media buy.
        MediaBuy = "media_buy_id",
        /// The package.
        Package = "package_id",
        /// The line item at the ad server.
        LineItem = "line_item_id",
        /// The day.
        Date = "date",
        /// Impressions.
        Impressions = "impressions",
        /// Clicks.
        Clicks = "clicks",
        /// Completed views.
        CompletedViews = "completed_views",
        /// Spend.
        Spend = "spend",
        /// Currency of the spend.
        Currency = "currency",
        /// Whether the figures are final.
        Final = "final",
        /// Whether the row corrects figures that are final.
        Correction = "correction",
    }
}

/// Row that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedDay {
    /// Number of the row, as its sender counts.
    pub row: usize,
    /// The media buy.
    pub media_buy_id: Option<String>,
    /// The package; not needed when the media buy has one.
    pub package_id: Option<String>,
    /// The line item at the ad server, in place of both.
    pub line_item_id: Option<String>,
    /// Day in the publisher's time zone.
    pub day: Date,
    /// Impressions.
    pub impressions: u64,
    /// Clicks, where they are counted.
    pub clicks: Option<u64>,
    /// Completed views, where they are counted.
    pub completed_views: Option<u64>,
    /// Spend.
    pub spend: MoneyAmount,
    /// Currency, where the row names one.
    pub currency: Option<String>,
    /// True if the figures are declared final.
    pub is_final: bool,
    /// True if they correct figures that are final.
    pub is_correction: bool,
}

/// Problem of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowProblem {
    /// Number of the row, as its sender counts.
    pub row: usize,
    /// The field, unless the row as a whole is meant.
    pub field: Option<ReportField>,
    /// Description: a lower-case fragment without a full stop. It may quote a cell of the row, shortened.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl RowProblem {
    /// Creates the problem of a field.
    #[must_use]
    pub fn new(row: usize, field: ReportField, message: &str, hint: &str) -> Self {
        let field = Some(field);
        Self { row, field, message: message.to_owned(), hint: hint.to_owned() }
    }

    /// Creates the problem of a whole row.
    #[must_use]
    pub fn from_row(row: usize, message: &str, hint: &str) -> Self {
        Self { row, field: None, message: message.to_owned(), hint: hint.to_owned() }
    }
}

/// What was reported of a media buy, and what is known of it now.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReportedBuy {
    /// The media buy.
    pub media_buy_id: String,
    /// Number of rows about it.
    pub rows: usize,
    /// Number of days whose report is another one now.
    pub changed: usize,
    /// Number of those that had no report before.
    pub added: usize,
    /// Number of days that have become final.
    pub finalized: usize,
    /// Number of days that were final and are corrected.
    pub corrected: usize,
    /// Impressions of these packages, over all days.
    pub impressions: MoneyAmount,
    /// Their spend.
    pub spend: MoneyAmount,
    /// Currency of the spend.
    pub currency: String,
}

/// Reason for which nothing was stored.
#[derive(Debug)]
pub enum ReportRefused {
    /// Every problem of every row, in their order.
    Problems(Vec<RowProblem>),
    /// Internal error.
    Broken(InternalError),
}

impl From<InternalError> for ReportRefused {
    fn from(broken: InternalError) -> Self {
        Self::Broken(broken)
    }
}

/// Stores reported days, all or none. `earlier` are problems that were found while the rows were read: with any,
/// nothing is stored, and those of the other rows are listed beside them.
///
/// # Errors
/// Every problem of every row, or an error of the store.
pub fn report_days(
    publisher: &Publisher,
    tx: &dyn StoreTx,
    rows: &[ReportedDay],
    earlier: &[RowProblem],
    now: Timestamp,
) -> Result<Vec<ReportedBuy>, ReportRefused> {
    let mut problems = earlier.to_vec();
    if rows.is_empty() && problems.is_empty() {
        problems.push(RowProblem::from_row(1, "there are no rows", "send at least one day"));
    }
    if rows.len() > MAX_ROWS {
        let message = format!("there are {} rows, and at most {MAX_ROWS} are taken", rows.len());
        problems.push(RowProblem::from_row(MAX_ROWS + 1, &message, "send them in several parts"));
        return Err(ReportRefused::Problems(problems));
    }
    let zone = publisher.profile.catalogue.inventory.time_zone.clone();
    let today = now.to_zoned(zone.clone()).date();
    let mut reader =
        RowReader { tx, zone, today, now, buys: BTreeMap::new(), found: BTreeMap::new() };
    for row in rows {
        reader.take(row, &mut problems)?;
    }
    for buy_rows in reader.buys.values() {
        buy_rows.check_spend(&mut problems);
    }
    if !problems.is_empty() {
        problems.sort_by_key(|problem| problem.row);
        return Err(ReportRefused::Problems(problems));
    }
    let mut reported = Vec::new();
    let events = StaffEventRecorder { tx, is_sandbox: publisher.profile.sandbox, now };
    for buy_rows in reader.buys.into_values() {
        reported.push(buy_rows.summary());
        store_days(tx, &buy_rows.buy, buy_rows.known, buy_rows.days, now)?;
        follow_deal_budgets(&events, &buy_rows.buy)?;
    }
    Ok(reported)
}

/// Reads rows, each against what is known of its media buy.
struct RowReader<'a> {
    tx: &'a dyn StoreTx,
    zone: TimeZone,
    today: Date,
    now: Timestamp,
    /// Media buys that rows are about, by id.
    buys: BTreeMap<String, BuyRows>,
    /// Media buys by what rows name them with; `None` where there is none.
    found: BTreeMap<BuyName, Option<String>>,
}

/// Name by which a row finds its media buy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum BuyName {
    Buy(String),
    Package(String),
    LineItem(String),
}

impl RowReader<'_> {
    /// Takes a row, or lists its problems.
    fn take(
        &mut self,
        row: &ReportedDay,
        problems: &mut Vec<RowProblem>,
    ) -> Result<(), InternalError> {
        let listed = problems.len();
        let Some(id) = self.buy_of(row, problems)? else { return Ok(()) };
        let zone = self.zone.clone();
        let is_of_other = self.is_of_other(row, &id)?;
        let Some(buy_rows) = self.buys.get_mut(&id) else { return Ok(()) };
        buy_rows.count += 1;
        if is_of_other {
            let hint = "check the ids: they have to name one package";
            let message = "belongs to another media buy";
            problems.push(RowProblem::new(row.row, ReportField::LineItem, message, hint));
            return Ok(());
        }
        let buy = &buy_rows.buy.thing;
        if row.currency.as_ref().is_some_and(|currency| *currency != buy.currency) {
            let message = format!("the media buy is in {}", buy.currency);
            let hint = "write the spend in the currency of the media buy";
            problems.push(RowProblem::new(row.row, ReportField::Currency, &message, hint));
        }
        check_counts(row, problems);
        let Some(package) = buy_rows.package_of(row, problems) else { return Ok(()) };
        let package_id = package.package_id.clone();
        let budget = package.budget;
        let flight = PackageDays::from_package(buy, package, &zone);
        check_day(row, buy, package, self.today, &zone, problems);
        if problems.len() == listed {
            buy_rows.check_closed(row, &package_id, flight, problems);
        }
        if buy_rows.is_pulled(&package_id, self.now) && !row.is_final {
            problems.push(RowProblem::new(
                row.row,
                ReportField::Final,
                "the ad server reports this package by itself, so that only final figures are taken",
                "declare the row final, or leave it out",
            ));
        }
        let seen = SeenDay { package_id: package_id.clone(), day: row.day };
        if let Some(first) = buy_rows.seen.get(&seen) {
            let message = format!("the package and day are those of row {first}");
            let hint = "add the rows up, so that each package and day has one";
            problems.push(RowProblem::from_row(row.row, &message, hint));
            return Ok(());
        }
        buy_rows.seen.insert(seen, row.row);
        if problems.len() > listed {
            return Ok(());
        }
        buy_rows.note_spend(&package_id, budget, row);
        let origin = if row.is_correction { DayOrigin::Corrected } else { DayOrigin::Pushed };
        let day = PackageDay {
            package_id,
            day: row.day,
            impressions: row.impressions,
            clicks: row.clicks,
            completed_views: row.completed_views,
            spend: row.spend,
            is_final: row.is_final,
            origin,
        };
        match buy_rows.days.report(&day, self.now) {
            DayOutcome::Stored | DayOutcome::Unchanged => {}
            DayOutcome::Closed => {
                let message = "other figures of this package and day are final";
                let mut wrong = |field, hint| {
                    problems.push(RowProblem::new(row.row, field, message, hint));
                };
                if !row.is_correction {
                    wrong(ReportField::Correction, "leave the row out, or mark it as a correction");
                }
                if !row.is_final {
                    wrong(ReportField::Final, "declare the row final, or leave it out");
                }
            }
        }
        Ok(())
    }

    /// Returns the id of a row's media buy, which is among `buys` then.
    fn buy_of(
        &mut self,
        row: &ReportedDay,
        problems: &mut Vec<RowProblem>,
    ) -> Result<Option<String>, InternalError> {
        let names = [
            row.media_buy_id.clone().map(BuyName::Buy),
            row.package_id.clone().map(BuyName::Package),
            row.line_item_id.clone().map(BuyName::LineItem),
        ];
        let Some(name) = names.into_iter().flatten().next() else {
            problems.push(RowProblem::from_row(
                row.row,
                "names neither a media buy nor a line item",
                "give media_buy_id and package_id, or line_item_id",
            ));
            return Ok(None);
        };
        let id = self.id_of(&name)?;
        if id.is_none() {
            // The same for one of another publisher.
            problems.push(match name {
                BuyName::Buy(_) => RowProblem::new(
                    row.row,
                    ReportField::MediaBuy,
                    "there is no such media buy",
                    "`tradepost publisher buys list` lists them",
                ),
                BuyName::Package(_) => RowProblem::new(
                    row.row,
                    ReportField::Package,
                    "there is no such package",
                    "`tradepost publisher packages list` lists them",
                ),
                BuyName::LineItem(_) => RowProblem::new(
                    row.row,
                    ReportField::LineItem,
                    "no media buy has such a line item",
                    "give media_buy_id and package_id: line items that people have set up, or an earlier version has \
                     made, are not found by their ids",
                ),
            });
        }
        Ok(id)
    }

    /// Returns true if the line item of a row belongs to another media buy than the one with an id.
    fn is_of_other(&mut self, row: &ReportedDay, id: &str) -> Result<bool, InternalError> {
        let Some(line_item) = &row.line_item_id else { return Ok(false) };
        let found = self.id_of(&BuyName::LineItem(line_item.clone()))?;
        Ok(found.is_some_and(|found| found != id))
    }

    /// Returns the id of a media buy, which is among `buys` then.
    fn id_of(&mut self, name: &BuyName) -> Result<Option<String>, InternalError> {
        if let Some(found) = self.found.get(name) {
            return Ok(found.clone());
        }
        let found = self.find(name)?;
        self.found.insert(name.clone(), found.clone());
        Ok(found)
    }

    /// Finds a media buy and begins with its rows.
    fn find(&mut self, name: &BuyName) -> Result<Option<String>, InternalError> {
        let by = |field, value: &str| Query::default().led_to_by(field, value);
        let id = match name {
            BuyName::Buy(id) => Some(id.clone()),
            BuyName::Package(id) => {
                let found = self.tx.all::<MediaBuy>(&by(IndexField::Package, id))?;
                only(found).map(|buy| buy.record.id)
            }
            BuyName::LineItem(id) => {
                let found = self.tx.all::<RemoteOrder>(&by(IndexField::LineItem, id))?;
                only(found).map(|order| order.record.id)
            }
        };
        let Some(id) = id else { return Ok(None) };
        if self.buys.contains_key(&id) {
            return Ok(Some(id));
        }
        let Some(buy) = self.tx.find::<MediaBuy>(&id)? else { return Ok(None) };
        let order = self.tx.find::<RemoteOrder>(&id)?.map(|order| order.thing);
        let known = self.tx.find::<BuyDelivery>(&id)?;
        let delivery = known.as_ref().map(|known| known.thing.clone()).unwrap_or_default();
        let buy_rows = BuyRows {
            buy,
            order,
            known,
            days: DeliveryDays::new(delivery),
            count: 0,
            seen: BTreeMap::new(),
            closed: BTreeMap::new(),
            packages: BTreeMap::new(),
        };
        self.buys.insert(id.clone(), buy_rows);
        Ok(Some(id))
    }
}

/// Returns what was found, if it is one thing.
fn only<T>(mut found: Vec<T>) -> Option<T> {
    let last = found.pop()?;
    found.is_empty().then_some(last)
}

/// Checks the counts of a row.
fn check_counts(row: &ReportedDay, problems: &mut Vec<RowProblem>) {
    let counts = [
        (ReportField::Impressions, Some(row.impressions)),
        (ReportField::Clicks, row.clicks),
        (ReportField::CompletedViews, row.completed_views),
    ];
    for (field, count) in counts {
        if count.is_some_and(|count| count > MAX_COUNT) {
            let message = format!("is more than {MAX_COUNT}");
            problems.push(RowProblem::new(row.row, field, &message, "check the number"));
        }
    }
    if row.spend < MoneyAmount::ZERO {
        let hint = "write what the day has cost now, and not the difference";
        problems.push(RowProblem::new(row.row, ReportField::Spend, "is below zero", hint));
    }
}

/// Checks that a package can have delivered on a day.
fn check_day(
    row: &ReportedDay,
    buy: &MediaBuy,
    package: &Package,
    today: Date,
    zone: &TimeZone,
    problems: &mut Vec<RowProblem>,
) {
    let mut wrong = |message: &str, hint: &str| {
        problems.push(RowProblem::new(row.row, ReportField::Date, message, hint));
    };
    if buy.status == MediaBuyStatus::Rejected || buy.confirmed_at.is_none() {
        wrong("the media buy was never confirmed, and delivers nothing", "check the media buy");
        return;
    }
    let start = package.start_time.unwrap_or(buy.start_time);
    let end = package.end_time.unwrap_or(buy.end_time);
    let flight = PackageDays::from_flight(start, end, zone);
    let latest = flight.last.checked_add(DAYS_AFTER_FLIGHT.days()).unwrap_or(Date::MAX);
    if row.day < flight.first {
        let message = format!("the flight begins on {}", flight.first);
        wrong(&message, "check the date, or the media buy");
    } else if row.day > latest {
        let message = format!(
            "the flight ends on {}, and delivery is taken for {DAYS_AFTER_FLIGHT} days more",
            flight.last
        );
        wrong(&message, "check the date, or extend the flight of the media buy");
    } else if row.day > today {
        wrong("is in the future", "report days that have begun");
    } else if row.is_final && row.day == today {
        problems.push(RowProblem::new(
            row.row,
            ReportField::Final,
            "the day is not over",
            "declare it final from the next day on",
        ));
    }
}
