//! Operations on the audit log: listing, verifying and exporting it.

use std::collections::BTreeMap;

use tradepost_dealer::consent::{ConsentCheck, Sha256Hash, hex};
use tradepost_dealer::staff::{AuditAction, AuditEntry, EVERYBODY, RecordCheck};
use tradepost_store::verification::{NoteCheck, SealedCheck, StaffCheck};

use crate::actor::Actor;
use crate::context::{AdminContext, AdminError};
use crate::operation::AdminOperation;

/// Refusal of an operation on the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordRefusal {
    /// The actor may not see the chain of this name.
    UnknownChain(String),
}

impl From<RecordRefusal> for AdminError<RecordRefusal> {
    fn from(refusal: RecordRefusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Result of an operation on the audit log.
pub type RecordResult<T> = Result<T, AdminError<RecordRefusal>>;

/// Part of a chain, from its end.
#[derive(Debug, Clone)]
pub struct PageRecord {
    /// The chain: a dealer's or publisher's id, or `*` for the whole server.
    pub chain: String,
    /// Number that all entries precede; the end of the chain when `None`.
    pub before: Option<i64>,
    /// Maximum number of entries.
    pub limit: u32,
}

/// Returns entries of a chain in its order, the last first. Staff of dealers see those of the context's
/// dealers.
///
/// # Errors
/// Fails when the actor lacks the permission or may not see the chain, or the store fails.
pub fn page_record(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: PageRecord,
) -> RecordResult<Vec<AuditEntry>> {
    context.permit(actor, AdminOperation::ListRecord)?;
    let PageRecord { chain, before, limit } = input;
    check_chain(context, actor, &chain)?;
    Ok(context.store.entries(&chain, before.unwrap_or(i64::MAX), limit)?)
}

/// Selection of entries.
#[derive(Debug, Clone)]
pub enum RecordScope {
    /// Entries of the chain of this name.
    Chain(String),
    /// Entries about the lead of this id.
    Lead(String),
    /// All chains for the operator of the server, and the own one for a member.
    All,
}

/// Entries to list.
#[derive(Debug, Clone)]
pub struct ListRecord {
    /// Selection of the entries.
    pub scope: RecordScope,
    /// Maximum number of entries.
    pub limit: u32,
}

/// Returns entries of one chain or several by their time, the latest first. Staff of dealers see those of
/// the context's dealers.
///
/// # Errors
/// Fails when the actor lacks the permission or may not see the chain, or the store fails.
pub fn list_record(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: ListRecord,
) -> RecordResult<Vec<AuditEntry>> {
    context.permit(actor, AdminOperation::ListRecord)?;
    let ListRecord { scope, limit } = input;
    let store = context.store;
    let chains = match scope {
        RecordScope::Chain(chain) => {
            check_chain(context, actor, &chain)?;
            vec![chain]
        }
        RecordScope::Lead(lead_id) => {
            let about = store.entries_about(&lead_id)?.into_iter().map(|(entry, _)| entry);
            let seen = about.filter(|entry| sees_chain(context, actor, &entry.said.chain));
            return Ok(latest(seen.collect(), limit));
        }
        RecordScope::All if actor.role().is_some() => {
            check_chain(context, actor, actor.chain())?;
            vec![actor.chain().to_owned()]
        }
        RecordScope::All => store.chains()?,
    };
    let mut found = Vec::new();
    for chain in chains {
        found.extend(store.entries(&chain, i64::MAX, limit)?);
    }
    Ok(latest(found, limit))
}

/// Returns the latest entries, the latest first.
fn latest(mut found: Vec<AuditEntry>, limit: u32) -> Vec<AuditEntry> {
    found.sort_by(|a, b| (b.said.at, &b.said.chain, b.seq).cmp(&(a.said.at, &a.said.chain, a.seq)));
    found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    found
}

/// Checks that the actor may see a chain.
fn check_chain(
    context: &AdminContext<'_>,
    actor: &Actor,
    chain: &str,
) -> Result<(), RecordRefusal> {
    if sees_chain(context, actor, chain) {
        return Ok(());
    }
    Err(RecordRefusal::UnknownChain(chain.to_owned()))
}

/// Returns true when the actor may see a chain. Staff of one seller see its chain alone, and staff of all
/// dealers those of the context's dealers and that of the whole server. The operator sees every chain.
fn sees_chain(context: &AdminContext<'_>, actor: &Actor, chain: &str) -> bool {
    let Some(role) = actor.role() else { return true };
    if role.is_of_publisher() {
        return actor.works_for_publisher(chain);
    }
    // The store does not say whether a chain is a dealer's or a publisher's; the configuration does.
    let is_of_dealers =
        chain == EVERYBODY || context.dealers.iter().any(|dealer| dealer.settings.id == chain);
    is_of_dealers && actor.sees_dealer(chain)
}

/// End of a chain as it was noted earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainHead {
    /// Number of its last entry; 0 when it was empty.
    pub seq: i64,
    /// Hash of that entry.
    pub hash: Sha256Hash,
}

/// Ends of all chains as they were noted earlier, by the names of the chains.
#[derive(Debug, Clone, Default)]
pub struct NotedHeads {
    /// Chains of the audit log.
    pub records: BTreeMap<String, ChainHead>,
    /// Chains of consents.
    pub consents: BTreeMap<String, ChainHead>,
}

/// Result of checking all hash chains.
#[derive(Debug, Clone)]
pub struct ChainChecks {
    /// Chains of the audit log.
    pub records: Vec<RecordCheck>,
    /// Chains of consents.
    pub consents: Vec<ConsentCheck>,
}

/// Place in a chain at which the noted hash is no longer found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingHead {
    /// Name of the chain.
    pub chain: String,
    /// Number of the entry.
    pub seq: i64,
}

