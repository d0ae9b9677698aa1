//! A dealer's inventory in memory: one immutable value, built from the store and swapped whole.
//! This module is the boundary: what is behind it may change, what is here is all that callers
//! know.
//!
//! Behind it: rows in the default order, one dictionary-encoded column per attribute whose rows
//! are also listed in the order of their values, and bitmaps for common values. Words of a query
//! are understood beside it, in `query`, and become predicates on these columns. The JSON
//! of a listing is written once, at build.

use std::cmp::Reverse;
use std::collections::HashMap;

use jiff::Timestamp;
use tradepost_wire::aap::{Facets, Filters, Raw, Search, SearchPage, Vehicle, VehicleQuery};
use tradepost_wire::catalog::Vocabulary;

use crate::query::fold::{Field, fold};
use crate::query::seats::seats;
use crate::query::{Attribute, Lexicon, Understood, Value, understand};
use crate::settings::SearchPolicy;

mod advice;
mod bitmap;
mod column;
mod facets;
mod features;
mod identifiers;
mod matching;
mod order;

#[cfg(test)]
mod model;
#[cfg(test)]
mod questions;
#[cfg(test)]
mod tests;

pub(super) use advice::{Instead, Notes, Reason};
use column::{Column, TextColumn};
use features::Features;

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
pub struct Inventory {
    listings: Vec<Listing>,
    index: Index,
    /// The facets without filters.
    all: Facets,
    gone: Graveyard,
}

/// What is sent and said about a listing.
#[derive(Debug)]
struct Listing {
    json: Raw,
    vehicle_id: Box<str>,
    title: Box<str>,
    rooftop: Option<Box<str>>,
}

/// What searches look at. Rows are numbered in the default order: `updated_at` descending, then
/// vehicle id (C-37).
#[derive(Debug, Default)]
struct Index {
    /// The rows by vehicle id.
    by_id: Vec<u32>,
    /// By row: its position in `by_id`.
    id_ranks: Vec<u32>,
    make: TextColumn,
    model: TextColumn,
    trim: TextColumn,
    condition: TextColumn,
    status: TextColumn,
    transmission: TextColumn,
    fuel: TextColumn,
    driveline: TextColumn,
    body: TextColumn,
    exterior_color: TextColumn,
    interior_color: TextColumn,
    rooftop: TextColumn,
    vin: TextColumn,
    stock: TextColumn,
    year: Column<u32>,
    price: Column<u32>,
    list_price: Column<u32>,
    msrp: Column<u32>,
    mileage: Column<u32>,
    seats: Column<u32>,
    rows_of_seats: Column<u32>,
    updated_at: Column<Timestamp>,
    engine: TextColumn,
    features: Features,
    order: identifiers::Order,
    lexicon: Lexicon,
}

/// Units that left the offer, by identifier; the latest to leave when several had the same.
#[derive(Debug, Default)]
struct Graveyard {
    units: Vec<Tombstone>,
    vins: HashMap<String, usize>,
    vehicle_ids: HashMap<String, usize>,
    stocks: HashMap<String, usize>,
}

impl Inventory {
    /// Builds the index. Every listing has `vehicle_id`, `status` and `updated_at`.
    ///
    /// # Errors
    /// When a listing does not serialise.
    pub fn build(
        mut vehicles: Vec<Vehicle>,
        gone: Vec<Tombstone>,
    ) -> tradepost_wire::json::Result<Self> {
        vehicles.sort_by(|a, b| {
            let key = |v: &Vehicle| Reverse(v.updated_at);
            let ids = || a.vehicle_id.cmp(&b.vehicle_id);
            key(a).cmp(&key(b)).then_with(ids)
        });
        let listing = |vehicle: &Vehicle| {
            Ok(Listing {
                json: Raw::new(vehicle)?,
                vehicle_id: vehicle.vehicle_id.as_deref().unwrap_or_default().into(),
                title: vehicle.title().into(),
                rooftop: vehicle.rooftop.as_deref().map(Into::into),
            })
        };
        let listings = vehicles.iter().map(listing).collect::<Result<_, _>>()?;
        let index = Index::new(&vehicles);
        Ok(Self {
            listings,
            all: index.count(&index.matches(&Filters::default(), None)),
            index,
            gone: Graveyard::new(gone),
        })
    }

    /// How many vehicles are on offer.
    #[must_use]
    pub fn len(&self) -> usize {
        self.listings.len()
    }

