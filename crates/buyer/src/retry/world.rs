//! The time, the sleep and the draw.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// What the loop cannot know by itself. Tests have one in which time is a number.
pub trait World: Send + Sync {
    /// How much time has passed since some moment; never runs backwards.
    fn now(&self) -> Duration;

    /// Lets this much time pass.
    fn sleep(&self, time: Duration) -> impl Future<Output = ()> + Send;

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

impl World for Machine {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    async fn sleep(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    fn draw(&self) -> f64 {
        self.draws.lock().unwrap_or_else(PoisonError::into_inner).f64()
    }
}
