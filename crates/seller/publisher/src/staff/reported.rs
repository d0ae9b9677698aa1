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
use crate::store::{IndexField, Query, StoreTx, Stored};

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
    /// Description: a lower-case fragment without a full stop, and without what the row says.
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
    pub fn of_row(row: usize, message: &str, hint: &str) -> Self {
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
        problems.push(RowProblem::of_row(1, "there are no rows", "send at least one day"));
    }
    if rows.len() > MAX_ROWS {
        let message = format!("there are {} rows, and at most {MAX_ROWS} are taken", rows.len());
        problems.push(RowProblem::of_row(MAX_ROWS + 1, &message, "send them in several parts"));
        return Err(ReportRefused::Problems(problems));
    }
    let zone = publisher.profile.catalogue.inventory.time_zone.clone();
    let today = now.to_zoned(zone.clone()).date();
    let mut reader =
        RowReader { tx, zone, today, now, books: BTreeMap::new(), found: BTreeMap::new() };
    for row in rows {
        reader.take(row, &mut problems)?;
    }
    for book in reader.books.values() {
        book.check_spend(&mut problems);
    }
    if !problems.is_empty() {
        problems.sort_by_key(|problem| problem.row);
        return Err(ReportRefused::Problems(problems));
    }
    let mut reported = Vec::new();
    for book in reader.books.into_values() {
        reported.push(book.summary());
        store_days(tx, &book.buy, &book.buy.record, book.known, book.days, now)?;
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
    books: BTreeMap<String, BuyBook>,
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

/// Media buy that rows are about.
struct BuyBook {
    buy: Stored<MediaBuy>,
    order: Option<RemoteOrder>,
    known: Option<Stored<BuyDelivery>>,
    days: DeliveryDays,
    rows: usize,
    /// First row of each package and day.
    seen: BTreeMap<SeenDay, usize>,
    /// What the rows say of each package.
    packages: BTreeMap<String, ReportedPackage>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SeenDay {
    package_id: String,
    day: Date,
}

/// Package that rows are about.
struct ReportedPackage {
    budget: MoneyAmount,
    spent_before: MoneyAmount,
    /// Row with the highest spend.
    costliest: usize,
    highest: MoneyAmount,
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
        let Some(book) = self.books.get_mut(&id) else { return Ok(()) };
        book.rows += 1;
        let buy = &book.buy.thing;
        if row.currency.as_ref().is_some_and(|currency| *currency != buy.currency) {
            let message = format!("the media buy is in {}", buy.currency);
            let hint = "write the spend in the currency of the media buy";
            problems.push(RowProblem::new(row.row, ReportField::Currency, &message, hint));
        }
        check_counts(row, problems);
        let Some(package) = book.package_of(row, problems) else { return Ok(()) };
        let package_id = package.package_id.clone();
        let budget = package.budget;
        check_day(row, buy, package, self.today, &zone, problems);
        if book.is_pulled(&package_id, self.now) && !row.is_final {
            problems.push(RowProblem::new(
                row.row,
                ReportField::Final,
                "the ad server reports this package by itself, so that only final figures are taken",
                "declare the row final, or leave it out",
            ));
        }
        let seen = SeenDay { package_id: package_id.clone(), day: row.day };
        if let Some(first) = book.seen.get(&seen) {
            let message = format!("the package and day are those of row {first}");
            let hint = "add the rows up, so that each package and day has one";
            problems.push(RowProblem::of_row(row.row, &message, hint));
            return Ok(());
        }
        book.seen.insert(seen, row.row);
        if problems.len() > listed {
            return Ok(());
        }
        book.note_spend(&package_id, budget, row);
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
        match book.days.report(&day, self.now) {
            DayOutcome::Stored | DayOutcome::Unchanged => {}
            DayOutcome::Closed => problems.push(RowProblem::new(
                row.row,
                ReportField::Correction,
                "other figures of this package and day are final",
                "leave the row out, or mark it as a correction",
            )),
        }
        Ok(())
    }

    /// Returns the id of a row's media buy, which has a book then.
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
            problems.push(RowProblem::of_row(
                row.row,
                "names neither a media buy nor a line item",
                "give media_buy_id and package_id, or line_item_id",
            ));
            return Ok(None);
        };
        let id = match self.found.get(&name) {
            Some(found) => found.clone(),
            None => {
                let found = self.find(&name)?;
                self.found.insert(name.clone(), found.clone());
                found
            }
        };
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
                    "give media_buy_id and package_id for a line item that people have set up",
                ),
            });
        }
        Ok(id)
    }

    /// Finds a media buy and opens its book.
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
        if self.books.contains_key(&id) {
            return Ok(Some(id));
        }
        let Some(buy) = self.tx.find::<MediaBuy>(&id)? else { return Ok(None) };
        let order = self.tx.find::<RemoteOrder>(&id)?.map(|order| order.thing);
        let known = self.tx.find::<BuyDelivery>(&id)?;
        let delivery = known.as_ref().map(|known| known.thing.clone()).unwrap_or_default();
        let book = BuyBook {
            buy,
            order,
            known,
            days: DeliveryDays::new(delivery),
            rows: 0,
            seen: BTreeMap::new(),
            packages: BTreeMap::new(),
        };
        self.books.insert(id.clone(), book);
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
    let flight = PackageDays::between(start, end, zone);
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

