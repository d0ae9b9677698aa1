//! Concurrent deliveries: takes due deliveries from a queue within the limits in total, per host
//! and per owner. The queue defines what a delivery is and where it is stored; only deliveries in
//! progress are kept here.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use jiff::{SignedDuration, Timestamp};
use tokio::task::{Id, JoinSet};

use super::{ClockAndRandom, OutboxLimits};
use crate::fault::InternalError;
use crate::tasks::log::BlockedPushes;

/// Pause after an internal error.
const FAULT_PAUSE: Duration = Duration::from_secs(10);

/// A delivery in progress.
pub struct ActiveDelivery {
    /// Key that prevents a second delivery.
    pub key: i64,
    /// Host of the receiver.
    pub host: String,
    /// Owner of the delivery.
    pub owner: String,
}

/// A queue of deliveries.
pub trait DeliveryQueue: fmt::Debug + Send + Sync + Sized + 'static {
    /// A due delivery.
    type Turn: Send + 'static;

    /// Returns the current time.
    fn now(&self) -> Timestamp;

    /// Returns sleep and random numbers.
    fn edge(&self) -> &ClockAndRandom;

    /// Returns the limits on concurrent deliveries.
    fn limits(&self) -> OutboxLimits;

    /// Returns due deliveries without those that have to wait; at most `room`. May block on a disk.
    fn due(
        &self,
        now: Timestamp,
        busy: &BlockedPushes,
        room: usize,
    ) -> Result<Vec<Self::Turn>, InternalError>;

    /// Returns the time at which the next delivery becomes due. May block on a disk.
    fn next_due(&self, now: Timestamp) -> Result<Option<Timestamp>, InternalError>;

    /// Returns key, host and owner of a delivery.
    fn who(turn: &Self::Turn) -> ActiveDelivery;

    /// Delivers.
    fn work(
        self: Arc<Self>,
        turn: Self::Turn,
    ) -> impl Future<Output = Result<(), InternalError>> + Send;

    /// Resolves when a delivery may have become due.
    fn woken(&self) -> impl Future<Output = ()> + Send;

    /// Prevents further deliveries from starting.
    fn stop(&self);
}

/// Delivers until `stop` resolves, and then waits for deliveries in progress, at most for `grace`.
pub async fn run<Q: DeliveryQueue>(queue: Arc<Q>, stop: impl Future<Output = ()>, grace: Duration) {
    let mut running = JoinSet::new();
    let mut busy = HashMap::new();
    tokio::pin!(stop);
    loop {
        let pause = match fill(&queue, &mut running, &mut busy).await {
            Ok(pause) => pause,
            Err(fault) => {
                tracing::error!(cause = %fault.chain(), "due deliveries could not be read");
                Some(FAULT_PAUSE)
            }
        };
        let due = async {
            match pause {
                Some(pause) => (queue.edge().sleep)(pause).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = &mut stop => break,
            Some(ended) = running.join_next_with_id() => {
                busy.remove(&ended.map_or_else(|error| error.id(), |(id, ())| id));
            }
            () = queue.woken() => {}
            () = due => {}
        }
    }
    queue.stop();
    let rest = async { while running.join_next().await.is_some() {} };
    // Deliveries still in progress are dropped; their positions are unchanged, for the next
    // process.
    if tokio::time::timeout(grace, rest).await.is_err() {
        tracing::warn!("some deliveries were still under way when the grace period ended");
    }
}

/// Starts due deliveries within the limits. Returns the time until more become due.
async fn fill<Q: DeliveryQueue>(
    queue: &Arc<Q>,
    running: &mut JoinSet<()>,
    busy: &mut HashMap<Id, ActiveDelivery>,
) -> Result<Option<Duration>, InternalError> {
    let now = queue.now();
    let limits = queue.limits();
    loop {
        let room = limits.all.saturating_sub(running.len());
        if room == 0 {
            // A delivery that ends makes room.
            return Ok(None);
        }
        let blocked = blocked(limits, busy);
        let due = read(queue, move |queue| queue.due(now, &blocked, room)).await?;
        let found = due.len();
        let mut started = 0;
        for turn in due {
            let delivery = Q::who(&turn);
            // The queue knows what was in progress when it was asked, and not what else it
            // returned.
            let count =
                |is: &dyn Fn(&ActiveDelivery) -> bool| busy.values().filter(|b| is(b)).count();
            if count(&|b| b.host == delivery.host) < limits.per_host
                && count(&|b| b.owner == delivery.owner) < limits.per_owner
            {
                started += 1;
                start(queue, turn, delivery, running, busy);
            }
        }
        // Deliveries that were found and not started displaced others, which are looked for now.
        if started == 0 || (started == found && found < room) {
            break;
        }
    }
    let next = read(queue, move |queue| queue.next_due(now)).await?;
    let until = |at: Timestamp| at.duration_since(now).max(SignedDuration::ZERO);
    Ok(next.map(|at| Duration::try_from(until(at)).unwrap_or_default()))
}

/// Starts a delivery as a task of its own.
fn start<Q: DeliveryQueue>(
    queue: &Arc<Q>,
    turn: Q::Turn,
    delivery: ActiveDelivery,
    running: &mut JoinSet<()>,
    busy: &mut HashMap<Id, ActiveDelivery>,
) {
    let queue = Arc::clone(queue);
    let key = delivery.key;
    let handle = running.spawn(async move {
        let worked = AssertUnwindSafe(Arc::clone(&queue).work(turn)).catch_unwind().await;
        let panicked = |_| Err(InternalError::new("delivering", "it panicked"));
        if let Err(fault) = worked.unwrap_or_else(panicked) {
            tracing::error!(delivery = key, cause = %fault.chain(), "a delivery broke");
            // It is still due, and would fail again at once.
            (queue.edge().sleep)(FAULT_PAUSE).await;
        }
    });
    busy.insert(handle.id(), delivery);
}

/// Returns what has to wait: deliveries in progress, and hosts and owners at their limit.
fn blocked(limits: OutboxLimits, busy: &HashMap<Id, ActiveDelivery>) -> BlockedPushes {
    let at_bound = |name: fn(&ActiveDelivery) -> &String, bound: usize| {
        let mut counts: HashMap<&String, usize> = HashMap::new();
        for delivery in busy.values() {
            *counts.entry(name(delivery)).or_default() += 1;
        }
        let full = counts.into_iter().filter(|(_, count)| *count >= bound);
        full.map(|(name, _)| name.clone()).collect()
    };
    BlockedPushes {
        keys: busy.values().map(|delivery| delivery.key).collect(),
        hosts: at_bound(|delivery| &delivery.host, limits.per_host),
        owners: at_bound(|delivery| &delivery.owner, limits.per_owner),
    }
}

/// Reads from the queue on a blocking thread.
pub(super) async fn read<Q: DeliveryQueue, T: Send + 'static>(
    queue: &Arc<Q>,
    job: impl FnOnce(&Q) -> Result<T, InternalError> + Send + 'static,
) -> Result<T, InternalError> {
    let queue = Arc::clone(queue);
    let read = tokio::task::spawn_blocking(move || job(&queue));
    read.await.map_err(InternalError::on("reading deliveries"))?
}
