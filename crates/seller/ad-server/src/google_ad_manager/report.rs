//! Delivery by line item and day. There is one report of an order at Google, whose days are changed before it is run:
//! Google keeps reports for good, and one for each request would pile up.

use std::collections::BTreeMap;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Deserialize;
use tradepost_document::json::{Number, Value, json, object};
use tradepost_document::text;
use tradepost_publisher::ad_server::{RemoteDelivery, RemoteId};
use tradepost_publisher::money::MoneyAmount;

use super::answers::Network;
use crate::client::{NO_COUNT, garbled, refused, typed};
use crate::pending_reports::ReportPeriod;
use crate::port::{AdServerError, RefusalReason};

/// Returns the name of an order's report, by which it is found.
pub(super) fn display_name(order: u64) -> String {
    format!("Tradepost: delivery of order {order}")
}

/// Returns the definition of the report about a period. The days are days of the time zone.
pub(super) fn definition(period: ReportPeriod, time_zone: &TimeZone, network: &Network) -> Value {
    let zone = time_zone.iana_name().unwrap_or("UTC");
    // A zone that is not the network's own is slower, and the value UTC is of other reports.
    let is_own = zone == network.time_zone;
    let source = if is_own { "PUBLISHER" } else { "PROVIDED" };
    object!({
        "reportType": "HISTORICAL",
        "dimensions": ["DATE", "LINE_ITEM_ID"],
        "metrics": [
            "AD_SERVER_IMPRESSIONS",
            "AD_SERVER_CLICKS",
            "AD_SERVER_COMPLETED_VIEWS",
            "AD_SERVER_REVENUE",
        ],
        "filters": [{"fieldFilter": {
            "field": {"dimension": "ORDER_ID"},
            "operation": "IN",
            "values": [{"intValue": period.order.to_string()}],
        }}],
        "timeZoneSource": source,
        "timeZone"?: (!is_own).then_some(zone),
        "currencyCode": network.currency_code.as_str(),
        "dateRange": {"fixed": {"startDate": date(period.from), "endDate": date(period.to)}},
    })
}

fn date(day: Date) -> Value {
    json!({"year": day.year(), "month": day.month(), "day": day.day()})
}

/// A report.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    pub(super) name: String,
    #[serde(default)]
    pub(super) display_name: String,
}

/// A long-running operation (`google.longrunning.Operation`).
#[derive(Debug, Deserialize)]
pub(super) struct Operation {
    pub(super) name: String,
    #[serde(default)]
    done: bool,
    error: Option<OperationError>,
    response: Option<RunAnswer>,
}

#[derive(Debug, Deserialize)]
struct OperationError {
    #[serde(default)]
    message: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RunAnswer {
    report_result: Option<String>,
}

impl Operation {
    /// Returns the name of the result, once it is there.
    pub(super) fn result(self) -> Result<String, AdServerError> {
        if !self.done {
            return Err(AdServerError::NotYet { retry_after: None });
        }
        if let Some(error) = self.error {
            let detail = format!("the report failed: {}", text::plain(&error.message, text::WORD));
            return Err(refused(RefusalReason::Invalid, detail));
        }
        let result = self.response.and_then(|response| response.report_result);
        result.ok_or_else(|| garbled("the report has no result"))
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    #[serde(default)]
    dimension_values: Vec<ReportValue>,
    #[serde(default)]
    metric_value_groups: Vec<MetricValueGroup>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MetricValueGroup {
    #[serde(default)]
    primary_values: Vec<ReportValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReportValue {
    /// A 64-bit number, which ProtoJSON writes as a text; readers take both.
    int_value: Option<Value>,
    double_value: Option<Number>,
    string_value: Option<String>,
}

impl ReportValue {
    fn count(&self) -> Option<u64> {
        let value = self.int_value.as_ref()?;
        value.as_u64().or_else(|| value.as_str()?.parse().ok())
    }

    /// Returns a day, which is a number or a text of its digits.
    fn day(&self) -> Option<Date> {
        let number = self.count().map(|number| number.to_string());
        let digits = number.or_else(|| self.string_value.clone())?.replace('-', "");
        digits.parse::<u32>().ok().filter(|_| digits.len() == 8)?;
        format!("{}-{}-{}", digits.get(..4)?, digits.get(4..6)?, digits.get(6..)?).parse().ok()
    }

    /// Returns money in units of the currency. A whole number would leave open if it is in millionths.
    fn money(&self) -> Option<MoneyAmount> {
        match (&self.double_value, self.count()) {
            (Some(number), _) => MoneyAmount::from_number(number),
            (None, Some(0)) => Some(MoneyAmount::ZERO),
            (None, _) => None,
        }
    }
}

/// A line item on a day.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LineItemDay {
    line_item: u64,
    day: Date,
}

/// Delivery that was read so far, by line item and day.
#[derive(Debug, Default)]
pub(super) struct DeliveryRows(BTreeMap<LineItemDay, RemoteDelivery>);

impl DeliveryRows {
    /// Adds a page of rows.
    pub(super) fn read(&mut self, rows: Vec<Value>) -> Result<(), AdServerError> {
        let rows: Vec<Row> = typed(&Value::Array(rows), "page of a report")?;
        rows.iter().try_for_each(|row| self.add(row))
    }

    fn add(&mut self, row: &Row) -> Result<(), AdServerError> {
        let [day, line_item] = row.dimension_values.as_slice() else {
            return Err(garbled("a row of the report has other dimensions"));
        };
        let day = day.day().ok_or_else(|| garbled("a row of the report has no date"))?;
        let line_item =
            line_item.count().ok_or_else(|| garbled("a row of the report has no line item"))?;
        let [group] = row.metric_value_groups.as_slice() else {
            return Err(garbled("a row of the report has other metrics"));
        };
        let [impressions, clicks, views, revenue] = group.primary_values.as_slice() else {
            return Err(garbled("a row of the report has other metrics"));
        };
        let count = |value: &ReportValue| value.count().ok_or_else(|| garbled(NO_COUNT));
        let spend = revenue.money().ok_or_else(|| garbled("the revenue is no amount"))?;
        let delivery = RemoteDelivery {
            line_item: RemoteId(line_item.to_string()),
            day,
            impressions: count(impressions)?,
            clicks: count(clicks)?,
            completed_views: views.count(),
            spend,
            is_final: false,
        };
        self.0.insert(LineItemDay { line_item, day }, delivery);
        Ok(())
    }

    /// Returns the rows, by line item and day.
    pub(super) fn into_rows(self) -> Vec<RemoteDelivery> {
        self.0.into_values().collect()
    }
}
