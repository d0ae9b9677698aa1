//! How the columns of a feed are to be understood: a table that a person writes, or one of the
//! [`preset`](super::preset)s, which are written in the same notation.
//!
//! What a mapping does not name is understood by the names that all exports share
//! (`columns::Column::named`).

use std::collections::BTreeMap;
use std::sync::Arc;

use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::Value;
use tradepost_wire::parse::{self, not_one_of, read_object, reject};
use tradepost_wire::problem::{At, Problems};
use tradepost_wire::toml::{self, Mistake, Variables};
use tradepost_wire::words;

use super::columns::{Column, ITEM};
use super::preset::Preset;
use super::words::fold;

mod write;

/// The word for a column that is left alone.
pub(super) const IGNORE: &str = "ignore";

/// How many lines a table of a mapping may have.
const MAX_LINES: usize = 2_000;

/// How long a text of a mapping may be, in bytes.
const MAX_TEXT: usize = 2_000;

words! {
    /// Whether an amount is a part of the price that a feed names.
    pub enum Part {
        /// It is not: the price is worked out with it.
        Apart = "apart",
        /// It is, and counts no second time.
        Included = "included",
    }
}

words! {
    /// What becomes of a unit that is not on its way to the dealer yet.
    pub enum Unbuilt {
        /// It is not offered (requirements §3.4).
        Skip = "skip",
        /// The dealer answers for its being on its way.
        InTransit = "intransit",
    }
}

/// What the price of a feed is made of (`R-PR-01`). What is not said is not guessed: fees are added,
/// and of add-ons and rebates it is said that nobody knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PriceRule {
    /// The mandatory fees: the unit's own, or else those of its rooftop.
    pub fees: Option<Part>,
    /// What the dealer has added.
    pub add_ons: Option<Part>,
    /// What everybody gets off.
    pub rebates: Option<Part>,
}

impl PriceRule {
    fn or(self, other: Self) -> Self {
        Self {
            fees: self.fees.or(other.fees),
            add_ons: self.add_ons.or(other.add_ons),
            rebates: self.rebates.or(other.rebates),
        }
    }
}

/// What is done to a cell before it is read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transform {
    /// What cells say, folded, and what it means.
    words: BTreeMap<String, String>,
    /// What stands between the items of a list.
    split: Option<String>,
    /// What is taken out, wherever it stands.
    remove: Vec<String>,
    /// What is put in front.
    prepend: Option<String>,
    /// What is put behind.
    append: Option<String>,
}

impl Transform {
    /// Does it.
    pub(super) fn apply(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for unwanted in &self.remove {
            text = text.replace(unwanted.as_str(), "");
        }
        if let Some(separator) = &self.split {
            let items = text.split(separator.as_str()).map(|item| self.apply_to_item(item.trim()));
            // Also behind a single item, so that it is not split a second time.
            return items.flat_map(|item| [item, ITEM.to_string()]).collect();
        }
        self.apply_to_item(text.trim())
    }

    fn apply_to_item(&self, text: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        // What is said in other words is said whole: nothing is put around it.
        if let Some(word) = self.words.get(&fold(text)) {
            return word.clone();
        }
        let around = [self.prepend.as_deref(), Some(text), self.append.as_deref()];
        around.into_iter().flatten().collect()
    }

    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// What a column is about, and what is done to its cells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Rule {
    /// The field; `None` when the column is left alone.
    pub(super) column: Option<Column>,
    pub(super) transform: Option<Arc<Transform>>,
}

/// How a feed is to be understood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mapping {
    /// The preset that knows what is not said here.
    preset: Option<Preset>,
    /// Headings by which a format is known, for presets.
    pub(super) signature: Vec<String>,
    /// The headings of a table that has none.
    pub(super) positions: Vec<String>,
    /// By the folded heading: the heading as it was written, and its rule.
    columns: BTreeMap<String, (String, Rule)>,
    pub(super) constants: Vec<(Column, String)>,
    /// What feeds call a dealer or a rooftop, and what it is called here.
    pub(super) names: Vec<(String, String)>,
    pub(super) price: PriceRule,
    unbuilt: Option<Unbuilt>,
}

