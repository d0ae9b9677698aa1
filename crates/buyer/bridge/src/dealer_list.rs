//! The list of dealers: those that the operator named, and those of directories, which are read again periodically. A
//! directory that cannot be read is reported beside the dealers' answers, and its earlier entries stay until it can
//! be read again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;
use tradepost_client::failure::CallFailure;
use tradepost_client::text::{SENTENCE, plain};
use tradepost_client::{BearerToken, HttpTransport, directory};
use tradepost_document::backoff::Backoff;
use tradepost_document::stale::{StaleTerms, StaleValue};

use super::dealers::{DealerAddress, DealerSetup, place_of};
use super::failures::{BridgeError, BridgeErrorCode};

/// Lifetime of a directory before it is read again.
const DIRECTORY_LIFETIME: Duration = Duration::from_mins(5);

/// Pause after a failure before a directory is read again.
const RETRY_PAUSE: Duration = Duration::from_mins(1);

/// Terms of a directory. Its earlier entries stay until it can be read again, because each dealer answers for
/// itself.
const TERMS: StaleTerms = StaleTerms {
    fresh_for: DIRECTORY_LIFETIME,
    usable_for: Duration::MAX,
    pace: Duration::ZERO,
    waits: Backoff::constant(RETRY_PAUSE),
};

/// Maximum time that a call waits for a directory; after that its earlier entries are used.
const READING_TIME: Duration = Duration::from_secs(5);

/// Maximum number of dealers of one directory: a model has to choose among them.
pub(super) const MAX_LISTED_DEALERS: usize = 200;

/// Dealers at one moment.
#[derive(Default)]
pub(super) struct DealerList {
    /// Dealers, in the order of the command line and of the directories.
    pub(super) dealers: Vec<Arc<DealerAddress>>,
    /// Name of each dealer.
    pub(super) names: Vec<String>,
    /// Errors of directories.
    pub(super) directory_errors: Vec<BridgeError>,
}

impl DealerList {
    fn new(
        dealers: impl IntoIterator<Item = Arc<DealerAddress>>,
        directory_errors: Vec<BridgeError>,
    ) -> Self {
        let mut list = Self { directory_errors, ..Self::default() };
        for dealer in dealers {
            // A repeated address counts once.
            if !list.names.contains(&dealer.id) {
                list.names.push(dealer.id.clone());
                list.dealers.push(dealer);
            }
        }
        list
    }

    /// Returns the dealers at these indexes.
    pub(super) fn chosen(&self, places: &[usize]) -> Vec<Arc<DealerAddress>> {
        places.iter().filter_map(|place| self.dealers.get(*place)).cloned().collect()
    }
}

/// Sources of the dealers.
pub(super) struct DealerSources {
    setup: DealerSetup,
    named: Vec<Arc<DealerAddress>>,
    directories: Vec<DealerDirectory>,
    transport: HttpTransport,
    list: Mutex<Arc<DealerList>>,
    /// Start of the clock of the directories.
    started: Instant,
    /// Held while directories are read, so that concurrent calls read them only once.
    reading: tokio::sync::Mutex<()>,
}

struct DealerDirectory {
    address: String,
    /// Address without the scheme: the directory's name in results.
    id: String,
    content: Mutex<DirectoryContent>,
}

/// Content of a directory when it was last read, and why it could not be read since.
type DirectoryContent = StaleValue<ListedDealers, BridgeError>;

/// Dealers that a directory names.
struct ListedDealers {
    dealers: Vec<Arc<DealerAddress>>,
    /// Error when it names more than are used.
    too_many_dealers: Option<BridgeError>,
}

