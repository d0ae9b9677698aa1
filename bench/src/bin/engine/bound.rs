//! What no facets can be faster than, when every row has to be looked at: the codes of the columns that they
//! count, read once at the bandwidth of memory.

use std::collections::HashSet;
use std::hash::Hash;
use std::time::{Duration, Instant};

use tradepost_aap::Vehicle;

use crate::vehicles::BenchInventory;

/// More than any cache holds.
const BUFFER: usize = 256 * 1024 * 1024;

pub struct Bound {
    /// How many bytes the columns have.
    bytes: usize,
    buffer: Vec<u64>,
}

impl Bound {
    pub fn from_inventory(inventory: &BenchInventory) -> Self {
        let all = &inventory.vehicles;
        let texts: [fn(&Vehicle) -> &Option<String>; 10] = [
            |vehicle| &vehicle.make,
            |vehicle| &vehicle.model,
            |vehicle| &vehicle.trim,
            |vehicle| &vehicle.transmission,
            |vehicle| &vehicle.fuel,
            |vehicle| &vehicle.driveline,
            |vehicle| &vehicle.body,
            |vehicle| &vehicle.exterior_color,
            |vehicle| &vehicle.interior_color,
            |vehicle| &vehicle.rooftop,
        ];
        let texts = texts.map(|text| width(all.iter().map(text)));
        let rest = [
            width(all.iter().map(|vehicle| vehicle.year)),
            width(all.iter().map(|vehicle| vehicle.condition.map(|condition| condition as u8))),
            width(all.iter().map(|vehicle| vehicle.status.map(|status| status as u8))),
            width(all.iter().map(|vehicle| vehicle.price)),
            width(all.iter().map(|vehicle| vehicle.mileage)),
        ];
        let each: usize = texts.iter().chain(&rest).sum();
        Self { bytes: each * all.len(), buffer: (0..BUFFER as u64 / 8).collect() }
    }

    /// How long it takes to read them once.
    pub fn read_once(&self) -> Duration {
        let read = || {
            let begun = Instant::now();
            let sum = self.buffer.iter().fold(0_u64, |sum, word| sum.wrapping_add(*word));
            std::hint::black_box(sum);
            begun.elapsed()
        };
        // The fastest of several: what others do on the machine makes it slower, and nothing faster.
        let whole = (0..7).map(|_| read()).min().unwrap_or_default();
        whole.mul_f64(self.bytes as f64 / BUFFER as f64)
    }
}

/// How many bytes a code of a column has.
fn width<T: Eq + Hash>(values: impl Iterator<Item = T>) -> usize {
    match values.collect::<HashSet<T>>().len() {
        0..=255 => 1,
        256..=65_535 => 2,
        _ => 4,
    }
}
