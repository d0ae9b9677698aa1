//! How a feed writes numbers, dates and distances, where a mapping says so.

use tradepost_wire::words;

pub use super::dates::DateForm;

words! {
    /// What stands before the fraction of a number.
    pub enum DecimalSign {
        /// `9,000.50`; what is not said.
        Point = "point",
        /// `9.000,50`.
        Comma = "comma",
    }
}

words! {
    /// What distances are counted in.
    pub enum DistanceUnit {
        /// Miles; what is not said.
        Miles = "mi",
        /// Kilometres, which are converted to miles.
        Kilometres = "km",
    }
}

/// How a feed writes what a mapping does not say of one column alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notation {
    /// What stands before the fraction of a number.
    pub decimal: Option<DecimalSign>,
    /// What distances are counted in where a row does not say it.
    pub distance: Option<DistanceUnit>,
    /// How dates are written.
    pub date: Option<DateForm>,
}

impl Notation {
    /// This one, and what it does not say from the other.
    pub(super) fn or(self, other: &Self) -> Self {
        Self {
            decimal: self.decimal.or(other.decimal),
            distance: self.distance.or(other.distance),
            date: self.date.or_else(|| other.date.clone()),
        }
    }

    /// What stands before the fraction of a number.
    pub(super) fn sign(&self) -> DecimalSign {
        self.decimal.unwrap_or(DecimalSign::Point)
    }

    /// The unit of a distance that has none.
    pub(super) fn unit(&self) -> &'static str {
        use tradepost_wire::catalog::Vocabulary as _;
        self.distance.unwrap_or(DistanceUnit::Miles).name()
    }
}
