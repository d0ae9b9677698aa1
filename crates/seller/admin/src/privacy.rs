//! Operations on personal data as a whole: all data of a customer, and the keys that encrypt it.
//! Erasing a customer is in [`leads`](crate::leads).

use std::collections::BTreeSet;

use jiff::Timestamp;
use tradepost_dealer::delivery::DeliveryRecord;
use tradepost_dealer::record::LeadHistory;
use tradepost_dealer::staff::{
    AuditAction, AuditEntry, EVERYBODY, LeadNote, NewAuditEntry, StaffProgress,
};
use tradepost_store::lost_key::OnlyBy;
use tradepost_store::privacy::OperatorKeys;
use tradepost_store::{Locked, Rekeyed, Sealing};

use crate::actor::Actor;
use crate::context::{AdminContext, AdminError};
use crate::operation::AdminOperation;

/// Refusal of an operation on personal data.
#[derive(Debug)]
pub enum PrivacyRefusal {
    /// No key was given.
    NoKey,
    /// The key of this name was given, so it is not lost.
    KeyGiven(String),
    /// No data is encrypted with a key of this name.
    UnknownKey {
        /// Name of the key.
        key: String,
        /// Names of the keys with which data is encrypted.
        known: Vec<String>,
    },
    /// Other keys are needed as well.
    Locked(Locked),
    /// The actor may not see the dealer of this id.
    UnknownDealer(String),
}

impl From<PrivacyRefusal> for AdminError<PrivacyRefusal> {
    fn from(refusal: PrivacyRefusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Locked> for AdminError<PrivacyRefusal> {
    fn from(locked: Locked) -> Self {
        match locked {
            Locked::Broken(fault) => Self::Broken(fault),
            Locked::NoKey(_) | Locked::OtherKey(_) => Self::Refused(PrivacyRefusal::Locked(locked)),
        }
    }
}

/// Result of an operation on personal data.
pub type PrivacyResult<T> = Result<T, AdminError<PrivacyRefusal>>;

/// Customer whose data is exported.
#[derive(Debug, Clone, Default)]
pub struct ExportCustomer {
    /// Ids of leads, readable or not. Unknown ones are left out.
    pub lead_ids: Vec<String>,
    /// Contacts of the customer: `email:…` or `phone:…`, in the form in which they are compared.
    pub contacts: Vec<String>,
    /// Dealer whose leads are searched for the contacts; all that the actor sees when `None`.
    pub dealer_id: Option<String>,
}

/// All data of a customer.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomerData {
    /// The customer's leads.
    pub leads: Vec<CustomerLead>,
    /// Ids of leads that cannot be read, which may be this customer's.
    pub unreadable: BTreeSet<String>,
}

/// A lead with everything that is stored about it.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomerLead {
    /// The lead with its submissions, events and consents.
    pub history: LeadHistory,
    /// Progress of the staff with it.
    pub progress: StaffProgress,
    /// Notes of the staff.
    pub notes: Vec<LeadNote>,
    /// Its deliveries.
    pub deliveries: Vec<DeliveryRecord>,
    /// Audit entries about it, that of this export among them.
    pub entries: Vec<AuditEntry>,
}

/// Returns all data of a customer, after recording the export of each lead.
///
/// # Errors
/// Fails when the actor lacks the permission or may not see the dealer, or the store fails; nothing
/// may be exported then.
pub fn export_customer(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: ExportCustomer,
) -> PrivacyResult<CustomerData> {
    context.permit(actor, AdminOperation::ExportCustomer)?;
    let ExportCustomer { lead_ids: mut ids, contacts, dealer_id } = input;
    if let Some(other) = dealer_id.as_deref().filter(|id| !actor.sees_dealer(id)) {
        return Err(PrivacyRefusal::UnknownDealer(other.to_owned()).into());
    }
    let store = context.store;
    let dealer_id = dealer_id.as_deref().or(actor.seller_id());
    let mut unreadable = BTreeSet::new();
    for contact in contacts {
        let found = store.leads_of_contact(dealer_id, &contact)?;
        for lead_id in found.leads {
            if !ids.contains(&lead_id) {
                ids.push(lead_id);
            }
        }
        unreadable.extend(found.unreadable);
    }
    let mut histories = Vec::new();
    for id in &ids {
        let found = store.lead_history(id)?;
        histories.extend(found.filter(|history| actor.sees_dealer(&history.lead.dealer_id)));
    }
    let damaged = histories.iter().filter(|history| !history.is_readable());
    unreadable.extend(damaged.map(|history| history.lead.lead_id.clone()));
    // Before anything is returned: data is not exported unless the export is recorded.
    let exported = histories.iter().map(|history| NewAuditEntry {
        detail: Some("privacy export".to_owned()),
        ..context.entry(
            actor,
            &history.lead.dealer_id,
            AuditAction::LeadExported,
            Some(&history.lead.lead_id),
        )
    });
    store.record_all(exported.collect())?;
    let mut leads = Vec::with_capacity(histories.len());
    for history in histories {
        let lead_id = &history.lead.lead_id;
        let (progress, notes) = store.lead_work(lead_id)?;
        let deliveries = store.deliveries(None, Some(lead_id), None)?;
        let entries = store.entries_about(lead_id)?;
        let entries = entries.into_iter().map(|(entry, _)| entry).collect();
        leads.push(CustomerLead { history, progress, notes, deliveries, entries });
    }
    Ok(CustomerData { leads, unreadable })
}

