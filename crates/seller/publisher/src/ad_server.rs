//! What a publisher asks its ad server to make: orders, line items, creatives and deals, as data. An adapter
//! (crate `tradepost-ad-server`) translates it to the interface of one ad server.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Map;

use crate::money::MoneyAmount;

tradepost_document::words! {
    /// Pricing model that an ad server can bill (`enums/pricing-model.json`, those that line items have).
    pub enum LineItemPricing {
        /// Price for a thousand impressions.
        Cpm = "cpm",
        /// Price for a thousand viewable impressions.
        Vcpm = "vcpm",
        /// Price for a click.
        Cpc = "cpc",
        /// Price for a completed view.
        Cpcv = "cpcv",
        /// One price for the whole flight.
        FlatRate = "flat_rate",
    }

    /// Kind of targeting that an ad server can apply.
    pub enum TargetingKind {
        /// Countries.
        Countries = "countries",
        /// Regions of a country.
        Regions = "regions",
        /// Metropolitan areas.
        Metros = "metros",
        /// Postal codes.
        PostalAreas = "postal_areas",
        /// Kinds of device.
        Devices = "devices",
        /// Maximum number of impressions for a person in a period.
        FrequencyCap = "frequency_cap",
        /// Hours of the week.
        Dayparts = "dayparts",
        /// Keys and values of the publisher.
        KeyValues = "key_values",
        /// Audience segments.
        Audiences = "audiences",
    }

    /// Unit of the goal of a line item.
    pub enum GoalUnit {
        /// Impressions.
        Impressions = "impressions",
        /// Viewable impressions.
        ViewableImpressions = "viewable_impressions",
        /// Clicks.
        Clicks = "clicks",
        /// Completed views.
        CompletedViews = "completed_views",
    }

    /// Auction in which bids for a deal meet (OpenRTB 2.6 §3.2.12, `at`).
    pub enum DealAuction {
        /// The highest bid pays its price; the deal's price is a floor.
        FirstPrice = "first_price",
        /// The highest bid pays the second price; the deal's price is a floor.
        SecondPrice = "second_price",
        /// The deal's price is what is paid.
        FixedPrice = "fixed_price",
    }

    /// State of an order, a line item or a deal at an ad server.
    pub enum RemoteState {
        /// Made, and not approved yet.
        Draft = "draft",
        /// A person at the ad server has to approve it.
        PendingApproval = "pending_approval",
        /// Approved; its flight has not begun.
        Ready = "ready",
        /// Delivering.
        Delivering = "delivering",
        /// Paused.
        Paused = "paused",
        /// Ended with its flight.
        Completed = "completed",
        /// Canceled or archived.
        Canceled = "canceled",
        /// Declined by a person at the ad server.
        Rejected = "rejected",
    }
}

impl DealAuction {
    /// Returns its number in OpenRTB (`at`).
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::FirstPrice => 1,
            Self::SecondPrice => 2,
            Self::FixedPrice => 3,
        }
    }
}

impl TargetingKind {
    /// Returns the kind of a member of a targeting overlay (`core/targeting.json`); `None` for members that no
    /// ad server is asked to apply.
    #[must_use]
    pub fn from_member(member: &str) -> Option<Self> {
        Some(match member {
            "geo_countries" | "geo_countries_exclude" => Self::Countries,
            "geo_regions" | "geo_regions_exclude" => Self::Regions,
            "geo_metros" | "geo_metros_exclude" => Self::Metros,
            "geo_postal_areas" | "geo_postal_areas_exclude" => Self::PostalAreas,
            "device_type"
            | "device_type_exclude"
            | "device_platform"
            | "device_platform_exclude" => Self::Devices,
            "frequency_cap" => Self::FrequencyCap,
            "daypart_targets" => Self::Dayparts,
            "audience_include"
            | "audience_exclude"
            | "signal_targeting"
            | "signal_targeting_groups" => Self::Audiences,
            _ => return None,
        })
    }
}

/// What an ad server can do. It feeds `get_adcp_capabilities`, and what is missing is refused before anything
/// is sold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AdServerCapabilities {
    /// Pricing models.
    pub pricing: BTreeSet<LineItemPricing>,
    /// Kinds of targeting.
    pub targeting: BTreeSet<TargetingKind>,
    /// Systems of metro areas that it has (`enums/metro-system.json`); all of them when `None`.
    pub metro_systems: Option<BTreeSet<String>>,
    /// True if it makes line items; false if it makes deals only.
    pub line_items: bool,
    /// True if it makes deals.
    pub deals: bool,
    /// True if it forecasts availability.
    pub forecasts: bool,
    /// True if it lists its inventory.
    pub inventory: bool,
    /// True if a person at the ad server may have to approve an order.
    pub approvals: bool,
    /// Time between an impression and its first report in minutes.
    pub report_delay_minutes: u32,
}

