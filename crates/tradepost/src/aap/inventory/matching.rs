//! Which vehicles satisfy the filters. The most selective filter comes first; what is left is
//! narrowed by whichever is cheaper, combining bitmaps or looking at each remaining row.

use std::ops::Range;

use tradepost_wire::aap::Filters;
use tradepost_wire::catalog::Vocabulary;

use super::Index;
use super::bitmap::Bitmap;
use super::column::{Codes, Column, TextColumn, index, is_dense};
use super::words::demands;

/// Matching rows.
#[derive(Debug)]
pub(super) enum Matches {
    /// Every row.
    All(u32),
    /// A few, in no particular order.
    Few(Vec<u32>),
    /// Many, and how many.
    Many(Bitmap, usize),
}

impl Matches {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::All(rows) => *rows as usize,
            Self::Few(rows) => rows.len(),
            Self::Many(_, count) => *count,
        }
    }
}

/// A filter, resolved against the dictionaries.
#[derive(Debug)]
enum Constraint<'a> {
    /// The row's code is in one of these ascending, separate ranges.
    Codes(&'a Codes, Vec<Range<u32>>),
    /// The row is in one of these lists.
    Listed(Vec<&'a [u32]>),
}

impl Constraint<'_> {
    /// At most how many rows satisfy it.
    fn bound(&self) -> usize {
        match self {
            Self::Codes(column, spans) => {
                let rows = |span: &Range<u32>| column.span(span.clone()).len();
                spans.iter().map(rows).sum()
            }
            Self::Listed(lists) => lists.iter().map(|rows| rows.len()).sum(),
        }
    }

    fn to_rows(&self) -> Vec<u32> {
        match self {
            Self::Codes(column, spans) => {
                let rows = spans.iter().flat_map(|span| column.span(span.clone()));
                rows.copied().collect()
            }
            Self::Listed(lists) => {
                let mut rows = lists.concat();
                rows.sort_unstable();
                rows.dedup();
                rows
            }
        }
    }

    fn to_bitmap(&self, rows: usize) -> Bitmap {
        match self {
            Self::Codes(column, spans) => {
                if self.build_cost() > rows {
                    return Bitmap::scan(column.codes(), |code| allows(spans, code));
                }
                let mut set = Bitmap::empty(rows);
                for span in spans {
                    column.add_to(&mut set, span.clone());
                }
                set
            }
            Self::Listed(lists) => {
                let mut set = Bitmap::empty(rows);
                let rows = lists.iter().copied().flatten();
                rows.for_each(|row| set.insert(*row));
                set
            }
        }
    }

    /// About how many steps it takes to collect the rows in a bitmap.
    fn build_cost(&self) -> usize {
        match self {
            Self::Codes(column, spans) => {
                let cost = |span: &Range<u32>| column.add_cost(span.clone());
                spans.iter().map(cost).sum()
            }
            Self::Listed(_) => self.bound(),
        }
    }

    fn narrow_rows(&self, rows: &mut Vec<u32>, all: usize) {
        match self {
            Self::Codes(column, spans) => rows.retain(|row| allows(spans, column.code(*row))),
            Self::Listed(_) => {
                let set = self.to_bitmap(all);
                rows.retain(|row| set.contains(*row));
            }
        }
    }

    fn narrow_bitmap(&self, set: &mut Bitmap, survivors: usize, all: usize) {
        match self {
            Self::Codes(column, spans) if survivors < self.build_cost() => {
                // Nearly always there is one range.
                if let [span] = spans.as_slice() {
                    set.retain_within(column.codes(), span);
                } else {
                    set.retain(|row| allows(spans, column.code(row)));
                }
            }
            Self::Codes(..) | Self::Listed(_) => set.intersect(&self.to_bitmap(all)),
        }
    }
}

fn allows(spans: &[Range<u32>], code: u32) -> bool {
    // Nearly always there is one range.
    if let [span] = spans {
        return span.contains(&code);
    }
    let next = spans.partition_point(|span| span.end <= code);
    spans.get(next).is_some_and(|span| span.start <= code)
}

