//! Answers of the contract. Members that are not listed are ignored.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Deserialize;
use tradepost_document::json::Number;
use tradepost_publisher::ad_server::{
    ExternalId, RemoteDelivery, RemoteId, RemoteLineItemView, RemoteObject, RemoteState,
};
use tradepost_publisher::money::MoneyAmount;

use super::bodies::{AD_UNIT, PRODUCT};
use crate::client::{count, garbled, refused};
use crate::naming;
use crate::port::{AdServerError, Availability, InventoryItem, RefusalReason};

/// An order.
#[derive(Debug, Deserialize)]
pub(super) struct OrderAnswer {
    order_id: String,
    client_request_id: Option<String>,
    name: Option<String>,
    status: String,
    approval_task_id: Option<String>,
}

/// A list of orders.
#[derive(Debug, Deserialize)]
pub(super) struct OrderList {
    pub(super) orders: Vec<OrderAnswer>,
}

impl OrderAnswer {
    /// Returns true if it was made under our id.
    pub(super) fn has_id(&self, id: &ExternalId) -> bool {
        own_id(self.client_request_id.as_deref(), self.name.as_deref()).as_ref() == Some(id)
    }

    /// Returns the task that decides on its approval, while it waits for one.
    pub(super) fn waiting_task(&self) -> Option<&str> {
        self.approval_task_id.as_deref().filter(|_| self.status == "pending_approval")
    }

    /// Returns its state.
    pub(super) fn state(&self) -> Result<RemoteState, AdServerError> {
        Ok(match self.status.as_str() {
            "draft" => RemoteState::Draft,
            "pending_approval" => RemoteState::PendingApproval,
            "approved" => RemoteState::Ready,
            "delivering" => RemoteState::Delivering,
            "paused" => RemoteState::Paused,
            "completed" => RemoteState::Completed,
            "canceled" => RemoteState::Canceled,
            "rejected" => RemoteState::Rejected,
            _ => return Err(garbled("the order has a status that the contract does not have")),
        })
    }

    /// Returns it as the object that was asked for.
    pub(super) fn object(self, asked: &ExternalId) -> Result<RemoteObject, AdServerError> {
        let state = Some(self.state()?);
        object(self.order_id, self.client_request_id, state, asked)
    }
}

/// A line item.
#[derive(Debug, Deserialize)]
pub(super) struct LineItemAnswer {
    line_item_id: String,
    client_request_id: Option<String>,
    name: Option<String>,
    status: String,
    #[serde(default)]
    creative_ids: BTreeSet<String>,
    budget: Option<MoneyAmount>,
    start_time: Option<Timestamp>,
    end_time: Option<Timestamp>,
}

/// A list of line items.
#[derive(Debug, Deserialize)]
pub(super) struct LineItemList {
    pub(super) line_items: Vec<LineItemAnswer>,
}

impl LineItemAnswer {
    /// Returns its state. One that waits for creatives is a draft.
    pub(super) fn state(&self) -> Result<RemoteState, AdServerError> {
        Ok(match self.status.as_str() {
            "pending_creatives" => RemoteState::Draft,
            "ready" => RemoteState::Ready,
            "delivering" => RemoteState::Delivering,
            "paused" => RemoteState::Paused,
            "completed" => RemoteState::Completed,
            "canceled" => RemoteState::Canceled,
            _ => return Err(garbled("the line item has a status that the contract does not have")),
        })
    }

    /// Returns true if a creative is associated with it.
    pub(super) fn has_creative(&self, creative: &RemoteId) -> bool {
        self.creative_ids.contains(&creative.0)
    }

    /// Returns it as an object of a list.
    pub(super) fn into_object(self) -> Result<RemoteObject, AdServerError> {
        Ok(RemoteObject {
            state: Some(self.state()?),
            external_id: own_id(self.client_request_id.as_deref(), self.name.as_deref()),
            id: RemoteId(self.line_item_id),
        })
    }

