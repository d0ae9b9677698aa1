//! Finds repeated items in an array.

use std::collections::HashSet;

use tradepost_document::json::Value;

use tradepost_document::canonical;

/// The length up to which arrays of texts are compared pair by pair.
const SHORT: usize = 16;

/// Returns true if an item occurs twice: numbers are compared by value, members in any order. Takes
/// linear time, also for a hostile array.
pub(super) fn repeats(items: &[Value]) -> bool {
    if items.len() < 2 {
        return false;
    }
    let texts = || items.iter().filter_map(Value::as_str);
    if texts().count() < items.len() {
        let mut seen = HashSet::with_capacity(items.len());
        return !items.iter().all(|item| seen.insert(canonical::to_string(item)));
    }
    if items.len() <= SHORT {
        return texts().enumerate().any(|(n, text)| texts().skip(n + 1).any(|other| text == other));
    }
    let mut seen = HashSet::with_capacity(items.len());
    !texts().all(|text| seen.insert(text))
}
