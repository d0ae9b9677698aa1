//! Reading inventory feeds: files become [`Unit`]s and a report of every row that did not.

use tradepost_wire::aap::Vehicle;

/// A unit of a feed.
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    /// The listing; it has `vehicle_id`, `status` and `updated_at`.
    pub vehicle: Vehicle,
    /// Whether the feed says that it is sold: it becomes a tombstone.
    pub sold: bool,
}
