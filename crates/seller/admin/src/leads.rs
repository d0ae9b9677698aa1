//! Operations on leads: notes, releases, withdrawn consents, erasure and repeated deliveries, and the
//! record of who was shown a lead. Stages, owners and next steps are in [`work`].

use std::collections::BTreeMap;

use tradepost_dealer::consent::{Sha256Hash, hex};
use tradepost_dealer::delivery::NewDelivery;
use tradepost_dealer::record::{LeadHistory, LeadRecord, LeadState};
use tradepost_dealer::staff::{AuditAction, LeadNote, NewAuditEntry};
use tradepost_document::fault::InternalError;
use tradepost_store::{CustomerLeads, StoreTransaction, TransactionError};

use crate::actor::Actor;
use crate::context::{AdminContext, AdminError, record_if};
use crate::operation::AdminOperation;

pub mod work;

/// Maximum length of a note in characters.
const MAX_NOTE: usize = 4_000;

/// Refusal of an operation on a lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeadRefusal {
    /// There is no lead of this id, or the actor may not see its dealer.
    NotFound(String),
    /// The note has no text.
    EmptyNote,
    /// The note has more than 4,000 characters.
    LongNote,
    /// A lead in this state is not delivered.
    NotDeliverable(LeadState),
    /// No dealer of this id is configured, or the actor may not see it.
    UnknownDealer(String),
    /// The dealer of this id has no destination that wants the lead.
    NoDestination(String),
    /// The dealer of this id has no destination of the wanted name.
    UnknownDestination(String),
    /// A lost lead needs a reason.
    NoLostReason,
    /// Only a lost lead has a reason.
    ReasonWithoutLost,
    /// The customer of a lead in this state may not be contacted.
    NotOpen(LeadState),
    /// Another than the expected member owns the lead; `None` for nobody.
    OwnedBy(Option<String>),
    /// No member of this name can own leads of the dealer.
    UnknownOwner(String),
    /// The time of the next step has passed.
    PastStep,
    /// There are more leads than one request may change.
    TooManyLeads,
}

impl LeadRefusal {
    /// Returns the name of the refusal for programs.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::NotFound(_) => "not_found",
            Self::EmptyNote => "empty_note",
            Self::LongNote => "long_note",
            Self::NotDeliverable(_) => "not_deliverable",
            Self::UnknownDealer(_) => "unknown_dealer",
            Self::NoDestination(_) => "no_destination",
            Self::UnknownDestination(_) => "unknown_destination",
            Self::NoLostReason => "no_lost_reason",
            Self::ReasonWithoutLost => "reason_without_lost",
            Self::NotOpen(_) => "not_open",
            Self::OwnedBy(_) => "owned_by_another",
            Self::UnknownOwner(_) => "unknown_owner",
            Self::PastStep => "past_step",
            Self::TooManyLeads => "too_many_leads",
        }
    }
}