impl AdServerCapabilities {
    /// Returns true if it can apply a member of a targeting overlay.
    #[must_use]
    pub fn applies(&self, member: &str) -> bool {
        TargetingKind::from_member(member).is_some_and(|kind| self.targeting.contains(&kind))
    }

    /// Returns true if it has a system of metro areas.
    #[must_use]
    pub fn has_metro_system(&self, system: &str) -> bool {
        self.metro_systems.as_ref().is_none_or(|systems| systems.contains(system))
    }

    /// Returns true if it can bill by a pricing model (`enums/pricing-model.json`).
    #[must_use]
    pub fn bills_by(&self, model: &str) -> bool {
        LineItemPricing::from_name(model).is_some_and(|model| self.pricing.contains(&model))
    }

    /// Returns true if it makes deals by a pricing model: the price of a deal is one for a thousand impressions.
    #[must_use]
    pub fn deals_by(&self, model: &str) -> bool {
        self.deals && LineItemPricing::from_name(model) == Some(LineItemPricing::Cpm)
    }
}

/// Problem of one package, found before anything is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageProblem {
    /// The package.
    pub package_id: String,
    /// Path of the field in the package, such as `targeting_overlay.geo_metros`.
    pub field: String,
    /// What is wrong, in a sentence for the buyer.
    pub message: String,
}

/// Availability of inventory in a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Availability {
    /// Impressions that match.
    pub matched: u64,
    /// Impressions of them that are not sold.
    pub available: u64,
}

/// Id of an object at the ad server, as the ad server has named it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RemoteId(pub String);

/// Our id of an object at the ad server. It is a function of the object alone, so that the same object has
/// the same id on every path to it, and a repeated creation finds the first one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExternalId(pub String);

impl ExternalId {
    /// Returns the id of the order of a media buy.
    #[must_use]
    pub fn from_order(media_buy_id: &str) -> Self {
        Self(media_buy_id.to_owned())
    }

    /// Returns the id of the line item of a package.
    #[must_use]
    pub fn from_line_item(media_buy_id: &str, package_id: &str) -> Self {
        Self(format!("{media_buy_id}/{package_id}"))
    }

    /// Returns the id of the deal of a package, such as `tp-3k9wq-x0m7d-h5v2c-8rbtj`. It is the deal id in bid requests,
    /// which people type into bidders: it is short, and has no letters that look like digits.
    #[must_use]
    pub fn from_deal(media_buy_id: &str, package_id: &str) -> Self {
        const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
        let digest = Sha256::digest(format!("deal\n{media_buy_id}\n{package_id}"));
        let letters = digest
            .iter()
            .take(20)
            .map(|byte| LETTERS.get(usize::from(byte % 32)).copied().map_or('0', char::from));
        let mut id = "tp".to_owned();
        for (place, letter) in letters.enumerate() {
            if place.is_multiple_of(5) {
                id.push('-');
            }
            id.push(letter);
        }
        Self(id)
    }

    /// Returns the id that deals have of which none was noted when they were sold.
    #[must_use]
    pub fn from_unnamed_deal(media_buy_id: &str, package_id: &str) -> Self {
        Self(format!("{media_buy_id}-{package_id}"))
    }

    /// Returns the id of a creative for a media buy: the record id of the creative with its revision, since a
    /// changed creative is another object at most ad servers.
    #[must_use]
    pub fn from_creative(record_id: &str, revision: u64) -> Self {
        Self(format!("{record_id}@{revision}"))
    }
}

/// An order to be made: a media buy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OrderSpec {
    /// Our id.
    pub external_id: ExternalId,
    /// Name for people, at most 255 characters.
    pub name: String,
    /// The advertiser at the ad server, where the account or the configuration names one.
    pub advertiser: Option<RemoteId>,
    /// Name of the advertiser's account.
    pub advertiser_name: String,
    /// Total budget.
    pub budget: MoneyAmount,
    /// Currency (ISO 4217).
    pub currency: String,
    /// Start of the flight.
    pub start_time: Timestamp,
    /// End of the flight.
    pub end_time: Timestamp,
}

