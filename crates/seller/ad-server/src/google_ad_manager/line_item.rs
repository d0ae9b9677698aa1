//! Line items as they are sold: type, goal, price, and the bodies that say so. A line item never delivers more than
//! was sold, because its goal is also its limit, and inventory is never overbooked.

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use tradepost_document::json::{Map, Value, json, object};
use tradepost_publisher::ad_server::{
    CreativeSize, GoalUnit, LineItemPricing, LineItemSpec, RemoteId,
};
use tradepost_publisher::money::MoneyAmount;

use super::soap::XmlElement;
use super::targeting::{self, GeoIds};
use super::transport::GoogleClient;
use crate::check::PackageProblems;
use crate::client::{object_members, refused};
use crate::naming::{self, MAX_NAME};
use crate::port::{AdServerError, RefusalReason};

/// Nanounits of a currency in a millionth of its unit.
const NANOS_OF_MICRO: u64 = 1_000;

/// Millionths in a unit.
const MICROS: u64 = 1_000_000;

/// Type, goal and cost type of a line item, in Google's words (`LineItemType`, `Goal`, `CostType`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineItemTerms {
    pub(super) kind: &'static str,
    pub(super) cost_type: &'static str,
    pub(super) goal_type: &'static str,
    pub(super) unit_type: &'static str,
    pub(super) units: u64,
}

/// A line item with all that had to be looked up about it.
#[derive(Debug)]
pub(super) struct PlannedLineItem<'a> {
    pub(super) spec: &'a LineItemSpec,
    pub(super) terms: LineItemTerms,
    pub(super) geo: GeoIds,
    pub(super) time_zone: TimeZone,
    /// Earliest start that Google takes now.
    pub(super) earliest_start: Timestamp,
}

/// Finds what Google cannot do of a line item's goal, price and sizes.
pub(super) fn check(line_item: &LineItemSpec, found: &mut PackageProblems<'_>) {
    if let Err(message) = terms(line_item) {
        found.report("budget", message);
    }
    if line_item.sizes.is_empty() {
        found.report("product_id", "The ad server needs the sizes of the product's formats.");
    }
}

/// Returns the terms of a line item, or what is wrong with them.
pub(super) fn terms(line_item: &LineItemSpec) -> Result<LineItemTerms, &'static str> {
    let cost_type = match line_item.pricing {
        LineItemPricing::Cpm => "CPM",
        LineItemPricing::Vcpm => "VCPM",
        LineItemPricing::Cpc => "CPC",
        LineItemPricing::Cpcv => "CPCV",
        LineItemPricing::FlatRate => "CPD",
    };
    let Some(goal) = line_item.goal else {
        // One price for the flight buys all of the inventory, by the day.
        return match line_item.pricing {
            LineItemPricing::FlatRate if line_item.is_guaranteed => Ok(LineItemTerms {
                kind: "SPONSORSHIP",
                cost_type,
                goal_type: "DAILY",
                unit_type: "IMPRESSIONS",
                units: 100,
            }),
            LineItemPricing::FlatRate => {
                Err("The ad server has flat rates of guaranteed products.")
            }
            LineItemPricing::Cpm
            | LineItemPricing::Vcpm
            | LineItemPricing::Cpc
            | LineItemPricing::Cpcv => Err("The budget buys nothing."),
        };
    };
    let unit_type = match goal.unit {
        GoalUnit::Impressions => "IMPRESSIONS",
        GoalUnit::ViewableImpressions => "VIEWABLE_IMPRESSIONS",
        GoalUnit::Clicks => "CLICKS",
        GoalUnit::CompletedViews => "COMPLETED_VIEWS",
    };
    let is_reserved_only =
        matches!(line_item.pricing, LineItemPricing::Vcpm | LineItemPricing::Cpcv);
    match line_item.pricing {
        LineItemPricing::FlatRate => return Err("The ad server has flat rates without a goal."),
        LineItemPricing::Vcpm | LineItemPricing::Cpcv if !line_item.is_guaranteed => {
            return Err(
                "The ad server bills viewable impressions and completed views of guaranteed \
                        products.",
            );
        }
        LineItemPricing::Cpm
        | LineItemPricing::Cpc
        | LineItemPricing::Vcpm
        | LineItemPricing::Cpcv => {}
    }
    if goal.amount == 0 {
        return Err("The budget buys nothing.");
    }
    if i64::try_from(goal.amount).is_err() {
        return Err("A goal at the ad server is at most 9223372036854775807.");
    }
    let is_standard = line_item.is_guaranteed || is_reserved_only;
    Ok(LineItemTerms {
        kind: if is_standard { "STANDARD" } else { "PRICE_PRIORITY" },
        cost_type,
        goal_type: "LIFETIME",
        unit_type,
        units: goal.amount,
    })
}

