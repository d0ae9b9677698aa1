//! Reading inventory feeds: files become [`Unit`]s and a report of every row that did not.
//!
//! A feed is the whole inventory: what is not in it is no longer on offer. Tables, XML and JSON are
//! read, packed or plain, each told apart by its content. A [`Mapping`] says what its columns are
//! about, most often that of a [`Preset`]; all become `columns::Cells` row by row, `whose` says which
//! dealer a row belongs to, and `map` alone decides what it means. A feed is hostile until proven otherwise: it is read as a stream, a row
//! has a greatest size, and nothing in it stops the program.

use std::io::{BufReader, Read, Seek};

use jiff::Timestamp;
use tradepost_wire::aap::Vehicle;
use tradepost_wire::words;

use crate::settings::Dealer;

mod collect;
mod columns;
mod container;
mod currency;
mod dates;
mod decode;
mod fields;
mod heads;
mod json;
mod map;
pub mod mapping;
mod minivan;
pub mod notation;
mod numbers;
pub mod preset;
mod remembered;
pub mod report;
mod table;
mod text;
mod units;
mod vin;
mod whose;
mod words;
mod xml;

use collect::Sorter;
use container::Packed;
use decode::Kind;
pub use mapping::Mapping;
pub use preset::Preset;
pub use report::{Reason, Report, Skip, Warning};
pub use units::Units;

/// The largest cell in bytes. A larger one is most often an opening quote without a closing one.
pub const MAX_CELL: usize = 64 * 1024;

/// The largest row in bytes: no more of a file is in memory at once.
pub const MAX_ROW: u64 = 16 * 1024 * 1024;

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
    /// The dealer's name.
    pub name: String,
    /// Its rooftops; at least one.
    pub rooftops: Vec<Rooftop>,
    /// What becomes of a unit whose price is not the whole truth.
    pub price_truth: PriceTruth,
}

words! {
    /// What becomes of a unit whose price breaks a rule of price truth (`R-PR-01`).
    pub enum PriceTruth {
        /// It is offered, and the report says so.
        Warn = "warn",
        /// It is not offered.
        Block = "block",
    }
}

/// A rooftop, as far as reading a feed needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rooftop {
    /// Its name.
    pub name: String,
    /// What else feeds call it.
    pub feed_names: Vec<String>,
    /// The sum of its mandatory fees, whole US dollars.
    pub fees: u32,
}

impl Target {
    /// What reading needs to know of a dealer.
    #[must_use]
    pub fn of(dealer: &Dealer) -> Self {
        let rooftops = dealer.rooftops.iter().map(|rooftop| Rooftop {
            name: rooftop.profile.name.clone(),
            feed_names: rooftop.feed_names.clone(),
            fees: rooftop.fees.iter().fold(0u32, |sum, fee| sum.saturating_add(fee.amount)),
        });
        Self {
            dealer_id: dealer.id.clone(),
            name: dealer.name.clone(),
            rooftops: rooftops.collect(),
            price_truth: dealer.price_truth,
        }
    }
}

/// What a feed holds for one dealer.
#[derive(Debug, Clone, PartialEq)]
pub struct Feed {
    /// The units on offer and the sold ones, in the order of the file. Identifiers are unique:
    /// the vehicle ids, the VINs, and the stock numbers of each rooftop.
    pub units: Units,
    /// What became of each row.
    pub report: Report,
}

/// What a file holds for one dealer or several.
#[derive(Debug, Clone, PartialEq)]
pub struct Sorted {
    /// A feed for each target, in their order.
    pub feeds: Vec<Feed>,
    /// What became of rows of which it is not known which of several dealers they belong to.
    pub unplaced: Report,
    /// How its headings were understood, each of them spelled out.
    pub mapping: Mapping,
}

/// Why a file is no feed at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// What is wrong: a lowercase fragment.
    pub message: String,
    /// What was found, one fragment for each.
    pub lines: Vec<String>,
    /// What to do about it.
    pub hint: &'static str,
}

impl Unreadable {
    fn new(message: impl Into<String>, hint: &'static str) -> Self {
        Self { message: message.into(), lines: Vec::new(), hint }
    }
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        self.lines.iter().try_for_each(|line| write!(f, "; {line}"))
    }
}

impl std::error::Error for Unreadable {}

/// Reads a feed by what its headings look like, as [`read_as`] does.
///
/// # Errors
/// When the file as a whole is no feed. A bad row is no error: it is in the report.
pub fn read(
    source: impl Read + Seek,
    targets: &[Target],
    now: Timestamp,
) -> Result<Sorted, Unreadable> {
    read_as(source, targets, None, now)
}

/// Reads a feed, in two passes: one finds out the encoding, the other reads the rows. Every row
/// that the feed confirms is as fresh as `now` (`R-IS-04`). With one target, a row that names
/// nobody is the target's; with several, each row has to name one of them. Without a `mapping`, the
/// headings tell which preset it is.
///
/// # Errors
/// When the file as a whole is no feed. A bad row is no error: it is in the report.
pub fn read_as(
    source: impl Read + Seek,
    targets: &[Target],
    mapping: Option<&Mapping>,
    now: Timestamp,
) -> Result<Sorted, Unreadable> {
    let mut packed = Packed::open(source)?;
    let survey = decode::survey(&mut BufReader::with_capacity(decode::CHUNK, packed.unpack()?))?;
    let mut sorter = Sorter::new(targets, mapping, now, survey.encoding.name());
    if survey.replaced > 0 {
        let message =
            format!("{} byte sequences are not {}", survey.replaced, survey.encoding.name());
        sorter.warn_of_file(Warning::ReplacedCharacters, &message);
    }
    // Unpacked once more and not kept from the first pass: a feed may be larger than the memory.
    let source = BufReader::with_capacity(decode::CHUNK, packed.unpack()?);
    let text = decode::Utf8::new(source, survey.encoding);
    match survey.kind {
        Kind::Json => {
            drop(text);
            // Members have no order: the type may stand behind all vehicles.
            let whole = BufReader::with_capacity(decode::CHUNK, packed.unpack()?);
            let is_aap = json::is_aap_response(decode::Utf8::new(whole, survey.encoding));
            let source = BufReader::with_capacity(decode::CHUNK, packed.unpack()?);
            json::read(decode::Utf8::new(source, survey.encoding), is_aap, &mut sorter)?;
        }
        Kind::Xml => xml::read(text, &mut sorter)?,
        Kind::Table => table::read(text, &mut sorter)?,
    }
    sorter.finish()
}

#[cfg(test)]
mod tests;
