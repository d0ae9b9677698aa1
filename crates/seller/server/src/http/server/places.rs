//! Places for connections, with a share per address. When all are taken, the connection that has
//! been idle for the longest time is closed, so that a crowd of idle connections cannot shut others
//! out. A connection whose requests all wait for stalled bodies counts as idle.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::http::settings::HttpSettings;
use crate::limit::{LimitKey, subtract_count};

/// Interval at which a waiting connection looks for an idle one.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Places for connections.
#[derive(Debug)]
pub(super) struct ConnectionSlots {
    places: Arc<Semaphore>,
    /// Maximum number of places per address; unlimited when `None`.
    share: Option<usize>,
    open: Mutex<Open>,
    since: Instant,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    connections: HashMap<u64, Connection>,
    by_address: BTreeMap<LimitKey, usize>,
}

#[derive(Debug)]
struct Connection {
    address: LimitKey,
    requests: Arc<RequestCounts>,
    close_signal: Arc<Notify>,
}

impl ConnectionSlots {
    /// Creates the places that the settings permit.
    pub(super) fn new(settings: &HttpSettings) -> Arc<Self> {
        // Behind a proxy every connection has the proxy's address.
        let share = (!settings.trust_forwarded_for).then_some(settings.connections_per_address);
        Arc::new(Self {
            places: Arc::new(Semaphore::new(settings.max_connections)),
            share,
            open: Mutex::default(),
            since: Instant::now(),
        })
    }

    /// Returns a place for a connection from an address, once there is one. `None` when the address
    /// is busy on its whole share.
    pub(super) async fn enter(self: &Arc<Self>, address: IpAddr) -> Option<ConnectionSlot> {
        let address = LimitKey::address(address);
        if !self.free_share(&address) {
            return None;
        }
        // At most one connection is dismissed for each that arrives, however long it takes to
        // leave.
        let mut is_awaited = false;
        let permit = loop {
            let waiting = Arc::clone(&self.places).acquire_owned();
            if !is_awaited && self.places.available_permits() == 0 {
                is_awaited = self.dismiss(|_| true);
            }
            if let Ok(permit) = tokio::time::timeout(POLL_INTERVAL, waiting).await {
                break permit.ok()?;
            }
        };
        let requests = Arc::new(RequestCounts::new(self.since));
        let close_signal = Arc::new(Notify::new());
        let mut open = self.open();
        let id = open.next;
        open.next += 1;
        *open.by_address.entry(address.clone()).or_default() += 1;
        let connection_requests = Arc::clone(&requests);
        let connection_signal = Arc::clone(&close_signal);
        open.connections.insert(
            id,
            Connection { address, requests: connection_requests, close_signal: connection_signal },
        );
        drop(open);
        Some(ConnectionSlot {
            slots: Arc::clone(self),
            id,
            requests,
            close_signal,
            _permit: permit,
        })
    }

    /// Makes room in an address's share; `false` when all its connections are busy.
    fn free_share(&self, address: &LimitKey) -> bool {
        let Some(share) = self.share else { return true };
        let held = self.open().by_address.get(address).copied().unwrap_or_default();
        held < share || self.dismiss(|connection| connection.address == *address)
    }

    /// Dismisses the connection that has been idle for the longest time; `false` when all are busy.
    fn dismiss(&self, matches: impl Fn(&Connection) -> bool) -> bool {
        let mut open = self.open();
        let idle = open.connections.iter().filter(|(_, connection)| matches(connection));
        let idle =
            idle.filter_map(|(id, connection)| Some((connection.requests.idle_since()?, *id)));
        let Some((_, id)) = idle.min() else { return false };
        // Removed from the list at once, so that the next arrival does not choose it too; its place
        // is free when it has left.
        if let Some(connection) = open.remove(id) {
            connection.close_signal.notify_one();
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
        subtract_count(&mut self.by_address, &connection.address, 1);
        Some(connection)
    }
}

/// A connection's place, which is free again when this is dropped.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    slots: Arc<ConnectionSlots>,
    id: u64,
    /// Requests of the connection.
    pub(super) requests: Arc<RequestCounts>,
    close_signal: Arc<Notify>,
    _permit: OwnedSemaphorePermit,
}

