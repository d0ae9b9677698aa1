//! A dealer's inventory in memory: an immutable value, built from the store and replaced as a
//! whole. This module is the interface; its submodules may change freely.
//!
//! The implementation: rows in the default order, one dictionary-encoded column per attribute whose
//! rows are also listed in the order of their values, and bitmaps for common values. `query`
//! interprets the text of a query as predicates on these columns. The JSON of a listing is written
//! and compressed once, at build. The whole inventory can be stored as a snapshot, and loaded from
//! it without reading any listing.

use std::cmp::Reverse;
use std::sync::Arc;

use jiff::Timestamp;
use tradepost_aap::inventory::Sort;
use tradepost_aap::{
    AapReply, Facets, Filters, RawJson, Search, SearchPage, Vehicle, VehicleQuery,
};
use tradepost_document::fault::InternalError;

use crate::compressed::Dictionary;
pub use crate::query::CurrentYear;
use crate::settings::SearchPolicy;

mod advice;
mod answer_cache;
mod bitmap;
mod bytes;
mod codes;
mod column;
mod columns;
mod facets;
mod features;
mod gather;
mod groups;
mod identifiers;
mod index;
mod listings;
mod lookups;
mod matching;
mod order;
mod reading;
mod snapshot;
pub(crate) mod texts;
mod tombstones;

#[cfg(test)]
mod damage;
#[cfg(test)]
mod model;
#[cfg(test)]
mod questions;
#[cfg(test)]
mod tests;

pub(super) use advice::{Alternatives, AnswerNotes, FilterEffect};
pub use answer_cache::CacheKey;
use gather::Gathered;
use index::SearchIndex;
pub use listings::InventoryCache;
use listings::{ListingCompressor, Listings};
pub use reading::QueryReading;
pub use snapshot::{Snapshot, SnapshotError};
use tombstones::Tombstones;

/// Number of vehicles from which all search structures are built with the inventory.
const LARGE: usize = 10_000;

/// A tombstone: a unit that left the offer (AAP 1.1 `inventory.vehicle`, C-23).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    /// The dealer's id of the unit.
    pub vehicle_id: String,
    /// VIN, when known.
    pub vin: Option<String>,
    /// Stock number, when known.
    pub stock: Option<String>,
    /// Make and model, for finding similar units.
    pub make_model: Option<(String, String)>,
    /// Last status, or `sold`.
    pub last_status: String,
    /// Moment at which it left the offer.
    pub removed_at: Timestamp,
}

/// A listing that was found.
#[derive(Debug, Clone)]
pub struct FoundListing {
    /// The vehicle as JSON, ready to send.
    pub json: RawJson,
    /// The dealer's id of the unit.
    pub vehicle_id: String,
}

/// Result of a lookup of one vehicle.
#[derive(Debug)]
pub enum VehicleLookup<'a> {
    /// On offer.
    Listed(FoundListing),
    /// No longer on offer.
    Gone(&'a Tombstone),
    /// No identifier matches.
    Unknown,
}

/// A dealer's inventory.
#[derive(Debug, Default)]
pub struct Inventory {
    listings: Listings,
    index: SearchIndex,
    /// Facets without filters.
    all: Arc<Facets>,
    gone: Tombstones,
}

/// Memory that an inventory takes, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// Search index.
    pub index: usize,
    /// Compressed listings.
    pub listings: usize,
}

impl MemoryUse {
    /// Returns the sum.
    #[must_use]
    pub const fn total(self) -> usize {
        self.index + self.listings
    }
}

impl Inventory {
    /// Builds the index. Every listing needs `vehicle_id`, `status` and `updated_at`.
    ///
    /// # Errors
    /// When a listing cannot be serialised.
    pub fn build(
        mut vehicles: Vec<Vehicle>,
        tombstones: Vec<Tombstone>,
    ) -> Result<Self, InternalError> {
        vehicles.sort_by(|a, b| {
            (Reverse(a.updated_at), &a.vehicle_id).cmp(&(Reverse(b.updated_at), &b.vehicle_id))
        });
        let write = |vehicle| tradepost_document::json::to_string(vehicle).unwrap_or_default();
        let count = vehicles.len();
        let samples = vehicles.iter().step_by(Dictionary::step(count)).map(write);
        let dictionary = Dictionary::from_samples(count, samples);
        let mut builder = InventoryBuilder::new(dictionary, count);
        for vehicle in vehicles {
            builder.push(&vehicle)?;
        }
        builder.build(tombstones)
    }

