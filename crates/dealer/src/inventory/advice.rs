//! What there is to say about an answer: how the query was read and, where nothing matches, which
//! filter is in the way, how many match without it, and which values there are instead.

use std::cmp::Reverse;

use tradepost_wire::aap::Filters;
use tradepost_wire::catalog::Vocabulary as _;

use super::Index;
use super::bitmap::Bitmap;
use super::column::TextColumn;
use super::matching::{Constraint, Source};
use crate::query::spelling::nearest;
use crate::query::{Meaning, Number, Understood};

/// How many values are suggested instead of one.
const SUGGESTIONS: usize = 3;

/// What there is to say about an answer.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// How many match.
    pub(crate) total: usize,
    /// The query, as it was understood.
    pub(crate) query: Option<Understood>,
    /// Where nothing matches: every filter, in the order of the request.
    pub(crate) reasons: Vec<Reason>,
}

/// What a filter does to an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reason {
    /// The filter with what it asks for: `make Hundai`.
    pub(crate) filter: String,
    /// How many match it when it is alone.
    pub(crate) alone: usize,
    /// How many match everything else.
    pub(crate) without: usize,
    /// What there is instead, among what matches everything else or, where nothing does and nothing
    /// matches this, among everything.
    pub(crate) instead: Instead,
}

/// What there is instead of a value that is not there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Instead {
    /// Values that look like it, with how many have them.
    Alike(Vec<(String, usize)>),
    /// The most frequent values, because none looks like it.
    Frequent(Vec<(String, usize)>),
    /// Numbers from the lowest to the highest, by the name of the member.
    Between(&'static str, u32, u32),
    /// Nothing that could be said.
    Nothing,
}

impl Index {
    /// The notes of an answer.
    pub(super) fn notes(
        &self,
        filters: &Filters,
        query: Option<Understood>,
        total: usize,
    ) -> Notes {
        let reasons = match total {
            0 => self.reasons(filters, query.as_ref()),
            _ => Vec::new(),
        };
        Notes { total, query, reasons }
    }

    /// What every filter does. Each set of rows is made once; what the others leave is put
    /// together from those before and those behind.
    fn reasons(&self, filters: &Filters, query: Option<&Understood>) -> Vec<Reason> {
        let all = self.by_id.len();
        let mut found: Vec<(Source<'_>, Bitmap)> = Vec::new();
        self.constraints(filters, query, |source, constraint: Constraint<'_>| {
            found.push((source, constraint.to_bitmap(all)));
        });
        // Each with what all behind it leave, and below with what those before it leave: put
        // together anew for each filter, the work would grow with the square of their number.
        let mut behind: Vec<Bitmap> = vec![Bitmap::full(all)];
        for (_, set) in found.iter().rev() {
            let mut next = behind.last().cloned().unwrap_or_default();
            next.intersect(set);
            behind.push(next);
        }
        // That of all filters together is nobody's: no filter would be left out.
        behind.pop();
        let mut before = Bitmap::full(all);
        let mut reasons = Vec::with_capacity(found.len());
        for (source, set) in &found {
            let mut others = behind.pop().unwrap_or_default();
            others.intersect(&before);
            let (alone, without) = (set.len(), others.len());
            // Where others are in the way as well, a filter is not discussed unless nothing at all
            // satisfies it.
            let instead = match (alone, without) {
                (1.., 0) => Instead::Nothing,
                (0, 0) => self.instead(*source, filters, None),
                (_, 1..) => self.instead(*source, filters, Some(&others)),
            };
            reasons.push(Reason { filter: named(*source, filters), alone, without, instead });
            before.intersect(set);
        }
        reasons
    }

    /// What there is instead, among some rows or all.
    fn instead(&self, source: Source<'_>, filters: &Filters, among: Option<&Bitmap>) -> Instead {
        match source {
            Source::Text(attribute, wanted) => {
                let Some(column) = self.text(attribute) else { return Instead::Nothing };
                let values = counted(column, among);
                let mut alike: Vec<(&str, usize)> = Vec::new();
                for text in wanted {
                    alike.extend(nearest(text, &values, SUGGESTIONS));
                }
                alike.dedup();
                alike.truncate(SUGGESTIONS);
                if alike.is_empty() { frequent(values) } else { Instead::Alike(owned(alike)) }
            }
            Source::Condition => {
                let mut values = counted(&self.texts.condition, among);
                let is_wanted =
                    |name: &str| filters.condition.iter().any(|word| word.name() == name);
                values.retain(|(name, _)| !is_wanted(name));
                frequent(values)
            }
            Source::Range(number, _) => self.between(number, among),
            Source::Identifier(..) => Instead::Nothing,
            Source::Asked(want) => match (want.any.as_slice(), want.attribute) {
                ([Meaning::Number(number, _)], _) => self.between(*number, among),
                (_, Some(attribute)) if !want.negated => match self.text(attribute) {
                    Some(column) => frequent(counted(column, among)),
                    None => Instead::Nothing,
                },
                (_, _) => Instead::Nothing,
            },
        }
    }

    fn between(&self, number: Number, among: Option<&Bitmap>) -> Instead {
        let column = self.number(number);
        let ends = match among {
            None => column.ends(),
            Some(among) => column.ends_among(among.rows()),
        };
        ends.map_or(Instead::Nothing, |(min, max)| Instead::Between(number.name(), min, max))
    }
}

/// The values that rows of a set have, or all rows, with how many have them, by code.
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

fn frequent(mut values: Vec<(&str, usize)>) -> Instead {
    values.sort_by_key(|(text, count)| (Reverse(*count), *text));
    values.truncate(SUGGESTIONS);
    if values.is_empty() { Instead::Nothing } else { Instead::Frequent(owned(values)) }
}

fn owned(values: Vec<(&str, usize)>) -> Vec<(String, usize)> {
    values.into_iter().map(|(text, count)| (short(text), count)).collect()
}

/// A filter as it was sent.
fn named(source: Source<'_>, filters: &Filters) -> String {
    match source {
        Source::Text(attribute, wanted) => {
            let mut texts: Vec<String> = wanted.iter().take(3).map(|text| short(text)).collect();
            if wanted.len() > texts.len() {
                texts.push("...".to_owned());
            }
            format!("{} {}", attribute.filter(), texts.join(" or "))
        }
        Source::Condition => {
            let names: Vec<&str> = filters.condition.iter().map(|word| word.name()).collect();
            format!("condition {}", names.join(" or "))
        }
        Source::Identifier(name, wanted) => format!("{name} {}", short(wanted)),
        Source::Range(number, bounds) => number.in_filters(bounds),
        Source::Asked(want) if want.negated => format!("not {}", want.label),
        Source::Asked(want) => want.label.clone(),
    }
}

/// A text cut to a length that fits into a sentence.
fn short(text: &str) -> String {
    let mut short: String = text.chars().take(40).collect();
    if short.len() < text.len() {
        short.push_str("...");
    }
    short
}
