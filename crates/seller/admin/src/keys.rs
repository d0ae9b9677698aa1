//! API keys of callers, and of administrators.

use tradepost_dealer::staff::{AuditAction, EVERYBODY, NewAuditEntry};
use tradepost_store::ApiKey;

use crate::actor::Actor;
use crate::context::{AdminContext, AdminError, record_if};
use crate::operation::AdminOperation;

/// Id under which administrators' keys are stored; no dealer or publisher can have it.
pub const ADMINISTRATORS: &str = "*admin";

/// Refusal of an operation on keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyRefusal {
    /// Another key of the seller has this name, or had it: its data would be handed over.
    NameTaken,
    /// The key would have expired already.
    Expired,
    /// There is no such key.
    UnknownKey,
}

impl From<KeyRefusal> for AdminError<KeyRefusal> {
    fn from(refusal: KeyRefusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Result of an operation on keys.
pub type KeyResult<T> = Result<T, AdminError<KeyRefusal>>;

/// Key to create.
#[derive(Debug, Clone)]
pub struct CreateKey {
    /// The key, as it is stored.
    pub key: ApiKey,
    /// True when the key belongs to the caller that has its name already.
    pub same_caller: bool,
}

/// Creates an API key.
///
/// # Errors
/// Fails when the actor lacks the permission, the key is refused, or the store fails.
pub fn create_key(context: &AdminContext<'_>, actor: &Actor, input: CreateKey) -> KeyResult<()> {
    context.permit(actor, AdminOperation::CreateKey)?;
    add_key(context, actor, input)
}

/// Creates an API key of a publisher's buyer agent. The publisher is that of the key.
///
/// # Errors
/// Fails when the actor lacks the permission or is not on the publisher's staff, the key is refused, or the
/// store fails.
pub fn create_buyer_key(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: CreateKey,
) -> KeyResult<()> {
    check_publisher(actor, &input.key.agent_id)?;
    context.permit(actor, AdminOperation::CreateBuyerKey)?;
    add_key(context, actor, input)
}

/// Checks that the actor is on a publisher's staff. To others its keys are unknown.
fn check_publisher(actor: &Actor, publisher_id: &str) -> KeyResult<()> {
    if actor.works_for_publisher(publisher_id) {
        return Ok(());
    }
    Err(KeyRefusal::UnknownKey.into())
}

fn add_key(context: &AdminContext<'_>, actor: &Actor, input: CreateKey) -> KeyResult<()> {
    let CreateKey { key, same_caller } = input;
    if key.expires_at.is_some_and(|end| end <= context.now) {
        return Err(KeyRefusal::Expired.into());
    }
    let entry = entry_about(context, actor, AuditAction::ApiKeyCreated, &key);
    let is_added = context.store.write_blocking(move |tx| {
        let is_added = tx.add_api_key(&key, same_caller)?;
        record_if(is_added, tx, &entry)
    })?;
    if is_added { Ok(()) } else { Err(KeyRefusal::NameTaken.into()) }
}

/// Selection of keys.
#[derive(Debug, Clone, Default)]
pub struct ListKeys {
    /// The dealer or publisher whose keys are listed; all keys when `None`.
    pub seller_id: Option<String>,
}

/// Returns keys, the newest last.
///
/// # Errors
/// Fails when the actor lacks the permission, or the store fails.
pub fn list_keys(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: ListKeys,
) -> KeyResult<Vec<ApiKey>> {
    context.permit(actor, AdminOperation::ListKeys)?;
    Ok(context.store.api_keys(input.seller_id.as_deref())?)
}

/// Returns the keys of a publisher's buyer agents, the newest last.
///
/// # Errors
/// Fails when the actor lacks the permission or is not on the publisher's staff, or the store fails.
pub fn list_buyer_keys(
    context: &AdminContext<'_>,
    actor: &Actor,
    publisher_id: &str,
) -> KeyResult<Vec<ApiKey>> {
    check_publisher(actor, publisher_id)?;
    context.permit(actor, AdminOperation::ListBuyerKeys)?;
    Ok(context.store.api_keys(Some(publisher_id))?)
}

/// Key to revoke.
#[derive(Debug, Clone)]
pub struct RevokeKey {
    /// Public part of the key.
    pub id: String,
}

/// A revoked key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevokedKey {
    /// The key. The first revocation counts.
    pub key: ApiKey,
    /// False when it had been revoked before; nothing is recorded then.
    pub is_changed: bool,
}

/// Revokes a key at once.
///
/// # Errors
/// Fails when the actor lacks the permission, there is no such key, or the store fails.
pub fn revoke_key(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: RevokeKey,
) -> KeyResult<RevokedKey> {
    context.permit(actor, AdminOperation::RevokeKey)?;
    end_key(context, actor, input)
}

/// Revokes a key of a publisher's buyer agent at once. Keys of others are unknown.
///
/// # Errors
/// Fails when the actor lacks the permission or is not on the publisher's staff, the publisher has no such
/// key, or the store fails.
pub fn revoke_buyer_key(
    context: &AdminContext<'_>,
    actor: &Actor,
    publisher_id: &str,
    input: RevokeKey,
) -> KeyResult<RevokedKey> {
    check_publisher(actor, publisher_id)?;
    context.permit(actor, AdminOperation::RevokeBuyerKey)?;
    let keys = context.store.api_keys(Some(publisher_id))?;
    if !keys.iter().any(|key| key.id == input.id) {
        return Err(KeyRefusal::UnknownKey.into());
    }
    end_key(context, actor, input)
}

fn end_key(context: &AdminContext<'_>, actor: &Actor, input: RevokeKey) -> KeyResult<RevokedKey> {
    let RevokeKey { id } = input;
    let entry = context.entry(actor, "", AuditAction::ApiKeyRevoked, Some(&id));
    let now = context.now;
    let before = context.store.write_blocking(move |tx| {
        let before = tx.revoke_api_key(&id, now)?;
        if let Some(key) = before.as_ref().filter(|key| key.revoked_at.is_none()) {
            // The seller is known only here.
            let chain = chain_of(key).to_owned();
            tx.record(&NewAuditEntry { chain, detail: Some(key.name.clone()), ..entry.clone() })?;
        }
        Ok(before)
    })?;
    let before = before.ok_or(KeyRefusal::UnknownKey)?;
    let is_changed = before.revoked_at.is_none();
    let key = ApiKey { revoked_at: before.revoked_at.or(Some(now)), ..before };
    Ok(RevokedKey { key, is_changed })
}

/// Creates an audit entry about a new key, with its name and its scopes.
fn entry_about(
    context: &AdminContext<'_>,
    actor: &Actor,
    action: AuditAction,
    key: &ApiKey,
) -> NewAuditEntry {
    let scopes = key.scopes.iter().flatten().map(|scope| scope.name());
    let scopes: Vec<_> = scopes.collect();
    let scopes = if scopes.is_empty() { "all".to_owned() } else { scopes.join(" ") };
    let detail = Some(format!("{}: {scopes}", key.name));
    NewAuditEntry { detail, ..context.entry(actor, chain_of(key), action, Some(&key.id)) }
}

/// Returns the chain that records what is done with a key: the seller's, or that of all dealers for a
/// key of administrators.
fn chain_of(key: &ApiKey) -> &str {
    if key.agent_id == ADMINISTRATORS { EVERYBODY } else { &key.agent_id }
}
