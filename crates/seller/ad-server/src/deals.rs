//! Deals for programmatic teams: a deal is sent to a receiver by the IAB Tech Lab's Deals API 1.0 ("Deal
//! Sync"), with the deal of OpenRTB 2.6 that bid requests will carry. Version 1.0 has no changes: a deal is
//! sent whole again under the same id.

use jiff::Timestamp;
use jiff::civil::Date;
use reqwest::Client;
use reqwest::header::AUTHORIZATION;
use serde::Deserialize;
use tradepost_document::json::{Value, json, object};
use tradepost_publisher::ad_server::{
    AdServerCapabilities, CreativeSpec, DealSpec, ExternalId, LineItemSpec, OrderSpec,
    RemoteDelivery, RemoteId, RemoteObject, RemoteState,
};

use crate::check;
use crate::client::{AdServerClient, AdServerRequest, CallFailure, garbled, refused, typed};
use crate::naming::{MAX_NAME, cut};
use crate::port::{
    AdServer, AdServerError, AdServerResult, Availability, InventoryItem, PackageProblem,
    RefusalReason, RemoteStateChange,
};
use crate::settings::{AdServerSettings, ConnectError};

/// Name of the adapter.
const NAME: &str = "deals";

/// Status of the seller: the deal is active.
const ACTIVE: u8 = 0;

/// Status of the seller: the deal is paused.
const PAUSED: u8 = 1;

/// Status of the seller: the deal is archived, and cannot be active again.
const ARCHIVED: u8 = 4;

/// Status of a buyer's seat: the deal is rejected.
const REJECTED: u8 = 2;

/// A receiver of deals.
pub(crate) struct DealServer {
    client: AdServerClient,
    settings: AdServerSettings,
    origin: String,
    capabilities: AdServerCapabilities,
}

impl std::fmt::Debug for DealServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DealServer").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Answer of a receiver (object `BuyerSeat`).
#[derive(Debug, Deserialize)]
struct BuyerSeat {
    id: String,
    #[serde(default, rename = "buyerstatus")]
    seats: Vec<BuyerStatus>,
}

/// Status of a deal for one seat (object `BuyerStatus`).
#[derive(Debug, Deserialize)]
struct BuyerStatus {
    status: u8,
}

/// Returns the deal of OpenRTB 2.6 (`imp.pmp.deals[]`) that bid requests for it carry.
///
/// ```
/// use tradepost_ad_server::deals::openrtb_deal;
/// use tradepost_publisher::ad_server::{DealSpec, ExternalId};
/// use tradepost_publisher::money::MoneyAmount;
///
/// let deal = DealSpec {
///     external_id: ExternalId("mb_1/p_1".to_owned()),
///     name: "Spring".to_owned(),
///     inventory: Vec::new(),
///     price: MoneyAmount::whole(12),
///     currency: "EUR".to_owned(),
///     auction_type: 3,
///     seats: vec!["seat-7".to_owned()],
///     advertiser_domains: Vec::new(),
///     start_time: "2026-12-01T00:00:00Z".parse().unwrap(),
///     end_time: "2026-12-31T00:00:00Z".parse().unwrap(),
///     is_paused: false,
/// };
/// assert_eq!(
///     openrtb_deal(&deal).to_string(),
///     r#"{"id":"mb_1/p_1","bidfloor":12,"bidfloorcur":"EUR","at":3,"wseat":["seat-7"]}"#
/// );
/// ```
#[must_use]
pub fn openrtb_deal(deal: &DealSpec) -> Value {
    object!({
        "id": &deal.external_id.0,
        "bidfloor": deal.price,
        "bidfloorcur": &deal.currency,
        "at": deal.auction_type,
        "wseat"?: (!deal.seats.is_empty()).then_some(&deal.seats),
        "wadomain"?: (!deal.advertiser_domains.is_empty()).then_some(&deal.advertiser_domains),
    })
}

