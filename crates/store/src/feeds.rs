//! What those who bring inventories ask of the store.

use jiff::{SignedDuration, Timestamp};
use tradepost_wire::fault::Fault;

use super::Store;
use super::tables::alerts::Notice;
use super::tables::feeds::{FeedRun, FeedState};

impl Store {
    /// Where a feed is.
    ///
    /// # Errors
    /// When the database fails, here as everywhere.
    pub fn feed_state(&self, dealer_id: &str, feed: &str) -> Result<FeedState, Fault> {
        self.read(|db| db.feed_state(dealer_id, feed))
    }

    /// The last runs of a feed, the latest first.
    ///
    /// # Errors
    /// When the database fails.
    pub fn feed_runs(
        &self,
        dealer_id: &str,
        feed: &str,
        limit: u32,
    ) -> Result<Vec<FeedRun>, Fault> {
        self.read(|db| db.feed_runs(dealer_id, feed, limit))
    }

    /// What a destination of alerts was told.
    ///
    /// # Errors
    /// When the database fails.
    pub fn noticed_alerts(&self, destination: &str) -> Result<Vec<Notice>, Fault> {
        self.read(|db| db.noticed_alerts(destination))
    }

    /// How many feeds are stale.
    ///
    /// # Errors
    /// When the database fails.
    pub fn stale_feeds(&self) -> Result<u64, Fault> {
        self.read(|db| db.stale_feeds())
    }

    /// Makes what whoever asks for a replaced inventory would have to make, and gives room back: a
    /// server finds all of it done.
    ///
    /// # Errors
    /// When the database fails, or a row cannot be read.
    pub fn ready_inventory(
        &self,
        dealer_id: &str,
        now: Timestamp,
        lifetime: SignedDuration,
    ) -> Result<(), Fault> {
        self.load_inventory(dealer_id, now, lifetime)?;
        self.cut_log()
    }
}