impl Mapping {
    /// Reads a mapping that somebody has written.
    ///
    /// # Errors
    /// Every mistake with its line.
    pub fn parse(text: &str) -> Result<Self, Vec<Mistake>> {
        let own = toml::read(text, Variables::default(), |value, problems| {
            mapping(value, &At::Root, problems)
        })?;
        Ok(match own.preset {
            Some(preset) => own.over(&Self::of(preset)),
            None => own,
        })
    }

    /// The mapping of a preset.
    #[must_use]
    pub fn of(preset: Preset) -> Self {
        let own = toml::read(preset.table(), Variables::default(), |value, problems| {
            mapping(value, &At::Root, problems)
        });
        let own = own.expect("every preset is a mapping, which a test proves");
        Self { preset: Some(preset), ..own }
    }

    /// The preset that it is or stands on.
    #[must_use]
    pub fn preset(&self) -> Option<Preset> {
        self.preset
    }

    /// This one, and what it does not say from the other.
    fn over(self, base: &Self) -> Self {
        let mut columns = base.columns.clone();
        columns.extend(self.columns);
        let said: Vec<Column> = self.constants.iter().map(|(column, _)| *column).collect();
        let others = base.constants.iter().filter(|(column, _)| !said.contains(column)).cloned();
        let either = |own: Vec<String>, other: &Vec<String>| {
            if own.is_empty() { other.clone() } else { own }
        };
        Self {
            preset: self.preset,
            signature: either(self.signature, &base.signature),
            positions: either(self.positions, &base.positions),
            columns,
            constants: self.constants.iter().cloned().chain(others).collect(),
            names: [self.names, base.names.clone()].concat(),
            price: self.price.or(base.price),
            unbuilt: self.unbuilt.or(base.unbuilt),
        }
    }

    /// What it says about a heading, if anything.
    pub(super) fn rule(&self, heading: &str) -> Option<&Rule> {
        // A line for this very number counts more than one for any.
        let found = self.columns.get(&fold(heading)).or_else(|| {
            let general = general(&fold(heading))?;
            self.columns.get(&general)
        });
        found.map(|(_, rule)| rule)
    }

    /// The rule of a heading: its own, or the one that all exports share.
    pub(super) fn understand(&self, heading: &str) -> Rule {
        self.rule(heading)
            .cloned()
            .unwrap_or_else(|| Rule { column: Column::named(heading), transform: None })
    }

    /// The same, where every heading of a file has its own line.
    pub(super) fn spelled_out(mut self, headings: impl IntoIterator<Item = String>) -> Self {
        for heading in headings {
            let rule = self.understand(&heading);
            self.columns.insert(fold(&heading), (heading, rule));
        }
        self
    }

    pub(super) fn offers_unbuilt(&self) -> bool {
        self.unbuilt == Some(Unbuilt::InTransit)
    }
}

/// A folded heading with every number as `#`: `image_3_url` is `image_#_url`.
fn general(folded: &str) -> Option<String> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !folded.split('_').any(is_number) {
        return None;
    }
    let parts = folded.split('_').map(|part| if is_number(part) { "#" } else { part });
    Some(parts.collect::<Vec<_>>().join("_"))
}

/// How a heading is kept: `image[*].url` stands for one with any number.
fn key(heading: &str) -> String {
    match heading.contains('*') {
        true => general(&fold(&heading.replace('*', "0"))).unwrap_or_default(),
        false => fold(heading),
    }
}

