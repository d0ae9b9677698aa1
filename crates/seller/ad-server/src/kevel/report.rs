//! Kevel's queued reports: one is asked for by day and flight, and looked at until it is done.

use std::collections::BTreeMap;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Deserialize;
use tradepost_document::json::{Number, Value, object};
use tradepost_document::text;
use tradepost_publisher::ad_server::{RemoteDelivery, RemoteId};
use tradepost_publisher::money::MoneyAmount;

use crate::client::{count, garbled, refused, typed};
use crate::pending_reports::ReportPeriod;
use crate::port::{AdServerError, RefusalReason};

/// Status of a report that is being made.
const PENDING: u8 = 1;

/// Status of a report that is done.
const DONE: u8 = 2;

/// Writes a request for a report by day and flight. The days are days of the time zone.
pub(super) fn request(period: ReportPeriod, time_zone: &TimeZone) -> Value {
    let name = time_zone.iana_name().filter(|name| *name != "UTC");
    object!({
        "StartDateISO": format!("{}T00:00:00Z", period.from),
        "EndDateISO": format!("{}T23:59:59Z", period.to),
        "GroupBy": ["day", "flightId"],
        "Parameters": [{"campaignId": period.order}],
        "TimeZone"?: name,
    })
}

/// A report that was asked for.
#[derive(Debug, Deserialize)]
pub(super) struct QueuedReport {
    #[serde(rename = "Id")]
    pub(super) id: String,
}

#[derive(Debug, Deserialize)]
struct ReportAnswer {
    #[serde(rename = "Status")]
    status: u8,
    #[serde(rename = "Message")]
    message: Option<String>,
    #[serde(rename = "Result")]
    result: Option<ReportResult>,
}

#[derive(Debug, Deserialize)]
struct ReportResult {
    #[serde(rename = "Records")]
    records: Vec<DayRecord>,
}

#[derive(Debug, Deserialize)]
struct DayRecord {
    #[serde(rename = "Date")]
    date: String,
    #[serde(rename = "Details", default)]
    details: Vec<FlightRecord>,
}

#[derive(Debug, Deserialize)]
struct FlightRecord {
    #[serde(rename = "Grouping")]
    grouping: FlightGrouping,
    #[serde(rename = "Impressions")]
    impressions: Number,
    #[serde(rename = "Clicks")]
    clicks: Number,
    // Kevel's own documentation prefers `TrueRevenue`, and calls a flight an option in reports.
    #[serde(rename = "TrueRevenue")]
    true_revenue: Option<MoneyAmount>,
    #[serde(rename = "Revenue")]
    revenue: Option<MoneyAmount>,
}

#[derive(Debug, Deserialize)]
struct FlightGrouping {
    #[serde(rename = "OptionId", alias = "optionId", alias = "FlightId", alias = "flightId")]
    flight: u32,
}

/// A flight on a day.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FlightDay {
    flight: u32,
    day: Date,
}

/// Reads a report. A flight whose price changed has several rows for a day, which are added up.
pub(super) fn read(answer: &Value) -> Result<Vec<RemoteDelivery>, AdServerError> {
    let answer: ReportAnswer = typed(answer, "report")?;
    match answer.status {
        PENDING => return Err(AdServerError::NotYet { retry_after: None }),
        DONE => {}
        _ => {
            let message = answer.message.unwrap_or_default();
            let detail = format!("the report failed: {}", text::plain(&message, text::WORD));
            return Err(refused(RefusalReason::Invalid, detail));
        }
    }
    let result = answer.result.ok_or_else(|| garbled("the report has no result"))?;
    let mut days: BTreeMap<FlightDay, RemoteDelivery> = BTreeMap::new();
    for record in result.records {
        let day = record.date.get(..10).and_then(|day| day.parse::<Date>().ok());
        let day = day.ok_or_else(|| garbled("a row of the report has no date"))?;
        for row in record.details {
            let flight = row.grouping.flight;
            let sum = days.entry(FlightDay { flight, day }).or_insert_with(|| RemoteDelivery {
                line_item: RemoteId(flight.to_string()),
                day,
                impressions: 0,
                clicks: 0,
                completed_views: None,
                spend: MoneyAmount::ZERO,
                is_final: false,
            });
            sum.impressions = sum.impressions.saturating_add(count(&row.impressions)?);
            sum.clicks = sum.clicks.saturating_add(count(&row.clicks)?);
            sum.spend += row.true_revenue.or(row.revenue).unwrap_or_default();
        }
    }
    Ok(days.into_values().collect())
}
