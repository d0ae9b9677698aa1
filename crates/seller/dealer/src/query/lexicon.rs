//! The lexicon of an inventory: words, and the attribute values that they find.

use foldhash::HashMap;
use foldhash::fast::RandomState;
use indexmap::IndexMap;
use tradepost_document::catalog;

use super::concepts::concepts;
use super::fold::{TextKind, phrase_key};
use super::vocabulary::vocabulary;

/// Maximum number of neighbouring words of a value that are also found when written as one: `cr v`
/// and `crv` are equal.
const LONGEST_RUN: usize = 4;

/// Number of parts that a phrase can be of one value: whole, start and middle.
const MOST_PARTS: usize = 3;

catalog! {
    /// Attributes with words, by the name of the filter or of the member of a listing.
    pub(crate) enum Attribute {
        /// Kind of text, which determines the synonyms.
        field: TextKind,
        /// Name of the filter, where there is one.
        filter: &'static str,
        /// True when its words are those of the vocabulary. An unknown one is not split.
        is_coded: bool,
        /// Other attributes that its values may state. Feeds often have fuel and driveline only in
        /// the name of the car, and list the latter among its features. An electric parking brake
        /// is no fuel.
        implies: &'static [Attribute],
    }
    /// The manufacturer.
    Make = "make" { field: TextKind::Make, filter: "make", is_coded: false, implies: &[] }
    /// The model.
    Model = "model" { field: TextKind::Plain, filter: "model", is_coded: false, implies: FUEL_AND_WHEELS }
    /// The trim.
    Trim = "trim" { field: TextKind::Plain, filter: "trim", is_coded: false, implies: FUEL_AND_WHEELS }
    /// New, used or certified.
    Condition = "condition" { field: TextKind::Condition, filter: "condition", is_coded: true, implies: &[] }
    /// The transmission.
    Transmission = "transmission" { field: TextKind::Transmission, filter: "transmission", is_coded: true, implies: &[] }
    /// The fuel.
    Fuel = "fuel" { field: TextKind::Fuel, filter: "fuel", is_coded: true, implies: &[] }
    /// The driven wheels.
    Driveline = "driveline" { field: TextKind::Driveline, filter: "driveline", is_coded: true, implies: &[] }
    /// The body style.
    Body = "body" { field: TextKind::Body, filter: "body", is_coded: false, implies: &[] }
    /// The exterior colour.
    ExteriorColor = "exterior_color" { field: TextKind::Colour, filter: "exterior_color", is_coded: false, implies: &[] }
    /// The interior colour.
    InteriorColor = "interior_color" { field: TextKind::Colour, filter: "interior_color", is_coded: false, implies: &[] }
    /// The location.
    Rooftop = "rooftop" { field: TextKind::Plain, filter: "rooftops", is_coded: false, implies: &[] }
    /// The engine.
    Engine = "engine" { field: TextKind::Plain, filter: "engine", is_coded: false, implies: FUEL_AND_WHEELS }
    /// A feature.
    Feature = "feature" { field: TextKind::Plain, filter: "feature", is_coded: false, implies: &[Attribute::Driveline] }
}

const FUEL_AND_WHEELS: &[Attribute] = &[Attribute::Fuel, Attribute::Driveline];

/// A value of an attribute: its code in the dictionary of the inventory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct AttributeValue {
    pub(crate) attribute: Attribute,
    pub(crate) id: u32,
}

/// Part of a value that a phrase covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ValuePart {
    /// The whole value.
    Whole,
    /// Its beginning.
    Start,
    /// Any other part.
    Middle,
}

/// A meaning of a phrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PhraseMeaning {
    /// A value that contains the phrase.
    Value(AttributeValue, ValuePart),
    /// A make and a model whose name alone is too short to be found: `Mazda 3`.
    Pair(u32, u32),
}

