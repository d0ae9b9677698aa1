//! Changes of the staff's work on a lead: stage, owner, next step, and the turns in which members get new leads.

use jiff::Timestamp;
use tradepost_dealer::record::LeadRecord;
use tradepost_dealer::staff::lead_work::{
    ExpectedOwner, OwnerChange, ROUND_ROBIN, next_in_turn, owns_leads,
};
use tradepost_dealer::staff::{
    AuditAction, LostReason, NewAuditEntry, NextStep, StaffRole, StaffStage,
};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;

use super::super::StoreTransaction;
use super::listing::WAITING;
use super::word;
use crate::Store;
use crate::sql::{SqlRow, params};
use crate::staff::{NewStage, WaitingLeads};

impl StoreTransaction<'_> {
    /// Sets the stage of a lead, with its reason; returns `false` when it has both already. The first stage other than
    /// `new` records the time of the answer. The appointment of a lost lead is cancelled, and its time is free again.
    ///
    /// # Errors
    /// When the database fails.
    pub fn set_stage(
        &self,
        lead: &LeadRecord,
        new_stage: NewStage,
        by: &str,
        now: Timestamp,
    ) -> Result<bool, InternalError> {
        let NewStage { stage, lost_reason } = new_stage;
        // Setting a lead back to `new` is not an answer.
        let answered = (stage != StaffStage::New).then_some(now);
        // Locked before the row is written: a transaction that takes a lead also locks before it writes the row.
        self.0.lock(&lead.dealer_id)?;
        let is_changed = self.0.changes(
            "setting the stage of a lead",
            "UPDATE leads SET stage = $2, lost_reason = $3
             WHERE lead_id = $1 AND (stage <> $2 OR lost_reason IS DISTINCT FROM $3)",
            params![lead.lead_id, stage.name(), lost_reason.map(LostReason::name)],
        )?;
        if !is_changed {
            return Ok(false);
        }
        self.0.execute(
            "noting who set the stage of a lead",
            "INSERT INTO lead_progress
                     (lead_id, dealer_id, changed_at, changed_by, seen_at, answered_at)
                 VALUES ($1, $2, $3, $4, $3, $5)
                 ON CONFLICT (lead_id) DO UPDATE SET
                     changed_at = excluded.changed_at, changed_by = excluded.changed_by,
                     seen_at = coalesce(lead_progress.seen_at, excluded.seen_at),
                     answered_at = coalesce(lead_progress.answered_at, excluded.answered_at)",
            params![lead.lead_id, lead.dealer_id, now, by, answered],
        )?;
        if stage == StaffStage::Lost
            // As it is now: the caller may have read it before this transaction.
            && let Some(lead) = self.own_lead(&lead.lead_id)?
        {
            self.end_appointment_of(lead, now)?;
        }
        Ok(true)
    }

    /// Sets a lost lead back to `new`, because its agent has booked a time again.
    pub(super) fn reopen_lost_lead(&self, lead_id: &str) -> Result<(), InternalError> {
        let is_reopened = self.0.changes(
            "putting a lost lead back among the new ones",
            "UPDATE leads SET stage = 'new', lost_reason = NULL
             WHERE lead_id = $1 AND stage = 'lost'",
            params![lead_id],
        )?;
        if !is_reopened {
            return Ok(());
        }
        self.0.execute(
            "forgetting who set the stage of a lead",
            "UPDATE lead_progress SET changed_at = NULL, changed_by = NULL WHERE lead_id = $1",
            params![lead_id],
        )
    }

    /// Makes a member the owner of a lead, or nobody, if the lead has the expected owner.
    ///
    /// # Errors
    /// When the database fails.
    pub fn set_owner(
        &self,
        lead: &LeadRecord,
        owner: Option<&str>,
        expected: &ExpectedOwner,
    ) -> Result<OwnerChange, InternalError> {
        // Of two people who assign a lead at the same time, the second sees what the first has done.
        self.0.lock(&lead.dealer_id)?;
        let before: Option<String> = self.0.one(
            "reading the owner of a lead",
            "SELECT owner FROM leads WHERE lead_id = $1",
            params![lead.lead_id],
            |row| row.get("owner"),
        )?;
        if before.as_deref() == owner {
            return Ok(OwnerChange::Unchanged);
        }
        if !expected.is_met(before.as_deref()) {
            return Ok(OwnerChange::OwnedBy(before));
        }
        self.0.execute(
            "assigning a lead",
            "UPDATE leads SET owner = $2 WHERE lead_id = $1",
            params![lead.lead_id, owner],
        )?;
        Ok(OwnerChange::Changed { before })
    }

    /// Returns true when a member can own leads of a dealer. The member is not removed until the transaction ends.
    ///
    /// # Errors
    /// When the database fails.
    pub fn can_own_leads(&self, name: &str, dealer_id: &str) -> Result<bool, InternalError> {
        let sql = format!(
            "SELECT role FROM staff WHERE name = $1 AND (dealer_id IS NULL OR dealer_id = $2){}",
            self.0.for_key_share()
        );
        let role: Option<StaffRole> = self.0.first(
            "looking for the owner of a lead",
            &sql,
            params![name, dealer_id],
            |row| word(row, "role"),
        )?;
        Ok(role.is_some_and(owns_leads))
    }

    /// Sets the next step of a lead, or removes it; returns `false` when it is so already.
    ///
    /// # Errors
    /// When the database fails.
    pub fn set_next_step(
        &self,
        lead: &LeadRecord,
        step: Option<&NextStep>,
    ) -> Result<bool, InternalError> {
        self.0.lock(&lead.dealer_id)?;
        self.0.changes(
            "setting the next step with a lead",
            "UPDATE leads SET next_step = $2, next_step_at = $3
             WHERE lead_id = $1 AND (next_step IS DISTINCT FROM $2
                                     OR next_step_at IS DISTINCT FROM $3)",
            params![lead.lead_id, step.map(|step| step.kind.name()), step.map(|step| step.at)],
        )
    }

    /// Marks a delivery as accepted, as [`delivered`](Self::delivered) does. With `handles_lead`, its destination has the
    /// lead from now on, so that it no longer waits for staff.
    ///
    /// # Errors
    /// When the database fails.
    pub fn delivered_to(
        &self,
        key: i64,
        answer: &str,
        now: Timestamp,
        handles_lead: bool,
    ) -> Result<(), InternalError> {
        self.delivered(key, answer, now)?;
        if !handles_lead {
            return Ok(());
        }
        self.0.execute(
            "handing a lead over",
            "UPDATE leads SET handled_by = (SELECT destination FROM lead_deliveries WHERE key = $1)
             WHERE lead_id = (SELECT lead_id FROM lead_deliveries
                              WHERE key = $1 AND source = 'lead' AND state = 'delivered')",
            params![key],
        )
    }

    /// Returns the member whose turn it is at the rooftop of a new lead, and notes the turn. `None` when nobody gets
    /// leads.
    pub(super) fn take_turn(&self, lead: &LeadRecord) -> Result<Option<String>, InternalError> {
        let dealer_id = &lead.dealer_id;
        let rooftop = lead.submission.rooftop.as_deref().unwrap_or_default().to_lowercase();
        let last: Option<String> = self.0.first(
            "reading whose turn it was",
            "SELECT member FROM lead_rotation WHERE dealer_id = $1 AND rooftop = $2",
            params![dealer_id, rooftop],
            |row| row.get("member"),
        )?;
        let members = self.members_in_turn(dealer_id)?;
        let Some(member) = next_in_turn(&members, last.as_deref()) else { return Ok(None) };
        self.0.execute(
            "noting whose turn it was",
            "INSERT INTO lead_rotation (dealer_id, rooftop, member) VALUES ($1, $2, $3)
             ON CONFLICT (dealer_id, rooftop) DO UPDATE SET member = excluded.member",
            params![dealer_id, rooftop, member],
        )?;
        Ok(Some(member.to_owned()))
    }

    /// Records that a new lead has an owner by turns.
    pub(super) fn record_turn(&self, lead: &LeadRecord, member: &str) -> Result<(), InternalError> {
        self.record(&NewAuditEntry {
            chain: lead.dealer_id.clone(),
            at: lead.changed_at,
            actor: ROUND_ROBIN.to_owned(),
            action: AuditAction::LeadAssigned,
            subject: Some(lead.lead_id.clone()),
            detail: Some(format!("to {member}")),
        })
    }

    /// Returns the members who get leads of a dealer: its own, or else those of all dealers.
    fn members_in_turn(&self, dealer_id: &str) -> Result<Vec<String>, InternalError> {
        let sql = format!(
            "SELECT name, dealer_id, role FROM staff
             WHERE dealer_id = $1 OR dealer_id IS NULL ORDER BY name{}",
            self.0.for_key_share()
        );
        let all = self.0.all("reading whose turn it can be", &sql, params![dealer_id], |row| {
            Ok(RotationMember {
                name: row.get("name")?,
                is_own: row.get::<Option<String>>("dealer_id")?.is_some(),
                role: word(row, "role")?,
            })
        })?;
        let able: Vec<_> = all.into_iter().filter(|member| owns_leads(member.role)).collect();
        let has_own = able.iter().any(|member| member.is_own);
        let chosen = able.into_iter().filter(|member| member.is_own || !has_own);
        Ok(chosen.map(|member| member.name).collect())
    }

    /// Takes the open leads of a member away, who is removed.
    pub(in crate::tables) fn release_leads_of(&self, member: &str) -> Result<(), InternalError> {
        self.0.execute(
            "taking leads from a member",
            "UPDATE leads SET owner = NULL WHERE owner = $1 AND stage IN ('new', 'working')",
            params![member],
        )
    }
}

/// Member who may get a lead by turns.
struct RotationMember {
    name: String,
    is_own: bool,
    role: StaffRole,
}

impl Store {
    /// Returns the leads of a dealer that were received before a moment and wait for an answer.
    ///
    /// # Errors
    /// When the database fails.
    pub fn waiting_leads(
        &self,
        dealer_id: &str,
        received_before: Timestamp,
    ) -> Result<WaitingLeads, InternalError> {
        self.read_one(
            "counting leads that wait",
            &format!(
                "SELECT count(*) AS number, min(received_at) AS oldest, max(seq) AS latest
                 FROM leads l WHERE dealer_id = $1 AND received_at < $2 AND {WAITING}"
            ),
            params![dealer_id, received_before],
            |row: &SqlRow<'_>| {
                Ok(WaitingLeads {
                    number: row.get("number")?,
                    oldest: row.get("oldest")?,
                    latest: row.get::<Option<i64>>("latest")?.unwrap_or_default(),
                })
            },
        )
    }
}
