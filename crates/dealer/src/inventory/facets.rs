//! Counts over matches (`R-FA-02` to `R-FA-05`).

use tradepost_wire::aap::Facets;
use tradepost_wire::aap::inventory::{Range, Term, TermValue};

use super::Index;
use super::bitmap::Bitmap;
use super::codes::{ABSENT, Codes};
use super::column::{Column, TextColumn};
use super::matching::Matches;

/// The matches of which values are counted.
enum Counted<'a> {
    All,
    These(&'a [u32]),
    Set(&'a Bitmap, Vec<u32>),
}

impl Index {
    /// Counts the matches by their values.
    pub(super) fn count(&self, matches: &Matches) -> Facets {
        let counted = match matches {
            Matches::All(_) => Counted::All,
            Matches::Few(rows) => Counted::These(rows),
            Matches::Many(set, _) => Counted::Set(set, set.rows().collect()),
        };
        let texts = |column: &TextColumn| {
            let mut terms = terms(column.rows(), &counted, |code| {
                TermValue::Text(column.spelling(code).to_owned())
            });
            terms
                .sort_unstable_by(|a, b| b.count.cmp(&a.count).then_with(|| a.value.cmp(&b.value)));
            terms
        };
        let year = |code| TermValue::Number(self.year.key(code).unwrap_or_default());
        let mut years = terms(&self.year.rows, &counted, year);
        years.reverse();
        Facets {
            makes: texts(&self.make),
            models: texts(&self.model),
            trims: texts(&self.trim),
            years,
            conditions: texts(&self.condition),
            transmissions: texts(&self.transmission),
            fuels: texts(&self.fuel),
            drivelines: texts(&self.driveline),
            bodies: texts(&self.body),
            exterior_colors: texts(&self.exterior_color),
            interior_colors: texts(&self.interior_color),
            rooftops: texts(&self.rooftop),
            statuses: texts(&self.status),
            price_range: extent(&self.price, &counted),
            mileage_range: extent(&self.mileage, &counted),
            year_range: extent(&self.year, &counted),
        }
    }
}

/// How many of the matches have which value, by code.
fn terms(column: &Codes, matches: &Counted<'_>, value: impl Fn(u32) -> TermValue) -> Vec<Term> {
    let counts = match matches {
        Counted::All => (0..column.distinct()).map(|code| column.count(code..code + 1)).collect(),
        Counted::These(rows) => column.counts_of(rows),
        // Bitmaps in common, or a look at each match.
        Counted::Set(set, rows) if column.counts_cost() < rows.len() => column.counts_in(set),
        Counted::Set(_, rows) => column.counts_of(rows),
    };
    let counts = (0..).zip(counts).filter(|(_, count)| *count > 0);
    counts.map(|(code, count)| Term { value: value(code), count }).collect()
}

fn extent(column: &Column, matches: &Counted<'_>) -> Option<Range> {
    let (min, max) = match matches {
        Counted::All => (column.keys().first().copied()?, column.keys().last().copied()?),
        Counted::These(rows) => seen(column, rows)?,
        // From both ends of the order the first matches are mostly near; where they are not, it
        // gives up after as many steps as looking at each match takes.
        Counted::Set(set, rows) => match column.rows.ends_in(set, rows.len()) {
            Some((min, max)) => (column.key(min)?, column.key(max)?),
            None => seen(column, rows)?,
        },
    };
    Some(Range { min, max })
}

/// The lowest and the highest number that rows have.
fn seen(column: &Column, rows: &[u32]) -> Option<(u32, u32)> {
    let codes = rows.iter().map(|row| column.rows.code(*row)).filter(|code| *code != ABSENT);
    let ends = codes.fold(None, |ends: Option<(u32, u32)>, code| {
        let (min, max) = ends.unwrap_or((code, code));
        Some((min.min(code), max.max(code)))
    });
    let (min, max) = ends?;
    Some((column.key(min)?, column.key(max)?))
}
