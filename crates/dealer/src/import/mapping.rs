//! How the columns of a feed are to be understood: a table that a person writes, or one of the
//! [`preset`](super::preset)s, which are written in the same notation.
//!
//! What a mapping does not name is understood by the names that all exports share
//! (`columns::Column::named`).

use std::collections::BTreeMap;
use std::sync::Arc;

use tradepost_wire::problem::At;
use tradepost_wire::toml::{self, Mistake, Variables};
use tradepost_wire::words;

use super::columns::{Column, ITEM};
use super::notation::{DateForm, Notation};
use super::preset::Preset;
use super::words::fold;

mod constants;
mod read;
mod unmatched;
mod write;

/// The word for a column that is left alone.
pub(super) const IGNORE: &str = "ignore";

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
    /// How a date is written.
    date: Option<DateForm>,
    /// What is put in front.
    prepend: Option<String>,
    /// What is put behind.
    append: Option<String>,
}

impl Transform {
    /// Does it. A text that came as a list is one whose items each end with [`ITEM`].
    pub(super) fn apply(&self, text: &str) -> String {
        if !text.contains(ITEM) {
            return self.apply_to_text(text);
        }
        let items = text.split(ITEM).map(str::trim).filter(|item| !item.is_empty());
        let end = |mut item: String| {
            if !item.ends_with(ITEM) {
                item.push(ITEM);
            }
            item
        };
        items.map(|item| end(self.apply_to_text(item))).collect()
    }

    fn apply_to_text(&self, text: &str) -> String {
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
        // What is no date in this form stays as it is, and the report quotes it.
        if let Some(date) = self.date.as_ref().and_then(|form| form.read(text)) {
            return date.to_string();
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

/// A line of the table `[columns]`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    /// The heading as it was written.
    heading: String,
    rule: Rule,
    /// Whether a mapping says it for its feed. Lines of a preset are about every feed of a format, and
    /// no feed has all of them.
    is_own: bool,
    /// Whether a feed may be without the column.
    is_optional: bool,
}

/// How a feed is to be understood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mapping {
    /// The preset that knows what is not said here.
    preset: Option<Preset>,
    /// Headings by which a format is known, for presets: all those of one of the lists.
    pub(super) signatures: Vec<Vec<String>>,
    /// The headings of a table that has none.
    pub(super) positions: Vec<String>,
    /// By the folded heading.
    columns: BTreeMap<String, Line>,
    pub(super) constants: Vec<(Column, String)>,
    /// What feeds call a dealer or a rooftop, and what it is called here.
    pub(super) names: Vec<(String, String)>,
    pub(super) price: PriceRule,
    unbuilt: Option<Unbuilt>,
    /// Whether units whose price is in another currency are offered without one.
    without_prices: Option<bool>,
    pub(super) notation: Notation,
}

impl Mapping {
    /// Reads a mapping that somebody has written.
    ///
    /// # Errors
    /// Every mistake with its line.
    pub fn parse(text: &str) -> Result<Self, Vec<Mistake>> {
        let own = toml::read(text, Variables::default(), |value, problems| {
            read::mapping(value, &At::Root, problems)
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
            read::mapping(value, &At::Root, problems)
        });
        let mut own = own.expect("every preset is a mapping, which a test proves");
        own.columns.values_mut().for_each(|line| line.is_own = false);
        Self { preset: Some(preset), ..own }
    }

    /// The preset that it is or stands on.
    #[must_use]
    pub fn preset(&self) -> Option<Preset> {
        self.preset
    }

    /// The mapping of a preset, with what this one says of its own.
    pub(super) fn over_preset(self, preset: Preset) -> Self {
        Self { preset: Some(preset), ..self.over(&Self::of(preset)) }
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
            signatures: base.signatures.clone(),
            positions: either(self.positions, &base.positions),
            columns,
            constants: self.constants.iter().cloned().chain(others).collect(),
            names: [self.names, base.names.clone()].concat(),
            price: self.price.or(base.price),
            unbuilt: self.unbuilt.or(base.unbuilt),
            without_prices: self.without_prices.or(base.without_prices),
            notation: self.notation.or(&base.notation),
        }
    }

    /// What it says about a heading, if anything.
    pub(super) fn rule(&self, heading: &str) -> Option<&Rule> {
        // A line for this very number counts more than one for any.
        let found = self.columns.get(&fold(heading)).or_else(|| {
            let general = general(&fold(heading))?;
            self.columns.get(&general)
        });
        found.map(|line| &line.rule)
    }

    /// The rule of a heading: its own, or the one that all exports share.
    pub(super) fn understand(&self, heading: &str) -> Rule {
        self.rule(heading)
            .cloned()
            .unwrap_or_else(|| Rule { column: Column::named(heading), transform: None })
    }

    /// The same, where every heading of a file has its own line.
    pub(super) fn spelled_out(
        mut self,
        headings: impl IntoIterator<Item = SpelledHeading>,
    ) -> Self {
        for SpelledHeading { heading, is_optional } in headings {
            let rule = self.understand(&heading);
            self.columns.insert(fold(&heading), Line { heading, rule, is_own: true, is_optional });
        }
        self
    }

    /// Whether units whose price is in another currency are offered without one.
    pub(super) fn takes_without_prices(&self) -> bool {
        self.without_prices == Some(true)
    }

    pub(super) fn offers_unbuilt(&self) -> bool {
        self.unbuilt == Some(Unbuilt::InTransit)
    }
}

/// A heading of a file.
#[derive(Debug)]
pub(super) struct SpelledHeading {
    /// As it stands there.
    pub(super) heading: String,
    /// Whether another file of the same kind may be without it.
    pub(super) is_optional: bool,
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

#[cfg(test)]
mod tests;
