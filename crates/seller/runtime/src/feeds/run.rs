//! One run of a feed from its bytes to the inventory: it is read, compared, stored or held back, and
//! recorded with its report. The inventory changes completely or not at all.

use std::collections::HashSet;
use std::fs::File;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tradepost_admin::feeds::FeedRunRecord;
use tradepost_dealer::import::{self, FeedListing, FeedReport, FeedTarget, PackedListings};
use tradepost_document::json::{Value, json};
use tradepost_server::clock::Clock;
use tradepost_server::fault::InternalError;
use tradepost_store::{FeedOutcome, FeedRun, Replacement, Store, StoreTransaction};

use super::FeedSource;
use super::folder::FoundFile;
use super::pull::PullAnswer;
use crate::config::feeds::Extent;
use crate::config::feeds::Guard;

/// Duration of a lease unless it is renewed. When a process ends during a run, the lease ends after this
/// time.
const LEASE_DURATION: SignedDuration = SignedDuration::from_mins(5);

/// Interval at which a run renews its lease.
const RENEWAL_INTERVAL: Duration = Duration::from_mins(1);

/// Result of a feed that was read.
struct FeedVerdict {
    outcome: FeedOutcome,
    message: Option<String>,
    report: Value,
}

/// Runs `work` with a lease on the inventories of these dealers. Returns `None` when one of them is
/// leased already.
///
/// # Errors
/// When the store or the work fails.
pub fn leased<T>(
    store: &Store,
    clock: &Clock,
    dealers: &[&str],
    work: impl FnOnce() -> Result<T, InternalError>,
) -> Result<Option<T>, InternalError> {
    let holder = uuid::Uuid::now_v7().to_string();
    // In one order for all callers, so that two that want the same dealers do not block each other.
    let mut ids: Vec<String> = dealers.iter().map(|dealer| (*dealer).to_owned()).collect();
    ids.sort_unstable();
    let lease = || {
        let now = clock.now();
        let until = now.checked_add(LEASE_DURATION).unwrap_or(Timestamp::MAX);
        let ids = ids.clone();
        let who = holder.clone();
        store.write_blocking(move |tx| {
            for id in &ids {
                if !tx.lease_feeds(id, &who, now, until)? {
                    // All or none: a caller that kept some of the leases would block others without
                    // working.
                    release(tx, &ids, &who)?;
                    return Ok(false);
                }
            }
            Ok(true)
        })
    };
    if !lease()? {
        return Ok(None);
    }
    let (end, ended) = mpsc::channel::<()>();
    let renew = &lease;
    let done = std::thread::scope(|scope| {
        scope.spawn(move || {
            // The channel closes when the work ends, and with it this thread.
            while ended.recv_timeout(RENEWAL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                match renew() {
                    Ok(true) => {}
                    Ok(false) => tracing::warn!("another process took the lease of a feed"),
                    Err(fault) => {
                        tracing::warn!(cause = %fault.chain(), "the lease of a feed was not renewed");
                    }
                }
            }
        });
        // Dropped with the work, even by a panic: that ends the other thread, for which the scope waits.
        let _end = end;
        work()
    });
    store.write_blocking(move |tx| release(tx, &ids, &holder))?;
    done.map(Some)
}

fn release(
    tx: &StoreTransaction<'_>,
    dealers: &[String],
    holder: &str,
) -> Result<(), InternalError> {
    dealers.iter().try_for_each(|dealer| tx.release_feeds(dealer, holder))
}

/// Runs a feed and stores its result.
#[derive(Debug, Clone, Copy)]
pub struct FeedResultSink<'a> {
    /// The store with the inventory.
    pub store: &'a Store,
    /// The clock.
    pub clock: &'a Clock,
    /// The feed.
    pub source: &'a FeedSource,
}

