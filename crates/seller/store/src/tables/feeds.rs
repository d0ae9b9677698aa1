//! Automatic feeds: the state of each, the results of its runs, and the lease for working on a dealer's inventory.

use jiff::Timestamp;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_document::words;

use super::{Database, StoreTransaction};
use crate::Store;
use crate::sql::{RowResult, SqlRow, params};

/// Number of runs that are kept for each feed.
const MAX_RUNS: u32 = 50;

words! {
    /// Outcome of a run.
    pub enum FeedOutcome {
        /// The feed is now the inventory.
        Taken = "taken",
        /// The feed looks like an accident, and a person decides.
        Held = "held",
        /// The file is not a feed.
        Unreadable = "unreadable",
        /// The feed could not be fetched.
        Failed = "failed",
    }
}

/// A run of a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedRun {
    /// Its id.
    pub run_id: String,
    /// Dealer of the feed.
    pub dealer_id: String,
    /// Name of the feed.
    pub feed: String,
    /// Time at which it began.
    pub began_at: Timestamp,
    /// Time at which it ended.
    pub ended_at: Timestamp,
    /// Name of the file, or its origin.
    pub source: String,
    /// Its outcome.
    pub outcome: FeedOutcome,
    /// Reason, unless it was taken.
    pub message: Option<String>,
    /// Changes and the result of each row, as JSON; `null` when the feed was not read.
    pub report: String,
}

/// State of a feed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeedState {
    /// Mark of the version that was last seen, as its source gives it.
    pub mark: Option<String>,
    /// Time of the last look.
    pub looked_at: Option<Timestamp>,
    /// Time at which it was last the inventory.
    pub taken_at: Option<Timestamp>,
    /// Time since which it is stale; `None` when it is not.
    pub stale_since: Option<Timestamp>,
}

const COLUMNS: &str =
    "run_id, dealer_id, feed, began_at, ended_at, source, outcome, message, report";

impl StoreTransaction<'_> {
    /// Leases work on a dealer's inventory to one holder at a time. Returns true when `holder` has the lease.
    ///
    /// # Errors
    /// When the database fails.
    pub fn lease_feeds(
        &self,
        dealer_id: &str,
        holder: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<bool, InternalError> {
        self.0.lock(dealer_id)?;
        // An expired lease is free: a holder that crashed delays the others until then, no longer.
        self.0.changes(
            "leasing the feeds",
            "INSERT INTO feed_leases (dealer_id, holder, until) VALUES ($1, $2, $4)
             ON CONFLICT (dealer_id) DO UPDATE SET holder = excluded.holder, until = excluded.until
             WHERE feed_leases.until <= $3 OR feed_leases.holder = $2",
            params![dealer_id, holder, now, until],
        )
    }

    /// Releases the lease.
    ///
    /// # Errors
    /// When the database fails.
    pub fn release_feeds(&self, dealer_id: &str, holder: &str) -> Result<(), InternalError> {
        // Only the holder's own lease: when it expired meanwhile, another may hold one.
        self.0.execute(
            "releasing the feeds",
            "DELETE FROM feed_leases WHERE dealer_id = $1 AND holder = $2",
            params![dealer_id, holder],
        )
    }

    /// Records the version of a feed that was last seen.
    ///
    /// # Errors
    /// When the database fails.
    pub fn mark_feed(
        &self,
        dealer_id: &str,
        feed: &str,
        mark: Option<&str>,
        now: Timestamp,
    ) -> Result<(), InternalError> {
        // A look without a mark keeps the former one, so that the same version is not taken again.
        self.0.execute(
            "marking a feed",
            "INSERT INTO feeds (dealer_id, feed, mark, looked_at) VALUES ($1, $2, $3, $4)
             ON CONFLICT (dealer_id, feed) DO UPDATE SET mark = coalesce(excluded.mark, feeds.mark),
                 looked_at = excluded.looked_at",
            params![dealer_id, feed, mark, now],
        )
    }

    /// Records that a feed is the inventory, or still is, at a moment.
    ///
    /// # Errors
    /// When the database fails.
    pub fn feed_is_fresh(
        &self,
        dealer_id: &str,
        feed: &str,
        at: Timestamp,
    ) -> Result<(), InternalError> {
        self.0.execute(
            "confirming a feed",
            "INSERT INTO feeds (dealer_id, feed, taken_at) VALUES ($1, $2, $3)
             ON CONFLICT (dealer_id, feed) DO UPDATE SET taken_at = excluded.taken_at,
                 stale_since = NULL",
            params![dealer_id, feed, at],
        )
    }

    /// Marks a feed as stale since a moment, or as no longer stale.
    ///
    /// # Errors
    /// When the database fails.
    pub fn feed_is_stale(
        &self,
        dealer_id: &str,
        feed: &str,
        since: Option<Timestamp>,
    ) -> Result<(), InternalError> {
        self.0.execute(
            "noting a stale feed",
            "INSERT INTO feeds (dealer_id, feed, stale_since) VALUES ($1, $2, $3)
             ON CONFLICT (dealer_id, feed) DO UPDATE SET stale_since = excluded.stale_since",
            params![dealer_id, feed, since],
        )
    }

    /// Stores a run, and deletes the oldest ones of its feed.
    ///
    /// # Errors
    /// When the database fails.
    pub fn end_feed_run(&self, run: &FeedRun) -> Result<(), InternalError> {
        self.0.execute(
            "keeping a feed's run",
            "INSERT INTO feed_runs (run_id, dealer_id, feed, began_at, ended_at, source, outcome,
                                    message, report)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            params![
                run.run_id,
                run.dealer_id,
                run.feed,
                run.began_at,
                run.ended_at,
                run.source,
                run.outcome.name(),
                run.message,
                run.report
            ],
        )?;
        self.0.execute(
            "forgetting a feed's runs",
            "DELETE FROM feed_runs WHERE dealer_id = $1 AND feed = $2 AND run_id NOT IN (
                 SELECT run_id FROM feed_runs WHERE dealer_id = $1 AND feed = $2
                 ORDER BY began_at DESC, run_id DESC LIMIT $3)",
            params![run.dealer_id, run.feed, MAX_RUNS],
        )
    }
}

