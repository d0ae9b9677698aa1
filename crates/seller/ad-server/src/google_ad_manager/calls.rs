//! Google's objects: looked for in its lists, read and changed.

use std::sync::PoisonError;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::de::DeserializeOwned;
use tradepost_document::json::{Value, json};
use tradepost_publisher::ad_server::{ExternalId, LineItemSpec, RemoteId, RemoteState};

use super::answers::{Association, Creative, LineItem, Network, Order, Page, last_part, quoted};
use super::line_item::{self, PlannedLineItem};
use super::report::{self, DeliveryRows, Operation, Report};
use super::state::{self, BatchAction};
use super::{CachedNetwork, GoogleAdManager, number};
use crate::client::{AdServerRequest, garbled, refused, segment, too_long, typed};
use crate::pending_reports::ReportPeriod;
use crate::port::{AdServerError, RefusalReason, RemoteStateChange};

/// Objects of a page of a list. Google gives up to a thousand, but the targeting of line items and the sizes of ad
/// units can be long, and an answer is limited.
const PAGE_SIZE: u32 = 100;

/// Maximum number of pages of a list that are looked through.
const MAX_PAGES: u32 = 1_000;

/// Rows of a page of a report; Google gives no more.
const ROWS_OF_PAGE: u32 = 10_000;

/// Maximum number of pages of a report that are looked through.
const MAX_REPORT_PAGES: u32 = 100;

impl GoogleAdManager {
    pub(super) async fn get(&self, rest: &str) -> Result<Value, AdServerError> {
        self.client.rest(AdServerRequest::get(self.client.path(rest))).await
    }

    pub(super) async fn post(&self, rest: &str, body: Value) -> Result<Value, AdServerError> {
        self.client.rest(AdServerRequest::post(self.client.path(rest), body)).await
    }

    /// Changes the members of an object that a mask names.
    pub(super) async fn patch(
        &self,
        rest: &str,
        update_mask: &str,
        body: Value,
    ) -> Result<Value, AdServerError> {
        let request = AdServerRequest::patch(self.client.path(rest), body);
        self.client.rest(request.with("updateMask", update_mask)).await
    }

    /// Returns a list that a filter narrows. The last part of its path names the member with the objects.
    pub(super) async fn list<T: DeserializeOwned>(
        &self,
        list: &str,
        filter: Option<String>,
    ) -> Result<Vec<T>, AdServerError> {
        self.pages(list, last_part(list), filter).await
    }

    async fn pages<T: DeserializeOwned>(
        &self,
        list: &str,
        member: &str,
        filter: Option<String>,
    ) -> Result<Vec<T>, AdServerError> {
        let mut request =
            AdServerRequest::get(self.client.path(list)).with("pageSize", PAGE_SIZE.to_string());
        if let Some(filter) = filter {
            request = request.with("filter", filter);
        }
        let mut all = Vec::new();
        let take = |page: Vec<T>| {
            all.extend(page);
            Ok(())
        };
        let is_whole = self.each_page(&request, member, MAX_PAGES, take).await?;
        if is_whole { Ok(all) } else { Err(too_long("list")) }
    }

    /// Reads at most `most` pages of a list, one after the other. Returns true if there are no more.
    async fn each_page<T: DeserializeOwned>(
        &self,
        list: &AdServerRequest,
        member: &str,
        most: u32,
        mut take: impl FnMut(Vec<T>) -> Result<(), AdServerError>,
    ) -> Result<bool, AdServerError> {
        let mut next: Option<String> = None;
        for _ in 0..most {
            let page = match next {
                Some(token) => list.clone().with("pageToken", token),
                None => list.clone(),
            };
            let page: Page<T> = Page::read(&self.client.rest(page).await?, member)?;
            take(page.items)?;
            next = page.next;
            if next.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the network, which is read once in a while.
    pub(super) async fn network(&self) -> Result<Network, AdServerError> {
        let now = self.clock.elapsed();
        {
            let cached = self.network.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(cached) = cached.as_ref().filter(|cached| now < cached.ends) {
                return Ok(cached.network.clone());
            }
        }
        let path = self.client.path("");
        let answer = self.client.rest(AdServerRequest::get(path.trim_end_matches('/'))).await?;
        let network: Network = typed(&answer, "network")?;
        let cached =
            CachedNetwork { network: network.clone(), ends: now + super::NETWORK_LIFETIME };
        *self.network.lock().unwrap_or_else(PoisonError::into_inner) = Some(cached);
        Ok(network)
    }

    /// Returns a line item with all that has to be looked up about it.
    pub(super) async fn plan<'s>(
        &self,
        spec: &'s LineItemSpec,
    ) -> Result<PlannedLineItem<'s>, AdServerError> {
        let terms = line_item::terms(spec).map_err(line_item::refusal)?;
        let network = self.network().await?;
        if spec.currency != network.currency_code {
            let detail = format!("the network bills in {}", network.currency_code);
            return Err(refused(RefusalReason::Invalid, detail));
        }
        let time_zone = TimeZone::get(&network.time_zone).ok().filter(|zone| !zone.is_unknown());
        let time_zone =
            time_zone.ok_or_else(|| garbled("the time zone of the network is unknown"))?;
        let geo = self.geo_ids(spec).await?;
        Ok(PlannedLineItem { spec, terms, geo, time_zone, earliest_start: self.earliest_start() })
    }

