//! Which dealers there are: those that the operator named, and those of directories, which are read again now and
//! then. A directory that cannot be read is reported beside the answers of the dealers, and what it named before
//! stays until it can be read again.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;
use tradepost_buyer::failure::CallFailure;
use tradepost_buyer::text::{SENTENCE, plain};
use tradepost_buyer::{BearerToken, HttpTransport, directory};

use super::dealers::{DealerAddress, DealerSetup, place_of};
use super::trouble::{BridgeError, BridgeErrorCode};

/// How long a directory is believed before it is read again.
const DIRECTORY_LIFETIME: Duration = Duration::from_mins(5);

/// How long after a failure a directory is read again.
const RETRY_PAUSE: Duration = Duration::from_mins(1);

/// How long a call waits for a directory at most: what it named before will do.
const READING_TIME: Duration = Duration::from_secs(5);

/// How many dealers of one directory can be asked: a model has to choose among them.
pub(super) const MAX_LISTED_DEALERS: usize = 200;

/// The dealers at one moment.
#[derive(Default)]
pub(super) struct DealerList {
    /// In the order of the command line and of the directories.
    pub(super) dealers: Vec<Arc<DealerAddress>>,
    /// The name of each.
    pub(super) names: Vec<String>,
    /// What is wrong with directories.
    pub(super) troubles: Vec<BridgeError>,
}

impl DealerList {
    fn new(
        dealers: impl IntoIterator<Item = Arc<DealerAddress>>,
        troubles: Vec<BridgeError>,
    ) -> Self {
        let mut list = Self { troubles, ..Self::default() };
        for dealer in dealers {
            // An address that is there twice counts once.
            if !list.names.contains(&dealer.id) {
                list.names.push(dealer.id.clone());
                list.dealers.push(dealer);
            }
        }
        list
    }

    /// The dealers at these places.
    pub(super) fn chosen(&self, places: &[usize]) -> Vec<Arc<DealerAddress>> {
        places.iter().filter_map(|place| self.dealers.get(*place)).cloned().collect()
    }
}

/// Where the bridge has its dealers from.
pub(super) struct DealerSources {
    setup: DealerSetup,
    named: Vec<Arc<DealerAddress>>,
    directories: Vec<DealerDirectory>,
    transport: HttpTransport,
    list: Mutex<Arc<DealerList>>,
    /// Held while directories are read: of several calls at once one reads them.
    reading: tokio::sync::Mutex<()>,
}

struct DealerDirectory {
    address: String,
    /// Its address without the scheme: its name in results.
    id: String,
    state: Mutex<DirectoryState>,
}

/// What was read from a directory.
#[derive(Default)]
struct DirectoryState {
    dealers: Vec<Arc<DealerAddress>>,
    trouble: Option<BridgeError>,
    /// When it is to be read again; never read before when there is no moment.
    due: Option<Instant>,
}

impl DealerSources {
    /// The dealers at these addresses, each with the bearer token for it, if it wants one.
    pub(super) fn new(
        addresses: impl IntoIterator<Item = (String, Option<BearerToken>)>,
        setup: DealerSetup,
    ) -> Result<Self, CallFailure> {
        let mut named = Vec::new();
        for (address, token) in addresses {
            named.push(Arc::new(DealerAddress::new(&address, token, &setup)?));
        }
        let list = DealerList::new(named.iter().cloned(), Vec::new());
        Ok(Self {
            transport: setup.transport.clone(),
            setup,
            named,
            directories: Vec::new(),
            list: Mutex::new(Arc::new(list)),
            reading: tokio::sync::Mutex::new(()),
        })
    }

    /// Adds directories of dealers.
    pub(super) fn add_directories(&mut self, addresses: impl IntoIterator<Item = String>) {
        self.directories.extend(addresses.into_iter().map(|address| DealerDirectory {
            id: place_of(&address),
            address,
            state: Mutex::default(),
        }));
    }

    /// Whether dealers can come and go.
    pub(super) fn has_directories(&self) -> bool {
        !self.directories.is_empty()
    }

    /// Whether there can be no dealer at all.
    pub(super) fn is_empty(&self) -> bool {
        self.named.is_empty() && self.directories.is_empty()
    }

    /// The dealers as they were known last.
    pub(super) fn last_known(&self) -> Arc<DealerList> {
        Arc::clone(&self.list.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The dealers. Directories that were read too long ago are read again before.
    pub(super) async fn current(&self) -> Arc<DealerList> {
        if self.directories.is_empty() {
            return self.last_known();
        }
        let _reading = self.reading.lock().await;
        let now = Instant::now();
        let due: Vec<_> = self.directories.iter().filter(|one| one.is_due(now)).collect();
        if !due.is_empty() {
            join_all(due.into_iter().map(|directory| self.read(directory))).await;
            let list = Arc::new(self.joined());
            *self.list.lock().unwrap_or_else(PoisonError::into_inner) = list;
        }
        self.last_known()
    }

    fn joined(&self) -> DealerList {
        let (mut dealers, mut troubles) = (self.named.clone(), Vec::new());
        for directory in &self.directories {
            let state = directory.state();
            dealers.extend(state.dealers.iter().cloned());
            troubles.extend(state.trouble.clone());
        }
        DealerList::new(dealers, troubles)
    }

    async fn read(&self, directory: &DealerDirectory) {
        let time = READING_TIME.min(self.setup.transport.limits().timeout);
        let fetched = directory::fetch(&self.transport, &directory.address);
        let fetched = tokio::time::timeout(time, fetched).await;
        let now = Instant::now();
        let unreadable = |message: String| {
            BridgeError::new(BridgeErrorCode::DirectoryUnreadable, message)
                .at_directory(&directory.id)
        };
        let mut state = directory.state();
        let listed = match fetched {
            Ok(Ok(listed)) => listed,
            Ok(Err(failure)) => {
                state.trouble = Some(unreadable(plain(&failure.to_string(), SENTENCE)));
                state.due = Some(now + RETRY_PAUSE);
                return;
            }
            Err(_) => {
                let message = format!("no complete answer within {} s", time.as_secs_f64());
                state.trouble = Some(unreadable(message));
                state.due = Some(now + RETRY_PAUSE);
                return;
            }
        };
        let count = listed.entries.len();
        let before = self.last_known();
        let entries = listed.entries.iter().take(MAX_LISTED_DEALERS);
        let dealers = entries.filter_map(|entry| self.dealer(entry.url.as_str(), &before));
        state.dealers = dealers.collect();
        state.trouble = (count > MAX_LISTED_DEALERS).then(|| {
            let message =
                format!("it names {count} dealers, of which the first {MAX_LISTED_DEALERS} count");
            BridgeError::new(BridgeErrorCode::DirectoryTooLarge, message)
                .at_directory(&directory.id)
        });
        state.due = Some(now + DIRECTORY_LIFETIME);
    }

    /// The dealer at this address: the same as before, with what is known of it, where there was one.
    fn dealer(&self, address: &str, before: &DealerList) -> Option<Arc<DealerAddress>> {
        let dealer = DealerAddress::new(address, None, &self.setup).ok()?;
        let known = before.dealers.iter().find(|known| known.id == dealer.id);
        Some(known.cloned().unwrap_or_else(|| Arc::new(dealer)))
    }
}

impl DealerDirectory {
    fn state(&self) -> std::sync::MutexGuard<'_, DirectoryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_due(&self, now: Instant) -> bool {
        self.state().due.is_none_or(|due| due <= now)
    }
}
