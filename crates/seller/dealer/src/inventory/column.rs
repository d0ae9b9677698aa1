//! Dictionary-encoded columns: the distinct values of one attribute in ascending order, and the
//! rows by the rank of their value (the code).

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::codes::{ABSENT, Codes, index};
use super::gather::InternedTexts;
use super::texts::Texts;
use crate::query::fold::{TextKind, fold, tidy};

/// A numeric attribute. The position of a value in ascending order is its code.
#[derive(Debug, Default)]
pub(super) struct NumberColumn {
    pub(super) keys: Vec<u32>,
    pub(super) rows: Codes,
}

impl NumberColumn {
    /// Encodes the values of all rows; `by_id` lists the rows by vehicle id.
    pub(super) fn new(values: &[Option<u32>], by_id: &[u32]) -> Self {
        let mut keys: Vec<u32> = values.iter().flatten().copied().collect();
        keys.sort_unstable();
        keys.dedup();
        keys.shrink_to_fit();
        let rows = encode(values, &keys, by_id);
        Self { keys, rows }
    }

    /// Prepares the column for range filters.
    pub(super) fn for_ranges(mut self) -> Self {
        self.rows.add_strides();
        self
    }

    /// Drops what only sorting needs.
    pub(super) fn for_filters(self) -> Self {
        Self { rows: self.rows.for_filters(), ..self }
    }

    /// Returns the value of a code.
    pub(super) fn key(&self, code: u32) -> Option<u32> {
        self.keys.get(code as usize).copied()
    }

    /// Returns the lowest and the highest value.
    pub(super) fn ends(&self) -> Option<(u32, u32)> {
        self.keys.first().copied().zip(self.keys.last().copied())
    }

    /// Returns the lowest and the highest value among some rows.
    pub(super) fn ends_among(&self, rows: impl Iterator<Item = u32>) -> Option<(u32, u32)> {
        let codes = rows.map(|row| self.rows.code(row)).filter(|code| *code != ABSENT);
        let ends = codes.fold(None, |ends: Option<(u32, u32)>, code| {
            let (min, max) = ends.unwrap_or((code, code));
            Some((min.min(code), max.max(code)))
        });
        let (lowest, highest) = ends?;
        self.values(lowest, highest)
    }

    /// Returns the values of two codes.
    pub(super) fn values(&self, one: u32, other: u32) -> Option<(u32, u32)> {
        self.key(one).zip(self.key(other))
    }

    /// Returns the codes of the values from `min` to `max`, both inclusive. Rows without a value
    /// are in no range (C-38).
    pub(super) fn between(&self, min: Option<u32>, max: Option<u32>) -> Range<u32> {
        let from = min.map_or(0, |min| self.keys.partition_point(|key| *key < min));
        let to = max.map_or(self.keys.len(), |max| self.keys.partition_point(|key| *key <= max));
        // A minimum above the maximum is an empty range (C-40).
        index(from)..index(to.max(from))
    }

    /// Returns its memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.keys.capacity() * size_of::<u32>() + self.rows.bytes()
    }
}

/// Encodes the rows by the rank of their value among `keys`, which are ascending.
pub(super) fn encode<K: Ord>(values: &[Option<K>], keys: &[K], by_id: &[u32]) -> Codes {
    let code = |value: &Option<K>| {
        let place = value.as_ref().map(|value| keys.binary_search(value));
        place.and_then(Result::ok).map_or(ABSENT, index)
    };
    let codes: Vec<u32> = values.iter().map(code).collect();
    Codes::new(&codes, keys.len(), by_id)
}

/// A text attribute: compared by folded key, displayed in its most frequent spelling.
#[derive(Debug, Default)]
pub(super) struct TextColumn {
    pub(super) field: TextKind,
    /// Folded values in ascending order; the position is the code.
    pub(super) keys: Texts,
    pub(super) rows: Codes,
    /// Most frequent spelling of each code. Empty for identifiers, which are not displayed.
    pub(super) spellings: Texts,
}

