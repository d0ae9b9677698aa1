//! Whether an array repeats an item.

use std::collections::HashSet;

use crate::json::Value;

use crate::canonical;

/// Arrays that are this short are compared pair by pair, when their items are texts.
const SHORT: usize = 16;

/// Whether an item is there twice: numbers by value, members in any order. Linear in the size of
/// a hostile array.
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
