//! What searches look at: columns, orders and words.

use std::sync::OnceLock;

use jiff::Timestamp;
use tradepost_wire::aap::{Filters, Vehicle};
use tradepost_wire::catalog::Vocabulary;

use super::codes::{Codes, at, index};
use super::column::{Column, TextColumn, encode};
use super::features::Features;
use super::groups::Groups;
use super::identifiers;
use super::texts::Texts;
use crate::query::fold::Field;
use crate::query::seats::seats;
use crate::query::{Attribute, Lexicon, Understood, Value, understand};

/// What searches look at. Rows are numbered in the default order: `updated_at` descending, then
/// vehicle id (C-37).
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Vehicle ids, ascending.
    pub(super) ids: Texts,
    /// The rows by vehicle id.
    pub(super) by_id: Vec<u32>,
    /// By row: its position in `by_id`.
    pub(super) id_ranks: Vec<u32>,
    pub(super) make: TextColumn,
    pub(super) model: TextColumn,
    pub(super) trim: TextColumn,
    pub(super) condition: TextColumn,
    pub(super) status: TextColumn,
    pub(super) transmission: TextColumn,
    pub(super) fuel: TextColumn,
    pub(super) driveline: TextColumn,
    pub(super) body: TextColumn,
    pub(super) exterior_color: TextColumn,
    pub(super) interior_color: TextColumn,
    pub(super) rooftop: TextColumn,
    pub(super) vin: TextColumn,
    pub(super) stock: TextColumn,
    pub(super) year: Column,
    pub(super) price: Column,
    pub(super) list_price: Column,
    pub(super) msrp: Column,
    pub(super) mileage: Column,
    pub(super) seats: Column,
    pub(super) rows_of_seats: Column,
    pub(super) updated_at: Codes,
    pub(super) engine: TextColumn,
    pub(super) features: Features,
    pub(super) order: identifiers::Order,
    pub(super) lexicon: Lexicon,
    /// What facets count by, once somebody asks for those of some vehicles.
    pub(super) groups: OnceLock<Groups>,
}

impl Index {
    /// Indexes vehicles that are in the default order.
    pub(super) fn new(vehicles: &[Vehicle]) -> Self {
        let mut by_id: Vec<(&str, u32)> = vehicles
            .iter()
            .zip(0..)
            .map(|(vehicle, row)| (vehicle.vehicle_id.as_deref().unwrap_or_default(), row))
            .collect();
        by_id.sort_unstable();
        let ids: Texts = by_id.iter().map(|(id, _)| id).collect();
        let by_id: Vec<u32> = by_id.into_iter().map(|(_, row)| row).collect();

        let text = |field, value: fn(&Vehicle) -> Option<&str>| {
            let values: Vec<Option<&str>> = vehicles.iter().map(value).collect();
            TextColumn::new(field, &values, &by_id)
        };
        let number = |value: fn(&Vehicle) -> Option<u32>| {
            let values: Vec<Option<u32>> = vehicles.iter().map(value).collect();
            Column::new(&values, &by_id)
        };
        let filtered = |field, value| text(field, value).for_filters();
        let moments: Vec<Option<Timestamp>> = vehicles.iter().map(|v| v.updated_at).collect();
        let mut distinct: Vec<Timestamp> = moments.iter().flatten().copied().collect();
        distinct.sort_unstable();
        distinct.dedup();
        let seats: Vec<_> = vehicles.iter().map(seats).collect();
        let of_seats = |value: fn(&crate::query::seats::Seats) -> Option<u32>| {
            let values: Vec<Option<u32>> = seats.iter().map(value).collect();
            Column::new(&values, &by_id).for_filters()
        };
        let stock = text(Field::Identifier, |v| v.stock.as_deref());
        let vin = text(Field::Identifier, |v| v.vin.as_deref());
        let mut this = Self {
            make: text(Field::Make, |v| v.make.as_deref()),
            model: text(Field::Plain, |v| v.model.as_deref()),
            trim: filtered(Field::Plain, |v| v.trim.as_deref()),
            condition: filtered(Field::Condition, |v| v.condition.map(Vocabulary::name)),
            status: filtered(Field::Plain, |v| v.status.map(Vocabulary::name)),
            transmission: filtered(Field::Transmission, |v| v.transmission.as_deref()),
            fuel: filtered(Field::Fuel, |v| v.fuel.as_deref()),
            driveline: filtered(Field::Driveline, |v| v.driveline.as_deref()),
            body: filtered(Field::Body, |v| v.body.as_deref()),
            exterior_color: filtered(Field::Colour, |v| v.exterior_color.as_deref()),
            interior_color: filtered(Field::Colour, |v| v.interior_color.as_deref()),
            rooftop: filtered(Field::Plain, |v| v.rooftop.as_deref()),
            engine: filtered(Field::Plain, |v| v.engine.as_deref()),
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
            updated_at: encode(&moments, &distinct, &by_id),
            lexicon: Lexicon::default(),
            groups: OnceLock::new(),
            id_ranks: ranks(&by_id),
            ids,
            by_id,
        };
        this.lexicon = this.words();
        this
    }

