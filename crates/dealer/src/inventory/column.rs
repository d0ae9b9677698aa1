//! One attribute of all vehicles, dictionary-encoded: each row has the rank of its value among the
//! distinct values, and the rows are listed in the order of these ranks. The listing serves as
//! sort order, as posting lists and as range index at once. Values that many rows share have a
//! bitmap in addition.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::bitmap::Bitmap;
use crate::query::fold::{Field, fold, tidy};

/// The code of a row without a value. It is in no range of codes.
pub(super) const ABSENT: u32 = u32::MAX;

/// An index into rows, codes or postings.
pub(super) fn index(position: usize) -> u32 {
    u32::try_from(position).expect("an inventory has fewer than four billion listings and words")
}

/// The entry at a position that the index itself has written.
pub(super) fn at(entries: &[u32], position: u32) -> u32 {
    entries.get(position as usize).copied().unwrap_or(ABSENT)
}

/// The coded rows of an attribute.
#[derive(Debug, Default)]
pub(super) struct Codes {
    /// By row.
    codes: Vec<u32>,
    /// By code: where its rows begin in `order`. One more, for the end of the last.
    starts: Vec<u32>,
    /// The rows by code and within a code by vehicle id; rows without a value at the end.
    order: Vec<u32>,
    /// Bitmaps of the codes for which a bitmap is smaller than a list of rows, by code.
    dense: Vec<(u32, Bitmap)>,
    /// Where ranges are asked for: the bitmap at `k` holds the first `k` strides of `order`, so
    /// that a long range is the difference of two bitmaps and what is left at its ends.
    strides: Vec<Bitmap>,
}

/// A column's rows are divided into so many strides. Their bitmaps take eight bytes for each
/// row, as its code and its place in the order do.
const STRIDES: usize = 64;

/// A range of codes, in strides.
struct Long<'a> {
    without: &'a Bitmap,
    with: &'a Bitmap,
    /// The rows of the range before and after its whole strides.
    ends: [&'a [u32]; 2],
}

impl Codes {
    fn new(codes: Vec<u32>, distinct: usize, by_id: &[u32]) -> Self {
        let mut sizes = vec![0; distinct];
        for code in &codes {
            if let Some(size) = sizes.get_mut(*code as usize) {
                *size += 1;
            }
        }
        let mut starts = vec![0];
        let mut end = 0;
        starts.extend(sizes.iter().map(|size: &u32| {
            end += size;
            end
        }));
        let mut free = starts.clone();
        let mut order = vec![0; codes.len()];
        for row in by_id {
            // The end of the last code is where the rows without a value begin.
            let code = at(&codes, *row).min(index(distinct));
            if let Some(free) = free.get_mut(code as usize)
                && let Some(place) = order.get_mut(*free as usize)
            {
                *place = *row;
                *free += 1;
            }
        }
        let mut this = Self { codes, starts, order, ..Self::default() };
        let rows = this.codes.len();
        for code in 0..index(distinct) {
            let members = this.span(code..code + 1);
            if is_dense(members.len(), rows) {
                let mut set = Bitmap::empty(rows);
                members.iter().for_each(|row| set.insert(*row));
                this.dense.push((code, set));
            }
        }
        this
    }

    /// Prepares for long ranges.
    fn add_strides(&mut self) {
        let rows = self.codes.len();
        let present = rows - self.absent().len();
        let mut set = Bitmap::empty(rows);
        let strides = self.order.get(..present).unwrap_or_default();
        for stride in strides.chunks_exact(stride(rows)) {
            self.strides.push(set.clone());
            stride.iter().for_each(|row| set.insert(*row));
        }
        self.strides.push(set);
    }