    fn new(listings: Listings, index: SearchIndex, tombstones: Tombstones) -> Self {
        // Built now, while an inventory is being built anyway: otherwise the first search would
        // block a request thread and every request behind it.
        if index.by_id.len() >= LARGE {
            index.groups();
        }
        let all = Arc::new(index.count(&index.matches(&Filters::default(), None)));
        Self { listings, index, all, gone: tombstones }
    }

    /// Returns the inventory with a shared cache of recent listings and answers.
    #[must_use]
    pub fn remembered_in(self, recent: &Arc<InventoryCache>) -> Self {
        Self { listings: self.listings.remembered_in(recent), ..self }
    }

    /// Returns the memory it takes, without the caches for query texts.
    #[must_use]
    pub fn memory(&self) -> MemoryUse {
        MemoryUse { index: self.index.bytes() + self.gone.bytes(), listings: self.listings.bytes() }
    }

    /// Returns the number of vehicles on offer.
    #[must_use]
    pub fn len(&self) -> usize {
        self.listings.len()
    }

    /// Returns true when nothing is on offer.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the cached answer to a question, or the answer of `work`.
    ///
    /// # Errors
    /// Those of `work`.
    pub(super) fn cached_or(
        &self,
        question: &CacheKey,
        work: impl FnOnce() -> Result<AapReply, SnapshotError>,
    ) -> Result<AapReply, SnapshotError> {
        self.listings.cached_or(question, work)
    }

    /// Returns a page of matches in the requested order, with notes about the answer.
    pub(super) fn search(
        &self,
        search: &Search,
        policy: SearchPolicy,
        this_year: CurrentYear,
    ) -> Result<(SearchPage, AnswerNotes), SnapshotError> {
        let wanted = search.limit.unwrap_or(policy.default_limit);
        let limit = wanted.min(policy.max_limit);
        let filters = &search.filters;
        let query = self.index.understand(filters, this_year);
        let matches = self.index.matches(filters, query.as_ref());
        // The order of the request wins over one that the query asks for (AAP 1.1, `R-IS-10`).
        let order = query.as_ref().and_then(|query| query.order);
        let sort = search.sort.or(order);
        let skip = search.skip as usize;
        let count = limit as usize;
        let highest = query.as_ref().and_then(|query| query.highest).filter(|_| sort.is_none());
        let then = query.as_ref().and_then(|query| query.then).filter(|_| search.sort.is_none());
        let rows = match (highest, sort, then) {
            (Some(number), ..) => self.index.page_by_highest(&matches, number, skip, count),
            (None, Some(sort), Some(then)) => {
                self.index.page_by_two(&matches, sort, then, skip, count)
            }
            (None, sort, _) => self.index.page(&matches, filters, sort, skip, count),
        };
        let vehicles = rows.into_iter().map(|row| self.listings.get(row));
        let page = SearchPage {
            total: matches.len(),
            skip: search.skip,
            limit,
            vehicles: vehicles.collect::<Result<_, _>>()?,
        };
        Ok((page, self.index.notes(filters, query, matches.len())))
    }

    /// Returns a search as it was read: filters that a program can resend, the order, and the query
    /// for what no filter of AAP can say.
    #[must_use]
    pub fn reading(&self, search: &Search, this_year: CurrentYear) -> QueryReading {
        let filters = &search.filters;
        let query = self.index.understand(filters, this_year);
        self.index.reading(filters, search.sort, query.as_ref(), this_year)
    }

    /// Returns the reading of a query that was interpreted for its answer; `None` without a query.
    pub(super) fn reading_of(
        &self,
        filters: &Filters,
        sort: Option<Sort>,
        notes: &AnswerNotes,
        this_year: CurrentYear,
    ) -> Option<QueryReading> {
        let query = notes.query.as_ref()?;
        Some(self.index.reading(filters, sort, Some(query), this_year))
    }

    /// Counts values over the matches. Values that fold to the same text are counted together,
    /// under the spelling that is most frequent in the whole inventory; the most frequent come
    /// first.
    #[must_use]
    pub(super) fn facets(
        &self,
        filters: &Filters,
        this_year: CurrentYear,
    ) -> (Arc<Facets>, AnswerNotes) {
        let query = self.index.understand(filters, this_year);
        let matches = self.index.matches(filters, query.as_ref());
        let facets = if matches.len() == self.len() {
            Arc::clone(&self.all)
        } else {
            Arc::new(self.index.count(&matches))
        };
        (facets, self.index.notes(filters, query, matches.len()))
    }

