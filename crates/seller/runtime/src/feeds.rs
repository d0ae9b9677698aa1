//! Inventory feeds that arrive without a command: files in a folder, downloads from an address, uploads.
//!
//! A feed is found, read, compared with the inventory, and stored or held back ([`guard`]). Each run is
//! stored with its report. One run at a time works on a dealer's inventory, also among several processes
//! on one database: it holds a lease in the store.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;
use tradepost_admin::feeds::{FeedName, FeedStanding};
use tradepost_dealer::import::Mapping;
use tradepost_server::background::piece;
use tradepost_server::clock::Clock;
use tradepost_server::fault::InternalError;
use tradepost_store::{FeedOutcome, FeedRun, FeedState, Store};

use crate::config::DealerConfig;
use crate::config::feeds::{FeedConfig, FeedOrigin, MappingSource};
use folder::FolderWatch;
use run::FeedResultSink;

pub mod folder;
pub mod guard;
pub mod pull;
pub mod report;
pub mod run;
pub mod sftp;
pub mod spool;
mod upload;

pub use upload::routes;

/// Interval at which folders are checked. Together with the time for which a file has to be unchanged,
/// the run and the swap, a small feed is searchable well within two seconds of its last byte.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Number of folder checks between two checks of addresses and ages.
const CHECKS_PER_SLOW_CHECK: u32 = 20;

/// A feed of a dealer, ready to run.
#[derive(Debug, Clone)]
pub struct FeedSource {
    /// The dealer that owns it.
    pub dealer: Arc<DealerConfig>,
    /// Its configuration.
    pub feed: FeedConfig,
    /// Mapping of its columns.
    pub mapping: Option<Mapping>,
}

impl FeedSource {
    /// Opens the feeds of a dealer.
    ///
    /// # Errors
    /// Every mistake in their mapping files.
    pub fn open_all(dealer: &Arc<DealerConfig>) -> Result<Vec<Self>, String> {
        let source = |feed: &FeedConfig| {
            let mapping = match &feed.mapping {
                None => None,
                Some(MappingSource::Preset(preset)) => Some(Mapping::from_preset(*preset)),
                Some(MappingSource::File(path)) => {
                    let name = &feed.name;
                    let text = std::fs::read_to_string(path).map_err(|error| {
                        format!("feed {name}: cannot read its mapping: {error}")
                    })?;
                    let mistaken = |mistakes: Vec<tradepost_document::toml::TomlMistake>| {
                        let lines = mistakes.iter().map(|mistake| match mistake.line {
                            Some(line) => format!("line {line}: {mistake}"),
                            None => mistake.to_string(),
                        });
                        let lines: Vec<String> = lines.collect();
                        format!("feed {name}: its mapping has mistakes: {}", lines.join("; "))
                    };
                    Some(Mapping::parse(&text).map_err(mistaken)?)
                }
            };
            Ok(Self { dealer: Arc::clone(dealer), feed: feed.clone(), mapping })
        };
        dealer.feeds.iter().map(source).collect()
    }

    /// Returns the name of the feed with its dealer, for operations.
    #[must_use]
    pub fn name(&self) -> FeedName {
        FeedName { dealer_id: self.id().to_owned(), feed: self.feed.name.clone() }
    }

    fn id(&self) -> &str {
        &self.dealer.terms.id
    }
}

/// A feed with its state.
#[derive(Debug)]
pub struct FeedStatus<'a> {
    /// Its configuration.
    pub feed: &'a FeedConfig,
    /// Its state in the store, and its last run.
    pub standing: FeedStanding,
}

impl<'a> FeedStatus<'a> {
    /// Reads the state of each feed of a dealer, in the order of the configuration.
    ///
    /// # Errors
    /// When the store fails.
    pub fn read_all(store: &Store, dealer: &'a DealerConfig) -> Result<Vec<Self>, InternalError> {
        let id = &dealer.terms.id;
        let of = |feed: &'a FeedConfig| {
            Ok(Self { feed, standing: FeedStanding::read(store, id, &feed.name)? })
        };
        dealer.feeds.iter().map(of).collect()
    }

    /// Returns the last run if its feed was not stored.
    #[must_use]
    pub fn not_taken(&self) -> Option<&FeedRun> {
        self.standing.last.as_ref().filter(|run| run.outcome != FeedOutcome::Taken)
    }
}

/// Age of the last confirmation of a listing from which on an inventory is old, when no feed has a limit of its own.
const DEFAULT_MAX_AGE: SignedDuration = SignedDuration::from_hours(72);