    /// Returns it with what it shows of what was sent.
    pub(super) fn into_view(self) -> Result<RemoteLineItemView, AdServerError> {
        Ok(RemoteLineItemView {
            start_time: self.start_time,
            end_time: self.end_time,
            budget: self.budget,
            creatives: Some(self.creative_ids.iter().cloned().map(RemoteId).collect()),
            object: self.into_object()?,
        })
    }

    /// Returns it as the object that was asked for.
    pub(super) fn made(self, asked: &ExternalId) -> Result<RemoteObject, AdServerError> {
        let state = Some(self.state()?);
        object(self.line_item_id, self.client_request_id, state, asked)
    }
}

/// A creative.
#[derive(Debug, Deserialize)]
pub(super) struct CreativeAnswer {
    creative_id: String,
    client_request_id: Option<String>,
    name: Option<String>,
}

/// A list of creatives.
#[derive(Debug, Deserialize)]
pub(super) struct CreativeList {
    pub(super) creatives: Vec<CreativeAnswer>,
}

impl CreativeAnswer {
    /// Returns true if it was made under our id.
    pub(super) fn has_id(&self, id: &ExternalId) -> bool {
        own_id(self.client_request_id.as_deref(), self.name.as_deref()).as_ref() == Some(id)
    }

    /// Returns it as an object of a list.
    pub(super) fn into_object(self) -> RemoteObject {
        let external_id = own_id(self.client_request_id.as_deref(), self.name.as_deref());
        RemoteObject { id: RemoteId(self.creative_id), external_id, state: None }
    }

    /// Returns it as the object that was asked for.
    pub(super) fn made(self, asked: &ExternalId) -> Result<RemoteObject, AdServerError> {
        object(self.creative_id, self.client_request_id, None, asked)
    }
}

/// Returns our id of an object: as it is echoed, or from the end of the name where it is not.
fn own_id(echoed: Option<&str>, name: Option<&str>) -> Option<ExternalId> {
    echoed.map(|id| ExternalId(id.to_owned())).or_else(|| name.and_then(naming::id_of))
}

/// Returns an object that was asked for under our id. An ad server that echoes another id has answered another
/// request.
fn object(
    id: String,
    external_id: Option<String>,
    state: Option<RemoteState>,
    asked: &ExternalId,
) -> Result<RemoteObject, AdServerError> {
    if id.is_empty() {
        return Err(garbled("the object has no id"));
    }
    if external_id.as_ref().is_some_and(|echoed| *echoed != asked.0) {
        return Err(garbled("it is for another client_request_id"));
    }
    Ok(RemoteObject { id: RemoteId(id), external_id: Some(asked.clone()), state })
}

/// A task of a person at the ad server.
#[derive(Debug, Deserialize)]
pub(super) struct TaskAnswer {
    status: String,
}

impl TaskAnswer {
    /// Returns true once the person has decided.
    pub(super) fn is_decided(&self) -> bool {
        matches!(self.status.as_str(), "completed" | "rejected")
    }
}

/// A list of ad units.
#[derive(Debug, Deserialize)]
pub(super) struct AdUnitList {
    pub(super) ad_units: Vec<AdUnitAnswer>,
}

/// An ad unit.
#[derive(Debug, Deserialize)]
pub(super) struct AdUnitAnswer {
    ad_unit_id: String,
    name: String,
}

impl AdUnitAnswer {
    /// Returns it as products name it.
    pub(super) fn into_item(self) -> InventoryItem {
        item(AD_UNIT, "ad_unit", &self.ad_unit_id, self.name)
    }
}

/// A list of products of the ad server.
#[derive(Debug, Deserialize)]
pub(super) struct ProductList {
    pub(super) products: Vec<ProductAnswer>,
}

/// A product of the ad server.
#[derive(Debug, Deserialize)]
pub(super) struct ProductAnswer {
    product_id: String,
    name: String,
}

impl ProductAnswer {
    /// Returns it as products name it.
    pub(super) fn into_item(self) -> InventoryItem {
        item(PRODUCT, "product", &self.product_id, self.name)
    }
}