/// Result of comparing stored data with the audit log, and of decrypting it.
#[derive(Debug, Clone)]
pub struct StoredContents {
    /// Notes on leads.
    pub notes: NoteCheck,
    /// Staff members.
    pub staff: StaffCheck,
    /// Everything that is encrypted.
    pub sealed: SealedCheck,
}

/// Result of verifying the audit log and what it vouches for.
#[derive(Debug, Clone)]
pub struct RecordVerdict {
    /// The chains.
    pub chains: ChainChecks,
    /// Noted ends that chains of the audit log no longer have.
    pub missing_entries: Vec<MissingHead>,
    /// Noted ends that chains of consents no longer have.
    pub missing_consents: Vec<MissingHead>,
    /// Data beside the chains.
    pub contents: StoredContents,
}

/// Extent of a verification.
#[derive(Debug, Clone, Copy, Default)]
pub struct VerifyRecord<'a> {
    /// Ends of the chains that were noted earlier.
    pub heads: Option<&'a NotedHeads>,
}

/// Verifies every chain, that each noted end is still in its chain, and the data beside the chains.
///
/// # Errors
/// Fails when the actor lacks the permission, or the store cannot be read, also because data is
/// encrypted and no key was given.
pub fn verify_record(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: VerifyRecord<'_>,
) -> RecordResult<RecordVerdict> {
    context.permit(actor, AdminOperation::VerifyRecord)?;
    let store = context.store;
    let chains = check_chains(context)?;
    let mut missing_entries = Vec::new();
    let mut missing_consents = Vec::new();
    if let Some(NotedHeads { records, consents }) = input.heads {
        for (chain, head) in records {
            if store.entry_hash(chain, head.seq)? != Some(head.hash) {
                missing_entries.push(MissingHead { chain: chain.clone(), seq: head.seq });
            }
        }
        for (chain, head) in consents {
            // The head of an empty chain: it matches whatever was added since.
            let is_start = head.seq == 0;
            if !is_start && store.consent_hash(chain, head.seq)? != Some(head.hash) {
                missing_consents.push(MissingHead { chain: chain.clone(), seq: head.seq });
            }
        }
    }
    let contents = StoredContents {
        notes: store.check_notes()?,
        staff: store.check_staff()?,
        sealed: store.check_sealed()?,
    };
    Ok(RecordVerdict { chains, missing_entries, missing_consents, contents })
}

