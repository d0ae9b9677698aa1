//! Terms of a product that is delivered by an ad server.

use serde::{Deserialize, Serialize};

/// What a product is at the ad server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdServerTerms {
    /// Ids of its inventory there (ad units, sites, zones, products), at least one.
    pub inventory: Vec<String>,
}