    /// A range in strides, where it has a whole one and there are any.
    fn long(&self, codes: &Range<u32>) -> Option<Long<'_>> {
        let (from, to) = (at(&self.starts, codes.start), at(&self.starts, codes.end));
        let (from, to) = (from as usize, to as usize);
        let stride = stride(self.codes.len());
        let (first, end) = (from.div_ceil(stride), to / stride);
        if first >= end {
            return None;
        }
        Some(Long {
            without: self.strides.get(first)?,
            with: self.strides.get(end)?,
            ends: [self.order.get(from..first * stride)?, self.order.get(end * stride..to)?],
        })
    }

    /// The code of a row.
    pub(super) fn code(&self, row: u32) -> u32 {
        at(&self.codes, row)
    }

    /// The codes by row.
    pub(super) fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// How many distinct values there are.
    pub(super) fn distinct(&self) -> u32 {
        index(self.starts.len().saturating_sub(1))
    }

    /// The rows of some codes, in ascending order.
    pub(super) fn span(&self, codes: Range<u32>) -> &[u32] {
        let (from, to) = (at(&self.starts, codes.start), at(&self.starts, codes.end));
        self.order.get(from as usize..to as usize).unwrap_or_default()
    }

    /// All rows in ascending order, those without a value at the end.
    pub(super) fn ascending(&self) -> &[u32] {
        &self.order
    }

    /// The rows without a value.
    pub(super) fn absent(&self) -> &[u32] {
        let from = at(&self.starts, self.distinct());
        self.order.get(from as usize..).unwrap_or_default()
    }

    /// Adds the rows of some codes to a set.
    pub(super) fn add_to(&self, set: &mut Bitmap, codes: Range<u32>) {
        if let Some(long) = self.long(&codes)
            && self.long_cost(&long) < self.short_cost(&codes)
        {
            set.add_difference(long.with, long.without);
            long.ends.into_iter().flatten().for_each(|row| set.insert(*row));
            return;
        }
        let mut next = codes.start;
        for (code, members) in self.dense_in(&codes) {
            self.span(next..*code).iter().for_each(|r| set.insert(*r));
            set.union(members);
            next = code + 1;
        }
        let rest = self.span(next..codes.end);
        rest.iter().for_each(|row| set.insert(*row));
    }

    /// About how many steps [`Codes::add_to`] takes.
    pub(super) fn add_cost(&self, codes: Range<u32>) -> usize {
        let short = self.short_cost(&codes);
        self.long(&codes).map_or(short, |long| short.min(self.long_cost(&long)))
    }

    fn long_cost(&self, long: &Long<'_>) -> usize {
        let ends: usize = long.ends.iter().map(|rows| rows.len()).sum();
        ends + 2 * Bitmap::combine_cost(self.codes.len())
    }

    fn short_cost(&self, codes: &Range<u32>) -> usize {
        let dense = self.dense_in(codes);
        let in_bitmaps: usize =
            dense.iter().map(|(code, _)| self.span(*code..code + 1).len()).sum();
        self.span(codes.clone()).len() - in_bitmaps
            + dense.len() * Bitmap::combine_cost(self.codes.len())
    }

    fn dense_in(&self, codes: &Range<u32>) -> &[(u32, Bitmap)] {
        let position = |bound: u32| self.dense.partition_point(|(code, _)| *code < bound);
        self.dense.get(position(codes.start)..position(codes.end)).unwrap_or_default()
    }
}

/// How many rows a stride has.
fn stride(rows: usize) -> usize {
    rows.div_ceil(STRIDES).max(1)
}

/// Whether a bitmap over `rows` rows is smaller than a list of `members` of them.
pub(super) fn is_dense(members: usize, rows: usize) -> bool {
    members * 32 > rows
}

/// An attribute with its distinct values in ascending order.
#[derive(Debug, Default)]
pub(super) struct Column<K> {
    keys: Vec<K>,
    pub(super) rows: Codes,
}