/// Returns the object `Deal` of the Deals API. Bids go to `origin`.
#[must_use]
pub fn deal_object(deal: &DealSpec, origin: &str) -> Value {
    object!({
        "id": &deal.external_id.0,
        "name": cut(&deal.name, MAX_NAME),
        "sellerstatus": if deal.is_paused { PAUSED } else { ACTIVE },
        "origin": origin,
        "wseat"?: (!deal.seats.is_empty()).then_some(&deal.seats),
        "terms": {
            "startdate": seconds(deal.start_time),
            "enddate": seconds(deal.end_time),
            "dealfloor": deal.price,
            "cur": &deal.currency,
            "guar": 0,
            "pricetype": deal.auction_type,
        },
        "ext": {"openrtb": openrtb_deal(deal)},
    })
}

/// Writes a time in UTC to the second, as the Deals API has times.
fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

impl DealServer {
    /// Creates the adapter.
    pub(crate) fn new(settings: AdServerSettings, client: Client) -> Result<Self, ConnectError> {
        let origin = settings.network.clone().unwrap_or_default();
        // The Deals API has no error codes.
        let client = AdServerClient::new(&settings, client, AUTHORIZATION, "Bearer ", |_| None)?;
        let capabilities = AdServerCapabilities { deals: true, ..AdServerCapabilities::default() };
        Ok(Self { client, settings, origin, capabilities })
    }

    /// Sends a deal, and returns what the receiver says about it, if anything.
    async fn push(&self, id: &str, deal: Value) -> Result<Option<BuyerSeat>, AdServerError> {
        // The address of the receiver is the whole address.
        let answer = self.client.send(AdServerRequest::post("", deal)).await?;
        if answer.get("buyerstatus").is_none() {
            return Ok(None);
        }
        let seat: BuyerSeat = typed(&answer, "status of a deal")?;
        if seat.id == id { Ok(Some(seat)) } else { Err(garbled("it is about another deal")) }
    }
}

impl BuyerSeat {
    /// Returns the state that the most advanced seat has given the deal. It is rejected only where every seat has
    /// rejected it.
    fn state(&self) -> Option<RemoteState> {
        let statuses = self.seats.iter().map(|seat| seat.status);
        let most_advanced = statuses.max_by_key(|status| (*status != REJECTED, *status))?;
        Some(match most_advanced {
            0 => RemoteState::PendingApproval,
            1 | 3 => RemoteState::Ready,
            REJECTED => RemoteState::Rejected,
            4 => RemoteState::Delivering,
            5 => RemoteState::Paused,
            6 => RemoteState::Completed,
            _ => return None,
        })
    }
}

/// Refuses an operation on line items.
fn deals_only<'a, T: Send + 'a>() -> AdServerResult<'a, T> {
    Box::pin(async {
        Err(refused(RefusalReason::Unsupported, "a receiver of deals takes deals only"))
    })
}

/// Returns [`CallFailure`]s of the check that still prove an answer by the receiver.
fn has_answered(failure: &CallFailure) -> bool {
    let reason = match &failure.error {
        AdServerError::Refused { reason, .. } => *reason,
        AdServerError::Unsent
        | AdServerError::Unanswered
        | AdServerError::Garbled { .. }
        | AdServerError::NotYet { .. } => return false,
    };
    // Its address takes POST alone.
    matches!(reason, RefusalReason::Unsupported | RefusalReason::Missing)
}

impl AdServer for DealServer {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> &AdServerCapabilities {
        &self.capabilities
    }

