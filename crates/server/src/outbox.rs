//! Deliveries to webhooks: one more reader of the tasks' logs (A2A §4.3.3).
//!
//! The log is the queue. A webhook has a place in its task's log, in the store; what stands after
//! it is to be delivered, in order and one at a time, and the place moves when the receiver has
//! taken an entry. So a process that is killed loses nothing: another one goes on from the places
//! it finds, and tells at most the last entry twice.
//!
//! What is due is asked of the store and not remembered here, so a million webhooks that wait for
//! receivers that are down cost no memory. How many deliveries run at once is bounded in all, for
//! each host and for each caller, and whoever is at its bound is passed over: a receiver that is
//! slow or dead delays nobody else's.
// P-01 to P-03

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use backoff::Schedule;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use lane::Lane;
use pump::{Busy, Queue};
use sender::Sender;

use crate::fault::Fault;
use crate::tasks::Tasks;
use crate::tasks::log::{PushBusy, PushPlace};

pub mod backoff;
mod lane;
pub mod pump;
pub mod sender;
#[cfg(test)]
mod tests;

/// Waiting and chance, from outside, so that tests run in virtual time.
#[derive(Clone)]
pub struct Edge {
    /// Waits.
    pub sleep: Arc<dyn Fn(Duration) -> Sleeping + Send + Sync>,
    /// A number from 0 up to but without 1.
    pub random: Arc<dyn Fn() -> f64 + Send + Sync>,
}

/// A wait.
pub type Sleeping = BoxFuture<'static, ()>;

impl Edge {
    /// The machine's own.
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

impl fmt::Debug for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Edge")
    }
}

/// How many deliveries run at once.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// In all.
    pub all: usize,
    /// To one host.
    pub per_host: usize,
    /// For the webhooks of one caller.
    pub per_owner: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { all: 64, per_host: 4, per_owner: 16 }
    }
}

/// How deliveries are made.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// How long an attempt may take (A2A §4.3.3: 10 to 30 seconds).
    pub timeout: Duration,
    /// When attempts are repeated.
    pub schedule: Schedule,
    /// How many run at once.
    pub limits: Limits,
}

impl Default for Settings {
    fn default() -> Self {
        let (schedule, limits) = (Schedule::default(), Limits::default());
        Self { timeout: Duration::from_secs(15), schedule, limits }
    }
}

/// What has happened since the process began.
#[derive(Debug, Default)]
pub struct Counts {
    delivered: AtomicU64,
    failed: AtomicU64,
    given_up: AtomicU64,
}

impl Counts {
    /// Entries that receivers have taken.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }

    /// Attempts that failed.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    /// Webhooks that were given up.
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
    sender: Arc<dyn Sender>,
    edge: Edge,
    settings: Settings,
    counts: Counts,
    stopping: AtomicBool,
}

impl Outbox {
    /// Delivers by `sender` to the webhooks of an agent's tasks.
    #[must_use]
    pub fn new(
        agent_id: &str,
        tasks: Arc<Tasks>,
        sender: Arc<dyn Sender>,
        edge: Edge,
        settings: Settings,
    ) -> Self {
        Self {
            agent_id: agent_id.to_owned(),
            tasks,
            sender,
            edge,
            settings,
            counts: Counts::default(),
            stopping: AtomicBool::new(false),
        }
    }

    /// What has happened so far.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Delivers until `stop` resolves, and then lets the attempts that are under way end, at most
    /// `grace` long. What is left is delivered by the next process.
    pub async fn run(self: Arc<Self>, stop: impl Future<Output = ()>, grace: Duration) {
        pump::run(self, stop, grace).await;
    }
}

impl Queue for Outbox {
    type Turn = PushPlace;

    fn now(&self) -> Timestamp {
        self.tasks.clock().now()
    }

    fn edge(&self) -> &Edge {
        &self.edge
    }

    fn limits(&self) -> Limits {
        self.settings.limits
    }

    fn due(&self, now: Timestamp, busy: &PushBusy, room: usize) -> Result<Vec<PushPlace>, Fault> {
        self.tasks.kept().push_due(&self.agent_id, now, busy, room)
    }

    fn next_due(&self, now: Timestamp) -> Result<Option<Timestamp>, Fault> {
        self.tasks.kept().push_next_due(&self.agent_id, now)
    }

    fn who(place: &PushPlace) -> Busy {
        Busy { key: place.key, host: place.target.host.clone(), owner: place.owner.clone() }
    }

    async fn work(self: Arc<Self>, place: PushPlace) -> Result<(), Fault> {
        Lane::new(&self, place.key).work().await
    }

    async fn stirred(&self) {
        self.tasks.stirred().await;
    }

    fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }
}
