//! What shoppers ask in words, understood: a query and the words of an inventory in, typed
//! predicates and remarks out. Nothing here knows how vehicles are stored or found, and whoever
//! stores them knows nothing of words.
//!
//! A query is read from left to right, the longest phrase first: amounts with what stands around
//! them, words of the trade, names and numbers of this inventory, and names of cars that exist
//! elsewhere. Only a word that is none of these is taken for the beginning of one, and only then
//! for a misspelling. Every phrase must be meant by a vehicle (C-39).

pub(crate) mod fold;
mod lexicon;
mod numbers;
pub(crate) mod seats;
pub(crate) mod spelling;
mod tokens;
mod understand;
mod vocabulary;

pub(crate) use lexicon::{Attribute, Lexicon, Value};
pub(crate) use numbers::{Bounds, Number};
#[cfg(test)]
pub(crate) use spelling::common_words;
pub(crate) use understand::understand;
#[cfg(test)]
pub(crate) use vocabulary::vocabulary;

/// What a query means.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Understood {
    /// What a vehicle must satisfy, each of it.
    pub(crate) wants: Vec<Want>,
    /// What the asker should know about the reading.
    pub(crate) remarks: Vec<Remark>,
}

/// A phrase that a vehicle must mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Want {
    /// One of these is enough. Nothing satisfies none.
    pub(crate) any: Vec<Meaning>,
    /// None of them may hold.
    pub(crate) negated: bool,
    /// What it is about, where it is one attribute.
    pub(crate) attribute: Option<Attribute>,
    /// In the words of the filters: `price_max 40000`.
    pub(crate) label: String,
}

/// A typed predicate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The vehicle has one of these values.
    Values(Vec<Value>),
    /// It has this make and this model, by the ids of their values.
    Pair { make: u32, model: u32 },
    /// One meaning of each of these groups: what `anything but a red Honda` excludes.
    All(Vec<Vec<Self>>),
    /// A number within bounds.
    Number(Number, Bounds),
    /// This stock number, without case and punctuation.
    Stock(String),
    /// A VIN that ends so, in lower case.
    VinEnd(String),
    /// A VIN that begins so, in lower case.
    VinStart(String),
}

/// What the asker should know about a reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Remark {
    /// There is no word in the query.
    NoWord,
    /// A misspelling was read as something else.
    Corrected { said: String, read: String },
    /// A word that no listing has.
    Unknown(String),
    /// A make or model that exists and is not on offer.
    Absent(&'static str),
    /// What no filter can find was left out.
    LeftOut(String),
    /// A colour that no listing names so was read as its family.
    Family { said: String, family: &'static str },
    /// Seats were counted by the model where the listing does not state them.
    UsualSeats,
}

/// The identifiers of an inventory: too many to be words.
pub(crate) trait Identifiers {
    /// Whether there is a stock number, squeezed.
    fn has_stock(&self, key: &str) -> bool;
    /// Whether a VIN ends so, in lower case.
    fn vin_ends(&self, tail: &str) -> bool;
    /// Whether a VIN begins so, in lower case.
    fn vin_starts(&self, start: &str) -> bool;
}

impl Want {
    fn nothing(label: String) -> Self {
        Self { any: Vec::new(), negated: false, attribute: None, label }
    }

    fn values(values: Vec<Value>, attribute: Option<Attribute>, label: String) -> Self {
        Self { any: vec![Meaning::Values(unique(values))], negated: false, attribute, label }
    }

    /// By a stock number, or an end of a VIN.
    fn identifier(meaning: fn(String) -> Meaning, kind: &str, key: &str) -> Self {
        let label = format!("{kind} {}", key.to_uppercase());
        Self { any: vec![meaning(key.to_owned())], negated: false, attribute: None, label }
    }

    /// Whether no vehicle can satisfy both of two wants about one attribute.
    fn excludes(&self, other: &Self) -> bool {
        // A vehicle has one of these. Features it can have many of.
        let single = matches!(self.attribute, Some(Attribute::Make | Attribute::Body));
        let has = |value: &Value| {
            let is = |meaning: &Meaning| matches!(meaning, Meaning::Values(mine) if mine.contains(value));
            self.any.iter().any(is)
        };
        let lacks = |meaning: &Meaning| matches!(meaning, Meaning::Values(values) if !values.iter().any(has));
        single && other.any.iter().all(lacks)
    }
}

/// Values in order, each once.
fn unique(mut values: Vec<Value>) -> Vec<Value> {
    values.sort_unstable();
    values.dedup();
    values
}
