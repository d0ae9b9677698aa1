//! Calendar feeds of rooftops, found by the hash of the secret in their address.

use jiff::Timestamp;
use jiff::civil::Date;
use tradepost_dealer::calendar::CalendarFeed;
use tradepost_dealer::consent::Sha256Hash;
use tradepost_document::fault::InternalError;

use super::StoreTransaction;
use crate::Store;
use crate::sql::{RowResult, SqlRow, params};

const COLUMNS: &str = "feed_id, dealer_id, rooftop, hash, created_at, created_by, revoked_at, \
                       last_used_on";

impl StoreTransaction<'_> {
    /// Returns the feed of a rooftop that is not revoked, after locking its dealer's data.
    ///
    /// # Errors
    /// When the database fails.
    pub fn active_calendar_feed(
        &self,
        dealer_id: &str,
        rooftop: &str,
    ) -> Result<Option<CalendarFeed>, InternalError> {
        self.0.lock(dealer_id)?;
        let sql = format!(
            "SELECT {COLUMNS} FROM calendar_feeds
             WHERE dealer_id = $1 AND lower(rooftop) = lower($2) AND revoked_at IS NULL"
        );
        self.0.first("reading a calendar feed", &sql, params![dealer_id, rooftop], read)
    }

    /// Stores a new feed. The rooftop must not have another one that is not revoked.
    ///
    /// # Errors
    /// When the database fails.
    pub fn add_calendar_feed(&self, feed: &CalendarFeed) -> Result<(), InternalError> {
        self.0.execute(
            "writing a calendar feed",
            "INSERT INTO calendar_feeds (feed_id, dealer_id, rooftop, hash, created_at, created_by)
             VALUES ($1, $2, $3, $4, $5, $6)",
            params![
                feed.feed_id,
                feed.dealer_id,
                feed.rooftop,
                feed.hash,
                feed.created_at,
                feed.created_by
            ],
        )
    }

    /// Revokes a feed.
    ///
    /// # Errors
    /// When the database fails.
    pub fn revoke_calendar_feed(&self, feed_id: &str, now: Timestamp) -> Result<(), InternalError> {
        self.0.execute(
            "revoking a calendar feed",
            "UPDATE calendar_feeds SET revoked_at = $2 WHERE feed_id = $1 AND revoked_at IS NULL",
            params![feed_id, now],
        )
    }

    /// Notes the day on which a feed was read. Returns true for the first time on that day.
    ///
    /// # Errors
    /// When the database fails.
    pub fn note_calendar_feed_use(&self, feed_id: &str, day: Date) -> Result<bool, InternalError> {
        self.0.changes(
            // A day and no time of day: otherwise each request would be a write.
            "noting the use of a calendar feed",
            "UPDATE calendar_feeds SET last_used_on = $2
             WHERE feed_id = $1 AND (last_used_on IS NULL OR last_used_on < $2)",
            params![feed_id, day.to_string()],
        )
    }
}

impl Store {
    /// Returns all feeds of one dealer or of all, also revoked ones, the newest last.
    ///
    /// # Errors
    /// When the database fails.
    pub fn calendar_feeds(
        &self,
        dealer_id: Option<&str>,
    ) -> Result<Vec<CalendarFeed>, InternalError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM calendar_feeds WHERE $1 IS NULL OR dealer_id = $1
             ORDER BY created_at, feed_id"
        );
        self.read_all("reading the calendar feeds", &sql, params![dealer_id], read)
    }

    /// Returns the feed with this hash of its secret, unless it is revoked.
    ///
    /// # Errors
    /// When the database fails.
    pub fn calendar_feed(&self, hash: &Sha256Hash) -> Result<Option<CalendarFeed>, InternalError> {
        let sql =
            format!("SELECT {COLUMNS} FROM calendar_feeds WHERE hash = $1 AND revoked_at IS NULL");
        self.read_first("reading a calendar feed", &sql, params![hash], read)
    }
}

/// Reads a calendar feed from a row.
fn read(row: &SqlRow<'_>) -> RowResult<CalendarFeed> {
    let day: Option<String> = row.get("last_used_on")?;
    Ok(CalendarFeed {
        feed_id: row.get("feed_id")?,
        dealer_id: row.get("dealer_id")?,
        rooftop: row.get("rooftop")?,
        hash: row.get("hash")?,
        created_at: row.get("created_at")?,
        created_by: row.get("created_by")?,
        revoked_at: row.get("revoked_at")?,
        last_used_on: day.and_then(|day| day.parse().ok()),
    })
}