impl TextColumn {
    /// Encodes the texts of all rows; `by_id` lists the rows by vehicle id.
    pub(super) fn new(field: TextKind, words: &InternedTexts, by_id: &[u32]) -> Self {
        // Folded once per distinct text, however many rows have it.
        let folded: Vec<(&str, u32, usize, Box<str>)> = words
            .counted()
            .map(|(text, number, count)| (text, number, count, fold(field, text).into_boxed_str()))
            // A text that folds to nothing, such as `-`, stands for a missing value.
            .filter(|(_, _, _, key)| !key.is_empty())
            .collect();
        let mut keys: Vec<&str> = folded.iter().map(|(_, _, _, key)| &**key).collect();
        keys.sort_unstable();
        keys.dedup();
        let mut codes: HashMap<u32, u32> = HashMap::with_capacity(folded.len());
        // In text order, because a snapshot is named by its content: the order of a hash table
        // would vary the spellings, and with them the name.
        let mut written: BTreeMap<(u32, String), usize> = BTreeMap::new();
        for (text, number, count, key) in &folded {
            if let Ok(code) = keys.binary_search(&&**key) {
                codes.insert(*number, index(code));
                *written.entry((index(code), tidy(text))).or_default() += count;
            }
        }
        let mut spellings: Vec<(usize, Box<str>)> = vec![Default::default(); keys.len()];
        for ((code, text), count) in written {
            // Of equally frequent spellings the first in text order wins.
            if let Some(best) = spellings.get_mut(code as usize)
                && count > best.0
            {
                *best = (count, text.into());
            }
        }
        let code = |number: &u32| codes.get(number).copied().unwrap_or(ABSENT);
        let encoded: Vec<u32> = words.rows.iter().map(code).collect();
        let rows = Codes::new(&encoded, keys.len(), by_id);
        let spellings = spellings.into_iter().map(|(_, text)| text).collect();
        Self { field, keys: keys.into_iter().collect(), rows, spellings }
    }

    /// Encodes identifiers, which are mostly unique and not displayed: one folded text per row,
    /// empty for a missing one.
    pub(super) fn identifiers(folded: &Texts, by_id: &[u32]) -> Self {
        let text = |row: u32| folded.get(row as usize);
        let mut sorted: Vec<u32> =
            (0..index(folded.len())).filter(|row| !text(*row).is_empty()).collect();
        sorted.sort_unstable_by(|one, other| text(*one).cmp(text(*other)));
        let mut keys = Texts::default();
        let mut codes = vec![ABSENT; folded.len()];
        let mut latest = "";
        for row in sorted {
            if text(row) != latest {
                latest = text(row);
                keys.push(latest);
            }
            if let Some(code) = codes.get_mut(row as usize) {
                *code = index(keys.len() - 1);
            }
        }
        keys.shrink();
        let rows = Codes::new(&codes, keys.len(), by_id);
        Self { field: TextKind::Identifier, keys, rows, spellings: Texts::default() }
    }

    /// Drops what only sorting needs.
    pub(super) fn for_filters(self) -> Self {
        Self { rows: self.rows.for_filters(), ..self }
    }

    /// Returns the code of the values that fold to the same key as `text`.
    pub(super) fn code(&self, text: &str) -> Option<u32> {
        self.keys.find(&fold(self.field, text))
    }

