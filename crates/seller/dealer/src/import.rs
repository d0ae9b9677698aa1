//! Reading of inventory feeds: a file becomes [`FeedListing`]s and a report of the rows that were skipped.
//!
//! A feed is the whole inventory: a vehicle that is not in it is no longer on offer. Tables, XML
//! and JSON are read, compressed or plain, and recognised by their content. A [`Mapping`], usually
//! that of a [`Preset`], assigns a meaning to each column. Every row becomes `columns::Cells`;
//! `owner_of` finds the dealer of the row, and `map` alone turns it into a listing. Feeds are
//! untrusted: they are read as a stream, rows have a maximum size, and no content stops the
//! program.

use std::io::{BufReader, Read, Seek};

use jiff::Timestamp;
use tradepost_aap::Vehicle;
use tradepost_document::words;

use crate::settings::DealerSettings;

mod collect;
mod columns;
mod container;
mod currency;
mod dates;
mod dealer_match;
mod decode;
mod fields;
mod json;
mod listing_keys;
mod map;
pub mod mapping;
mod minivan;
pub mod notation;
mod numbers;
mod packed_listings;
pub mod preset;
mod remembered;
pub mod report;
mod table;
mod text;
mod vin;
mod words;
mod xml;

use collect::RowSorter;
use container::CompressedFile;
use decode::FeedKind;
pub use mapping::Mapping;
pub use packed_listings::PackedListings;
pub use preset::Preset;
pub use report::{FeedReport, RowWarning, SkipReason, SkipReport};

/// Maximum size of a cell in bytes. A larger one is usually an opening quote without a closing one.
pub const MAX_CELL: usize = 64 * 1024;

/// Maximum size of a row in bytes, which bounds the memory for reading a file.
pub const MAX_ROW: u64 = 16 * 1024 * 1024;

/// A listing of a feed.
#[derive(Debug, Clone, PartialEq)]
pub struct FeedListing {
    /// The listing, with `vehicle_id`, `status` and `updated_at`.
    pub vehicle: Vehicle,
    /// True when the feed marks the listing as sold; it becomes a tombstone.
    pub sold: bool,
}

/// The dealer that a feed belongs to, as far as reading needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedTarget {
    /// Id of the dealer.
    pub dealer_id: String,
    /// Name of the dealer.
    pub name: String,
    /// Rooftops; at least one.
    pub rooftops: Vec<FeedRooftop>,
    /// Treatment of units with an incomplete price.
    pub price_truth: PricePolicy,
}

words! {
    /// Treatment of a unit whose price breaks a rule for complete prices (AAP 1.1, `R-PR-01`).
    pub enum PricePolicy {
        /// Offered, with a warning in the report.
        Warn = "warn",
        /// Not offered.
        Block = "block",
    }
}

/// A rooftop, as far as reading a feed needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedRooftop {
    /// Name of the rooftop.
    pub name: String,
    /// Other names that feeds use for it.
    pub feed_names: Vec<String>,
    /// Sum of its mandatory fees in whole US dollars.
    pub fees: u32,
}

impl FeedTarget {
    /// Extracts the data that reading needs from a dealer's settings.
    #[must_use]
    pub fn from_dealer(dealer: &DealerSettings) -> Self {
        let rooftops = dealer.rooftops.iter().map(|rooftop| FeedRooftop {
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

/// Result of reading a feed for one dealer.
#[derive(Debug, Clone, PartialEq)]
pub struct DealerFeed {
    /// Listings on offer and sold ones, in the order of the file. Vehicle ids, VINs, and the stock
    /// numbers within a rooftop are unique.
    pub listings: PackedListings,
    /// Report about every row.
    pub report: FeedReport,
}

/// Result of reading a file for one or more dealers.
#[derive(Debug, Clone, PartialEq)]
pub struct SortedFeed {
    /// One feed per target, in their order.
    pub feeds: Vec<DealerFeed>,
    /// Report about rows that could not be assigned to one of several dealers.
    pub unplaced: FeedReport,
    /// The mapping that was used, with every heading spelled out.
    pub mapping: Mapping,
}

/// Reason why a whole file cannot be read as a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedError {
    /// Message: a lower-case fragment.
    pub message: String,
    /// Details, one fragment each.
    pub lines: Vec<String>,
    /// Advice on what to do.
    pub hint: &'static str,
}

impl FeedError {
    fn new(message: impl Into<String>, hint: &'static str) -> Self {
        Self { message: message.into(), lines: Vec::new(), hint }
    }
}

impl std::fmt::Display for FeedError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        self.lines.iter().try_for_each(|line| write!(f, "; {line}"))
    }
}

impl std::error::Error for FeedError {}

/// Reads a feed with the preset that its headings suggest, as [`read_as`] does without a mapping.
///
/// # Errors
/// When the whole file is not a feed. A bad row is not an error; it is in the report.
pub fn read(
    source: impl Read + Seek,
    targets: &[FeedTarget],
    now: Timestamp,
) -> Result<SortedFeed, FeedError> {
    read_as(source, targets, None, now)
}

/// Reads a feed in two passes: the first detects the encoding, the second reads the rows. Every row
/// of the feed is as fresh as `now` (AAP 1.1 `inventory.search`, `R-IS-04`). With one target, a row
/// that names no dealer belongs to it; with several, each row has to name one. Without a `mapping`,
/// the headings determine the preset.
///
/// # Errors
/// When the whole file is not a feed. A bad row is not an error; it is in the report.
pub fn read_as(
    source: impl Read + Seek,
    targets: &[FeedTarget],
    mapping: Option<&Mapping>,
    now: Timestamp,
) -> Result<SortedFeed, FeedError> {
    let mut packed = CompressedFile::open(source)?;
    let first_pass =
        decode::detect(&mut BufReader::with_capacity(decode::CHUNK, packed.unpack()?))?;
    let mut sorter = RowSorter::new(targets, mapping, now, first_pass.encoding.name());
    if first_pass.replaced > 0 {
        let message = format!(
            "{} byte sequences are not {}",
            first_pass.replaced,
            first_pass.encoding.name()
        );
        sorter.warn_of_file(RowWarning::ReplacedCharacters, &message);
    }
    // Decompressed once more instead of kept from the first pass, because a feed may be larger than
    // the memory.
    let source = BufReader::with_capacity(decode::CHUNK, packed.unpack()?);
    let text = decode::Utf8::new(source, first_pass.encoding);
    match first_pass.kind {
        FeedKind::Json => {
            drop(text);
            // JSON members have no order: the type may follow all vehicles.
            let whole = BufReader::with_capacity(decode::CHUNK, packed.unpack()?);
            let is_aap = json::is_aap_response(decode::Utf8::new(whole, first_pass.encoding));
            let source = BufReader::with_capacity(decode::CHUNK, packed.unpack()?);
            json::read(decode::Utf8::new(source, first_pass.encoding), is_aap, &mut sorter)?;
        }
        FeedKind::Xml => xml::read(text, &mut sorter)?,
        FeedKind::Table => table::read(text, &mut sorter)?,
    }
    sorter.finish()
}

#[cfg(test)]
mod tests;
