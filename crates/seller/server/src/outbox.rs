//! Deliveries to webhooks, which follow the event logs of tasks (A2A 1.0 §4.3.3).
//!
//! The event log is the queue. The store has each webhook's position in its task's log; the entries
//! after it are delivered in order and one at a time, and the position moves when the receiver has
//! accepted an entry. A killed process therefore loses nothing: another one continues from the
//! stored positions, and repeats at most the last entry.
//!
//! Due deliveries are read from the store and not kept in memory, so a million webhooks with
//! unreachable receivers cost no memory. The number of concurrent deliveries is limited in total,
//! per host and per caller, and a webhook at a limit is skipped, so a slow or dead receiver delays
//! no other.
// Every webhook gets its credentials, at least one attempt, and retries with backoff (A2A 1.0
// §4.3.3, §13.2; P-01 to P-03).

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use backoff::RetrySchedule;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use pump::{ActiveDelivery, DeliveryQueue};
use sender::NotificationSender;
use webhook_queue::WebhookSequence;

use crate::fault::InternalError;
use crate::tasks::Tasks;
use crate::tasks::log::{BlockedPushes, PushPosition};

pub mod backoff;
pub mod pump;
pub mod sender;
#[cfg(test)]
mod tests;
mod webhook_queue;

/// Sleep and random numbers as dependencies, so that tests run in virtual time.
#[derive(Clone)]
pub struct ClockAndRandom {
    /// Sleeps.
    pub sleep: Arc<dyn Fn(Duration) -> SleepFuture + Send + Sync>,
    /// Returns a random number from 0 up to, not including, 1.
    pub random: Arc<dyn Fn() -> f64 + Send + Sync>,
}

/// Future of a sleep.
pub type SleepFuture = BoxFuture<'static, ()>;

impl ClockAndRandom {
    /// Creates the real dependencies.
    #[must_use]
    pub fn system() -> Self {
        let (seed, _) = uuid::Uuid::new_v4().as_u64_pair();
        let random = Mutex::new(fastrand::Rng::with_seed(seed));
        Self {
            sleep: Arc::new(|duration| Box::pin(tokio::time::sleep(duration))),
            random: Arc::new(move || random.lock().unwrap_or_else(PoisonError::into_inner).f64()),
        }
    }
}

impl fmt::Debug for ClockAndRandom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Edge")
    }
}

/// Maximum numbers of concurrent deliveries.
#[derive(Debug, Clone, Copy)]
pub struct OutboxLimits {
    /// In total.
    pub all: usize,
    /// Per host.
    pub per_host: usize,
    /// Per caller that owns the webhooks.
    pub per_owner: usize,
}

impl Default for OutboxLimits {
    fn default() -> Self {
        Self { all: 64, per_host: 4, per_owner: 16 }
    }
}

/// Settings of deliveries.
#[derive(Debug, Clone, Copy)]
pub struct OutboxSettings {
    /// Maximum time of an attempt (A2A 1.0 §4.3.3: 10 to 30 seconds).
    pub timeout: Duration,
    /// Schedule of retries.
    pub schedule: RetrySchedule,
    /// Limits on concurrent deliveries.
    pub limits: OutboxLimits,
}

impl Default for OutboxSettings {
    fn default() -> Self {
        let schedule = RetrySchedule::default();
        let limits = OutboxLimits::default();
        Self { timeout: Duration::from_secs(15), schedule, limits }
    }
}

/// Counts since the process began.
#[derive(Debug, Default)]
pub struct OutboxCounts {
    delivered: AtomicU64,
    failed: AtomicU64,
    given_up: AtomicU64,
}

impl OutboxCounts {
    /// Returns the number of accepted entries.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }

    /// Returns the number of failed attempts.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    /// Returns the number of webhooks that were given up.
    #[must_use]
    pub fn given_up(&self) -> u64 {
        self.given_up.load(Ordering::Relaxed)
    }
}

/// Delivers to the webhooks of an agent.
#[derive(Debug)]
pub struct Outbox {
    agent_id: String,
    tasks: Arc<Tasks>,
    sender: Arc<dyn NotificationSender>,
    edge: ClockAndRandom,
    settings: OutboxSettings,
    counts: OutboxCounts,
    stopping: AtomicBool,
}

impl Outbox {
    /// Creates an outbox that delivers through `sender` to the webhooks of an agent's tasks.
    #[must_use]
    pub fn new(
        agent_id: &str,
        tasks: Arc<Tasks>,
        sender: Arc<dyn NotificationSender>,
        edge: ClockAndRandom,
        settings: OutboxSettings,
    ) -> Self {
        Self {
            agent_id: agent_id.to_owned(),
            tasks,
            sender,
            edge,
            settings,
            counts: OutboxCounts::default(),
            stopping: AtomicBool::new(false),
        }
    }

    /// Returns the counts.
    #[must_use]
    pub fn counts(&self) -> &OutboxCounts {
        &self.counts
    }

    /// Delivers until `stop` resolves, and then waits for attempts in progress, at most for
    /// `grace`. The next process delivers the rest.
    pub async fn run(self: Arc<Self>, stop: impl Future<Output = ()>, grace: Duration) {
        pump::run(self, stop, grace).await;
    }
}

impl DeliveryQueue for Outbox {
    type Turn = PushPosition;

    fn now(&self) -> Timestamp {
        self.tasks.clock().now()
    }

    fn edge(&self) -> &ClockAndRandom {
        &self.edge
    }

    fn limits(&self) -> OutboxLimits {
        self.settings.limits
    }

    fn due(
        &self,
        now: Timestamp,
        busy: &BlockedPushes,
        room: usize,
    ) -> Result<Vec<PushPosition>, InternalError> {
        self.tasks.kept().push_due(&self.agent_id, now, busy, room)
    }

    fn next_due(&self, now: Timestamp) -> Result<Option<Timestamp>, InternalError> {
        self.tasks.kept().push_next_due(&self.agent_id, now)
    }

    fn who(place: &PushPosition) -> ActiveDelivery {
        ActiveDelivery {
            key: place.key,
            host: place.target.host.clone(),
            owner: place.owner.clone(),
        }
    }

    async fn work(self: Arc<Self>, place: PushPosition) -> Result<(), InternalError> {
        WebhookSequence::new(&self, place.key).work().await
    }

    async fn woken(&self) {
        self.tasks.woken().await;
    }

    fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }
}
