//! `get_media_buy_delivery`: reported delivery of media buys.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use tradepost_adcp::error::{AdcpCode, AdcpError};
use tradepost_document::json::{Value, json, object};
use tradepost_document::typed;

use super::buys;
use crate::buy::days::{BuyFinality, Finality};
use crate::buy::report::{self, ALL_TIME, BuyDelivery, DeliveryReport, Period, first_moment};
use crate::buy::{MediaBuy, MediaBuyStatus};
use crate::catalogue::{PricingOption, Product};
use crate::forms::buys::GetMediaBuyDelivery;
use crate::money::MoneyAmount;
use crate::refusals::{AdcpRefusal, ToolError, at, invalid};
use crate::reply::{ToolReply, object};
use crate::store::Stored;
use crate::tool_context::ToolContext;

/// Handles `get_media_buy_delivery`.
pub(super) fn perform(
    work: &ToolContext<'_>,
    form: &GetMediaBuyDelivery,
) -> Result<ToolReply, ToolError> {
    let asked = range(work, form)?;
    let ids = form.media_buy_ids.as_deref();
    let filter = form.status_filter.as_ref();
    let buys = buys::list::chosen(work, ids, filter)?;
    let mut products = work.publisher.products(work.reader)?;
    // The reply needs a currency even without a media buy.
    let first_price = products.first().and_then(|product| product.prices().first());
    let default_currency = first_price.map_or("USD", PricingOption::currency).to_owned();
    products.retain(|product| buys.iter().any(|stored| stored.thing.has(product)));
    capable(form, &products)?;
    let period = asked.unwrap_or_else(|| lifetime(&buys, work.call.now));
    let mut rows = Vec::new();
    let mut all = Vec::new();
    let mut sandbox = false;
    let accounts = work.accounts_of(&buys)?;
    let ids = buys.iter().map(|stored| stored.record.id.clone()).collect();
    let delivered = work.reader.find_many::<BuyDelivery>(&ids)?;
    let mut delivered: BTreeMap<String, BuyDelivery> =
        delivered.into_iter().map(|stored| (stored.record.id, stored.thing)).collect();
    for stored in &buys {
        let delivery = delivered.remove(&stored.record.id).unwrap_or_default();
        let reports: Vec<DeliveryReport> = match asked {
            Some(period) => delivery.within(period).cloned().collect(),
            // Not limited to the lifetime: a report may be about a time outside of the flight.
            None => delivery.reports.clone(),
        };
        let figures = DeliveredFigures {
            buy: &stored.thing,
            delivery: &delivery,
            reports: &reports,
            // A lifetime is final when every day of it is, which the ones to come are not.
            period: asked.unwrap_or(ALL_TIME),
        };
        rows.push(row(work, form, &figures));
        all.extend(reports);
        let account = stored.record.account.as_ref().and_then(|id| accounts.get(id));
        sandbox |= account.is_some_and(|account| account.sandbox);
    }
    let mut currencies: Vec<_> = buys.iter().map(|stored| stored.thing.currency.as_str()).collect();
    currencies.dedup();
    let body = object!({
        "reporting_period": {"start": period.start, "end": period.end},
        "currency": currencies.first().copied().unwrap_or(&default_currency),
        "media_buy_deliveries": rows,
        // Amounts in different currencies have no sum.
        "aggregated_totals"?: (currencies.len() <= 1).then(|| aggregated(&all, buys.len())),
        "sandbox"?: sandbox.then_some(true),
    });
    Ok(ToolReply::completed("what was delivered, as far as it has been reported", body))
}

/// Returns the requested period, including its start date and excluding its end date.
fn range(work: &ToolContext<'_>, form: &GetMediaBuyDelivery) -> Result<Option<Period>, ToolError> {
    let mut problems = Vec::new();
    let mut day = |name: &str, asked: &Option<String>| -> Option<Timestamp> {
        let start = first_moment(asked.as_ref()?);
        if start.is_none() {
            problems.push(invalid(name, "there is no such day"));
        }
        start
    };
    let start = day("start_date", &form.start_date);
    let end = day("end_date", &form.end_date);
    if let Some(start) = start
        && let Some(end) = end
        && end <= start
    {
        let message = "end_date is not in the range any more; it has to lie after start_date";
        problems.push(invalid("end_date", message));
    }
    AdcpRefusal::of_all(problems)?;
    if start.is_none() && end.is_none() {
        return Ok(None);
    }
    let start = start.unwrap_or(Timestamp::UNIX_EPOCH);
    // A period that starts in the future is empty.
    Ok(Some(Period { start, end: end.unwrap_or(work.call.now).max(start) }))
}

/// Checks that the products support the requested reporting.
fn capable(form: &GetMediaBuyDelivery, products: &[Product]) -> Result<(), ToolError> {
    let mut problems: Vec<AdcpError> = Vec::new();
    for (name, asked) in [("start_date", &form.start_date), ("end_date", &form.end_date)] {
        let lifetime_only = |product: &Product| {
            let reporting = product.published.reporting_capabilities.as_ref();
            let support = reporting.and_then(|reporting| reporting.date_range_support.as_deref());
            support == Some("lifetime_only")
        };
        if asked.is_some() && products.iter().any(lifetime_only) {
            let message = "a product of these media buys is reported over its lifetime alone; leave the \
                           dates out";
            problems.push(at(AdcpCode::UnsupportedFeature, name, message));
        }
    }
    if let Some(granularity) = &form.time_granularity {
        let windowed = |product: &Product, word: &str| {
            let mut reporting = product.published.reporting_capabilities.iter();
            reporting.any(|reported| {
                reported.windowed_pull_granularities.iter().any(|known| known == word)
            })
        };
        let daily = products.iter().all(|product| windowed(product, "daily"));
        if granularity != "daily" || !daily {
            let message = "these media buys are not reported in such windows";
            let error = at(AdcpCode::UnsupportedGranularity, "time_granularity", message);
            let known: &[&str] = if daily && !products.is_empty() { &["daily"] } else { &[] };
            problems.push(error.with("accepted_values", json!(known)));
        }
    }
    AdcpRefusal::of_all(problems).map_err(Into::into)
}

