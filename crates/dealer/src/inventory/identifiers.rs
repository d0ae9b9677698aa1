//! Stock numbers as they are said, and VINs by their end: orders in which they can be searched.

use super::column::{TextColumn, prefix_range};
use crate::query::fold::squeeze;

/// Identifiers in further orders.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// Stock numbers without punctuation, ascending, with their codes in the column.
    stocks: Vec<(Box<str>, u32)>,
    /// VINs written backwards, ascending, with their codes in the column.
    backwards: (Vec<Box<str>>, Vec<u32>),
}

impl Order {
    pub(super) fn new(stock: &TextColumn, vin: &TextColumn) -> Self {
        let mut stocks: Vec<(Box<str>, u32)> = stock
            .keys()
            .iter()
            .zip(0..)
            .map(|(key, code)| (squeeze(key).into(), code))
            .filter(|(key, _): &(Box<str>, u32)| !key.is_empty())
            .collect();
        stocks.sort_unstable();
        let vins = vin.keys().iter().map(|key| Box::from(reversed(key)));
        let mut vins: Vec<(Box<str>, u32)> = vins.zip(0..).collect();
        vins.sort_unstable();
        Self { stocks, backwards: vins.into_iter().unzip() }
    }

    /// The codes of a squeezed stock number.
    pub(super) fn stocks(&self, key: &str) -> impl Iterator<Item = u32> {
        let from = self.stocks.partition_point(|(stock, _)| **stock < *key);
        let rest = self.stocks.get(from..).unwrap_or_default().iter();
        rest.take_while(move |(stock, _)| **stock == *key).map(|(_, code)| *code)
    }

    /// The codes of the VINs that end so.
    pub(super) fn vins_ending(&self, end: &str) -> &[u32] {
        let (vins, codes) = &self.backwards;
        let range = prefix_range(vins, &reversed(end));
        codes.get(range.start as usize..range.end as usize).unwrap_or_default()
    }
}

fn reversed(text: &str) -> String {
    text.chars().rev().collect()
}
