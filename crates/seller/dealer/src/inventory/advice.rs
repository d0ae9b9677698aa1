//! Notes about an answer: the interpretation of the query and, where nothing matches, each filter
//! with the number of matches without it and the values that exist instead.

use std::cmp::Reverse;

use tradepost_aap::Filters;
use tradepost_document::catalog::Vocabulary as _;

use super::SearchIndex;
use super::bitmap::Bitmap;
use super::column::TextColumn;
use super::matching::{Constraint, ConstraintSource};
use crate::query::spelling::nearest;
use crate::query::{NumericAttribute, Predicate, QueryInterpretation};

/// Number of values suggested for one.
const SUGGESTIONS: usize = 3;

/// Notes about an answer.
#[derive(Debug, Default)]
pub(crate) struct AnswerNotes {
    /// Number of matches.
    pub(crate) total: usize,
    /// Interpretation of the query.
    pub(crate) query: Option<QueryInterpretation>,
    /// Every filter in the order of the request, where nothing matches.
    pub(crate) reasons: Vec<FilterEffect>,
}

/// Effect of a filter on an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FilterEffect {
    /// The filter with its value: `make Hundai`.
    pub(crate) filter: String,
    /// Number of matches of this filter alone.
    pub(crate) alone: usize,
    /// Number of matches of all other filters.
    pub(crate) without: usize,
    /// Existing values among the matches of all other filters or, where neither these nor this
    /// filter match anything, in the whole inventory.
    pub(crate) instead: Alternatives,
}

/// Values that exist in place of a missing one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Alternatives {
    /// Similar values with their counts.
    Alike(Vec<(String, usize)>),
    /// The most frequent values, because none is similar.
    Frequent(Vec<(String, usize)>),
    /// Range of numbers, from lowest to highest, with the name of the member.
    Between(&'static str, u32, u32),
    /// No suggestion.
    Nothing,
}

impl SearchIndex {
    /// Returns the notes of an answer.
    pub(super) fn notes(
        &self,
        filters: &Filters,
        query: Option<QueryInterpretation>,
        total: usize,
    ) -> AnswerNotes {
        let reasons = match total {
            0 => self.reasons(filters, query.as_ref()),
            _ => Vec::new(),
        };
        AnswerNotes { total, query, reasons }
    }

    /// Returns the effect of every filter. Each set of rows is built once; the matches of the other
    /// filters are combined from the sets before and after.
    fn reasons(&self, filters: &Filters, query: Option<&QueryInterpretation>) -> Vec<FilterEffect> {
        let all = self.by_id.len();
        let mut found: Vec<(ConstraintSource<'_>, Bitmap)> = Vec::new();
        self.constraints(filters, query, |source, constraint: Constraint<'_>| {
            found.push((source, constraint.to_bitmap(all)));
        });
        // `behind` holds the intersection of all sets after each position. Combining all sets anew
        // for each filter would take quadratic time.
        let mut behind: Vec<Bitmap> = vec![Bitmap::full(all)];
        for (_, set) in found.iter().rev() {
            let mut next = behind.last().cloned().unwrap_or_default();
            next.intersect(set);
            behind.push(next);
        }
        // The intersection of all sets belongs to no filter, because none is left out.
        behind.pop();
        let mut before = Bitmap::full(all);
        let mut reasons = Vec::with_capacity(found.len());
        for (source, set) in &found {
            let mut others = behind.pop().unwrap_or_default();
            others.intersect(&before);
            let alone = set.len();
            let without = others.len();
            // Where other filters exclude everything as well, a filter gets suggestions only if it
            // matches nothing at all.
            let instead = match (alone, without) {
                (1.., 0) => Alternatives::Nothing,
                (0, 0) => self.instead(*source, filters, None),
                (_, 1..) => self.instead(*source, filters, Some(&others)),
            };
            reasons.push(FilterEffect { filter: named(*source, filters), alone, without, instead });
            before.intersect(set);
        }
        reasons
    }

