//! Google Ad Manager. Its REST interface makes and changes orders and line items, forecasts, and reports; creatives and
//! their associations are made by SOAP, which also forecasts a line item that is not made yet. An order's name ends
//! with our id, and a line item has it as its external id. Drafts become orders by approval; states are changed by
//! actions and never written.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use jiff::SignedDuration;
use jiff::civil::Date;
use reqwest::Client;
use tradepost_document::json::json;
use tradepost_publisher::ad_server::{
    AdServerCapabilities, CreativeSpec, DealSpec, ExternalId, LineItemPricing, LineItemSpec,
    OrderSpec, RemoteDelivery, RemoteId, RemoteLineItemView, RemoteObject, RemoteState,
    TargetingKind,
};
use tradepost_server::clock::Clock;

use crate::check::{self, PackageProblems};
use crate::client::{garbled, refused, typed};
use crate::naming::{self, MAX_NAME};
use crate::pending_reports::{PendingReports, ReportPeriod};
use crate::place_targeting::METRO_SYSTEM;
use crate::port::{
    AdServer, AdServerError, AdServerResult, Availability, InventoryItem, PackageProblem,
    RefusalReason, RemoteStateChange,
};
use crate::settings::{AdServerSettings, ConnectError, SettingProblem};

mod answers;
mod calls;
mod creative;
mod credentials;
mod errors;
mod forecast;
mod geo;
mod line_item;
mod regions;
mod report;
mod soap;
mod state;
mod targeting;
mod transport;

use answers::{Association, Inventory, LineItem, Network, Order};
use creative::AssociationAction;
use credentials::TokenSource;
use geo::{GeoCache, LookUpBudget};
use transport::GoogleClient;

pub(crate) use credentials::{ServiceAccount, is_secure};

/// Name of the adapter.
const NAME: &str = "google_ad_manager";

/// Google's delay of reports in minutes: figures of an hour are there within the next four (Ad Manager Help, "Ad Manager
/// report data freshness").
const REPORT_DELAY_MINUTES: u32 = 240;

/// Time for which the currency and the time zone of the network are cached.
const NETWORK_LIFETIME: Duration = Duration::from_hours(1);

/// Time between now and the start of a line item that has to start at once.
const START_MARGIN: SignedDuration = SignedDuration::from_mins(2);

/// Service of SOAP for creatives.
const CREATIVES: &str = "CreativeService";

/// Service of SOAP for their associations.
const ASSOCIATIONS: &str = "LineItemCreativeAssociationService";

/// Google Ad Manager.
pub(crate) struct GoogleAdManager {
    client: GoogleClient,
    settings: AdServerSettings,
    clock: Clock,
    capabilities: AdServerCapabilities,
    network: Mutex<Option<CachedNetwork>>,
    geo: GeoCache,
    runs: PendingReports,
}

/// The network, as it was last read.
struct CachedNetwork {
    network: Network,
    /// End of its use, by the clock's elapsed time.
    ends: Duration,
}

impl std::fmt::Debug for GoogleAdManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GoogleAdManager").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl GoogleAdManager {
    /// Creates the adapter.
    pub(crate) fn new(
        settings: AdServerSettings,
        client: Client,
        clock: Clock,
    ) -> Result<Self, ConnectError> {
        let problem = |setting, message| ConnectError(vec![SettingProblem { setting, message }]);
        let account = ServiceAccount::read(&settings.credential)
            .map_err(|message| problem("credential", message))?;
        let network = settings.network.clone();
        let network = network.ok_or_else(|| problem("network", "give the code of the network"))?;
        let tokens = TokenSource::new(account, clock.clone());
        let client = GoogleClient::new(&settings, client, network, tokens);
        let capabilities = AdServerCapabilities {
            pricing: BTreeSet::from([
                LineItemPricing::Cpm,
                LineItemPricing::Vcpm,
                LineItemPricing::Cpc,
                LineItemPricing::FlatRate,
            ]),
            targeting: BTreeSet::from([
                TargetingKind::Countries,
                TargetingKind::Regions,
                TargetingKind::Metros,
                TargetingKind::FrequencyCap,
            ]),
            metro_systems: Some(BTreeSet::from([METRO_SYSTEM.to_owned()])),
            line_items: true,
            deals: false,
            forecasts: true,
            inventory: true,
            approvals: false,
            report_delay_minutes: REPORT_DELAY_MINUTES,
        };
        Ok(Self {
            client,
            settings,
            clock,
            capabilities,
            network: Mutex::default(),
            geo: GeoCache::default(),
            runs: PendingReports::default(),
        })
    }

    fn trafficker(&self) -> Result<u64, AdServerError> {
        let id = self.settings.trafficker.as_ref();
        let id = id.ok_or_else(|| refused(RefusalReason::Missing, "no trafficker is set"))?;
        number(id, "trafficker")
    }
}

