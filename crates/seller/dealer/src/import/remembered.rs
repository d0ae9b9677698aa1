//! Cache of interpreted cells. The rows of a feed repeat few values, so each is interpreted once.

use std::collections::HashMap;

use tradepost_aap::vehicle::VehicleCondition;

use super::words::{Availability, WordValue};

/// Maximum number of cached texts of a kind. A feed with more has a different text in each row.
const MOST: usize = 1_000;

/// Maximum length of a cached text in bytes.
const LONGEST: usize = 100;

/// Cache of the meanings of texts of one kind.
#[derive(Debug, Clone)]
pub(super) struct MeaningCache<T>(HashMap<String, T>);

impl<T> Default for MeaningCache<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: Clone> MeaningCache<T> {
    /// Returns the cached meaning of a text, or interprets it.
    pub(super) fn or_read(&mut self, text: &str, read: impl FnOnce(&str) -> T) -> T {
        if let Some(known) = self.0.get(text) {
            return known.clone();
        }
        let found = read(text);
        if self.0.len() < MOST && text.len() <= LONGEST {
            self.0.insert(text.to_owned(), found.clone());
        }
        found
    }
}

/// Caches for the rows of a dealer.
#[derive(Debug, Default)]
pub(super) struct RowCaches {
    pub(super) availability: MeaningCache<Availability>,
    pub(super) condition: MeaningCache<Option<VehicleCondition>>,
    pub(super) certified: MeaningCache<Option<bool>>,
    pub(super) transmission: MeaningCache<Option<WordValue>>,
    pub(super) driveline: MeaningCache<Option<WordValue>>,
    pub(super) fuel: MeaningCache<Option<WordValue>>,
    pub(super) body: MeaningCache<Option<WordValue>>,
    /// Makes, and the group of makes by which VINs identify them.
    pub(super) family: MeaningCache<Option<&'static str>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_bounded_and_true() {
        let mut known = MeaningCache::default();
        let long = "x".repeat(LONGEST + 1);
        for round in 0..2 {
            for number in 0..2 * MOST {
                let text = number.to_string();
                let read = known.or_read(&text, |text| (text.len(), round));
                let expected = if number < MOST { 0 } else { round };
                assert_eq!(read, (text.len(), expected));
            }
            assert_eq!(known.or_read(&long, |text| (text.len(), round)), (LONGEST + 1, round));
        }
        assert_eq!(known.0.len(), MOST);
    }
}
