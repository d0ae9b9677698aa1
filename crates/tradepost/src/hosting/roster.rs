//! Who answers now: the dealers of the file and those of the store. What has changed in the store is opened
//! and takes its place, everybody else stays as they are.

use std::collections::BTreeMap;
use std::sync::Arc;

use tradepost_server::fault::Fault;
use tradepost_store::{HostedDealer, HostedState};

use super::{Fixed, read_kept, usable};
use crate::aap::seller::{Ground, Seller, erase_old};
use crate::config::Dealer;

/// From how many on dealers are opened beside each other.
const MANY: usize = 32;

/// How many at once: most wait for a commit, which one makes for all of them.
const AT_ONCE: usize = 16;

/// The dealers of a process.
#[derive(Debug)]
pub struct Roster {
    fixed: Fixed,
    /// Those of the file, in its order.
    file: Vec<Arc<Seller>>,
    hosted: BTreeMap<String, Arc<Seller>>,
    /// Those that were removed, whose leads are still erased when their time has come.
    removed: BTreeMap<String, Arc<Dealer>>,
    /// Those that could not be opened, and are tried again.
    failed: BTreeMap<String, HostedDealer>,
    /// Up to which change of the store it goes.
    revision: i64,
}

impl Roster {
    /// The dealers of the file alone.
    ///
    /// # Errors
    /// When one cannot be opened.
    pub fn open(fixed: Fixed, dealers: Vec<Dealer>, ground: &Ground) -> Result<Self, Fault> {
        let file = open_file(dealers, ground)?;
        let (hosted, removed, failed) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Ok(Self { fixed, file, hosted, removed, failed, revision: 0 })
    }

