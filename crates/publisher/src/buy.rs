//! Media buys and their packages, as they are kept.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::shelf::{Kind, Thing};

/// A media buy. Its id is that of its record, and so is its revision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MediaBuy {
    /// Its id.
    pub media_buy_id: String,
    /// How it stands, apart from what the time decides (pending start, active, completed).
    pub status: Status,
    /// ISO 4217.
    pub currency: String,
    /// What all packages may cost.
    pub total_budget: f64,
    /// When it begins.
    pub start_time: Timestamp,
    /// When it ends.
    pub end_time: Timestamp,
    /// When the publisher agreed; `None` until then.
    pub confirmed_at: Option<Timestamp>,
    /// The proposal that it executes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal_id: Option<String>,
    /// When and by whom it was canceled, and why (`cancellation`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancellation: Option<Value>,
    /// Why it was rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejection_reason: Option<String>,
    /// Its packages, at least one.
    pub packages: Vec<Package>,
    /// Members of the request that are shown again as they came.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub shown: Map<String, Value>,
}

/// How a media buy stands (`media-buy-status`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It waits for creatives.
    PendingCreatives,
    /// It waits for its beginning.
    PendingStart,
    /// It runs.
    Active,
    /// Paused by the buyer.
    Paused,
    /// It ran to its end.
    Completed,
    /// The publisher declined it.
    Rejected,
    /// It was canceled.
    Canceled,
}

/// A package.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Package {
    /// Its id.
    pub package_id: String,
    /// What is bought.
    pub product_id: String,
    /// At which price.
    pub pricing_option_id: String,
    /// What it may cost.
    pub budget: f64,
    /// Whether it is paused.
    #[serde(default)]
    pub paused: bool,
    /// When and by whom it was canceled (`cancellation`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancellation: Option<Value>,
    /// The creatives that are assigned to it (`core/creative-assignment.json`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub creative_assignments: Vec<Value>,
    /// Members of the request that are shown again as they came (`targeting_overlay`, `bid_price`).
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub shown: Map<String, Value>,
}

impl Thing for MediaBuy {
    const KIND: Kind = Kind::MediaBuy;
}