impl ConnectionSlot {
    /// Resolves when another connection needs the place.
    pub(super) async fn needed(&self) {
        self.close_signal.notified().await;
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.slots.open().remove(self.id);
    }
}

/// Counts of the requests of a connection.
#[derive(Debug)]
pub(super) struct RequestCounts {
    pub(super) begun: AtomicU64,
    ended: AtomicU64,
    /// Number of requests in progress that wait for a stalled body.
    stalled: AtomicU64,
    /// Reference point for times.
    since: Instant,
    /// Time in microseconds at which the connection was made, the last request ended, or a body
    /// stalled.
    idle_since_micros: AtomicU64,
}

impl RequestCounts {
    /// Creates counts with times relative to `since`.
    fn new(since: Instant) -> Self {
        let requests = Self {
            begun: 0.into(),
            ended: 0.into(),
            stalled: 0.into(),
            since,
            idle_since_micros: 0.into(),
        };
        requests.record_idle_time();
        requests
    }

    fn record_idle_time(&self) {
        let micros = u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.idle_since_micros.store(micros, Ordering::Relaxed);
    }

    /// Records the start of a request, which ends when the returned value is dropped.
    pub(super) fn begin(self: Arc<Self>) -> RequestInProgress {
        self.begun.fetch_add(1, Ordering::Relaxed);
        RequestInProgress(Arc::new(RequestProgress {
            requests: self,
            stage: AtomicU8::new(WORKING),
        }))
    }

    /// Returns the number of requests in progress.
    fn open(&self) -> u64 {
        let begun = self.begun.load(Ordering::Relaxed);
        begun.saturating_sub(self.ended.load(Ordering::Relaxed))
    }

    /// Returns true when a request is in progress, stalled or not.
    pub(super) fn has_open(&self) -> bool {
        self.open() > 0
    }

    /// Returns true when a request is in progress without a stalled body.
    pub(super) fn is_busy(&self) -> bool {
        self.open() > self.stalled.load(Ordering::Relaxed)
    }

    /// Returns the time since which only requests with stalled bodies are in progress.
    fn idle_since(&self) -> Option<u64> {
        (!self.is_busy()).then(|| self.idle_since_micros.load(Ordering::Relaxed))
    }
}

/// Stage of a request that is processed, or whose body is fast enough.
const WORKING: u8 = 0;
/// Stage of a request with a stalled body.
const STALLED: u8 = 1;
/// Stage of a request whose answer was sent, or whose connection was closed.
const ENDED: u8 = 2;

/// Progress of one request, shared by the reader of its body and the sender of its answer.
#[derive(Debug)]
pub(super) struct RequestProgress {
    requests: Arc<RequestCounts>,
    stage: AtomicU8,
}

impl RequestProgress {
    /// Moves from one stage to another; `false` when the request is in a third one.
    fn change(&self, from: u8, to: u8) -> bool {
        self.stage.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Records a stalled body. Does nothing for a request that has ended.
    pub(super) fn stall(&self) {
        if self.change(WORKING, STALLED) {
            self.requests.record_idle_time();
            self.requests.stalled.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Records that the body is fast enough again, or no longer read.
    pub(super) fn resume(&self) {
        if self.change(STALLED, WORKING) {
            self.requests.stalled.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// A request in progress.
#[derive(Debug)]
pub(super) struct RequestInProgress(Arc<RequestProgress>);

impl RequestInProgress {
    /// Returns the progress, for the reader of the body.
    pub(super) fn progress(&self) -> Arc<RequestProgress> {
        Arc::clone(&self.0)
    }
}

impl Drop for RequestInProgress {
    fn drop(&mut self) {
        let requests = &self.0.requests;
        // The time is set before the count, because otherwise the connection would seem idle since
        // an earlier request.
        requests.record_idle_time();
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
        let requests = Arc::new(RequestCounts::new(Instant::now()));
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
