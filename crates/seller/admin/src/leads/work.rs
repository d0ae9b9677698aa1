//! Work of staff on leads, one or many: stages, owners, and next steps.
//!
//! A change of many leads is made in batches, each in one transaction. A lead that stands as wished is
//! left alone, so that a change that was interrupted can be sent again.

use std::collections::{BTreeMap, BTreeSet};

use tradepost_dealer::record::{LeadRecord, LeadState};
use tradepost_dealer::staff::lead_work::{ExpectedOwner, OwnerChange, stage_detail};
use tradepost_dealer::staff::{AuditAction, LostReason, NewAuditEntry, NextStep, StaffStage};
use tradepost_document::fault::InternalError;
use tradepost_store::StoreTransaction;
use tradepost_store::staff::{LeadFilter, NewStage};

use super::{LeadChanged, LeadRefusal, LeadResult};
use crate::actor::Actor;
use crate::context::{AdminContext, record_if};
use crate::operation::AdminOperation;
use crate::people::stored_name;

/// Maximum number of leads that one request changes.
pub const MAX_LEADS: u32 = 10_000;

/// Number of leads that are changed in one transaction.
const BATCH: usize = 200;

/// Stage for a lead.
#[derive(Debug, Clone)]
pub struct SetLeadStage {
    /// Id of the lead.
    pub lead_id: String,
    /// Stage from now on.
    pub stage: StaffStage,
    /// Reason, which a lost lead has and no other.
    pub lost_reason: Option<LostReason>,
}

/// Sets the stage of a lead. The appointment of a lost lead is cancelled.
///
/// # Errors
/// Fails when the actor lacks the permission, the reason is missing or superfluous, there is no such
/// lead, or the store fails.
pub fn set_lead_stage(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: SetLeadStage,
) -> LeadResult<LeadChanged> {
    context.permit(actor, AdminOperation::SetLeadStage)?;
    let SetLeadStage { lead_id, stage, lost_reason } = input;
    change_one(context, actor, lead_id, LeadWork::stage(stage, lost_reason)?)
}

/// Owner for a lead.
#[derive(Debug, Clone)]
pub struct AssignLead {
    /// Id of the lead.
    pub lead_id: String,
    /// Name of the member who has it from now on, for [`stored_name`]; nobody when `None`.
    pub owner: Option<String>,
    /// Owner that the lead has to have.
    pub expected: ExpectedOwner,
}

/// Gives a lead an owner, or none. A lead that another than the expected member owns is left to them.
///
/// # Errors
/// Fails when the actor lacks the permission, there is no such lead or member, the lead is not open,
/// another owns it, or the store fails.
pub fn assign_lead(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: AssignLead,
) -> LeadResult<LeadChanged> {
    context.permit(actor, AdminOperation::AssignLead)?;
    let AssignLead { lead_id, owner, expected } = input;
    change_one(context, actor, lead_id, LeadWork::owner(owner, expected))
}

/// Next step for a lead.
#[derive(Debug, Clone)]
pub struct SetNextStep {
    /// Id of the lead.
    pub lead_id: String,
    /// The step, which replaces another.
    pub step: NextStep,
}

/// Sets the next step with a lead.
///
/// # Errors
/// Fails when the actor lacks the permission, the time has passed, there is no such lead, the lead is
/// not open, or the store fails.
pub fn set_next_step(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: SetNextStep,
) -> LeadResult<LeadChanged> {
    context.permit(actor, AdminOperation::SetNextStep)?;
    let SetNextStep { lead_id, step } = input;
    if step.at < context.now {
        return Err(LeadRefusal::PastStep.into());
    }
    change_one(context, actor, lead_id, LeadWork::SetStep(step))
}

/// Next step that is over.
#[derive(Debug, Clone)]
pub struct CompleteNextStep {
    /// Id of the lead.
    pub lead_id: String,
    /// True when it was done; false when it is no longer to be done.
    pub is_done: bool,
}

