//! Kevel's management API: an order is a campaign, a line item a flight, an association an ad. Kevel keeps no id
//! of ours, so names end with it, and what is to be made is looked for first. It has no drafts: an order that
//! is not approved is a campaign that is not active. An order is paused by its flights, so that one that was
//! approved stays told from one that was not.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use jiff::civil::Date;
use reqwest::Client;
use reqwest::header::HeaderName;
use tradepost_document::json::{Map, Value, json};
use tradepost_publisher::ad_server::{
    AdServerCapabilities, CreativeSpec, DealSpec, ExternalId, LineItemPricing, LineItemSpec,
    OrderSpec, RemoteDelivery, RemoteId, RemoteLineItemView, RemoteObject, RemoteState,
    TargetingKind,
};

use crate::check::{self, PackageProblems};
use crate::client::{AdServerClient, AdServerRequest, garbled, refused, segment, typed};
use crate::naming;
use crate::settings::{AdServerSettings, ConnectError};
use crate::{
    AdServer, AdServerError, AdServerResult, Availability, InventoryItem, PackageProblem,
    RefusalReason, StateChange,
};

mod answers;
mod creative;
mod flight;
mod report;
mod targeting;

use answers::{Ad, AdType, Campaign, Creative, Flight, Page, Site, Zone};
use report::PendingReports;
use targeting::{PresentTarget, TargetList};

/// Name of the adapter.
const NAME: &str = "kevel";

/// Objects of a page of a list.
const PAGE_SIZE: u32 = 500;

/// Maximum number of pages of a list that are looked through.
const MAX_PAGES: u32 = 200;

/// Maximum number of characters of a campaign's name.
const MAX_CAMPAIGN_NAME: usize = 200;

/// Start of a campaign, which an update has to name; the document says that it has no meaning any more, and
/// gives this default.
const CAMPAIGN_START: &str = "2018-01-01T00:00:00Z";

/// Kevel's delay of reports in minutes.
const REPORT_DELAY_MINUTES: u32 = 60;

/// Members of a flight that Kevel computes, and those that have interfaces of their own.
const NOT_UPDATED: &[&str] = &[
    "Created",
    "LastModified",
    "Version",
    "CreativeMaps",
    "GeoTargeting",
    "SiteZoneTargeting",
    "DeliveryStatus",
];

/// Kevel.
pub(crate) struct KevelAdServer {
    client: AdServerClient,
    settings: AdServerSettings,
    priority: u32,
    capabilities: AdServerCapabilities,
    reports: Mutex<PendingReports>,
}

impl std::fmt::Debug for KevelAdServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KevelAdServer").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// What is to become of a campaign or a flight.
#[derive(Debug, Clone, Copy)]
struct Activity {
    is_active: bool,
    is_archived: bool,
}

impl Activity {
    const fn after(change: StateChange) -> Self {
        match change {
            StateChange::Approve | StateChange::Resume => {
                Self { is_active: true, is_archived: false }
            }
            StateChange::Pause => Self { is_active: false, is_archived: false },
            StateChange::Cancel => Self { is_active: false, is_archived: true },
        }
    }

    const fn state(self) -> RemoteState {
        match self {
            Self { is_archived: true, .. } => RemoteState::Canceled,
            Self { is_active: true, .. } => RemoteState::Delivering,
            Self { .. } => RemoteState::Paused,
        }
    }

    /// Checks that something may change: what is archived stays it.
    fn check_change(self, change: StateChange) -> Result<(), AdServerError> {
        if self.is_archived && change != StateChange::Cancel {
            return Err(refused(RefusalReason::Invalid, "it is archived at Kevel, and stays it"));
        }
        Ok(())
    }

    /// Returns the state, if an answer shows that it was reached.
    fn reached(self, wanted: Self) -> Result<RemoteState, AdServerError> {
        if self.state() == wanted.state() {
            Ok(wanted.state())
        } else {
            Err(garbled("it shows the state from before the change"))
        }
    }
}

