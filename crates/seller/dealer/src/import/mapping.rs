//! Mapping of the columns of a feed to fields: a file that a person writes, or one of the
//! [`preset`](super::preset)s, which have the same format.
//!
//! Headings that a mapping does not name are interpreted by the names common to all exports
//! (`columns::CellMeaning::from_heading`).

use std::collections::BTreeMap;
use std::sync::Arc;

use tradepost_document::problem::DocumentPlace;
use tradepost_document::toml::{self, TomlMistake, Variables};
use tradepost_document::words;

use super::columns::{CellMeaning, ITEM};
use super::notation::{DateForm, Notation};
use super::preset::Preset;
use super::words::fold;

mod constants;
mod read;
mod unmatched;
mod write;

/// Field name for a column to be ignored.
pub(super) const IGNORE: &str = "ignore";

words! {
    /// Relation of an amount to the price in a feed.
    pub enum AmountRelation {
        /// Not part of the price, so the importer adds or subtracts it.
        Apart = "apart",
        /// Already part of the price.
        Included = "included",
    }
}

words! {
    /// Treatment of a unit that is not yet in transit to the dealer.
    pub enum UnbuiltPolicy {
        /// Not offered.
        Skip = "skip",
        /// Offered as in transit; the dealer is responsible for that being true.
        InTransit = "intransit",
    }
}

/// Composition of a feed's prices (AAP 1.1, `R-PR-01`). Without a rule, fees are added, and add-ons
/// and rebates cause a warning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PriceRule {
    /// Mandatory fees: the unit's own, or else those of its rooftop.
    pub fees: Option<AmountRelation>,
    /// Dealer add-ons.
    pub add_ons: Option<AmountRelation>,
    /// Rebates that every buyer gets.
    pub rebates: Option<AmountRelation>,
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

/// Changes to a cell before it is interpreted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transform {
    /// Replacements by folded text.
    words: BTreeMap<String, String>,
    /// Separator of the items of a list.
    split: Option<String>,
    /// Texts to remove.
    remove: Vec<String>,
    /// Format of a date.
    date: Option<DateForm>,
    /// Prefix to add.
    prepend: Option<String>,
    /// Suffix to add.
    append: Option<String>,
}

impl Transform {
    /// Applies the transform. A structured list has an [`ITEM`] after each item.
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
            // A single item gets the separator too, so that it is not split again.
            return items.flat_map(|item| [item, ITEM.to_string()]).collect();
        }
        self.apply_to_item(text.trim())
    }

    fn apply_to_item(&self, text: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        // A replacement is complete: no prefix or suffix is added.
        if let Some(word) = self.words.get(&fold(text)) {
            return word.clone();
        }
        // A text that is not a date in this format stays unchanged, and the report quotes it.
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

/// Rule for a column: its field and its transform.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ColumnRule {
    /// The field; `None` when the column is ignored.
    pub(super) column: Option<CellMeaning>,
    pub(super) transform: Option<Arc<Transform>>,
}

/// A line of the table `[columns]`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MappingLine {
    /// Heading as written.
    heading: String,
    rule: ColumnRule,
    /// True for a line of the feed's own mapping. A preset's lines cover all feeds of a format, and
    /// no feed has all of those columns.
    is_own: bool,
    /// True when a feed may lack the column.
    is_optional: bool,
}

/// A mapping of a feed's columns to fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mapping {
    /// Preset for everything that the mapping does not define.
    preset: Option<Preset>,
    /// For presets: lists of headings, any of which identifies the format when all its headings are
    /// present.
    pub(super) signatures: Vec<Vec<String>>,
    /// Headings for a table without a heading row.
    pub(super) positions: Vec<String>,
    /// Lines by folded heading.
    columns: BTreeMap<String, MappingLine>,
    pub(super) constants: Vec<(CellMeaning, String)>,
    /// Names in the feed of dealers and rooftops, with the names configured here.
    pub(super) names: Vec<(String, String)>,
    pub(super) price: PriceRule,
    unbuilt: Option<UnbuiltPolicy>,
    /// True when units priced in another currency are offered without a price.
    without_prices: Option<bool>,
    pub(super) notation: Notation,
}

