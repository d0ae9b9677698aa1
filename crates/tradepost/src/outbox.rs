//! Deliveries to webhooks: one more reader of the tasks' logs (A2A §4.3.3, P-01 to P-03).
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

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use jiff::SignedDuration;
use tokio::task::{Id, JoinSet};

use crate::fault::Fault;
use crate::store::{PushBusy, PushPlace};
use crate::tasks::Tasks;
use backoff::Schedule;
use lane::Lane;
use sender::Sender;

pub mod backoff;
mod lane;
pub mod sender;
#[cfg(test)]
mod tests;

/// How long to leave a webhook alone, or everything, after a fault of ours.
const FAULT_PAUSE: Duration = Duration::from_secs(10);

/// Waiting and chance, from outside, so that tests run in virtual time.
#[derive(Clone)]
pub struct Edge {
    /// Waits.
    pub sleep: Arc<dyn Fn(Duration) -> Sleeping + Send + Sync>,
    /// A number from 0 up to but without 1.
    pub random: Arc<dyn Fn() -> f64 + Send + Sync>,
}

/// A wait.
pub type Sleeping = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Edge {
    /// The machine's own.
    #[must_use]
    pub fn system() -> Self {
        let (seed, _) = uuid::Uuid::new_v4().as_u64_pair();
        let random = std::sync::Mutex::new(fastrand::Rng::with_seed(seed));
        Self {
            sleep: Arc::new(|duration| Box::pin(tokio::time::sleep(duration))),
            random: Arc::new(move || {
                random.lock().unwrap_or_else(std::sync::PoisonError::into_inner).f64()
            }),
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
    schedule: Schedule,
    limits: Limits,
    counts: Counts,
    stopping: AtomicBool,
}

/// Who is being delivered to.
struct Busy {
    key: i64,
    host: String,
    owner: String,
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
            schedule: settings.schedule,
            limits: settings.limits,
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
        let mut running = JoinSet::new();
        let mut busy = HashMap::new();
        tokio::pin!(stop);
        loop {
            let pause = match self.fill(&mut running, &mut busy).await {
                Ok(pause) => pause,
                Err(fault) => {
                    tracing::error!(cause = %fault.chain(), "due webhooks could not be read");
                    Some(FAULT_PAUSE)
                }
            };
            let due = async {
                match pause {
                    Some(pause) => (self.edge.sleep)(pause).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = &mut stop => break,
                Some(ended) = running.join_next_with_id() => {
                    busy.remove(&ended.map_or_else(|error| error.id(), |(id, ())| id));
                }
                () = self.tasks.stirred() => {}
                () = due => {}
            }
        }
        self.stopping.store(true, Ordering::SeqCst);
        let rest = async { while running.join_next().await.is_some() {} };
        if tokio::time::timeout(grace, rest).await.is_err() {
            tracing::warn!("some deliveries were still under way when the grace period ended");
        }
    }

    /// Starts what is due, as far as there is room. Returns how long until more becomes due.
    async fn fill(
        self: &Arc<Self>,
        running: &mut JoinSet<()>,
        busy: &mut HashMap<Id, Busy>,
    ) -> Result<Option<Duration>, Fault> {
        let now = self.tasks.clock().now();
        loop {
            let room = self.limits.all.saturating_sub(running.len());
            if room == 0 {
                // Whoever ends makes room, and is waited for.
                return Ok(None);
            }
            let passed_over = self.passed_over(busy);
            let due = self
                .read(move |outbox| {
                    let store = outbox.tasks.store();
                    store.push_due(&outbox.agent_id, now, &passed_over, room)
                })
                .await?;
            let (found, mut started) = (due.len(), 0);
            for place in due {
                let count = |is: &dyn Fn(&Busy) -> bool| busy.values().filter(|b| is(b)).count();
                if count(&|b| b.host == place.target.host) < self.limits.per_host
                    && count(&|b| b.owner == place.owner) < self.limits.per_owner
                {
                    started += 1;
                    self.start(place, running, busy);
                }
            }
            // Those that were found and not started stood before others, who are looked for now.
            if started == 0 || (started == found && found < room) {
                break;
            }
        }
        let next = self
            .read(move |outbox| outbox.tasks.store().push_next_due(&outbox.agent_id, now))
            .await?;
        let until = |at: jiff::Timestamp| at.duration_since(now).max(SignedDuration::ZERO);
        Ok(next.map(|at| Duration::try_from(until(at)).unwrap_or_default()))
    }

    fn start(
        self: &Arc<Self>,
        place: PushPlace,
        running: &mut JoinSet<()>,
        busy: &mut HashMap<Id, Busy>,
    ) {
        let (outbox, key) = (Arc::clone(self), place.key);
        let handle = running.spawn(async move {
            let lane = Lane::new(&outbox, key);
            let worked = AssertUnwindSafe(lane.work()).catch_unwind().await;
            let panicked = |_| Err(Fault::new("delivering to a webhook", "it panicked"));
            if let Err(fault) = worked.unwrap_or_else(panicked) {
                tracing::error!(webhook = key, cause = %fault.chain(), "a delivery broke");
                // It is still due, and would break again at once.
                (outbox.edge.sleep)(FAULT_PAUSE).await;
            }
        });
        let who = Busy { key, host: place.target.host, owner: place.owner };
        busy.insert(handle.id(), who);
    }

    /// Who has to wait: whoever is being delivered to, and whoever is at a bound.
    fn passed_over(&self, busy: &HashMap<Id, Busy>) -> PushBusy {
        let at_bound = |name: fn(&Busy) -> &String, bound: usize| {
            let mut counts: HashMap<&String, usize> = HashMap::new();
            for who in busy.values() {
                *counts.entry(name(who)).or_default() += 1;
            }
            let full = counts.into_iter().filter(|(_, count)| *count >= bound);
            full.map(|(name, _)| name.clone()).collect()
        };
        PushBusy {
            keys: busy.values().map(|who| who.key).collect(),
            hosts: at_bound(|who| &who.host, self.limits.per_host),
            owners: at_bound(|who| &who.owner, self.limits.per_owner),
        }
    }

    /// Reads the store where nobody else has to wait for it.
    async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        job: impl FnOnce(&Self) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let outbox = Arc::clone(self);
        let read = tokio::task::spawn_blocking(move || job(&outbox));
        read.await.map_err(Fault::on("reading webhooks"))?
    }
}