    /// Returns the earliest start that Google takes now, in whole seconds.
    pub(super) fn earliest_start(&self) -> Timestamp {
        let now = self.clock.now();
        let earliest = now.checked_add(super::START_MARGIN).unwrap_or(now);
        line_item::whole_seconds(earliest)
    }

    pub(super) async fn order(&self, order: &RemoteId) -> Result<Order, AdServerError> {
        let answer = self.get(&format!("orders/{}", segment(&order.0))).await?;
        typed(&answer, "order")
    }

    /// Returns the order with our id, which its name ends with; the first one that was made, if there are several.
    pub(super) async fn find_google_order(
        &self,
        id: &ExternalId,
    ) -> Result<Option<Order>, AdServerError> {
        let found: Vec<Order> = self.list("orders", Some(named(id))).await?;
        let ours = found.into_iter().filter(|order| order.is_ours(id));
        Ok(ours.min_by_key(|order| order.id().0.parse::<u64>().ok()))
    }

    /// Returns the creative with our id, which its name ends with; the first one that was made, if there are several.
    pub(super) async fn find_google_creative(
        &self,
        id: &ExternalId,
        advertiser: Option<u64>,
    ) -> Result<Option<Creative>, AdServerError> {
        let found: Vec<Creative> = self.list("creatives", Some(named(id))).await?;
        let advertiser = advertiser.map(|number| number.to_string());
        let ours = found.into_iter().filter(|creative| {
            creative.is_ours(id) && advertiser.as_deref().is_none_or(|own| creative.is_of(own))
        });
        Ok(ours.min_by_key(|creative| creative.id().0.parse::<u64>().ok()))
    }

    pub(super) async fn line_item(&self, id: &RemoteId) -> Result<LineItem, AdServerError> {
        let answer = self.get(&format!("lineItems/{}", segment(&id.0))).await?;
        typed(&answer, "line item")
    }

    pub(super) async fn line_items_of(
        &self,
        order: &RemoteId,
    ) -> Result<Vec<LineItem>, AdServerError> {
        let order = self.client.name(&format!("orders/{}", number(order, "order")?));
        self.list("lineItems", Some(format!("order = {}", quoted(&order)))).await
    }

    pub(super) async fn associations(
        &self,
        line_item: &RemoteId,
    ) -> Result<Vec<Association>, AdServerError> {
        let path = format!("lineItems/{}/creatives", number(line_item, "line item")?);
        self.pages(&path, "lineItemCreativeAssociations", None).await
    }

    /// Does an action to one object of a list.
    pub(super) async fn act(
        &self,
        list: &str,
        id: &RemoteId,
        action: BatchAction,
    ) -> Result<(), AdServerError> {
        let name = self.client.name(&format!("{list}/{}", number(id, "object")?));
        let body = json!({"names": [name]});
        self.post(&format!("{list}{}", action.verb()), body).await.map(drop)
    }

    /// Changes the state of an order, unless it has it.
    pub(super) async fn change_google_order(
        &self,
        order: &RemoteId,
        change: RemoteStateChange,
    ) -> Result<RemoteState, AdServerError> {
        let now = self.order(order).await?.state(self.clock.now())?;
        let actions = state::actions(now, change)?;
        if actions.is_empty() {
            return Ok(now);
        }
        for action in actions {
            self.act("orders", order, action).await?;
        }
        state::reached(self.order(order).await?.state(self.clock.now())?, change)
    }

