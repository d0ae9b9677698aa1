//! Reading inventory feeds: files become [`Unit`]s and a report of every row that did not.
//!
//! A feed is the whole inventory: what is not in it is no longer on offer. Two formats are read,
//! each told apart by its content: AAP JSON, and tables in the manner of HomeNet's export. Both
//! become `columns::Cells` row by row, and `map` alone decides what a row means. A feed is
//! hostile until proven otherwise: sizes are capped, and nothing in it stops the program.

use jiff::Timestamp;
use tradepost_wire::aap::Vehicle;

use crate::config::Dealer;

mod collect;
mod columns;
mod decode;
mod json;
mod map;
mod numbers;
pub mod report;
mod table;
mod vin;
mod words;

use collect::Collector;
pub use report::{Reason, Report, Skip, Warning};

/// The largest feed in bytes.
pub const MAX_BYTES: usize = 64 * 1024 * 1024;

/// The largest cell in bytes. A larger one is most often an opening quote without a closing one.
pub const MAX_CELL: usize = 64 * 1024;

/// A unit of a feed.
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    /// The listing; it has `vehicle_id`, `status` and `updated_at`.
    pub vehicle: Vehicle,
    /// Whether the feed says that it is sold: it becomes a tombstone.
    pub sold: bool,
}

/// Whose inventory a feed is, as far as reading it needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The dealer's id.
    pub dealer_id: String,
    /// Each rooftop's name and the sum of its mandatory fees; at least one.
    pub rooftops: Vec<(String, u32)>,
}

impl Target {
    /// What reading needs to know of a dealer.
    #[must_use]
    pub fn of(dealer: &Dealer) -> Self {
        let rooftops = dealer.rooftops.iter().map(|rooftop| {
            let fees = rooftop.fees.iter().fold(0u32, |sum, fee| sum.saturating_add(fee.amount));
            (rooftop.profile.name.clone(), fees)
        });
        Self { dealer_id: dealer.id.clone(), rooftops: rooftops.collect() }
    }
}

/// What a feed holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Feed {
    /// The units on offer and the sold ones, in the order of the file. Identifiers are unique:
    /// the vehicle ids, the VINs, and the stock numbers of each rooftop.
    pub units: Vec<Unit>,
    /// What became of each row.
    pub report: Report,
}

/// Why a file is no feed at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// What is wrong: a lowercase fragment.
    pub message: String,
    /// What to do about it.
    pub hint: &'static str,
}

impl Unreadable {
    fn new(message: impl Into<String>, hint: &'static str) -> Self {
        Self { message: message.into(), hint }
    }
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Unreadable {}

/// Reads a feed. Every row that the feed confirms is as fresh as `now` (`R-IS-04`).
///
/// # Errors
/// When the file as a whole is no feed. A bad row is no error: it is in the report.
pub fn read(bytes: &[u8], target: &Target, now: Timestamp) -> Result<Feed, Unreadable> {
    read_with(bytes, target, now, &mut |_, _| {})
}

/// Reads a feed and tells `progress` how many bytes of how many are done.
///
/// # Errors
/// As [`read`].
pub fn read_with(
    bytes: &[u8],
    target: &Target,
    now: Timestamp,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Feed, Unreadable> {
    if bytes.len() > MAX_BYTES {
        return Err(Unreadable::new(
            format!("the feed is larger than {} MiB", MAX_BYTES >> 20),
            "split it, or leave out what buyers do not see, such as invoices and option codes",
        ));
    }
    let decoded = decode::decode(bytes)?;
    let text = decoded.text.as_ref();
    let mut collector = Collector::new(target, now, decoded.encoding);
    if decoded.replaced > 0 {
        collector.report.warn(
            Warning::ReplacedCharacters,
            None,
            format!("{} byte sequences are not {}", decoded.replaced, decoded.encoding),
        );
    }
    if decode::is_json(text) {
        json::read(text, &mut collector, progress)?;
    } else {
        table::read(text, &mut collector, progress)?;
    }
    Ok(collector.finish())
}

#[cfg(test)]
mod tests;
