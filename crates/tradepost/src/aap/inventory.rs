//! A dealer's inventory in memory: one immutable value, built from the store and swapped whole.
//! This module is the boundary: what is behind it may change, what is here is all that callers
//! know.

use jiff::Timestamp;
use tradepost_wire::aap::{Facets, Filters, Raw, Search, SearchPage, Vehicle, VehicleQuery};

use crate::config::SearchPolicy;

/// A unit that left the offer (C-23).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    /// The dealer's id of the unit.
    pub vehicle_id: String,
    /// Its VIN, when known.
    pub vin: Option<String>,
    /// Its stock number, when known.
    pub stock: Option<String>,
    /// What it was, for finding similar units: make and model.
    pub make_model: Option<(String, String)>,
    /// The last status it had, or `sold`.
    pub last_status: String,
    /// When it left.
    pub removed_at: Timestamp,
}

/// A listing that was found.
#[derive(Debug, Clone)]
pub struct Found {
    /// The vehicle, ready to send.
    pub json: Raw,
    /// The dealer's id of the unit.
    pub vehicle_id: String,
    /// Year, make, model and trim for a sentence.
    pub title: String,
    /// The rooftop where it is.
    pub rooftop: Option<String>,
}

/// What a query for one vehicle finds.
#[derive(Debug)]
pub enum Lookup<'a> {
    /// It is on offer.
    Listed(Found),
    /// It was on offer.
    Gone(&'a Tombstone),
    /// No identifier matches.
    Unknown,
}

/// A dealer's inventory.
#[derive(Debug, Default)]
pub struct Inventory {}

impl Inventory {
    /// Builds the index. Every listing has `vehicle_id`, `status` and `updated_at`.
    ///
    /// # Errors
    /// When a listing does not serialise.
    pub fn build(_listings: Vec<Vehicle>, _gone: Vec<Tombstone>) -> serde_json::Result<Self> {
        Ok(Self {})
    }

    /// How many vehicles are on offer.
    #[must_use]
    pub fn len(&self) -> usize {
        0
    }

    /// Whether nothing is on offer.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A page of matches in the requested order.
    #[must_use]
    pub fn search(&self, _search: &Search, _policy: SearchPolicy) -> SearchPage {
        unreachable!()
    }

    /// Counts over the matches.
    #[must_use]
    pub fn facets(&self, _filters: &Filters) -> Facets {
        unreachable!()
    }

    /// The vehicle that the most specific matching identifier names: VIN before vehicle id before
    /// stock number (`R-IV-02`). A listing wins over a tombstone.
    #[must_use]
    pub fn find(&self, _query: &VehicleQuery) -> Lookup<'_> {
        Lookup::Unknown
    }

    /// Up to `count` vehicle ids of listings like a unit that is gone (`E-099`): same make and
    /// model first, then same make.
    #[must_use]
    pub fn similar(&self, _gone: &Tombstone, _count: usize) -> Vec<String> {
        Vec::new()
    }
}
