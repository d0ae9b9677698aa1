//! Delivery of media buys: exactly what was reported, added up and divided over the packages by their
//! budgets. Nothing is estimated.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Map, Value, json};
use tradepost_document::typed::Typed as _;

use super::{MediaBuy, Package};
use crate::money::MoneyAmount;
use crate::reply::object;
use crate::reporting;
use crate::store::{EntityRecord, FoundBy, StoreTx, kept};

/// Names of the figures that add up (`core/delivery-metrics.json`).
pub const ADDITIVE: &[&str] = &[
    "impressions",
    "spend",
    "clicks",
    "views",
    "completed_views",
    "conversions",
    "conversion_value",
];

kept! {
    /// Delivery of a media buy; its record has the id of the buy.
    #[derive(Default)]
    pub struct BuyDelivery: Delivery by found_by then follow {
        /// The media buy.
        media_buy_id: String,
        /// The reports, the oldest first.
        #[serde(default)]
        reports: Vec<DeliveryReport>,
        /// Total spend, where it was set apart from the reports.
        spent?: Option<MoneyAmount>,
        /// Packages whose deals have spent their budgets and were running, when days were reported or the buy was changed last.
        spent_deals?: Vec<String>,
        /// Time at which the last of them ends.
        spent_until?: Option<Timestamp>,
    }

    /// One report.
    pub struct DeliveryReport {
        /// Time that it is about.
        at: Timestamp,
        /// Package that it is about; `None` for the whole buy, whose figures are divided over its packages.
        package_id?: Option<String>,
        /// The figures, by the names of [`ADDITIVE`].
        figures: BTreeMap<String, MoneyAmount>,
        /// Viewability, as it was reported (`viewability`).
        viewability?: Option<Value>,
        /// `reach`, `reach_unit`, `reach_window` and `frequency`, as they were reported: they do not add up.
        reached?: Map,
        /// Measurements of vendors, as they reported them (`core/vendor-metric-value.json`): scores, which do
        /// not add up either.
        measured?: Vec<Value>,
        /// Time at which the publisher has declared the figures final; `None` while they may still change.
        finalized_at?: Option<Timestamp>,
        /// Time at which people or programs of the publisher have reported it; `None` for what an ad server was
        /// asked for, and in the sandbox.
        pushed_at?: Option<Timestamp>,
    }
}

/// State of the delivery of a media buy with running deals that have spent their budgets.
pub(crate) const DEAL_SPENT: &str = "deal_spent";

fn found_by(delivery: &BuyDelivery, _: Timestamp) -> FoundBy {
    let state = if delivery.spent_deals.is_empty() { "" } else { DEAL_SPENT };
    FoundBy { state: Some(state), changes_at: delivery.spent_until, ..FoundBy::default() }
}

/// Has the reports of a media buy follow its delivery.
fn follow(_: &BuyDelivery, record: &EntityRecord, tx: &dyn StoreTx) -> Result<(), InternalError> {
    reporting::follow_delivery(record, tx)
}

/// Returns the first moment of a day in UTC (`2026-04-15`); `None` when there is no such day.
pub(crate) fn first_moment(day: &str) -> Option<Timestamp> {
    let start = day.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok()?;
    Some(start.timestamp())
}

/// A period; its end is not included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// The first moment.
    pub start: Timestamp,
    /// The first moment after it.
    pub end: Timestamp,
}

/// All moments.
pub(crate) const ALL_TIME: Period = Period { start: Timestamp::MIN, end: Timestamp::MAX };

impl BuyDelivery {
    /// Returns a figure of a package, over all its own reports.
    pub(crate) fn package_total(&self, package_id: &str, figure: &str) -> MoneyAmount {
        let own = self.reports.iter().filter(|one| one.package_id.as_deref() == Some(package_id));
        own.map(|report| report.figure(figure)).sum()
    }

    /// Returns the reports of a period.
    pub fn within(&self, period: Period) -> impl Iterator<Item = &DeliveryReport> {
        self.reports.iter().filter(move |report| (period.start..period.end).contains(&report.at))
    }

    /// Returns true if figures of it were ever declared final.
    #[must_use]
    pub fn has_final(&self) -> bool {
        self.reports.iter().any(|report| report.finalized_at.is_some())
    }

    /// Returns the total spend.
    #[must_use]
    pub fn spent(&self) -> MoneyAmount {
        let reported = || self.reports.iter().map(|report| report.figure("spend")).sum();
        self.spent.unwrap_or_else(reported)
    }
}

impl DeliveryReport {
    /// Returns a figure; zero when it was not reported.
    pub(crate) fn figure(&self, name: &str) -> MoneyAmount {
        self.figures.get(name).copied().unwrap_or_default()
    }

