//! Members to whom a sign-in provider gives a role, or no longer gives one.
//!
//! The provider decides: there is no actor whose permission could be checked.

use jiff::Timestamp;
use tradepost_dealer::staff::{AuditAction, EVERYBODY, MemberDetail, NewAuditEntry};
use tradepost_document::fault::InternalError;
use tradepost_store::StoreTransaction;
use tradepost_store::staff::StaffMember;

use crate::context::{AdminContext, record_if};

/// Name for the audit log.
const PROVIDER: &str = "oidc";

/// Adds a member for whom the provider vouches, or gives them the employer and role that they have there
/// now, which ends their sessions. Returns false when nothing changes. Takes the transaction that begins
/// the session, so that neither is stored without the other.
///
/// # Errors
/// Fails when the store fails.
pub fn add_provider_member(
    tx: &StoreTransaction<'_>,
    member: &StaffMember,
    now: Timestamp,
) -> Result<bool, InternalError> {
    let is_changed = tx.vouch_for_member(member)?;
    let detail = Some(MemberDetail::new(Some(member.role), None).to_string());
    let entry = NewAuditEntry { detail, ..entry_about(member, AuditAction::MemberAdded, now) };
    record_if(is_changed, tx, &entry)
}

/// Member to whom the provider gives no role any more.
#[derive(Debug, Clone)]
pub struct RemoveProviderMember {
    /// Name of the member, whose letters have a case.
    pub name: String,
}

/// Removes a member to whom the provider gives no role any more, and ends their sessions. Returns false
/// when there is none of the name.
///
/// # Errors
/// Fails when the store fails.
pub fn remove_provider_member(
    context: &AdminContext<'_>,
    input: RemoveProviderMember,
) -> Result<bool, InternalError> {
    let Some(member) = context.store.member(&input.name)? else { return Ok(false) };
    let entry = entry_about(&member, AuditAction::MemberRemoved, context.now);
    context.store.write_blocking(move |tx| {
        let is_removed = tx.remove_member(&member.name)?;
        record_if(is_removed, tx, &entry)
    })
}

/// Creates an audit entry of the provider about a member, in the record of their employer.
fn entry_about(member: &StaffMember, action: AuditAction, at: Timestamp) -> NewAuditEntry {
    NewAuditEntry {
        chain: member.dealer_id.as_deref().unwrap_or(EVERYBODY).to_owned(),
        at,
        actor: PROVIDER.to_owned(),
        action,
        subject: Some(member.name.clone()),
        detail: None,
    }
}
