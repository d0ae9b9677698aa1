//! The demo inventory: plausible, fictional and the same for the same seed.

use jiff::Timestamp;

use crate::aap::import::Unit;

/// `size` units on offer, and about one in twelve more that are sold, for the two rooftops of the
/// demo dealer. The same arguments give the same units.
#[must_use]
pub fn units(_size: usize, _seed: u64, _now: Timestamp) -> Vec<Unit> {
    Vec::new()
}
