//! Counts over the vehicles that match the filters, or over all without any (AAP 1.1
//! `inventory.facets`, `R-FA-02` to `R-FA-05`).

use tradepost_aap::Facets;
use tradepost_aap::inventory::{FacetRange, FacetTerm, TermValue};

use super::SearchIndex;
use super::bitmap::Bitmap;
use super::codes::{Codes, StoredRows};
use super::column::{NumberColumn, TextColumn};
use super::groups::ColumnGroups;
use super::matching::Matches;

/// Number of columns by which matches are counted.
const COUNTED: usize = 13;

impl SearchIndex {
    /// Counts the matches by their values.
    pub(super) fn count(&self, matches: &Matches) -> Facets {
        let texts = &self.texts;
        let extent = |column| extent(column, matches);
        let mut counts = self.counts(matches).into_iter();
        let mut next = || counts.next().unwrap_or_default();
        // In the order of `counted`.
        let mut facets = Facets {
            models: terms(&texts.model, &next()),
            makes: terms(&texts.make, &next()),
            bodies: terms(&texts.body, &next()),
            trims: terms(&texts.trim, &next()),
            fuels: terms(&texts.fuel, &next()),
            drivelines: terms(&texts.driveline, &next()),
            transmissions: terms(&texts.transmission, &next()),
            years: years(&self.numbers.year, &next()),
            conditions: terms(&texts.condition, &next()),
            statuses: terms(&texts.status, &next()),
            exterior_colors: terms(&texts.exterior_color, &next()),
            interior_colors: terms(&texts.interior_color, &next()),
            rooftops: terms(&texts.rooftop, &next()),
            price_range: extent(&self.numbers.price),
            mileage_range: extent(&self.numbers.mileage),
            year_range: None,
        };
        let year = |term: &FacetTerm| match term.value {
            TermValue::Number(year) => Some(year),
            TermValue::Text(_) => None,
        };
        let latest = facets.years.first();
        let earliest = facets.years.last();
        let ends = earliest.and_then(year).zip(latest.and_then(year));
        facets.year_range = ends.map(|(min, max)| FacetRange { min, max });
        facets
    }

    /// Returns the columns by which matches are counted. Correlated columns are neighbours, for
    /// [`ColumnGroups`].
    fn counted(&self) -> [&Codes; COUNTED] {
        [
            &self.texts.model.rows,
            &self.texts.make.rows,
            &self.texts.body.rows,
            &self.texts.trim.rows,
            &self.texts.fuel.rows,
            &self.texts.driveline.rows,
            &self.texts.transmission.rows,
            &self.numbers.year.rows,
            &self.texts.condition.rows,
            &self.texts.status.rows,
            &self.texts.exterior_color.rows,
            &self.texts.interior_color.rows,
            &self.texts.rooftop.rows,
        ]
    }

    /// Returns the grouped columns, built on first use, which takes a second for a million
    /// vehicles.
    pub(super) fn groups(&self) -> &ColumnGroups {
        self.groups.get_or_init(|| ColumnGroups::new(&self.counted()))
    }

    /// Returns the number of matches per code, by column.
    fn counts(&self, matches: &Matches) -> [Vec<u32>; COUNTED] {
        let by_groups = |rows: &StoredRows<'_>| {
            let counts = self.groups().count(rows).try_into();
            counts.expect("each of the columns is in a group")
        };
        match matches {
            Matches::All(_) => self.counted().map(Codes::counts),
            Matches::Few(rows) => by_groups(&StoredRows::List(rows.into())),
            Matches::Many(set, count) if *count <= self.by_id.len() / 2 => {
                by_groups(&StoredRows::Set(set, *count))
            }
            // Counting the rows that do not match is less work.
            Matches::Many(set, count) => {
                let mut others = Bitmap::full(self.by_id.len());
                others.subtract(set);
                let others = by_groups(&StoredRows::Set(&others, self.by_id.len() - count));
                let mut counts = self.counted().map(Codes::counts);
                for (count, other) in counts.iter_mut().flatten().zip(others.iter().flatten()) {
                    *count -= other;
                }
                counts
            }
        }
    }
}

/// Returns the values of any match, the most frequent first.
fn terms(column: &TextColumn, counts: &[u32]) -> Vec<FacetTerm> {
    let met = (0..).zip(counts).filter(|(_, count)| **count > 0);
    let mut met: Vec<(u32, &str)> =
        met.map(|(code, count)| (*count, column.spelling(code))).collect();
    met.sort_unstable_by(|(a, one), (b, other)| b.cmp(a).then_with(|| one.cmp(other)));
    met.into_iter().map(|(count, text)| term(TermValue::Text(text.to_owned()), count)).collect()
}

/// Returns the years of any match, the latest first.
fn years(column: &NumberColumn, counts: &[u32]) -> Vec<FacetTerm> {
    let years = column.keys.iter().zip(counts).filter(|(_, count)| **count > 0);
    years.map(|(year, count)| term(TermValue::Number(*year), *count)).rev().collect()
}

fn term(value: TermValue, count: u32) -> FacetTerm {
    FacetTerm { value, count: count as usize }
}

fn extent(column: &NumberColumn, matches: &Matches) -> Option<FacetRange> {
    let ends = match matches {
        Matches::All(_) => column.ends(),
        Matches::Few(rows) => column.ends_among(rows.iter().copied()),
        Matches::Many(set, _) => {
            let (lowest, highest) = column.rows.ends_in(set)?;
            column.values(lowest, highest)
        }
    };
    ends.map(|(min, max)| FacetRange { min, max })
}
