//! Units that left the offer, and how they are found.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::Tombstone;
use crate::query::fold::{Field, fold};

/// Units that left the offer, by identifier; the latest to leave when several had the same.
#[derive(Debug, Default)]
pub(super) struct Graveyard {
    pub(super) units: Vec<Tombstone>,
    vins: HashMap<String, usize>,
    vehicle_ids: HashMap<String, usize>,
    stocks: HashMap<String, usize>,
}

impl Graveyard {
    pub(super) fn new(mut units: Vec<Tombstone>) -> Self {
        // The latest first, because below the first to have an identifier keeps it. Ties go by id,
        // so that the order does not depend on whoever lists them.
        units.sort_by(|a, b| {
            (Reverse(a.removed_at), &a.vehicle_id).cmp(&(Reverse(b.removed_at), &b.vehicle_id))
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
            // As it is written, like the ids of vehicles that are on offer.
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

    /// About how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        /// A unit with its texts, and its entries in three tables.
        const UNIT: usize = size_of::<Tombstone>() + 400;
        self.units.len() * UNIT
    }
}

fn identifier(text: &str) -> String {
    fold(Field::Identifier, text)
}