impl Index {
    /// The rows that satisfy every filter (`R-IS-07`).
    pub(super) fn matches(&self, filters: &Filters) -> Matches {
        let all = self.by_id.len();
        let mut constraints: Vec<(usize, Constraint<'_>)> = self
            .constraints(filters)
            .into_iter()
            .map(|constraint| (constraint.bound(), constraint))
            .collect();
        constraints.sort_by_key(|(bound, _)| *bound);
        let mut constraints = constraints.into_iter();
        let Some((bound, first)) = constraints.next() else {
            return Matches::All(index(all));
        };
        if !is_dense(bound, all) {
            let mut rows = first.to_rows();
            for (_, constraint) in constraints {
                if rows.is_empty() {
                    break;
                }
                constraint.narrow_rows(&mut rows, all);
            }
            return Matches::Few(rows);
        }
        let mut set = first.to_bitmap(all);
        let mut survivors = match first {
            // No row has two codes, so that the bound is exact.
            Constraint::Codes(..) => bound,
            Constraint::Listed(_) => set.len(),
        };
        for (_, constraint) in constraints {
            if survivors == 0 {
                break;
            }
            constraint.narrow_bitmap(&mut set, survivors, all);
            survivors = set.len();
        }
        Matches::Many(set, survivors)
    }

    fn constraints(&self, filters: &Filters) -> Vec<Constraint<'_>> {
        let mut found = Vec::new();
        let texts = [
            (&self.make, &filters.make),
            (&self.model, &filters.model),
            (&self.trim, &filters.trim),
            (&self.transmission, &filters.transmission),
            (&self.fuel, &filters.fuel),
            (&self.driveline, &filters.driveline),
            (&self.body, &filters.body),
            (&self.exterior_color, &filters.exterior_color),
            (&self.interior_color, &filters.interior_color),
            (&self.rooftop, &filters.rooftops),
        ];
        for (column, wanted) in texts.into_iter().filter(|(_, wanted)| !wanted.is_empty()) {
            let spans = any_of(column, wanted.iter().map(String::as_str));
            found.push(Constraint::Codes(column.rows(), spans));
        }
        if !filters.condition.is_empty() {
            let names = filters.condition.iter().map(|word| word.name());
            let spans = any_of(&self.condition, names);
            found.push(Constraint::Codes(self.condition.rows(), spans));
        }
        for (column, wanted) in [(&self.vin, &filters.vin), (&self.stock, &filters.stock)] {
            if let Some(wanted) = wanted {
                found.push(Constraint::Listed(vec![column.find(wanted)]));
            }
        }
        let ranges = [
            (&self.year, filters.year_min, filters.year_max),
            (&self.price, filters.price_min, filters.price_max),
            (&self.mileage, None, filters.mileage_max),
        ];
        for (column, min, max) in ranges {
            if min.is_some() || max.is_some() {
                found.push(range(column, min, max));
            }
        }
        for demand in demands(filters.query.as_deref().unwrap_or_default()) {
            let prefixes = demand.iter();
            let lists = prefixes.flat_map(|prefix| {
                [self.words.starting_with(prefix), self.vin.starting_with(prefix)]
            });
            found.push(Constraint::Listed(lists.filter(|rows| !rows.is_empty()).collect()));
        }
        found
    }
}

/// The codes of the values that mean the same as one of the texts.
fn any_of<'t>(column: &TextColumn, wanted: impl Iterator<Item = &'t str>) -> Vec<Range<u32>> {
    let mut codes: Vec<u32> = wanted.filter_map(|text| column.code(text)).collect();
    codes.sort_unstable();
    codes.dedup();
    codes.into_iter().map(|code| code..code + 1).collect()
}

fn range(column: &Column<u32>, min: Option<u32>, max: Option<u32>) -> Constraint<'_> {
    Constraint::Codes(&column.rows, vec![column.between(min.as_ref(), max.as_ref())])
}