    /// Changes the state of a line item, unless it has it. What is added to an approved order is approved by its
    /// order; a reservation that is missing is made up for, and Google may wait for it to be activated.
    pub(super) async fn change_google_line_item(
        &self,
        order: &RemoteId,
        id: &RemoteId,
        change: RemoteStateChange,
    ) -> Result<RemoteState, AdServerError> {
        let item = self.line_item(id).await?;
        let now = item.state()?;
        let mut is_changed = false;
        for action in state::actions(now, change)? {
            is_changed = true;
            match action {
                BatchAction::Approve => self.act("orders", order, action).await?,
                BatchAction::Pause
                | BatchAction::Resume
                | BatchAction::Archive
                | BatchAction::Reserve
                | BatchAction::Activate => self.act("lineItems", id, action).await?,
            }
        }
        if change == RemoteStateChange::Approve && !is_changed {
            let is_reserved_kind =
                matches!(item.line_item_type.as_deref(), Some("STANDARD" | "SPONSORSHIP"));
            let is_unreserved = item.reservation_status.as_deref() == Some("UNRESERVED");
            if is_reserved_kind && is_unreserved && now == RemoteState::Ready {
                self.act("lineItems", id, BatchAction::Reserve).await?;
                is_changed = true;
            }
            if item.is_inactive() {
                self.act("lineItems", id, BatchAction::Activate).await?;
                is_changed = true;
            }
        }
        if !is_changed {
            return Ok(now);
        }
        let item = self.line_item(id).await?;
        let state = item.state()?;
        // What is inactive may go on being shown as that when it is paused, too.
        if change == RemoteStateChange::Pause && state == RemoteState::Ready {
            return Ok(state);
        }
        state::reached(state, change)
    }

    /// Returns the number of the advertiser of an account, or the one of the settings.
    pub(super) fn advertiser(&self, own: Option<&RemoteId>) -> Result<u64, AdServerError> {
        number(self.settings.advertiser_or(own)?, "advertiser")
    }

    /// Starts the report about a period, and returns the operation that makes it.
    pub(super) async fn start_report(&self, period: ReportPeriod) -> Result<String, AdServerError> {
        let network = self.network().await?;
        let definition = report::definition(period, &self.settings.time_zone, &network);
        let display_name = report::display_name(period.order);
        let filter = format!("displayName = {}", quoted(&display_name));
        let found: Vec<Report> = self.list("reports", Some(filter)).await?;
        let found = found.into_iter().find(|report| report.display_name == display_name);
        let report = match found {
            Some(report) => {
                let path = self.resource_path(&report.name)?;
                let body = json!({"name": report.name.as_str(), "reportDefinition": definition});
                let request = AdServerRequest::patch(path, body)
                    .with("updateMask", "reportDefinition")
                    .for_report();
                typed::<Report>(&self.client.rest(request).await?, "report")?
            }
            None => {
                let body = json!({
                    "displayName": display_name,
                    "visibility": "HIDDEN",
                    "reportDefinition": definition,
                });
                let request = AdServerRequest::post(self.client.path("reports"), body).for_report();
                typed::<Report>(&self.client.rest(request).await?, "report")?
            }
        };
        let path = format!("{}:run", self.resource_path(&report.name)?);
        let request = AdServerRequest::post(path, json!({})).for_report();
        let run: Operation = typed(&self.client.rest(request).await?, "operation")?;
        Ok(run.name)
    }

    /// Reads the report that an operation makes.
    pub(super) async fn read_report(&self, operation: &str) -> Result<DeliveryRows, AdServerError> {
        let path = self.resource_path(operation)?;
        let answer = self.client.rest(AdServerRequest::get(path).for_report()).await?;
        let result = typed::<Operation>(&answer, "operation")?.result()?;
        let path = format!("{}:fetchRows", self.resource_path(&result)?);
        let request = AdServerRequest::get(path).with("pageSize", ROWS_OF_PAGE.to_string());
        let request = request.for_report();
        let mut rows = DeliveryRows::default();
        let take = |page| rows.read(page);
        let is_whole = self.each_page(&request, "rows", MAX_REPORT_PAGES, take).await?;
        if is_whole { Ok(rows) } else { Err(too_long("report")) }
    }

    /// Returns the path of an object that Google has named; names of other networks are none.
    fn resource_path(&self, name: &str) -> Result<String, AdServerError> {
        let rest = name.strip_prefix(&self.client.name(""));
        let is_plain = |rest: &&str| !rest.split('/').any(|part| matches!(part, "." | ".."));
        let rest = rest.filter(is_plain);
        let rest = rest.ok_or_else(|| garbled("a name is none of the network's"))?;
        let parts: Vec<String> = rest.split('/').map(segment).collect();
        Ok(self.client.path(&parts.join("/")))
    }
}

/// Returns the filter for names that end with our id.
fn named(id: &ExternalId) -> String {
    format!("displayName = {}", quoted(&format!("*[{}]", id.0)))
}