/// Reads a number that Google has given.
fn number(id: &RemoteId, what: &str) -> Result<u64, AdServerError> {
    let detail = || format!("the {what} is no number of Google's");
    id.0.parse().map_err(|_| refused(RefusalReason::Invalid, detail()))
}

/// Checks what can be checked of a line item without a request.
fn check_line_item(line_item: &LineItemSpec, found: &mut PackageProblems<'_>) {
    line_item::check(line_item, found);
    targeting::check(line_item, found);
}

impl AdServer for GoogleAdManager {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> &AdServerCapabilities {
        &self.capabilities
    }

    fn check(&self) -> AdServerResult<'_, String> {
        Box::pin(async move {
            let network = self.network().await?;
            let kind = if network.test_network { "test network" } else { "network" };
            let Network { display_name, currency_code, time_zone, .. } = network;
            Ok(format!("{kind} {display_name} ({currency_code}, {time_zone})"))
        })
    }

    fn validate<'a>(
        &'a self,
        order: &'a OrderSpec,
        line_items: &'a [LineItemSpec],
    ) -> AdServerResult<'a, Vec<PackageProblem>> {
        Box::pin(async move {
            let has_advertiser = self.advertiser(order.advertiser.as_ref()).is_ok();
            let capabilities = &self.capabilities;
            let mut problems =
                check::problems(capabilities, order, line_items, has_advertiser, check_line_item);
            let network = self.network().await?;
            for line_item in line_items {
                if line_item.currency != network.currency_code {
                    let message = format!("The ad server bills in {}.", network.currency_code);
                    problems.push(check::problem(line_item, "pricing_option_id", message));
                }
            }
            let mut budget = LookUpBudget::new(self.clock.elapsed());
            // What has a problem in its targeting already is not looked up.
            for line_item in line_items.iter().filter(|one| targeting::geography(one).is_ok()) {
                // Nothing is said before all is looked up: the caller drops problems that a change did not cause, and would
                // take what is left for a complete answer.
                self.geo_problems(line_item, &mut budget, &mut problems).await?;
            }
            // What was found in several passes is told package by package.
            problems.sort_by_key(|problem| {
                line_items.iter().position(|one| one.package_id == problem.package_id)
            });
            Ok(problems)
        })
    }

    fn availability<'a>(&'a self, line_item: &'a LineItemSpec) -> AdServerResult<'a, Availability> {
        Box::pin(self.forecast(line_item))
    }

    fn find_order<'a>(&'a self, id: &'a ExternalId) -> AdServerResult<'a, Option<RemoteObject>> {
        Box::pin(async move {
            let found = self.find_google_order(id).await?;
            found.map(|order| order.object(self.clock.now())).transpose()
        })
    }

    fn line_items<'a>(&'a self, order: &'a RemoteId) -> AdServerResult<'a, Vec<RemoteObject>> {
        Box::pin(
            async move { self.line_items_of(order).await?.iter().map(LineItem::object).collect() },
        )
    }

    fn find_creative<'a>(&'a self, id: &'a ExternalId) -> AdServerResult<'a, Option<RemoteObject>> {
        Box::pin(async move {
            let found = self.find_google_creative(id, None).await?;
            Ok(found.map(|creative| creative.object(id)))
        })
    }

    fn create_order<'a>(&'a self, order: &'a OrderSpec) -> AdServerResult<'a, RemoteObject> {
        Box::pin(async move {
            let advertiser = self.advertiser(order.advertiser.as_ref())?;
            let trafficker = self.trafficker()?;
            if let Some(made) = self.find_google_order(&order.external_id).await? {
                return made.object(self.clock.now());
            }
            let parent = self.client.name("");
            let parent = parent.trim_end_matches('/');
            let body = json!({"requests": [{"parent": parent, "order": {
                "displayName": naming::with_id(&order.name, &order.external_id, MAX_NAME),
                "advertiser": self.client.name(&format!("companies/{advertiser}")),
                "trafficker": self.client.name(&format!("users/{trafficker}")),
            }}]});
            let answer = self.post("orders:batchCreate", body).await?;
            let made = answer.get("orders").and_then(|orders| orders.as_array()?.first());
            let made = made.ok_or_else(|| garbled("it is no order"))?;
            let made: Order = typed(made, "order")?;
            let object = made.object(self.clock.now())?;
            Ok(RemoteObject { external_id: Some(order.external_id.clone()), ..object })
        })
    }

    fn inspect<'a>(&'a self, order: &'a RemoteId) -> AdServerResult<'a, Vec<RemoteLineItemView>> {
        Box::pin(async move {
            let mut views = Vec::new();
            for item in self.line_items_of(order).await? {
                let shown = self.associations(&item.id()).await?;
                let active = shown.iter().filter(|one| one.is_active());
                let creatives = active.map(Association::creative).collect();
                views.push(item.view(creatives, self.earliest_start())?);
            }
            Ok(views)
        })
    }

    fn create_line_item<'a>(
        &'a self,
        order: &'a RemoteId,
        line_item: &'a LineItemSpec,
    ) -> AdServerResult<'a, RemoteObject> {
        Box::pin(async move {
            let id = &line_item.external_id;
            let known = self.line_items_of(order).await?;
            let ours = known.iter().filter(|item| item.is_ours(id));
            if let Some(made) = ours.min_by_key(|item| item.id().0.parse::<u64>().ok()) {
                return made.object();
            }
            let body = self.plan(line_item).await?.new_members(&self.client, order)?;
            let answer = self.post("lineItems", body.into()).await?;
            typed::<LineItem>(&answer, "line item")?.made(id)
        })
    }

    fn change_line_item<'a>(
        &'a self,
        _: &'a RemoteId,
        id: &'a RemoteId,
        line_item: &'a LineItemSpec,
    ) -> AdServerResult<'a, RemoteObject> {
        Box::pin(async move {
            let number = number(id, "line item")?;
            let planned = self.plan(line_item).await?;
            let mut body = planned.changed_members(&self.client)?;
            let now = self.line_item(id).await?;
            // Google changes no start that has come, and what it has already is not sent.
            let has_come = now.start_time.is_some_and(|start| start <= planned.earliest_start);
            if has_come || now.start_time == Some(planned.start()) {
                body.shift_remove("startTime");
            }
            let mask = line_item::mask(&body);
            let path = format!("lineItems/{number}");
            body.insert("name".to_owned(), self.client.name(&path).into());
            let answer = self.patch(&path, &mask, body.into()).await?;
            typed::<LineItem>(&answer, "line item")?.made(&line_item.external_id)
        })
    }

    fn create_creative<'a>(
        &'a self,
        creative: &'a CreativeSpec,
    ) -> AdServerResult<'a, RemoteObject> {
        Box::pin(async move {
            let advertiser = self.advertiser(creative.advertiser.as_ref())?;
            let call = creative::create(creative, advertiser)?;
            let id = &creative.external_id;
            if let Some(made) = self.find_google_creative(id, Some(advertiser)).await? {
                return Ok(made.object(id));
            }
            let answer = self.client.soap(CREATIVES, call).await?;
            let made = answer.child("rval").and_then(|made| made.text_of("id"));
            let made = made.ok_or_else(|| garbled("it is no creative"))?;
            let made = RemoteId(made.to_owned());
            number(&made, "creative").map_err(|_| garbled("it is no creative"))?;
            Ok(RemoteObject { id: made, external_id: Some(id.clone()), state: None })
        })
    }

    fn associate_creative<'a>(
        &'a self,
        _: &'a RemoteId,
        line_item: &'a RemoteId,
        creative: &'a RemoteId,
    ) -> AdServerResult<'a, ()> {
        Box::pin(async move {
            let known = self.associations(line_item).await?;
            let item = number(line_item, "line item")?;
            let number = number(creative, "creative")?;
            let known = known.iter().find(|one| one.creative() == *creative);
            let call = match known {
                Some(known) if known.is_active() => return Ok(()),
                Some(_) => creative::change(AssociationAction::Activate, item, number),
                None => creative::associate(item, number),
            };
            let answer = match self.client.soap(ASSOCIATIONS, call).await {
                // It was made in between, or the list did not show it yet.
                Err(AdServerError::Refused { reason: RefusalReason::Conflict, .. })
                    if known.is_none() =>
                {
                    return Ok(());
                }
                answer => answer?,
            };
            answer.child("rval").map(drop).ok_or_else(|| garbled("it is no association"))
        })
    }

    fn dissociate_creative<'a>(
        &'a self,
        _: &'a RemoteId,
        line_item: &'a RemoteId,
        creative: &'a RemoteId,
    ) -> AdServerResult<'a, ()> {
        Box::pin(async move {
            let known = self.associations(line_item).await?;
            let item = number(line_item, "line item")?;
            let number = number(creative, "creative")?;
            let is_shown = known.iter().any(|one| one.creative() == *creative && one.is_active());
            if !is_shown {
                return Ok(());
            }
            let call = creative::change(AssociationAction::Deactivate, item, number);
            let answer = self.client.soap(ASSOCIATIONS, call).await?;
            answer.child("rval").map(drop).ok_or_else(|| garbled("it is no association"))
        })
    }

    fn change_order_state<'a>(
        &'a self,
        order: &'a RemoteId,
        change: RemoteStateChange,
    ) -> AdServerResult<'a, RemoteState> {
        Box::pin(self.change_google_order(order, change))
    }

    fn change_line_item_state<'a>(
        &'a self,
        order: &'a RemoteId,
        line_item: &'a RemoteId,
        change: RemoteStateChange,
    ) -> AdServerResult<'a, RemoteState> {
        Box::pin(self.change_google_line_item(order, line_item, change))
    }

    fn order_state<'a>(&'a self, order: &'a RemoteId) -> AdServerResult<'a, RemoteState> {
        Box::pin(async move { self.order(order).await?.state(self.clock.now()) })
    }

    fn delivery<'a>(
        &'a self,
        order: &'a RemoteId,
        from: Date,
        to: Date,
    ) -> AdServerResult<'a, Vec<RemoteDelivery>> {
        Box::pin(async move {
            let period = ReportPeriod { order: number(order, "order")?, from, to };
            let operation = self.runs.id_or(period, self.start_report(period)).await?;
            let rows = self.runs.ended(period, self.read_report(&operation).await);
            rows.map(report::DeliveryRows::into_rows)
        })
    }

    fn inventory(&self) -> AdServerResult<'_, Vec<InventoryItem>> {
        Box::pin(async move {
            let ad_units: Vec<Inventory> = self.list("adUnits", None).await?;
            let placements: Vec<Inventory> = self.list("placements", None).await?;
            let ad_units = ad_units.into_iter().filter_map(Inventory::into_ad_unit);
            let placements = placements.into_iter().filter_map(Inventory::into_placement);
            Ok(ad_units.chain(placements).collect())
        })
    }

    fn put_deal<'a>(&'a self, _: &'a DealSpec) -> AdServerResult<'a, RemoteObject> {
        Box::pin(async { Err(refused(RefusalReason::Unsupported, "deals are not made at Google")) })
    }

    fn close_deal<'a>(&'a self, _: &'a RemoteId) -> AdServerResult<'a, ()> {
        Box::pin(async { Err(refused(RefusalReason::Unsupported, "deals are not made at Google")) })
    }
}
