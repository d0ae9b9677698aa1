//! The time, the sleep and the draw.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::record::FailureRecord;

/// What the loop cannot know by itself. Tests have one in which time is a number.
pub trait RetryClock: Send + Sync {
    /// How much time has passed since some moment; never runs backwards.
    fn now(&self) -> Duration;

    /// Lets this much time pass.
    fn sleep(&self, time: Duration) -> impl Future<Output = ()> + Send;

    /// Does this for at most so long; `None` when the time was up before.
    fn within<F>(&self, time: Duration, work: F) -> impl Future<Output = Option<F::Output>> + Send
    where
        F: Future<Output: Send> + Send;

    /// Comes when the program is to stop, and from then on at once. Nothing stops one unless its
    /// world says so.
    fn stopped(&self) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }

    /// Hears of every request that failed, once: for a log.
    fn failed(&self, _: &FailureRecord) {}
    /// Hears that a request has failed and that another follows after this time.
    fn resting(&self, _: Duration) {}
    /// A number between 0 and 1, each as likely as any other.
    fn draw(&self) -> f64;
}

/// The machine's time, for programs: within a tokio runtime with time.
#[derive(Debug)]
pub struct Machine {
    start: Instant,
    draws: Mutex<fastrand::Rng>,
}

impl Machine {
    /// The world as of now, with draws from this generator.
    #[must_use]
    pub fn new(draws: fastrand::Rng) -> Self {
        Self { start: Instant::now(), draws: Mutex::new(draws) }
    }
}

impl RetryClock for Machine {
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