/// A line item to be made: a package.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LineItemSpec {
    /// Our id.
    pub external_id: ExternalId,
    /// Name for people, at most 255 characters.
    pub name: String,
    /// The package.
    pub package_id: String,
    /// Inventory at the ad server (ad units, sites, zones, products), as the product's terms name it.
    pub inventory: Vec<String>,
    /// True for a guaranteed product.
    pub is_guaranteed: bool,
    /// Pricing model.
    pub pricing: LineItemPricing,
    /// Price in the unit of the pricing model.
    pub rate: MoneyAmount,
    /// Currency (ISO 4217).
    pub currency: String,
    /// Budget.
    pub budget: MoneyAmount,
    /// Number that it has to reach, where the price implies one.
    pub goal: Option<LineItemGoal>,
    /// Start.
    pub start_time: Timestamp,
    /// End.
    pub end_time: Timestamp,
    /// Targeting (`core/targeting.json`), as the buyer has sent it.
    pub targeting: Map,
    /// Sizes of its creatives.
    pub sizes: Vec<CreativeSize>,
    /// True while it is paused.
    pub is_paused: bool,
}

/// Goal of a line item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineItemGoal {
    /// Unit.
    pub unit: GoalUnit,
    /// Number of units.
    pub amount: u64,
}

/// Size of a creative in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreativeSize {
    /// Width.
    pub width: u32,
    /// Height.
    pub height: u32,
}

/// A creative to be made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CreativeSpec {
    /// Our id.
    pub external_id: ExternalId,
    /// Name for people, at most 255 characters.
    pub name: String,
    /// The advertiser at the ad server.
    pub advertiser: Option<RemoteId>,
    /// Id of its format in the catalogue.
    pub format_id: String,
    /// Size, where the format has one.
    pub size: Option<CreativeSize>,
    /// Content.
    pub content: CreativeContent,
    /// Address that a click leads to. It is never the address of an asset.
    pub click_url: Option<String>,
}

/// Content of a creative.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CreativeContent {
    /// Address of an image.
    Image {
        /// Address.
        url: String,
    },
    /// Address of a video.
    Video {
        /// Address.
        url: String,
    },
    /// Address of a VAST document.
    Vast {
        /// Address.
        url: String,
    },
    /// Markup that the ad server delivers; it is never run here.
    Markup {
        /// HTML or JavaScript.
        markup: String,
    },
}

/// A deal to be made (OpenRTB 2.6, `imp.pmp.deals[]`): a package that the buyer's DSP bids on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DealSpec {
    /// Our id, which is also the deal id.
    pub external_id: ExternalId,
    /// Name for people, at most 255 characters.
    pub name: String,
    /// Inventory at the ad server.
    pub inventory: Vec<String>,
    /// Floor or fixed price, for a thousand impressions.
    pub price: MoneyAmount,
    /// Currency (ISO 4217).
    pub currency: String,
    /// Kind of auction (OpenRTB `at`: 1 first price, 2 second price, 3 fixed price).
    pub auction_type: u8,
    /// Seats that may bid (`wseat`); empty for all.
    pub seats: Vec<String>,
    /// Domains of the advertiser (`wadomain`); empty for all.
    pub advertiser_domains: Vec<String>,
    /// Start.
    pub start_time: Timestamp,
    /// End.
    pub end_time: Timestamp,
    /// True while it is paused.
    #[serde(default)]
    pub is_paused: bool,
}

/// An object at the ad server, as it answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteObject {
    /// Its id there.
    pub id: RemoteId,
    /// Our id, where the ad server keeps it.
    pub external_id: Option<ExternalId>,
    /// State, where it has one.
    pub state: Option<RemoteState>,
}

/// A line item at the ad server, with as much as it shows of what was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteLineItemView {
    /// The line item.
    pub object: RemoteObject,
    /// Start, where it shows it.
    pub start_time: Option<Timestamp>,
    /// End, where it shows it.
    pub end_time: Option<Timestamp>,
    /// Budget, where it shows it.
    pub budget: Option<MoneyAmount>,
    /// The creatives that are associated with it, where it shows them.
    pub creatives: Option<BTreeSet<RemoteId>>,
}

/// Delivery of one line item on one day, as the ad server reports it now. A later report of the same day
/// replaces it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RemoteDelivery {
    /// The line item.
    pub line_item: RemoteId,
    /// Day in the publisher's time zone.
    pub day: Date,
    /// Impressions.
    pub impressions: u64,
    /// Clicks.
    pub clicks: u64,
    /// Completed views, where it counts them.
    pub completed_views: Option<u64>,
    /// Spend in the currency of the order.
    pub spend: MoneyAmount,
    /// True once the ad server will not correct it any more.
    pub is_final: bool,
}
