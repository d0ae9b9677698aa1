//! Failed sign-in attempts: budgets of names and browsers, across all addresses and processes, and the number of
//! failures of each kind by hour.

use jiff::{SignedDuration, Timestamp};
use tradepost_dealer::staff::{AuditAction, NewAuditEntry};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;

use super::StoreTransaction;
use super::leads::word;
use crate::Store;
use crate::sign_in::{AccessCount, AttemptBudget};
use crate::sql::params;

/// Maximum number of entries in the audit log for one kind of failure of one name in one hour. Further failures are
/// counted, and recorded in one entry after the hour.
const ENTRIES_AN_HOUR: i64 = 10;

/// Hours for which failures are counted.
const HOURS: i64 = 48;

impl StoreTransaction<'_> {
    /// Takes one attempt from a budget. Returns true when none is left afterwards.
    ///
    /// # Errors
    /// When the database fails.
    pub fn charge_attempt(
        &self,
        bucket: &[u8],
        budget: AttemptBudget,
        now: Timestamp,
    ) -> Result<bool, InternalError> {
        let first = budget.after_one(now);
        let step = i64::try_from(budget.step().as_millis()).unwrap_or(i64::MAX);
        let full_at: Timestamp = self.0.one(
            // A time that no budget reaches was written under another clock, and counts as past.
            "counting a failed attempt",
            "INSERT INTO sign_in_budgets (bucket, full_at) VALUES ($1, $2)
             ON CONFLICT (bucket) DO UPDATE SET full_at =
                 CASE WHEN sign_in_budgets.full_at > $3 AND sign_in_budgets.full_at <= $4
                      THEN sign_in_budgets.full_at + $5 ELSE $2 END
             RETURNING full_at",
            params![bucket, first, now, budget.latest(now), step],
            |row| row.only(),
        )?;
        Ok(budget.wait(full_at, now) > SignedDuration::ZERO)
    }

    /// Restores all attempts of a budget.
    ///
    /// # Errors
    /// When the database fails.
    pub fn forgive_attempts(&self, bucket: &[u8]) -> Result<(), InternalError> {
        let sql = "DELETE FROM sign_in_budgets WHERE bucket = $1";
        self.0.execute("forgiving failed attempts", sql, params![bucket])
    }

    /// Counts a failure, and records it unless the audit log has enough of its kind for this hour.
    ///
    /// # Errors
    /// When the database fails.
    pub fn record_failure(&self, entry: &NewAuditEntry) -> Result<(), InternalError> {
        let subject = entry.subject.as_deref().unwrap_or_default();
        let action = entry.action.name();
        let hour = hour_of(entry.at);
        let happened: i64 = self.0.one(
            "counting a failure",
            "INSERT INTO access_counts (chain, actor, deed, subject, hour, happened, recorded)
             VALUES ($1, $2, $3, $4, $5, 1, 1)
             ON CONFLICT (chain, actor, deed, subject, hour) DO UPDATE SET
                 happened = access_counts.happened + 1,
                 recorded = CASE WHEN access_counts.recorded < $6
                            THEN access_counts.recorded + 1 ELSE access_counts.recorded END
             RETURNING happened",
            params![entry.chain, entry.actor, action, subject, hour, ENTRIES_AN_HOUR],
            |row| row.only(),
        )?;
        if happened <= ENTRIES_AN_HOUR { self.record(entry) } else { Ok(()) }
    }

    /// Records, for each past hour, the number of failures beyond those in the audit log.
    ///
    /// # Errors
    /// When the database fails.
    pub fn sum_up_failures(&self, now: Timestamp) -> Result<(), InternalError> {
        let sql = format!(
            "SELECT chain, actor, deed, subject, hour, happened, recorded FROM access_counts
             WHERE hour < $1 AND happened > recorded
             ORDER BY chain, actor, deed, subject, hour{}",
            self.0.for_update()
        );
        let rows = self.0.all(
            "reading failures that are not recorded",
            &sql,
            params![hour_of(now)],
            |row| {
                let happened: i64 = row.get("happened")?;
                let recorded: i64 = row.get("recorded")?;
                let subject: String = row.get("subject")?;
                let hour: Timestamp = row.get("hour")?;
                let entry = NewAuditEntry {
                    chain: row.get("chain")?,
                    at: now,
                    actor: row.get("actor")?,
                    action: word(row, "deed")?,
                    subject: Some(subject).filter(|name| !name.is_empty()),
                    detail: Some(format!(
                        "{} more in the hour from {}",
                        happened - recorded,
                        tradepost_document::format::rfc3339(hour)
                    )),
                };
                Ok((entry, hour))
            },
        )?;
        for (entry, hour) in &rows {
            self.0.execute(
                "noting that failures are recorded",
                "UPDATE access_counts SET recorded = happened
                 WHERE chain = $1 AND actor = $2 AND deed = $3 AND subject = $4 AND hour = $5",
                params![
                    entry.chain,
                    entry.actor,
                    entry.action.name(),
                    entry.subject.as_deref().unwrap_or_default(),
                    hour
                ],
            )?;
        }
        let entries: Vec<_> = rows.into_iter().map(|(entry, _)| entry).collect();
        self.record_all(&entries)
    }

    /// Deletes budgets that are full again, and old counts. To be called in a transaction of its own, which holds no
    /// lock of an audit log meanwhile.
    ///
    /// # Errors
    /// When the database fails.
    pub fn forget_failures(&self, now: Timestamp) -> Result<(), InternalError> {
        let old = now.saturating_sub(SignedDuration::from_hours(HOURS)).unwrap_or(Timestamp::MIN);
        let sql = "DELETE FROM access_counts WHERE hour < $1";
        self.0.execute("forgetting counts of failures", sql, params![old])?;
        let sql = "DELETE FROM sign_in_budgets WHERE full_at <= $1";
        self.0.execute("forgetting budgets that are full", sql, params![now])
    }
}

impl Store {
    /// Returns the time until the next attempt of a budget may be made; zero when it may be made now.
    ///
    /// # Errors
    /// When the database fails.
    pub fn attempt_wait(
        &self,
        bucket: &[u8],
        budget: AttemptBudget,
        now: Timestamp,
    ) -> Result<SignedDuration, InternalError> {
        let full_at: Option<Timestamp> = self.read_first(
            "reading a budget of attempts",
            "SELECT full_at FROM sign_in_budgets WHERE bucket = $1",
            params![bucket],
            |row| row.only(),
        )?;
        Ok(full_at.map_or(SignedDuration::ZERO, |full_at| budget.wait(full_at, now)))
    }

    /// Returns the failures since the beginning of the last full hour, by kind.
    ///
    /// # Errors
    /// When the database fails.
    pub fn access_counts(&self, now: Timestamp) -> Result<Vec<AccessCount>, InternalError> {
        let since = now.saturating_sub(SignedDuration::from_hours(1)).unwrap_or(Timestamp::MIN);
        self.read_all(
            "reading how many attempts failed",
            "SELECT deed, CAST(sum(happened) AS BIGINT) AS happened FROM access_counts
             WHERE hour >= $1 GROUP BY deed ORDER BY deed",
            params![hour_of(since)],
            |row| {
                let action: AuditAction = word(row, "deed")?;
                Ok(AccessCount { action, happened: row.get("happened")? })
            },
        )
    }
}

/// Returns the beginning of the hour of a time.
fn hour_of(at: Timestamp) -> Timestamp {
    let seconds = at.as_second();
    Timestamp::from_second(seconds - seconds.rem_euclid(3600)).unwrap_or(at)
}