impl Mapping {
    /// Parses a mapping file.
    ///
    /// # Errors
    /// Every mistake with its line.
    pub fn parse(text: &str) -> Result<Self, Vec<TomlMistake>> {
        let own = toml::read(text, Variables::default(), |value, problems| {
            read::mapping(value, &DocumentPlace::Root, problems)
        })?;
        Ok(match own.preset {
            Some(preset) => own.over(&Self::from_preset(preset)),
            None => own,
        })
    }

    /// Returns the mapping of a preset.
    #[must_use]
    pub fn from_preset(preset: Preset) -> Self {
        let own = toml::read(preset.table(), Variables::default(), |value, problems| {
            read::mapping(value, &DocumentPlace::Root, problems)
        });
        let mut own = own.expect("every preset is a mapping, which a test proves");
        own.columns.values_mut().for_each(|line| line.is_own = false);
        Self { preset: Some(preset), ..own }
    }

    /// Returns the preset that this mapping is or is based on.
    #[must_use]
    pub fn preset(&self) -> Option<Preset> {
        self.preset
    }

    /// Returns this mapping, based on a preset.
    pub(super) fn based_on(self, preset: Preset) -> Self {
        Self { preset: Some(preset), ..self.over(&Self::from_preset(preset)) }
    }

    /// Merges two mappings; this one wins.
    fn over(self, base: &Self) -> Self {
        let mut columns = base.columns.clone();
        columns.extend(self.columns);
        let own_columns: Vec<CellMeaning> =
            self.constants.iter().map(|(column, _)| *column).collect();
        let others =
            base.constants.iter().filter(|(column, _)| !own_columns.contains(column)).cloned();
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

    /// Returns the rule for a heading, if the mapping has one.
    pub(super) fn rule(&self, heading: &str) -> Option<&ColumnRule> {
        // A line for one number wins over a line for any number.
        let found = self.columns.get(&fold(heading)).or_else(|| {
            let general = general(&fold(heading))?;
            self.columns.get(&general)
        });
        found.map(|line| &line.rule)
    }

    /// Returns the rule for a heading: the mapping's, or the one common to all exports.
    pub(super) fn understand(&self, heading: &str) -> ColumnRule {
        self.rule(heading).cloned().unwrap_or_else(|| ColumnRule {
            column: CellMeaning::from_heading(heading),
            transform: None,
        })
    }

    /// Returns the mapping with a line of its own for every heading of a file.
    pub(super) fn expanded(mut self, headings: impl IntoIterator<Item = SpelledHeading>) -> Self {
        for SpelledHeading { heading, is_optional } in headings {
            let rule = self.understand(&heading);
            self.columns
                .insert(fold(&heading), MappingLine { heading, rule, is_own: true, is_optional });
        }
        self
    }

    /// Returns true when units priced in another currency are offered without a price.
    pub(super) fn takes_without_prices(&self) -> bool {
        self.without_prices == Some(true)
    }

    pub(super) fn offers_unbuilt(&self) -> bool {
        self.unbuilt == Some(UnbuiltPolicy::InTransit)
    }
}

/// A heading of a file.
#[derive(Debug)]
pub(super) struct SpelledHeading {
    /// Heading as written.
    pub(super) heading: String,
    /// True when another file of the same kind may lack it.
    pub(super) is_optional: bool,
}

/// Folds the numbers of a heading to `#`: `image_3_url` becomes `image_#_url`. `None` without a
/// number.
fn general(folded: &str) -> Option<String> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !folded.split('_').any(is_number) {
        return None;
    }
    let parts = folded.split('_').map(|part| if is_number(part) { "#" } else { part });
    Some(parts.collect::<Vec<_>>().join("_"))
}

/// Returns the key of a heading: `image[*].url` matches any number.
fn key(heading: &str) -> String {
    match heading.contains('*') {
        true => general(&fold(&heading.replace('*', "0"))).unwrap_or_default(),
        false => fold(heading),
    }
}

#[cfg(test)]
mod tests;