/// Verifies the chains of the audit log alone.
///
/// # Errors
/// Fails when the actor lacks the permission, or the store fails.
pub fn verify_chains(context: &AdminContext<'_>, actor: &Actor) -> RecordResult<Vec<RecordCheck>> {
    context.permit(actor, AdminOperation::VerifyRecord)?;
    Ok(context.store.check_records()?)
}

/// Chains of consents to verify.
#[derive(Debug, Clone, Copy, Default)]
pub struct VerifyConsents<'a> {
    /// Dealer whose chain is verified; all chains when `None`.
    pub dealer_id: Option<&'a str>,
    /// Hash that one of the chains must have.
    pub expected: Option<Sha256Hash>,
}

/// Verifies chains of consents alone.
///
/// # Errors
/// Fails when the actor lacks the permission, or the store fails.
pub fn verify_consents(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: VerifyConsents<'_>,
) -> RecordResult<Vec<ConsentCheck>> {
    context.permit(actor, AdminOperation::VerifyRecord)?;
    Ok(context.store.check_consents(input.dealer_id, input.expected)?)
}

/// Evidence of a consent that was handed over.
#[derive(Debug, Clone)]
pub struct VerifyEvidence {
    /// Id of the lead.
    pub lead_id: String,
    /// Hash of the file's content.
    pub digest: Sha256Hash,
}

/// Returns true when the audit log names a file with this content.
///
/// # Errors
/// Fails when the actor lacks the permission, or the store fails.
pub fn verify_evidence(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: VerifyEvidence,
) -> RecordResult<bool> {
    context.permit(actor, AdminOperation::VerifyRecord)?;
    let digest = hex(&input.digest);
    let entries = context.store.entries_about(&input.lead_id)?;
    let names_it = |entry: &AuditEntry| {
        entry.said.action == AuditAction::EvidenceTaken
            && entry.said.detail.as_deref() == Some(digest.as_str())
    };
    Ok(entries.iter().any(|(entry, _)| names_it(entry)))
}

/// Chain to export.
#[derive(Debug, Clone, Default)]
pub struct ExportRecord {
    /// Name of the chain; all chains when `None`.
    pub chain: Option<String>,
}

/// Passes entries to `take` in their order, after recording the export, which is an entry itself.
///
/// # Errors
/// Fails when the actor lacks the permission, or the store fails.
pub fn export_record(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: ExportRecord,
    take: &mut dyn FnMut(&AuditEntry),
) -> RecordResult<()> {
    context.permit(actor, AdminOperation::ExportRecord)?;
    let chain = input.chain.as_deref();
    let recorded_in = chain.unwrap_or(EVERYBODY);
    let entry = context.entry(actor, recorded_in, AuditAction::RecordExported, None);
    context.store.record_all(vec![entry])?;
    Ok(context.store.each_entry(chain, take)?)
}

/// Returns the ends of all chains. They say nothing about anybody, so the export is no entry.
///
/// # Errors
/// Fails when the actor lacks the permission, or the store fails.
pub fn export_heads(context: &AdminContext<'_>, actor: &Actor) -> RecordResult<ChainChecks> {
    context.permit(actor, AdminOperation::ExportRecord)?;
    check_chains(context)
}

/// Checks all hash chains.
fn check_chains(context: &AdminContext<'_>) -> RecordResult<ChainChecks> {
    let records = context.store.check_records()?;
    let consents = context.store.check_consents(None, None)?;
    Ok(ChainChecks { records, consents })
}
