//! The one way in which earlier answers of a dependency serve while it is unavailable: [`StaleValue`] for a
//! dependency with one answer, [`StaleCache`] for one with an answer for each key.
//!
//! Both ask no clock, and a [`CircuitBreaker`] decides when the dependency is asked again.

use std::borrow::Borrow;
use std::fmt;
use std::hash::Hash;
use std::time::Duration;

use crate::backoff::Backoff;
use crate::breaker::CircuitBreaker;
use crate::cache::BoundedCache;

/// How long an answer serves, and when it is asked for again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StaleTerms {
    /// Time for which an answer is fresh, so that the dependency need not be asked.
    pub fresh_for: Duration,
    /// Time for which an answer serves while the dependency fails.
    pub usable_for: Duration,
    /// Minimum time between an answer and the next question, where callers decide when something is lacking.
    pub pace: Duration,
    /// Waits after failures.
    pub waits: Backoff,
}

/// Answer with the moment for which it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaleEntry<V> {
    /// Answer.
    pub value: V,
    /// Moment for which it holds.
    pub read_at: Duration,
}

/// Last answer of a dependency.
///
/// ```
/// use std::time::Duration;
/// use tradepost_document::backoff::Backoff;
/// use tradepost_document::stale::{StaleTerms, StaleValue};
///
/// let second = Duration::from_secs(1);
/// let mut keys = StaleValue::new(StaleTerms {
///     fresh_for: 60 * second,
///     usable_for: 600 * second,
///     pace: Duration::ZERO,
///     waits: Backoff::constant(second),
/// });
/// keys.succeeded(second, "keys");
/// assert_eq!(keys.fresh(30 * second), Some(&"keys"));
/// assert_eq!(keys.fresh(61 * second), None);
/// keys.failed(61 * second, "nobody answers");
/// assert_eq!(keys.usable(61 * second), Some(&"keys"));
/// assert!(!keys.may_ask(61 * second));
/// ```
#[derive(Debug, Clone)]
pub struct StaleValue<T, E = ()> {
    terms: StaleTerms,
    known: Option<StaleEntry<T>>,
    breaker: CircuitBreaker<E>,
}

impl<T, E> StaleValue<T, E> {
    /// Creates the place for the answer of a dependency that was not asked yet.
    #[must_use]
    pub const fn new(terms: StaleTerms) -> Self {
        Self { terms, known: None, breaker: CircuitBreaker::new(terms.waits) }
    }

    /// Returns the last answer, however old it is.
    #[must_use]
    pub fn latest(&self) -> Option<&T> {
        self.known.as_ref().map(|known| &known.value)
    }

    /// Returns the moment for which the last answer holds.
    #[must_use]
    pub fn read_at(&self) -> Option<Duration> {
        self.known.as_ref().map(|known| known.read_at)
    }

    /// Returns the age of the last answer.
    #[must_use]
    pub fn age(&self, now: Duration) -> Option<Duration> {
        self.read_at().map(|read_at| now.saturating_sub(read_at))
    }

    /// Returns the last answer while it is fresh.
    #[must_use]
    pub fn fresh(&self, now: Duration) -> Option<&T> {
        self.latest().filter(|_| self.age(now).is_some_and(|age| age < self.terms.fresh_for))
    }

    /// Returns the last answer while it serves in place of a new one.
    #[must_use]
    pub fn usable(&self, now: Duration) -> Option<&T> {
        self.latest().filter(|_| self.age(now).is_some_and(|age| age < self.terms.usable_for))
    }

    /// Returns true when the dependency may be asked: it has neither failed nor answered just now. A fresh answer
    /// is no obstacle, because it may lack what the caller needs.
    #[must_use]
    pub fn may_ask(&self, now: Duration) -> bool {
        let is_paced = self.age(now).is_some_and(|age| age < self.terms.pace);
        !is_paced && self.breaker.wait(now).is_none()
    }

    /// Returns the breaker, which has the last failure and the wait after it.
    #[must_use]
    pub const fn breaker(&self) -> &CircuitBreaker<E> {
        &self.breaker
    }

    /// Records that an attempt begins, as [`CircuitBreaker::begin`].
    pub fn begin(&mut self, now: Duration) {
        self.breaker.begin(now);
    }

    /// Stores an answer that holds for this moment.
    pub fn succeeded(&mut self, read_at: Duration, value: T) {
        self.known = Some(StaleEntry { value, read_at });
        self.breaker.succeeded();
    }

    /// Records a failure, and drops an answer that is older than it may serve. Returns true for the first failure
    /// since the last answer.
    pub fn failed(&mut self, now: Duration, error: E) -> bool {
        if self.age(now).is_some_and(|age| age > self.terms.usable_for) {
            self.known = None;
        }
        self.breaker.failed(now, error)
    }
}

/// Answers of a dependency, each with its key, in a cache with a bound. While the dependency answers it is asked
/// each time.
pub struct StaleCache<K, V> {
    entries: BoundedCache<K, StaleEntry<V>>,
    usable_for: Duration,
    breaker: CircuitBreaker,
}

impl<K: Hash + Eq, V> StaleCache<K, V> {
    /// Creates an empty cache for answers that weigh at most `most` together, each of which serves for
    /// `usable_for`.
    #[must_use]
    pub fn new(most: usize, usable_for: Duration, waits: Backoff) -> Self {
        let entries = BoundedCache::new(most);
        Self { entries, usable_for, breaker: CircuitBreaker::new(waits) }
    }

