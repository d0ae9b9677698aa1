//! Searches of buyers' agents that found no vehicle: their texts without personal parts, counted by day.

use jiff::Timestamp;
use tradepost_dealer::empty_search::EmptySearchText;

/// Maximum number of texts that are kept for a dealer and a day; further ones are only counted.
pub const TEXTS_OF_A_DAY: u32 = 200;

/// Searches with the same text that found nothing on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmptySearchCount {
    /// The dealer.
    pub dealer_id: String,
    /// Moment at which the day began at the dealer's first rooftop.
    pub day: Timestamp,
    /// The text with its latest reading; `None` for texts that are only counted.
    pub search: Option<EmptySearch>,
    /// Number of searches.
    pub asked: i64,
}

/// A search that found nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmptySearch {
    /// Text of the question and its filters.
    pub text: EmptySearchText,
    /// Reading of the question.
    pub reading: EmptySearchText,
}
