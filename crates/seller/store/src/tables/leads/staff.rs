//! Work of the dealer's staff on leads, and their lists of leads.

use jiff::Timestamp;
use tradepost_dealer::adf::view::agent_name;
use tradepost_dealer::record::{LeadRecord, LeadState};
use tradepost_dealer::staff::{
    LeadNote, NewAuditEntry, NextStep, NextStepKind, StaffProgress, note_detail,
};
use tradepost_document::fault::InternalError;
use tradepost_document::format::hex;
use tradepost_document::json::Value;

use super::super::privacy::{NOTE, NOTE_SALT, PAYLOAD, payload};
use super::super::{Database, StoreTransaction};
use super::{word, word_if_any};
use crate::Store;
use crate::privacy::{AadContext, random, readable};
use crate::sql::{RowResult, SqlRow, params};
use crate::staff::SubmissionOrigin;

/// Columns of the staff progress of a lead. Those with the prefix `progress_` would otherwise have the
/// name of another column of the same query.
pub(super) const PROGRESS: &str = "l.stage AS progress_stage, l.lost_reason, l.owner, l.next_step,
     l.next_step_at, l.handled_by, p.changed_at AS progress_changed_at,
     p.changed_by AS progress_changed_by, p.seen_at AS progress_seen_at,
     p.answered_at AS progress_answered_at";

impl StoreTransaction<'_> {
    /// Records that the dealer's staff has seen a lead; the first time is kept.
    ///
    /// # Errors
    /// When the database fails.
    pub fn see_lead(&self, lead: &LeadRecord, now: Timestamp) -> Result<(), InternalError> {
        // Locked before the row is written, as by a transaction that stores a lead: in another order, the two
        // could wait for each other.
        self.0.lock(&lead.dealer_id)?;
        self.0.execute(
            "noting that a lead was seen",
            "INSERT INTO lead_progress (lead_id, dealer_id, seen_at) VALUES ($1, $2, $3)
             ON CONFLICT (lead_id) DO UPDATE
                 SET seen_at = coalesce(lead_progress.seen_at, excluded.seen_at)",
            params![lead.lead_id, lead.dealer_id, now],
        )
    }

    /// Adds a note to a lead, and records it by an entry that has the note's hash. Returns `false` when the lead has
    /// been erased, because no data of its customer may be kept.
    ///
    /// # Errors
    /// When the database fails.
    pub fn add_note(
        &self,
        lead_id: &str,
        note: &LeadNote,
        entry: &NewAuditEntry,
    ) -> Result<bool, InternalError> {
        let lead = self.own_lead(lead_id)?.filter(|lead| lead.state != LeadState::Erased);
        let Some(lead) = lead else {
            return Ok(false);
        };
        let cipher = self.0.cipher();
        let text = cipher.seal(
            &AadContext::lead(NOTE, &lead.dealer_id, lead_id, note.at),
            note.text.as_deref().unwrap_or_default(),
        )?;
        let salt = hex(&random::<16>()?);
        let digest = note.digest(&lead.dealer_id, lead_id, &salt);
        let salt_of = AadContext::lead(NOTE_SALT, &lead.dealer_id, lead_id, note.at);
        let key = self.sealing_key(note.at)?;
        self.0.execute(
            "writing a note",
            "INSERT INTO lead_notes (lead_id, dealer_id, at, author, text, sealed_by, salt)
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
            params![
                lead_id,
                lead.dealer_id,
                note.at,
                note.author,
                text,
                key,
                cipher.seal(&salt_of, &salt)?,
            ],
        )?;
        let detail = digest.as_ref().map(note_detail);
        self.record(&NewAuditEntry { detail, ..entry.clone() })?;
        Ok(true)
    }

    /// Erases the notes on a lead.
    pub(in crate::tables) fn erase_notes(&self, lead_id: &str) -> Result<(), InternalError> {
        let sql = "DELETE FROM lead_notes WHERE lead_id = $1";
        self.0.execute("erasing notes", sql, params![lead_id])
    }
}

impl Database {
    /// Returns the staff progress of a lead.
    pub(crate) fn progress(&self, lead_id: &str) -> Result<StaffProgress, InternalError> {
        let found = self.0.first(
            "reading how far a lead is",
            &format!(
                "SELECT {PROGRESS} FROM leads l LEFT JOIN lead_progress p ON p.lead_id = l.lead_id
                 WHERE l.lead_id = $1"
            ),
            params![lead_id],
            progress,
        )?;
        Ok(found.unwrap_or_default())
    }

    /// Returns the notes on a lead, oldest first.
    pub(crate) fn notes(&self, lead_id: &str) -> Result<Vec<LeadNote>, InternalError> {
        self.0.all(
            "reading notes",
            "SELECT at, author, text, dealer_id, sealed_by FROM lead_notes WHERE lead_id = $1
             ORDER BY key",
            params![lead_id],
            |row| {
                let at: Timestamp = row.get("at")?;
                let dealer: String = row.get("dealer_id")?;
                let key: Option<String> = row.get("sealed_by")?;
                let of = AadContext::lead(NOTE, &dealer, lead_id, at);
                let text = readable(row.opened("text", key.as_deref(), &of))?.ok();
                Ok(LeadNote { at, author: row.get("author")?, text })
            },
        )
    }
}

impl Store {
    /// Returns the origins of submissions since a moment.
    ///
    /// # Errors
    /// When the database fails.
    pub fn origins(
        &self,
        dealer_id: Option<&str>,
        since: Timestamp,
    ) -> Result<Vec<SubmissionOrigin>, InternalError> {
        self.read_all(
            "reading where leads came from",
            "SELECT s.received_at, s.principal, s.payload, s.duplicate, l.held_for, l.stage,
                    s.dealer_id, s.lead_id, s.sealed_by
             FROM lead_submissions s JOIN leads l ON l.lead_id = s.lead_id
             WHERE ($1 IS NULL OR s.dealer_id = $1) AND s.received_at >= $2 ORDER BY s.seq",
            params![dealer_id, since],
            |row| {
                let dealer: String = row.get("dealer_id")?;
                let lead: String = row.get("lead_id")?;
                let key: Option<String> = row.get("sealed_by")?;
                let of = AadContext::lead(PAYLOAD, &dealer, &lead, row.get("received_at")?);
                let payload = payload(row, "payload", key.as_deref(), &of)?.unwrap_or(Value::Null);
                Ok(SubmissionOrigin {
                    at: row.get("received_at")?,
                    principal: row.get("principal")?,
                    agent: agent_name(&payload).map(str::to_owned),
                    is_repeated: row.get("duplicate")?,
                    held_for: word_if_any(row, "held_for")?,
                    stage: word(row, "stage")?,
                })
            },
        )
    }
}

/// Reads the staff progress of a lead.
pub(super) fn progress(row: &SqlRow<'_>) -> RowResult<StaffProgress> {
    let at: Option<Timestamp> = row.get("progress_changed_at")?;
    let by: Option<String> = row.get("progress_changed_by")?;
    let step: Option<NextStepKind> = word_if_any(row, "next_step")?;
    let step_at: Option<Timestamp> = row.get("next_step_at")?;
    Ok(StaffProgress {
        stage: word(row, "progress_stage")?,
        lost_reason: word_if_any(row, "lost_reason")?,
        owner: row.get("owner")?,
        next_step: step.zip(step_at).map(|(kind, at)| NextStep { kind, at }),
        handled_by: row.get("handled_by")?,
        changed: at.zip(by),
        seen_at: row.get("progress_seen_at")?,
        answered_at: row.get("progress_answered_at")?,
    })
}