    /// Returns the report as it was when nobody had said who reports it and whether it is final: what buyers are told
    /// again when it differs.
    pub(crate) fn figures_alone(&self) -> Self {
        Self { finalized_at: None, pushed_at: None, ..self.clone() }
    }

    /// Returns the day that it is about, in UTC.
    pub(crate) fn day(&self) -> Date {
        self.at.to_zoned(TimeZone::UTC).date()
    }
}

/// Returns the metrics of some reports (`core/delivery-metrics.json`), with the rates that follow from them.
#[must_use]
pub fn metrics<'a>(reports: impl IntoIterator<Item = &'a DeliveryReport>) -> Map {
    let reports: Vec<_> = reports.into_iter().collect();
    // These two are reported even for a buy without delivery.
    let mut sums =
        BTreeMap::from([("impressions", MoneyAmount::ZERO), ("spend", MoneyAmount::ZERO)]);
    for report in &reports {
        for name in ADDITIVE.iter().copied() {
            if let Some(figure) = report.figures.get(name) {
                *sums.entry(name).or_default() += *figure;
            }
        }
    }
    let mut metrics = derived(&sums);
    if let Some(viewability) = viewability(&reports) {
        metrics.insert("viewability".to_owned(), viewability);
    }
    // Reach does not add up: the same people may be reached on two days, so the latest report holds.
    let reached = reports.iter().rev().find(|report| !report.reached.is_empty());
    metrics.extend(reached.map(|report| report.reached.clone()).unwrap_or_default());
    if let Some(report) = reports.iter().rev().find(|report| !report.measured.is_empty()) {
        metrics.insert("vendor_metric_values".to_owned(), json!(report.measured));
    }
    metrics
}

/// Returns sums with the rates that follow from them; a rate without a denominator is left out.
fn derived(sums: &BTreeMap<&str, MoneyAmount>) -> Map {
    let sum = |name: &str| Some((name.to_owned(), (*sums.get(name)?).into()));
    let mut metrics: Map = ADDITIVE.iter().copied().filter_map(sum).collect();
    let mut rate =
        |name: &str, above: &str, below: &str, factor: u32, most: Option<MoneyAmount>| {
            if let Some(above) = sums.get(above).copied()
                && let Some(below) = sums.get(below).copied()
                && below > MoneyAmount::ZERO
            {
                let rate = above.share(MoneyAmount::whole(factor), below);
                // Reports arrive separately, so that clicks may be ahead of the impressions that they are a
                // share of.
                metrics.insert(name.to_owned(), rate.min(most.unwrap_or(rate)).into());
            }
        };
    let all = Some(MoneyAmount::whole(1));
    rate("ctr", "clicks", "impressions", 1, all);
    rate("completion_rate", "completed_views", "impressions", 1, all);
    rate("cpm", "spend", "impressions", 1000, None);
    rate("cost_per_click", "spend", "clicks", 1, None);
    rate("cost_per_completed_view", "spend", "completed_views", 1, None);
    rate("cost_per_acquisition", "spend", "conversions", 1, None);
    rate("roas", "conversion_value", "spend", 1, None);
    metrics
}

/// Returns the total viewability: counts add up, the rate follows from them, and the time in view is the mean
/// over the impressions that could be measured. The standard is the last one that was named.
fn viewability(reports: &[&DeliveryReport]) -> Option<Value> {
    let blocks: Vec<_> = reports.iter().filter_map(|report| report.viewability.as_ref()).collect();
    let number = |block: &Value, name: &str| block.get(name).and_then(MoneyAmount::read);
    let sum = |name: &str| -> Option<MoneyAmount> {
        let all: Vec<_> = blocks.iter().filter_map(|block| number(block, name)).collect();
        (!all.is_empty()).then(|| all.into_iter().sum())
    };
    let last = |name: &str| blocks.iter().rev().find_map(|block| block.get(name)).cloned();
    let measurable = sum("measurable_impressions");
    let viewable = sum("viewable_impressions");
    let rate = match (measurable, viewable) {
        (Some(all), Some(seen)) if all > MoneyAmount::ZERO => {
            Some(MoneyAmount::whole(1).share(seen, all).min(MoneyAmount::whole(1)).into())
        }
        (Some(_) | None, Some(_) | None) => last("viewable_rate"),
    };
    let weighted = blocks.iter().filter_map(|block| {
        let seconds = number(block, "viewed_seconds")?;
        // A time without a count weighs as one impression, so that it is not lost.
        Some((seconds, number(block, "measurable_impressions").unwrap_or(MoneyAmount::whole(1))))
    });
    let shown = object([
        ("measurable_impressions", measurable.map(Into::into)),
        ("viewable_impressions", viewable.map(Into::into)),
        ("viewable_rate", rate),
        ("viewed_seconds", MoneyAmount::mean(weighted).map(Into::into)),
        ("standard", last("standard")),
        ("vendor", last("vendor")),
    ]);
    (!blocks.is_empty()).then(|| Value::Object(shown))
}