    /// Whether nothing is on offer.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.listings.is_empty()
    }

    /// A page of matches in the requested order, and what there is to say about it.
    #[must_use]
    pub(super) fn search(&self, search: &Search, policy: SearchPolicy) -> (SearchPage, Notes) {
        let wanted = search.limit.unwrap_or(policy.default_limit);
        let limit = wanted.min(policy.max_limit);
        let filters = &search.filters;
        let query = self.index.understand(filters);
        let matches = self.index.matches(filters, query.as_ref());
        let (skip, count) = (search.skip as usize, limit as usize);
        let rows = self.index.page(&matches, filters, search.sort, skip, count);
        let vehicles = rows.into_iter().filter_map(|row| self.listing(row));
        let page = SearchPage {
            total: matches.len(),
            skip: search.skip,
            limit,
            vehicles: vehicles.map(|listing| listing.json.clone()).collect(),
        };
        (page, self.index.notes(filters, query, matches.len()))
    }

    /// Counts over the matches. Values that fold together are counted together, under the spelling
    /// that is most frequent in the whole inventory; the most frequent come first.
    #[must_use]
    pub(super) fn facets(&self, filters: &Filters) -> (Facets, Notes) {
        let query = self.index.understand(filters);
        let matches = self.index.matches(filters, query.as_ref());
        let facets =
            if matches.len() == self.len() { self.all.clone() } else { self.index.count(&matches) };
        (facets, self.index.notes(filters, query, matches.len()))
    }

    /// The vehicle that the most specific matching identifier names: VIN before vehicle id before
    /// stock number (`R-IV-02`). A listing wins over a tombstone with the same identifier; the
    /// VIN of a unit that is gone wins over a stock number that another unit has now. A unit that
    /// left at `oldest` or before is forgotten: nothing matches it (C-23).
    #[must_use]
    pub fn find(&self, query: &VehicleQuery, oldest: Timestamp) -> Lookup<'_> {
        let by_vin = |vin: &String| {
            let listed = first(self.index.vin.find(vin));
            (listed, self.gone.vins.get(&identifier(vin)))
        };
        let by_id = |id: &String| {
            let listed = self.row_of(id);
            (listed, self.gone.vehicle_ids.get(id))
        };
        let by_stock = |stock: &String| {
            let listed = first(self.index.stock.find(stock));
            (listed, self.gone.stocks.get(&identifier(stock)))
        };
        let attempts = [
            query.vin.as_ref().map(by_vin),
            query.vehicle_id.as_ref().map(by_id),
            query.stock.as_ref().map(by_stock),
        ];
        for (listed, gone) in attempts.into_iter().flatten() {
            if let Some(listing) = listed.and_then(|row| self.listing(row)) {
                return Lookup::Listed(listing.found());
            }
            let gone = gone.and_then(|position| self.gone.units.get(*position));
            if let Some(unit) = gone.filter(|unit| unit.removed_at > oldest) {
                return Lookup::Gone(unit);
            }
        }
        Lookup::Unknown
    }

    /// Up to `count` vehicle ids of listings like a unit that is gone (`E-099`): same make and
    /// model first, then same make; the most recently confirmed first.
    #[must_use]
    pub fn similar(&self, gone: &Tombstone, count: usize) -> Vec<String> {
        let Some((make, model)) = &gone.make_model else {
            return Vec::new();
        };
        let model = self.index.model.code(model);
        let other_model = |row: u32| {
            let code = self.index.model.rows().code(row);
            model.is_none_or(|model| model != code)
        };
        let mut rows = self.index.make.find(make).to_vec();
        rows.sort_unstable_by_key(|row| (other_model(*row), *row));
        let listings = rows.into_iter().filter_map(|row| self.listing(row));
        let ids = listings.map(|listing| listing.vehicle_id.to_string());
        ids.take(count).collect()
    }

    fn listing(&self, row: u32) -> Option<&Listing> {
        self.listings.get(row as usize)
    }

    fn row_of(&self, vehicle_id: &str) -> Option<u32> {
        let id = |row: &u32| self.listing(*row).map(|listing| &*listing.vehicle_id);
        let by_id = &self.index.by_id;
        let place = by_id.partition_point(|row| id(row) < Some(vehicle_id));
        let row = by_id.get(place).copied();
        row.filter(|row| id(row) == Some(vehicle_id))
    }
}

impl Listing {
    fn found(&self) -> Found {
        Found {
            json: self.json.clone(),
            vehicle_id: self.vehicle_id.to_string(),
            title: self.title.to_string(),
            rooftop: self.rooftop.as_deref().map(str::to_owned),
        }
    }
}

