//! What listings say, gathered one after another until an index is made of it: no listing has to be in
//! memory as a whole but the one that is looked at.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use tradepost_wire::aap::Vehicle;
use tradepost_wire::catalog::Vocabulary;

use super::codes::{ABSENT, index};
use super::texts::Texts;
use crate::query::fold::{Field, fold, tidy};
use crate::query::seats::seats;

/// What listings say, by row.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    rows: u32,
    pub(super) ids: Texts,
    pub(super) make: Words,
    pub(super) model: Words,
    pub(super) trim: Words,
    pub(super) condition: Words,
    pub(super) status: Words,
    pub(super) transmission: Words,
    pub(super) fuel: Words,
    pub(super) driveline: Words,
    pub(super) body: Words,
    pub(super) exterior_color: Words,
    pub(super) interior_color: Words,
    pub(super) rooftop: Words,
    pub(super) engine: Words,
    /// Folded; empty where there is none.
    pub(super) vin: Texts,
    /// Likewise.
    pub(super) stock: Texts,
    pub(super) year: Vec<Option<u32>>,
    pub(super) price: Vec<Option<u32>>,
    pub(super) list_price: Vec<Option<u32>>,
    pub(super) msrp: Vec<Option<u32>>,
    pub(super) mileage: Vec<Option<u32>>,
    pub(super) seats: Vec<Option<u32>>,
    pub(super) rows_of_seats: Vec<Option<u32>>,
    pub(super) updated_at: Vec<Option<Timestamp>>,
    /// The rows of each.
    pub(super) features: BTreeMap<String, Vec<u32>>,
}

impl Gathered {
    /// Adds a listing as the last row.
    pub(super) fn push(&mut self, vehicle: &Vehicle) {
        let identifier =
            |text: &Option<String>| text.as_deref().map(|text| fold(Field::Identifier, text));
        self.ids.push(vehicle.vehicle_id.as_deref().unwrap_or_default());
        self.vin.push(&identifier(&vehicle.vin).unwrap_or_default());
        self.stock.push(&identifier(&vehicle.stock).unwrap_or_default());
        self.make.push(vehicle.make.as_deref());
        self.model.push(vehicle.model.as_deref());
        self.trim.push(vehicle.trim.as_deref());
        self.condition.push(vehicle.condition.map(Vocabulary::name));
        self.status.push(vehicle.status.map(Vocabulary::name));
        self.transmission.push(vehicle.transmission.as_deref());
        self.fuel.push(vehicle.fuel.as_deref());
        self.driveline.push(vehicle.driveline.as_deref());
        self.body.push(vehicle.body.as_deref());
        self.exterior_color.push(vehicle.exterior_color.as_deref());
        self.interior_color.push(vehicle.interior_color.as_deref());
        self.rooftop.push(vehicle.rooftop.as_deref());
        self.engine.push(vehicle.engine.as_deref());
        self.year.push(vehicle.year.map(u32::from));
        self.price.push(vehicle.price);
        self.list_price.push(vehicle.list_price);
        self.msrp.push(vehicle.msrp);
        self.mileage.push(vehicle.mileage);
        let seats = seats(vehicle);
        self.seats.push(seats.seats);
        self.rows_of_seats.push(seats.rows);
        self.updated_at.push(vehicle.updated_at);
        for feature in &vehicle.features {
            let rows = self.features.entry(tidy(feature)).or_default();
            // A feature that a listing says twice is still one.
            if rows.last() != Some(&self.rows) {
                rows.push(self.rows);
            }
        }
        self.rows += 1;
    }

    /// The rows in the default order: `updated_at` descending, then vehicle id (C-37). `None` where they
    /// are in it.
    pub(super) fn default_order(&self) -> Option<Vec<u32>> {
        let key = |row: &u32| {
            let moment = self.updated_at.get(*row as usize).copied().flatten();
            (Reverse(moment), self.ids.get(*row as usize))
        };
        let all = 0..self.rows;
        if all.clone().is_sorted_by_key(|row| key(&row)) {
            return None;
        }
        let mut order: Vec<u32> = all.collect();
        order.sort_by(|one, other| key(one).cmp(&key(other)));
        Some(order)
    }

    /// Puts the rows into another order.
    pub(super) fn put_in(&mut self, order: &[u32]) {
        for texts in [&mut self.ids, &mut self.vin, &mut self.stock] {
            *texts = order.iter().map(|row| texts.get(*row as usize)).collect();
        }
        for words in [
            &mut self.make,
            &mut self.model,
            &mut self.trim,
            &mut self.condition,
            &mut self.status,
            &mut self.transmission,
            &mut self.fuel,
            &mut self.driveline,
            &mut self.body,
            &mut self.exterior_color,
            &mut self.interior_color,
            &mut self.rooftop,
            &mut self.engine,
        ] {
            words.rows = ordered(&words.rows, order);
        }
        for numbers in [
            &mut self.year,
            &mut self.price,
            &mut self.list_price,
            &mut self.msrp,
            &mut self.mileage,
            &mut self.seats,
            &mut self.rows_of_seats,
        ] {
            *numbers = ordered(numbers, order);
        }
        self.updated_at = ordered(&self.updated_at, order);
        let ranks = super::index::ranks(order);
        for rows in self.features.values_mut() {
            for row in rows.iter_mut() {
                *row = super::codes::at(&ranks, *row);
            }
            rows.sort_unstable();
        }
    }
}

fn ordered<T: Copy>(all: &[T], order: &[u32]) -> Vec<T> {
    order.iter().filter_map(|row| all.get(*row as usize).copied()).collect()
}

/// The texts of an attribute, of which each is kept once: few, however many rows have one.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// The number of each.
    known: HashMap<Box<str>, u32>,
    /// By number: how many rows have it.
    counts: Vec<usize>,
    /// By row: the number of its text, or [`ABSENT`].
    pub(super) rows: Vec<u32>,
}

impl Words {
    /// Adds what the next row says.
    pub(super) fn push(&mut self, text: Option<&str>) {
        let number = text.map_or(ABSENT, |text| {
            let number = self.known.get(text).copied().unwrap_or_else(|| {
                let number = index(self.counts.len());
                self.known.insert(text.into(), number);
                self.counts.push(0);
                number
            });
            if let Some(count) = self.counts.get_mut(number as usize) {
                *count += 1;
            }
            number
        });
        self.rows.push(number);
    }

    /// Each text with its number, and how many rows have it; in no order.
    pub(super) fn counted(&self) -> impl Iterator<Item = (&str, u32, usize)> {
        self.known.iter().map(|(text, number)| {
            (&**text, *number, self.counts.get(*number as usize).copied().unwrap_or_default())
        })
    }
}

impl<'t> FromIterator<Option<&'t str>> for Words {
    fn from_iter<I: IntoIterator<Item = Option<&'t str>>>(texts: I) -> Self {
        let mut words = Self::default();
        texts.into_iter().for_each(|text| words.push(text));
        words
    }
}