impl<K: Ord + Clone> Column<K> {
    /// Encodes the values of all rows; `by_id` lists the rows by vehicle id.
    pub(super) fn new(values: &[Option<K>], by_id: &[u32]) -> Self {
        let mut keys: Vec<K> = values.iter().flatten().cloned().collect();
        keys.sort_unstable();
        keys.dedup();
        let code = |value: &Option<K>| {
            let place = value.as_ref().map(|value| keys.binary_search(value));
            place.and_then(Result::ok).map_or(ABSENT, index)
        };
        let codes = values.iter().map(code).collect();
        let rows = Codes::new(codes, keys.len(), by_id);
        Self { keys, rows }
    }

    /// The same, prepared for filters that ask for a range.
    pub(super) fn for_ranges(mut self) -> Self {
        self.rows.add_strides();
        self
    }

    /// The value of a code.
    pub(super) fn key(&self, code: u32) -> Option<&K> {
        self.keys.get(code as usize)
    }

    /// The distinct values in ascending order; the position is the code.
    pub(super) fn keys(&self) -> &[K] {
        &self.keys
    }

    /// The codes of the values from `min` to `max`, both included. Rows without a value have none
    /// of them (C-38).
    pub(super) fn between(&self, min: Option<&K>, max: Option<&K>) -> Range<u32> {
        let from = min.map_or(0, |min| self.keys.partition_point(|key| key < min));
        let to = max.map_or(self.keys.len(), |max| self.keys.partition_point(|key| key <= max));
        index(from)..index(to.max(from))
    }
}

/// A text attribute: compared by folded key, shown as it is mostly written.
#[derive(Debug, Default)]
pub(super) struct TextColumn {
    field: Field,
    column: Column<Box<str>>,
    spellings: Vec<Box<str>>,
}

impl TextColumn {
    pub(super) fn new(field: Field, values: &[Option<&str>], by_id: &[u32]) -> Self {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for text in values.iter().flatten() {
            *counts.entry(text).or_default() += 1;
        }
        let folded: HashMap<&str, Box<str>> = counts
            .keys()
            .map(|text| (*text, fold(field, text).into_boxed_str()))
            .filter(|(_, key)| !key.is_empty())
            .collect();
        let mut keys: Vec<&str> = folded.values().map(AsRef::as_ref).collect();
        keys.sort_unstable();
        keys.dedup();
        let codes: HashMap<&str, u32> = keys.iter().copied().zip(0..).collect();
        let codes: HashMap<&str, u32> = folded
            .iter()
            .filter_map(|(text, key)| Some((*text, *codes.get(key.as_ref())?)))
            .collect();

        let mut written: BTreeMap<(u32, String), usize> = BTreeMap::new();
        for (text, count) in counts {
            if let Some(code) = codes.get(text) {
                *written.entry((*code, tidy(text))).or_default() += count;
            }
        }
        let mut spellings: Vec<(usize, Box<str>)> = vec![Default::default(); keys.len()];
        for ((code, text), count) in written {
            // Of equally frequent spellings the first in text order stays.
            if let Some(best) = spellings.get_mut(code as usize)
                && count > best.0
            {
                *best = (count, text.into());
            }
        }

        let code = |text: &Option<&str>| text.and_then(|text| codes.get(text).copied());
        let encoded = values.iter().map(|text| code(text).unwrap_or(ABSENT));
        Self {
            field,
            column: Column {
                rows: Codes::new(encoded.collect(), keys.len(), by_id),
                keys: keys.into_iter().map(Into::into).collect(),
            },
            spellings: spellings.into_iter().map(|(_, text)| text).collect(),
        }
    }

    pub(super) fn rows(&self) -> &Codes {
        &self.column.rows
    }

    /// The code of the values that mean the same as `text`.
    pub(super) fn code(&self, text: &str) -> Option<u32> {
        self.code_of(&fold(self.field, text))
    }

    /// The code of a key.
    pub(super) fn code_of(&self, key: &str) -> Option<u32> {
        self.keys().binary_search_by(|known| (**known).cmp(key)).ok().map(index)
    }

    /// The keys in ascending order; the position is the code.
    pub(super) fn keys(&self) -> &[Box<str>] {
        self.column.keys()
    }