/// Returns the period from the first start until now.
fn lifetime(buys: &[Stored<MediaBuy>], now: Timestamp) -> Period {
    let start = buys.iter().map(|stored| stored.thing.start_time).min().unwrap_or(now);
    Period { start: start.min(now), end: now }
}

/// Figures of a media buy in a period.
struct DeliveredFigures<'a> {
    buy: &'a MediaBuy,
    delivery: &'a BuyDelivery,
    /// Reports of the period.
    reports: &'a [DeliveryReport],
    period: Period,
}

/// Returns the row of a media buy.
fn row(
    work: &ToolContext<'_>,
    form: &GetMediaBuyDelivery,
    figures: &DeliveredFigures<'_>,
) -> Value {
    let DeliveredFigures { buy, delivery, reports, period } = *figures;
    let now = work.call.now;
    // Regardless of the requested dates, because it decides whether the budget is used up.
    let spent = delivery.spent();
    let zone = &work.publisher.profile.catalogue.inventory.time_zone;
    let has_final = delivery.has_final();
    let finality_of = |of_period: &[&DeliveryReport], period: Period| {
        has_final.then(|| BuyFinality::from_reports(buy, of_period, period, zone))
    };
    let borrowed: Vec<_> = reports.iter().collect();
    let finality = finality_of(&borrowed, period);
    let shares = report::shares(buy, &borrowed);
    let packages = buy.packages.iter().zip(&shares).enumerate();
    let packages = packages.map(|(place, (package, share))| {
        let mut row = report::priced(buy, package);
        row.extend(report::metrics(share));
        let is_final = finality.as_ref().and_then(|finality| finality.packages.get(place));
        row.extend(is_final.map(|finality| finality.members()).unwrap_or_default());
        let daily = form.include_package_daily_breakdown.then(|| report::daily(share));
        let status = standing(buy, spent, now).map(Into::into);
        row.extend(object([("delivery_status", status), ("daily_breakdown", daily)]));
        row
    });
    let packages: Vec<_> = packages.collect();
    let mut models: Vec<_> = buy.packages.iter().filter_map(report::model).collect();
    models.dedup();
    let windowed = form.include_window_breakdown && form.time_granularity.is_some();
    let mut row = object!({
        "media_buy_id": buy.media_buy_id,
        "status": buy.status_at(now),
        "totals": report::metrics(reports),
        "by_package": packages,
        "daily_breakdown": report::daily(reports),
        "pricing_model"?: models.first().filter(|_| models.len() == 1),
        "windows"?: windowed.then(|| windows(reports, finality_of)),
    });
    let whole = finality.as_ref().and_then(BuyFinality::whole);
    if let Some(row) = row.as_object_mut() {
        row.extend(whole.map(Finality::members).unwrap_or_default());
    }
    row
}

/// Returns the delivery status, when it is known.
fn standing(buy: &MediaBuy, spent: MoneyAmount, now: Timestamp) -> Option<&'static str> {
    if spent > MoneyAmount::ZERO && spent >= buy.total_budget {
        return Some("budget_exhausted");
    }
    match buy.status_at(now) {
        MediaBuyStatus::Active => Some("delivering"),
        MediaBuyStatus::Completed if now >= buy.end_time => Some("flight_ended"),
        MediaBuyStatus::Completed => Some("completed"),
        MediaBuyStatus::PendingCreatives
        | MediaBuyStatus::PendingStart
        | MediaBuyStatus::Paused
        | MediaBuyStatus::Rejected
        | MediaBuyStatus::Canceled => None,
    }
}

/// Returns the reports as daily windows. `finality_of` says what is final of the reports of a period.
fn windows(
    reports: &[DeliveryReport],
    finality_of: impl Fn(&[&DeliveryReport], Period) -> Option<BuyFinality>,
) -> Value {
    let mut days: BTreeMap<Date, Vec<&DeliveryReport>> = BTreeMap::new();
    for report in reports {
        days.entry(report.at.to_zoned(TimeZone::UTC).date()).or_default().push(report);
    }
    let start = |date: Date| date.to_zoned(TimeZone::UTC).map(|day| day.timestamp()).ok();
    let window = |(date, reports): (Date, Vec<&DeliveryReport>)| {
        let period = Period { start: start(date)?, end: date.tomorrow().ok().and_then(start)? };
        let whole = finality_of(&reports, period).as_ref().and_then(BuyFinality::whole);
        Some(object!({
            "window_start": period.start,
            "window_end": period.end,
            "totals": report::metrics(reports),
            "is_final"?: whole.map(|finality| finality.is_final),
        }))
    };
    days.into_iter().filter_map(window).collect()
}

/// Returns the totals of all media buys.
fn aggregated(reports: &[DeliveryReport], count: usize) -> Value {
    const SHOWN: &[&str] = &[
        "impressions",
        "spend",
        "clicks",
        "completed_views",
        "views",
        "conversions",
        "conversion_value",
        "roas",
        "completion_rate",
    ];
    let mut shown = typed::kept(&report::metrics(reports), SHOWN);
    shown.insert("media_buy_count".to_owned(), count.into());
    Value::Object(shown)
}
