//! The dealers that a process serves: those of the file and those of the store. A dealer that has changed
//! in the store is opened anew; all others are untouched.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use tradepost_server::fault::InternalError;
use tradepost_store::{HostedDealer, HostedState};

use super::{Fixed, read_kept, usable};
use crate::aap::seller::{DealerAgent, DealerDeps, erase_old};
use crate::config::DealerConfig;

/// Number of dealers from which on they are opened concurrently.
const MIN_CONCURRENT_DEALERS: usize = 32;

/// Number of threads that open dealers. Most of them wait for a commit, which one thread makes for all.
const OPENING_THREADS: usize = 16;

/// The dealers of a process. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Roster {
    fixed: Arc<Fixed>,
    /// Dealers of the file, in its order.
    file: Arc<[Arc<DealerAgent>]>,
    hosted: Arc<BTreeMap<String, Arc<DealerAgent>>>,
    /// Removed dealers, each with the revision of its removal. Their leads are still erased at the end of
    /// their retention.
    removed: Arc<BTreeMap<String, (Arc<DealerConfig>, i64)>>,
    /// Dealers that could not be opened, and are retried.
    failed: Arc<BTreeMap<String, Arc<HostedDealer>>>,
    /// Last revision of the store that is applied.
    revision: i64,
}

impl Roster {
    /// Opens the dealers of the file alone.
    ///
    /// # Errors
    /// When one cannot be opened.
    pub fn open(
        fixed: Arc<Fixed>,
        dealers: Vec<DealerConfig>,
        deps: &DealerDeps,
    ) -> Result<Self, InternalError> {
        let file = open_file(dealers, deps)?;
        let hosted = Arc::default();
        let removed = Arc::default();
        let failed = Arc::default();
        Ok(Self { fixed, file, hosted, removed, failed, revision: 0 })
    }

    /// Returns all dealers: first those of the file, whose hosts have priority, then the hosted ones by id.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<DealerAgent>> {
        self.file.iter().chain(self.hosted.values()).cloned().collect()
    }

    /// Replaces the dealers of the file.
    ///
    /// # Errors
    /// When one cannot be opened; then nothing changes.
    pub fn replace_file(
        &self,
        fixed: Arc<Fixed>,
        dealers: Vec<DealerConfig>,
        deps: &DealerDeps,
    ) -> Result<Self, InternalError> {
        if let Some(id) = self.hosted.keys().find(|id| fixed.has(id)) {
            let why = format!("dealer {id} is hosted; remove it there, or take it out of the file");
            return Err(InternalError::new("reading the dealers of the file", why));
        }
        for seller in self.hosted.values() {
            if let Some(host) =
                seller.dealer.hosts.iter().find(|host| fixed.sellers.hosts.contains(host))
            {
                let id = &seller.dealer.terms.id;
                let why = format!("the host {host} is that of the hosted dealer {id}");
                return Err(InternalError::new("reading the dealers of the file", why));
            }
        }
        let file = open_file(dealers, deps)?;
        // The settings for all dealers are part of each dealer: when they change, all are read again.
        let revision = if fixed.process == self.fixed.process { self.revision } else { 0 };
        Ok(Self { fixed, file, revision, ..self.clone() })
    }

    /// Applies the changes in the store; `None` when there are none. A dealer that cannot be opened stays
    /// as it was, and the log has the reason; one that is suspended is no longer served then.
    ///
    /// # Errors
    /// When the store fails.
    pub fn follow(&self, deps: &DealerDeps) -> Result<Option<Self>, InternalError> {
        let changed = deps.store.hosted_since(self.revision)?;
        if changed.is_empty() && self.failed.is_empty() {
            return Ok(None);
        }
        let is_news = !changed.is_empty();
        let mut fresh = self.clone();
        fresh.revision = changed.last().map_or(self.revision, |last| last.revision);
        let to_open = fresh.sort(changed, self.revision);
        let opened_some = fresh.open_all(to_open, self.revision, deps);
        Ok((is_news || opened_some).then_some(fresh))
    }

    /// Sorts the dealers that have changed after a revision, or are retried. Returns those that have to
    /// be opened.
    fn sort(&mut self, changed: Vec<HostedDealer>, before: i64) -> Vec<ToOpen> {
        // A dealer that has changed is opened once, with its new document.
        let is_new: HashSet<&str> = changed.iter().map(|known| known.dealer_id.as_str()).collect();
        let again = self.failed.values().filter(|known| !is_new.contains(known.dealer_id.as_str()));
        let again: Vec<_> = again.cloned().collect();
        let mut to_open = Vec::with_capacity(changed.len());
        let mut failed = BTreeMap::new();
        for known in again.into_iter().chain(changed.into_iter().map(Arc::new)) {
            let id = &known.dealer_id;
            let is_new = known.revision > before;
            if known.state != HostedState::Removed {
                take(&mut self.removed, id);
                if self.fixed.has(id) {
                    if is_new {
                        tracing::error!(dealer = %id, "the file has a seller of this id; the hosted one is not served");
                    }
                    // Retried, so that it is served once the file no longer has its id.
                    failed.insert(id.clone(), known);
                    continue;
                }
            }
            match read_kept(&known, self.fixed.process) {
                Ok(dealer) if known.state == HostedState::Removed => {
                    take(&mut self.hosted, id);
                    let removed = (Arc::new(dealer), known.revision);
                    Arc::make_mut(&mut self.removed).insert(id.clone(), removed);
                }
                Ok(dealer) => {
                    if is_new {
                        self.tell_of_hosts(&dealer);
                    }
                    to_open.push((known, Arc::new(dealer)));
                }
                Err(fault) => {
                    // A dealer that is suspended or removed must not be served from its old document.
                    if known.state != HostedState::Serving {
                        take(&mut self.hosted, id);
                    }
                    tracing::error!(dealer = %id, cause = %fault.chain(), "a hosted dealer cannot be read");
                }
            }
        }
        self.failed = Arc::new(failed);
        to_open
    }

    /// Opens dealers. Returns true when at least one could be opened.
    fn open_all(&mut self, dealers: Vec<ToOpen>, before: i64, deps: &DealerDeps) -> bool {
        let mut opened_some = false;
        for (known, opened) in open_all(dealers, deps) {
            let id = known.dealer_id.clone();
            match opened {
                Ok(seller) => {
                    opened_some = true;
                    Arc::make_mut(&mut self.hosted).insert(id, Arc::new(seller));
                }
                Err(fault) => {
                    // A suspended dealer must stop even when its files cannot be read.
                    if known.state == HostedState::Suspended {
                        take(&mut self.hosted, &id);
                    }
                    if known.revision > before {
                        let cause = fault.chain();
                        tracing::error!(dealer = %id, %cause, "a hosted dealer cannot be opened; it is tried again");
                    }
                    Arc::make_mut(&mut self.failed).insert(id, known);
                }
            }
        }
        opened_some
    }

    /// Returns true when a dealer should be served but could not be opened yet.
    #[must_use]
    pub fn waits(&self, id: &str) -> bool {
        self.failed.get(id).is_some_and(|known| known.state == HostedState::Serving)
    }

    /// Erases the leads of removed dealers whose retention has ended, also leads that no destination has
    /// received: no delivery can follow. The leads of a dealer that the file has again belong to that
    /// dealer.
    pub fn tidy(&self, deps: &DealerDeps) {
        let now = deps.means.clock.now();
        let removed = self.removed.iter().filter(|(id, _)| !self.fixed.has(id));
        for (id, (dealer, revision)) in removed {
            // This roster may be slightly out of date, so the store checks the revision.
            let removed_by = Some(*revision);
            if let Err(fault) = erase_old(&deps.store, &dealer.terms, true, removed_by, now) {
                let cause = fault.chain();
                tracing::error!(dealer = %id, %cause, "old leads of a removed dealer could not be erased");
            }
        }
    }

    /// Logs the hosts of a hosted dealer that belong to a dealer or publisher of the file.
    fn tell_of_hosts(&self, dealer: &DealerConfig) {
        let id = &dealer.terms.id;
        for host in dealer.hosts.iter().filter(|host| self.fixed.sellers.hosts.contains(host)) {
            tracing::error!(dealer = %id, %host, "the file has this host; the hosted dealer is not reached there");
        }
    }

    /// Returns the number of hosted dealers.
    #[must_use]
    pub fn hosted(&self) -> usize {
        self.hosted.len()
    }
}

