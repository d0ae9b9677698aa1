//! Who may be connected: a share for each address, and a place for everybody else. When there is no
//! room, whoever has asked nothing for the longest time has to go, because a connection on which
//! nothing is asked is worth least, and whoever closes none of a crowd shuts everybody out.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
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
    /// The beginning of time.
    since: Instant,
    /// When the connection was made or the last request ended, in microseconds.
    quiet: AtomicU64,
}

impl Requests {
    fn new(since: Instant) -> Self {
        let requests = Self { begun: 0.into(), ended: 0.into(), since, quiet: 0.into() };
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
        Begun(self)
    }

    /// Whether a request is in progress.
    pub(super) fn is_busy(&self) -> bool {
        self.begun.load(Ordering::Relaxed) != self.ended.load(Ordering::Relaxed)
    }

    /// Since when no request is in progress.
    fn idle_since(&self) -> Option<u64> {
        (!self.is_busy()).then(|| self.quiet.load(Ordering::Relaxed))
    }
}

/// A request in progress.
#[derive(Debug)]
pub(super) struct Begun(Arc<Requests>);

impl Drop for Begun {
    fn drop(&mut self) {
        // The moment before the count: idle, with the moment of an earlier request, it would seem
        // to be idle for longer than it is.
        self.0.rest();
        self.0.ended.fetch_add(1, Ordering::Relaxed);
    }
}