    fn check(&self) -> AdServerResult<'_, String> {
        Box::pin(async move {
            match self.client.send(AdServerRequest::get("")).await {
                Err(failure) if !has_answered(&failure) => Err(failure.error),
                Ok(_) | Err(_) => {
                    Ok("the receiver answers; only a deal shows if it accepts the credential"
                        .to_owned())
                }
            }
        })
    }

    fn validate<'a>(
        &'a self,
        order: &'a OrderSpec,
        line_items: &'a [LineItemSpec],
    ) -> AdServerResult<'a, Vec<PackageProblem>> {
        let problems = check::problems(&self.capabilities, order, line_items, true, |_, _| {});
        Box::pin(async move { Ok(problems) })
    }

    fn availability<'a>(&'a self, _: &'a LineItemSpec) -> AdServerResult<'a, Availability> {
        deals_only()
    }

    fn find_order<'a>(&'a self, _: &'a ExternalId) -> AdServerResult<'a, Option<RemoteObject>> {
        deals_only()
    }

    fn line_items<'a>(&'a self, _: &'a RemoteId) -> AdServerResult<'a, Vec<RemoteObject>> {
        deals_only()
    }

    fn find_creative<'a>(&'a self, _: &'a ExternalId) -> AdServerResult<'a, Option<RemoteObject>> {
        deals_only()
    }

    fn create_order<'a>(&'a self, _: &'a OrderSpec) -> AdServerResult<'a, RemoteObject> {
        deals_only()
    }

    fn create_line_item<'a>(
        &'a self,
        _: &'a RemoteId,
        _: &'a LineItemSpec,
    ) -> AdServerResult<'a, RemoteObject> {
        deals_only()
    }

    fn change_line_item<'a>(
        &'a self,
        _: &'a RemoteId,
        _: &'a RemoteId,
        _: &'a LineItemSpec,
    ) -> AdServerResult<'a, RemoteObject> {
        deals_only()
    }

    fn create_creative<'a>(&'a self, _: &'a CreativeSpec) -> AdServerResult<'a, RemoteObject> {
        deals_only()
    }

    fn associate_creative<'a>(
        &'a self,
        _: &'a RemoteId,
        _: &'a RemoteId,
        _: &'a RemoteId,
    ) -> AdServerResult<'a, ()> {
        deals_only()
    }

    fn dissociate_creative<'a>(
        &'a self,
        _: &'a RemoteId,
        _: &'a RemoteId,
        _: &'a RemoteId,
    ) -> AdServerResult<'a, ()> {
        deals_only()
    }

    fn change_order_state<'a>(
        &'a self,
        _: &'a RemoteId,
        _: RemoteStateChange,
    ) -> AdServerResult<'a, RemoteState> {
        deals_only()
    }

    fn change_line_item_state<'a>(
        &'a self,
        _: &'a RemoteId,
        _: &'a RemoteId,
        _: RemoteStateChange,
    ) -> AdServerResult<'a, RemoteState> {
        deals_only()
    }

    fn order_state<'a>(&'a self, _: &'a RemoteId) -> AdServerResult<'a, RemoteState> {
        deals_only()
    }

    fn delivery<'a>(
        &'a self,
        _: &'a RemoteId,
        _: Date,
        _: Date,
    ) -> AdServerResult<'a, Vec<RemoteDelivery>> {
        deals_only()
    }

    fn inventory(&self) -> AdServerResult<'_, Vec<InventoryItem>> {
        deals_only()
    }

    fn put_deal<'a>(&'a self, deal: &'a DealSpec) -> AdServerResult<'a, RemoteObject> {
        Box::pin(async move {
            if !(1..=3).contains(&deal.auction_type) {
                let detail =
                    "a deal is sold at the first price (1), the second (2) or a fixed one (3)";
                return Err(refused(RefusalReason::Invalid, detail));
            }
            let seat = self.push(&deal.external_id.0, deal_object(deal, &self.origin)).await?;
            Ok(RemoteObject {
                id: RemoteId(deal.external_id.0.clone()),
                external_id: Some(deal.external_id.clone()),
                state: seat.and_then(|seat| seat.state()),
            })
        })
    }

    fn close_deal<'a>(&'a self, deal: &'a RemoteId) -> AdServerResult<'a, ()> {
        Box::pin(async move {
            // Terms are required, and none of them is; those that were agreed on stay what they were.
            let closed = json!({
                "id": &deal.0,
                "sellerstatus": ARCHIVED,
                "origin": &self.origin,
                "terms": {},
            });
            self.push(&deal.0, closed).await.map(drop)
        })
    }
}
