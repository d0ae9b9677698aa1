//! Kevel's management API: an order is a campaign, a line item a flight, an association an ad. Kevel keeps no id
//! of ours, so names end with it, and what is to be made is looked for first. It has no drafts: an order that
//! is not approved is a campaign that is not active. An order is paused by its flights, so that one that was
//! approved stays told from one that was not.

use std::collections::BTreeSet;

use jiff::civil::Date;
use reqwest::Client;
use reqwest::header::HeaderName;
use tradepost_document::json::json;
use tradepost_publisher::ad_server::{
    AdServerCapabilities, CreativeSpec, DealSpec, ExternalId, LineItemPricing, LineItemSpec,
    OrderSpec, RemoteDelivery, RemoteId, RemoteLineItemView, RemoteObject, RemoteState,
    TargetingKind,
};

use crate::check::{self, PackageProblems};
use crate::client::{AdServerClient, AdServerRequest, refused, segment, typed};
use crate::naming;
use crate::pending_reports::{PendingReports, ReportPeriod};
use crate::place_targeting::METRO_SYSTEM;
use crate::port::{
    AdServer, AdServerError, AdServerResult, Availability, InventoryItem, PackageProblem,
    RefusalReason, RemoteStateChange,
};
use crate::settings::{AdServerSettings, ConnectError};

mod activity;
mod answers;
mod calls;
mod creative;
mod flight;
mod report;
mod targeting;

use activity::Activity;
use answers::{Ad, AdType, Campaign, Creative, Flight, Site, Zone};
use calls::flight_path;
use targeting::TargetList;

/// Name of the adapter.
const NAME: &str = "kevel";

/// Maximum number of characters of a campaign's name.
const MAX_CAMPAIGN_NAME: usize = 200;

/// Start of a campaign, which an update has to name; the document says that it has no meaning any more, and
/// gives this default.
const CAMPAIGN_START: &str = "2018-01-01T00:00:00Z";

/// Kevel's delay of reports in minutes.
const REPORT_DELAY_MINUTES: u32 = 60;

/// Kevel.
pub(crate) struct KevelAdServer {
    client: AdServerClient,
    settings: AdServerSettings,
    priority: u32,
    capabilities: AdServerCapabilities,
    reports: PendingReports,
}

impl std::fmt::Debug for KevelAdServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KevelAdServer").field("settings", &self.settings).finish_non_exhaustive()
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
            metro_systems: Some(BTreeSet::from([METRO_SYSTEM.to_owned()])),
            line_items: true,
            deals: false,
            forecasts: false,
            inventory: true,
            approvals: false,
            report_delay_minutes: REPORT_DELAY_MINUTES,
        };
        let reports = PendingReports::default();
        Ok(Self { client, settings, priority, capabilities, reports })
    }
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
            let now = self.get(&flight_path(id)).await?;
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
        change: RemoteStateChange,
    ) -> AdServerResult<'a, RemoteState> {
        Box::pin(async move {
            let campaign = self.campaign(order).await?;
            campaign.activity().check_change(change)?;
            if matches!(change, RemoteStateChange::Pause | RemoteStateChange::Resume) {
                for flight in self.flights(order).await? {
                    let now = flight.activity();
                    if !now.is_archived {
                        self.change_flight(&flight.id(), now, change).await?;
                    }
                }
                return self.state_of(&campaign).await;
            }
            let wanted = Activity::from_change(change);
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
        change: RemoteStateChange,
    ) -> AdServerResult<'a, RemoteState> {
        Box::pin(async move {
            let answer = self.get(&flight_path(line_item)).await?;
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
            let campaign = number(order, "order")?;
            let period = ReportPeriod { order: campaign.into(), from, to };
            let id = self.reports.id_or(period, self.queue_report(period)).await?;
            let path = format!("/v1/report/queue/{}", segment(&id));
            let answer = self.client.send(AdServerRequest::get(path).for_report()).await;
            let read = match answer {
                Ok(answer) => report::read(&answer),
                Err(failure) => Err(failure.error),
            };
            self.reports.ended(period, read)
        })
    }

    fn inventory(&self) -> AdServerResult<'_, Vec<InventoryItem>> {
        Box::pin(async move {
            let sites: Vec<Site> = self.all("/v1/site").await?;
            let zones: Vec<Zone> = self.all("/v1/zone").await?;
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
