//! The contract for an ad server of one's own (docs/ad-server.md): JSON over HTTP with a bearer credential and
//! `X-Network-Code`. It extends the interface of the AdCP SDK's mock ad server `sales-guaranteed`: what that
//! server does not have is optional, and missing routes are [`RefusalReason::Unsupported`].

use std::collections::BTreeSet;

use jiff::civil::Date;
use reqwest::header::{AUTHORIZATION, HeaderName};
use reqwest::{Client, StatusCode};
use tradepost_document::catalog::Vocabulary;
use tradepost_document::json::Value;
use tradepost_publisher::ad_server::{
    AdServerCapabilities, CreativeSpec, DealSpec, ExternalId, LineItemPricing, LineItemSpec,
    OrderSpec, RemoteDelivery, RemoteId, RemoteLineItemView, RemoteObject, RemoteState,
};

use crate::check::{self, PackageProblems};
use crate::client::{
    AdServerClient, AdServerRequest, CallFailure, CodeMeaning, garbled, refused, segment, typed,
};
use crate::port::{
    AdServer, AdServerError, AdServerResult, Availability, InventoryItem, PackageProblem,
    RefusalReason, RemoteStateChange,
};
use crate::settings::{AdServerSettings, ConnectError};

mod answers;
mod bodies;

use answers::{
    AdUnitList, AvailabilityAnswer, CreativeAnswer, CreativeList, DeliveryAnswer, LineItemAnswer,
    LineItemList, OrderAnswer, OrderList, ProductList, TaskAnswer,
};

/// Name of the adapter.
const NAME: &str = "http";

/// Delay of reports that the contract permits in minutes.
const REPORT_DELAY_MINUTES: u32 = 60;

/// An ad server that speaks the contract.
pub(crate) struct HttpAdServer {
    client: AdServerClient,
    settings: AdServerSettings,
    network: String,
    capabilities: AdServerCapabilities,
}

impl std::fmt::Debug for HttpAdServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpAdServer").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Returns what an error code of the contract means.
fn meaning(code: &str) -> Option<CodeMeaning> {
    let reason = match code {
        "unauthorized" => RefusalReason::Credential,
        "forbidden" | "approval_forbidden" => RefusalReason::Permission,
        "unknown_network" | "network_required" => RefusalReason::Missing,
        "idempotency_conflict" => RefusalReason::Conflict,
        "no_inventory" => RefusalReason::NoInventory,
        "unsupported" => RefusalReason::Unsupported,
        "invalid_request" | "invalid_state_transition" => RefusalReason::Invalid,
        "not_ready" => return Some(CodeMeaning::NotYet),
        _ => return None,
    };
    Some(CodeMeaning::Refused(reason))
}

/// Turns the refusal of a route that the contract does not require into [`RefusalReason::Unsupported`]. An
/// object that is missing has a code of its own (`order_not_found`).
fn optional_route(failure: CallFailure) -> AdServerError {
    let is_missing = failure.status == Some(StatusCode::NOT_FOUND);
    let names_object = failure.code.as_deref().is_some_and(|code| {
        code.strip_suffix("_not_found").is_some_and(|object| !object.is_empty())
    });
    if is_missing && !names_object {
        refused(RefusalReason::Unsupported, "the ad server has no such operation")
    } else {
        failure.error
    }
}

impl HttpAdServer {
    /// Creates the adapter.
    pub(crate) fn new(settings: AdServerSettings, client: Client) -> Result<Self, ConnectError> {
        let network = settings.network.clone().unwrap_or_default();
        let client = AdServerClient::new(&settings, client, AUTHORIZATION, "Bearer ", meaning)?
            .with_header(HeaderName::from_static("x-network-code"), &network, "network")?;
        let capabilities = AdServerCapabilities {
            pricing: LineItemPricing::ALL.iter().copied().collect::<BTreeSet<_>>(),
            targeting: settings.targeting.clone(),
            metro_systems: None,
            line_items: true,
            deals: false,
            forecasts: true,
            inventory: true,
            approvals: true,
            report_delay_minutes: REPORT_DELAY_MINUTES,
        };
        Ok(Self { client, settings, network, capabilities })
    }