impl KevelAdServer {
    /// Creates the adapter.
    pub(crate) fn new(settings: AdServerSettings, client: Client) -> Result<Self, ConnectError> {
        let header = HeaderName::from_static("x-adzerk-apikey");
        // Kevel's errors have texts and no codes, and an unknown key is forbidden.
        let client = AdServerClient::new(&settings, client, header, "", |_| None)?
            .with_forbidden(RefusalReason::Credential);
        let priority = settings.priority.unwrap_or_default();
        let capabilities = AdServerCapabilities {
            pricing: BTreeSet::from([
                LineItemPricing::Cpm,
                LineItemPricing::Cpc,
                LineItemPricing::FlatRate,
            ]),
            targeting: BTreeSet::from([
                TargetingKind::Countries,
                TargetingKind::Regions,
                TargetingKind::Metros,
                TargetingKind::FrequencyCap,
            ]),
            line_items: true,
            deals: false,
            forecasts: false,
            inventory: true,
            approvals: false,
            report_delay_minutes: REPORT_DELAY_MINUTES,
        };
        let reports = Mutex::new(PendingReports::default());
        Ok(Self { client, settings, priority, capabilities, reports })
    }

    async fn get(&self, path: &str) -> Result<Value, AdServerError> {
        Ok(self.client.send(AdServerRequest::get(path)).await?)
    }

    async fn post(&self, path: &str, body: Value) -> Result<Value, AdServerError> {
        Ok(self.client.send(AdServerRequest::post(path, body)).await?)
    }

    async fn put(&self, path: &str, body: Value) -> Result<Value, AdServerError> {
        Ok(self.client.send(AdServerRequest::put(path, body)).await?)
    }

    /// Returns the first object of a list that is wanted, or the whole list if `wanted` takes none.
    async fn list<T: serde::de::DeserializeOwned>(
        &self,
        list: AdServerRequest,
        mut wanted: impl FnMut(&T) -> bool,
    ) -> Result<Listed<T>, AdServerError> {
        let mut all = Vec::new();
        for page in 1..=MAX_PAGES {
            let request =
                list.clone().with("pageSize", PAGE_SIZE.to_string()).with("page", page.to_string());
            let answer = self.client.send(request).await?;
            let found: Page<T> = typed(&answer, "page of a list")?;
            let is_last = found.is_last(page);
            for item in found.items {
                if wanted(&item) {
                    return Ok(Listed { wanted: Some(item), all });
                }
                all.push(item);
            }
            if is_last {
                return Ok(Listed { wanted: None, all });
            }
        }
        Err(refused(RefusalReason::Unsupported, "a list is too long to look through"))
    }

    /// Returns the campaign with our id. Advertisers share no orders, so that one's campaigns suffice.
    async fn find_campaign(
        &self,
        id: &ExternalId,
        advertiser: Option<u32>,
    ) -> Result<Option<Campaign>, AdServerError> {
        let list = AdServerRequest::get("/v1/campaign");
        let list = match advertiser {
            Some(advertiser) => list.with("advertiserId", advertiser.to_string()),
            None => list,
        };
        let is_ours = |campaign: &Campaign| naming::has_id(&campaign.name, id);
        Ok(self.list(list, is_ours).await?.wanted)
    }

    /// Returns the campaign with our id, whoever its advertiser is.
    async fn find_any_campaign(&self, id: &ExternalId) -> Result<Option<Campaign>, AdServerError> {
        if let Some(advertiser) = self.own_advertiser()
            && let Some(campaign) = self.find_campaign(id, Some(advertiser)).await?
        {
            return Ok(Some(campaign));
        }
        self.find_campaign(id, None).await
    }

    /// Returns the state of an order.
    async fn state_of(&self, campaign: &Campaign) -> Result<RemoteState, AdServerError> {
        let now = campaign.activity();
        if now.is_archived {
            return Ok(RemoteState::Canceled);
        }
        // Nothing but approval makes a campaign active.
        if !now.is_active {
            return Ok(RemoteState::Draft);
        }
        let flights = self.flights(&campaign.id()).await?;
        let is_running = |flight: &Flight| flight.activity().is_active;
        let is_paused = !flights.is_empty() && !flights.iter().any(is_running);
        Ok(if is_paused { RemoteState::Paused } else { RemoteState::Delivering })
    }

