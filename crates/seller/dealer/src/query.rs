//! Interpretation of shoppers' questions: turns a query and the words of an inventory into typed
//! predicates and remarks. It does not know how vehicles are stored or found.
//!
//! A query is read from left to right, the longest phrase first: amounts with the words around
//! them, words of the trade, names and numbers of this inventory, and names of cars that exist
//! elsewhere. Only a word that is none of these is read as the beginning of one, and only then as a
//! misspelling. A vehicle must satisfy every phrase (C-39); a word that means nothing is reported.

mod concepts;
pub(crate) mod contact;
pub(crate) mod economy;
pub(crate) mod fold;
mod lexicon;
mod numbers;
pub(crate) mod seats;
pub(crate) mod spelling;
pub(crate) mod stated;
mod tokens;
mod understand;
mod vocabulary;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tradepost_aap::inventory::Sort;

pub(crate) use lexicon::{Attribute, AttributeValue, Lexicon};
pub(crate) use numbers::{NumberRange, NumericAttribute};
#[cfg(test)]
pub(crate) use spelling::uncorrected_words;
pub(crate) use understand::understand;
#[cfg(test)]
pub(crate) use vocabulary::vocabulary;

/// Interpretation of a query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct QueryInterpretation {
    /// Conditions that a vehicle must satisfy, all of them.
    pub(crate) wants: Vec<RequiredPhrase>,
    /// Order of the answer, where the query asks for one.
    pub(crate) order: Option<Sort>,
    /// Order of the vehicles that are equal in the first one.
    pub(crate) then: Option<Sort>,
    /// Number whose highest values come first, where AAP has no such order.
    pub(crate) highest: Option<NumericAttribute>,
    /// Remarks for the caller about the interpretation.
    pub(crate) remarks: Vec<QueryRemark>,
}

/// A phrase that a vehicle must satisfy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequiredPhrase {
    /// Alternatives; one is sufficient. Without any, no vehicle satisfies the phrase.
    pub(crate) any: Vec<Predicate>,
    /// True when none of the alternatives may hold.
    pub(crate) negated: bool,
    /// The attribute, when all alternatives are about one.
    pub(crate) attribute: Option<Attribute>,
    /// Description in terms of the filters: `price_max 40000`.
    pub(crate) label: String,
}

/// A typed predicate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Predicate {
    /// The vehicle has one of these values.
    Values(Vec<AttributeValue>),
    /// The vehicle has this make and this model, by the ids of their values.
    Pair { make: u32, model: u32 },
    /// One meaning of each of these groups, as in `anything but a red Honda`.
    All(Vec<Vec<Self>>),
    /// A number within bounds.
    Number(NumericAttribute, NumberRange),
    /// Stock number, without case and punctuation.
    Stock(String),
    /// Last characters of a VIN, in lower case.
    VinEnd(String),
    /// First characters of a VIN, in lower case.
    VinStart(String),
}