    /// The row of a vehicle id.
    pub(super) fn row_of(&self, vehicle_id: &str) -> Option<u32> {
        self.by_id.get(self.ids.find(vehicle_id)? as usize).copied()
    }

    /// The vehicle id of a row.
    pub(super) fn vehicle_id(&self, row: u32) -> &str {
        self.ids.get(at(&self.id_ranks, row) as usize)
    }

    /// How many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        let texts = [
            &self.make,
            &self.model,
            &self.trim,
            &self.condition,
            &self.status,
            &self.transmission,
            &self.fuel,
            &self.driveline,
            &self.body,
            &self.exterior_color,
            &self.interior_color,
            &self.rooftop,
            &self.engine,
            &self.vin,
            &self.stock,
        ];
        let numbers = [
            &self.year,
            &self.price,
            &self.list_price,
            &self.msrp,
            &self.mileage,
            &self.seats,
            &self.rows_of_seats,
        ];
        self.ids.bytes()
            + (self.by_id.capacity() + self.id_ranks.capacity()) * size_of::<u32>()
            + texts.iter().map(|column| column.bytes()).sum::<usize>()
            + numbers.iter().map(|column| column.bytes()).sum::<usize>()
            + self.updated_at.bytes()
            + self.features.bytes()
            + self.order.bytes()
            + self.lexicon.bytes()
            + self.groups.get().map_or(0, Groups::bytes)
    }

    /// The words of the columns.
    pub(super) fn words(&self) -> Lexicon {
        let mut lexicon = Lexicon::default();
        for attribute in Attribute::ALL.iter().copied() {
            if let Some(column) = self.text(attribute) {
                for id in 0..column.rows().distinct() {
                    lexicon.add(Value { attribute, id }, column.spelling(id));
                }
            }
        }
        for (id, name) in self.features.names() {
            lexicon.add(Value { attribute: Attribute::Feature, id }, name);
        }
        let all = 0..index(self.by_id.len());
        let pair = |row| (self.make.rows().code(row), self.model.rows().code(row));
        let mut pairs: Vec<(u32, u32)> = all.map(pair).collect();
        pairs.sort_unstable();
        pairs.dedup();
        for (make, model) in pairs {
            let (makes, models) = (self.make.spelling(make), self.model.spelling(model));
            // A row without a make or without a model is a pair, too; what is absent has the empty
            // spelling.
            if !makes.is_empty() {
                lexicon.add_pair((make, makes), (model, models));
            }
        }
        lexicon
    }

    /// The query of some filters, understood once.
    pub(super) fn understand(&self, filters: &Filters) -> Option<Understood> {
        // A query of no characters is none.
        let query = filters.query.as_deref().filter(|query| !query.is_empty())?;
        Some(understand(query, &self.lexicon, self))
    }
}

/// By row: its place in a list of all rows.
pub(super) fn ranks(rows: &[u32]) -> Vec<u32> {
    let mut ranks = vec![0; rows.len()];
    for (row, rank) in rows.iter().zip(0..) {
        if let Some(place) = ranks.get_mut(*row as usize) {
            *place = rank;
        }
    }
    ranks
}
