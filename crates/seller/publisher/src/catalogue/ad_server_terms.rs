//! Terms of a product that is delivered by an ad server.

use serde::{Deserialize, Serialize};

use crate::ad_server::DealAuction;

/// What a product is at the ad server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdServerTerms {
    /// Ids of its inventory there (ad units, sites, zones, products), at least one; none are needed for a deal.
    pub inventory: Vec<String>,
    /// The deal that a package of it becomes; a line item when `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deal: Option<DealTerms>,
}

/// Terms of the deals as which a product is sold. Price, currency and dates are those of the package, the
/// domain of the advertiser is that of the account's brand.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DealTerms {
    /// Auction in which bids meet; by default the price is fixed where the package's is, and otherwise the floor
    /// of an auction at the first price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auction: Option<DealAuction>,
    /// Seats that may bid (`wseat`); all when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub seats: Vec<String>,
}
