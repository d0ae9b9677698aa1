//! Lookups of an inventory while a query is read.

use super::bitmap::Bitmap;
use super::index::SearchIndex;
use crate::query::{
    Attribute, AttributeValue, InventoryLookups, NumericAttribute, RequiredPhrase, Resemblance,
};

impl SearchIndex {
    /// Returns the rows that satisfy every one of some conditions.
    fn rows_of<'a>(&self, wants: impl IntoIterator<Item = &'a RequiredPhrase>) -> Bitmap {
        let all = self.by_id.len();
        let mut set = Bitmap::full(all);
        for want in wants {
            set.intersect(&self.constraint(want).to_bitmap(all));
        }
        set
    }

    /// Returns the values that some rows have of an attribute.
    fn values_among(&self, attribute: Attribute, rows: &Bitmap) -> Vec<AttributeValue> {
        let Some(column) = self.text(attribute) else { return Vec::new() };
        let codes = rows.rows().map(|row| column.rows.code(row));
        let mut codes: Vec<u32> = codes.filter(|code| *code < column.rows.distinct()).collect();
        codes.sort_unstable();
        codes.dedup();
        codes.into_iter().map(|id| AttributeValue { attribute, id }).collect()
    }

    /// Returns the median of a number among some rows.
    fn median(&self, number: NumericAttribute, rows: &Bitmap) -> Option<u32> {
        let column = self.number(number);
        let value = |row: u32| column.keys.get(column.rows.code(row) as usize).copied();
        let mut values: Vec<u32> = rows.rows().filter_map(value).collect();
        values.sort_unstable();
        let upper = *values.get(values.len() / 2)?;
        let lower = *values.get(values.len().saturating_sub(1) / 2)?;
        Some(lower + (upper - lower) / 2)
    }
}

impl InventoryLookups for SearchIndex {
    fn states(&self, number: NumericAttribute) -> bool {
        !self.number(number).keys.is_empty()
    }

    fn stated_by(&self, number: NumericAttribute) -> usize {
        let rows = &self.number(number).rows;
        (0_u32..).take(self.listings()).filter(|row| rows.code(*row) < rows.distinct()).count()
    }

    fn listings(&self) -> usize {
        self.by_id.len()
    }

    fn resemblance(&self, names: &[RequiredPhrase]) -> Option<Resemblance> {
        let rows = self.rows_of(names);
        if rows.len() == 0 {
            return None;
        }
        let mut bodies = Vec::new();
        let mut body_names: Vec<String> = Vec::new();
        for body in self.values_among(Attribute::Body, &rows) {
            let name = self.lexicon.name(body);
            bodies.extend(self.lexicon.like(body));
            if !body_names.iter().any(|known| known == name) {
                body_names.push(name.to_owned());
            }
        }
        Some(Resemblance {
            bodies,
            body_names,
            seats: self.median(NumericAttribute::Seats, &rows),
            price: self.median(NumericAttribute::Price, &rows),
        })
    }

    fn makes(&self, names: &[RequiredPhrase]) -> Vec<AttributeValue> {
        self.values_among(Attribute::Make, &self.rows_of(names))
    }

    fn has_both(&self, one: &RequiredPhrase, other: &RequiredPhrase) -> bool {
        self.rows_of([one, other]).len() > 0
    }

    fn has_stock(&self, key: &str) -> bool {
        self.order.stocks(&self.stock, key).next().is_some()
    }

    fn vin_ends(&self, end: &str) -> bool {
        !self.order.vins_ending(&self.vin, end).is_empty()
    }

    fn vin_starts(&self, start: &str) -> bool {
        !self.vin.starting_with(start).is_empty()
    }
}
