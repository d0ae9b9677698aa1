//! Counts over matches (`R-FA-02` to `R-FA-05`).

use tradepost_wire::aap::Facets;
use tradepost_wire::aap::inventory::{Range, Term, TermValue};

use super::Index;
use super::bitmap::Bitmap;
use super::codes::{ABSENT, Codes, Rows};
use super::column::{Column, TextColumn};
use super::groups::Groups;
use super::matching::Matches;

impl Index {
    /// Counts the matches by their values.
    pub(super) fn count(&self, matches: &Matches) -> Facets {
        let mut counts = self.counts(matches).into_iter();
        let mut next = || counts.next().unwrap_or_default();
        // In the order of `counted`.
        let models = terms(&self.model, &next());
        let makes = terms(&self.make, &next());
        let bodies = terms(&self.body, &next());
        let trims = terms(&self.trim, &next());
        let fuels = terms(&self.fuel, &next());
        let drivelines = terms(&self.driveline, &next());
        let transmissions = terms(&self.transmission, &next());
        let by_year = next();
        let conditions = terms(&self.condition, &next());
        let statuses = terms(&self.status, &next());
        let exterior_colors = terms(&self.exterior_color, &next());
        let interior_colors = terms(&self.interior_color, &next());
        let rooftops = terms(&self.rooftop, &next());
        let years = self.year.keys().iter().zip(&by_year).filter(|(_, count)| **count > 0);
        let ends = years.clone().next().zip(years.clone().next_back());
        let year_range = ends.map(|((min, _), (max, _))| Range { min: *min, max: *max });
        let years = years.map(|(year, count)| term(TermValue::Number(*year), *count)).rev();
        let extent = |column| extent(column, matches);
        Facets {
            makes,
            models,
            trims,
            years: years.collect(),
            conditions,
            transmissions,
            fuels,
            drivelines,
            bodies,
            exterior_colors,
            interior_colors,
            rooftops,
            statuses,
            price_range: extent(&self.price),
            mileage_range: extent(&self.mileage),
            year_range,
        }
    }

    /// The columns by which matches are counted. What mostly follows from each other is side by side, for
    /// [`Groups`].
    fn counted(&self) -> [&Codes; 13] {
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
    fn counts(&self, matches: &Matches) -> Vec<Vec<u32>> {
        let groups = || self.groups();
        match matches {
            Matches::All(_) => self.counted().map(Codes::counts).into(),
            Matches::Few(rows) => groups().count(&Rows::List(rows.into())),
            Matches::Many(set, count) if *count <= self.by_id.len() / 2 => {
                groups().count(&Rows::Set(set, *count))
            }
            // There are fewer others.
            Matches::Many(set, count) => {
                let mut others = Bitmap::full(self.by_id.len());
                others.subtract(set);
                let others = groups().count(&Rows::Set(&others, self.by_id.len() - count));
                let without = |(all, others): (Vec<u32>, Vec<u32>)| {
                    all.into_iter().zip(others).map(|(all, others)| all - others).collect()
                };
                self.counted().map(Codes::counts).into_iter().zip(others).map(without).collect()
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
