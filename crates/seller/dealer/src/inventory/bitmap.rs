//! A set of rows as a bitmap.

use std::ops::Range;

use super::codes::{CodeWidth, RowCodes, each_width};

/// A set of rows. Its capacity is fixed; all sets over one inventory have the same.
#[derive(Debug, Clone, Default)]
pub(super) struct Bitmap {
    /// One bit per row.
    pub(super) words: Vec<u64>,
}

/// Number of words that a search for a row combines, because a processor handles several at once.
const BLOCK: usize = 16;

impl Bitmap {
    /// Creates the empty set over `rows` rows.
    pub(super) fn empty(rows: usize) -> Self {
        Self { words: vec![0; rows.div_ceil(64)] }
    }

    /// Creates the set of all of `rows` rows.
    pub(super) fn full(rows: usize) -> Self {
        let mut words = vec![u64::MAX; rows.div_ceil(64)];
        if let Some(last) = words.last_mut()
            && !rows.is_multiple_of(64)
        {
            // Bits after the last row stay zero, because `len` counts every bit of a word.
            *last = (1 << (rows % 64)) - 1;
        }
        Self { words }
    }

    /// Creates a set of `members` over `rows` rows.
    pub(super) fn from_rows(members: &[u32], rows: usize) -> Self {
        let mut set = Self::empty(rows);
        set.extend(members);
        set
    }

    /// Creates the set of the rows whose code satisfies a condition; `codes` has one entry per row.
    pub(super) fn scan(codes: &RowCodes, mut keep: impl FnMut(u32) -> bool) -> Self {
        Self { words: each_width!(codes, codes => scanned(codes, &mut keep)) }
    }

    #[inline]
    pub(super) fn insert(&mut self, row: u32) {
        if let Some(word) = self.words.get_mut(row as usize / 64) {
            *word |= 1 << (row % 64);
        }
    }

    #[inline]
    pub(super) fn contains(&self, row: u32) -> bool {
        let word = self.words.get(row as usize / 64);
        word.is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    /// Adds rows.
    pub(super) fn extend(&mut self, rows: &[u32]) {
        for row in rows {
            self.insert(*row);
        }
    }

    /// Returns the word that contains a row, shifted so that the row's bit is lowest.
    #[inline]
    pub(super) fn word_from(&self, row: u32) -> u64 {
        self.words.get(row as usize / 64).map_or(0, |word| word >> (row % 64))
    }

    /// Returns the members of `with` that are not in `without`.
    pub(super) fn difference(with: &Self, without: &Self) -> Self {
        let words = with.words.iter().zip(&without.words);
        Self { words: words.map(|(with, without)| with & !without).collect() }
    }

    pub(super) fn union(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    /// Adds the members of `with` that are not in `without`.
    pub(super) fn add_difference(&mut self, with: &Self, without: &Self) {
        let others = with.words.iter().zip(&without.words);
        for (word, (with, without)) in self.words.iter_mut().zip(others) {
            *word |= with & !without;
        }
    }

    /// Keeps only the members that are in `with` and not in `without`.
    pub(super) fn intersect_difference(&mut self, with: &Self, without: &Self) {
        let others = with.words.iter().zip(&without.words);
        for (word, (with, without)) in self.words.iter_mut().zip(others) {
            *word &= with & !without;
        }
    }

    pub(super) fn intersect(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }

    /// Removes the members of another set.
    pub(super) fn subtract(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= !other;
        }
    }

    /// Removes the rows that do not satisfy a condition.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(u32) -> bool) {
        for (word, base) in self.words.iter_mut().zip((0u32..).step_by(64)) {
            for bit in Bits(*word) {
                // The iterator works on a copy of the word, so clearing a bit here is safe.
                *word &= !(u64::from(!keep(base + bit)) << bit);
            }
        }
    }

