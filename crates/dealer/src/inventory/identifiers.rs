//! Stock numbers as they are said, and VINs by their end: orders in which they can be searched.

use std::cmp::Ordering;

use super::column::TextColumn;
use super::texts::partition_point;
use crate::query::fold::squeeze;

/// Identifiers in further orders.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// The codes of stock numbers by what is left of them without punctuation.
    pub(super) stocks: Vec<u32>,
    /// The codes of VINs by how they read backwards.
    pub(super) backwards: Vec<u32>,
}

impl Order {
    pub(super) fn new(stock: &TextColumn, vin: &TextColumn) -> Self {
        let squeezed = stock.keys.iter().map(squeeze).zip(0..);
        let mut stocks: Vec<(String, u32)> = squeezed.filter(|(key, _)| !key.is_empty()).collect();
        stocks.sort_unstable();
        let mut backwards: Vec<u32> = vin.keys.iter().zip(0..).map(|(_, code)| code).collect();
        let key = |code: &u32| vin.keys.get(*code as usize);
        backwards.sort_unstable_by(|one, other| compare_ends(key(one), key(other)));
        Self { stocks: stocks.into_iter().map(|(_, code)| code).collect(), backwards }
    }

    /// The codes of a squeezed stock number.
    pub(super) fn stocks<'a>(
        &'a self,
        stock: &'a TextColumn,
        key: &'a str,
    ) -> impl Iterator<Item = u32> {
        // Squeezed anew at each of the few steps of a search, so that the squeezed texts need not
        // be kept.
        let squeezed = |code: u32| squeeze(stock.keys.get(code as usize));
        let code = |place: usize| self.stocks.get(place).copied().unwrap_or_default();
        let from = partition_point(self.stocks.len(), |place| *squeezed(code(place)) < *key);
        let rest = self.stocks.get(from..).unwrap_or_default().iter();
        rest.copied().take_while(move |code| squeezed(*code) == *key)
    }

    /// The codes of the VINs that end so.
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

    /// How many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        (self.stocks.capacity() + self.backwards.capacity()) * size_of::<u32>()
    }
}

/// Which of two texts is first when both are read backwards.
fn compare_ends(one: &str, other: &str) -> Ordering {
    one.chars().rev().cmp(other.chars().rev())
}