    /// Returns the breaker, which decides who asks the dependency.
    pub const fn breaker(&mut self) -> &mut CircuitBreaker {
        &mut self.breaker
    }

    /// Returns an answer that still serves, and marks it as used.
    pub fn usable<Q: Hash + Eq + ?Sized>(
        &mut self,
        key: &Q,
        now: Duration,
    ) -> Option<&StaleEntry<V>>
    where
        K: Borrow<Q>,
    {
        let usable_for = self.usable_for;
        let entry = self.entries.get(key)?;
        // An answer from far ahead was read before the clock was set back, and must not outlive its time.
        let is_usable = now.abs_diff(entry.read_at) < usable_for;
        is_usable.then_some(&*entry)
    }

    /// Stores an answer that weighs one.
    pub fn insert(&mut self, key: K, value: V, read_at: Duration) {
        self.insert_weighed(key, value, read_at, 1);
    }

    /// Stores an answer of this weight, as [`BoundedCache::insert_weighed`].
    pub fn insert_weighed(&mut self, key: K, value: V, read_at: Duration, weight: usize) {
        self.entries.insert_weighed(key, StaleEntry { value, read_at }, weight);
    }

    /// Removes an answer.
    pub fn remove<Q: Hash + Eq + ?Sized>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
    {
        self.entries.remove(key);
    }

    /// Returns the answers to be changed, the one used longest ago first.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&K, &mut V)> {
        self.entries.iter_mut().map(|(key, entry)| (key, &mut entry.value))
    }

    /// Returns the number of answers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true when there are no answers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the weight of all answers.
    #[must_use]
    pub const fn weight(&self) -> usize {
        self.entries.weight()
    }
}

impl<K, V> fmt::Debug for StaleCache<K, V> {
    /// Writes no answers, because they are those of callers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entries, usable_for, breaker } = self;
        f.debug_struct("StaleCache")
            .field("entries", entries)
            .field("usable_for", usable_for)
            .field("breaker", breaker)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    const TERMS: StaleTerms = StaleTerms {
        fresh_for: seconds(10),
        usable_for: seconds(60),
        pace: seconds(2),
        waits: Backoff::constant(seconds(5)),
    };

    /// What happens to a value.
    enum Step {
        Wait,
        Begin,
        Fail,
        Succeed,
    }

    /// A step at a second, and what is true after it.
    struct Row {
        at: u64,
        step: Step,
        expected: Expected,
    }

    #[derive(Debug, PartialEq, Eq)]
    struct Expected {
        /// The best name of the answer: `fresh`, `usable`, `latest` or `none`.
        answer: &'static str,
        may_ask: bool,
    }

    const fn row(at: u64, step: Step, answer: &'static str, may_ask: bool) -> Row {
        Row { at, step, expected: Expected { answer, may_ask } }
    }

    fn found(value: &StaleValue<()>, now: Duration) -> Expected {
        let answer = if value.fresh(now).is_some() {
            "fresh"
        } else if value.usable(now).is_some() {
            "usable"
        } else if value.latest().is_some() {
            "latest"
        } else {
            "none"
        };
        Expected { answer, may_ask: value.may_ask(now) }
    }

    #[test]
    fn each_step_leads_to_the_answer_of_its_row() {
        let table = [
            row(0, Step::Wait, "none", true),
            // An attempt that is abandoned counts as a failed one.
            row(0, Step::Begin, "none", false),
            row(5, Step::Wait, "none", true),
            row(5, Step::Fail, "none", false),
            row(10, Step::Succeed, "fresh", false),
            row(12, Step::Wait, "fresh", true),
            row(19, Step::Wait, "fresh", true),
            row(20, Step::Wait, "usable", true),
            row(20, Step::Fail, "usable", false),
            row(25, Step::Fail, "usable", false),
            row(69, Step::Wait, "usable", true),
            row(70, Step::Fail, "latest", false),
            row(75, Step::Wait, "latest", true),
            row(75, Step::Fail, "none", false),
            row(80, Step::Succeed, "fresh", false),
        ];
        let mut value = StaleValue::<()>::new(TERMS);
        for (number, Row { at, step, expected }) in table.into_iter().enumerate() {
            let now = seconds(at);
            match step {
                Step::Wait => {}
                Step::Begin => value.begin(now),
                Step::Fail => {
                    value.failed(now, ());
                }
                Step::Succeed => value.succeeded(now, ()),
            }
            assert_eq!(found(&value, now), expected, "row {number}");
        }
    }

    #[test]
    fn answers_of_a_cache_serve_for_their_time() {
        let mut cache = StaleCache::new(2, seconds(60), Backoff::constant(seconds(1)));
        cache.insert("a", 1, seconds(100));
        for (at, is_usable) in [(39, false), (41, true), (100, true), (159, true), (160, false)] {
            assert_eq!(cache.usable("a", seconds(at)).is_some(), is_usable, "{at}");
        }
        cache.insert("a", 2, seconds(160));
        let renewed = StaleEntry { value: 2, read_at: seconds(160) };
        assert_eq!(cache.usable("a", seconds(160)), Some(&renewed));
        cache.iter_mut().for_each(|(_, value)| *value += 1);
        assert_eq!(cache.usable("a", seconds(160)).map(|entry| entry.value), Some(3));
        cache.insert_weighed("b", 4, seconds(160), 2);
        assert_eq!((cache.len(), cache.weight()), (1, 2), "it is bounded");
        cache.remove("b");
        assert!(cache.is_empty());
    }
}