impl Database {
    /// Returns the feeds of a dealer, each with the time in seconds at which it was last the inventory, and true when
    /// it is stale.
    pub(crate) fn feed_ages(
        &self,
        dealer_id: &str,
    ) -> Result<Vec<(String, i64, bool)>, InternalError> {
        // A feed that was never taken is as old as possible.
        self.0.all(
            "reading the ages of feeds",
            "SELECT feed, coalesce(taken_at, 0) AS taken_at, stale_since IS NOT NULL AS is_stale FROM feeds
             WHERE dealer_id = $1 ORDER BY feed",
            params![dealer_id],
            |row| {
                let taken_at: i64 = row.get("taken_at")?;
                Ok((row.get("feed")?, taken_at / 1_000, row.get("is_stale")?))
            },
        )
    }
}

impl Store {
    /// Returns the state of a feed.
    ///
    /// # Errors
    /// When the database fails.
    pub fn feed_state(&self, dealer_id: &str, feed: &str) -> Result<FeedState, InternalError> {
        let found = self.read_first(
            "reading a feed",
            "SELECT mark, looked_at, taken_at, stale_since FROM feeds
             WHERE dealer_id = $1 AND feed = $2",
            params![dealer_id, feed],
            |row| {
                Ok(FeedState {
                    mark: row.get("mark")?,
                    looked_at: row.get("looked_at")?,
                    taken_at: row.get("taken_at")?,
                    stale_since: row.get("stale_since")?,
                })
            },
        )?;
        Ok(found.unwrap_or_default())
    }

    /// Returns the last runs of a feed, the latest first.
    ///
    /// # Errors
    /// When the database fails.
    pub fn feed_runs(
        &self,
        dealer_id: &str,
        feed: &str,
        limit: u32,
    ) -> Result<Vec<FeedRun>, InternalError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM feed_runs WHERE dealer_id = $1 AND feed = $2
             ORDER BY began_at DESC, run_id DESC LIMIT $3"
        );
        self.read_all("reading a feed's runs", &sql, params![dealer_id, feed, limit], read)
    }

    /// Counts the stale feeds.
    ///
    /// # Errors
    /// When the database fails.
    pub fn stale_feeds(&self) -> Result<u64, InternalError> {
        let sql = "SELECT count(*) FROM feeds WHERE stale_since IS NOT NULL";
        self.read_one("counting stale feeds", sql, &[], |row| row.only())
    }
}

/// Reads a run of a feed from a row.
fn read(row: &SqlRow<'_>) -> RowResult<FeedRun> {
    let outcome: String = row.get("outcome")?;
    let outcome = FeedOutcome::from_name(&outcome).ok_or("an outcome that nobody knows")?;
    Ok(FeedRun {
        run_id: row.get("run_id")?,
        dealer_id: row.get("dealer_id")?,
        feed: row.get("feed")?,
        began_at: row.get("began_at")?,
        ended_at: row.get("ended_at")?,
        source: row.get("source")?,
        outcome,
        message: row.get("message")?,
        report: row.get("report")?,
    })
}