fn mapping(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<Mapping> {
    read_object!(value, at, problems, closed {
        optional "preset" => preset: parse::word::<Preset>,
        optional "known_by" => signature: texts,
        optional "headings" => positions: texts,
        optional "columns" => columns: read_columns,
        optional "constants" => constants: read_constants,
        optional "names" => names: pairs,
        optional "price" => price: read_price,
        optional "in_production" => unbuilt: parse::word::<Unbuilt>,
    });
    Some(Mapping {
        preset,
        signature: signature.unwrap_or_default(),
        positions: positions.unwrap_or_default(),
        columns: columns.unwrap_or_default(),
        constants: constants.unwrap_or_default(),
        names: names.unwrap_or_default(),
        price: price.unwrap_or_default(),
        unbuilt,
    })
}

fn texts(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<Vec<String>> {
    parse::list(value, at, problems, (1, Some(MAX_LINES)), text)
}

fn text(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<String> {
    parse::of_text((value, at, problems), "must have at most 2000 bytes", |text| {
        (text.len() <= MAX_TEXT).then(|| text.to_owned())
    })
}

/// Reads a table line by line, whatever its keys.
fn lines<T>(
    value: &Value,
    at: &At<'_>,
    problems: &mut Problems,
    mut line: impl FnMut(&str, &Value, &At<'_>, &mut Problems) -> Option<T>,
) -> Option<Vec<T>> {
    let Some(members) = value.as_object() else {
        parse::wrong_type(at, problems, "object");
        return None;
    };
    if members.len() > MAX_LINES {
        reject(at, problems, format!("must have at most {MAX_LINES} lines"));
        return None;
    }
    Some(
        members
            .iter()
            .filter_map(|(key, value)| line(key, value, &at.key(key), problems))
            .collect(),
    )
}

type Columns = BTreeMap<String, (String, Rule)>;

fn read_columns(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<Columns> {
    let mut columns = BTreeMap::new();
    lines(value, at, problems, |heading, value, at, problems| {
        let key = key(heading);
        if key.is_empty() {
            reject(at, problems, "a heading needs a letter or a digit");
            return None;
        }
        let rule = rule(value, at, problems)?;
        if let Some((other, _)) = columns.insert(key, (heading.to_owned(), rule)) {
            reject(
                at,
                problems,
                format!("is the same heading as \"{other}\": only letters and digits count"),
            );
        }
        Some(())
    })?;
    Some(columns)
}

fn rule(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<Rule> {
    if value.is_object() {
        let glossary = |v: &Value, at: &At<'_>, p: &mut Problems| {
            let words = pairs(v, at, p)?;
            Some(words.into_iter().map(|(said, meant)| (fold(&said), meant)).collect())
        };
        read_object!(value, at, problems, closed {
            required "field" => column: field,
            optional "words" => words: glossary,
            optional "split" => split: separator,
            optional "remove" => remove: texts,
            optional "prepend" => prepend: text,
            optional "append" => append: text,
        });
        let words = words.unwrap_or_default();
        let transform =
            Transform { words, split, remove: remove.unwrap_or_default(), prepend, append };
        let transform = (!transform.is_nothing()).then(|| Arc::new(transform));
        return Some(Rule { column: column?, transform });
    }
    Some(Rule { column: field(value, at, problems)?, transform: None })
}

/// The name of a field, or that there is none.
fn field(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<Option<Column>> {
    let Some(name) = value.as_str() else {
        parse::wrong_type(at, problems, "string");
        return None;
    };
    if name == IGNORE {
        return Some(None);
    }
    let column = Column::from_name(name);
    if column.is_none() {
        let names = Column::NAMES.join(", ");
        reject(at, problems, format!("must be \"{IGNORE}\" or one of {names}"));
    }
    column.map(Some)
}

fn separator(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<String> {
    parse::of_text((value, at, problems), "must not be empty", |text| {
        (!text.is_empty() && text.len() <= 20).then(|| text.to_owned())
    })
}

fn read_constants(
    value: &Value,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Vec<(Column, String)>> {
    lines(value, at, problems, |name, value, at, problems| {
        let Some(column) = Column::from_name(name) else {
            not_one_of(at, problems, Column::NAMES);
            return None;
        };
        text(value, at, problems).map(|text| (column, text))
    })
}

fn pairs(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<Vec<(String, String)>> {
    lines(value, at, problems, |key, value, at, problems| {
        text(value, at, problems).map(|text| (key.to_owned(), text))
    })
}

fn read_price(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<PriceRule> {
    read_object!(value, at, problems, closed {
        optional "fees" => fees: parse::word::<Part>,
        optional "add_ons" => add_ons: parse::word::<Part>,
        optional "rebates" => rebates: parse::word::<Part>,
    });
    Some(PriceRule { fees, add_ons, rebates })
}

#[cfg(test)]
mod tests;
