//! Many short texts in one allocation: an allocation for each would take as much again.

use std::cmp::Ordering;
use std::ops::Range;

use super::codes::index;

/// A list of texts.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Texts {
    /// One after the other.
    pub(super) all: String,
    /// By text: where it ends.
    pub(super) ends: Vec<u32>,
}

impl Texts {
    /// Texts of which each ends where the next begins; `None` where that cannot be.
    pub(super) fn of(all: String, ends: Vec<u32>) -> Option<Self> {
        let mut start = 0;
        for end in &ends {
            // `get` answers a cut that cannot be made with an empty text, so that nobody would
            // notice later.
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

    /// Puts one behind the others.
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

    /// Where a text stands among texts in ascending order.
    pub(super) fn find(&self, text: &str) -> Option<u32> {
        let place = self.partition_point(|known| known < text);
        (place < self.len() && self.get(place) == text).then(|| index(place))
    }

    /// Where the texts with a prefix stand among texts in ascending order.
    pub(super) fn starting_with(&self, prefix: &str) -> Range<u32> {
        // Texts with a prefix stand together, beginning where the prefix itself would stand.
        let from = self.partition_point(|text| text < prefix);
        let to = self.partition_point(|text| text < prefix || text.starts_with(prefix));
        index(from)..index(to)
    }

    /// Whether each is behind the one before.
    pub(super) fn is_ascending(&self) -> bool {
        let next = self.iter().skip(1);
        // Two that are equal are in disorder, too: each value has one code.
        self.iter().zip(next).all(|(one, next)| one.cmp(next) == Ordering::Less)
    }

    /// How many texts at the start satisfy a condition; behind them none does.
    fn partition_point(&self, mut is_before: impl FnMut(&str) -> bool) -> usize {
        partition_point(self.len(), |place| is_before(self.get(place)))
    }

    /// Gives back the room that further ones would have.
    pub(crate) fn shrink(&mut self) {
        self.all.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    /// How many bytes it takes.
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

/// How many places from 0 on satisfy a condition; behind them none does.
pub(super) fn partition_point(places: usize, mut is_before: impl FnMut(usize) -> bool) -> usize {
    let (mut from, mut to) = (0, places);
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
            assert_eq!(Texts::of(all.to_owned(), ends.clone()), None, "{all} {ends:?}");
        }
        assert!(Texts::of("ab".to_owned(), vec![0, 1, 2]).is_some());
    }
}