fn item(prefix: &str, kind: &str, id: &str, name: String) -> InventoryItem {
    InventoryItem { id: RemoteId(format!("{prefix}{id}")), name, kind: kind.to_owned() }
}

/// Availability of the one line item that was asked about.
#[derive(Debug, Deserialize)]
pub(super) struct AvailabilityAnswer {
    items: Vec<AvailabilityItem>,
}

#[derive(Debug, Deserialize)]
struct AvailabilityItem {
    reason: Option<String>,
    forecast: Option<Forecast>,
    remaining_after_prior_items: Option<Number>,
}

#[derive(Debug, Deserialize)]
struct Forecast {
    points: Vec<ForecastPoint>,
}

#[derive(Debug, Deserialize)]
struct ForecastPoint {
    budget: Option<Number>,
    metrics: ForecastMetrics,
}

#[derive(Debug, Deserialize)]
struct ForecastMetrics {
    impressions: Option<ForecastRange>,
}

#[derive(Debug, Deserialize)]
struct ForecastRange {
    mid: Number,
}

impl AvailabilityAnswer {
    /// Returns what matches and what is left of it. The point without a budget is the whole inventory.
    pub(super) fn availability(self) -> Result<Availability, AdServerError> {
        let [item] = <[AvailabilityItem; 1]>::try_from(self.items)
            .map_err(|_| garbled("it is not about one item"))?;
        if item.reason.as_deref() == Some("product_not_found") {
            return Err(refused(RefusalReason::Missing, "the ad server has no such product"));
        }
        let points = item.forecast.map(|forecast| forecast.points).unwrap_or_default();
        let whole = points.into_iter().find(|point| point.budget.is_none());
        let matched = whole.and_then(|point| point.metrics.impressions);
        let matched = matched.and_then(|impressions| impressions.mid.as_u64());
        let matched = matched.ok_or_else(|| garbled("the forecast has no impressions"))?;
        let left = item.remaining_after_prior_items.and_then(|number| number.as_u64());
        Ok(Availability { matched, available: left.unwrap_or(matched).min(matched) })
    }
}

/// A delivery report.
#[derive(Debug, Deserialize)]
pub(super) struct DeliveryAnswer {
    reporting_period: ReportingPeriod,
    totals: DeliveryTotals,
    #[serde(default)]
    line_item_breakdown: Vec<LineItemDelivery>,
}

#[derive(Debug, Deserialize)]
struct ReportingPeriod {
    start: Timestamp,
}

#[derive(Debug, Deserialize)]
struct DeliveryTotals {
    clicks: Number,
}

#[derive(Debug, Deserialize)]
struct LineItemDelivery {
    line_item_id: String,
    day: Option<Date>,
    impressions: Number,
    clicks: Option<Number>,
    completed_views: Option<Number>,
    spend: MoneyAmount,
    #[serde(default)]
    is_final: bool,
}

impl DeliveryAnswer {
    /// Returns delivery by line item and day. Figures without a day are those of the whole flight so far; they
    /// belong to the first day of the period, where a later report replaces them.
    pub(super) fn deliveries(
        self,
        time_zone: &TimeZone,
    ) -> Result<Vec<RemoteDelivery>, AdServerError> {
        let first_day = self.reporting_period.start.to_zoned(time_zone.clone()).date();
        // Without clicks of line items, those of the order are the only line item's.
        let is_only = self.line_item_breakdown.len() == 1;
        let order_clicks = is_only.then_some(&self.totals.clicks);
        let deliveries = self.line_item_breakdown.iter().map(|row| {
            let clicks = row.clicks.as_ref().or(order_clicks);
            Ok(RemoteDelivery {
                line_item: RemoteId(row.line_item_id.clone()),
                day: row.day.unwrap_or(first_day),
                impressions: count(&row.impressions)?,
                clicks: clicks.map(count).transpose()?.unwrap_or_default(),
                completed_views: row.completed_views.as_ref().map(count).transpose()?,
                spend: row.spend,
                is_final: row.is_final,
            })
        });
        deliveries.collect()
    }
}
