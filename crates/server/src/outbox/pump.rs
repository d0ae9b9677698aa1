//! Deliveries that run beside each other: whatever is due is taken from its queue, as far as there
//! is room in all, for a host and for an owner. What a delivery is and where it is kept is the
//! queue's affair; nothing is remembered here but who is busy.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use jiff::{SignedDuration, Timestamp};
use tokio::task::{Id, JoinSet};

use super::{Edge, Limits};
use crate::fault::Fault;
use crate::tasks::log::PushBusy;

/// How long to leave a delivery alone, or everything, after a fault of ours.
const FAULT_PAUSE: Duration = Duration::from_secs(10);

/// Who is being delivered to.
pub struct Busy {
    /// What is not to be begun twice.
    pub key: i64,
    /// The receiver's host.
    pub host: String,
    /// Whose delivery it is.
    pub owner: String,
}

/// What is to be delivered.
pub trait Queue: fmt::Debug + Send + Sync + Sized + 'static {
    /// Something that is due.
    type Turn: Send + 'static;

    /// The moment.
    fn now(&self) -> Timestamp;

    /// Waiting and chance.
    fn edge(&self) -> &Edge;

    /// How many run at once.
    fn limits(&self) -> Limits;

    /// What is due, but for those who have to wait; at most `room`. May wait for a disk.
    fn due(&self, now: Timestamp, busy: &PushBusy, room: usize) -> Result<Vec<Self::Turn>, Fault>;

    /// When the next becomes due after a moment. May wait for a disk.
    fn next_due(&self, now: Timestamp) -> Result<Option<Timestamp>, Fault>;

    /// Whom it concerns.
    fn who(turn: &Self::Turn) -> Busy;

    /// Delivers.
    fn work(self: Arc<Self>, turn: Self::Turn) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Resolves when something may have become due.
    fn stirred(&self) -> impl Future<Output = ()> + Send;

    /// Nothing more is to be begun.
    fn stop(&self);
}

/// Delivers until `stop` resolves, and then lets what is under way end, at most `grace` long.
pub async fn run<Q: Queue>(queue: Arc<Q>, stop: impl Future<Output = ()>, grace: Duration) {
    let mut running = JoinSet::new();
    let mut busy = HashMap::new();
    tokio::pin!(stop);
    loop {
        let pause = match fill(&queue, &mut running, &mut busy).await {
            Ok(pause) => pause,
            Err(fault) => {
                tracing::error!(cause = %fault.chain(), "due webhooks could not be read");
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
            () = queue.stirred() => {}
            () = due => {}
        }
    }
    queue.stop();
    let rest = async { while running.join_next().await.is_some() {} };
    // What still runs is dropped with the set; its place is where it was, for the next process.
    if tokio::time::timeout(grace, rest).await.is_err() {
        tracing::warn!("some deliveries were still under way when the grace period ended");
    }
}

/// Starts what is due, as far as there is room. Returns how long until more becomes due.
async fn fill<Q: Queue>(
    queue: &Arc<Q>,
    running: &mut JoinSet<()>,
    busy: &mut HashMap<Id, Busy>,
) -> Result<Option<Duration>, Fault> {
    let (now, limits) = (queue.now(), queue.limits());
    loop {
        let room = limits.all.saturating_sub(running.len());
        if room == 0 {
            // Whoever ends makes room, and is waited for.
            return Ok(None);
        }
        let passed_over = passed_over(limits, busy);
        let due = read(queue, move |queue| queue.due(now, &passed_over, room)).await?;
        let (found, mut started) = (due.len(), 0);
        for turn in due {
            let who = Q::who(&turn);
            // The queue knows who was busy when it was asked, and not whom else it found.
            let count = |is: &dyn Fn(&Busy) -> bool| busy.values().filter(|b| is(b)).count();
            if count(&|b| b.host == who.host) < limits.per_host
                && count(&|b| b.owner == who.owner) < limits.per_owner
            {
                started += 1;
                start(queue, turn, who, running, busy);
            }
        }
        // Those that were found and not started stood before others, who are looked for now.
        if started == 0 || (started == found && found < room) {
            break;
        }
    }
    let next = read(queue, move |queue| queue.next_due(now)).await?;
    let until = |at: Timestamp| at.duration_since(now).max(SignedDuration::ZERO);
    Ok(next.map(|at| Duration::try_from(until(at)).unwrap_or_default()))
}

fn start<Q: Queue>(
    queue: &Arc<Q>,
    turn: Q::Turn,
    who: Busy,
    running: &mut JoinSet<()>,
    busy: &mut HashMap<Id, Busy>,
) {
    let (queue, key) = (Arc::clone(queue), who.key);
    let handle = running.spawn(async move {
        let worked = AssertUnwindSafe(Arc::clone(&queue).work(turn)).catch_unwind().await;
        let panicked = |_| Err(Fault::new("delivering to a webhook", "it panicked"));
        if let Err(fault) = worked.unwrap_or_else(panicked) {
            tracing::error!(webhook = key, cause = %fault.chain(), "a delivery broke");
            // It is still due, and would break again at once.
            (queue.edge().sleep)(FAULT_PAUSE).await;
        }
    });
    busy.insert(handle.id(), who);
}

/// Who has to wait: whoever is being delivered to, and whoever is at a bound.
fn passed_over(limits: Limits, busy: &HashMap<Id, Busy>) -> PushBusy {
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
        hosts: at_bound(|who| &who.host, limits.per_host),
        owners: at_bound(|who| &who.owner, limits.per_owner),
    }
}

/// Reads where nobody else has to wait for it.
pub(super) async fn read<Q: Queue, T: Send + 'static>(
    queue: &Arc<Q>,
    job: impl FnOnce(&Q) -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let queue = Arc::clone(queue);
    let read = tokio::task::spawn_blocking(move || job(&queue));
    read.await.map_err(Fault::on("reading webhooks"))?
}