/// Returns the time since a listing was last confirmed, if the inventory is old. A feed with a limit of its own is
/// reported by that.
#[must_use]
pub fn unconfirmed_for(
    latest: Option<Timestamp>,
    feeds: &[FeedStatus<'_>],
    now: Timestamp,
) -> Option<SignedDuration> {
    let has_limit = feeds.iter().any(|status| status.feed.stale_after.is_some());
    let age = latest.map(|latest| now.duration_since(latest));
    age.filter(|age| *age > DEFAULT_MAX_AGE && !has_limit)
}

/// The feeds of a process's dealers.
pub struct Feeds {
    store: Arc<Store>,
    clock: Clock,
    sources: RwLock<Arc<[Arc<FeedSource>]>>,
    /// Files known in the folders, by dealer and feed.
    watches: Mutex<BTreeMap<(String, String), FolderWatch>>,
    /// A flag for each dealer that is set while its feeds are being checked.
    busy: Mutex<BTreeMap<String, Arc<AtomicBool>>>,
    /// Start of this process, from which the age of feeds counts that were never stored.
    since: Timestamp,
    /// Notifies of a new inventory, so that it is searchable before the next check of the store.
    fresh: Notify,
}

opaque!(Feeds);

impl Feeds {
    /// Creates feeds without any dealer.
    #[must_use]
    pub fn new(store: Arc<Store>, clock: Clock) -> Self {
        let since = clock.now();
        Self {
            store,
            clock,
            sources: RwLock::new(Arc::new([])),
            watches: Mutex::default(),
            busy: Mutex::default(),
            since,
            fresh: Notify::new(),
        }
    }

    /// Opens the feeds of dealers. Feeds of unchanged dealers are reused.
    ///
    /// # Errors
    /// When a mapping file cannot be used.
    pub fn sources_of(
        &self,
        dealers: &[Arc<DealerConfig>],
    ) -> Result<Arc<[Arc<FeedSource>]>, InternalError> {
        let before = self.sources();
        let mut known: BTreeMap<*const DealerConfig, Vec<&Arc<FeedSource>>> = BTreeMap::new();
        for source in before.iter() {
            known.entry(Arc::as_ptr(&source.dealer)).or_default().push(source);
        }
        let mut all = Vec::new();
        for dealer in dealers.iter().filter(|dealer| !dealer.feeds.is_empty()) {
            if let Some(same) = known.get(&Arc::as_ptr(dealer)) {
                all.extend(same.iter().map(|source| Arc::clone(source)));
                continue;
            }
            let sources = FeedSource::open_all(dealer)
                .map_err(|why| InternalError::new("setting up a feed", why))?;
            all.extend(sources.into_iter().map(Arc::new));
        }
        Ok(all.into())
    }

    /// Replaces the feeds.
    pub fn replace(&self, sources: Arc<[Arc<FeedSource>]>) {
        *self.sources.write().unwrap_or_else(PoisonError::into_inner) = sources;
    }

    /// Resolves when there is a new inventory. Supports one waiting caller.
    pub async fn taken(&self) {
        self.fresh.notified().await;
    }

    fn sources(&self) -> Arc<[Arc<FeedSource>]> {
        Arc::clone(&self.sources.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Checks the feeds until `stop` resolves.
    pub async fn run(self: Arc<Self>, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        let mut checks = 0_u32;
        loop {
            let seldom = checks.is_multiple_of(CHECKS_PER_SLOW_CHECK);
            checks = checks.wrapping_add(1);
            for (dealer, sources) in self.by_dealer(seldom) {
                let flag = self.flag(&dealer);
                // The check before is still running: a large feed takes longer than the interval.
                if flag.swap(true, Ordering::SeqCst) {
                    continue;
                }
                let feeds = Arc::clone(&self);
                tokio::spawn(async move {
                    let _free = Free(flag);
                    for source in sources {
                        feeds.look_after(source, seldom).await;
                    }
                });
            }
            tokio::select! {
                () = &mut stop => return,
                () = tokio::time::sleep(CHECK_INTERVAL) => {}
            }
        }
    }

    /// Returns the feeds to check now, by dealer: those in folders always, the others only if `seldom`.
    fn by_dealer(&self, seldom: bool) -> BTreeMap<String, Vec<Arc<FeedSource>>> {
        let mut all: BTreeMap<String, Vec<Arc<FeedSource>>> = BTreeMap::new();
        let is_due =
            |source: &&Arc<FeedSource>| seldom || matches!(source.feed.from, FeedOrigin::Folder(_));
        for source in self.sources().iter().filter(is_due) {
            all.entry(source.id().to_owned()).or_default().push(Arc::clone(source));
        }
        all
    }

    fn flag(&self, dealer: &str) -> Arc<AtomicBool> {
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(busy.entry(dealer.to_owned()).or_default())
    }

    async fn look_after(self: &Arc<Self>, source: Arc<FeedSource>, seldom: bool) {
        let name = source.feed.name.clone();
        let dealer = source.id().to_owned();
        let looked = match &source.feed.from {
            FeedOrigin::Folder(folder) => {
                let feeds = Arc::clone(self);
                let source = Arc::clone(&source);
                let folder = folder.clone();
                let work = move || feeds.look_into(&source, &folder);
                piece("looking into a folder", work).await.unwrap_or(Ok(()))
            }
            FeedOrigin::Pull(pull) if seldom => self.ask(&source, pull).await,
            FeedOrigin::Pull(_) | FeedOrigin::Upload { .. } => Ok(()),
        };
        if let Err(fault) = looked {
            tracing::error!(%dealer, feed = %name, cause = %fault.chain(), "a feed could not be run");
        }
        if seldom {
            let feeds = Arc::clone(self);
            let judged = piece("judging a feed's age", move || feeds.judge_age(&source)).await;
            if let Some(Err(fault)) = judged {
                tracing::error!(%dealer, feed = %name, cause = %fault.chain(), "a feed's age is unknown");
            }
        }
    }

    /// Stores the complete files of a folder.
    fn look_into(
        &self,
        source: &FeedSource,
        folder: &crate::config::feeds::FeedFolder,
    ) -> Result<(), InternalError> {
        let key = (source.id().to_owned(), source.feed.name.clone());
        let mut watch = {
            let mut watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
            // Removed while it is used: the lock is not held while the disk is read, and `busy` prevents
            // a second check of this dealer.
            watches.remove(&key).unwrap_or_default()
        };
        let complete = watch.look(folder, source.feed.extent, self.clock.elapsed());
        let taken = complete.and_then(|files| {
            if files.is_empty() {
                return Ok(());
            }
            self.take_files(source, &mut watch, files)
        });
        let mut watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        watches.insert(key, watch);
        taken
    }

    fn take_files(
        &self,
        source: &FeedSource,
        watch: &mut FolderWatch,
        files: Vec<folder::FoundFile>,
    ) -> Result<(), InternalError> {
        // When another run has the lease, the next check finds the files again.
        let store = &self.store;
        let clock = &self.clock;
        run::leased(store, clock, &[source.id()], || {
            // Another process may have stored the file already.
            let state = store.feed_state(source.id(), &source.feed.name)?;
            for found in files {
                if state.mark.as_ref().is_none_or(|mark| *mark < found.mark) {
                    let run = FeedResultSink { store, clock, source }.file(&found)?;
                    self.finished(&run);
                }
                watch.pass(found.mark);
            }
            Ok(())
        })?;
        Ok(())
    }

    async fn ask(
        self: &Arc<Self>,
        source: &Arc<FeedSource>,
        pull: &crate::config::feeds::Pull,
    ) -> Result<(), InternalError> {
        let store = Arc::clone(&self.store);
        let clock = self.clock.clone();
        let name = source.feed.name.clone();
        let dealer = source.id().to_owned();
        let state = piece("reading a feed", move || store.feed_state(&dealer, &name)).await;
        let state = state.unwrap_or_else(|| Ok(FeedState::default()))?;
        let due = |at: Timestamp| at.checked_add(pull.every).is_ok_and(|due| due <= clock.now());
        if state.looked_at.is_some_and(|at| !due(at)) {
            return Ok(());
        }
        // Before the lease is taken: a slow address would block all other runs on this inventory.
        let fetched = pull::fetch(pull, &state, clock.now()).await;
        let feeds = Arc::clone(self);
        let source = Arc::clone(source);
        let work = move || {
            let store = &feeds.store;
            let clock = &feeds.clock;
            let run = run::leased(store, clock, &[source.id()], || {
                FeedResultSink { store, clock, source: &source }.answer(fetched)
            })?;
            if let Some(Some(run)) = run {
                feeds.finished(&run);
            }
            Ok(())
        };
        piece("running a feed", work).await.unwrap_or(Ok(()))
    }

    /// Logs the result of a run, and notifies of a new inventory.
    fn finished(&self, run: &FeedRun) {
        log_run(run);
        if run.outcome == FeedOutcome::Taken {
            self.fresh.notify_one();
        }
    }

    /// Stores that a feed has become stale, or is not stale any more.
    fn judge_age(&self, source: &FeedSource) -> Result<(), InternalError> {
        let dealer = source.id().to_owned();
        let feed = source.feed.name.clone();
        let state = self.store.feed_state(&dealer, &feed)?;
        let now = self.clock.now();
        let age = now.duration_since(state.taken_at.unwrap_or(self.since));
        let is_stale = source.feed.stale_after.is_some_and(|most| age > most);
        if is_stale == state.stale_since.is_some() {
            return Ok(());
        }
        if is_stale {
            let hours = age.as_hours();
            tracing::warn!(%dealer, %feed, hours, "a feed is stale: none was taken for longer than it may be");
        }
        let since = is_stale.then_some(now);
        self.store.write_blocking(move |tx| tx.feed_is_stale(&dealer, &feed, since))
    }
}

/// Clears a dealer's flag when it is dropped, so that the next check can run.
struct Free(Arc<AtomicBool>);

impl Drop for Free {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

/// Logs the result of a run.
fn log_run(run: &FeedRun) {
    let FeedRun { run_id, dealer_id: dealer, feed, outcome, .. } = run;
    let why = run.message.as_deref().unwrap_or_default();
    match outcome {
        FeedOutcome::Taken => tracing::info!(%dealer, %feed, run = %run_id, "a feed was taken"),
        FeedOutcome::Held | FeedOutcome::Unreadable | FeedOutcome::Failed => {
            tracing::warn!(
                %dealer, %feed, run = %run_id, %outcome, why,
                "a feed was not taken; tradepost feeds show tells more"
            );
        }
    }
}