/// The words of an inventory.
#[derive(Debug, Default)]
pub(crate) struct Lexicon {
    /// Meanings by phrase. [`Self::sort`] has put them in text order.
    terms: IndexMap<Box<str>, Vec<PhraseMeaning>, RandomState>,
    /// Values of an attribute, by class.
    classes: HashMap<(Attribute, &'static str), Vec<u32>>,
    /// Values of other attributes that imply a class, as `Bolt EV` implies electricity.
    elsewhere: HashMap<(Attribute, &'static str), Vec<AttributeValue>>,
    /// Values that show a concept of a feature.
    concepts: HashMap<&'static str, Vec<AttributeValue>>,
    /// Spellings of values.
    names: HashMap<AttributeValue, Box<str>>,
}

impl Lexicon {
    /// Adds a value with its spelling.
    pub(crate) fn add(&mut self, value: AttributeValue, text: &str) {
        self.names.insert(value, text.into());
        self.classify(value, text);
        if value.attribute.is_coded() {
            self.term(&phrase_key(text), PhraseMeaning::Value(value, ValuePart::Whole));
        } else {
            self.add_runs(value, text);
        }
    }

    /// Puts the phrases in text order, after the last one was added.
    pub(crate) fn sort(&mut self) {
        self.terms.sort_unstable_keys();
        self.terms.shrink_to_fit();
    }

    /// Adds a pair of make and model.
    pub(crate) fn add_pair(&mut self, make: u32, make_text: &str, model: u32, model_text: &str) {
        let key = phrase_key(model_text);
        if key.is_empty() {
            return;
        }
        if key.chars().count() <= 2 || key.chars().all(|c| c.is_ascii_digit()) {
            self.term(&format!("{}{key}", phrase_key(make_text)), PhraseMeaning::Pair(make, model));
        }
    }

    /// Returns the values of an attribute that belong to a class.
    pub(crate) fn class(&self, attribute: Attribute, class: &str) -> &[u32] {
        // Converted to the vocabulary's static copy of the class, which is the key.
        let field = attribute.field();
        let class = if field == TextKind::Colour {
            vocabulary().family(class)
        } else {
            vocabulary().whole(field, class)
        };
        let found = class.and_then(|class| self.classes.get(&(attribute, class)));
        found.map_or(&[], Vec::as_slice)
    }

    /// Returns values of other attributes that imply a class.
    pub(super) fn elsewhere(&self, attribute: Attribute, class: &'static str) -> &[AttributeValue] {
        self.elsewhere.get(&(attribute, class)).map_or(&[], Vec::as_slice)
    }

    /// Returns the values of the same attribute that share a class with a value, and the value.
    pub(crate) fn like(&self, value: AttributeValue) -> Vec<AttributeValue> {
        let attribute = value.attribute;
        let class = vocabulary().class(attribute.field(), self.name(value));
        let ids = class.and_then(|class| self.classes.get(&(attribute, class)));
        let ids = ids.map_or(&[][..], Vec::as_slice).iter();
        ids.map(|id| AttributeValue { attribute, id: *id }).chain([value]).collect()
    }

    /// Returns the values that show a concept of a feature.
    pub(super) fn concept(&self, concept: &str) -> &[AttributeValue] {
        self.concepts.get(concept).map_or(&[], Vec::as_slice)
    }

    /// Returns the meanings of a phrase.
    pub(super) fn senses(&self, phrase: &str) -> &[PhraseMeaning] {
        self.terms.get(phrase).map_or(&[], Vec::as_slice)
    }

    /// Returns the meanings of the phrases with this beginning. They have to be sorted.
    pub(super) fn starting_with<'a>(
        &'a self,
        start: &'a str,
    ) -> impl Iterator<Item = &'a [PhraseMeaning]> {
        let from = self.terms.partition_point(|term, _| term.as_ref() < start);
        let terms = self.terms.get_range(from..).into_iter().flatten();
        terms
            .take_while(move |(term, _)| term.starts_with(start))
            .map(|(_, senses)| senses.as_slice())
    }

    /// Returns true when a phrase is the name of a make or model.
    pub(super) fn is_name(&self, phrase: &str) -> bool {
        self.senses(phrase).iter().any(|sense| match sense {
            PhraseMeaning::Value(value, _) => {
                matches!(value.attribute, Attribute::Make | Attribute::Model)
            }
            PhraseMeaning::Pair(..) => true,
        })
    }

    /// Returns true when a phrase is a whole value.
    pub(super) fn has_whole(&self, phrase: &str) -> bool {
        let is_whole =
            |sense: &PhraseMeaning| matches!(sense, PhraseMeaning::Value(_, ValuePart::Whole));
        self.senses(phrase).iter().any(is_whole)
    }

