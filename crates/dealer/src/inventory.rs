//! A dealer's inventory in memory: one immutable value, built from the store and swapped whole.
//! This module is the boundary: what is behind it may change, what is here is all that callers
//! know.
//!
//! Behind it: rows in the default order, one dictionary-encoded column per attribute whose rows
//! are also listed in the order of their values, and bitmaps for common values. Words of a query
//! are understood beside it, in `query`, and become predicates on these columns. The JSON
//! of a listing is written and packed once, at build. All of it can be kept as a snapshot, from which
//! it is there again without a look at any listing.

use std::cmp::Reverse;
use std::sync::Arc;

use jiff::Timestamp;
use tradepost_wire::aap::{Facets, Filters, Raw, Reply, Search, SearchPage, Vehicle, VehicleQuery};
use tradepost_wire::fault::Fault;

use crate::packed::Dictionary;
use crate::settings::SearchPolicy;

mod advice;
mod again;
mod bitmap;
mod bytes;
mod codes;
mod column;
mod columns;
mod facets;
mod features;
mod gather;
mod gone;
mod groups;
mod identifiers;
mod index;
mod listings;
mod matching;
mod order;
mod snapshot;
pub(crate) mod texts;

#[cfg(test)]
mod damage;
#[cfg(test)]
mod model;
#[cfg(test)]
mod questions;
#[cfg(test)]
mod tests;

pub(super) use advice::{Instead, Notes, Reason};
pub use again::Question;
use gather::Gathered;
use gone::Graveyard;
use index::Index;
pub use listings::Recent;
use listings::{Listings, Packing};
pub use snapshot::{Broken, Snapshot};

/// From so many vehicles on everything that searches need is made with the inventory.
const LARGE: usize = 10_000;

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
pub struct Inventory {
    listings: Listings,
    index: Index,
    /// The facets without filters.
    all: Arc<Facets>,
    gone: Graveyard,
}

/// How much memory an inventory takes, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Memory {
    /// What is searched.
    pub index: usize,
    /// The packed listings.
    pub listings: usize,
}

impl Memory {
    /// All of it.
    #[must_use]
    pub const fn total(self) -> usize {
        self.index + self.listings
    }
}

impl Inventory {
    /// Builds the index. Every listing has `vehicle_id`, `status` and `updated_at`.
    ///
    /// # Errors
    /// When a listing cannot be written.
    pub fn build(mut vehicles: Vec<Vehicle>, gone: Vec<Tombstone>) -> Result<Self, Fault> {
        vehicles.sort_by(|a, b| {
            (Reverse(a.updated_at), &a.vehicle_id).cmp(&(Reverse(b.updated_at), &b.vehicle_id))
        });
        let write = |vehicle| tradepost_wire::json::to_string(vehicle).unwrap_or_default();
        let count = vehicles.len();
        let samples = vehicles.iter().step_by(Dictionary::step(count)).map(write);
        let dictionary = Dictionary::of_samples(count, samples);
        let mut builder = Builder::new(dictionary, count);
        for vehicle in vehicles {
            builder.push(&vehicle)?;
        }
        builder.build(gone)
    }

    fn of(listings: Listings, index: Index, gone: Graveyard) -> Self {
        // Here, where somebody waits for an inventory anyway: the first search would hold a thread of the
        // requests, and everybody who asks behind it.
        if index.by_id.len() >= LARGE {
            index.groups();
        }
        let all = Arc::new(index.count(&index.matches(&Filters::default(), None)));
        Self { listings, index, all, gone }
    }

    /// The same, with listings and answers that were asked for lately kept there.
    #[must_use]
    pub fn remembered_in(self, recent: &Arc<Recent>) -> Self {
        Self { listings: self.listings.remembered_in(recent), ..self }
    }

    /// How much memory it takes, but for the sentences of its words.
    #[must_use]
    pub fn memory(&self) -> Memory {
        Memory { index: self.index.bytes() + self.gone.bytes(), listings: self.listings.bytes() }
    }

    /// How many vehicles are on offer.
    #[must_use]
    pub fn len(&self) -> usize {
        self.listings.len()
    }

    /// Whether nothing is on offer.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What `work` answers to a question, or what it has answered lately.
    ///
    /// # Errors
    /// Those of `work`.
    pub(super) fn again(
        &self,
        question: &Question,
        work: impl FnOnce() -> Result<Reply, Broken>,
    ) -> Result<Reply, Broken> {
        self.listings.again(question, work)
    }