impl BuyBook {
    /// Returns the package of a row.
    fn package_of(&self, row: &ReportedDay, problems: &mut Vec<RowProblem>) -> Option<&Package> {
        let packages = &self.buy.thing.packages;
        let mut wrong = |field, message: &str, hint: &str| {
            problems.push(RowProblem::new(row.row, field, message, hint));
        };
        if let Some(id) = &row.package_id {
            let found = packages.iter().find(|package| package.package_id == *id);
            if found.is_none() {
                let hint = "`tradepost publisher packages list` lists them";
                wrong(ReportField::Package, "the media buy has no such package", hint);
            }
            return found;
        }
        if let Some(line_item) = &row.line_item_id {
            let mut line_items = self.order.iter().flat_map(|order| &order.line_items);
            let known = line_items.find(|(_, item)| item.id.0 == *line_item).map(|(id, _)| id);
            let found = packages.iter().find(|package| Some(&package.package_id) == known);
            if found.is_some() {
                return found;
            }
        }
        match packages.as_slice() {
            [package] => Some(package),
            [] | [_, _, ..] => {
                let hint = "give the package of each row";
                wrong(ReportField::Package, "the media buy has several packages", hint);
                None
            }
        }
    }

    /// Returns true if the ad server is asked for the delivery of a package.
    fn is_pulled(&self, package_id: &str, now: Timestamp) -> bool {
        self.order.as_ref().is_some_and(|order| {
            let is_asked = order.report_due_at.is_some_and(|due| now.duration_since(due) < SILENT);
            is_asked && order.line_items.contains_key(package_id)
        })
    }

    /// Notes what a row says of the spend of its package.
    fn note_spend(&mut self, package_id: &str, budget: MoneyAmount, row: &ReportedDay) {
        let days = &self.days;
        let known = self.packages.entry(package_id.to_owned()).or_insert_with(|| ReportedPackage {
            budget,
            spent_before: days.total(package_id, "spend"),
            costliest: row.row,
            highest: row.spend,
        });
        if row.spend > known.highest {
            known.highest = row.spend;
            known.costliest = row.row;
        }
    }

    /// Refuses spend that is a multiple of the budget, at its costliest row. What lowers the spend is taken.
    fn check_spend(&self, problems: &mut Vec<RowProblem>) {
        for (package_id, package) in &self.packages {
            let spent = self.days.total(package_id, "spend");
            let most: MoneyAmount = (0..MAX_BUDGETS).map(|_| package.budget).sum();
            if package.budget > MoneyAmount::ZERO && spent > most && spent > package.spent_before {
                let message = format!(
                    "with it the package has spent more than {MAX_BUDGETS} times its budget of {} {}",
                    package.budget, self.buy.thing.currency
                );
                let hint =
                    "check the unit: the spend is in the currency, and not in cents or millionths";
                problems.push(RowProblem::new(
                    package.costliest,
                    ReportField::Spend,
                    &message,
                    hint,
                ));
            }
        }
    }

    /// Says what the rows have changed.
    fn summary(&self) -> ReportedBuy {
        let changes = self.days.changes();
        let was_final = |report: &Option<crate::buy::report::DeliveryReport>| {
            report.as_ref().is_some_and(|report| report.finalized_at.is_some())
        };
        let corrected = changes.iter().filter(|change| was_final(&change.replaced)).count();
        let final_now =
            changes.iter().filter(|change| change.report.finalized_at.is_some()).count();
        let total = |figure: &str| {
            self.packages.keys().map(|package_id| self.days.total(package_id, figure)).sum()
        };
        ReportedBuy {
            media_buy_id: self.buy.thing.media_buy_id.clone(),
            rows: self.rows,
            changed: changes.len(),
            finalized: final_now - corrected,
            corrected,
            impressions: total("impressions"),
            spend: total("spend"),
            currency: self.buy.thing.currency.clone(),
        }
    }
}