impl From<LeadRefusal> for AdminError<LeadRefusal> {
    fn from(refusal: LeadRefusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Result of an operation on a lead.
pub type LeadResult<T> = Result<T, AdminError<LeadRefusal>>;

/// Lead after an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeadChanged {
    /// Id of the lead.
    pub lead_id: String,
    /// False when the lead stood as wished already, or in a state that does not permit the change;
    /// nothing is recorded then.
    pub is_changed: bool,
}

/// Note for a lead.
#[derive(Debug, Clone)]
pub struct AddNote {
    /// Id of the lead.
    pub lead_id: String,
    /// Text of the note.
    pub text: String,
}

/// Adds a note to a lead. The audit entry has the hash of the note.
///
/// # Errors
/// Fails when the actor lacks the permission, the note is refused, or the store fails.
pub fn add_note(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: AddNote,
) -> LeadResult<LeadChanged> {
    context.permit(actor, AdminOperation::AddNote)?;
    let AddNote { lead_id, text } = input;
    if text.trim().is_empty() {
        return Err(LeadRefusal::EmptyNote.into());
    }
    if text.chars().count() > MAX_NOTE {
        return Err(LeadRefusal::LongNote.into());
    }
    // Browsers send line breaks as CR LF.
    let text = Some(text.replace("\r\n", "\n"));
    let note = LeadNote { at: context.now, author: actor.name().to_owned(), text };
    let change = LeadChange { lead_id, action: AuditAction::NoteAdded, detail: None };
    change_lead(context, actor, change, move |tx, lead, entry| {
        // The store records it, with the hash of the note.
        tx.add_note(&lead.lead_id, &note, entry)
    })
}

/// Lead to release.
#[derive(Debug, Clone)]
pub struct ReleaseLead {
    /// Id of the lead.
    pub lead_id: String,
}

/// Releases a lead that is held back, so that it is delivered like any other.
///
/// # Errors
/// Fails when the actor lacks the permission, there is no such lead, or the store fails.
pub fn release_lead(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: ReleaseLead,
) -> LeadResult<LeadChanged> {
    context.permit(actor, AdminOperation::ReleaseLead)?;
    let ReleaseLead { lead_id } = input;
    let change = LeadChange { lead_id, action: AuditAction::LeadReleased, detail: None };
    change_lead(context, actor, change, |tx, lead, entry| {
        let is_changed = tx.release_lead(&lead.lead_id, entry.at)?;
        record_if(is_changed, tx, entry)
    })
}

/// Lead whose customer has withdrawn the consent.
#[derive(Debug, Clone)]
pub struct RevokeConsent {
    /// Id of the lead.
    pub lead_id: String,
}

/// Records that the customer has withdrawn the consent, so that staff may no longer contact them.
///
/// # Errors
/// Fails when the actor lacks the permission, there is no such lead, or the store fails.
pub fn revoke_consent(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: RevokeConsent,
) -> LeadResult<LeadChanged> {
    context.permit(actor, AdminOperation::RevokeConsent)?;
    let RevokeConsent { lead_id } = input;
    let change = LeadChange { lead_id, action: AuditAction::ConsentRevoked, detail: None };
    change_lead(context, actor, change, |tx, lead, entry| {
        let is_changed = tx.revoke_consent(&lead.lead_id, entry.at)?;
        record_if(is_changed, tx, entry)
    })
}

/// Change of a lead, for its audit entry.
struct LeadChange {
    lead_id: String,
    action: AuditAction,
    detail: Option<String>,
}

/// Changes a lead that the actor sees, in one transaction. `job` makes the change and records it,
/// and returns false when nothing has changed.
fn change_lead(
    context: &AdminContext<'_>,
    actor: &Actor,
    change: LeadChange,
    mut job: impl FnMut(
        &StoreTransaction<'_>,
        &LeadRecord,
        &NewAuditEntry,
    ) -> Result<bool, InternalError>
    + Send
    + 'static,
) -> LeadResult<LeadChanged> {
    let LeadChange { lead_id, action, detail } = change;
    let entry = context.entry(actor, "", action, Some(&lead_id));
    let actor = actor.clone();
    let wanted = lead_id.clone();
    let outcome = context.store.write_blocking(move |tx| {
        let found = tx.own_lead(&wanted)?.filter(|lead| actor.sees_dealer(&lead.dealer_id));
        let Some(lead) = found else { return Ok(None) };
        // The dealer is known only here.
        let chain = lead.dealer_id.clone();
        let entry = NewAuditEntry { chain, detail: detail.clone(), ..entry.clone() };
        job(tx, &lead, &entry).map(Some)
    })?;
    match outcome {
        Some(is_changed) => Ok(LeadChanged { lead_id, is_changed }),
        None => Err(LeadRefusal::NotFound(lead_id).into()),
    }
}

/// Lead to deliver again.
#[derive(Debug, Clone)]
pub struct ResendLead {
    /// Id of the lead.
    pub lead_id: String,
    /// The only destination, also when the lead is not meant for it. Without it, the lead goes to
    /// every destination that it is meant for.
    pub destination: Option<String>,
}

/// Queues a lead for another delivery, in its present state. Returns the names of the destinations.
///
/// # Errors
/// Fails when the actor lacks the permission, the lead or its destination is refused, or the store
/// fails.
pub fn resend_lead(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: ResendLead,
) -> LeadResult<Vec<String>> {
    context.permit(actor, AdminOperation::ResendLead)?;
    let history = find_lead(context, actor, &input.lead_id)?;
    let lead = &history.lead;
    if lead.state != LeadState::Received {
        return Err(LeadRefusal::NotDeliverable(lead.state).into());
    }
    let names = destinations(context, lead, input.destination.as_deref())?;
    // The latest event, so that the present state is sent.
    let event = history.events.last().map(|event| event.seq).unwrap_or_default();
    let wanted = names.iter().map(|name| NewDelivery {
        dealer_id: lead.dealer_id.clone(),
        lead_id: lead.lead_id.clone(),
        destination: name.clone(),
        event,
    });
    let wanted: Vec<_> = wanted.collect();
    let mut entry =
        context.entry(actor, &lead.dealer_id, AuditAction::LeadResent, Some(&lead.lead_id));
    entry.detail = Some(names.join(", "));
    let lead_id = input.lead_id;
    context.store.decide(move |tx| {
        // A consent may have been withdrawn since the lead was read above.
        let state = tx.own_lead(&lead_id)?.map(|lead| lead.state);
        match state {
            Some(LeadState::Received) => {}
            Some(state) => {
                return Err(TransactionError::Refused(LeadRefusal::NotDeliverable(state)));
            }
            None => {
                return Err(TransactionError::Refused(LeadRefusal::NotFound(lead_id.clone())));
            }
        }
        tx.deliver_again(&wanted, entry.at)?;
        tx.record(&entry)?;
        Ok(())
    })?;
    Ok(names)
}

/// Returns the names of the destinations that a lead is sent to again.
fn destinations(
    context: &AdminContext<'_>,
    lead: &LeadRecord,
    only: Option<&str>,
) -> Result<Vec<String>, LeadRefusal> {
    let dealer = context.dealers.iter().find(|dealer| dealer.settings.id == lead.dealer_id);
    let dealer = dealer.ok_or_else(|| LeadRefusal::UnknownDealer(lead.dealer_id.clone()))?;
    let named: Vec<String> = dealer
        .destinations
        .iter()
        .filter(|destination| match only {
            Some(name) => destination.name == name,
            None => destination.wants(lead),
        })
        .map(|destination| destination.name.clone())
        .collect();
    match (named.is_empty(), only) {
        (false, _) => Ok(named),
        (true, Some(_)) => Err(LeadRefusal::UnknownDestination(lead.dealer_id.clone())),
        (true, None) => Err(LeadRefusal::NoDestination(lead.dealer_id.clone())),
    }
}

/// Customer to erase.
#[derive(Debug, Clone, Default)]
pub struct EraseCustomer {
    /// Ids of leads, readable or not.
    pub lead_ids: Vec<String>,
    /// Contacts whose leads are erased: `email:…` or `phone:…`, in the form in which they are compared.
    pub contacts: Vec<String>,
    /// Dealer whose leads are searched for the contacts; all that the actor sees when `None`.
    pub dealer_id: Option<String>,
}

/// Erases what leads say about their customer, except for the hashes of the consents. Returns the
/// leads that were erased, and those that cannot be read, so that their customers are unknown.
///
/// # Errors
/// Fails when the actor lacks the permission, there is no such lead or dealer, or the store fails.
/// When a named lead is unknown, nothing is erased.
pub fn erase_customer(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: EraseCustomer,
) -> LeadResult<CustomerLeads> {
    context.permit(actor, AdminOperation::EraseCustomer)?;
    let EraseCustomer { lead_ids, contacts, dealer_id } = input;
    if let Some(other) = dealer_id.as_deref().filter(|id| !actor.sees_dealer(id)) {
        return Err(LeadRefusal::UnknownDealer(other.to_owned()).into());
    }
    for lead_id in &lead_ids {
        find_lead(context, actor, lead_id)?;
    }
    let AdminContext { store, now, .. } = *context;
    let mut erased = CustomerLeads {
        leads: store.erase_leads(lead_ids, actor.name(), now)?,
        unreadable: Vec::new(),
    };
    let dealer_id = dealer_id.as_deref().or(actor.seller_id());
    // A phone number and an e-mail address need not be in the same lead.
    for contact in contacts {
        let named = store.erase_customer(dealer_id, &contact, actor.name(), now)?;
        erased.leads.extend(named.leads);
        erased.unreadable.extend(named.unreadable);
    }
    erased.unreadable.sort_unstable();
    erased.unreadable.dedup();
    Ok(erased)
}

/// Lead to show.
#[derive(Debug, Clone)]
pub struct ShowLead {
    /// Id of the lead.
    pub lead_id: String,
}

/// Returns a lead with its history, after recording that the actor is shown it.
///
/// # Errors
/// Fails when the actor lacks the permission, there is no such lead, or the store fails; nothing may
/// be shown then.
pub fn show_lead(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: ShowLead,
) -> LeadResult<LeadHistory> {
    context.permit(actor, AdminOperation::ShowLead)?;
    let history = find_lead(context, actor, &input.lead_id)?;
    let lead = history.lead.clone();
    let entry = context.entry(actor, &lead.dealer_id, AuditAction::LeadSeen, Some(&lead.lead_id));
    // Response times count looks of staff, not those of the operator.
    let counts_as_seen = actor.role().is_some();
    context.store.write_blocking(move |tx| {
        if counts_as_seen {
            tx.see_lead(&lead, entry.at)?;
        }
        tx.record(&entry)
    })?;
    Ok(history)
}

/// List of leads that is about to be shown.
#[derive(Debug, Clone)]
pub struct ListLeads<'a> {
    /// The leads.
    pub leads: Vec<&'a LeadRecord>,
}