    /// Returns its memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.keys.bytes() + self.spellings.bytes() + self.rows.bytes()
    }

    /// Returns the rows whose value folds to the same key as `text`, by vehicle id.
    pub(super) fn find(&self, text: &str) -> &[u32] {
        self.code(text).map_or(&[], |code| self.rows.span(code..code + 1))
    }

    /// Returns the rows whose key begins with `prefix`.
    pub(super) fn starting_with(&self, prefix: &str) -> &[u32] {
        self.rows.span(self.keys.starting_with(prefix))
    }

    /// Returns the most frequent spelling of a code.
    pub(super) fn spelling(&self, code: u32) -> &str {
        self.spellings.get(code as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::super::bitmap::Bitmap;
    use super::*;

    #[test]
    fn numbers_are_ordered_with_absent_ones_last() {
        let by_id = [4, 3, 2, 1, 0];
        let column = NumberColumn::new(&[Some(20), None, Some(10), Some(20), Some(30)], &by_id);
        assert_eq!(column.rows.ascending(), [2, 3, 0, 4, 1], "ties by vehicle id");
        assert_eq!(column.between(Some(15), Some(20)), 1..2);
        assert_eq!(column.rows.span(1..2), [3, 0]);
        assert_eq!(column.rows.span(column.between(Some(50), None)), [0u32; 0]);
        assert_eq!(column.rows.absent(), [1]);
        assert!(column.between(Some(30), Some(10)).is_empty(), "C-40");
    }

    #[test]
    fn a_long_range_is_put_together_from_strides() {
        // Many values, and so few that each is a stride.
        for (values, distinct) in [(1000, 888), (20, 20)] {
            let numbers: Vec<Option<u32>> =
                (0..1000).map(|row| (row % 9 > 0).then_some(row * 7919 % values)).collect();
            let by_id: Vec<u32> = (0..1000).rev().collect();
            let plain = NumberColumn::new(&numbers, &by_id);
            let column = NumberColumn::new(&numbers, &by_id).for_ranges();
            assert_eq!(column.keys.len(), distinct as usize);
            for range in [0..888, 0..1, 3..700, 31..32, 32..64, 100..100, 5..36, 640..888, 2..19] {
                let range = range.start.min(distinct)..range.end.min(distinct);
                let mut expected = Bitmap::empty(1000);
                let mut set = Bitmap::empty(1000);
                plain.rows.add_to(&mut expected, range.clone());
                column.rows.add_to(&mut set, range.clone());
                let rows = |set: &Bitmap| set.rows().collect::<Vec<_>>();
                assert_eq!(rows(&set), rows(&expected), "{range:?}");
                assert!(column.rows.add_cost(range.clone()) <= plain.rows.add_cost(range));
            }
            assert!(column.rows.add_cost(3..distinct * 3 / 4) < 100);
        }
    }

    #[test]
    fn the_ends_of_some_rows_are_found_between_strides() {
        for (values, gap) in [(1000, 9), (1000, 1001), (20, 9), (20, 1001), (1, 1)] {
            let numbers: Vec<Option<u32>> =
                (0..1000).map(|row| (row % gap > 0).then_some(row * 7919 % values)).collect();
            let by_id: Vec<u32> = (0..1000).collect();
            let column = NumberColumn::new(&numbers, &by_id).for_ranges();
            for (step, from) in
                [(1, 0), (7, 3), (97, 50), (9, 0), (500, 499), (1000, 999), (1, 1000)]
            {
                let rows: Vec<u32> = (from..1000).step_by(step).collect();
                let mut set = Bitmap::empty(1000);
                rows.iter().for_each(|row| set.insert(*row));
                let found = rows.iter().filter_map(|row| numbers[*row as usize]);
                let expected = found.clone().min().zip(found.max());
                let ends = column.rows.ends_in(&set);
                let ends =
                    ends.map(|(min, max)| (column.key(min).unwrap(), column.key(max).unwrap()));
                assert_eq!(ends, expected, "{values} values, {gap}, each {step} from {from}");
            }
        }
    }

    #[test]
    fn a_text_is_shown_as_it_is_mostly_written() {
        let texts = ["Chevy", "chevrolet", "Chevrolet", "Chevrolet ", "Ford", "-"].map(Some);
        let words = texts.into_iter().collect();
        let column = TextColumn::new(TextKind::Make, &words, &[0, 1, 2, 3, 4, 5]);
        let code = column.code("CHEVROLET").unwrap();
        assert_eq!(column.spelling(code), "Chevrolet");
        assert_eq!(column.find("chevy"), [0, 1, 2, 3]);
        assert_eq!(column.rows.absent(), [5]);
        assert_eq!(column.code("-"), None);
    }

    #[test]
    fn common_values_have_bitmaps_and_rare_ones_do_not() {
        let values: Vec<Option<u32>> =
            (0..640).map(|row| Some(if row < 20 { row } else { 99 })).collect();
        let by_id: Vec<u32> = (0..640).collect();
        let column = NumberColumn::new(&values, &by_id);
        assert_eq!(column.rows.bitmaps(), 1);
        let mut set = Bitmap::empty(640);
        column.rows.add_to(&mut set, 18..21);
        assert_eq!(set.rows().collect::<Vec<_>>(), (18..640).collect::<Vec<_>>());
        assert!(column.rows.add_cost(18..21) < 20);
    }
}