impl PlannedLineItem<'_> {
    /// Returns the start in whole seconds. One that has passed becomes the earliest, because Google takes none in the
    /// past.
    pub(super) fn start(&self) -> Timestamp {
        whole_seconds(self.spec.start_time.max(self.earliest_start))
    }

    /// Returns the end in whole seconds.
    fn end(&self) -> Timestamp {
        whole_seconds(self.spec.end_time)
    }

    /// Returns the members of a line item of REST that a change sends, too. Its state is none of them.
    pub(super) fn changed_members(&self, client: &GoogleClient) -> Result<Map, AdServerError> {
        let spec = self.spec;
        let caps = targeting::frequency_caps(spec)?;
        let places = targeting::places(spec)?;
        let document = object!({
            "displayName": naming::with_id(&spec.name, &spec.external_id, MAX_NAME),
            "startTime": self.start().to_string(),
            "targetEndTime": self.end().to_string(),
            "rate": self.rate_document(),
            "goal": {
                "goalType": self.terms.goal_type,
                "unitType": self.terms.unit_type,
                "units": self.terms.units.to_string(),
            },
            "creativePlaceholders": spec.sizes.iter().map(placeholder).collect::<Vec<Value>>(),
            "frequencyCaps": targeting::cap_documents(&caps),
            "targeting": targeting::document(client, &places, &self.geo),
        });
        Ok(object_members(document))
    }

    /// Returns the body of a new line item of REST.
    pub(super) fn new_members(
        &self,
        client: &GoogleClient,
        order: &RemoteId,
    ) -> Result<Map, AdServerError> {
        let mut members = self.changed_members(client)?;
        let fixed = object!({
            "order": client.name(&format!("orders/{}", order.0)),
            "externalLineItemId": self.spec.external_id.0.as_str(),
            "lineItemType": self.terms.kind,
            "costType": self.terms.cost_type,
            "creativeRotationType": "EVENLY",
            "allowOverbook": false,
            "skipInventoryCheck": false,
        });
        members.extend(object_members(fixed));
        Ok(members)
    }

    /// Returns a line item of SOAP for a forecast, in the order of the schema (`LineItemSummary`, `LineItem`).
    pub(super) fn element(&self) -> Result<XmlElement, AdServerError> {
        let spec = self.spec;
        let caps = targeting::frequency_caps(spec)?;
        let places = targeting::places(spec)?;
        let rate = XmlElement::new("costPerUnit")
            .with(XmlElement::leaf("currencyCode", &spec.currency))
            .with(XmlElement::leaf("microAmount", micros(self.rate())));
        let sizes = spec.sizes.iter().map(|size| {
            XmlElement::new("creativePlaceholders")
                .with(size_element(*size))
                .with(XmlElement::leaf("expectedCreativeCount", 1))
        });
        let goal = XmlElement::new("primaryGoal")
            .with(XmlElement::leaf("goalType", self.terms.goal_type))
            .with(XmlElement::leaf("unitType", self.terms.unit_type))
            .with(XmlElement::leaf("units", self.terms.units));
        Ok(XmlElement::new("lineItem")
            .with(date_time("startDateTime", self.start(), &self.time_zone))
            .with(date_time("endDateTime", self.end(), &self.time_zone))
            .with_all(targeting::cap_elements(&caps))
            .with(XmlElement::leaf("lineItemType", self.terms.kind))
            .with(rate)
            .with(XmlElement::leaf("costType", self.terms.cost_type))
            .with_all(sizes)
            .with(goal)
            .with(targeting::element(&places, &self.geo)))
    }

    /// Returns the price of a unit. A flat rate is shared among the days that the flight touches in the network's
    /// time zone, and never comes to more.
    fn rate(&self) -> MoneyAmount {
        let rate = self.spec.rate;
        if self.spec.pricing != LineItemPricing::FlatRate {
            return rate;
        }
        let days = MoneyAmount::whole(self.days());
        let one = MoneyAmount::whole(1);
        let share = rate.share(one, days);
        if share.share(days, one) > rate { share - MoneyAmount::MILLIONTH } else { share }
    }

    fn days(&self) -> u32 {
        let last = self.spec.end_time.checked_sub(1.nanosecond()).unwrap_or(self.spec.end_time);
        let day = |at: Timestamp| at.to_zoned(self.time_zone.clone()).date();
        let span = day(self.spec.start_time).duration_until(day(last));
        u32::try_from(span.as_hours() / 24 + 1).unwrap_or(1).max(1)
    }

    /// Returns `google.type.Money`, whose whole units are a text (ProtoJSON).
    fn rate_document(&self) -> Value {
        let micros = micros(self.rate());
        json!({
            "currencyCode": self.spec.currency.as_str(),
            "units": (micros / MICROS).to_string(),
            "nanos": (micros % MICROS) * NANOS_OF_MICRO,
        })
    }
}

