//! Features of vehicles: each distinct one with its rows.

use std::collections::BTreeMap;

use tradepost_wire::aap::Vehicle;

use super::column::{at, index};
use crate::query::fold::tidy;

/// Features and where they occur.
#[derive(Debug, Default)]
pub(super) struct Features {
    /// Each distinct feature, ascending.
    names: Vec<Box<str>>,
    /// By feature: where its rows begin in `rows`. One more, for the end of the last.
    starts: Vec<u32>,
    rows: Vec<u32>,
}

impl Features {
    pub(super) fn new(vehicles: &[Vehicle]) -> Self {
        let mut found: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for (vehicle, row) in vehicles.iter().zip(0..) {
            for feature in &vehicle.features {
                let rows = found.entry(tidy(feature)).or_default();
                // A feature that a listing says twice is still one.
                if rows.last() != Some(&row) {
                    rows.push(row);
                }
            }
        }
        let mut this = Self { starts: vec![0], ..Self::default() };
        for (name, rows) in found {
            this.names.push(name.into());
            this.rows.extend(rows);
            this.starts.push(index(this.rows.len()));
        }
        this
    }

    /// The features with their ids.
    pub(super) fn names(&self) -> impl Iterator<Item = (u32, &str)> {
        (0..).zip(self.names.iter().map(AsRef::as_ref))
    }

    /// The rows with a feature, ascending.
    pub(super) fn rows(&self, id: u32) -> &[u32] {
        let (from, to) = (at(&self.starts, id), at(&self.starts, id.saturating_add(1)));
        self.rows.get(from as usize..to as usize).unwrap_or_default()
    }
}
