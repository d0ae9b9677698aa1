//! Kevel's objects: looked for in its lists, read and changed.

use serde::de::DeserializeOwned;
use tradepost_document::json::{Map, Value};
use tradepost_publisher::ad_server::{ExternalId, RemoteId, RemoteState};

use super::activity::Activity;
use super::answers::{Ad, Campaign, Creative, Flight, Page};
use super::report::{self, QueuedReport};
use super::targeting::{PresentTarget, TargetList};
use super::{KevelAdServer, number};
use crate::client::{AdServerRequest, segment, too_long, typed};
use crate::naming;
use crate::pending_reports::ReportPeriod;
use crate::port::{AdServerError, RemoteStateChange};

/// Objects of a page of a list.
const PAGE_SIZE: u32 = 500;

/// Maximum number of pages of a list that are looked through.
const MAX_PAGES: u32 = 200;

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

/// A list that was looked through.
pub(super) struct Listed<T> {
    /// The object that was looked for.
    pub(super) wanted: Option<T>,
    /// The others before it.
    pub(super) all: Vec<T>,
}

impl KevelAdServer {
    pub(super) async fn get(&self, path: &str) -> Result<Value, AdServerError> {
        Ok(self.client.send(AdServerRequest::get(path)).await?)
    }

    pub(super) async fn post(&self, path: &str, body: Value) -> Result<Value, AdServerError> {
        Ok(self.client.send(AdServerRequest::post(path, body)).await?)
    }

    pub(super) async fn put(&self, path: &str, body: Value) -> Result<Value, AdServerError> {
        Ok(self.client.send(AdServerRequest::put(path, body)).await?)
    }

    /// Returns the first object of a list that is wanted, or the whole list if `wanted` takes none.
    pub(super) async fn list<T: DeserializeOwned>(
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
        Err(too_long("list"))
    }

    /// Returns the campaign with our id. Advertisers share no orders, so that one's campaigns suffice.
    pub(super) async fn find_campaign(
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
    pub(super) async fn find_any_campaign(
        &self,
        id: &ExternalId,
    ) -> Result<Option<Campaign>, AdServerError> {
        if let Some(advertiser) = self.own_advertiser()
            && let Some(campaign) = self.find_campaign(id, Some(advertiser)).await?
        {
            return Ok(Some(campaign));
        }
        self.find_campaign(id, None).await
    }

    /// Returns the state of an order.
    pub(super) async fn state_of(&self, campaign: &Campaign) -> Result<RemoteState, AdServerError> {
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
    pub(super) async fn change_flight(
        &self,
        flight: &RemoteId,
        now: Activity,
        change: RemoteStateChange,
    ) -> Result<RemoteState, AdServerError> {
        now.check_change(change)?;
        let wanted = Activity::from_change(change);
        if now.state() == wanted.state() {
            return Ok(wanted.state());
        }
        let mut changes = Map::new();
        changes.insert("IsActive".to_owned(), Value::Bool(wanted.is_active));
        changes.insert("IsArchived".to_owned(), Value::Bool(wanted.is_archived));
        self.update_flight(flight, changes).await?.activity().reached(wanted)
    }

    pub(super) async fn find_kevel_creative(
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

    /// Returns all objects of a list.
    pub(super) async fn all<T: DeserializeOwned>(
        &self,
        path: &str,
    ) -> Result<Vec<T>, AdServerError> {
        Ok(self.list(AdServerRequest::get(path), |_| false).await?.all)
    }

    pub(super) async fn flights(&self, order: &RemoteId) -> Result<Vec<Flight>, AdServerError> {
        self.all(&format!("{}/flight", campaign_path(order))).await
    }

    pub(super) async fn ads(&self, flight: &RemoteId) -> Result<Vec<Ad>, AdServerError> {
        self.all(&format!("{}/creatives", flight_path(flight))).await
    }

    pub(super) async fn campaign(&self, order: &RemoteId) -> Result<Campaign, AdServerError> {
        let answer = self.get(&campaign_path(order)).await?;
        typed(&answer, "campaign")
    }

    /// Returns the number of the advertiser of an account, or the one of the settings.
    pub(super) fn advertiser(&self, own: Option<&RemoteId>) -> Result<u32, AdServerError> {
        number(self.settings.advertiser_or(own)?, "advertiser")
    }

    pub(super) fn own_advertiser(&self) -> Option<u32> {
        self.settings.advertiser.as_ref().and_then(|id| id.0.parse().ok())
    }

    /// Changes members of a flight. The others are sent as Kevel has them, because an update replaces all.
    pub(super) async fn update_flight(
        &self,
        flight: &RemoteId,
        changes: Map,
    ) -> Result<Flight, AdServerError> {
        let path = flight_path(flight);
        let answer = self.get(&path).await?;
        let now: Map = typed(&answer, "flight")?;
        let is_sent_back = |name: &str| !NOT_UPDATED.contains(&name) && !changes.contains_key(name);
        let mut body: Map = now
            .into_iter()
            .filter(|(name, value)| is_sent_back(name) && !value.is_null())
            .collect();
        body.extend(changes);
        typed(&self.put(&path, body.into()).await?, "flight")
    }

    /// Has Kevel make a report, and returns its id.
    pub(super) async fn queue_report(&self, period: ReportPeriod) -> Result<String, AdServerError> {
        let body = report::request(period, &self.settings.time_zone);
        let request = AdServerRequest::post("/v1/report/queue", body).for_report();
        let answer = self.client.send(request).await?;
        Ok(typed::<QueuedReport>(&answer, "queued report")?.id)
    }

    /// Makes a list of targets of a flight what it has to be: what is missing is added before anything is
    /// deleted, so that the flight runs nowhere else meanwhile.
    pub(super) async fn replace_targets(
        &self,
        flight: &RemoteId,
        kind: TargetList,
        wanted: Vec<Value>,
        present: Vec<PresentTarget>,
    ) -> Result<(), AdServerError> {
        let path = format!("{}/{}", flight_path(flight), kind.path());
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

fn campaign_path(order: &RemoteId) -> String {
    format!("/v1/campaign/{}", segment(&order.0))
}

/// Returns the path of a flight.
pub(super) fn flight_path(flight: &RemoteId) -> String {
    format!("/v1/flight/{}", segment(&flight.0))
}