/// Records that the actor is shown a list of leads, with the number of leads of each dealer.
///
/// # Errors
/// Fails when the actor lacks the permission, or the store fails; nothing may be shown then.
pub fn record_list(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: ListLeads<'_>,
) -> LeadResult<()> {
    context.permit(actor, AdminOperation::ListLeads)?;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for lead in input.leads {
        *counts.entry(&lead.dealer_id).or_default() += 1;
    }
    let entries = counts.into_iter().map(|(dealer_id, count)| NewAuditEntry {
        detail: Some(count.to_string()),
        ..context.entry(actor, dealer_id, AuditAction::LeadsListed, None)
    });
    Ok(context.store.record_all(entries.collect())?)
}

/// Leads that are about to be exported.
#[derive(Debug, Clone)]
pub struct ExportLeads<'a> {
    /// The leads.
    pub leads: Vec<&'a LeadRecord>,
    /// Format of the export, such as `csv`.
    pub format: &'a str,
}

/// Records that the actor takes leads to a file, an entry for each of them.
///
/// # Errors
/// Fails when the actor lacks the permission, or the store fails; nothing may be exported then.
pub fn record_export(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: ExportLeads<'_>,
) -> LeadResult<()> {
    context.permit(actor, AdminOperation::ExportLeads)?;
    let entries = input.leads.into_iter().map(|lead| NewAuditEntry {
        detail: Some(input.format.to_owned()),
        ..context.entry(actor, &lead.dealer_id, AuditAction::LeadExported, Some(&lead.lead_id))
    });
    Ok(context.store.record_all(entries.collect())?)
}