    /// Changes the state of a flight, unless it has it.
    async fn change_flight(
        &self,
        flight: &RemoteId,
        now: Activity,
        change: StateChange,
    ) -> Result<RemoteState, AdServerError> {
        now.check_change(change)?;
        let wanted = Activity::after(change);
        if now.state() == wanted.state() {
            return Ok(wanted.state());
        }
        let mut changes = Map::new();
        changes.insert("IsActive".to_owned(), Value::Bool(wanted.is_active));
        changes.insert("IsArchived".to_owned(), Value::Bool(wanted.is_archived));
        self.update_flight(flight, changes).await?.activity().reached(wanted)
    }

    async fn find_kevel_creative(
        &self,
        id: &ExternalId,
        advertiser: Option<u32>,
    ) -> Result<Option<Creative>, AdServerError> {
        let path = advertiser.map_or_else(
            || "/v1/creative".to_owned(),
            |advertiser| format!("/v1/advertiser/{advertiser}/creatives"),
        );
        let is_ours = |creative: &Creative| creative.is_ours(id);
        Ok(self.list(AdServerRequest::get(path), is_ours).await?.wanted)
    }

    async fn flights(&self, order: &RemoteId) -> Result<Vec<Flight>, AdServerError> {
        let path = format!("/v1/campaign/{}/flight", segment(&order.0));
        Ok(self.list(AdServerRequest::get(path), |_| false).await?.all)
    }

    async fn ads(&self, flight: &RemoteId) -> Result<Vec<Ad>, AdServerError> {
        let path = format!("/v1/flight/{}/creatives", segment(&flight.0));
        Ok(self.list(AdServerRequest::get(path), |_| false).await?.all)
    }

    async fn campaign(&self, order: &RemoteId) -> Result<Campaign, AdServerError> {
        let answer = self.get(&format!("/v1/campaign/{}", segment(&order.0))).await?;
        typed(&answer, "campaign")
    }

    /// Returns the number of the advertiser of an account, or the one of the settings.
    fn advertiser(&self, own: Option<&RemoteId>) -> Result<u32, AdServerError> {
        let id = own.or(self.settings.advertiser.as_ref()).ok_or_else(|| {
            refused(RefusalReason::Missing, "no advertiser is set for the account or the publisher")
        })?;
        number(id, "advertiser")
    }

    fn own_advertiser(&self) -> Option<u32> {
        self.settings.advertiser.as_ref().and_then(|id| id.0.parse().ok())
    }

    /// Changes members of a flight. The others are sent as Kevel has them, because an update replaces all.
    async fn update_flight(
        &self,
        flight: &RemoteId,
        changes: Map,
    ) -> Result<Flight, AdServerError> {
        let path = format!("/v1/flight/{}", segment(&flight.0));
        let answer = self.get(&path).await?;
        let now: Map = typed(&answer, "flight")?;
        let stays = |name: &str| !NOT_UPDATED.contains(&name) && !changes.contains_key(name);
        let mut body: Map =
            now.into_iter().filter(|(name, value)| stays(name) && !value.is_null()).collect();
        body.extend(changes);
        typed(&self.put(&path, body.into()).await?, "flight")
    }

    /// Makes a list of targets of a flight what it has to be: what is missing is added before anything is
    /// deleted, so that the flight runs nowhere else meanwhile.
    async fn replace_targets(
        &self,
        flight: &RemoteId,
        kind: TargetList,
        wanted: Vec<Value>,
        present: Vec<PresentTarget>,
    ) -> Result<(), AdServerError> {
        let path = format!("/v1/flight/{}/{}", segment(&flight.0), kind.path());
        for target in &wanted {
            if !present.iter().any(|present| present.is(target)) {
                self.post(&path, target.clone()).await?;
            }
        }
        for target in
            present.iter().filter(|present| !wanted.iter().any(|target| present.is(target)))
        {
            self.get(&format!("{path}/{}/delete", target.id)).await?;
        }
        Ok(())
    }
}

/// A list that was looked through.
struct Listed<T> {
    /// The object that was looked for.
    wanted: Option<T>,
    /// The others before it.
    all: Vec<T>,
}

