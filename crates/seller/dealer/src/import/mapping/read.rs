//! Reading of a mapping from TOML.

use std::collections::BTreeMap;
use std::sync::Arc;

use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;
use tradepost_document::parse::{self, not_one_of, read_object, reject};
use tradepost_document::problem::{DocumentPlace, Problems};

use super::constants::check_constants;
use super::{
    AmountRelation, ColumnRule, IGNORE, Mapping, MappingLine, PriceRule, Transform, UnbuiltPolicy,
    key,
};
use crate::import::columns::CellMeaning;
use crate::import::notation::{DateForm, DecimalSign, DistanceUnit, Notation};
use crate::import::preset::Preset;
use crate::import::text::quote;
use crate::import::words::fold;

/// Maximum number of lines of a table.
const MAX_LINES: usize = 2_000;

/// Maximum length of a text in bytes.
const MAX_TEXT: usize = 2_000;

pub(super) fn mapping(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<Mapping> {
    read_object!(value, at, problems, closed {
        optional "preset" => preset: parse::word::<Preset>,
        optional "known_by" => signatures: |v, at, p| parse::list(v, at, p, (1, Some(20)), texts),
        optional "headings" => positions: texts,
        optional "columns" => columns: read_columns,
        optional "constants" => constants: read_constants,
        optional "names" => names: pairs,
        optional "price" => price: read_price,
        optional "in_production" => unbuilt: parse::word::<UnbuiltPolicy>,
        optional "without_prices" => without_prices: parse::boolean,
        optional "format" => notation: read_notation,
    });
    let notation = notation.unwrap_or_default();
    let constants = constants.unwrap_or_default();
    check_constants(&constants, &notation, &at.key("constants"), problems);
    Some(Mapping {
        preset,
        signatures: signatures.unwrap_or_default(),
        positions: positions.unwrap_or_default(),
        columns: columns.unwrap_or_default(),
        constants,
        names: names.unwrap_or_default(),
        price: price.unwrap_or_default(),
        unbuilt,
        without_prices,
        notation,
    })
}

fn texts(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<Vec<String>> {
    parse::list(value, at, problems, (1, Some(MAX_LINES)), text)
}

fn text(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<String> {
    parse::of_text((value, at, problems), "must have at most 2000 bytes", |text| {
        (text.len() <= MAX_TEXT).then(|| text.to_owned())
    })
}

/// Reads a table with arbitrary keys, line by line.
fn lines<T>(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
    mut line: impl FnMut(&str, &Value, &DocumentPlace<'_>, &mut Problems) -> Option<T>,
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

fn read_columns(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<BTreeMap<String, MappingLine>> {
    let mut columns = BTreeMap::new();
    lines(value, at, problems, |heading, value, at, problems| {
        let key = key(heading);
        if key.is_empty() {
            reject(at, problems, "a heading needs a letter or a digit");
            return None;
        }
        let line = column_line(heading, value, at, problems)?;
        if let Some(MappingLine { heading: other, .. }) = columns.insert(key, line) {
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

fn column_line(
    heading: &str,
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<MappingLine> {
    let heading = heading.to_owned();
    if !value.is_object() {
        let rule = ColumnRule { column: field(value, at, problems)?, transform: None };
        return Some(MappingLine { heading, rule, is_own: true, is_optional: false });
    }
    let glossary = |v: &Value, at: &DocumentPlace<'_>, p: &mut Problems| {
        let words = pairs(v, at, p)?;
        Some(words.into_iter().map(|(word, meaning)| (fold(&word), meaning)).collect())
    };
    read_object!(value, at, problems, closed {
        required "field" => column: field,
        optional "words" => words: glossary,
        optional "split" => split: separator,
        optional "remove" => remove: texts,
        optional "prepend" => prepend: text,
        optional "append" => append: text,
        optional "date" => date: date_form,
        optional "optional" => is_optional: parse::boolean,
    });
    let column = column?;
    let is_date = matches!(column, Some(CellMeaning::Year | CellMeaning::InStockSince));
    if date.is_some() && !is_date {
        reject(&at.key("date"), problems, "belongs to the fields year and inventory_date");
    }
    let words = words.unwrap_or_default();
    let remove = remove.unwrap_or_default();
    let transform = Transform { words, split, remove, date, prepend, append };
    let transform = (!transform.is_nothing()).then(|| Arc::new(transform));
    let rule = ColumnRule { column, transform };
    Some(MappingLine { heading, rule, is_own: true, is_optional: is_optional.unwrap_or_default() })
}

fn date_form(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<DateForm> {
    parse::of_text((value, at, problems), DateForm::RULE, DateForm::parse)
}

fn read_notation(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<Notation> {
    read_object!(value, at, problems, closed {
        optional "decimal" => decimal: parse::word::<DecimalSign>,
        optional "distance" => distance: parse::word::<DistanceUnit>,
        optional "date" => date: date_form,
    });
    Some(Notation { decimal, distance, date })
}

/// Reads the name of a field; `Some(None)` for an ignored column.
fn field(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<Option<CellMeaning>> {
    let Some(name) = value.as_str() else {
        parse::wrong_type(at, problems, "string");
        return None;
    };
    if name == IGNORE {
        return Some(None);
    }
    let column = CellMeaning::from_name(name);
    if column.is_none() {
        let message = match nearest_field(name) {
            Some(meant) => {
                format!("there is no field \"{}\"; did you mean \"{meant}\"?", quote(name))
            }
            None => format!("must be \"{IGNORE}\" or one of {}", CellMeaning::NAMES.join(", ")),
        };
        reject(at, problems, message);
    }
    column.map(Some)
}

/// Suggests a field for an unknown name: one with a similar name, or one that feeds call so.
fn nearest_field(name: &str) -> Option<&'static str> {
    let is_ignore = parse::did_you_mean(name, &[IGNORE]).is_some();
    let spelled =
        is_ignore.then_some(IGNORE).or_else(|| parse::did_you_mean(name, CellMeaning::NAMES));
    spelled.or_else(|| CellMeaning::from_heading(name).map(CellMeaning::name))
}

fn separator(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<String> {
    parse::of_text((value, at, problems), "must not be empty", |text| {
        (!text.is_empty() && text.len() <= 20).then(|| text.to_owned())
    })
}

fn read_constants(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<Vec<(CellMeaning, String)>> {
    lines(value, at, problems, |name, value, at, problems| {
        let Some(column) = CellMeaning::from_name(name) else {
            match nearest_field(name).filter(|meant| *meant != IGNORE) {
                Some(meant) => {
                    let name = quote(name);
                    let message =
                        format!("there is no field \"{name}\"; did you mean \"{meant}\"?");
                    reject(at, problems, message);
                }
                None => not_one_of(at, problems, CellMeaning::NAMES),
            }
            return None;
        };
        text(value, at, problems).map(|text| (column, text))
    })
}

fn pairs(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<Vec<(String, String)>> {
    lines(value, at, problems, |key, value, at, problems| {
        text(value, at, problems).map(|text| (key.to_owned(), text))
    })
}

fn read_price(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<PriceRule> {
    read_object!(value, at, problems, closed {
        optional "fees" => fees: parse::word::<AmountRelation>,
        optional "add_ons" => add_ons: parse::word::<AmountRelation>,
        optional "rebates" => rebates: parse::word::<AmountRelation>,
    });
    Some(PriceRule { fees, add_ons, rebates })
}