/// Removes an entry if there is one; the map is copied only for a change, because others share it.
fn take<T: Clone>(map: &mut Arc<BTreeMap<String, T>>, id: &str) {
    if map.contains_key(id) {
        Arc::make_mut(map).remove(id);
    }
}

fn open_file(
    dealers: Vec<DealerConfig>,
    deps: &DealerDeps,
) -> Result<Arc<[Arc<DealerAgent>]>, InternalError> {
    let open = |dealer| DealerAgent::open(&Arc::new(dealer), false, deps).map(Arc::new);
    dealers.into_iter().map(open).collect()
}

type ToOpen = (Arc<HostedDealer>, Arc<DealerConfig>);
type Opened = (Arc<HostedDealer>, Result<DealerAgent, InternalError>);

fn open_all(dealers: Vec<ToOpen>, deps: &DealerDeps) -> Vec<Opened> {
    let open = |(known, dealer): ToOpen| {
        let is_suspended = known.state == HostedState::Suspended;
        let opened = usable(&dealer)
            .map_err(|why| InternalError::new("opening a hosted dealer", why.to_string()))
            .and_then(|()| DealerAgent::open(&dealer, is_suspended, deps));
        (known, opened)
    };
    if dealers.len() < MIN_CONCURRENT_DEALERS {
        return dealers.into_iter().map(open).collect();
    }
    let size = dealers.len().div_ceil(OPENING_THREADS);
    let mut parts: Vec<Vec<_>> = Vec::with_capacity(OPENING_THREADS);
    let mut dealers = dealers.into_iter().peekable();
    while dealers.peek().is_some() {
        parts.push(dealers.by_ref().take(size).collect());
    }
    std::thread::scope(|scope| {
        let work =
            |part: Vec<_>| scope.spawn(move || part.into_iter().map(open).collect::<Vec<_>>());
        let threads: Vec<_> = parts.into_iter().map(work).collect();
        let opened = threads.into_iter().map(|thread| match thread.join() {
            Ok(opened) => opened,
            // As on this thread, so that no dealer is left out unnoticed.
            Err(panic) => std::panic::resume_unwind(panic),
        });
        opened.flatten().collect()
    })
}