    /// The rows with a value that means the same as `text`, by vehicle id.
    pub(super) fn find(&self, text: &str) -> &[u32] {
        self.code(text).map_or(&[], |code| self.rows().span(code..code + 1))
    }

    /// The rows whose key begins with `prefix`.
    pub(super) fn starting_with(&self, prefix: &str) -> &[u32] {
        self.rows().span(prefix_range(self.column.keys(), prefix))
    }

    /// How the values of a code are mostly written.
    pub(super) fn spelling(&self, code: u32) -> &str {
        self.spellings.get(code as usize).map_or("", AsRef::as_ref)
    }
}

/// Where the texts with a prefix stand in an ascending list.
pub(super) fn prefix_range(texts: &[Box<str>], prefix: &str) -> Range<u32> {
    let from = texts.partition_point(|text| &**text < prefix);
    let rest = texts.get(from..).unwrap_or_default();
    let count = rest.partition_point(|text| text.starts_with(prefix));
    index(from)..index(from + count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_ordered_with_absent_ones_last() {
        let by_id = [4, 3, 2, 1, 0];
        let column = Column::new(&[Some(20), None, Some(10), Some(20), Some(30)], &by_id);
        assert_eq!(column.rows.ascending(), [2, 3, 0, 4, 1], "ties by vehicle id");
        assert_eq!(column.between(Some(&15), Some(&20)), 1..2);
        assert_eq!(column.rows.span(1..2), [3, 0]);
        assert_eq!(column.rows.span(column.between(Some(&50), None)), [0u32; 0]);
        assert_eq!(column.rows.absent(), [1]);
        assert!(column.between(Some(&30), Some(&10)).is_empty(), "C-40");
    }

    #[test]
    fn a_long_range_is_put_together_from_strides() {
        let values: Vec<Option<u32>> =
            (0..1000).map(|row| (row % 9 > 0).then_some(row * 7919 % 1000)).collect();
        let by_id: Vec<u32> = (0..1000).rev().collect();
        let plain = Column::new(&values, &by_id);
        let column = Column::new(&values, &by_id).for_ranges();
        for range in [0..888, 0..1, 3..700, 31..32, 32..64, 100..100, 5..36, 640..888] {
            let (mut expected, mut set) = (Bitmap::empty(1000), Bitmap::empty(1000));
            plain.rows.add_to(&mut expected, range.clone());
            column.rows.add_to(&mut set, range.clone());
            let rows = |set: &Bitmap| set.rows().collect::<Vec<_>>();
            assert_eq!(rows(&set), rows(&expected), "{range:?}");
            assert!(column.rows.add_cost(range.clone()) <= plain.rows.add_cost(range));
        }
        assert!(column.rows.add_cost(3..700) < 100);
    }

    #[test]
    fn a_text_is_shown_as_it_is_mostly_written() {
        let texts = ["Chevy", "chevrolet", "Chevrolet", "Chevrolet ", "Ford", "-"].map(Some);
        let column = TextColumn::new(Field::Make, &texts, &[0, 1, 2, 3, 4, 5]);
        let code = column.code("CHEVROLET").unwrap();
        assert_eq!(column.spelling(code), "Chevrolet");
        assert_eq!(column.find("chevy"), [0, 1, 2, 3]);
        assert_eq!(column.rows().absent(), [5]);
        assert_eq!(column.code("-"), None);
    }

    #[test]
    fn common_values_have_bitmaps_and_rare_ones_do_not() {
        let values: Vec<Option<u32>> =
            (0..640).map(|row| Some(if row < 20 { row } else { 99 })).collect();
        let by_id: Vec<u32> = (0..640).collect();
        let column = Column::new(&values, &by_id);
        assert_eq!(column.rows.dense.len(), 1);
        let mut set = Bitmap::empty(640);
        column.rows.add_to(&mut set, 18..21);
        assert_eq!(set.rows().collect::<Vec<_>>(), (18..640).collect::<Vec<_>>());
        assert!(column.rows.add_cost(18..21) < 20);
    }
}