/// A remark for the caller about the interpretation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum QueryRemark {
    /// The query has no word.
    NoWord,
    /// A misspelling was corrected.
    Corrected { said: String, read: String },
    /// No listing has this word.
    Unknown(String),
    /// A make or model exists and is not on offer.
    Absent(&'static str),
    /// A phrase that no filter can find was left out.
    LeftOut(String),
    /// A colour that no listing names was read as its colour family.
    Family { said: String, family: &'static str },
    /// Seats were taken from the model where the listing does not state them.
    UsualSeats,
    /// Doors were taken from the body where the listing does not state them.
    UsualDoors,
    /// No listing of the inventory states what a phrase is about.
    Unstated(String),
    /// A wish about payments, for which AAP has no member.
    Payment(String),
    /// A wish about a place or distance, for which AAP has no member.
    Place(String),
    /// A car that the shopper has and gives in payment.
    TradeIn(String),
    /// The car that others are compared with.
    Similar(String),
    /// A telephone number was left out.
    Telephone,
    /// A phrase was read as something that it does not say word for word.
    ReadAs { said: &'static str, read: &'static str },
    /// So many listings of the inventory state a number; the others are not found by it.
    StatedBy { number: NumericAttribute, listings: usize, all: usize },
    /// Seats for children, and the seats that they were read as.
    ChildSeats { said: String, seats: u32 },
    /// A condition about the trim that no vehicle satisfies with the others was left out.
    Relaxed(String),
    /// A phrase about which the shopper does not care.
    Indifferent(String),
    /// The query was translated from this language.
    Language(&'static str),
    /// Only this many words of the query were read.
    TooLong(usize),
}

/// The current year, from which ages are counted back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CurrentYear(u32);

impl CurrentYear {
    /// The year of tests.
    #[cfg(test)]
    pub(crate) const TEST: Self = Self(2024);

    /// Returns the year of a moment in UTC.
    #[must_use]
    pub fn from_timestamp(now: Timestamp) -> Self {
        let year = now.to_zoned(TimeZone::UTC).year();
        Self(u32::try_from(year).unwrap_or_default())
    }

    /// Returns the model year of a car of this age.
    pub(crate) fn years_ago(self, age: u32) -> u32 {
        self.0.saturating_sub(age).max(1900)
    }
}

/// What the cars have in common that a query compares others with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Resemblance {
    /// Their bodies.
    pub(crate) bodies: Vec<AttributeValue>,
    /// Names of the bodies.
    pub(crate) body_names: Vec<String>,
    /// Median number of seats.
    pub(crate) seats: Option<u32>,
    /// Median price.
    pub(crate) price: Option<u32>,
}

/// Lookups of an inventory while a query is read: its identifiers, which are too many for the
/// lexicon, and the cars themselves.
pub(crate) trait InventoryLookups {
    /// Returns true when a listing states a number.
    fn states(&self, number: NumericAttribute) -> bool;
    /// Returns the number of listings that state a number.
    fn stated_by(&self, number: NumericAttribute) -> usize;
    /// Returns the number of listings.
    fn listings(&self) -> usize;
    /// Returns what the cars of some names have in common; `None` without such a car.
    fn resemblance(&self, names: &[RequiredPhrase]) -> Option<Resemblance>;
    /// Returns the makes of the cars of some names.
    fn makes(&self, names: &[RequiredPhrase]) -> Vec<AttributeValue>;
    /// Returns true when a car satisfies both conditions.
    fn has_both(&self, one: &RequiredPhrase, other: &RequiredPhrase) -> bool;
    /// Returns true when there is a stock number, without case and punctuation.
    fn has_stock(&self, key: &str) -> bool;
    /// Returns true when a VIN has this ending, in lower case.
    fn vin_ends(&self, tail: &str) -> bool;
    /// Returns true when a VIN has this beginning, in lower case.
    fn vin_starts(&self, start: &str) -> bool;
}

impl RequiredPhrase {
    fn nothing(label: String) -> Self {
        Self { any: Vec::new(), negated: false, attribute: None, label }
    }

    fn values(values: Vec<AttributeValue>, attribute: Option<Attribute>, label: String) -> Self {
        Self { any: vec![Predicate::Values(unique(values))], negated: false, attribute, label }
    }

    /// Creates a condition on a number.
    fn number(number: NumericAttribute, bounds: NumberRange) -> Self {
        let any = vec![Predicate::Number(number, bounds)];
        Self { any, negated: false, attribute: None, label: number.in_filters(bounds) }
    }

    /// Creates a condition on a stock number or on a part of a VIN.
    fn identifier(meaning: fn(String) -> Predicate, kind: &str, key: &str) -> Self {
        let label = format!("{kind} {}", key.to_uppercase());
        Self { any: vec![meaning(key.to_owned())], negated: false, attribute: None, label }
    }

    /// Returns true when no vehicle can satisfy both of two conditions about one attribute.
    fn excludes(&self, other: &Self) -> bool {
        // A vehicle has one make, body, condition and transmission, and may have many features.
        let single = matches!(
            self.attribute,
            Some(
                Attribute::Make | Attribute::Body | Attribute::Condition | Attribute::Transmission
            )
        );
        let has = |value: &AttributeValue| {
            let is = |meaning: &Predicate| matches!(meaning, Predicate::Values(mine) if mine.contains(value));
            self.any.iter().any(is)
        };
        let lacks = |meaning: &Predicate| matches!(meaning, Predicate::Values(values) if !values.iter().any(has));
        single && other.any.iter().all(lacks)
    }
}

/// Sorts values and removes duplicates.
fn unique(mut values: Vec<AttributeValue>) -> Vec<AttributeValue> {
    values.sort_unstable();
    values.dedup();
    values
}