    /// Finds the vehicle of the most specific matching identifier: VIN before vehicle id before
    /// stock number (AAP 1.1 `inventory.vehicle`, `R-IV-02`). A listing wins over a tombstone with
    /// the same identifier; the VIN of a removed unit wins over a stock number that another unit
    /// has now. A unit that was removed at or before `oldest` is not found (C-23).
    ///
    /// # Errors
    /// When the snapshot is damaged.
    pub fn find(
        &self,
        query: &VehicleQuery,
        oldest: Timestamp,
    ) -> Result<VehicleLookup<'_>, SnapshotError> {
        let Self { index, gone: tombstones, .. } = self;
        let VehicleQuery { vin, vehicle_id, stock } = query;
        let attempts = [
            vin.as_ref().map(|vin| (first(index.vin.find(vin)), tombstones.by_vin(vin))),
            vehicle_id.as_ref().map(|id| (index.row_of(id), tombstones.by_vehicle_id(id))),
            stock
                .as_ref()
                .map(|stock| (first(index.stock.find(stock)), tombstones.by_stock(stock))),
        ];
        for (listed, tombstone) in attempts.into_iter().flatten() {
            if let Some(row) = listed {
                let vehicle_id = self.index.vehicle_id(row).to_owned();
                return Ok(VehicleLookup::Listed(FoundListing {
                    json: self.listings.get(row)?.json().clone(),
                    vehicle_id,
                }));
            }
            if let Some(unit) = tombstone.filter(|unit| unit.removed_at > oldest) {
                return Ok(VehicleLookup::Gone(unit));
            }
        }
        Ok(VehicleLookup::Unknown)
    }

    /// Returns which of some vehicles match filters, in their order. A vehicle that is not on offer matches none.
    #[must_use]
    pub fn fitting(
        &self,
        vehicle_ids: &[&str],
        filters: &Filters,
        this_year: CurrentYear,
    ) -> Vec<bool> {
        let query = self.index.understand(filters, this_year);
        let matches = self.index.matches(filters, query.as_ref());
        let is_fit = |id: &&str| self.index.row_of(id).is_some_and(|row| matches.contains(row));
        vehicle_ids.iter().map(is_fit).collect()
    }

    /// Returns up to `count` vehicle ids of listings similar to a removed unit (`E-099`): same make
    /// and model first, then same make; the most recently confirmed first.
    #[must_use]
    pub fn similar(&self, tombstone: &Tombstone, count: usize) -> Vec<String> {
        let Some((make, model)) = &tombstone.make_model else {
            return Vec::new();
        };
        let model = self.index.texts.model.code(model);
        let other_model = |row: u32| {
            let code = self.index.texts.model.rows.code(row);
            model.is_none_or(|model| model != code)
        };
        let mut rows = self.index.texts.make.find(make).to_vec();
        rows.sort_unstable_by_key(|row| (other_model(*row), *row));
        let ids = rows.into_iter().map(|row| self.index.vehicle_id(row).to_owned());
        ids.take(count).collect()
    }
}

/// Builds an inventory from listings that arrive one by one, in any order.
#[derive(Debug)]
pub struct InventoryBuilder {
    packing: ListingCompressor,
    gathered: Gathered,
}

impl InventoryBuilder {
    const BUILDING: &str = "building an inventory";

    /// Starts an inventory of about `expected` listings, compressed with a dictionary.
    #[must_use]
    pub fn new(dictionary: Dictionary, expected: usize) -> Self {
        Self {
            packing: ListingCompressor::new(dictionary, expected),
            gathered: Gathered::default(),
        }
    }

    /// Adds a listing with `vehicle_id`, `status` and `updated_at`.
    ///
    /// # Errors
    /// When it cannot be serialised.
    pub fn push(&mut self, vehicle: &Vehicle) -> Result<(), InternalError> {
        let text = tradepost_document::json::to_string(vehicle)
            .map_err(InternalError::on(Self::BUILDING))?;
        self.packing.push(&text).map_err(InternalError::on(Self::BUILDING))?;
        self.gathered.push(vehicle);
        Ok(())
    }

    /// Finishes the inventory, with tombstones of removed units.
    ///
    /// # Errors
    /// When the dictionary is damaged.
    pub fn build(self, tombstones: Vec<Tombstone>) -> Result<Inventory, InternalError> {
        let Self { packing, mut gathered } = self;
        let order = gathered.default_order();
        let listings = packing.finish(order.as_deref());
        let listings = listings
            .ok_or_else(|| InternalError::new(Self::BUILDING, "the dictionary is broken"))?;
        if let Some(order) = order {
            gathered.reorder(&order);
        }
        Ok(Inventory::new(listings, SearchIndex::new(gathered), Tombstones::new(tombstones)))
    }
}

/// Returns the first of some rows in the default order.
fn first(rows: &[u32]) -> Option<u32> {
    rows.iter().min().copied()
}