    /// A page of matches in the requested order, and what there is to say about it.
    pub(super) fn search(
        &self,
        search: &Search,
        policy: SearchPolicy,
    ) -> Result<(SearchPage, Notes), Broken> {
        let wanted = search.limit.unwrap_or(policy.default_limit);
        let limit = wanted.min(policy.max_limit);
        let filters = &search.filters;
        let query = self.index.understand(filters);
        let matches = self.index.matches(filters, query.as_ref());
        let (skip, count) = (search.skip as usize, limit as usize);
        let rows = self.index.page(&matches, filters, search.sort, skip, count);
        let vehicles = rows.into_iter().map(|row| self.listings.get(row));
        let page = SearchPage {
            total: matches.len(),
            skip: search.skip,
            limit,
            vehicles: vehicles.collect::<Result<_, _>>()?,
        };
        Ok((page, self.index.notes(filters, query, matches.len())))
    }

    /// Counts over the matches. Values that fold together are counted together, under the spelling
    /// that is most frequent in the whole inventory; the most frequent come first.
    #[must_use]
    pub(super) fn facets(&self, filters: &Filters) -> (Arc<Facets>, Notes) {
        let query = self.index.understand(filters);
        let matches = self.index.matches(filters, query.as_ref());
        let facets = if matches.len() == self.len() {
            Arc::clone(&self.all)
        } else {
            Arc::new(self.index.count(&matches))
        };
        (facets, self.index.notes(filters, query, matches.len()))
    }

    /// The vehicle that the most specific matching identifier names: VIN before vehicle id before
    /// stock number (`R-IV-02`). A listing wins over a tombstone with the same identifier; the
    /// VIN of a unit that is gone wins over a stock number that another unit has now. A unit that
    /// left at `oldest` or before is forgotten: nothing matches it (C-23).
    ///
    /// # Errors
    /// When the snapshot is broken.
    pub fn find(&self, query: &VehicleQuery, oldest: Timestamp) -> Result<Lookup<'_>, Broken> {
        let Self { index, gone, .. } = self;
        let VehicleQuery { vin, vehicle_id, stock } = query;
        let attempts = [
            vin.as_ref().map(|vin| (first(index.vin.find(vin)), gone.by_vin(vin))),
            vehicle_id.as_ref().map(|id| (index.row_of(id), gone.by_vehicle_id(id))),
            stock.as_ref().map(|stock| (first(index.stock.find(stock)), gone.by_stock(stock))),
        ];
        for (listed, gone) in attempts.into_iter().flatten() {
            if let Some(row) = listed {
                let vehicle_id = self.index.vehicle_id(row).to_owned();
                return Ok(Lookup::Listed(Found { json: self.listings.get(row)?, vehicle_id }));
            }
            if let Some(unit) = gone.filter(|unit| unit.removed_at > oldest) {
                return Ok(Lookup::Gone(unit));
            }
        }
        Ok(Lookup::Unknown)
    }

    /// Up to `count` vehicle ids of listings like a unit that is gone (`E-099`): same make and
    /// model first, then same make; the most recently confirmed first.
    #[must_use]
    pub fn similar(&self, gone: &Tombstone, count: usize) -> Vec<String> {
        let Some((make, model)) = &gone.make_model else {
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

/// Builds an inventory of listings that come one after another, in any order.
#[derive(Debug)]
pub struct Builder {
    packing: Packing,
    gathered: Gathered,
}

impl Builder {
    const BUILDING: &str = "building an inventory";

    /// Packs listings with what was learned from some of them; about so many will come.
    #[must_use]
    pub fn new(dictionary: Dictionary, expected: usize) -> Self {
        Self { packing: Packing::new(dictionary, expected), gathered: Gathered::default() }
    }

    /// Adds a listing. It has `vehicle_id`, `status` and `updated_at`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn push(&mut self, vehicle: &Vehicle) -> Result<(), Fault> {
        let text = tradepost_wire::json::to_string(vehicle).map_err(Fault::on(Self::BUILDING))?;
        self.packing.push(&text).map_err(Fault::on(Self::BUILDING))?;
        self.gathered.push(vehicle);
        Ok(())
    }

    /// The inventory of all that came, and of units that left the offer.
    ///
    /// # Errors
    /// When the dictionary is none.
    pub fn build(self, gone: Vec<Tombstone>) -> Result<Inventory, Fault> {
        let Self { packing, mut gathered } = self;
        let order = gathered.default_order();
        let listings = packing.finish(order.as_deref());
        let listings =
            listings.ok_or_else(|| Fault::new(Self::BUILDING, "the dictionary is broken"))?;
        if let Some(order) = order {
            gathered.put_in(&order);
        }
        Ok(Inventory::of(listings, Index::new(gathered), Graveyard::new(gone)))
    }
}

/// The first of some rows in the default order.
fn first(rows: &[u32]) -> Option<u32> {
    rows.iter().min().copied()
}
