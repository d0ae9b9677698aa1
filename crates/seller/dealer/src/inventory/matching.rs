//! Matching of vehicles with filters. The most selective filter comes first; its result is narrowed
//! by the cheaper of combining bitmaps and examining each remaining row.

use std::ops::Range;

use tradepost_aap::Filters;
use tradepost_document::catalog::Vocabulary;

use super::SearchIndex;
use super::bitmap::Bitmap;
use super::codes::{Codes, StoredRows, index, is_dense};
use super::column::{NumberColumn, TextColumn};
use crate::query::fold::fold;
use crate::query::{
    Attribute, AttributeValue, NumberRange, NumericAttribute, Predicate, QueryInterpretation,
    RequiredPhrase,
};

/// Matching rows.
#[derive(Debug)]
pub(super) enum Matches {
    /// Every row.
    All(u32),
    /// A few rows, unordered.
    Few(Vec<u32>),
    /// Many rows, with their number.
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

    pub(super) fn contains(&self, row: u32) -> bool {
        match self {
            Self::All(rows) => row < *rows,
            Self::Few(rows) => rows.contains(&row),
            Self::Many(set, _) => set.contains(row),
        }
    }
}

/// A filter, resolved to codes and rows.
#[derive(Debug)]
pub(super) enum Constraint<'a> {
    /// The row's code is in one of these ascending, disjoint ranges.
    Codes(&'a Codes, Vec<Range<u32>>),
    /// The row is in one of these lists.
    Listed(Vec<StoredRows<'a>>),
    /// The row is in none of these lists.
    Unlisted(Vec<StoredRows<'a>>),
}

impl Constraint<'_> {
    /// Returns an upper bound of the number of matching rows among `all`.
    fn bound(&self, all: usize) -> usize {
        match self {
            Self::Codes(column, spans) => spans.iter().map(|span| column.count(span.clone())).sum(),
            Self::Listed(lists) => lists.iter().map(StoredRows::len).sum(),
            Self::Unlisted(_) => all,
        }
    }

    fn to_rows(&self, all: usize) -> Vec<u32> {
        match self {
            Self::Codes(column, spans) => {
                let mut rows = Vec::with_capacity(self.bound(all));
                for code in spans.iter().cloned().flatten() {
                    column.rows(code).append_to(&mut rows);
                }
                rows
            }
            Self::Listed(lists) => {
                let mut rows = Vec::with_capacity(self.bound(all));
                lists.iter().for_each(|list| list.append_to(&mut rows));
                // A row can be in several lists, as a vehicle with two of the features is.
                rows.sort_unstable();
                rows.dedup();
                rows
            }
            Self::Unlisted(_) => self.to_bitmap(all).rows().collect(),
        }
    }

    pub(super) fn to_bitmap(&self, rows: usize) -> Bitmap {
        match self {
            Self::Codes(column, spans) => {
                if self.build_cost() > rows {
                    return Bitmap::scan(&column.codes, |code| allows(spans, code));
                }
                let mut spans = spans.iter().cloned();
                let mut set =
                    spans.next().map_or_else(|| Bitmap::empty(rows), |first| column.set(first));
                spans.for_each(|span| column.add_to(&mut set, span));
                set
            }
            Self::Listed(lists) => union(lists, rows),
            Self::Unlisted(lists) => {
                let mut set = Bitmap::full(rows);
                set.subtract(&union(lists, rows));
                set
            }
        }
    }

    /// Estimates the cost of collecting the rows in a bitmap.
    fn build_cost(&self) -> usize {
        match self {
            Self::Codes(column, spans) => {
                let cost = |span: &Range<u32>| column.add_cost(span.clone());
                spans.iter().map(cost).sum()
            }
            Self::Listed(lists) | Self::Unlisted(lists) => lists.iter().map(StoredRows::len).sum(),
        }
    }

    fn narrow_rows(&self, rows: &mut Vec<u32>, all: usize) {
        match self {
            Self::Codes(column, spans) => rows.retain(|row| allows(spans, column.code(*row))),
            Self::Listed(_) | Self::Unlisted(_) => {
                let set = self.to_bitmap(all);
                rows.retain(|row| set.contains(*row));
            }
        }
    }

    /// Narrows a set. `by_row` says that examining each remaining row is cheapest.
    fn narrow_bitmap(&self, set: &mut Bitmap, by_row: bool, all: usize) {
        match self {
            // Usually there is one range.
            Self::Codes(column, spans) => match spans.as_slice() {
                [span] if by_row => set.retain_within(&column.codes, span),
                _ if by_row => set.retain(|row| allows(spans, column.code(row))),
                [span] if self.build_cost() <= all => column.narrow(set, span.clone()),
                _ => set.intersect(&self.to_bitmap(all)),
            },
            // Its own bitmap would begin with all rows and subtract the same ones.
            Self::Unlisted(lists) => set.subtract(&union(lists, all)),
            Self::Listed(_) => set.intersect(&self.to_bitmap(all)),
        }
    }
}

/// Returns the union of some lists of rows.
fn union(lists: &[StoredRows<'_>], all: usize) -> Bitmap {
    let mut set = Bitmap::empty(all);
    lists.iter().for_each(|rows| rows.add_to(&mut set));
    set
}

fn allows(spans: &[Range<u32>], code: u32) -> bool {
    // Usually there is one range.
    if let [span] = spans {
        return span.contains(&code);
    }
    let next = spans.partition_point(|span| span.end <= code);
    spans.get(next).is_some_and(|span| span.start <= code)
}

impl SearchIndex {
    /// Returns the rows that satisfy every filter (AAP 1.1 `inventory.search`, `R-IS-07`).
    pub(super) fn matches(
        &self,
        filters: &Filters,
        query: Option<&QueryInterpretation>,
    ) -> Matches {
        let all = self.by_id.len();
        let mut constraints: Vec<(usize, Constraint<'_>)> = Vec::new();
        self.constraints(filters, query, |_, constraint| {
            constraints.push((constraint.bound(all), constraint));
        });
        constraints.sort_by_key(|(bound, _)| *bound);
        let mut constraints = constraints.into_iter();
        let Some((bound, first)) = constraints.next() else {
            return Matches::All(index(all));
        };
        if !is_dense(bound, all) {
            let mut rows = first.to_rows(all);
            for (_, constraint) in constraints {
                if rows.is_empty() {
                    break;
                }
                constraint.narrow_rows(&mut rows, all);
            }
            return Matches::Few(rows);
        }
        let mut set = first.to_bitmap(all);
        let mut known = match first {
            // No row has two codes, so the bound is exact.
            Constraint::Codes(..) => Some(bound),
            Constraint::Listed(_) | Constraint::Unlisted(_) => None,
        };
        for (_, constraint) in constraints {
            let cost = constraint.build_cost();
            // The set is counted where more work than the counting depends on it.
            if cost > Bitmap::count_cost(all) {
                known = known.or_else(|| Some(set.len()));
            }
            if known == Some(0) {
                break;
            }
            constraint.narrow_bitmap(&mut set, known.is_some_and(|rows| rows < cost), all);
            known = None;
        }
        let survivors = known.unwrap_or_else(|| set.len());
        Matches::Many(set, survivors)
    }

    /// Calls `found` with every filter that constrains, and its source.
    pub(super) fn constraints<'a>(
        &'a self,
        filters: &'a Filters,
        query: Option<&'a QueryInterpretation>,
        mut found: impl FnMut(ConstraintSource<'a>, Constraint<'a>),
    ) {
        let texts = &self.texts;
        let lists = [
            (Attribute::Make, &texts.make, &filters.make),
            (Attribute::Model, &texts.model, &filters.model),
            (Attribute::Trim, &texts.trim, &filters.trim),
            (Attribute::Transmission, &texts.transmission, &filters.transmission),
            (Attribute::Fuel, &texts.fuel, &filters.fuel),
            (Attribute::Driveline, &texts.driveline, &filters.driveline),
            (Attribute::Body, &texts.body, &filters.body),
            (Attribute::ExteriorColor, &texts.exterior_color, &filters.exterior_color),
            (Attribute::InteriorColor, &texts.interior_color, &filters.interior_color),
            (Attribute::Rooftop, &texts.rooftop, &filters.rooftops),
        ];
        for (attribute, column, wanted) in lists {
            if !wanted.is_empty() {
                let spans = self.any_of(attribute, column, wanted.iter().map(String::as_str));
                found(
                    ConstraintSource::Text(attribute, wanted),
                    Constraint::Codes(&column.rows, spans),
                );
            }
        }
        if !filters.condition.is_empty() {
            let names = filters.condition.iter().map(|word| word.name());
            let spans = self.any_of(Attribute::Condition, &self.texts.condition, names);
            found(
                ConstraintSource::Condition,
                Constraint::Codes(&self.texts.condition.rows, spans),
            );
        }
        let identifiers =
            [("vin", &self.vin, &filters.vin), ("stock", &self.stock, &filters.stock)];
        for (name, column, wanted) in identifiers {
            if let Some(wanted) = wanted {
                let rows = vec![StoredRows::List(column.find(wanted).into())];
                found(ConstraintSource::Identifier(name, wanted), Constraint::Listed(rows));
            }
        }
        let ranges = [
            (NumericAttribute::Year, filters.year_min, filters.year_max),
            (NumericAttribute::Price, filters.price_min, filters.price_max),
            (NumericAttribute::Mileage, None, filters.mileage_max),
        ];
        for (number, min, max) in ranges {
            if min.is_some() || max.is_some() {
                found(
                    ConstraintSource::Range(number, (min, max)),
                    range(self.number(number), min, max),
                );
            }
        }
        for want in query.into_iter().flat_map(|query| &query.wants) {
            found(ConstraintSource::Asked(want), self.constraint(want));
        }
    }

    /// Returns the codes of the values that fold like one of the texts, or belong to the class or
    /// family that it names.
    pub(super) fn any_of<'t>(
        &self,
        attribute: Attribute,
        column: &TextColumn,
        wanted: impl Iterator<Item = &'t str>,
    ) -> Vec<Range<u32>> {
        let mut codes: Vec<u32> = Vec::new();
        for text in wanted {
            let key = fold(attribute.field(), text);
            codes.extend(column.keys.find(&key));
            codes.extend(self.lexicon.class(attribute, &key));
        }
        spans(codes)
    }

    /// Returns the column of a number.
    pub(super) fn number(&self, number: NumericAttribute) -> &NumberColumn {
        match number {
            NumericAttribute::Price => &self.numbers.price,
            NumericAttribute::Mileage => &self.numbers.mileage,
            NumericAttribute::Year => &self.numbers.year,
            NumericAttribute::Seats => &self.numbers.seats,
            NumericAttribute::Rows => &self.numbers.rows_of_seats,
            NumericAttribute::Doors => &self.numbers.doors,
            NumericAttribute::CityMpg => &self.numbers.city_mpg,
            NumericAttribute::HighwayMpg => &self.numbers.highway_mpg,
            NumericAttribute::CombinedMpg => &self.numbers.combined_mpg,
            NumericAttribute::ElectricRange => &self.numbers.electric_range,
            NumericAttribute::Towing => &self.numbers.towing,
            NumericAttribute::Horsepower => &self.numbers.horsepower,
            NumericAttribute::Owners => &self.numbers.owners,
            NumericAttribute::Accidents => &self.numbers.accidents,
        }
    }

    /// Returns the column of an attribute; features have none, because a vehicle has several.
    pub(super) fn text(&self, attribute: Attribute) -> Option<&TextColumn> {
        match attribute {
            Attribute::Make => Some(&self.texts.make),
            Attribute::Model => Some(&self.texts.model),
            Attribute::Trim => Some(&self.texts.trim),
            Attribute::Condition => Some(&self.texts.condition),
            Attribute::Transmission => Some(&self.texts.transmission),
            Attribute::Fuel => Some(&self.texts.fuel),
            Attribute::Driveline => Some(&self.texts.driveline),
            Attribute::Body => Some(&self.texts.body),
            Attribute::ExteriorColor => Some(&self.texts.exterior_color),
            Attribute::InteriorColor => Some(&self.texts.interior_color),
            Attribute::Rooftop => Some(&self.texts.rooftop),
            Attribute::Engine => Some(&self.texts.engine),
            Attribute::Feature => None,
        }
    }

    pub(super) fn constraint<'a>(&'a self, want: &'a RequiredPhrase) -> Constraint<'a> {
        match (want.any.as_slice(), want.negated) {
            ([Predicate::Number(number, (min, max))], false) => {
                range(self.number(*number), *min, *max)
            }
            ([Predicate::Values(values)], false) => match self.one_column(values) {
                Some((column, codes)) => Constraint::Codes(&column.rows, spans(codes)),
                None => Constraint::Listed(self.listed(&want.any)),
            },
            (_, false) => Constraint::Listed(self.listed(&want.any)),
            (_, true) => Constraint::Unlisted(self.listed(&want.any)),
        }
    }

    /// Returns the column and the codes of values that share one attribute.
    fn one_column(&self, values: &[AttributeValue]) -> Option<(&TextColumn, Vec<u32>)> {
        let attribute = values.first()?.attribute;
        let column = self.text(attribute)?;
        let same = values.iter().all(|value| value.attribute == attribute);
        same.then(|| (column, values.iter().map(|value| value.id).collect()))
    }

    /// Returns the rows with one of the meanings; a row may occur more than once.
    fn listed<'a>(&'a self, any: &'a [Predicate]) -> Vec<StoredRows<'a>> {
        let mut lists: Vec<StoredRows<'a>> = Vec::new();
        for meaning in any {
            match meaning {
                Predicate::All(groups) => {
                    let all = self.by_id.len();
                    let mut set = Bitmap::full(all);
                    for group in groups {
                        set.intersect(&union(&self.listed(group), all));
                    }
                    let rows: Vec<u32> = set.rows().collect();
                    lists.push(StoredRows::List(rows.into()));
                }
                Predicate::Values(values) => {
                    lists.extend(values.iter().map(|value| self.value_rows(*value)));
                }
                Predicate::Pair { make, model } => {
                    // `span` needs an order that lists every row; models have one, because listings
                    // are sorted by them.
                    let rows = self.texts.model.rows.span(*model..model.saturating_add(1)).iter();
                    let of_make = |row: &&u32| self.texts.make.rows.code(**row) == *make;
                    let rows: Vec<u32> = rows.filter(of_make).copied().collect();
                    lists.push(StoredRows::List(rows.into()));
                }
                Predicate::Number(number, (min, max)) => {
                    let column = self.number(*number);
                    lists.extend(column.between(*min, *max).map(|code| column.rows.rows(code)));
                }
                Predicate::Stock(key) => {
                    let codes = self.order.stocks(&self.stock, key);
                    lists.extend(codes.map(|code| self.stock.rows.rows(code)));
                }
                Predicate::VinEnd(end) => {
                    let codes = self.order.vins_ending(&self.vin, end).iter();
                    lists.extend(codes.map(|code| self.vin.rows.rows(*code)));
                }
                Predicate::VinStart(start) => {
                    lists.push(StoredRows::List(self.vin.starting_with(start).into()));
                }
            }
        }
        lists
    }

    fn value_rows(&self, value: AttributeValue) -> StoredRows<'_> {
        match self.text(value.attribute) {
            Some(column) => column.rows.rows(value.id),
            None => self.features.rows(value.id),
        }
    }
}

/// Source of a constraint.
#[derive(Debug, Clone, Copy)]
pub(super) enum ConstraintSource<'a> {
    /// Texts of a filter.
    Text(Attribute, &'a [String]),
    /// The condition filter.
    Condition,
    /// A VIN or stock number, with the name of its filter.
    Identifier(&'static str, &'a str),
    /// A number with bounds.
    Range(NumericAttribute, NumberRange),
    /// A phrase of the query.
    Asked(&'a RequiredPhrase),
}

/// Converts codes to disjoint ranges in ascending order.
pub(super) fn spans(mut codes: Vec<u32>) -> Vec<Range<u32>> {
    codes.sort_unstable();
    codes.dedup();
    codes.into_iter().map(|code| code..code + 1).collect()
}

fn range(column: &NumberColumn, min: Option<u32>, max: Option<u32>) -> Constraint<'_> {
    Constraint::Codes(&column.rows, vec![column.between(min, max)])
}