/// Divides the reports of a buy over its packages, by budget: whole numbers stay whole, and the shares add up
/// to exactly what was reported.
#[must_use]
pub fn shares(buy: &MediaBuy, reports: &[&DeliveryReport]) -> Vec<Vec<DeliveryReport>> {
    // When the whole buy was canceled, all packages share what was delivered before.
    let live = buy.packages.iter().any(Package::is_live);
    // Never zero: the delivery of packages without budgets is divided equally, and not by zero.
    let least = |package: &Package| {
        if live && !package.is_live() {
            MoneyAmount::ZERO
        } else {
            package.budget.max(MoneyAmount::MILLIONTH)
        }
    };
    let budgets: Vec<MoneyAmount> = buy.packages.iter().map(least).collect();
    let all: MoneyAmount = budgets.iter().copied().sum();
    let mut shares: Vec<Vec<DeliveryReport>> = budgets.iter().map(|_| Vec::new()).collect();
    for report in reports {
        if let Some(package_id) = &report.package_id {
            let place = buy.packages.iter().position(|package| package.package_id == *package_id);
            if let Some(share) = place.and_then(|place| shares.get_mut(place)) {
                share.push(DeliveryReport::clone(report));
            }
            continue;
        }
        let mut given: BTreeMap<&str, MoneyAmount> = BTreeMap::new();
        let mut so_far = MoneyAmount::ZERO;
        for (budget, share) in budgets.iter().zip(&mut shares) {
            so_far += *budget;
            let mut figures = BTreeMap::new();
            for (name, figure) in &report.figures {
                // The difference of running totals, so that nothing is lost by rounding.
                let running = figure.portion(so_far, all, grain(name));
                let before = given.insert(name.as_str(), running).unwrap_or_default();
                figures.insert(name.clone(), running - before);
            }
            if *budget > MoneyAmount::ZERO {
                let rows = report.measured.iter();
                let measured = rows.filter_map(|row| portion(Some(row), *budget, all));
                let part = DeliveryReport {
                    at: report.at,
                    package_id: None,
                    figures,
                    viewability: portion(report.viewability.as_ref(), *budget, all),
                    // Reach cannot be divided: the same person may have seen two packages.
                    reached: Map::new(),
                    measured: measured.collect(),
                    finalized_at: None,
                    pushed_at: None,
                };
                share.push(part);
            }
        }
    }
    shares
}

/// Returns the pricing model of a package.
pub(crate) fn model(package: &Package) -> Option<&str> {
    package.price.pricing_model.as_deref()
}

/// Returns the price of a package, as reports show it.
pub(crate) fn priced(buy: &MediaBuy, package: &Package) -> Map {
    let bid = package.shown.bid_price;
    // The rate of an auction is unknown; the bid or the floor price stands for it.
    let rate = package.price.fixed_price.or(bid).or(package.price.floor_price).unwrap_or_default();
    object([
        ("package_id", Some(json!(package.package_id))),
        ("pricing_model", Some(model(package).unwrap_or("cpm").into())),
        ("rate", Some(rate.into())),
        ("currency", Some(json!(buy.currency))),
        ("paused", Some(package.paused.into())),
    ])
}

/// Returns the unit of a figure: hundredths for money, whole numbers for everything else.
fn grain(name: &str) -> MoneyAmount {
    match name {
        "spend" | "conversion_value" => MoneyAmount::CENT,
        _ => MoneyAmount::whole(1),
    }
}

/// Returns a part of a `viewability` block or of a vendor's measurement: counts shrink, rates, scores and
/// times stay.
fn portion(block: Option<&Value>, part: MoneyAmount, of: MoneyAmount) -> Option<Value> {
    let mut block = block?.clone();
    for name in ["measurable_impressions", "viewable_impressions"] {
        if let Some(count) = block.get_mut(name)
            && let Some(whole) = MoneyAmount::read(count)
        {
            *count = whole.portion(part, of, MoneyAmount::whole(1)).into();
        }
    }
    Some(block)
}

/// Returns the figures of each day (`daily_breakdown`).
#[must_use]
pub fn daily<'a>(reports: impl IntoIterator<Item = &'a DeliveryReport>) -> Value {
    let mut days: BTreeMap<Date, (MoneyAmount, MoneyAmount)> = BTreeMap::new();
    for report in reports {
        let day = days.entry(report.day()).or_default();
        day.0 += report.figure("impressions");
        day.1 += report.figure("spend");
    }
    let row = |(date, (impressions, spend)): (Date, (MoneyAmount, MoneyAmount))| {
        let date = date.to_string();
        json!({"date": date, "impressions": impressions, "spend": spend})
    };
    days.into_iter().map(row).collect()
}
