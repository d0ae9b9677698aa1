//! A cache with a bound, from which the entry goes first that was used longest ago.
//!
//! It asks no clock: where entries expire, the caller keeps the moment in the value and checks it when it
//! reads. What must never be forgotten, such as a used nonce, does not belong into a cache.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, RandomState};

use hashlink::LruCache;

/// A map whose entries weigh at most a given sum.
///
/// ```
/// use tradepost_document::cache::BoundedCache;
///
/// let mut cache = BoundedCache::new(2);
/// cache.insert("a", 1);
/// cache.insert("b", 2);
/// assert_eq!(cache.get("a"), Some(&mut 1));
/// cache.insert("c", 3);
/// assert_eq!(cache.get("b"), None);
/// ```
pub struct BoundedCache<K, V> {
    /// The hasher has random keys, so that callers cannot choose keys that collide.
    entries: LruCache<K, Weighed<V>, RandomState>,
    weight: usize,
    most: usize,
}

struct Weighed<V> {
    value: V,
    weight: usize,
}

impl<K: Hash + Eq, V> BoundedCache<K, V> {
    /// Creates an empty cache for entries that weigh at most `most` together.
    #[must_use]
    pub fn new(most: usize) -> Self {
        // Bounded here and not by the library, which knows a number of entries alone.
        let entries = LruCache::with_hasher(usize::MAX, RandomState::new());
        Self { entries, weight: 0, most }
    }

    /// Returns the value of a key and marks it as used.
    pub fn get<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.entries.get_mut(key).map(|entry| &mut entry.value)
    }

    /// Returns the value of a key, which does not count as a use.
    #[must_use]
    pub fn peek<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.entries.peek(key).map(|entry| &entry.value)
    }

    /// Stores a value that weighs one, in place of an earlier one.
    pub fn insert(&mut self, key: K, value: V) {
        self.insert_weighed(key, value, 1);
    }

    /// Stores a value of this weight, in place of an earlier one, and removes what was used longest ago until
    /// all fits. A value that is heavier than the bound is not stored.
    pub fn insert_weighed(&mut self, key: K, value: V, weight: usize) {
        self.remove(&key);
        if weight > self.most {
            return;
        }
        while self.weight > self.most - weight {
            let Some((_, removed)) = self.entries.remove_lru() else { break };
            self.weight -= removed.weight;
        }
        self.weight += weight;
        self.entries.insert(key, Weighed { value, weight });
    }

    /// Removes a key and returns its value.
    pub fn remove<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let removed = self.entries.remove(key)?;
        self.weight -= removed.weight;
        Some(removed.value)
    }

    /// Returns the entries, the one used longest ago first.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.entries.iter().map(|(key, entry)| (key, &entry.value))
    }

    /// Returns the entries to be changed, the one used longest ago first.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&K, &mut V)> {
        self.entries.iter_mut().map(|(key, entry)| (key, &mut entry.value))
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.weight = 0;
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true when there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the weight of all entries.
    #[must_use]
    pub const fn weight(&self) -> usize {
        self.weight
    }
}

impl<K, V> fmt::Debug for BoundedCache<K, V> {
    /// Writes sizes alone, because caches hold keys and answers of callers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entries: _, weight, most } = self;
        f.debug_struct("BoundedCache")
            .field("weight", weight)
            .field("most", most)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_used_longest_ago_goes_first() {
        let mut cache = BoundedCache::new(3);
        for number in 0..3 {
            cache.insert(number, number);
        }
        assert_eq!(cache.get(&0), Some(&mut 0));
        assert_eq!(cache.peek(&1), Some(&1), "to look at it is no use");
        cache.insert(3, 3);
        assert_eq!((cache.peek(&0), cache.peek(&1)), (Some(&0), None));
        cache.insert(2, 20);
        cache.insert(4, 4);
        assert_eq!((cache.peek(&0), cache.peek(&2)), (None, Some(&20)), "to write it is one");
        assert_eq!((cache.len(), cache.weight()), (3, 3));
    }

    #[test]
    fn weights_are_counted_once_and_bounded() {
        let mut cache = BoundedCache::new(10);
        cache.insert_weighed("a", (), 4);
        cache.insert_weighed("b", (), 4);
        cache.insert_weighed("a", (), 5);
        assert_eq!((cache.len(), cache.weight()), (2, 9));
        cache.insert_weighed("c", (), 6);
        assert_eq!((cache.len(), cache.weight()), (1, 6), "as many go as it takes");
        cache.insert_weighed("c", (), 11);
        assert!(cache.is_empty() && cache.weight() == 0, "what is too heavy replaces all the same");
        cache.insert_weighed("d", (), 10);
        cache.insert_weighed("e", (), 0);
        assert_eq!(cache.len(), 2);
        assert_eq!((cache.remove("d"), cache.weight()), (Some(()), 0));
        assert_eq!((cache.remove("e"), cache.remove("e")), (Some(()), None));
        cache.insert("f", ());
        cache.clear();
        assert_eq!((cache.len(), cache.weight()), (0, 0));
    }

    #[test]
    fn a_cache_without_room_keeps_nothing() {
        let mut cache = BoundedCache::new(0);
        cache.insert("a", 1);
        assert!(cache.is_empty());
    }
}