impl DealerSources {
    /// Creates the sources from these addresses, each with its bearer token if it needs one.
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
            started: Instant::now(),
            reading: tokio::sync::Mutex::new(()),
        })
    }

    /// Adds directories of dealers.
    pub(super) fn add_directories(&mut self, addresses: impl IntoIterator<Item = String>) {
        self.directories.extend(addresses.into_iter().map(|address| DealerDirectory {
            id: place_of(&address),
            address,
            content: Mutex::new(StaleValue::new(TERMS)),
        }));
    }

    /// Returns true when dealers can come and go.
    pub(super) fn has_directories(&self) -> bool {
        !self.directories.is_empty()
    }

    /// Returns true when there are neither dealers nor directories.
    pub(super) fn is_empty(&self) -> bool {
        self.named.is_empty() && self.directories.is_empty()
    }

    /// Returns the dealers as they were last known.
    pub(super) fn last_known(&self) -> Arc<DealerList> {
        Arc::clone(&self.list.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the dealers, after reading the directories that are due.
    pub(super) async fn current(&self) -> Arc<DealerList> {
        if self.directories.is_empty() {
            return self.last_known();
        }
        let _reading = self.reading.lock().await;
        let now = self.started.elapsed();
        let due: Vec<_> = self.directories.iter().filter(|one| one.is_due(now)).collect();
        if !due.is_empty() {
            join_all(due.into_iter().map(|directory| self.read(directory))).await;
            let list = Arc::new(self.joined());
            *self.list.lock().unwrap_or_else(PoisonError::into_inner) = list;
        }
        self.last_known()
    }

    /// Joins the named dealers with those of all directories.
    fn joined(&self) -> DealerList {
        let mut dealers = self.named.clone();
        let mut directory_errors = Vec::new();
        for directory in &self.directories {
            let content = directory.content();
            let listed = content.latest();
            dealers.extend(listed.into_iter().flat_map(|listed| listed.dealers.iter().cloned()));
            let too_large = listed.and_then(|listed| listed.too_many_dealers.as_ref());
            directory_errors.extend(content.breaker().error().or(too_large).cloned());
        }
        DealerList::new(dealers, directory_errors)
    }

    /// Reads a directory; a failure keeps the earlier content and records the error.
    async fn read(&self, directory: &DealerDirectory) {
        let time = READING_TIME.min(self.setup.transport.limits().timeout);
        let fetched = directory::fetch(&self.transport, &directory.address);
        let fetched = tokio::time::timeout(time, fetched).await;
        let now = self.started.elapsed();
        let unreadable = |message: String| {
            BridgeError::new(BridgeErrorCode::DirectoryUnreadable, message)
                .at_directory(&directory.id)
        };
        let mut content = directory.content();
        let listed = match fetched {
            Ok(Ok(listed)) => listed,
            Ok(Err(failure)) => {
                content.failed(now, unreadable(plain(&failure.to_string(), SENTENCE)));
                return;
            }
            Err(_) => {
                let message = format!("no complete answer within {} s", time.as_secs_f64());
                content.failed(now, unreadable(message));
                return;
            }
        };
        let count = listed.entries.len();
        let before = self.last_known();
        let entries = listed.entries.iter().take(MAX_LISTED_DEALERS);
        let dealers = entries.filter_map(|entry| self.dealer(entry.url.as_str(), &before));
        let dealers = dealers.collect();
        let too_many_dealers = (count > MAX_LISTED_DEALERS).then(|| {
            let message =
                format!("it names {count} dealers, of which the first {MAX_LISTED_DEALERS} count");
            BridgeError::new(BridgeErrorCode::DirectoryTooLarge, message)
                .at_directory(&directory.id)
        });
        content.succeeded(now, ListedDealers { dealers, too_many_dealers });
    }

    /// Returns the dealer at this address; one that is already known is kept, with its cached card.
    fn dealer(&self, address: &str, before: &DealerList) -> Option<Arc<DealerAddress>> {
        let dealer = DealerAddress::new(address, None, &self.setup).ok()?;
        let known = before.dealers.iter().find(|known| known.id == dealer.id);
        Some(known.cloned().unwrap_or_else(|| Arc::new(dealer)))
    }
}

impl DealerDirectory {
    fn content(&self) -> MutexGuard<'_, DirectoryContent> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_due(&self, now: Duration) -> bool {
        let content = self.content();
        content.fresh(now).is_none() && content.may_ask(now)
    }
}
