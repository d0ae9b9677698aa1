//! Clock of the recovery loop: time, sleep and random draw.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::record::FailureRecord;

/// Time, sleep and random draw of the loop. Tests use virtual time.
pub trait RetryClock: Send + Sync {
    /// Returns the time since a fixed moment; never runs backwards.
    fn now(&self) -> Duration;

    /// Waits for this time.
    fn sleep(&self, time: Duration) -> impl Future<Output = ()> + Send;

    /// Runs `work` for at most this time; `None` when it did not end in time.
    fn within<F>(&self, time: Duration, work: F) -> impl Future<Output = Option<F::Output>> + Send
    where
        F: Future<Output: Send> + Send;

    /// Completes when the program is to stop, and immediately from then on. The default never completes.
    fn stopped(&self) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }

    /// Called once for every failed request: for a log.
    fn failed(&self, _: &FailureRecord) {}
    /// Called when a request has failed and another follows after this time.
    fn waiting(&self, _: Duration) {}
    /// Returns a uniformly distributed number between 0 and 1.
    fn draw(&self) -> f64;
}

/// Clock of the machine, for programs; needs a tokio runtime with time enabled.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
    draws: Mutex<fastrand::Rng>,
}

impl SystemClock {
    /// Creates a clock with draws from this generator.
    #[must_use]
    pub fn new(draws: fastrand::Rng) -> Self {
        Self { start: Instant::now(), draws: Mutex::new(draws) }
    }
}

impl RetryClock for SystemClock {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    async fn sleep(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    async fn within<F>(&self, time: Duration, work: F) -> Option<F::Output>
    where
        F: Future<Output: Send> + Send,
    {
        tokio::time::timeout(time, work).await.ok()
    }

    fn draw(&self) -> f64 {
        self.draws.lock().unwrap_or_else(PoisonError::into_inner).f64()
    }
}
