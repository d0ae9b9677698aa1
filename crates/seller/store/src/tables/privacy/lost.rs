//! Lost keys: the rows that only such a key could decrypt, and giving the key up.

use jiff::Timestamp;
use tradepost_dealer::record::LeadState;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;

use super::PAYLOAD;
use crate::privacy::{AadContext, BLIND};
use crate::sql::params;
use crate::tables::{Database, StoreTransaction};

/// Rows that only one key can decrypt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OnlyBy {
    /// Leads that are not erased, with at least one submission or its evidence among them.
    pub leads: Vec<String>,
    /// Number of notes, also on other leads.
    pub notes: u64,
    /// Number of stored replies.
    pub replies: u64,
    /// Number of second factors of staff members.
    pub second_factors: u64,
    /// True when look-ups would no longer be possible: no other key decrypts the key for look-ups.
    pub is_last: bool,
}

impl Database {
    /// Returns the rows that only this key can decrypt. The caller, which has the other keys, sets `is_last`.
    pub(crate) fn only_by(&self, key: &str) -> Result<OnlyBy, InternalError> {
        let what = "counting what a key alone can read";
        let sql = "SELECT DISTINCT s.lead_id FROM lead_submissions s
                   JOIN leads l ON l.lead_id = s.lead_id
                   LEFT JOIN consent_evidence e ON e.submission = s.seq
                   WHERE (s.sealed_by = $1 OR e.sealed_by = $1) AND l.state <> $2
                   ORDER BY s.lead_id";
        let leads =
            self.0.all(what, sql, params![key, LeadState::Erased.name()], |row| row.only())?;
        let count = |table: &str| {
            let sql = format!("SELECT count(*) FROM {table} WHERE sealed_by = $1");
            let number: Option<i64> = self.0.first(what, &sql, params![key], |row| row.only())?;
            Ok::<_, InternalError>(number.unwrap_or_default().unsigned_abs())
        };
        let notes = count("lead_notes")?;
        let replies = count("idempotency_keys")?;
        let second_factors = count("second_factors")?;
        Ok(OnlyBy { leads, notes, replies, second_factors, is_last: false })
    }
}

impl StoreTransaction<'_> {
    /// Removes hashed values for look-ups, and the replies that are found by them.
    pub(crate) fn erase_hashed(&self) -> Result<(), InternalError> {
        for (table, column) in [
            ("lead_contacts", "contact"),
            ("lead_matches", "proof"),
            ("lead_tallies", "subject"),
            ("idempotency_keys", "key"),
        ] {
            let sql = format!("DELETE FROM {table} WHERE {column} LIKE '{BLIND}%'");
            self.0.execute("removing what cannot be looked up", &sql, params![])?;
        }
        Ok(())
    }

    /// Erases the rows that a key has encrypted. Submissions left here belong to erased leads, which have no other data
    /// to keep.
    pub(crate) fn erase_sealed_by(&self, lost: &str, now: Timestamp) -> Result<(), InternalError> {
        let key = self.sealing_key(now)?;
        let rows: Vec<(i64, AadContext)> = self.0.all(
            "reading what a lost key has sealed",
            "SELECT seq, dealer_id, lead_id, received_at FROM lead_submissions
             WHERE sealed_by = $1",
            params![lost],
            |row| {
                let dealer: String = row.get("dealer_id")?;
                let lead: String = row.get("lead_id")?;
                Ok((
                    row.get("seq")?,
                    AadContext::lead(PAYLOAD, &dealer, &lead, row.get("received_at")?),
                ))
            },
        )?;
        for (submission, of) in rows {
            self.0.execute(
                "erasing a submission",
                "UPDATE lead_submissions SET payload = $2, address = NULL, sealed_by = $3
                 WHERE seq = $1",
                params![submission, self.0.cipher().seal(&of, "null")?, key],
            )?;
        }
        self.0.execute(
            "removing recovery codes of factors that a lost key has sealed",
            "DELETE FROM recovery_codes
             WHERE name IN (SELECT name FROM second_factors WHERE sealed_by = $1)",
            params![lost],
        )?;
        for table in ["consent_evidence", "lead_notes", "idempotency_keys", "second_factors"] {
            let sql = format!("DELETE FROM {table} WHERE sealed_by = $1");
            self.0.execute("erasing what a lost key has sealed", &sql, params![lost])?;
        }
        Ok(())
    }

    /// Deletes a key that no row is encrypted with any more.
    pub(crate) fn forget_key(&self, lost: &str) -> Result<(), InternalError> {
        let sql = "DELETE FROM privacy_keys WHERE key_id = $1";
        self.0.execute("forgetting a key", sql, params![lost])
    }
}