    /// Removes the rows whose code is not within a range; `codes` has one entry per row. Twice as
    /// fast as [`Bitmap::retain`], because searches spend most of their time here.
    pub(super) fn retain_within(&mut self, codes: &RowCodes, range: &Range<u32>) {
        each_width!(codes, codes => self.retain_among(codes, range));
    }

    fn retain_among<E: CodeWidth>(&mut self, codes: &[E], range: &Range<u32>) {
        let width = range.end.saturating_sub(range.start);
        for (word, codes) in self.words.iter_mut().zip(codes.chunks(64)) {
            let mut kept = 0;
            for bit in Bits(*word) {
                if let Some(code) = codes.get(bit as usize) {
                    // One comparison for both bounds: a code below the start wraps around to more
                    // than any width. `ABSENT` is at or after every end.
                    kept |= u64::from(code.code().wrapping_sub(range.start) < width) << bit;
                }
            }
            *word = kept;
        }
    }

    /// Returns its memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }

    /// Returns true when both sets have a row in common.
    pub(super) fn meets(&self, other: &Self) -> bool {
        self.any(other, |word, other| word & other)
    }

    /// Returns true when the other set contains this one.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        !self.any(other, |word, other| word & !other)
    }

    /// Returns true when any combined word of both sets is not zero.
    fn any(&self, other: &Self, together: impl Fn(u64, u64) -> u64) -> bool {
        let one = |all, (word, other): (&u64, &u64)| all | together(*word, *other);
        let (blocks, rest) = self.words.as_chunks::<BLOCK>();
        let (others, other_rest) = other.words.as_chunks::<BLOCK>();
        let mut blocks = blocks.iter().zip(others);
        blocks.any(|(words, others)| words.iter().zip(others).fold(0, one) != 0)
            || rest.iter().zip(other_rest).fold(0, one) != 0
    }

    pub(super) fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Iterates over the rows in ascending order.
    pub(super) fn rows(&self) -> impl Iterator<Item = u32> {
        let words = self.words.iter().zip((0u32..).step_by(64));
        words.flat_map(|(word, base)| Bits(*word).map(move |bit| base + bit))
    }

    /// Calls `take` for each row in ascending order. Nested loops are twice as fast as one
    /// iterator.
    pub(super) fn for_each(&self, mut take: impl FnMut(u32)) {
        for (word, base) in self.words.iter().zip((0u32..).step_by(64)) {
            for bit in Bits(*word) {
                take(base + bit);
            }
        }
    }

    /// Returns up to `limit` rows in ascending order, without the first `skip`. Whole words are
    /// skipped at the cost of counting them.
    pub(super) fn page(&self, mut skip: usize, limit: usize) -> Vec<u32> {
        let mut page = Vec::with_capacity(limit);
        for (word, base) in self.words.iter().zip((0u32..).step_by(64)) {
            let here = word.count_ones() as usize;
            if here <= skip {
                skip -= here;
                continue;
            }
            let bits = Bits(*word).skip(skip).take(limit - page.len());
            page.extend(bits.map(|bit| base + bit));
            skip = 0;
            if page.len() >= limit {
                break;
            }
        }
        page
    }

    /// Returns the cost of counting a set over this many rows, relative to examining one row.
    pub(super) fn count_cost(rows: usize) -> usize {
        rows.div_ceil(64 / 2)
    }

    /// Returns the cost of combining two sets, relative to examining one row: a few words cost as
    /// much.
    pub(super) fn combine_cost(rows: usize) -> usize {
        rows.div_ceil(64 * 4)
    }
}

fn scanned<E: CodeWidth>(codes: &[E], keep: &mut impl FnMut(u32) -> bool) -> Vec<u64> {
    let word = |codes: &[E]| {
        let bits = codes.iter().zip(0u32..);
        bits.fold(0, |word, (code, bit)| word | u64::from(keep(code.code())) << bit)
    };
    codes.chunks(64).map(word).collect()
}

/// Iterator over the positions of the set bits of a word, ascending.
struct Bits(u64);