/// Reads a number that Kevel has given.
fn number(id: &RemoteId, what: &str) -> Result<u32, AdServerError> {
    let detail = || format!("the {what} is no number of Kevel's");
    id.0.parse().map_err(|_| refused(RefusalReason::Invalid, detail()))
}

/// Checks what only this adapter knows of a line item.
fn check_line_item(line_item: &LineItemSpec, found: &mut PackageProblems<'_>) {
    flight::check(line_item, found);
    targeting::check(line_item, found);
}

impl AdServer for KevelAdServer {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> &AdServerCapabilities {
        &self.capabilities
    }

    fn check(&self) -> AdServerResult<'_, String> {
        Box::pin(async move {
            let answer = self.get(&format!("/v1/priority/{}", self.priority)).await?;
            let priority: answers::Priority = typed(&answer, "priority")?;
            Ok(format!("priority {}", priority.name))
        })
    }

    fn validate<'a>(
        &'a self,
        order: &'a OrderSpec,
        line_items: &'a [LineItemSpec],
    ) -> AdServerResult<'a, Vec<PackageProblem>> {
        let has_advertiser = self.advertiser(order.advertiser.as_ref()).is_ok();
        let capabilities = &self.capabilities;
        let problems =
            check::problems(capabilities, order, line_items, has_advertiser, check_line_item);
        Box::pin(async move { Ok(problems) })
    }

    fn availability<'a>(&'a self, _: &'a LineItemSpec) -> AdServerResult<'a, Availability> {
        Box::pin(async {
            Err(refused(RefusalReason::Unsupported, "forecasts of Kevel are not asked for"))
        })
    }

    fn find_order<'a>(&'a self, id: &'a ExternalId) -> AdServerResult<'a, Option<RemoteObject>> {
        Box::pin(async move {
            let Some(campaign) = self.find_any_campaign(id).await? else { return Ok(None) };
            let state = self.state_of(&campaign).await?;
            Ok(Some(campaign.object(Some(state))))
        })
    }

    fn line_items<'a>(&'a self, order: &'a RemoteId) -> AdServerResult<'a, Vec<RemoteObject>> {
        Box::pin(async move { Ok(self.flights(order).await?.iter().map(Flight::object).collect()) })
    }

    fn find_creative<'a>(&'a self, id: &'a ExternalId) -> AdServerResult<'a, Option<RemoteObject>> {
        Box::pin(async move {
            let mut creative = None;
            if let Some(advertiser) = self.own_advertiser() {
                creative = self.find_kevel_creative(id, Some(advertiser)).await?;
            }
            if creative.is_none() {
                creative = self.find_kevel_creative(id, None).await?;
            }
            Ok(creative.map(|creative| creative.object(id)))
        })
    }

    fn create_order<'a>(&'a self, order: &'a OrderSpec) -> AdServerResult<'a, RemoteObject> {
        Box::pin(async move {
            let advertiser = self.advertiser(order.advertiser.as_ref())?;
            if let Some(campaign) = self.find_campaign(&order.external_id, Some(advertiser)).await?
            {
                let state = self.state_of(&campaign).await?;
                return Ok(campaign.object(Some(state)));
            }
            let body = json!({
                "AdvertiserId": advertiser,
                "Name": naming::with_id(&order.name, &order.external_id, MAX_CAMPAIGN_NAME),
                "IsActive": false,
            });
            let answer = self.post("/v1/campaign", body).await?;
            let campaign: Campaign = typed(&answer, "campaign")?;
            Ok(RemoteObject {
                id: campaign.id(),
                external_id: Some(order.external_id.clone()),
                state: Some(RemoteState::Draft),
            })
        })
    }

    fn inspect<'a>(&'a self, order: &'a RemoteId) -> AdServerResult<'a, Vec<RemoteLineItemView>> {
        Box::pin(async move {
            let mut views = Vec::new();
            for flight in self.flights(order).await? {
                let ads = self.ads(&flight.id()).await?;
                views.push(flight.view(ads.iter().filter_map(Ad::creative).collect()));
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
            let campaign = number(order, "order")?;
            let flights = self.flights(order).await?;
            if let Some(flight) =
                flights.iter().find(|flight| flight.is_ours(&line_item.external_id))
            {
                return Ok(flight.object());
            }
            let mut body = flight::members(line_item, self.priority)?;
            body.insert("CampaignId".to_owned(), campaign.into());
            body.insert("GeoTargeting".to_owned(), targeting::geography(line_item)?.into());
            body.insert("SiteZoneTargeting".to_owned(), targeting::places(line_item)?.into());
            let answer = self.post("/v1/flight", body.into()).await?;
            Ok(typed::<Flight>(&answer, "flight")?.made(&line_item.external_id))
        })
    }

    fn change_line_item<'a>(
        &'a self,
        _: &'a RemoteId,
        id: &'a RemoteId,
        line_item: &'a LineItemSpec,
    ) -> AdServerResult<'a, RemoteObject> {
        Box::pin(async move {
            let geography = targeting::geography(line_item)?;
            let places = targeting::places(line_item)?;
            let changes = flight::members(line_item, self.priority)?;
            let now = self.get(&format!("/v1/flight/{}", segment(&id.0))).await?;
            let geo = TargetList::Geography;
            self.replace_targets(id, geo, geography, geo.present(&now)?).await?;
            let sites = TargetList::Places;
            self.replace_targets(id, sites, places, sites.present(&now)?).await?;
            let flight = self.update_flight(id, changes).await?;
            Ok(flight.made(&line_item.external_id))
        })
    }

    fn create_creative<'a>(
        &'a self,
        creative: &'a CreativeSpec,
    ) -> AdServerResult<'a, RemoteObject> {
        Box::pin(async move {
            let advertiser = self.advertiser(creative.advertiser.as_ref())?;
            let id = &creative.external_id;
            let content = creative::members(creative)?;
            let size = creative::size(creative)?;
            if let Some(made) = self.find_kevel_creative(id, Some(advertiser)).await? {
                return Ok(made.object(id));
            }
            let fits = |ad_type: &AdType| ad_type.has(size);
            let ad_type =
                self.list(AdServerRequest::get("/v1/adtypes"), fits).await?.wanted.ok_or_else(
                    || {
                        let detail =
                            format!("Kevel has no ad type of {} x {}", size.width, size.height);
                        refused(RefusalReason::Missing, detail)
                    },
                )?;
            let mut body = content;
            body.insert("AdvertiserId".to_owned(), advertiser.into());
            body.insert("AdTypeId".to_owned(), ad_type.id.into());
            let answer = self.post("/v1/creative", body.into()).await?;
            Ok(typed::<Creative>(&answer, "creative")?.object(id))
        })
    }

    fn associate_creative<'a>(
        &'a self,
        _: &'a RemoteId,
        line_item: &'a RemoteId,
        creative: &'a RemoteId,
    ) -> AdServerResult<'a, ()> {
        Box::pin(async move {
            let flight = number(line_item, "line item")?;
            let creative = number(creative, "creative")?;
            if self.ads(line_item).await?.iter().any(|ad| ad.shows(creative)) {
                return Ok(());
            }
            let body = json!({"FlightId": flight, "Creative": {"Id": creative}, "IsActive": true});
            let answer = self.post(&format!("/v1/flight/{flight}/creative"), body).await?;
            typed::<answers::NewAd>(&answer, "ad").map(drop)
        })
    }

    fn dissociate_creative<'a>(
        &'a self,
        _: &'a RemoteId,
        line_item: &'a RemoteId,
        creative: &'a RemoteId,
    ) -> AdServerResult<'a, ()> {
        Box::pin(async move {
            let flight = number(line_item, "line item")?;
            let creative = number(creative, "creative")?;
            for ad in self.ads(line_item).await?.iter().filter(|ad| ad.shows(creative)) {
                self.get(&format!("/v1/flight/{flight}/creative/{}/delete", ad.id)).await?;
            }
            Ok(())
        })
    }

    fn change_order_state<'a>(
        &'a self,
        order: &'a RemoteId,
        change: StateChange,
    ) -> AdServerResult<'a, RemoteState> {
        Box::pin(async move {
            let campaign = self.campaign(order).await?;
            campaign.activity().check_change(change)?;
            if matches!(change, StateChange::Pause | StateChange::Resume) {
                for flight in self.flights(order).await? {
                    let now = flight.activity();
                    if !now.is_archived {
                        self.change_flight(&flight.id(), now, change).await?;
                    }
                }
                return self.state_of(&campaign).await;
            }
            let wanted = Activity::after(change);
            if campaign.activity().state() == wanted.state() {
                return self.state_of(&campaign).await;
            }
            let body = json!({
                "Id": campaign.id,
                "AdvertiserId": campaign.advertiser,
                "Name": &campaign.name,
                "StartDateISO": campaign.start.as_deref().unwrap_or(CAMPAIGN_START),
                "IsActive": wanted.is_active,
                "IsArchived": wanted.is_archived,
            });
            let answer = self.put(&format!("/v1/campaign/{}", campaign.id), body).await?;
            let campaign: Campaign = typed(&answer, "campaign")?;
            campaign.activity().reached(wanted)?;
            self.state_of(&campaign).await
        })
    }

    fn change_line_item_state<'a>(
        &'a self,
        _: &'a RemoteId,
        line_item: &'a RemoteId,
        change: StateChange,
    ) -> AdServerResult<'a, RemoteState> {
        Box::pin(async move {
            let answer = self.get(&format!("/v1/flight/{}", segment(&line_item.0))).await?;
            let now = typed::<Flight>(&answer, "flight")?.activity();
            self.change_flight(line_item, now, change).await
        })
    }

    fn order_state<'a>(&'a self, order: &'a RemoteId) -> AdServerResult<'a, RemoteState> {
        Box::pin(async move {
            let campaign = self.campaign(order).await?;
            self.state_of(&campaign).await
        })
    }

    fn delivery<'a>(
        &'a self,
        order: &'a RemoteId,
        from: Date,
        to: Date,
    ) -> AdServerResult<'a, Vec<RemoteDelivery>> {
        Box::pin(async move {
            let period = report::ReportPeriod { campaign: number(order, "order")?, from, to };
            let pending = self.reports.lock().unwrap_or_else(PoisonError::into_inner).get(period);
            let id = match pending {
                Some(id) => id,
                None => {
                    let body = report::request(period, &self.settings.time_zone);
                    let request = AdServerRequest::post("/v1/report/queue", body).for_report();
                    let answer = self.client.send(request).await?;
                    let id = typed::<report::QueuedReport>(&answer, "queued report")?.id;
                    let mut reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
                    reports.insert(period, id.clone());
                    id
                }
            };
            let path = format!("/v1/report/queue/{}", segment(&id));
            let answer = self.client.send(AdServerRequest::get(path).for_report()).await;
            let delivery = match answer {
                Ok(answer) => report::read(&answer),
                Err(failure) => Err(failure.error),
            };
            // A report that is not done is asked for again; every other one is over.
            if !matches!(
                delivery,
                Err(AdServerError::NotYet { .. }
                    | AdServerError::Unanswered
                    | AdServerError::Unsent)
            ) {
                self.reports.lock().unwrap_or_else(PoisonError::into_inner).remove(period);
            }
            delivery
        })
    }

    fn inventory(&self) -> AdServerResult<'_, Vec<InventoryItem>> {
        Box::pin(async move {
            let sites = self.list::<Site>(AdServerRequest::get("/v1/site"), |_| false).await?.all;
            let zones = self.list::<Zone>(AdServerRequest::get("/v1/zone"), |_| false).await?.all;
            let sites = sites.into_iter().filter_map(Site::into_item);
            let zones = zones.into_iter().filter_map(Zone::into_item);
            Ok(sites.chain(zones).collect())
        })
    }

    fn put_deal<'a>(&'a self, _: &'a DealSpec) -> AdServerResult<'a, RemoteObject> {
        Box::pin(async { Err(refused(RefusalReason::Unsupported, "Kevel takes no deals")) })
    }

    fn close_deal<'a>(&'a self, _: &'a RemoteId) -> AdServerResult<'a, ()> {
        Box::pin(async { Err(refused(RefusalReason::Unsupported, "Kevel takes no deals")) })
    }
}