    async fn get(&self, path: &str) -> Result<Value, AdServerError> {
        Ok(self.client.send(AdServerRequest::get(path)).await?)
    }

    async fn post(&self, path: &str, body: Value) -> Result<Value, AdServerError> {
        Ok(self.client.send(AdServerRequest::post(path, body)).await?)
    }

    /// Sends a request of a route that the contract does not require.
    async fn send_optional(&self, request: AdServerRequest) -> Result<Value, AdServerError> {
        self.client.send(request).await.map_err(optional_route)
    }

    /// Returns what a list has under our id. An ad server that does not filter returns more.
    async fn find(&self, list: &str, id: &ExternalId) -> Result<Value, AdServerError> {
        let request = AdServerRequest::get(list).with("client_request_id", &id.0);
        Ok(self.client.send(request).await?)
    }

    async fn line_items_of(&self, order: &RemoteId) -> Result<Vec<LineItemAnswer>, AdServerError> {
        let answer = self.get(&line_items_path(order)).await?;
        Ok(typed::<LineItemList>(&answer, "list of line items")?.line_items)
    }

    async fn order(&self, order: &RemoteId) -> Result<OrderAnswer, AdServerError> {
        let answer = self.get(&order_path(order)).await?;
        typed(&answer, "order")
    }

    /// Returns an order's status, after its approval task was looked at where it waits for one: at some ad
    /// servers the order follows its task only then.
    async fn current_state(&self, id: &RemoteId) -> Result<RemoteState, AdServerError> {
        let order = self.order(id).await?;
        let Some(task) = order.waiting_task() else { return order.state() };
        let task = self.get(&format!("/v1/tasks/{}", segment(task))).await?;
        let task: TaskAnswer = typed(&task, "task")?;
        if !task.is_decided() {
            return order.state();
        }
        self.order(id).await?.state()
    }

    async fn act(&self, path: &str, change: RemoteStateChange) -> Result<Value, AdServerError> {
        let request = AdServerRequest::post(format!("{path}/actions"), bodies::action(change));
        self.send_optional(request).await
    }
}

fn order_path(order: &RemoteId) -> String {
    format!("/v1/orders/{}", segment(&order.0))
}

fn line_items_path(order: &RemoteId) -> String {
    format!("{}/lineitems", order_path(order))
}

fn line_item_path(order: &RemoteId, line_item: &RemoteId) -> String {
    format!("{}/{}", line_items_path(order), segment(&line_item.0))
}

/// Checks what only this adapter knows of a line item.
fn check_inventory(line_item: &LineItemSpec, found: &mut PackageProblems<'_>) {
    if let Err(message) = bodies::RemoteInventory::read(&line_item.inventory) {
        found.report("product_id", message);
    }
}

impl AdServer for HttpAdServer {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> &AdServerCapabilities {
        &self.capabilities
    }

