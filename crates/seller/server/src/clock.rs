//! The clock of a server, which tests can replace.
//!
//! Timestamps that are stored, sent or compared with those of others come from [`Clock::now`].
//! Waiting time is measured with [`Clock::elapsed`], which no change of the machine's clock
//! affects.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use pin_project_lite::pin_project;
use tokio::time::Sleep;

/// A clock.
#[derive(Clone)]
pub struct Clock {
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    elapsed: Arc<dyn Fn() -> Duration + Send + Sync>,
}

impl Clock {
    /// Creates the machine's clock.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clocks")]
    pub fn system() -> Self {
        let start = std::time::Instant::now();
        Self { now: Arc::new(Timestamp::now), elapsed: Arc::new(move || start.elapsed()) }
    }

    /// Creates a clock that stands still until it is moved.
    #[must_use]
    pub fn manual(start: Timestamp) -> (Self, ManualClock) {
        let manual_clock = ManualClock {
            milliseconds: Arc::new(AtomicI64::new(start.as_millisecond())),
            elapsed: Arc::default(),
        };
        let calendar = manual_clock.clone();
        let stopwatch = manual_clock.clone();
        let now = move || {
            let now = calendar.milliseconds.load(Ordering::SeqCst);
            Timestamp::from_millisecond(now).unwrap_or(Timestamp::MAX)
        };
        let elapsed = move || {
            let elapsed = stopwatch.elapsed.load(Ordering::SeqCst);
            Duration::from_millis(u64::try_from(elapsed).unwrap_or_default())
        };
        (Self { now: Arc::new(now), elapsed: Arc::new(elapsed) }, manual_clock)
    }

    /// Returns the current time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        (self.now)()
    }

    /// Returns the time since a fixed moment of the process. It is monotonic.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        (self.elapsed)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// Error of work that took longer than its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the time limit was exceeded")]
pub struct TimeLimitExceeded;

pin_project! {
    /// Work with a time limit, by [`within`].
    #[derive(Debug)]
    pub struct LimitedWork<F> {
        #[pin]
        work: F,
        #[pin]
        timer: Option<Sleep>,
        limit: Duration,
    }
}

/// Runs work with a time limit. Work that completes at its first poll, as most requests do, creates
/// no timer.
///
/// # Errors
/// When the limit is exceeded.
pub fn within<F: Future>(limit: Duration, work: F) -> LimitedWork<F> {
    LimitedWork { work, timer: None, limit }
}

impl<F: Future> Future for LimitedWork<F> {
    type Output = Result<F::Output, TimeLimitExceeded>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let Poll::Ready(done) = this.work.poll(context) {
            return Poll::Ready(Ok(done));
        }
        if this.timer.is_none() {
            this.timer.set(Some(tokio::time::sleep(*this.limit)));
        }
        match this.timer.as_pin_mut() {
            Some(timer) => timer.poll(context).map(|()| Err(TimeLimitExceeded)),
            None => Poll::Pending,
        }
    }
}

/// Moves a manual clock.
#[derive(Debug, Clone)]
pub struct ManualClock {
    milliseconds: Arc<AtomicI64>,
    elapsed: Arc<AtomicI64>,
}

impl ManualClock {
    /// Advances both the timestamp and the elapsed time.
    pub fn advance(&self, by: SignedDuration) {
        let milliseconds = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        self.elapsed.fetch_add(milliseconds, Ordering::SeqCst);
        self.set(by);
    }

    /// Changes the timestamp without elapsed time.
    pub fn set(&self, by: SignedDuration) {
        let milliseconds = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        self.milliseconds.fetch_add(milliseconds, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn work_has_its_time_and_no_more() {
        let second = Duration::from_secs(1);
        assert_eq!(within(second, async { 1 }).await.ok(), Some(1));
        let slow = |wait| async move {
            tokio::time::sleep(wait).await;
            2
        };
        assert_eq!(within(second, slow(second / 2)).await.ok(), Some(2));
        assert!(within(second, slow(second * 2)).await.is_err());
        assert!(within(second, pending::<()>()).await.is_err());
    }
}