    /// Iterates over all phrases without spaces.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        self.terms.keys().map(AsRef::as_ref)
    }

    /// Returns the spelling of a value.
    pub(crate) fn name(&self, value: AttributeValue) -> &str {
        self.names.get(&value).map_or("", AsRef::as_ref)
    }

    /// Returns an estimate of its memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        /// Overhead of an entry in a tree or table, with its free space.
        const ENTRY: usize = 16;
        let terms = self.terms.iter().map(|(term, senses)| {
            term.len()
                + senses.capacity() * size_of::<PhraseMeaning>()
                + size_of::<(Box<str>, Vec<PhraseMeaning>)>()
        });
        let names =
            self.names.values().map(|name| name.len() + size_of::<(AttributeValue, Box<str>)>());
        let entries = self.terms.len() + self.names.len();
        terms.sum::<usize>() + names.sum::<usize>() + entries * ENTRY
    }

    fn classify(&mut self, value: AttributeValue, text: &str) {
        let attribute = value.attribute;
        let field = attribute.field();
        let classes = if field == TextKind::Colour {
            vocabulary().families(text)
        } else {
            vocabulary().class(field, text).into_iter().collect()
        };
        for class in classes {
            self.classes.entry((attribute, class)).or_default().push(value.id);
        }
        for implied in attribute.implies() {
            if let Some(class) = vocabulary().class_in_name(implied.field(), text) {
                self.elsewhere.entry((*implied, class)).or_default().push(value);
            }
        }
        if matches!(attribute, Attribute::Feature | Attribute::Trim | Attribute::InteriorColor) {
            for concept in concepts().of_text(text) {
                self.concepts.entry(concept).or_default().push(value);
            }
        }
    }

    fn add_runs(&mut self, value: AttributeValue, text: &str) {
        let parts = parts(text);
        for length in 1..=LONGEST_RUN.min(parts.len()) {
            for (first, run) in parts.windows(length).enumerate() {
                let key = run.concat();
                let part = match (first, length == parts.len()) {
                    (_, true) => ValuePart::Whole,
                    (0, false) => ValuePart::Start,
                    // People search for a Silverado by `1500`.
                    (_, false) if key.len() > 2 && key.bytes().all(|b| b.is_ascii_digit()) => {
                        ValuePart::Start
                    }
                    (_, false) => ValuePart::Middle,
                };
                // The 3 of a 3 Series finds nothing alone.
                if part == ValuePart::Whole || key.chars().count() > 1 {
                    self.term(&key, PhraseMeaning::Value(value, part));
                }
            }
        }
        let whole = parts.concat();
        self.term(&whole, PhraseMeaning::Value(value, ValuePart::Whole));
        if value.attribute == Attribute::Make {
            // `Chevy` is found by `Chevrolet`.
            let key = super::fold::fold(TextKind::Make, text);
            self.term(&key, PhraseMeaning::Value(value, ValuePart::Whole));
        }
    }

    fn term(&mut self, key: &str, sense: PhraseMeaning) {
        if key.is_empty() {
            return;
        }
        match self.terms.get_mut(key) {
            // Values are added one by one, so the same one can only be among the last.
            Some(senses) if senses.iter().rev().take(MOST_PARTS).any(|known| *known == sense) => {}
            Some(senses) => senses.push(sense),
            None => {
                self.terms.insert(key.into(), vec![sense]);
            }
        }
    }
}

/// Splits a value into words. A hyphen separates long words and joins short ones: `CR-V`, `F-150`
/// and `EX-L` are one word, `Transit-250` and `Off-Road` are two.
fn parts(text: &str) -> Vec<String> {
    let words = text.split(|c: char| c.is_whitespace() || "/,;()|".contains(c));
    let mut parts = Vec::new();
    for word in words {
        let pieces: Vec<&str> = word.split('-').collect();
        if pieces.iter().all(|piece| piece.chars().count() > 2) {
            parts.extend(pieces.into_iter().map(phrase_key));
        } else {
            parts.push(phrase_key(word));
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_where_people_cut_them() {
        for (text, expected) in [
            ("F-150 4x4", vec!["f150", "4x4"]),
            ("Transit-250", vec!["transit", "250"]),
            ("Apple CarPlay/Android Auto", vec!["apple", "carplay", "android", "auto"]),
            ("Town & Country", vec!["town", "and", "country"]),
            ("2.0T SE+", vec!["2.0t", "se+"]),
            (" - ", vec![]),
        ] {
            assert_eq!(parts(text), expected, "{text}");
        }
    }

    #[test]
    fn a_name_tells_the_fuel_and_the_driven_wheels() {
        let mut lexicon = Lexicon::default();
        let value = |attribute, id| AttributeValue { attribute, id };
        let bolt = value(Attribute::Model, 0);
        lexicon.add(bolt, "Bolt EV");
        lexicon.add(value(Attribute::Feature, 0), "Electric parking brake");
        lexicon.add(value(Attribute::Trim, 0), "A");
        let wheels = value(Attribute::Feature, 1);
        lexicon.add(wheels, "Four Wheel Drive");
        assert_eq!(lexicon.elsewhere(Attribute::Fuel, "electric"), [bolt]);
        assert_eq!(lexicon.elsewhere(Attribute::Driveline, "4wd"), [wheels]);
        assert_eq!(lexicon.elsewhere(Attribute::Fuel, "gas"), []);
    }
}
