//! Requests of the contract. Money has its exact digits, times are UTC, and days are days of the publisher's
//! time zone.

use jiff::tz::TimeZone;
use tradepost_document::json::{Value, json, object};
use tradepost_publisher::ad_server::{
    CreativeContent, CreativeSpec, LineItemSpec, OrderSpec, RemoteId,
};

use crate::client::refused;
use crate::naming::{self, MAX_NAME};
use crate::port::{AdServerError, RefusalReason, RemoteStateChange};

/// Prefix of a product in `terms.ad_server.inventory`.
pub(super) const PRODUCT: &str = "product/";

/// Prefix of an ad unit in `terms.ad_server.inventory`.
pub(super) const AD_UNIT: &str = "ad_unit/";

/// Inventory of a line item: one product, and ad units of it.
#[derive(Debug)]
pub(super) struct RemoteInventory<'a> {
    product: &'a str,
    ad_units: Vec<&'a str>,
}

impl<'a> RemoteInventory<'a> {
    /// Reads the entries of a product's terms.
    pub(super) fn read(entries: &'a [String]) -> Result<Self, &'static str> {
        let named = |prefix| move |entry: &'a String| entry.strip_prefix(prefix);
        let products: Vec<&str> = entries.iter().filter_map(named(PRODUCT)).collect();
        let ad_units: Vec<&str> = entries.iter().filter_map(named(AD_UNIT)).collect();
        if products.len() + ad_units.len() < entries.len() {
            return Err("Inventory of this ad server is named as product/ID or ad_unit/ID.");
        }
        match products.as_slice() {
            [product] => Ok(Self { product, ad_units }),
            _ => Err("The product has to name exactly one product/ID of this ad server."),
        }
    }
}

fn inventory(line_item: &LineItemSpec) -> Result<RemoteInventory<'_>, AdServerError> {
    RemoteInventory::read(&line_item.inventory)
        .map_err(|message| refused(RefusalReason::Invalid, message))
}

/// Writes an order.
pub(super) fn order(
    order: &OrderSpec,
    advertiser: &RemoteId,
    trafficker: Option<&RemoteId>,
) -> Value {
    object!({
        "client_request_id": &order.external_id.0,
        "name": naming::with_id(&order.name, &order.external_id, MAX_NAME),
        "advertiser_id": &advertiser.0,
        "trafficker_id"?: trafficker.map(|id| &id.0),
        "currency": &order.currency,
        "budget": order.budget,
        "start_time": order.start_time.to_string(),
        "end_time": order.end_time.to_string(),
    })
}

/// Writes a line item.
pub(super) fn line_item(line_item: &LineItemSpec) -> Result<Value, AdServerError> {
    let inventory = inventory(line_item)?;
    let goal = line_item.goal.map(|goal| json!({"unit": goal.unit, "amount": goal.amount}));
    let delivery_type = if line_item.is_guaranteed { "guaranteed" } else { "non_guaranteed" };
    Ok(object!({
        "client_request_id": &line_item.external_id.0,
        "name": naming::with_id(&line_item.name, &line_item.external_id, MAX_NAME),
        "product_id": inventory.product,
        "ad_unit_targeting": inventory.ad_units,
        "delivery_type": delivery_type,
        "pricing": {"model": line_item.pricing, "rate": line_item.rate, "currency": &line_item.currency},
        "budget": line_item.budget,
        "goal"?: goal,
        "start_time": line_item.start_time.to_string(),
        "end_time": line_item.end_time.to_string(),
        "targeting": &line_item.targeting,
        "sizes": &line_item.sizes,
        "paused": line_item.is_paused,
    }))
}

/// Writes a question about availability.
pub(super) fn availability(
    line_item: &LineItemSpec,
    time_zone: &TimeZone,
) -> Result<Value, AdServerError> {
    let product = inventory(line_item)?.product;
    let start = line_item.start_time.to_zoned(time_zone.clone()).date();
    let end = line_item.end_time.to_zoned(time_zone.clone()).date();
    Ok(json!({
        "dry_run": true,
        "items": [{
            "product_id": product,
            "budget": line_item.budget,
            "flight_dates": {"start": start.to_string(), "end": end.to_string()},
            "targeting": &line_item.targeting,
        }],
    }))
}

/// Writes a creative. The click address is a member of its own, and never the address of the asset.
pub(super) fn creative(creative: &CreativeSpec, advertiser: &RemoteId) -> Value {
    let kind = match &creative.content {
        CreativeContent::Image { .. } => "image",
        CreativeContent::Video { .. } => "video",
        CreativeContent::Vast { .. } => "vast",
        CreativeContent::Markup { .. } => "markup",
    };
    let snippet = match &creative.content {
        CreativeContent::Markup { markup } => Some(markup),
        CreativeContent::Image { .. }
        | CreativeContent::Video { .. }
        | CreativeContent::Vast { .. } => None,
    };
    let asset_url = match &creative.content {
        CreativeContent::Image { url }
        | CreativeContent::Video { url }
        | CreativeContent::Vast { url } => Some(url),
        CreativeContent::Markup { .. } => None,
    };
    object!({
        "client_request_id": &creative.external_id.0,
        "name": naming::with_id(&creative.name, &creative.external_id, MAX_NAME),
        "format_id": &creative.format_id,
        "advertiser_id": &advertiser.0,
        "kind": kind,
        "snippet"?: snippet,
        "asset_url"?: asset_url,
        "click_url"?: creative.click_url.as_ref(),
        "width"?: creative.size.map(|size| size.width),
        "height"?: creative.size.map(|size| size.height),
    })
}

/// Writes which creative a line item gets or loses.
pub(super) fn attachment(creative: &RemoteId) -> Value {
    json!({"creative_id": &creative.0})
}

/// Writes an action.
pub(super) fn action(change: RemoteStateChange) -> Value {
    let action = match change {
        RemoteStateChange::Approve => "approve",
        RemoteStateChange::Pause => "pause",
        RemoteStateChange::Resume => "resume",
        RemoteStateChange::Cancel => "cancel",
    };
    json!({"action": action})
}