impl Index {
    /// Indexes vehicles that are in the default order.
    fn new(vehicles: &[Vehicle]) -> Self {
        let mut by_id: Vec<(&Option<String>, u32)> =
            vehicles.iter().zip(0..).map(|(vehicle, row)| (&vehicle.vehicle_id, row)).collect();
        by_id.sort_unstable();
        let by_id: Vec<u32> = by_id.into_iter().map(|(_, row)| row).collect();
        let mut id_ranks = vec![0; by_id.len()];
        for (row, rank) in by_id.iter().zip(0..) {
            if let Some(place) = id_ranks.get_mut(*row as usize) {
                *place = rank;
            }
        }

        let text = |field, value: fn(&Vehicle) -> Option<&str>| {
            let values: Vec<Option<&str>> = vehicles.iter().map(value).collect();
            TextColumn::new(field, &values, &by_id)
        };
        let number = |value: fn(&Vehicle) -> Option<u32>| {
            let values: Vec<Option<u32>> = vehicles.iter().map(value).collect();
            Column::new(&values, &by_id)
        };
        let moments: Vec<Option<Timestamp>> = vehicles.iter().map(|v| v.updated_at).collect();
        let seats: Vec<_> = vehicles.iter().map(seats).collect();
        let of_seats = |value: fn(&crate::query::seats::Seats) -> Option<u32>| {
            let values: Vec<Option<u32>> = seats.iter().map(value).collect();
            Column::new(&values, &by_id)
        };
        let stock = text(Field::Identifier, |v| v.stock.as_deref());
        let vin = text(Field::Identifier, |v| v.vin.as_deref());
        let mut this = Self {
            make: text(Field::Make, |v| v.make.as_deref()),
            model: text(Field::Plain, |v| v.model.as_deref()),
            trim: text(Field::Plain, |v| v.trim.as_deref()),
            condition: text(Field::Condition, |v| v.condition.map(Vocabulary::name)),
            status: text(Field::Plain, |v| v.status.map(Vocabulary::name)),
            transmission: text(Field::Transmission, |v| v.transmission.as_deref()),
            fuel: text(Field::Fuel, |v| v.fuel.as_deref()),
            driveline: text(Field::Driveline, |v| v.driveline.as_deref()),
            body: text(Field::Body, |v| v.body.as_deref()),
            exterior_color: text(Field::Colour, |v| v.exterior_color.as_deref()),
            interior_color: text(Field::Colour, |v| v.interior_color.as_deref()),
            rooftop: text(Field::Plain, |v| v.rooftop.as_deref()),
            engine: text(Field::Plain, |v| v.engine.as_deref()),
            features: Features::new(vehicles),
            order: identifiers::Order::new(&stock, &vin),
            vin,
            stock,
            year: number(|v| v.year.map(u32::from)).for_ranges(),
            price: number(|v| v.price).for_ranges(),
            list_price: number(|v| v.list_price),
            msrp: number(|v| v.msrp),
            mileage: number(|v| v.mileage).for_ranges(),
            seats: of_seats(|seats| seats.seats),
            rows_of_seats: of_seats(|seats| seats.rows),
            updated_at: Column::new(&moments, &by_id),
            lexicon: Lexicon::default(),
            by_id,
            id_ranks,
        };
        this.lexicon = this.words();
        this
    }

    /// The words of the columns.
    fn words(&self) -> Lexicon {
        let mut lexicon = Lexicon::default();
        for attribute in Attribute::ALL.iter().copied() {
            if let Some(column) = self.text(attribute) {
                for (id, _) in (0..).zip(column.keys()) {
                    lexicon.add(Value { attribute, id }, column.spelling(id));
                }
            }
        }
        for (id, name) in self.features.names() {
            lexicon.add(Value { attribute: Attribute::Feature, id }, name);
        }
        let makes = self.make.rows().codes().iter();
        let mut pairs: Vec<_> = makes.zip(self.model.rows().codes()).collect();
        pairs.sort_unstable();
        pairs.dedup();
        for (make, model) in pairs {
            let (makes, models) = (self.make.spelling(*make), self.model.spelling(*model));
            if !makes.is_empty() {
                lexicon.add_pair((*make, makes), (*model, models));
            }
        }
        lexicon
    }

    /// The query of some filters, understood once.
    fn understand(&self, filters: &Filters) -> Option<Understood> {
        // A query of no characters is none.
        let query = filters.query.as_deref().filter(|query| !query.is_empty())?;
        Some(understand(query, &self.lexicon, self))
    }
}

impl Graveyard {
    fn new(mut units: Vec<Tombstone>) -> Self {
        units.sort_by(|a, b| {
            let key = |unit: &Tombstone| Reverse(unit.removed_at);
            let ids = || a.vehicle_id.cmp(&b.vehicle_id);
            key(a).cmp(&key(b)).then_with(ids)
        });
        let (mut vins, mut vehicle_ids, mut stocks) =
            (HashMap::new(), HashMap::new(), HashMap::new());
        for (position, unit) in units.iter().enumerate() {
            let known = |text: &Option<String>| {
                let key = text.as_deref().map(identifier);
                key.filter(|key| !key.is_empty())
            };
            if let Some(vin) = known(&unit.vin) {
                vins.entry(vin).or_insert(position);
            }
            if let Some(stock) = known(&unit.stock) {
                stocks.entry(stock).or_insert(position);
            }
            vehicle_ids.entry(unit.vehicle_id.clone()).or_insert(position);
        }
        Self { units, vins, vehicle_ids, stocks }
    }
}

/// The first of some rows in the default order.
fn first(rows: &[u32]) -> Option<u32> {
    rows.iter().min().copied()
}

fn identifier(text: &str) -> String {
    fold(Field::Identifier, text)
}