/// Returns how much personal data is encrypted, and with which keys.
///
/// # Errors
/// Fails when the actor lacks the permission, or the store fails.
pub fn show_encryption(context: &AdminContext<'_>, actor: &Actor) -> PrivacyResult<Sealing> {
    context.permit(actor, AdminOperation::ShowEncryption)?;
    Ok(context.store.sealing()?)
}

/// Keys with the first of which all personal data is encrypted.
#[derive(Clone, Copy)]
pub struct ChangeKey<'a> {
    /// The keys; the others decrypt what they have encrypted.
    pub keys: &'a OperatorKeys,
    /// Tells the moment of the audit entry, which is after all transactions.
    pub clock: &'a dyn Fn() -> Timestamp,
}

/// Result of encrypting all personal data with one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedKey {
    /// Name of the key.
    pub key: String,
    /// What was encrypted, and what could not be.
    pub done: Rekeyed,
    /// Names of other keys that are still needed.
    pub other_keys: Vec<String>,
}

/// Encrypts with the first key all personal data that is in clear text or encrypted with another. It
/// takes many transactions, and another call continues after an interruption; the last one has the
/// audit entry. `progress` is called with the number of rows done.
///
/// # Errors
/// Fails when the actor lacks the permission, other keys are needed, or the store fails.
pub fn change_key(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: ChangeKey<'_>,
    progress: impl FnMut(u64),
) -> PrivacyResult<ChangedKey> {
    context.permit(actor, AdminOperation::ChangeKey)?;
    let first = input.keys.ids().first().map(|id| (*id).to_owned());
    let key = first.ok_or(PrivacyRefusal::NoKey)?;
    let store = context.store;
    store.unlock(input.keys, true, context.now)?;
    let done = store.rekey(progress)?;
    let entry = context.entry(actor, EVERYBODY, AuditAction::KeyChanged, Some(&key));
    let detail = Some(format!("{} rows", done.rows));
    store.record_all(vec![NewAuditEntry { detail, at: (input.clock)(), ..entry }])?;
    let mut other_keys = store.privacy_keys()?;
    other_keys.retain(|id| *id != key);
    Ok(ChangedKey { key, done, other_keys })
}

/// Keys that are lost, and those that are still there.
#[derive(Debug, Clone, Copy)]
pub struct LostKeys<'a> {
    /// Names of the lost keys.
    pub lost: &'a [String],
    /// The keys that are still there.
    pub keys: &'a OperatorKeys,
}

impl LostKeys<'_> {
    /// Checks, without a store, that a key is left and that no lost one was given.
    ///
    /// # Errors
    /// Fails when no key is left, or one that is said to be lost was given.
    pub fn check(&self) -> Result<(), PrivacyRefusal> {
        if self.keys.is_empty() {
            return Err(PrivacyRefusal::NoKey);
        }
        let given = self.keys.ids();
        match self.lost.iter().find(|id| given.contains(&id.as_str())) {
            Some(key) => Err(PrivacyRefusal::KeyGiven(key.clone())),
            None => Ok(()),
        }
    }
}

/// Returns what only lost keys can decrypt, and `forget_keys` would erase.
///
/// # Errors
/// Fails when the actor lacks the permission, no key is left, a key is not lost or unknown, or the
/// store fails.
pub fn find_lost_data(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: LostKeys<'_>,
) -> PrivacyResult<OnlyBy> {
    context.permit(actor, AdminOperation::ForgetKeys)?;
    check_known(context, input)?;
    Ok(context.store.only_by(input.lost, input.keys)?)
}

/// Lost keys to forget.
#[derive(Debug, Clone, Copy)]
pub struct ForgetKeys<'a> {
    /// The keys.
    pub keys: LostKeys<'a>,
    /// What `find_lost_data` has found and the person has agreed to erase.
    pub agreed: &'a OnlyBy,
}

/// Erases all data that only lost keys can decrypt, and continues with the other keys. Returns what
/// was erased.
///
/// # Errors
/// Fails when the actor lacks the permission, no key is left, a key is not lost or unknown, other keys
/// are needed, a server uses the store, or the store fails.
pub fn forget_keys(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: ForgetKeys<'_>,
) -> PrivacyResult<OnlyBy> {
    context.permit(actor, AdminOperation::ForgetKeys)?;
    let ForgetKeys { keys, agreed } = input;
    check_known(context, keys)?;
    let LostKeys { lost, keys } = keys;
    let names = lost.join(" and ");
    let entry = context.entry(actor, EVERYBODY, AuditAction::KeyForgotten, Some(&names));
    let OnlyBy { leads, notes, replies, second_factors: _, is_last: _ } = agreed;
    let detail = Some(format!("{} leads, {notes} notes, {replies} answers", leads.len()));
    Ok(context.store.forget_keys(lost, keys, NewAuditEntry { detail, ..entry })?)
}

/// Checks that lost keys can be lost, and that data is encrypted with each.
fn check_known(context: &AdminContext<'_>, input: LostKeys<'_>) -> PrivacyResult<()> {
    input.check()?;
    let known = context.store.privacy_keys()?;
    let unknown = input.lost.iter().find(|id| !known.contains(id)).cloned();
    match unknown {
        Some(key) => Err(PrivacyRefusal::UnknownKey { key, known }.into()),
        None => Ok(()),
    }
}
