//! The words of one inventory: which values its attributes have, and what finds them.

use std::collections::{BTreeMap, HashMap};

use tradepost_wire::catalog;

use super::fold::{Field, squeeze};
use super::vocabulary::vocabulary;

/// How many neighbouring words of a value are also found written as one: `cr v` and `crv` are the
/// same.
const LONGEST_RUN: usize = 4;

catalog! {
    /// An attribute with words in it, by the name of the filter or of the member of a listing.
    pub(crate) enum Attribute {
        /// Which synonyms hold.
        field: Field,
        /// What the filter by it is called, where it has one.
        filter: &'static str,
        /// Whether its words are those of the vocabulary. One that it does not know counts as a whole.
        is_coded: bool,
        /// What its values may say of other attributes. Feeds often leave the fuel and the driven wheels to
        /// the name of the car, and list the latter among its features. An electric parking brake is no fuel.
        tells: &'static [Attribute],
    }
    /// Who made it.
    Make = "make" { field: Field::Make, filter: "make", is_coded: false, tells: &[] }
    /// The model.
    Model = "model" { field: Field::Plain, filter: "model", is_coded: false, tells: FUEL_AND_WHEELS }
    /// The trim.
    Trim = "trim" { field: Field::Plain, filter: "trim", is_coded: false, tells: FUEL_AND_WHEELS }
    /// New, used or certified.
    Condition = "condition" { field: Field::Condition, filter: "condition", is_coded: true, tells: &[] }
    /// How it shifts.
    Transmission = "transmission" { field: Field::Transmission, filter: "transmission", is_coded: true, tells: &[] }
    /// What it runs on.
    Fuel = "fuel" { field: Field::Fuel, filter: "fuel", is_coded: true, tells: &[] }
    /// Which wheels are driven.
    Driveline = "driveline" { field: Field::Driveline, filter: "driveline", is_coded: true, tells: &[] }
    /// Its shape.
    Body = "body" { field: Field::Body, filter: "body", is_coded: false, tells: &[] }
    /// The colour outside.
    ExteriorColor = "exterior_color" { field: Field::Colour, filter: "exterior_color", is_coded: false, tells: &[] }
    /// The colour inside.
    InteriorColor = "interior_color" { field: Field::Colour, filter: "interior_color", is_coded: false, tells: &[] }
    /// Where it stands.
    Rooftop = "rooftop" { field: Field::Plain, filter: "rooftops", is_coded: false, tells: &[] }
    /// The engine.
    Engine = "engine" { field: Field::Plain, filter: "engine", is_coded: false, tells: FUEL_AND_WHEELS }
    /// What it has besides.
    Feature = "feature" { field: Field::Plain, filter: "feature", is_coded: false, tells: &[Attribute::Driveline] }
}

const FUEL_AND_WHEELS: &[Attribute] = &[Attribute::Fuel, Attribute::Driveline];

/// A value of an attribute: its place in the dictionary of whoever built the lexicon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Value {
    pub(crate) attribute: Attribute,
    pub(crate) id: u32,
}

/// How much of a value a phrase is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// All of it.
    Whole,
    /// How it begins.
    Start,
    /// Some of it.
    Middle,
}

/// What a phrase finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sense {
    /// A value that has it in it.
    Value(Value, Part),
    /// A make and a model, whose name alone is too short to be found by: `Mazda 3`.
    Pair(u32, u32),
}

