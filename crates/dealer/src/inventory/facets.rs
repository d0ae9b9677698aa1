//! Counts over matches (`R-FA-02` to `R-FA-05`).

use tradepost_wire::aap::Facets;
use tradepost_wire::aap::inventory::{Range, Term, TermValue};

use super::Index;
use super::column::{ABSENT, Codes, Column, TextColumn};
use super::matching::Matches;

impl Index {
    /// Counts the matches by their values.
    pub(super) fn count(&self, matches: &Matches) -> Facets {
        let rows: Vec<u32> = match matches {
            Matches::All(rows) => (0..*rows).collect(),
            Matches::Few(rows) => rows.clone(),
            Matches::Many(set, _) => set.rows().collect(),
        };
        let texts = |column: &TextColumn| {
            let mut terms = terms(column.rows(), &rows, |code| {
                TermValue::Text(column.spelling(code).to_owned())
            });
            terms
                .sort_unstable_by(|a, b| b.count.cmp(&a.count).then_with(|| a.value.cmp(&b.value)));
            terms
        };
        let year = |code| TermValue::Number(self.year.key(code).copied().unwrap_or_default());
        let mut years = terms(&self.year.rows, &rows, year);
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
            price_range: extent(&self.price, &rows),
            mileage_range: extent(&self.mileage, &rows),
            year_range: extent(&self.year, &rows),
        }
    }
}

/// How many of the rows have which value, by code.
fn terms(column: &Codes, rows: &[u32], value: impl Fn(u32) -> TermValue) -> Vec<Term> {
    let mut counts = vec![0usize; column.distinct() as usize];
    for row in rows {
        if let Some(count) = counts.get_mut(column.code(*row) as usize) {
            *count += 1;
        }
    }
    let counts = (0..).zip(counts).filter(|(_, count)| *count > 0);
    counts.map(|(code, count)| Term { value: value(code), count }).collect()
}

fn extent(column: &Column<u32>, rows: &[u32]) -> Option<Range> {
    let codes = || {
        let codes = rows.iter().map(|row| column.rows.code(*row));
        codes.filter(|code| *code != ABSENT)
    };
    let (min, max) = (codes().min()?, codes().max()?);
    Some(Range { min: *column.key(min)?, max: *column.key(max)? })
}
