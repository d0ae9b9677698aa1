//! Counts over matches (`R-FA-02` to `R-FA-05`).

use tradepost_wire::aap::Facets;
use tradepost_wire::aap::inventory::{Range, Term, TermValue};

use super::Index;
use super::bitmap::Bitmap;
use super::codes::{ABSENT, Codes, Rows};
use super::column::{Column, TextColumn};
use super::groups::Groups;
use super::matching::Matches;

/// How many columns matches are counted by.
const COUNTED: usize = 13;

impl Index {
    /// Counts the matches by their values.
    pub(super) fn count(&self, matches: &Matches) -> Facets {
        // In the order of `counted`.
        let [
            models,
            makes,
            bodies,
            trims,
            fuels,
            drivelines,
            transmissions,
            by_year,
            conditions,
            statuses,
            exterior_colors,
            interior_colors,
            rooftops,
        ] = self.counts(matches);
        let years = self.year.keys().iter().zip(&by_year).filter(|(_, count)| **count > 0);
        let ends = years.clone().next().zip(years.clone().next_back());
        let year_range = ends.map(|((min, _), (max, _))| Range { min: *min, max: *max });
        let years = years.map(|(year, count)| term(TermValue::Number(*year), *count)).rev();
        let extent = |column| extent(column, matches);
        Facets {
            makes: terms(&self.make, &makes),
            models: terms(&self.model, &models),
            trims: terms(&self.trim, &trims),
            years: years.collect(),
            conditions: terms(&self.condition, &conditions),
            transmissions: terms(&self.transmission, &transmissions),
            fuels: terms(&self.fuel, &fuels),
            drivelines: terms(&self.driveline, &drivelines),
            bodies: terms(&self.body, &bodies),
            exterior_colors: terms(&self.exterior_color, &exterior_colors),
            interior_colors: terms(&self.interior_color, &interior_colors),
            rooftops: terms(&self.rooftop, &rooftops),
            statuses: terms(&self.status, &statuses),
            price_range: extent(&self.price),
            mileage_range: extent(&self.mileage),
            year_range,
        }
    }

    /// The columns by which matches are counted. What mostly follows from each other is side by side, for
    /// [`Groups`].
    fn counted(&self) -> [&Codes; COUNTED] {
        [
            self.model.rows(),
            self.make.rows(),
            self.body.rows(),
            self.trim.rows(),
            self.fuel.rows(),
            self.driveline.rows(),
            self.transmission.rows(),
            &self.year.rows,
            self.condition.rows(),
            self.status.rows(),
            self.exterior_color.rows(),
            self.interior_color.rows(),
            self.rooftop.rows(),
        ]
    }

    /// The counted columns, grouped. Whoever is first makes them, which takes a second for a million vehicles.
    pub(super) fn groups(&self) -> &Groups {
        self.groups.get_or_init(|| Groups::of(&self.counted()))
    }

    /// By column that is counted: how many matches have which code.
    fn counts(&self, matches: &Matches) -> [Vec<u32>; COUNTED] {
        let by_groups = |rows: &Rows<'_>| {
            let counts = self.groups().count(rows).try_into();
            counts.expect("each of the columns is in a group")
        };
        match matches {
            Matches::All(_) => self.counted().map(Codes::counts),
            Matches::Few(rows) => by_groups(&Rows::List(rows.into())),
            Matches::Many(set, count) if *count <= self.by_id.len() / 2 => {
                by_groups(&Rows::Set(set, *count))
            }
            // There are fewer others.
            Matches::Many(set, count) => {
                let mut others = Bitmap::full(self.by_id.len());
                others.subtract(set);
                let others = by_groups(&Rows::Set(&others, self.by_id.len() - count));
                let mut counts = self.counted().map(Codes::counts);
                for (count, other) in counts.iter_mut().flatten().zip(others.iter().flatten()) {
                    *count -= other;
                }
                counts
            }
        }
    }
}

/// The values that any match has, the most frequent first.
fn terms(column: &TextColumn, counts: &[u32]) -> Vec<Term> {
    let met = (0..).zip(counts).filter(|(_, count)| **count > 0);
    let mut met: Vec<(u32, &str)> =
        met.map(|(code, count)| (*count, column.spelling(code))).collect();
    met.sort_unstable_by(|(a, one), (b, other)| b.cmp(a).then_with(|| one.cmp(other)));
    met.into_iter().map(|(count, text)| term(TermValue::Text(text.to_owned()), count)).collect()
}

fn term(value: TermValue, count: u32) -> Term {
    Term { value, count: count as usize }
}

fn extent(column: &Column, matches: &Matches) -> Option<Range> {
    let (min, max) = match matches {
        Matches::All(_) => (column.keys().first().copied()?, column.keys().last().copied()?),
        Matches::Few(rows) => {
            let codes = rows.iter().map(|row| column.rows.code(*row)).filter(|it| *it != ABSENT);
            let ends = codes.fold(None, |ends: Option<(u32, u32)>, code| {
                let (min, max) = ends.unwrap_or((code, code));
                Some((min.min(code), max.max(code)))
            });
            let (min, max) = ends?;
            (column.key(min)?, column.key(max)?)
        }
        Matches::Many(set, _) => {
            let (min, max) = column.rows.ends_in(set)?;
            (column.key(min)?, column.key(max)?)
        }
    };
    Some(Range { min, max })
}
