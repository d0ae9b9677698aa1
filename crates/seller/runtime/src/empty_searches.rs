//! Records searches that found nothing apart from the requests: no search waits for it, and a flood
//! costs one short transaction a second.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use tradepost_dealer::empty_search::EmptySearchText;
use tradepost_server::clock::Clock;
use tradepost_server::fault::InternalError;
use tradepost_store::Store;
use tradepost_store::empty_searches::{EmptySearch, EmptySearchCount};

use crate::recorder::{DeletionTimer, oldest_kept, write_regularly};

/// Maximum number of unwritten texts; searches with others are only counted.
const MAX_UNWRITTEN: usize = 500;

/// Recorder of searches that found nothing.
#[derive(Debug)]
pub struct EmptySearchRecorder {
    store: Arc<Store>,
    clock: Clock,
    waiting: Mutex<UnwrittenSearches>,
}

/// Searches that are not written yet.
#[derive(Debug, Default)]
struct UnwrittenSearches {
    /// Ordered, so that processes with one database update them in one order.
    counts: BTreeMap<CountedText, UnwrittenCount>,
    deletions: DeletionTimer,
}

/// What searches are counted by.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CountedText {
    dealer_id: String,
    day: Timestamp,
    /// `None` for those that are only counted.
    text: Option<EmptySearchText>,
}

/// Number of searches with a text, and the latest reading of it.
#[derive(Debug, Default)]
struct UnwrittenCount {
    asked: i64,
    reading: Option<EmptySearchText>,
}

impl EmptySearchRecorder {
    /// Creates a recorder for a store.
    #[must_use]
    pub fn new(store: Arc<Store>, clock: Clock) -> Self {
        Self { store, clock, waiting: Mutex::default() }
    }

    /// Notes a search of a dealer, on the day that began at a moment.
    pub fn note(&self, dealer_id: &str, day: Timestamp, search: EmptySearch) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let EmptySearch { text, reading } = search;
        let dealer_id = dealer_id.to_owned();
        let mut counted = CountedText { dealer_id, day, text: Some(text) };
        let mut reading = Some(reading);
        if waiting.counts.len() >= MAX_UNWRITTEN && !waiting.counts.contains_key(&counted) {
            counted.text = None;
            reading = None;
        }
        let count = waiting.counts.entry(counted).or_default();
        count.asked += 1;
        count.reading = reading;
    }

    /// Writes what is queued, and deletes old searches at intervals.
    ///
    /// # Errors
    /// Fails when the store fails; the queued searches are lost then, because they must not pile
    /// up.
    pub async fn write(&self) -> Result<(), InternalError> {
        let now = self.clock.now();
        let (counts, forgets) = self.take(now);
        if counts.is_empty() && !forgets {
            return Ok(());
        }
        let since = oldest_kept(now);
        let job = move |tx: &tradepost_store::StoreTransaction<'_>| {
            tx.count_empty_searches(&counts)?;
            if forgets { tx.forget_empty_searches(since) } else { Ok(()) }
        };
        self.store.write(job).await
    }

    /// Returns what is queued, and true when old searches are to be deleted.
    fn take(&self, now: Timestamp) -> (Vec<EmptySearchCount>, bool) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let forgets = waiting.deletions.is_due(now);
        let counts = std::mem::take(&mut waiting.counts).into_iter();
        let counts = counts.map(|(counted, UnwrittenCount { asked, reading })| {
            let CountedText { dealer_id, day, text } = counted;
            let search = text.zip(reading);
            let search = search.map(|(text, reading)| EmptySearch { text, reading });
            EmptySearchCount { dealer_id, day, search, asked }
        });
        (counts.collect(), forgets)
    }

    /// Writes every second until `stopped` resolves, and then once more.
    pub async fn run(self: Arc<Self>, stopped: impl Future<Output = ()>) {
        write_regularly(stopped, "searches that found nothing could not be stored", async || {
            self.write().await
        })
        .await;
    }
}
