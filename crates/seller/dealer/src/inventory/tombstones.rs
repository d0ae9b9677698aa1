//! Tombstones of units that left the offer, and lookups by identifier.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::Tombstone;
use crate::query::fold::{TextKind, fold};

/// Tombstones by identifier; the latest removal wins when several share one.
#[derive(Debug, Default)]
pub(super) struct Tombstones {
    pub(super) units: Vec<Tombstone>,
    vins: HashMap<String, usize>,
    vehicle_ids: HashMap<String, usize>,
    stocks: HashMap<String, usize>,
}

impl Tombstones {
    pub(super) fn new(mut units: Vec<Tombstone>) -> Self {
        // Latest removal first, because the first unit with an identifier keeps it below. Ties are
        // ordered by id, so that the order of the input does not matter.
        units.sort_by(|a, b| {
            (Reverse(a.removed_at), &a.vehicle_id).cmp(&(Reverse(b.removed_at), &b.vehicle_id))
        });
        let mut vins = HashMap::new();
        let mut vehicle_ids = HashMap::new();
        let mut stocks = HashMap::new();
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
            // Not folded, like the ids of vehicles on offer.
            vehicle_ids.entry(unit.vehicle_id.clone()).or_insert(position);
        }
        Self { units, vins, vehicle_ids, stocks }
    }

    pub(super) fn by_vin(&self, vin: &str) -> Option<&Tombstone> {
        self.units.get(*self.vins.get(&identifier(vin))?)
    }

    pub(super) fn by_vehicle_id(&self, vehicle_id: &str) -> Option<&Tombstone> {
        self.units.get(*self.vehicle_ids.get(vehicle_id)?)
    }

    pub(super) fn by_stock(&self, stock: &str) -> Option<&Tombstone> {
        self.units.get(*self.stocks.get(&identifier(stock))?)
    }

    /// Returns an estimate of its memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        /// Bytes of a unit with its texts and its entries in three tables.
        const UNIT: usize = size_of::<Tombstone>() + 400;
        self.units.len() * UNIT
    }
}

fn identifier(text: &str) -> String {
    fold(TextKind::Identifier, text)
}
