//! Who may be connected: a share for each address, and a place for everybody else. When there is no
//! room, whoever has asked nothing for the longest time has to go, because a connection on which
//! nothing is asked is worth least, and whoever closes none of a crowd shuts everybody out. A
//! connection whose requests all wait for bodies that do not come counts as one on which nothing is
//! asked.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::http::settings::Settings;
use crate::limit::{Key, give_back};

/// How often somebody who waits for a place looks for a connection that has become idle.
const LOOK: Duration = Duration::from_millis(50);

/// Where connections have their places.
#[derive(Debug)]
pub(super) struct Room {
    places: Arc<Semaphore>,
    /// How many of them one address may have; as many as there are when `None`.
    share: Option<usize>,
    open: Mutex<Open>,
    since: Instant,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    connections: HashMap<u64, Connection>,
    by_address: BTreeMap<Key, usize>,
}

#[derive(Debug)]
struct Connection {
    address: Key,
    requests: Arc<Requests>,
    leave: Arc<Notify>,
}

impl Room {
    /// With the places that the settings give.
    pub(super) fn new(settings: &Settings) -> Arc<Self> {
        // Behind a proxy everybody comes from the proxy's address.
        let share = (!settings.trust_forwarded_for).then_some(settings.connections_per_address);
        Arc::new(Self {
            places: Arc::new(Semaphore::new(settings.max_connections)),
            share,
            open: Mutex::default(),
            since: Instant::now(),
        })
    }

    /// A place for a connection from an address, once there is one. `None` when the address has
    /// its share and is busy on all of it.
    pub(super) async fn enter(self: &Arc<Self>, address: IpAddr) -> Option<Place> {
        let address = Key::address(address);
        if !self.keep_to_share(&address) {
            return None;
        }
        // One goes for each that comes, however long it takes to leave.
        let mut is_awaited = false;
        let permit = loop {
            let waiting = Arc::clone(&self.places).acquire_owned();
            if !is_awaited && self.places.available_permits() == 0 {
                is_awaited = self.dismiss(|_| true);
            }
            if let Ok(permit) = tokio::time::timeout(LOOK, waiting).await {
                break permit.ok()?;
            }
        };
        let requests = Arc::new(Requests::new(self.since));
        let leave = Arc::new(Notify::new());
        let mut open = self.open();
        let id = open.next;
        open.next += 1;
        *open.by_address.entry(address.clone()).or_default() += 1;
        let (counted, left) = (Arc::clone(&requests), Arc::clone(&leave));
        open.connections.insert(id, Connection { address, requests: counted, leave: left });
        drop(open);
        Some(Place { room: Arc::clone(self), id, requests, leave, _permit: permit })
    }

    /// Makes room in an address's share; `false` when there is none to make.
    fn keep_to_share(&self, address: &Key) -> bool {
        let Some(share) = self.share else { return true };
        let held = self.open().by_address.get(address).copied().unwrap_or_default();
        held < share || self.dismiss(|connection| connection.address == *address)
    }

    /// Asks the connection to leave on which nothing has been asked for the longest time; `false`
    /// when all are busy.
    fn dismiss(&self, which: impl Fn(&Connection) -> bool) -> bool {
        let mut open = self.open();
        let idle = open.connections.iter().filter(|(_, connection)| which(connection));
        let idle =
            idle.filter_map(|(id, connection)| Some((connection.requests.idle_since()?, *id)));
        let Some((_, id)) = idle.min() else { return false };
        // Off the list at once, so that the next who comes does not choose the same one; the place
        // is free when it has gone.
        if let Some(connection) = open.remove(id) {
            connection.leave.notify_one();
        }
        true
    }

    fn open(&self) -> std::sync::MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn remove(&mut self, id: u64) -> Option<Connection> {
        let connection = self.connections.remove(&id)?;
        give_back(&mut self.by_address, &connection.address, 1);
        Some(connection)
    }
}

/// A connection's place, free again when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    room: Arc<Room>,
    id: u64,
    /// What is asked on the connection.
    pub(super) requests: Arc<Requests>,
    leave: Arc<Notify>,
    _permit: OwnedSemaphorePermit,
}

impl Place {
    /// Resolves when somebody else needs the place more.
    pub(super) async fn needed(&self) {
        self.leave.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.room.open().remove(self.id);
    }
}

