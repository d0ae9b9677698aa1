//! Interpretation of shoppers' questions: turns a query and the words of an inventory into typed
//! predicates and remarks. It does not know how vehicles are stored or found.
//!
//! A query is read from left to right, the longest phrase first: amounts with the words around
//! them, words of the trade, names and numbers of this inventory, and names of cars that exist
//! elsewhere. Only a word that is none of these is read as the beginning of one, and only then as a
//! misspelling. A vehicle must satisfy every phrase (C-39).

pub(crate) mod fold;
mod lexicon;
mod numbers;
pub(crate) mod seats;
pub(crate) mod spelling;
mod tokens;
mod understand;
mod vocabulary;

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
}

/// Lookups of an inventory's identifiers, which are too many for the lexicon.
pub(crate) trait Identifiers {
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

    /// Creates a condition on a stock number or on a part of a VIN.
    fn identifier(meaning: fn(String) -> Predicate, kind: &str, key: &str) -> Self {
        let label = format!("{kind} {}", key.to_uppercase());
        Self { any: vec![meaning(key.to_owned())], negated: false, attribute: None, label }
    }

    /// Returns true when no vehicle can satisfy both of two conditions about one attribute.
    fn excludes(&self, other: &Self) -> bool {
        // A vehicle has one make and one body, and may have many features.
        let single = matches!(self.attribute, Some(Attribute::Make | Attribute::Body));
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
