//! Notation of numbers, dates and distances in a feed.

use tradepost_document::words;

pub use super::dates::DateForm;

words! {
    /// Decimal signs.
    pub enum DecimalSign {
        /// `9,000.50`; the default.
        Point = "point",
        /// `9.000,50`.
        Comma = "comma",
    }
}

words! {
    /// Units of distances.
    pub enum DistanceUnit {
        /// Miles; the default.
        Miles = "mi",
        /// Kilometres, which are converted to miles.
        Kilometres = "km",
    }
}

/// Notation of all columns of a feed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notation {
    /// Decimal sign.
    pub decimal: Option<DecimalSign>,
    /// Unit of distances without a unit in their row.
    pub distance: Option<DistanceUnit>,
    /// Format of dates.
    pub date: Option<DateForm>,
}

impl Notation {
    /// Merges two notations; this one wins.
    pub(super) fn or(self, other: &Self) -> Self {
        Self {
            decimal: self.decimal.or(other.decimal),
            distance: self.distance.or(other.distance),
            date: self.date.or_else(|| other.date.clone()),
        }
    }

    /// Returns the decimal sign.
    pub(super) fn sign(&self) -> DecimalSign {
        self.decimal.unwrap_or(DecimalSign::Point)
    }

    /// Returns the unit of distances without one.
    pub(super) fn unit(&self) -> &'static str {
        use tradepost_document::catalog::Vocabulary as _;
        self.distance.unwrap_or(DistanceUnit::Miles).name()
    }
}
