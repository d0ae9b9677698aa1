//! Pages of matches in a requested order. Every order is total: by field, vehicles without a value
//! last in both directions, ties by vehicle id (AAP 1.1 `inventory.search`; C-37, C-38), so that
//! pages never overlap.

use std::ops::Range;

use tradepost_aap::Filters;
use tradepost_aap::inventory::{Sort, SortField, SortOrder};

use super::SearchIndex;
use super::bitmap::Bitmap;
use super::codes::{ABSENT, Codes, at};
use super::matching::Matches;
use crate::query::NumericAttribute;

impl SearchIndex {
    /// Returns the rows of a page. Rows are numbered in the default order.
    pub(super) fn page(
        &self,
        matches: &Matches,
        filters: &Filters,
        sort: Option<Sort>,
        skip: usize,
        limit: usize,
    ) -> Vec<u32> {
        // A page after the end is recognised before anything is sorted, because the caller chooses
        // how much to skip.
        let limit = limit.min(matches.len().saturating_sub(skip));
        if limit == 0 {
            return Vec::new();
        }
        let Some(sort) = sort.filter(|sort| *sort != STORED) else {
            return match matches {
                Matches::All(rows) => (0..*rows).skip(skip).take(limit).collect(),
                Matches::Few(rows) => {
                    let rows = rows.iter().map(|row| u64::from(*row)).collect();
                    smallest(rows, skip, limit).map(low_half).collect()
                }
                Matches::Many(set, _) => set.page(skip, limit),
            };
        };
        let column = self.column(sort.field);
        match matches {
            Matches::All(_) => cut(slices(column, sort.order, None), skip, limit),
            Matches::Few(_) => self.select_matches(column, sort.order, matches, skip, limit),
            Matches::Many(set, count) => self
                .try_walk(column, sort, filters, set, *count, PageSpan { skip, limit })
                .unwrap_or_else(|| self.select_matches(column, sort.order, matches, skip, limit)),
        }
    }

    /// Returns the rows of a page in the order of a number for which AAP has no order, the highest
    /// first.
    pub(super) fn page_by_highest(
        &self,
        matches: &Matches,
        number: NumericAttribute,
        skip: usize,
        limit: usize,
    ) -> Vec<u32> {
        let limit = limit.min(matches.len().saturating_sub(skip));
        if limit == 0 {
            return Vec::new();
        }
        let column = &self.number(number).rows;
        self.select_matches(column, SortOrder::Desc, matches, skip, limit)
    }

    /// Returns the rows of a page in an order, and those that are equal in it in another.
    pub(super) fn page_by_two(
        &self,
        matches: &Matches,
        sort: Sort,
        then: Sort,
        skip: usize,
        limit: usize,
    ) -> Vec<u32> {
        let limit = limit.min(matches.len().saturating_sub(skip));
        if limit == 0 {
            return Vec::new();
        }
        let first = self.column(sort.field);
        let second = self.column(then.field);
        let key = |row: u32| {
            let first = u128::from(rank(first.code(row), sort.order));
            let second = u128::from(rank(second.code(row), then.order));
            first << 64 | second << 32 | u128::from(at(&self.id_ranks, row))
        };
        let keys: Vec<u128> = match matches {
            Matches::All(rows) => (0..*rows).map(key).collect(),
            Matches::Few(rows) => rows.iter().copied().map(key).collect(),
            Matches::Many(set, _) => set.rows().map(key).collect(),
        };
        #[expect(clippy::cast_possible_truncation, reason = "the low quarter is wanted")]
        let row = |key: u128| at(&self.by_id, key as u32);
        smallest(keys, skip, limit).map(row).collect()
    }

    /// Returns the rows of a page by comparing all matches.
    fn select_matches(
        &self,
        column: &Codes,
        order: SortOrder,
        matches: &Matches,
        skip: usize,
        limit: usize,
    ) -> Vec<u32> {
        match matches {
            Matches::All(rows) => self.select(column, order, 0..*rows, skip, limit),
            Matches::Few(rows) => self.select(column, order, rows.iter().copied(), skip, limit),
            Matches::Many(set, _) => self.select(column, order, set.rows(), skip, limit),
        }
    }

    fn column(&self, field: SortField) -> &Codes {
        match field {
            SortField::Price => &self.numbers.price.rows,
            SortField::ListPrice => &self.numbers.list_price.rows,
            SortField::Msrp => &self.numbers.msrp.rows,
            SortField::Mileage => &self.numbers.mileage.rows,
            SortField::Year => &self.numbers.year.rows,
            SortField::Make => &self.texts.make.rows,
            SortField::Model => &self.texts.model.rows,
            SortField::Stock => &self.stock.rows,
            SortField::UpdatedAt => &self.updated_at,
        }
    }

    /// Returns the codes that matches can have in the field of the order.
    fn bounds(&self, field: SortField, filters: &Filters) -> Option<Range<u32>> {
        let (column, min, max) = match field {
            SortField::Price => (&self.numbers.price, filters.price_min, filters.price_max),
            SortField::Year => (&self.numbers.year, filters.year_min, filters.year_max),
            SortField::Mileage => (&self.numbers.mileage, None, filters.mileage_max),
            SortField::ListPrice
            | SortField::Msrp
            | SortField::Make
            | SortField::Model
            | SortField::Stock
            | SortField::UpdatedAt => return None,
        };
        (min.is_some() || max.is_some()).then(|| column.between(min, max))
    }

