//! One run of a feed, from its bytes to the inventory: read, compared, taken or held back, and kept
//! with its report. Nothing changes unless all of it is taken.

use std::collections::HashSet;
use std::fs::File;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tradepost_dealer::import::{self, FeedReport, FeedTarget, FeedUnit, Units};
use tradepost_server::clock::Clock;
use tradepost_server::fault::InternalError;
use tradepost_store::{FeedOutcome, FeedRun, Replacement, Store, StoreTransaction};
use tradepost_wire::json::{Value, json};

use super::FeedSource;
use super::folder::FoundFile;
use super::guard::Guard;
use super::pull::PullAnswer;
use crate::config::feeds::Extent;

/// For how long a run keeps others away unless it says that it goes on: a process that ends in the middle
/// of one keeps them away no longer.
const LEASE: SignedDuration = SignedDuration::from_mins(5);

/// How often a run that goes on says so.
const RENEWED: Duration = Duration::from_mins(1);

/// What becomes of a feed that was read.
struct FeedVerdict {
    outcome: FeedOutcome,
    message: Option<String>,
    report: Value,
}

/// Works on the inventories of dealers while nobody else does. `None` when somebody works on one of them.
///
/// # Errors
/// When the store fails, or the work does.
pub fn leased<T>(
    store: &Store,
    clock: &Clock,
    dealers: &[&str],
    work: impl FnOnce() -> Result<T, InternalError>,
) -> Result<Option<T>, InternalError> {
    let holder = uuid::Uuid::now_v7().to_string();
    // In one order, whoever asks: two that want the same ones do not wait for each other.
    let mut ids: Vec<String> = dealers.iter().map(|dealer| (*dealer).to_owned()).collect();
    ids.sort_unstable();
    let lease = || {
        let now = clock.now();
        let until = now.checked_add(LEASE).unwrap_or(Timestamp::MAX);
        let (ids, who) = (ids.clone(), holder.clone());
        store.write_blocking(move |tx| {
            for id in &ids {
                if !tx.lease_feeds(id, &who, now, until)? {
                    // Of several all or none: whoever has half of them waits for nobody,
                    // and others would wait for him.
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
            // It ends with the work, when nobody is left to say anything.
            while ended.recv_timeout(RENEWED) == Err(RecvTimeoutError::Timeout) {
                match renew() {
                    Ok(true) => {}
                    Ok(false) => tracing::warn!("another process took the lease of a feed"),
                    Err(fault) => {
                        tracing::warn!(cause = %fault.chain(), "the lease of a feed was not renewed");
                    }
                }
            }
        });
        // Dropped with the work, even by a panic: the other thread ends by
        // that, and the scope waits for it.
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

/// Takes what comes of a feed.
#[derive(Debug, Clone, Copy)]
pub struct FeedResultSink<'a> {
    /// Where its inventory is.
    pub store: &'a Store,
    /// What time it is.
    pub clock: &'a Clock,
    /// The feed.
    pub source: &'a FeedSource,
}

impl FeedResultSink<'_> {
    /// Runs a feed that is a file in a folder.
    ///
    /// # Errors
    /// When the store fails.
    pub fn file(&self, found: &FoundFile) -> Result<FeedRun, InternalError> {
        let began_at = self.clock.now();
        let judged = match File::open(&found.path) {
            Ok(file) => self.judge(file, self.source.feed.guard, began_at)?,
            Err(error) => failed(format!("the file cannot be read: {}", error.kind())),
        };
        self.end((began_at, found.name.clone()), judged, Some(found.mark.clone()))
    }

    /// Runs a feed that was fetched; `None` when there is nothing new.
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
                let (dealer, feed) =
                    (self.source.dealer.terms.id.clone(), self.source.feed.name.clone());
                self.store
                    .write_blocking(move |tx| tx.mark_feed(&dealer, &feed, None, began_at))?;
                return Ok(None);
            }
            Ok(PullAnswer::Feed(file, mark)) => {
                let judged = self.judge(file, self.source.feed.guard, began_at)?;
                // What was not taken is asked for again, whether or not it has changed.
                let is_taken = judged.outcome == FeedOutcome::Taken;
                (judged, is_taken.then_some(mark))
            }
            Err(why) => (failed(why), None),
        };
        self.end((began_at, "pull".to_owned()), judged, mark).map(Some)
    }

    /// Runs a feed whose bytes are here, as somebody permits.
    ///
    /// # Errors
    /// When the store fails.
    pub fn bytes(
        &self,
        (file, name): (File, &str),
        guard: Guard,
    ) -> Result<FeedRun, InternalError> {
        let began_at = self.clock.now();
        let judged = self.judge(file, guard, began_at)?;
        self.end((began_at, name.to_owned()), judged, None)
    }

    fn judge(
        &self,
        file: File,
        guard: Guard,
        now: Timestamp,
    ) -> Result<FeedVerdict, InternalError> {
        let Self { store, source, .. } = *self;
        let target = FeedTarget::of(&source.dealer.terms);
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
        let units = match source.feed.extent {
            Extent::Full => feed.units,
            Extent::Delta => with_the_others(store, &dealer, feed.units)?,
        };
        // First without changing anything. Nobody else changes it in between, because of the lease.
        let planned = store.replace_inventory(&dealer, &units, now, true)?;
        if let Some(objection) = objection(guard, source.feed.extent, &planned, &feed.report) {
            let parts = [vec![objection.message], objection.lines].concat();
            return Ok(FeedVerdict {
                outcome: FeedOutcome::Held,
                message: Some(format!("{}; {}", parts.join("; "), objection.hint)),
                report: report(&planned, &feed.report),
            });
        }
        let done = store.replace_inventory(&dealer, &units, now, false)?;
        // They are read again as what searches need, and both at once would be twice the room.
        drop(units);
        let lifetime = source.dealer.terms.tombstone_lifetime;
        if let Err(fault) = store.ready_inventory(&dealer, now, lifetime) {
            // It is the inventory all the same, and whoever asks for it makes what is missing.
            tracing::warn!(%dealer, cause = %fault.chain(), "an inventory could not be made ready");
        }
        let report = report(&done, &feed.report);
        Ok(FeedVerdict { outcome: FeedOutcome::Taken, message: None, report })
    }

    /// Keeps a run.
    fn end(
        &self,
        (began_at, from): (Timestamp, String),
        judged: FeedVerdict,
        mark: Option<String>,
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
            // The inventory is on disk already. Where the process ends before this, the feed is not
            // marked, is taken again, and finds nothing changed.
            tx.mark_feed(&kept.dealer_id, &kept.feed, mark.as_deref(), kept.ended_at)?;
            if kept.outcome == FeedOutcome::Taken {
                tx.feed_is_fresh(&kept.dealer_id, &kept.feed, kept.began_at)?;
            }
            tx.end_feed_run(&kept)
        })?;
        Ok(run)
    }
}

fn failed(why: String) -> FeedVerdict {
    FeedVerdict { outcome: FeedOutcome::Failed, message: Some(why), report: Value::Null }
}

/// A part may say of nothing but sold units, and of vehicles of which nobody has taken a photo yet.
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

/// The units of a part, and those on offer of which it says nothing, as fresh as they were.
fn with_the_others(store: &Store, dealer: &str, mut units: Units) -> Result<Units, InternalError> {
    let (mut ids, mut vins) = (HashSet::new(), HashSet::new());
    for unit in &units {
        ids.extend(unit.vehicle.vehicle_id);
        vins.extend(unit.vehicle.vin);
    }
    let is_named = |of: &Option<String>, named: &HashSet<String>| {
        of.as_ref().is_some_and(|name| named.contains(name))
    };
    store.each_listing(dealer, |other| {
        if !is_named(&other.vehicle_id, &ids) && !is_named(&other.vin, &vins) {
            units.push(&FeedUnit { vehicle: other, sold: false });
        }
    })?;
    Ok(units)
}

fn report(replacement: &Replacement, report: &FeedReport) -> Value {
    json!({"inventory": replacement, "report": report})
}