    /// All of them: first those of the file, whose hosts are theirs, then the others by id.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Seller>> {
        self.file.iter().chain(self.hosted.values()).cloned().collect()
    }

    /// Puts other dealers in the place of those of the file.
    ///
    /// # Errors
    /// When one cannot be opened; then everything stays.
    pub fn replace_file(
        &self,
        fixed: Fixed,
        dealers: Vec<Dealer>,
        ground: &Ground,
    ) -> Result<Self, Fault> {
        if let Some(id) = self.hosted.keys().find(|id| fixed.has(id)) {
            let why = format!("dealer {id} is hosted; remove it there, or take it out of the file");
            return Err(Fault::new("reading the dealers of the file", why));
        }
        for seller in self.hosted.values() {
            if let Some(host) = seller.dealer.hosts.iter().find(|it| fixed.hosts.contains(it)) {
                let id = &seller.dealer.terms.id;
                let why = format!("the host {host} is that of the hosted dealer {id}");
                return Err(Fault::new("reading the dealers of the file", why));
            }
        }
        let file = open_file(dealers, ground)?;
        let (hosted, removed) = (self.hosted.clone(), self.removed.clone());
        let failed = self.failed.clone();
        // What holds for all dealers is in each of them: where it is another, all are read again.
        let revision = if fixed.process == self.fixed.process { self.revision } else { 0 };
        Ok(Self { fixed, file, hosted, removed, failed, revision })
    }

    /// What the store says by now; `None` when it says nothing new. A dealer that cannot be opened stays
    /// as it was, and the log says why; one that is suspended is gone then.
    ///
    /// # Errors
    /// When the store fails.
    pub fn follow(&self, ground: &Ground) -> Result<Option<Self>, Fault> {
        let changed = ground.store.hosted_since(self.revision)?;
        if changed.is_empty() && self.failed.is_empty() {
            return Ok(None);
        }
        let revision = changed.last().map_or(self.revision, |last| last.revision);
        let (mut hosted, mut removed) = (self.hosted.clone(), self.removed.clone());
        let mut failed = self.failed.clone();
        let is_news = !changed.is_empty();
        // Whoever has changed is tried once, with what is new.
        changed.iter().for_each(|known| drop(failed.remove(&known.dealer_id)));
        let again: Vec<_> = std::mem::take(&mut failed).into_values().collect();
        let mut to_open = Vec::with_capacity(changed.len());
        for known in again.into_iter().chain(changed) {
            let id = &known.dealer_id;
            let is_new = known.revision > self.revision;
            if known.state != HostedState::Removed {
                removed.remove(id);
                if self.fixed.has(id) {
                    if is_new {
                        tracing::error!(dealer = %id, "the file has a seller of this id; the hosted one is not served");
                    }
                    // Tried again, so that it is served when the file gives its id up.
                    failed.insert(id.clone(), known);
                    continue;
                }
            }
            match read_kept(&known, self.fixed.process) {
                Ok(dealer) if known.state == HostedState::Removed => {
                    hosted.remove(id);
                    removed.insert(id.clone(), Arc::new(dealer));
                }
                Ok(dealer) => {
                    if is_new {
                        self.tell_of_hosts(&dealer);
                    }
                    to_open.push((known, Arc::new(dealer)));
                }
                Err(fault) => {
                    // What it was must not go on answering for it.
                    if known.state != HostedState::Serving {
                        hosted.remove(id);
                    }
                    tracing::error!(dealer = %id, cause = %fault.chain(), "a hosted dealer cannot be read");
                }
            }
        }
        let mut opened_some = false;
        for (known, opened) in open_all(to_open, ground) {
            match opened {
                Ok(seller) => {
                    opened_some = true;
                    hosted.insert(known.dealer_id, Arc::new(seller));
                }
                Err(fault) => {
                    let dealer = &known.dealer_id;
                    // Who is to be silent must not go on answering because its
                    // files cannot be read.
                    if known.state == HostedState::Suspended {
                        hosted.remove(dealer);
                    }
                    if known.revision > self.revision {
                        let cause = fault.chain();
                        tracing::error!(%dealer, %cause, "a hosted dealer cannot be opened; it is tried again");
                    }
                    failed.insert(known.dealer_id.clone(), known);
                }
            }
        }
        let (fixed, file) = (self.fixed.clone(), self.file.clone());
        let fresh = Self { fixed, file, hosted, removed, failed, revision };
        // What has failed once more is no news that anybody would have to take over.
        Ok((is_news || opened_some).then_some(fresh))
    }

    /// Erases what the removed dealers keep no longer of leads, also of those that nobody was told of: there
    /// is nobody left who could. The leads of one that the file has again are its seller's.
    pub fn tidy(&self, ground: &Ground) {
        let now = ground.means.clock.now();
        for (id, dealer) in self.removed.iter().filter(|(id, _)| !self.fixed.has(id)) {
            if let Err(fault) = erase_old(&ground.store, &dealer.terms, true, now) {
                let cause = fault.chain();
                tracing::error!(dealer = %id, %cause, "old leads of a removed dealer could not be erased");
            }
        }
    }

    /// Says which hosts of a hosted dealer lead to a seller of the file.
    fn tell_of_hosts(&self, dealer: &Dealer) {
        let id = &dealer.terms.id;
        for host in dealer.hosts.iter().filter(|it| self.fixed.hosts.contains(it)) {
            tracing::error!(dealer = %id, %host, "the file has this host; the hosted dealer is not reached there");
        }
    }

    /// How many hosted dealers there are.
    #[must_use]
    pub fn hosted(&self) -> usize {
        self.hosted.len()
    }
}

fn open_file(dealers: Vec<Dealer>, ground: &Ground) -> Result<Vec<Arc<Seller>>, Fault> {
    let open = |dealer| Seller::open(&Arc::new(dealer), false, ground).map(Arc::new);
    dealers.into_iter().map(open).collect()
}

type Opened = (HostedDealer, Result<Seller, Fault>);

fn open_all(dealers: Vec<(HostedDealer, Arc<Dealer>)>, ground: &Ground) -> Vec<Opened> {
    let open = |(known, dealer): (HostedDealer, Arc<Dealer>)| {
        let is_suspended = known.state == HostedState::Suspended;
        let opened = usable(&dealer)
            .map_err(|why| Fault::new("opening a hosted dealer", why.problems.to_string()))
            .and_then(|()| Seller::open(&dealer, is_suspended, ground));
        (known, opened)
    };
    if dealers.len() < MANY {
        return dealers.into_iter().map(open).collect();
    }
    let size = dealers.len().div_ceil(AT_ONCE);
    let mut parts: Vec<Vec<_>> = Vec::with_capacity(AT_ONCE);
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
            Err(panic) => std::panic::resume_unwind(panic),
        });
        opened.flatten().collect()
    })
}