    /// Walks the rows in order when that is expected to be cheaper than sorting the matches, and
    /// gives up beyond a budget, because matches may be rare where the order begins.
    fn try_walk(
        &self,
        column: &Codes,
        sort: Sort,
        filters: &Filters,
        set: &Bitmap,
        count: usize,
        page: PageSpan,
    ) -> Option<Vec<u32>> {
        // Sorting costs several steps per match.
        let budget = count.saturating_mul(4);
        let bounds = self.bounds(sort.field, filters);
        let rows = match &bounds {
            Some(codes) => column.span(codes.clone()).len(),
            None => column.ascending().len(),
        };
        let expected = rows.saturating_mul(page.skip + page.limit) / count.max(1);
        (expected <= budget).then_some(())?;
        walk(slices(column, sort.order, bounds), set, page, budget)
    }

    fn select(
        &self,
        column: &Codes,
        order: SortOrder,
        rows: impl Iterator<Item = u32>,
        skip: usize,
        limit: usize,
    ) -> Vec<u32> {
        let key = |row: u32| {
            let code = rank(column.code(row), order);
            // No two keys are equal, so an unstable selection returns the same page each time
            // (C-37).
            u64::from(code) << 32 | u64::from(at(&self.id_ranks, row))
        };
        smallest(rows.map(key).collect(), skip, limit)
            .map(|key| at(&self.by_id, low_half(key)))
            .collect()
    }
}

/// The members of an ordered list that are on a page.
#[derive(Clone, Copy)]
struct PageSpan {
    skip: usize,
    limit: usize,
}

/// The order in which rows are stored.
const STORED: Sort = Sort { field: SortField::UpdatedAt, order: SortOrder::Desc };

/// Returns all rows of a column in order, or only those with codes within bounds.
fn slices(
    column: &Codes,
    order: SortOrder,
    bounds: Option<Range<u32>>,
) -> impl Iterator<Item = &[u32]> {
    // Bounds are a filter, which a row without a value does not satisfy (C-38).
    let absent = bounds.is_none().then(|| column.absent());
    let codes = bounds.unwrap_or(0..column.distinct());
    let (ascending, descending) = match order {
        SortOrder::Asc => (Some(column.span(codes)), None),
        SortOrder::Desc => (None, Some(codes)),
    };
    let descending = descending.into_iter().flat_map(Iterator::rev);
    // Code by code instead of reversed rows, because rows with equal values stay in the order of
    // their ids.
    let descending = descending.map(|code| column.span(code..code + 1));
    ascending.into_iter().chain(descending).chain(absent)
}

/// Returns the rows of a page when every row matches.
fn cut<'a>(rows: impl Iterator<Item = &'a [u32]>, mut skip: usize, limit: usize) -> Vec<u32> {
    let mut page = Vec::with_capacity(limit);
    for rows in rows {
        let here = rows.get(skip..).unwrap_or_default();
        skip = skip.saturating_sub(rows.len());
        page.extend(here.iter().take(limit - page.len()));
        if page.len() == limit {
            break;
        }
    }
    page
}

/// Returns the members of a set on a page; `None` when that takes more than `budget` rows.
fn walk<'a>(
    slices: impl Iterator<Item = &'a [u32]>,
    set: &Bitmap,
    span: PageSpan,
    mut budget: usize,
) -> Option<Vec<u32>> {
    let PageSpan { mut skip, limit } = span;
    let mut page = Vec::with_capacity(limit);
    // Nested loops are three times as fast as a flattened iterator, and the budget is counted in
    // blocks. Most blocks have no member, which one test for the whole block shows.
    for rows in slices.flat_map(|rows| rows.chunks(16)) {
        budget = budget.checked_sub(rows.len())?;
        if rows.iter().fold(0, |any, row| any | set.word_from(*row)) & 1 == 0 {
            continue;
        }
        for row in rows {
            if !set.contains(*row) {
                continue;
            }
            if skip > 0 {
                skip -= 1;
                continue;
            }
            page.push(*row);
            if page.len() == limit {
                return Some(page);
            }
        }
    }
    Some(page)
}

/// Returns the rank of a code in an order.
fn rank(code: u32, order: SortOrder) -> u32 {
    match (code, order) {
        (ABSENT, SortOrder::Asc | SortOrder::Desc) => ABSENT,
        (code, SortOrder::Asc) => code,
        // The highest code first, and still before the rows without a value (C-38).
        (code, SortOrder::Desc) => ABSENT - 1 - code,
    }
}

/// Returns up to `limit` keys from `skip` on, in ascending order.
fn smallest<K: Ord>(mut keys: Vec<K>, skip: usize, limit: usize) -> impl Iterator<Item = K> {
    let end = skip.saturating_add(limit).min(keys.len());
    if 0 < end && end < keys.len() {
        keys.select_nth_unstable(end - 1);
        keys.truncate(end);
    }
    keys.sort_unstable();
    keys.into_iter().skip(skip)
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is wanted")]
fn low_half(key: u64) -> u32 {
    key as u32
}
