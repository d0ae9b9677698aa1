//! Many short texts in one allocation, which halves the memory of separate ones.

use std::cmp::Ordering;
use std::ops::Range;

use super::codes::index;

/// A list of texts.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Texts {
    /// All texts, concatenated.
    pub(super) all: String,
    /// End of each text.
    pub(super) ends: Vec<u32>,
}

impl Texts {
    /// Creates a list from concatenated texts and their ends; `None` when the ends are invalid.
    pub(super) fn from_parts(all: String, ends: Vec<u32>) -> Option<Self> {
        let mut start = 0;
        for end in &ends {
            // `get` returns an empty text for an invalid range, so the error would go unnoticed
            // later.
            if *end < start || !all.is_char_boundary(*end as usize) {
                return None;
            }
            start = *end;
        }
        (start as usize == all.len()).then_some(Self { all, ends })
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Appends a text.
    pub(crate) fn push(&mut self, text: &str) {
        self.all.push_str(text);
        self.ends.push(index(self.all.len()));
    }

    pub(crate) fn get(&self, place: usize) -> &str {
        let start = match place.checked_sub(1) {
            Some(before) => self.ends.get(before).copied().unwrap_or_default(),
            None => 0,
        };
        let end = self.ends.get(place).copied().unwrap_or_default();
        self.all.get(start as usize..end as usize).unwrap_or_default()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|place| self.get(place))
    }

    /// Returns the position of a text in an ascending list.
    pub(super) fn find(&self, text: &str) -> Option<u32> {
        let place = self.partition_point(|known| known < text);
        (place < self.len() && self.get(place) == text).then(|| index(place))
    }

    /// Returns the positions of the texts with a prefix in an ascending list.
    pub(super) fn starting_with(&self, prefix: &str) -> Range<u32> {
        // Texts with a prefix are adjacent, beginning where the prefix itself would be.
        let from = self.partition_point(|text| text < prefix);
        let to = self.partition_point(|text| text < prefix || text.starts_with(prefix));
        index(from)..index(to)
    }

    /// Returns true when each text is greater than the one before.
    pub(super) fn is_ascending(&self) -> bool {
        let next = self.iter().skip(1);
        // Equal neighbours are an error too, because each value has one code.
        self.iter().zip(next).all(|(one, next)| one.cmp(next) == Ordering::Less)
    }

    /// Returns the number of texts at the start that satisfy a condition; all others do not.
    fn partition_point(&self, mut is_before: impl FnMut(&str) -> bool) -> usize {
        partition_point(self.len(), |place| is_before(self.get(place)))
    }

    /// Frees unused capacity.
    pub(crate) fn shrink(&mut self) {
        self.all.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    /// Returns its memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.all.capacity() + self.ends.capacity() * size_of::<u32>()
    }
}

impl<T: AsRef<str>> FromIterator<T> for Texts {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Self {
        let mut this = Self::default();
        for text in texts {
            this.push(text.as_ref());
        }
        this.shrink();
        this
    }
}

/// Returns the number of positions from 0 that satisfy a condition; all others do not.
pub(super) fn partition_point(places: usize, mut is_before: impl FnMut(usize) -> bool) -> usize {
    let mut from = 0;
    let mut to = places;
    while from < to {
        let middle = from + (to - from) / 2;
        if is_before(middle) { from = middle + 1 } else { to = middle }
    }
    from
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_by_place_by_value_and_by_prefix() {
        let texts: Texts = ["", "a", "ab", "abc", "b", "é"].into_iter().collect();
        assert_eq!(texts.iter().collect::<Vec<_>>(), ["", "a", "ab", "abc", "b", "é"]);
        assert_eq!((texts.find("ab"), texts.find("aa"), texts.find("z")), (Some(2), None, None));
        assert_eq!((texts.starting_with("ab"), texts.starting_with("c")), (2..4, 5..5));
        assert_eq!(texts.get(17), "");
        assert!(texts.is_ascending());
        assert!(!["b", "a"].into_iter().collect::<Texts>().is_ascending());
    }

    #[test]
    fn ends_that_cannot_be_are_refused() {
        for (all, ends) in [("ab", vec![2, 1]), ("ab", vec![1]), ("é", vec![1, 2]), ("a", vec![2])]
        {
            assert_eq!(Texts::from_parts(all.to_owned(), ends.clone()), None, "{all} {ends:?}");
        }
        assert!(Texts::from_parts("ab".to_owned(), vec![0, 1, 2]).is_some());
    }
}