    fn check(&self) -> AdServerResult<'_, String> {
        Box::pin(async move {
            let units: AdUnitList = typed(&self.get("/v1/inventory").await?, "list of ad units")?;
            Ok(format!("network {}, {} ad units", self.network, units.ad_units.len()))
        })
    }

    fn validate<'a>(
        &'a self,
        order: &'a OrderSpec,
        line_items: &'a [LineItemSpec],
    ) -> AdServerResult<'a, Vec<PackageProblem>> {
        let has_advertiser = self.settings.advertiser_or(order.advertiser.as_ref()).is_ok();
        let capabilities = &self.capabilities;
        let problems =
            check::problems(capabilities, order, line_items, has_advertiser, check_inventory);
        Box::pin(async move { Ok(problems) })
    }

    fn availability<'a>(&'a self, line_item: &'a LineItemSpec) -> AdServerResult<'a, Availability> {
        Box::pin(async move {
            let body = bodies::availability(line_item, &self.settings.time_zone)?;
            let answer = self.post("/v1/availability", body).await?;
            typed::<AvailabilityAnswer>(&answer, "availability")?.availability()
        })
    }

    fn find_order<'a>(&'a self, id: &'a ExternalId) -> AdServerResult<'a, Option<RemoteObject>> {
        Box::pin(async move {
            let orders: OrderList = typed(&self.find("/v1/orders", id).await?, "list of orders")?;
            let order = orders.orders.into_iter().find(|order| order.has_id(id));
            order.map(|order| order.object(id)).transpose()
        })
    }

    fn line_items<'a>(&'a self, order: &'a RemoteId) -> AdServerResult<'a, Vec<RemoteObject>> {
        Box::pin(async move {
            let items = self.line_items_of(order).await?;
            items.into_iter().map(LineItemAnswer::into_object).collect()
        })
    }

    fn find_creative<'a>(&'a self, id: &'a ExternalId) -> AdServerResult<'a, Option<RemoteObject>> {
        Box::pin(async move {
            let answer = self.find("/v1/creatives", id).await?;
            let creatives: CreativeList = typed(&answer, "list of creatives")?;
            let creative = creatives.creatives.into_iter().find(|creative| creative.has_id(id));
            Ok(creative.map(CreativeAnswer::into_object))
        })
    }

    fn create_order<'a>(&'a self, order: &'a OrderSpec) -> AdServerResult<'a, RemoteObject> {
        Box::pin(async move {
            let advertiser = self.settings.advertiser_or(order.advertiser.as_ref())?;
            let trafficker = self.settings.trafficker.as_ref();
            let answer =
                self.post("/v1/orders", bodies::order(order, advertiser, trafficker)).await?;
            typed::<OrderAnswer>(&answer, "order")?.object(&order.external_id)
        })
    }

    fn change_order<'a>(
        &'a self,
        order: &'a RemoteId,
        spec: &'a OrderSpec,
    ) -> AdServerResult<'a, ()> {
        Box::pin(async move {
            let advertiser = self.settings.advertiser_or(spec.advertiser.as_ref())?;
            let body = bodies::order(spec, advertiser, self.settings.trafficker.as_ref());
            let request = AdServerRequest::put(order_path(order), body);
            let answer = self.send_optional(request).await?;
            typed::<OrderAnswer>(&answer, "order")?.object(&spec.external_id).map(drop)
        })
    }

    fn inspect<'a>(&'a self, order: &'a RemoteId) -> AdServerResult<'a, Vec<RemoteLineItemView>> {
        Box::pin(async move {
            let items = self.line_items_of(order).await?;
            items.into_iter().map(LineItemAnswer::into_view).collect()
        })
    }

    fn create_line_item<'a>(
        &'a self,
        order: &'a RemoteId,
        line_item: &'a LineItemSpec,
    ) -> AdServerResult<'a, RemoteObject> {
        Box::pin(async move {
            let body = bodies::line_item(line_item)?;
            let answer = self.post(&line_items_path(order), body).await?;
            typed::<LineItemAnswer>(&answer, "line item")?.made(&line_item.external_id)
        })
    }

    fn change_line_item<'a>(
        &'a self,
        order: &'a RemoteId,
        id: &'a RemoteId,
        line_item: &'a LineItemSpec,
    ) -> AdServerResult<'a, RemoteObject> {
        Box::pin(async move {
            let body = bodies::line_item(line_item)?;
            let request = AdServerRequest::put(line_item_path(order, id), body);
            let answer = self.send_optional(request).await?;
            typed::<LineItemAnswer>(&answer, "line item")?.made(&line_item.external_id)
        })
    }

    fn create_creative<'a>(
        &'a self,
        creative: &'a CreativeSpec,
    ) -> AdServerResult<'a, RemoteObject> {
        Box::pin(async move {
            let advertiser = self.settings.advertiser_or(creative.advertiser.as_ref())?;
            let answer = self.post("/v1/creatives", bodies::creative(creative, advertiser)).await?;
            typed::<CreativeAnswer>(&answer, "creative")?.made(&creative.external_id)
        })
    }

    fn associate_creative<'a>(
        &'a self,
        order: &'a RemoteId,
        line_item: &'a RemoteId,
        creative: &'a RemoteId,
    ) -> AdServerResult<'a, ()> {
        Box::pin(async move {
            let path = format!("{}/creative-attach", line_item_path(order, line_item));
            let answer = self.post(&path, bodies::attachment(creative)).await?;
            let item: LineItemAnswer = typed(&answer, "line item")?;
            if item.has_creative(creative) {
                Ok(())
            } else {
                Err(garbled("the line item does not have the creative"))
            }
        })
    }

    fn dissociate_creative<'a>(
        &'a self,
        order: &'a RemoteId,
        line_item: &'a RemoteId,
        creative: &'a RemoteId,
    ) -> AdServerResult<'a, ()> {
        Box::pin(async move {
            let path = format!("{}/creative-detach", line_item_path(order, line_item));
            let request = AdServerRequest::post(path, bodies::attachment(creative));
            let answer = self.send_optional(request).await?;
            let item: LineItemAnswer = typed(&answer, "line item")?;
            if item.has_creative(creative) {
                Err(garbled("the line item still has the creative"))
            } else {
                Ok(())
            }
        })
    }

    fn change_order_state<'a>(
        &'a self,
        order: &'a RemoteId,
        change: RemoteStateChange,
    ) -> AdServerResult<'a, RemoteState> {
        Box::pin(async move {
            // An order that waits for a person there, or was approved, needs nothing of ours.
            if change == RemoteStateChange::Approve {
                let state = self.current_state(order).await?;
                if state != RemoteState::Draft {
                    return Ok(state);
                }
            }
            let answer = self.act(&order_path(order), change).await?;
            typed::<OrderAnswer>(&answer, "order")?.state()
        })
    }

    fn change_line_item_state<'a>(
        &'a self,
        order: &'a RemoteId,
        line_item: &'a RemoteId,
        change: RemoteStateChange,
    ) -> AdServerResult<'a, RemoteState> {
        Box::pin(async move {
            let answer = self.act(&line_item_path(order, line_item), change).await?;
            typed::<LineItemAnswer>(&answer, "line item")?.state()
        })
    }

    fn order_state<'a>(&'a self, order: &'a RemoteId) -> AdServerResult<'a, RemoteState> {
        Box::pin(self.current_state(order))
    }

    fn delivery<'a>(
        &'a self,
        order: &'a RemoteId,
        from: Date,
        to: Date,
    ) -> AdServerResult<'a, Vec<RemoteDelivery>> {
        Box::pin(async move {
            let request = AdServerRequest::get(format!("{}/delivery", order_path(order)))
                .with("start", from.to_string())
                .with("end", to.to_string())
                .for_report();
            let answer = self.client.send(request).await?;
            typed::<DeliveryAnswer>(&answer, "report")?.deliveries(&self.settings.time_zone)
        })
    }

    fn inventory(&self) -> AdServerResult<'_, Vec<InventoryItem>> {
        Box::pin(async move {
            let products: ProductList =
                typed(&self.get("/v1/products").await?, "list of products")?;
            let units: AdUnitList = typed(&self.get("/v1/inventory").await?, "list of ad units")?;
            let products = products.products.into_iter().map(answers::ProductAnswer::into_item);
            let units = units.ad_units.into_iter().map(answers::AdUnitAnswer::into_item);
            Ok(products.chain(units).collect())
        })
    }

    fn put_deal<'a>(&'a self, _: &'a DealSpec) -> AdServerResult<'a, RemoteObject> {
        Box::pin(async { Err(refused(RefusalReason::Unsupported, "the contract has no deals")) })
    }

    fn close_deal<'a>(&'a self, _: &'a RemoteId) -> AdServerResult<'a, ()> {
        Box::pin(async { Err(refused(RefusalReason::Unsupported, "the contract has no deals")) })
    }
}