/// Ends the next step with a lead.
///
/// # Errors
/// Fails when the actor lacks the permission, there is no such lead, or the store fails.
pub fn complete_next_step(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: CompleteNextStep,
) -> LeadResult<LeadChanged> {
    context.permit(actor, AdminOperation::CompleteNextStep)?;
    let CompleteNextStep { lead_id, is_done } = input;
    change_one(context, actor, lead_id, LeadWork::EndStep { is_done })
}

/// Selection of leads to change.
#[derive(Debug, Clone)]
pub enum LeadSelection<'a> {
    /// Leads by their ids.
    Ids(Vec<String>),
    /// Leads of a filter, in its order, up to [`MAX_LEADS`]; its own limit is not used.
    Filter(LeadFilter<'a>),
}

/// Owner for many leads.
#[derive(Debug, Clone)]
pub struct AssignLeads<'a> {
    /// The leads.
    pub leads: LeadSelection<'a>,
    /// Name of the member who has them from now on, for [`stored_name`]; nobody when `None`.
    pub owner: Option<String>,
    /// Owner that each lead has to have.
    pub expected: ExpectedOwner,
}

/// Gives many leads an owner, or none.
///
/// # Errors
/// Fails when the actor lacks the permission or may not see the dealer, there are too many leads, or
/// the store fails. Batches before a failure are done.
pub fn assign_leads(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: AssignLeads<'_>,
) -> LeadResult<LeadsChanged> {
    context.permit(actor, AdminOperation::AssignLeads)?;
    let AssignLeads { leads, owner, expected } = input;
    change_many(context, actor, leads, &LeadWork::owner(owner, expected))
}

/// Stage for many leads.
#[derive(Debug, Clone)]
pub struct SetLeadStages<'a> {
    /// The leads.
    pub leads: LeadSelection<'a>,
    /// Stage from now on.
    pub stage: StaffStage,
    /// Reason, which a lost lead has and no other.
    pub lost_reason: Option<LostReason>,
}

/// Sets the stage of many leads. The appointments of lost leads are cancelled.
///
/// # Errors
/// Fails when the actor lacks the permission or may not see the dealer, the reason is missing or
/// superfluous, there are too many leads, or the store fails. Batches before a failure are done.
pub fn set_lead_stages(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: SetLeadStages<'_>,
) -> LeadResult<LeadsChanged> {
    context.permit(actor, AdminOperation::SetLeadStages)?;
    let SetLeadStages { leads, stage, lost_reason } = input;
    change_many(context, actor, leads, &LeadWork::stage(stage, lost_reason)?)
}

/// Result of a change of many leads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeadsChanged {
    /// Ids of the leads that were changed.
    pub changed: Vec<String>,
    /// Ids of the leads that stood as wished already.
    pub unchanged: Vec<String>,
    /// Leads that were left alone.
    pub refused: Vec<RefusedLead>,
    /// True when the filter has more leads than one request changes.
    pub is_cut: bool,
}

/// Lead that was not changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedLead {
    /// Id of the lead.
    pub lead_id: String,
    /// Reason.
    pub refusal: LeadRefusal,
}

/// Change of a lead.
#[derive(Debug, Clone)]
enum LeadWork {
    Stage(NewStage),
    Owner { owner: Option<String>, expected: ExpectedOwner },
    SetStep(NextStep),
    EndStep { is_done: bool },
}

/// Result of the change of a lead.
enum LeadOutcome {
    Changed,
    Unchanged,
    Refused(LeadRefusal),
}

impl LeadOutcome {
    const fn from_change(is_changed: bool) -> Self {
        if is_changed { Self::Changed } else { Self::Unchanged }
    }
}

impl LeadWork {
    fn stage(stage: StaffStage, lost_reason: Option<LostReason>) -> LeadResult<Self> {
        match (stage == StaffStage::Lost, lost_reason) {
            (true, None) => Err(LeadRefusal::NoLostReason.into()),
            (false, Some(_)) => Err(LeadRefusal::ReasonWithoutLost.into()),
            (true, Some(_)) | (false, None) => Ok(Self::Stage(NewStage { stage, lost_reason })),
        }
    }