/// The words of an inventory.
#[derive(Debug, Default)]
pub(crate) struct Lexicon {
    /// By phrase, in text order.
    terms: BTreeMap<Box<str>, Vec<Sense>>,
    /// By class of an attribute: the values of that attribute.
    classes: HashMap<(Attribute, &'static str), Vec<u32>>,
    /// By class: values of other attributes that say the same, `Bolt EV` of electricity.
    elsewhere: HashMap<(Attribute, &'static str), Vec<Value>>,
    /// How values are written.
    names: HashMap<Value, Box<str>>,
}

impl Lexicon {
    /// Takes in a value, as it is written.
    pub(crate) fn add(&mut self, value: Value, text: &str) {
        self.names.insert(value, text.into());
        self.classify(value, text);
        if value.attribute.is_coded() {
            self.term(&squeeze(text), Sense::Value(value, Part::Whole));
        } else {
            self.add_runs(value, text);
        }
    }

    /// Takes in that a make has a model.
    pub(crate) fn add_pair(
        &mut self,
        (make, make_text): (u32, &str),
        (model, model_text): (u32, &str),
    ) {
        let key = squeeze(model_text);
        if key.is_empty() {
            return;
        }
        if key.chars().count() <= 2 || key.chars().all(|c| c.is_ascii_digit()) {
            self.term(&format!("{}{key}", squeeze(make_text)), Sense::Pair(make, model));
        }
    }

    /// The values of an attribute that are of a class.
    pub(crate) fn class(&self, attribute: Attribute, class: &str) -> &[u32] {
        // The key is looked up by what it says, whose static copy the vocabulary has.
        let field = attribute.field();
        let class = if field == Field::Colour {
            vocabulary().family(class)
        } else {
            vocabulary().whole(field, class)
        };
        let found = class.and_then(|class| self.classes.get(&(attribute, class)));
        found.map_or(&[], Vec::as_slice)
    }

    /// What else says that a vehicle is of a class.
    pub(super) fn elsewhere(&self, attribute: Attribute, class: &'static str) -> &[Value] {
        self.elsewhere.get(&(attribute, class)).map_or(&[], Vec::as_slice)
    }

    /// What a phrase finds.
    pub(super) fn senses(&self, phrase: &str) -> &[Sense] {
        self.terms.get(phrase).map_or(&[], Vec::as_slice)
    }

    /// What the phrases find that begin so.
    pub(super) fn starting_with<'a>(&'a self, start: &'a str) -> impl Iterator<Item = &'a [Sense]> {
        let from = (std::ops::Bound::Included(start), std::ops::Bound::Unbounded);
        let terms = self.terms.range::<str, _>(from);
        terms
            .take_while(move |(term, _)| term.starts_with(start))
            .map(|(_, senses)| senses.as_slice())
    }

    /// Every phrase of one word that finds something.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        self.terms.keys().map(AsRef::as_ref)
    }

    /// How a value is written.
    pub(crate) fn name(&self, value: Value) -> &str {
        self.names.get(&value).map_or("", AsRef::as_ref)
    }

    /// About how many bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        /// What a tree or a table adds to an entry, with what it leaves free.
        const ENTRY: usize = 16;
        let terms = self.terms.iter().map(|(term, senses)| {
            term.len()
                + senses.capacity() * size_of::<Sense>()
                + size_of::<(Box<str>, Vec<Sense>)>()
        });
        let names = self.names.values().map(|name| name.len() + size_of::<(Value, Box<str>)>());
        let entries = self.terms.len() + self.names.len();
        terms.sum::<usize>() + names.sum::<usize>() + entries * ENTRY
    }

    fn classify(&mut self, value: Value, text: &str) {
        let attribute = value.attribute;
        let field = attribute.field();
        let classes = if field == Field::Colour {
            vocabulary().families(text)
        } else {
            vocabulary().class(field, text).into_iter().collect()
        };
        for class in classes {
            self.classes.entry((attribute, class)).or_default().push(value.id);
        }
        for said in attribute.tells() {
            if let Some(class) = vocabulary().class_in_name(said.field(), text) {
                self.elsewhere.entry((*said, class)).or_default().push(value);
            }
        }
    }

    fn add_runs(&mut self, value: Value, text: &str) {
        let parts = parts(text);
        for length in 1..=LONGEST_RUN.min(parts.len()) {
            for (first, run) in parts.windows(length).enumerate() {
                let key = run.concat();
                let part = match (first, length == parts.len()) {
                    (_, true) => Part::Whole,
                    (0, false) => Part::Start,
                    // `1500` is what a Silverado is asked for by.
                    (_, false) if key.len() > 2 && key.bytes().all(|b| b.is_ascii_digit()) => {
                        Part::Start
                    }
                    (_, false) => Part::Middle,
                };
                // The 3 of a 3 Series finds nothing alone.
                if part == Part::Whole || key.chars().count() > 1 {
                    self.term(&key, Sense::Value(value, part));
                }
            }
        }
        let whole = parts.concat();
        self.term(&whole, Sense::Value(value, Part::Whole));
        if value.attribute == Attribute::Make {
            // Who writes Chevy is found by Chevrolet.
            let key = super::fold::fold(Field::Make, text);
            self.term(&key, Sense::Value(value, Part::Whole));
        }
    }

    fn term(&mut self, key: &str, sense: Sense) {
        if key.is_empty() {
            return;
        }
        match self.terms.get_mut(key) {
            Some(senses) if senses.contains(&sense) => {}
            Some(senses) => senses.push(sense),
            None => {
                self.terms.insert(key.into(), vec![sense]);
            }
        }
    }
}

/// The words of a value. A hyphen parts long words, and holds short ones together: `CR-V`, `F-150`
/// and `EX-L` are one word, `Transit-250` and `Off-Road` are two.
fn parts(text: &str) -> Vec<String> {
    let words = text.split(|c: char| c.is_whitespace() || "/,;()|".contains(c));
    let mut parts = Vec::new();
    for word in words {
        let pieces: Vec<&str> = word.split('-').collect();
        if pieces.iter().all(|piece| piece.chars().count() > 2) {
            parts.extend(pieces.into_iter().map(squeeze));
        } else {
            parts.push(squeeze(word));
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
    fn what_a_name_says_of_the_fuel_and_the_wheels_is_known() {
        let mut lexicon = Lexicon::default();
        let value = |attribute, id| Value { attribute, id };
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
