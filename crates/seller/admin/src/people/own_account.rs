//! Changes that members of the staff make to their own accounts, which each role may.
//!
//! The front end proves first who they are, by the present password or by a code, because it limits the
//! attempts. It also refuses to remove a second factor that its settings require.

use tradepost_dealer::consent::Sha256Hash;
use tradepost_dealer::staff::{AuditAction, MemberDetail, NewAuditEntry};

use crate::actor::Actor;
use crate::context::{AdminContext, AdminError, record_if};
use crate::operation::AdminOperation;

/// Refusal of an operation on the actor's own account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnAccountRefusal {
    /// The actor is the operator of the server, who has no account.
    NoAccount,
    /// The present password is another one meanwhile, or the session has ended.
    Outdated,
    /// There is no second factor that waits for its confirmation.
    NothingToConfirm,
    /// There is no second factor.
    NoSecondFactor,
}

impl From<OwnAccountRefusal> for AdminError<OwnAccountRefusal> {
    fn from(refusal: OwnAccountRefusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Result of an operation on the actor's own account.
pub type OwnAccountResult<T> = Result<T, AdminError<OwnAccountRefusal>>;

/// Password that a member has chosen.
#[derive(Debug, Clone)]
pub struct ChangeOwnPassword {
    /// Hash of the present password, with which the given one was compared.
    pub present: String,
    /// Hashed password: a PHC string.
    pub password: String,
    /// Id of the session that goes on.
    pub session_id: String,
}

/// Changes the actor's password, and ends their other sessions.
///
/// # Errors
/// Fails when the actor has no account, the present password has changed or the session has ended, or
/// the store fails.
pub fn change_own_password(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: ChangeOwnPassword,
) -> OwnAccountResult<()> {
    context.permit(actor, AdminOperation::ChangeOwnPassword)?;
    let ChangeOwnPassword { present, password, session_id } = input;
    let name = own_name(actor)?;
    // `audit verify` compares the stored password hash with this.
    let detail = Some(MemberDetail::new(None, Some(&password)).to_string());
    let entry = own_entry(context, actor, AuditAction::PasswordSet, &name);
    let entry = NewAuditEntry { detail, ..entry };
    let is_changed = context.store.write_blocking(move |tx| {
        let is_changed = tx.change_own_password(&name, &present, &password, &session_id)?;
        record_if(is_changed, tx, &entry)
    })?;
    if is_changed { Ok(()) } else { Err(OwnAccountRefusal::Outdated.into()) }
}

/// Confirmation of a second factor.
#[derive(Debug, Clone)]
pub struct SetSecondFactor {
    /// Number of the half minute whose code has confirmed it, which cannot be used again.
    pub step: i64,
    /// Hashes of its recovery codes.
    pub code_hashes: Vec<Sha256Hash>,
    /// Id of the session that goes on.
    pub session_id: String,
}

/// Activates the second factor that the actor has begun to set up, and ends their other sessions.
///
/// # Errors
/// Fails when the actor has no account, there is no second factor to confirm, or the store fails.
pub fn set_second_factor(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: SetSecondFactor,
) -> OwnAccountResult<()> {
    context.permit(actor, AdminOperation::SetSecondFactor)?;
    let SetSecondFactor { step, code_hashes, session_id } = input;
    let name = own_name(actor)?;
    let entry = own_entry(context, actor, AuditAction::SecondFactorSet, &name);
    let now = context.now;
    let is_set = context.store.write_blocking(move |tx| {
        let is_set = tx.confirm_second_factor(&name, step, &code_hashes, now)?;
        if is_set {
            // The other sessions began with the password alone.
            tx.end_other_sessions(&name, &session_id)?;
        }
        record_if(is_set, tx, &entry)
    })?;
    if is_set { Ok(()) } else { Err(OwnAccountRefusal::NothingToConfirm.into()) }
}

/// New recovery codes.
#[derive(Debug, Clone)]
pub struct ReplaceRecoveryCodes {
    /// Hashes of the codes.
    pub code_hashes: Vec<Sha256Hash>,
}

/// Replaces the actor's recovery codes.
///
/// # Errors
/// Fails when the actor has no account or no second factor, or the store fails.
pub fn replace_recovery_codes(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: ReplaceRecoveryCodes,
) -> OwnAccountResult<()> {
    context.permit(actor, AdminOperation::ReplaceRecoveryCodes)?;
    let ReplaceRecoveryCodes { code_hashes } = input;
    let name = own_name(actor)?;
    check_second_factor(context, &name)?;
    let entry = own_entry(context, actor, AuditAction::RecoveryCodesMade, &name);
    context.store.write_blocking(move |tx| {
        tx.replace_recovery_codes(&name, &code_hashes)?;
        tx.record(&entry)
    })?;
    Ok(())
}

/// Removes the actor's second factor and its recovery codes. Their sessions go on.
///
/// # Errors
/// Fails when the actor has no account or no second factor, or the store fails.
pub fn remove_own_second_factor(context: &AdminContext<'_>, actor: &Actor) -> OwnAccountResult<()> {
    context.permit(actor, AdminOperation::RemoveOwnSecondFactor)?;
    let name = own_name(actor)?;
    check_second_factor(context, &name)?;
    let entry = own_entry(context, actor, AuditAction::SecondFactorRemoved, &name);
    let is_removed = context.store.write_blocking(move |tx| {
        let is_removed = tx.remove_second_factor(&name)?;
        record_if(is_removed, tx, &entry)
    })?;
    if is_removed { Ok(()) } else { Err(OwnAccountRefusal::NoSecondFactor.into()) }
}

/// Returns the name of the actor's account.
fn own_name(actor: &Actor) -> OwnAccountResult<String> {
    let name = actor.member().map(|(name, _)| name.to_owned());
    name.ok_or_else(|| OwnAccountRefusal::NoAccount.into())
}

/// Creates an audit entry about the actor's own account, in the record of their employer.
fn own_entry(
    context: &AdminContext<'_>,
    actor: &Actor,
    action: AuditAction,
    name: &str,
) -> NewAuditEntry {
    context.entry(actor, actor.chain(), action, Some(name))
}

/// Checks that an account has a confirmed second factor.
fn check_second_factor(context: &AdminContext<'_>, name: &str) -> OwnAccountResult<()> {
    if context.store.has_second_factor(name)? {
        return Ok(());
    }
    Err(OwnAccountRefusal::NoSecondFactor.into())
}