/// Evidence of a lead's consent that is about to be handed over.
#[derive(Debug, Clone)]
pub struct TakeEvidence {
    /// Id of the lead.
    pub lead_id: String,
    /// Hash of the file's content, so that a copy can be told from a forgery later.
    pub digest: Sha256Hash,
}

/// Records that the actor takes the evidence of a lead's consent.
///
/// # Errors
/// Fails when the actor lacks the permission, there is no such lead, or the store fails; nothing may
/// be handed over then.
pub fn record_evidence(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: TakeEvidence,
) -> LeadResult<LeadChanged> {
    context.permit(actor, AdminOperation::TakeEvidence)?;
    let TakeEvidence { lead_id, digest } = input;
    let detail = Some(hex(&digest));
    let change = LeadChange { lead_id, action: AuditAction::EvidenceTaken, detail };
    change_lead(context, actor, change, |tx, _, entry| record_if(true, tx, entry))
}

/// Returns a lead with its history. A lead of a dealer that the actor does not see is not found.
///
/// # Errors
/// Fails when there is no such lead, or the store fails.
pub fn find_lead(
    context: &AdminContext<'_>,
    actor: &Actor,
    lead_id: &str,
) -> LeadResult<LeadHistory> {
    let found = context.store.lead_history(lead_id)?;
    let found = found.filter(|history| actor.sees_dealer(&history.lead.dealer_id));
    found.ok_or_else(|| LeadRefusal::NotFound(lead_id.to_owned()).into())
}