/// Counts the requests of a connection.
#[derive(Debug)]
pub(super) struct Requests {
    pub(super) begun: AtomicU64,
    ended: AtomicU64,
    /// How many of those in progress wait for a body that comes too slowly.
    stalled: AtomicU64,
    /// The beginning of time.
    since: Instant,
    /// When the connection was made, the last request ended, or a body stalled, in microseconds.
    quiet: AtomicU64,
}

impl Requests {
    fn new(since: Instant) -> Self {
        let requests =
            Self { begun: 0.into(), ended: 0.into(), stalled: 0.into(), since, quiet: 0.into() };
        requests.rest();
        requests
    }

    fn rest(&self) {
        let micros = u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.quiet.store(micros, Ordering::Relaxed);
    }

    /// Notes that a request has begun, which ends with what is returned.
    pub(super) fn begin(self: Arc<Self>) -> Begun {
        self.begun.fetch_add(1, Ordering::Relaxed);
        Begun(Arc::new(RequestProgress { requests: self, stage: AtomicU8::new(WORKING) }))
    }

    /// Counts the requests that have begun and not ended.
    fn open(&self) -> u64 {
        let begun = self.begun.load(Ordering::Relaxed);
        begun.saturating_sub(self.ended.load(Ordering::Relaxed))
    }

    /// Whether a request is in progress, stalled or not.
    pub(super) fn has_open(&self) -> bool {
        self.open() > 0
    }

    /// Whether a request is in progress that does not wait for a stalled body.
    pub(super) fn is_busy(&self) -> bool {
        self.open() > self.stalled.load(Ordering::Relaxed)
    }

    /// Since when no request is in progress but for those whose bodies are stalled.
    fn idle_since(&self) -> Option<u64> {
        (!self.is_busy()).then(|| self.quiet.load(Ordering::Relaxed))
    }
}

/// Stage of a request that is worked on, or whose body comes fast enough.
const WORKING: u8 = 0;
/// Stage of a request whose body comes too slowly.
const STALLED: u8 = 1;
/// Stage of a request whose answer was sent, or whose connection is gone.
const ENDED: u8 = 2;

/// Progress of one request, shared by whoever reads its body and whoever sends its answer.
#[derive(Debug)]
pub(super) struct RequestProgress {
    requests: Arc<Requests>,
    stage: AtomicU8,
}

impl RequestProgress {
    /// Moves from one stage to another; `false` when the request is in a third one.
    fn change(&self, from: u8, to: u8) -> bool {
        self.stage.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Notes that the body comes too slowly. Does nothing for a request that has ended.
    pub(super) fn stall(&self) {
        if self.change(WORKING, STALLED) {
            self.requests.rest();
            self.requests.stalled.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Notes that the body comes fast enough again, or is not waited for any more.
    pub(super) fn resume(&self) {
        if self.change(STALLED, WORKING) {
            self.requests.stalled.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// A request in progress.
#[derive(Debug)]
pub(super) struct Begun(Arc<RequestProgress>);

impl Begun {
    /// Gives what the request's body tells its progress to.
    pub(super) fn progress(&self) -> Arc<RequestProgress> {
        Arc::clone(&self.0)
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        let requests = &self.0.requests;
        // The moment before the count: idle, with the moment of an earlier request, it would seem
        // to be idle for longer than it is.
        requests.rest();
        if self.0.stage.swap(ENDED, Ordering::Relaxed) == STALLED {
            requests.stalled.fetch_sub(1, Ordering::Relaxed);
        }
        requests.ended.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_whose_bodies_all_stall_counts_as_idle() {
        let requests = Arc::new(Requests::new(Instant::now()));
        assert!(!requests.is_busy() && requests.idle_since().is_some());
        let one = Arc::clone(&requests).begin();
        let other = Arc::clone(&requests).begin();
        one.progress().stall();
        one.progress().stall();
        assert!(requests.is_busy(), "the other request is worked on");
        other.progress().stall();
        assert!(!requests.is_busy() && requests.has_open() && requests.idle_since().is_some());
        other.progress().resume();
        assert!(requests.is_busy());
        let progress = one.progress();
        drop(one);
        progress.stall();
        assert!(requests.is_busy(), "what has ended does not stall");
        drop(other);
        assert!(!requests.is_busy() && !requests.has_open());
    }
}
