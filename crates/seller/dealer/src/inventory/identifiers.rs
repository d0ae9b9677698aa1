//! Search orders for identifiers: stock numbers without punctuation, and VINs by their last
//! characters.

use std::cmp::Ordering;

use super::column::TextColumn;
use super::texts::partition_point;
use crate::query::fold::phrase_key;

/// Identifiers in further orders.
#[derive(Debug, Default)]
pub(super) struct IdentifierOrders {
    /// Codes of stock numbers, ordered by their text without punctuation.
    pub(super) stocks: Vec<u32>,
    /// Codes of VINs, ordered by their reversed text.
    pub(super) backwards: Vec<u32>,
}

impl IdentifierOrders {
    pub(super) fn new(stock: &TextColumn, vin: &TextColumn) -> Self {
        let keyed = stock.keys.iter().map(phrase_key).zip(0..);
        let mut stocks: Vec<(String, u32)> = keyed.filter(|(key, _)| !key.is_empty()).collect();
        stocks.sort_unstable();
        let mut backwards: Vec<u32> = vin.keys.iter().zip(0..).map(|(_, code)| code).collect();
        let key = |code: &u32| vin.keys.get(*code as usize);
        backwards.sort_unstable_by(|one, other| compare_ends(key(one), key(other)));
        Self { stocks: stocks.into_iter().map(|(_, code)| code).collect(), backwards }
    }

    /// Returns the codes of stock numbers that equal `key` without punctuation.
    pub(super) fn stocks<'a>(
        &'a self,
        stock: &'a TextColumn,
        key: &'a str,
    ) -> impl Iterator<Item = u32> {
        // Punctuation is removed at each of the few steps of a search, so that the phrase keys
        // need no memory.
        let key_of = |code: u32| phrase_key(stock.keys.get(code as usize));
        let code = |place: usize| self.stocks.get(place).copied().unwrap_or_default();
        let from = partition_point(self.stocks.len(), |place| *key_of(code(place)) < *key);
        let rest = self.stocks.get(from..).unwrap_or_default().iter();
        rest.copied().take_while(move |code| key_of(*code) == *key)
    }

    /// Returns the codes of the VINs with this ending.
    pub(super) fn vins_ending(&self, vin: &TextColumn, end: &str) -> &[u32] {
        let text = |place: usize| {
            vin.keys.get(self.backwards.get(place).copied().unwrap_or_default() as usize)
        };
        let is_before = |text: &str| compare_ends(text, end) == Ordering::Less;
        let all = self.backwards.len();
        let from = partition_point(all, |place| is_before(text(place)));
        let to = partition_point(all, |place| is_before(text(place)) || text(place).ends_with(end));
        self.backwards.get(from..to).unwrap_or_default()
    }

    /// Returns its memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        (self.stocks.capacity() + self.backwards.capacity()) * size_of::<u32>()
    }
}

/// Compares two texts read backwards.
fn compare_ends(one: &str, other: &str) -> Ordering {
    one.chars().rev().cmp(other.chars().rev())
}