    /// Returns the values that exist instead, among some rows or all.
    fn instead(
        &self,
        source: ConstraintSource<'_>,
        filters: &Filters,
        among: Option<&Bitmap>,
    ) -> Alternatives {
        match source {
            ConstraintSource::Text(attribute, wanted) => {
                let Some(column) = self.text(attribute) else { return Alternatives::Nothing };
                let values = counted(column, among);
                let mut alike: Vec<(&str, usize)> = Vec::new();
                for text in wanted {
                    alike.extend(nearest(text, &values, SUGGESTIONS));
                }
                alike.dedup();
                alike.truncate(SUGGESTIONS);
                if alike.is_empty() { frequent(values) } else { Alternatives::Alike(owned(alike)) }
            }
            ConstraintSource::Condition => {
                let mut values = counted(&self.texts.condition, among);
                let is_wanted =
                    |name: &str| filters.condition.iter().any(|word| word.name() == name);
                values.retain(|(name, _)| !is_wanted(name));
                frequent(values)
            }
            ConstraintSource::Range(number, _) => self.between(number, among),
            ConstraintSource::Identifier(..) => Alternatives::Nothing,
            ConstraintSource::Asked(want) => match (want.any.as_slice(), want.attribute) {
                ([Predicate::Number(number, _)], _) => self.between(*number, among),
                (_, Some(attribute)) if !want.negated => match self.text(attribute) {
                    Some(column) => frequent(counted(column, among)),
                    None => Alternatives::Nothing,
                },
                (_, _) => Alternatives::Nothing,
            },
        }
    }

    fn between(&self, number: NumericAttribute, among: Option<&Bitmap>) -> Alternatives {
        let column = self.number(number);
        let ends = match among {
            None => column.ends(),
            Some(among) => column.ends_among(among.rows()),
        };
        ends.map_or(Alternatives::Nothing, |(min, max)| {
            Alternatives::Between(number.name(), min, max)
        })
    }
}

/// Returns the values of a set of rows, or of all rows, with their counts by code.
fn counted<'a>(column: &'a TextColumn, among: Option<&Bitmap>) -> Vec<(&'a str, usize)> {
    let counts = match among {
        None => {
            let rows = |code: u32| column.rows.count(code..code + 1);
            (0..column.rows.distinct()).map(rows).collect()
        }
        Some(among) => {
            let mut counts = vec![0_usize; column.keys.len()];
            for row in among.rows() {
                if let Some(count) = counts.get_mut(column.rows.code(row) as usize) {
                    *count += 1;
                }
            }
            counts
        }
    };
    let counts = (0..).zip(counts).filter(|(_, count)| *count > 0);
    counts.map(|(code, count)| (column.spelling(code), count)).collect()
}

fn frequent(mut values: Vec<(&str, usize)>) -> Alternatives {
    values.sort_by_key(|(text, count)| (Reverse(*count), *text));
    values.truncate(SUGGESTIONS);
    if values.is_empty() { Alternatives::Nothing } else { Alternatives::Frequent(owned(values)) }
}

fn owned(values: Vec<(&str, usize)>) -> Vec<(String, usize)> {
    values.into_iter().map(|(text, count)| (short(text), count)).collect()
}

/// Formats a filter as it was sent.
fn named(source: ConstraintSource<'_>, filters: &Filters) -> String {
    match source {
        ConstraintSource::Text(attribute, wanted) => {
            let mut texts: Vec<String> = wanted.iter().take(3).map(|text| short(text)).collect();
            if wanted.len() > texts.len() {
                texts.push("...".to_owned());
            }
            format!("{} {}", attribute.filter(), texts.join(" or "))
        }
        ConstraintSource::Condition => {
            let names: Vec<&str> = filters.condition.iter().map(|word| word.name()).collect();
            format!("condition {}", names.join(" or "))
        }
        ConstraintSource::Identifier(name, wanted) => format!("{name} {}", short(wanted)),
        ConstraintSource::Range(number, bounds) => number.in_filters(bounds),
        ConstraintSource::Asked(want) if want.negated => format!("not {}", want.label),
        ConstraintSource::Asked(want) => want.label.clone(),
    }
}

/// Shortens a text to 40 characters.
fn short(text: &str) -> String {
    let mut short: String = text.chars().take(40).collect();
    if short.len() < text.len() {
        short.push_str("...");
    }
    short
}