impl Iterator for Bits {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if self.0 == 0 {
            return None;
        }
        let bit = self.0.trailing_zeros();
        self.0 &= self.0 - 1;
        Some(bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bitmap(rows: &[u32]) -> Bitmap {
        let mut set = Bitmap::empty(200);
        rows.iter().for_each(|row| set.insert(*row));
        set
    }

    #[test]
    fn a_set_holds_what_was_put_in() {
        let set = bitmap(&[0, 63, 64, 130, 199]);
        assert_eq!(set.rows().collect::<Vec<_>>(), [0, 63, 64, 130, 199]);
        assert_eq!(set.len(), 5);
        assert!(set.contains(63) && !set.contains(62) && !set.contains(100_000));
    }

    #[test]
    fn sets_combine() {
        let mut set = bitmap(&[1, 64, 128]);
        set.union(&bitmap(&[2]));
        set.add_difference(&bitmap(&[5, 129]), &bitmap(&[1, 5, 64]));
        set.intersect(&bitmap(&[2, 64, 128, 129]));
        set.retain(|row| row != 64);
        assert_eq!(set.rows().collect::<Vec<_>>(), [2, 128, 129]);
    }

    #[test]
    fn a_set_is_narrowed_by_the_difference_of_others() {
        let with = bitmap(&[1, 64, 128, 199]);
        let without = bitmap(&[1, 2, 128]);
        let difference = Bitmap::difference(&with, &without);
        assert_eq!(difference.rows().collect::<Vec<_>>(), [64, 199]);
        let mut set = bitmap(&[1, 2, 64, 130]);
        let mut same = bitmap(&[1, 2, 64, 130]);
        set.intersect_difference(&with, &without);
        same.intersect(&difference);
        assert_eq!(set.rows().collect::<Vec<_>>(), [64]);
        assert_eq!(same.rows().collect::<Vec<_>>(), [64]);
        assert_eq!((set.word_from(64), set.word_from(63) & 1, set.word_from(9999)), (1, 0, 0));
    }

    #[test]
    fn everything_but_some_is_what_is_left() {
        for rows in [1, 63, 64, 65, 200] {
            let mut set = Bitmap::full(rows);
            assert_eq!(set.len(), rows);
            let mut others = Bitmap::empty(rows);
            others.insert(0);
            set.subtract(&others);
            assert_eq!((set.len(), set.contains(0)), (rows - 1, false));
        }
    }

    #[test]
    fn rows_outside_a_range_of_codes_are_left_out() {
        let codes: Vec<u32> =
            (0..200).map(|row| if row % 7 == 0 { u32::MAX } else { row % 10 }).collect();
        for range in [0..10, 3..5, 9..9, 0..u32::MAX] {
            let mut set = bitmap(&[0, 3, 4, 63, 64, 73, 130, 193, 199]);
            let mut expected = set.clone();
            expected.retain(|row| range.contains(&codes[row as usize]));
            let among = RowCodes::Four(codes.clone());
            set.retain_within(&among, &range);
            assert_eq!(set.rows().collect::<Vec<_>>(), expected.rows().collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_scan_keeps_matching_codes() {
        let codes = RowCodes::One((0..200).map(|row| row % 10).collect());
        let rows: Vec<u32> = Bitmap::scan(&codes, |code| code == 3).rows().collect();
        assert_eq!(rows, (0..20).map(|i| i * 10 + 3).collect::<Vec<_>>());
    }

    #[test]
    fn pages_partition_the_set() {
        let all: Vec<u32> = (0..200).filter(|row| row % 3 != 0).collect();
        let set = bitmap(&all);
        for limit in [1, 7, 64, 100, 500] {
            let pages: Vec<u32> =
                (0..all.len()).step_by(limit).flat_map(|skip| set.page(skip, limit)).collect();
            assert_eq!(pages, all, "{limit}");
        }
        assert!(set.page(all.len(), 5).is_empty());
    }
}
