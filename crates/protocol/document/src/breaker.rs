//! The one circuit breaker: decides when a dependency that has failed is asked again.
//!
//! It asks no clock. The caller passes the time since a fixed moment, best of a clock that nobody can set.
//! [`stale`](crate::stale) has what is answered meanwhile.

use std::time::Duration;

use crate::backoff::Backoff;

/// State of a dependency: it answers, or it has failed and is left alone for a while.
///
/// Waits that grow are for dependencies that are asked by one caller at a time, because each failure counts.
///
/// ```
/// use std::time::Duration;
/// use tradepost_document::backoff::Backoff;
/// use tradepost_document::breaker::CircuitBreaker;
///
/// let second = Duration::from_secs(1);
/// let mut breaker = CircuitBreaker::new(Backoff::constant(second));
/// assert!(breaker.try_ask(second));
/// breaker.failed(second, "nobody answers");
/// assert_eq!(breaker.refusal(second), Some(&"nobody answers"));
/// assert!(!breaker.try_ask(second));
/// assert!(breaker.try_ask(2 * second));
/// breaker.succeeded();
/// assert_eq!(breaker.wait(2 * second), None);
/// ```
#[derive(Debug, Clone)]
pub struct CircuitBreaker<E = ()> {
    waits: Backoff,
    /// Number of consecutive failures.
    failures: u32,
    /// Last failure.
    error: Option<E>,
    /// Moment of the last failure, or of an attempt that began later; `None` while the dependency answers.
    opened_at: Option<Duration>,
}

impl<E> CircuitBreaker<E> {
    /// Creates the breaker of a dependency that is taken to answer.
    #[must_use]
    pub const fn new(waits: Backoff) -> Self {
        Self { waits, failures: 0, error: None, opened_at: None }
    }

    /// Returns the time until the dependency may be asked again; `None` when it may be asked now.
    #[must_use]
    pub fn wait(&self, now: Duration) -> Option<Duration> {
        let opened_at = self.opened_at?;
        let wait = self.waits.pause(self.failures.saturating_sub(1));
        // A moment far ahead comes of a clock that was set back since, which must prolong no wait.
        if now.abs_diff(opened_at) >= wait {
            return None;
        }
        Some(opened_at.saturating_add(wait).saturating_sub(now).min(wait))
    }

    /// Returns the last failure while the dependency must not be asked.
    #[must_use]
    pub fn refusal(&self, now: Duration) -> Option<&E> {
        self.wait(now).and(self.error.as_ref())
    }

    /// Returns the last failure, until the dependency answers again.
    #[must_use]
    pub const fn error(&self) -> Option<&E> {
        self.error.as_ref()
    }

    /// Returns true when the caller may ask the dependency: each caller while it answers, and after a failure one
    /// for each wait, so that the others do not wait for it.
    pub fn try_ask(&mut self, now: Duration) -> bool {
        if self.opened_at.is_none() {
            return true;
        }
        let is_over = self.wait(now).is_none();
        if is_over {
            // This moment, and not a later one of before the clock was set back.
            self.opened_at = Some(now);
        }
        is_over
    }

    /// Records that an attempt begins: until it ends nobody else may ask for one wait, also when its caller
    /// abandons it.
    pub fn begin(&mut self, now: Duration) {
        // A slow attempt reports late, when others have begun since.
        self.opened_at = Some(self.opened_at.map_or(now, |opened_at| opened_at.max(now)));
    }

    /// Records an answer.
    pub fn succeeded(&mut self) {
        self.failures = 0;
        self.error = None;
        self.opened_at = None;
    }

    /// Records a failure. Returns true for the first one since the last answer, so that an outage can be logged
    /// once.
    pub fn failed(&mut self, now: Duration, error: E) -> bool {
        let is_first = self.failures == 0;
        self.failures = self.failures.saturating_add(1);
        self.error = Some(error);
        self.begin(now);
        is_first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKOFF: Backoff =
        Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(4) };

    /// What happens to a breaker.
    enum Step {
        /// A caller wants to ask, and may or may not.
        Ask(bool),
        Begin,
        Fail,
        Succeed,
    }

    /// A step at a second, and the wait in seconds after it.
    struct Row {
        at: u64,
        step: Step,
        wait: Option<u64>,
    }

    const fn row(at: u64, step: Step, wait: Option<u64>) -> Row {
        Row { at, step, wait }
    }

    #[test]
    fn each_step_leads_to_the_wait_of_its_row() {
        let table = [
            row(0, Step::Ask(true), None),
            row(0, Step::Ask(true), None),
            row(0, Step::Fail, Some(1)),
            row(0, Step::Ask(false), Some(1)),
            // One asks, and the others wait for what becomes of it.
            row(1, Step::Ask(true), Some(1)),
            row(1, Step::Ask(false), Some(1)),
            row(1, Step::Fail, Some(2)),
            row(3, Step::Ask(true), Some(2)),
            row(3, Step::Fail, Some(4)),
            row(7, Step::Ask(true), Some(4)),
            row(7, Step::Fail, Some(4)),
            row(10, Step::Ask(false), Some(1)),
            row(10, Step::Succeed, None),
            row(10, Step::Ask(true), None),
            // An attempt that is abandoned holds for one wait.
            row(10, Step::Begin, Some(1)),
            row(10, Step::Ask(false), Some(1)),
            row(11, Step::Ask(true), Some(1)),
            row(11, Step::Fail, Some(1)),
        ];
        let mut breaker = CircuitBreaker::<()>::new(BACKOFF);
        for (number, Row { at, step, wait }) in table.into_iter().enumerate() {
            let now = Duration::from_secs(at);
            match step {
                Step::Ask(expected) => assert_eq!(breaker.try_ask(now), expected, "row {number}"),
                Step::Begin => breaker.begin(now),
                Step::Fail => {
                    breaker.failed(now, ());
                }
                Step::Succeed => breaker.succeeded(),
            }
            assert_eq!(breaker.wait(now), wait.map(Duration::from_secs), "row {number}");
        }
    }

    #[test]
    fn an_outage_is_new_once_and_its_error_stays() {
        let second = Duration::from_secs(1);
        let mut breaker = CircuitBreaker::<&str>::new(Backoff::constant(second));
        breaker.begin(second);
        assert_eq!(breaker.refusal(second), None);
        assert!(breaker.failed(second, "one"));
        assert!(!breaker.failed(second, "two"));
        assert_eq!(breaker.refusal(second), Some(&"two"));
        assert_eq!(breaker.refusal(2 * second), None);
        assert_eq!(breaker.error(), Some(&"two"), "until it answers");
        breaker.succeeded();
        assert_eq!(breaker.error(), None);
        assert!(breaker.failed(second, "three"));
    }

    #[test]
    fn late_reports_and_clocks_set_back_prolong_no_wait() {
        let second = Duration::from_secs(1);
        let mut breaker = CircuitBreaker::<()>::new(Backoff::constant(4 * second));
        breaker.failed(10 * second, ());
        breaker.failed(2 * second, ());
        assert_eq!(breaker.wait(13 * second), Some(second), "the later one counts");
        assert_eq!(breaker.wait(14 * second), None);
        assert_eq!(breaker.wait(9 * second), Some(4 * second));
        assert_eq!(breaker.wait(second), None);
    }

    #[test]
    fn after_the_clock_was_set_back_one_caller_asks_per_wait() {
        let mut breaker = CircuitBreaker::new(BACKOFF);
        breaker.failed(Duration::from_secs(10), ());
        let now = Duration::from_secs(1);
        assert!(breaker.try_ask(now));
        assert!(!breaker.try_ask(now));
    }
}
