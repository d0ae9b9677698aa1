//! The time, from outside: the server asks its [`Clock`], and tests turn it by hand.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::{SignedDuration, Timestamp};

/// Tells the time.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// The machine's clock.
    #[must_use]
    pub fn system() -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "the one place that reads the clock"
        )]
        Self(Arc::new(Timestamp::now))
    }

    /// A clock that stands still until its hand is moved.
    #[must_use]
    pub fn manual(start: Timestamp) -> (Self, Hand) {
        let milliseconds = Arc::new(AtomicI64::new(start.as_millisecond()));
        let hand = Hand(Arc::clone(&milliseconds));
        let read = move || {
            let now = milliseconds.load(Ordering::SeqCst);
            Timestamp::from_millisecond(now).unwrap_or(Timestamp::MAX)
        };
        (Self(Arc::new(read)), hand)
    }

    /// The present moment.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// Moves a manual clock.
#[derive(Debug, Clone)]
pub struct Hand(Arc<AtomicI64>);

impl Hand {
    /// Moves the clock forward.
    pub fn advance(&self, by: SignedDuration) {
        let milliseconds = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        self.0.fetch_add(milliseconds, Ordering::SeqCst);
    }
}