    fn owner(owner: Option<String>, expected: ExpectedOwner) -> Self {
        Self::Owner { owner: owner.as_deref().map(stored_name), expected }
    }

    const fn action(&self) -> AuditAction {
        match self {
            Self::Stage(_) => AuditAction::StageChanged,
            Self::Owner { .. } => AuditAction::LeadAssigned,
            Self::SetStep(_) => AuditAction::NextStepSet,
            Self::EndStep { is_done: true } => AuditAction::NextStepDone,
            Self::EndStep { is_done: false } => AuditAction::NextStepRemoved,
        }
    }

    /// Changes a lead and records it.
    fn apply(
        &self,
        tx: &StoreTransaction<'_>,
        lead: &LeadRecord,
        entry: &NewAuditEntry,
        owners: &mut KnownOwners,
    ) -> Result<LeadOutcome, InternalError> {
        match self {
            Self::Stage(wanted) => {
                let detail = stage_detail(wanted.stage, wanted.lost_reason);
                let is_changed = tx.set_stage(lead, *wanted, &entry.actor, entry.at)?;
                record_as(is_changed, detail, tx, entry)
            }
            Self::Owner { owner, expected } => {
                let is_open = matches!(lead.state, LeadState::Received | LeadState::Held);
                if let Some(name) = owner {
                    if !is_open {
                        return Ok(LeadOutcome::Refused(LeadRefusal::NotOpen(lead.state)));
                    }
                    if !owners.can_own(tx, name, &lead.dealer_id)? {
                        let refusal = LeadRefusal::UnknownOwner(name.clone());
                        return Ok(LeadOutcome::Refused(refusal));
                    }
                }
                assign(tx, lead, owner.as_deref(), expected, entry)
            }
            Self::SetStep(step) => match lead.state {
                LeadState::Received | LeadState::Held => {
                    record_as(tx.set_next_step(lead, Some(step))?, step.detail(), tx, entry)
                }
                LeadState::Revoked | LeadState::Erased => {
                    Ok(LeadOutcome::Refused(LeadRefusal::NotOpen(lead.state)))
                }
            },
            Self::EndStep { .. } => {
                let is_changed = record_if(tx.set_next_step(lead, None)?, tx, entry)?;
                Ok(LeadOutcome::from_change(is_changed))
            }
        }
    }
}

/// Whether the new owner can own leads, by dealer. A transaction keeps members from being removed, so it asks once
/// for many leads.
#[derive(Debug, Default)]
struct KnownOwners(BTreeMap<String, bool>);

impl KnownOwners {
    fn can_own(
        &mut self,
        tx: &StoreTransaction<'_>,
        name: &str,
        dealer_id: &str,
    ) -> Result<bool, InternalError> {
        if let Some(known) = self.0.get(dealer_id) {
            return Ok(*known);
        }
        let can_own = tx.can_own_leads(name, dealer_id)?;
        self.0.insert(dealer_id.to_owned(), can_own);
        Ok(can_own)
    }
}

/// Records a change with a detail, if it was made.
fn record_as(
    is_changed: bool,
    detail: String,
    tx: &StoreTransaction<'_>,
    entry: &NewAuditEntry,
) -> Result<LeadOutcome, InternalError> {
    if is_changed {
        tx.record(&NewAuditEntry { detail: Some(detail), ..entry.clone() })?;
    }
    Ok(LeadOutcome::from_change(is_changed))
}

/// Gives a lead an owner, and records from whom to whom it went.
fn assign(
    tx: &StoreTransaction<'_>,
    lead: &LeadRecord,
    owner: Option<&str>,
    expected: &ExpectedOwner,
    entry: &NewAuditEntry,
) -> Result<LeadOutcome, InternalError> {
    Ok(match tx.set_owner(lead, owner, expected)? {
        OwnerChange::Unchanged => LeadOutcome::Unchanged,
        OwnerChange::OwnedBy(present) => LeadOutcome::Refused(LeadRefusal::OwnedBy(present)),
        OwnerChange::Changed { before } => {
            let before = before.as_deref().unwrap_or("nobody");
            let detail = format!("from {before} to {}", owner.unwrap_or("nobody"));
            return record_as(true, detail, tx, entry);
        }
    })
}

