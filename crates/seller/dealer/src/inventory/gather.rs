//! Collection of the values of listings, from which an index is built. Only one listing at a time
//! is in memory as a whole.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use tradepost_aap::Vehicle;

use super::codes::{ABSENT, index};
use super::columns::{ByNumber, ByText};
use super::texts::Texts;
use crate::query::fold::{TextKind, fold, tidy};
use crate::query::seats::seats;
use crate::query::stated::stated_numbers;

/// Values of listings by row.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    rows: u32,
    pub(super) ids: Texts,
    pub(super) texts: ByText<InternedTexts>,
    /// Folded VINs; empty where there is none.
    pub(super) vin: Texts,
    /// Folded stock numbers; empty where there is none.
    pub(super) stock: Texts,
    pub(super) numbers: ByNumber<Vec<Option<u32>>>,
    pub(super) updated_at: Vec<Option<Timestamp>>,
    /// Rows by feature.
    pub(super) features: BTreeMap<String, Vec<u32>>,
}

impl Gathered {
    /// Adds a listing as the last row.
    pub(super) fn push(&mut self, vehicle: &Vehicle) {
        let identifier =
            |text: &Option<String>| text.as_deref().map(|text| fold(TextKind::Identifier, text));
        self.ids.push(vehicle.vehicle_id.as_deref().unwrap_or_default());
        self.vin.push(&identifier(&vehicle.vin).unwrap_or_default());
        self.stock.push(&identifier(&vehicle.stock).unwrap_or_default());
        self.texts.push(vehicle);
        self.numbers.push(vehicle, seats(vehicle), stated_numbers(vehicle));
        self.updated_at.push(vehicle.updated_at);
        for feature in &vehicle.features {
            let rows = self.features.entry(tidy(feature)).or_default();
            // A feature that a listing repeats counts once.
            if rows.last() != Some(&self.rows) {
                rows.push(self.rows);
            }
        }
        self.rows += 1;
    }

    /// Returns the rows in the default order: `updated_at` descending, then vehicle id (C-37).
    /// `None` when they already are.
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

    /// Reorders the rows.
    pub(super) fn reorder(&mut self, order: &[u32]) {
        for texts in [&mut self.ids, &mut self.vin, &mut self.stock] {
            *texts = order.iter().map(|row| texts.get(*row as usize)).collect();
        }
        for words in self.texts.each_mut() {
            words.rows = ordered(&words.rows, order);
        }
        for numbers in self.numbers.each_mut() {
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

/// Texts of an attribute, interned: few distinct ones, however many rows.
#[derive(Debug, Default)]
pub(super) struct InternedTexts {
    /// Number of each text.
    known: HashMap<Box<str>, u32>,
    /// Number of rows by text number.
    counts: Vec<usize>,
    /// Text number by row, or [`ABSENT`].
    pub(super) rows: Vec<u32>,
}

impl InternedTexts {
    /// Adds the text of the next row.
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

    /// Iterates over the texts with their numbers and row counts, in no order.
    pub(super) fn counted(&self) -> impl Iterator<Item = (&str, u32, usize)> {
        self.known.iter().map(|(text, number)| {
            (&**text, *number, self.counts.get(*number as usize).copied().unwrap_or_default())
        })
    }
}

impl<'t> FromIterator<Option<&'t str>> for InternedTexts {
    fn from_iter<I: IntoIterator<Item = Option<&'t str>>>(texts: I) -> Self {
        let mut words = Self::default();
        texts.into_iter().for_each(|text| words.push(text));
        words
    }
}