/// Cuts a time to whole seconds; Google keeps no parts of them.
pub(super) fn whole_seconds(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

/// Returns an amount in millionths; amounts beyond 64 bits do not occur.
fn micros(amount: MoneyAmount) -> u64 {
    amount.share(MoneyAmount::from_count(MICROS), MoneyAmount::whole(1)).to_count()
}

fn placeholder(size: &CreativeSize) -> Value {
    json!({
        "size": {"width": size.width, "height": size.height, "sizeType": "PIXEL"},
        "expectedCreativeCount": 1,
    })
}

/// Returns a size of SOAP.
pub(super) fn size_element(size: CreativeSize) -> XmlElement {
    XmlElement::new("size")
        .with(XmlElement::leaf("width", size.width))
        .with(XmlElement::leaf("height", size.height))
        .with(XmlElement::leaf("isAspectRatio", false))
}

/// Returns a time of SOAP: the hours of the time zone that it names.
fn date_time(name: &str, at: Timestamp, time_zone: &TimeZone) -> XmlElement {
    let local = at.to_zoned(time_zone.clone());
    let date = XmlElement::new("date")
        .with(XmlElement::leaf("year", local.year()))
        .with(XmlElement::leaf("month", local.month()))
        .with(XmlElement::leaf("day", local.day()));
    XmlElement::new(name)
        .with(date)
        .with(XmlElement::leaf("hour", local.hour()))
        .with(XmlElement::leaf("minute", local.minute()))
        .with(XmlElement::leaf("second", local.second()))
        .with(XmlElement::leaf("timeZoneId", time_zone.iana_name().unwrap_or("Etc/UTC")))
}

/// Returns the mask of a change (`google.protobuf.FieldMask`).
pub(super) fn mask(members: &Map) -> String {
    let names: Vec<&str> = members.keys().map(String::as_str).collect();
    names.join(",")
}

/// Refuses terms that are not Google's.
pub(super) fn refusal(message: &'static str) -> AdServerError {
    refused(RefusalReason::Invalid, message)
}

#[cfg(test)]
mod tests;