fn change_one(
    context: &AdminContext<'_>,
    actor: &Actor,
    lead_id: String,
    work: LeadWork,
) -> LeadResult<LeadChanged> {
    let mut outcomes = change_batch(context, actor, vec![lead_id.clone()], work)?;
    match outcomes.pop() {
        Some(LeadOutcome::Changed) => Ok(LeadChanged { lead_id, is_changed: true }),
        Some(LeadOutcome::Unchanged) => Ok(LeadChanged { lead_id, is_changed: false }),
        Some(LeadOutcome::Refused(refusal)) => Err(refusal.into()),
        None => Err(LeadRefusal::NotFound(lead_id).into()),
    }
}

fn change_many(
    context: &AdminContext<'_>,
    actor: &Actor,
    leads: LeadSelection<'_>,
    work: &LeadWork,
) -> LeadResult<LeadsChanged> {
    let mut result = LeadsChanged::default();
    let ids = match leads {
        LeadSelection::Ids(ids) => {
            let mut known = BTreeSet::new();
            let ids: Vec<_> = ids.into_iter().filter(|id| known.insert(id.clone())).collect();
            if ids.len() > MAX_LEADS as usize {
                return Err(LeadRefusal::TooManyLeads.into());
            }
            ids
        }
        LeadSelection::Filter(filter) => {
            let mut ids = filtered(context, actor, filter)?;
            result.is_cut = ids.len() > MAX_LEADS as usize;
            ids.truncate(MAX_LEADS as usize);
            ids
        }
    };
    for batch in ids.chunks(BATCH) {
        let outcomes = change_batch(context, actor, batch.to_vec(), work.clone())?;
        for (lead_id, outcome) in batch.iter().cloned().zip(outcomes) {
            match outcome {
                LeadOutcome::Changed => result.changed.push(lead_id),
                LeadOutcome::Unchanged => result.unchanged.push(lead_id),
                LeadOutcome::Refused(refusal) => {
                    result.refused.push(RefusedLead { lead_id, refusal });
                }
            }
        }
    }
    Ok(result)
}

/// Returns the ids of the leads of a filter that the actor sees: one more than may be changed, if there
/// are more.
fn filtered(
    context: &AdminContext<'_>,
    actor: &Actor,
    filter: LeadFilter<'_>,
) -> LeadResult<Vec<String>> {
    if let Some(other) = filter.dealer_id.filter(|id| !actor.sees_dealer(id)) {
        return Err(LeadRefusal::UnknownDealer(other.to_owned()).into());
    }
    let dealer_id = filter.dealer_id.or(actor.seller_id());
    let filter = LeadFilter { dealer_id, limit: MAX_LEADS + 1, ..filter };
    Ok(context.store.lead_ids(&filter)?)
}

/// Changes some leads in one transaction. Returns the result of each.
fn change_batch(
    context: &AdminContext<'_>,
    actor: &Actor,
    lead_ids: Vec<String>,
    work: LeadWork,
) -> Result<Vec<LeadOutcome>, InternalError> {
    let entry = context.entry(actor, "", work.action(), None);
    let actor = actor.clone();
    context.store.write_blocking(move |tx| {
        let mut outcomes = Vec::with_capacity(lead_ids.len());
        let mut owners = KnownOwners::default();
        for lead_id in &lead_ids {
            let found = tx.own_lead(lead_id)?.filter(|lead| actor.sees_dealer(&lead.dealer_id));
            outcomes.push(match found {
                Some(lead) => {
                    // The dealer is known only here.
                    let chain = lead.dealer_id.clone();
                    let subject = Some(lead_id.clone());
                    let entry = NewAuditEntry { chain, subject, ..entry.clone() };
                    work.apply(tx, &lead, &entry, &mut owners)?
                }
                None => LeadOutcome::Refused(LeadRefusal::NotFound(lead_id.clone())),
            });
        }
        Ok(outcomes)
    })
}