impl FeedResultSink<'_> {
    /// Runs a feed from a file in a folder.
    ///
    /// # Errors
    /// When the store fails.
    pub fn file(&self, found: &FoundFile) -> Result<FeedRun, InternalError> {
        let began_at = self.clock.now();
        let judged = match File::open(&found.path) {
            Ok(file) => self.judge(file, self.source.feed.guard, began_at)?,
            Err(error) => failed(format!("the file cannot be read: {}", error.kind())),
        };
        self.end(began_at, found.name.clone(), judged, Some(found.mark.clone()), None)
    }

    /// Runs a feed that was downloaded; `None` when it has not changed.
    ///
    /// # Errors
    /// When the store fails.
    pub fn answer(
        &self,
        fetched: Result<PullAnswer, String>,
    ) -> Result<Option<FeedRun>, InternalError> {
        let began_at = self.clock.now();
        let (judged, mark) = match fetched {
            Ok(PullAnswer::Unchanged) => {
                let dealer = self.source.dealer.terms.id.clone();
                let feed = self.source.feed.name.clone();
                self.store
                    .write_blocking(move |tx| tx.mark_feed(&dealer, &feed, None, began_at))?;
                return Ok(None);
            }
            Ok(PullAnswer::Feed(file, mark)) => {
                let judged = self.judge(file, self.source.feed.guard, began_at)?;
                // A feed that was not stored is downloaded again, also when it has not changed.
                let is_taken = judged.outcome == FeedOutcome::Taken;
                (judged, is_taken.then_some(mark))
            }
            Err(why) => (failed(why), None),
        };
        self.end(began_at, "pull".to_owned(), judged, mark, None).map(Some)
    }

    /// Runs a feed from an open file, with the caller's limits. `record` is that of a person who has
    /// started the run.
    ///
    /// # Errors
    /// When the store fails.
    pub fn bytes(
        &self,
        file: File,
        name: &str,
        guard: Guard,
        record: Option<FeedRunRecord>,
    ) -> Result<FeedRun, InternalError> {
        let began_at = self.clock.now();
        let judged = self.judge(file, guard, began_at)?;
        self.end(began_at, name.to_owned(), judged, None, record)
    }

    fn judge(
        &self,
        file: File,
        guard: Guard,
        now: Timestamp,
    ) -> Result<FeedVerdict, InternalError> {
        let Self { store, source, .. } = *self;
        let target = FeedTarget::from_dealer(&source.dealer.terms);
        let dealer = target.dealer_id.clone();
        let sorted = match import::read_as(file, &[target], source.mapping.as_ref(), now) {
            Ok(sorted) => sorted,
            Err(unreadable) => {
                let message = format!("{unreadable}; {}", unreadable.hint);
                let outcome = FeedOutcome::Unreadable;
                return Ok(FeedVerdict { outcome, message: Some(message), report: Value::Null });
            }
        };
        let Some(feed) = sorted.feeds.into_iter().next() else {
            return Err(InternalError::new("reading a feed", "there is none for its dealer"));
        };
        let listings = match source.feed.extent {
            Extent::Full => feed.listings,
            Extent::Delta => with_the_others(store, &dealer, feed.listings)?,
        };
        // First without changing anything. The lease prevents changes in between.
        let planned = store.replace_inventory(&dealer, &listings, now, true)?;
        if let Some(objection) = objection(guard, source.feed.extent, &planned, &feed.report) {
            let parts = [vec![objection.message], objection.lines].concat();
            return Ok(FeedVerdict {
                outcome: FeedOutcome::Held,
                message: Some(format!("{}; {}", parts.join("; "), objection.hint)),
                report: report(&planned, &feed.report),
            });
        }
        let done = store.replace_inventory(&dealer, &listings, now, false)?;
        // The index reads them again from the store, and both at once would need twice the memory.
        drop(listings);
        let lifetime = source.dealer.terms.tombstone_lifetime;
        if let Err(fault) = store.ready_inventory(&dealer, now, lifetime) {
            // The inventory is stored all the same; the first request prepares what is missing.
            tracing::warn!(%dealer, cause = %fault.chain(), "an inventory could not be made ready");
        }
        let report = report(&done, &feed.report);
        Ok(FeedVerdict { outcome: FeedOutcome::Taken, message: None, report })
    }

    /// Stores a run, with the record of the person who has started it.
    fn end(
        &self,
        began_at: Timestamp,
        from: String,
        judged: FeedVerdict,
        mark: Option<String>,
        record: Option<FeedRunRecord>,
    ) -> Result<FeedRun, InternalError> {
        let run = FeedRun {
            run_id: format!("run_{}", uuid::Uuid::now_v7().simple()),
            dealer_id: self.source.dealer.terms.id.clone(),
            feed: self.source.feed.name.clone(),
            began_at,
            ended_at: self.clock.now(),
            source: from,
            outcome: judged.outcome,
            message: judged.message,
            report: judged.report.to_string(),
        };
        let kept = run.clone();
        self.store.write_blocking(move |tx| {
            // The inventory is stored already. If the process ends before this transaction, the feed has
            // no new mark, is run again, and changes nothing.
            tx.mark_feed(&kept.dealer_id, &kept.feed, mark.as_deref(), kept.ended_at)?;
            if kept.outcome == FeedOutcome::Taken {
                tx.feed_is_fresh(&kept.dealer_id, &kept.feed, kept.began_at)?;
            }
            tx.end_feed_run(&kept)?;
            match &record {
                Some(record) => record.write(tx, &kept),
                None => Ok(()),
            }
        })?;
        Ok(run)
    }
}

fn failed(why: String) -> FeedVerdict {
    FeedVerdict { outcome: FeedOutcome::Failed, message: Some(why), report: Value::Null }
}

/// Judges a feed. A partial feed may consist of sold listings only, and of vehicles without photos.
fn objection(
    guard: Guard,
    extent: Extent,
    planned: &Replacement,
    report: &FeedReport,
) -> Option<super::guard::FeedObjection> {
    match extent {
        Extent::Full => guard.objection(planned, report),
        Extent::Delta if report.accepted == 0 && report.sold > 0 => {
            let report = FeedReport { accepted: report.sold, doubts: Vec::new(), ..report.clone() };
            guard.objection(planned, &report)
        }
        Extent::Delta => guard.objection(planned, &report.clone().of_a_part()),
    }
}

/// Adds the listings on offer that a partial feed does not mention, with their age unchanged.
fn with_the_others(
    store: &Store,
    dealer: &str,
    mut listings: PackedListings,
) -> Result<PackedListings, InternalError> {
    let mut ids = HashSet::new();
    let mut vins = HashSet::new();
    for listing in &listings {
        ids.extend(listing.vehicle.vehicle_id);
        vins.extend(listing.vehicle.vin);
    }
    let is_named = |of: &Option<String>, named: &HashSet<String>| {
        of.as_ref().is_some_and(|name| named.contains(name))
    };
    store.each_listing(dealer, |other| {
        if !is_named(&other.vehicle_id, &ids) && !is_named(&other.vin, &vins) {
            listings.push(&FeedListing { vehicle: other, sold: false });
        }
    })?;
    Ok(listings)
}

fn report(replacement: &Replacement, report: &FeedReport) -> Value {
    json!({"inventory": replacement, "report": report})
}
