//! Staff who may sign in: adding and removing them, their passwords, second factors and sessions.

use tradepost_dealer::staff::{AuditAction, EVERYBODY, MemberDetail, NewAuditEntry, StaffRole};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_store::StoreTransaction;
use tradepost_store::staff::StaffMember;

use crate::actor::Actor;
use crate::context::{AdminContext, AdminError, record_if};
use crate::operation::AdminOperation;

pub mod own_account;
pub mod provider_members;

/// Refusal of an operation on staff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StaffRefusal {
    /// Another member has the name.
    NameTaken,
    /// No member has this name, or the actor may not manage them.
    UnknownMember(String),
    /// The role is not one at the employer.
    WrongRole {
        /// The role.
        role: StaffRole,
        /// Roles that the employer has.
        possible: Vec<StaffRole>,
    },
    /// The member of this name has no second factor.
    NoSecondFactor(String),
    /// The member of this name signs in at a sign-in provider and has no password.
    NoPassword(String),
    /// The actor cannot reset their own second factor.
    OwnSecondFactor,
    /// There is no such session, or the actor may not end it.
    UnknownSession,
}

impl From<StaffRefusal> for AdminError<StaffRefusal> {
    fn from(refusal: StaffRefusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Result of an operation on staff.
pub type StaffResult<T> = Result<T, AdminError<StaffRefusal>>;

/// Employer of a staff member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StaffEmployer {
    /// A dealer, by its id.
    Dealer(String),
    /// All dealers of the server.
    AllDealers,
    /// A publisher, by its id.
    Publisher(String),
}

impl StaffEmployer {
    /// Checks that a role is one at the employer.
    ///
    /// # Errors
    /// Fails when it is not, with the roles that are.
    pub fn check_role(&self, role: StaffRole) -> Result<(), StaffRefusal> {
        let is_publisher = matches!(self, Self::Publisher(_));
        if role.is_of_publisher() == is_publisher {
            return Ok(());
        }
        let fits = |role: &StaffRole| role.is_of_publisher() == is_publisher;
        let possible = StaffRole::ALL.iter().copied().filter(fits).collect();
        Err(StaffRefusal::WrongRole { role, possible })
    }

    /// Returns the id of the dealer or publisher; `None` for all dealers.
    fn into_id(self) -> Option<String> {
        match self {
            Self::Dealer(id) | Self::Publisher(id) => Some(id),
            Self::AllDealers => None,
        }
    }
}

/// Returns the name by which the store has the member whom a person means. Names with a colon are those
/// of a sign-in provider, whose capitals count; all others are stored in small letters.
#[must_use]
pub fn stored_name(text: &str) -> String {
    if is_of_provider(text) { text.to_owned() } else { text.trim().to_lowercase() }
}

/// Returns true for the name of a member who signs in at a provider. Other names have no colon.
fn is_of_provider(name: &str) -> bool {
    name.contains(':')
}

/// Member to add.
#[derive(Debug, Clone)]
pub struct AddMember {
    /// Name to sign in with, in small letters.
    pub name: String,
    /// Employer.
    pub employer: StaffEmployer,
    /// Role.
    pub role: StaffRole,
    /// Hashed password: a PHC string.
    pub password: String,
}

/// Adds a staff member, who can sign in from now on.
///
/// # Errors
/// Fails when the actor lacks the permission, the role is wrong, the name is taken, or the store
/// fails.
pub fn add_member(context: &AdminContext<'_>, actor: &Actor, input: AddMember) -> StaffResult<()> {
    context.permit(actor, AdminOperation::AddMember)?;
    let AddMember { name, employer, role, password } = input;
    employer.check_role(role)?;
    let dealer_id = employer.into_id();
    let member = StaffMember { name, dealer_id, role, password, created_at: context.now };
    let detail = MemberDetail::new(Some(role), Some(&member.password)).to_string();
    let entry = entry_about(context, actor, AuditAction::MemberAdded, &member);
    let entry = NewAuditEntry { detail: Some(detail), ..entry };
    let is_added = context.store.write_blocking(move |tx| {
        let is_added = tx.add_member(&member)?;
        record_if(is_added, tx, &entry)
    })?;
    if is_added { Ok(()) } else { Err(StaffRefusal::NameTaken.into()) }
}

/// Password for a member.
#[derive(Debug, Clone)]
pub struct SetPassword {
    /// Name of the member, for [`stored_name`].
    pub name: String,
    /// Hashed password: a PHC string.
    pub password: String,
    /// Budget of failed sign-ins that is restored, so that the name is not locked any more.
    pub sign_in_budget: Vec<u8>,
}

/// Sets the password of a member, and ends their sessions. A member of a sign-in provider gets none: they could sign
/// in with it after the provider has removed them.
///
/// # Errors
/// Fails when the actor lacks the permission, no member has the name or they sign in at a provider, or the store
/// fails.
pub fn set_password(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: SetPassword,
) -> StaffResult<()> {
    context.permit(actor, AdminOperation::SetPassword)?;
    let SetPassword { name, password, sign_in_budget } = input;
    let member = find_member(context, actor, &name)?;
    if is_of_provider(&member.name) {
        return Err(StaffRefusal::NoPassword(member.name).into());
    }
    let detail = Some(MemberDetail::new(None, Some(&password)).to_string());
    let entry = entry_about(context, actor, AuditAction::PasswordSet, &member);
    let entry = NewAuditEntry { detail, ..entry };
    change_member(context, member, entry, move |tx, name| {
        tx.forgive_attempts(&sign_in_budget)?;
        tx.set_password(name, &password)
    })
}

/// Member to remove.
#[derive(Debug, Clone)]
pub struct RemoveMember {
    /// Name of the member, for [`stored_name`].
    pub name: String,
}

/// Removes a staff member, and ends their sessions.
///
/// # Errors
/// Fails when the actor lacks the permission, no member has the name, or the store fails.
pub fn remove_member(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: RemoveMember,
) -> StaffResult<()> {
    context.permit(actor, AdminOperation::RemoveMember)?;
    let member = find_member(context, actor, &input.name)?;
    let entry = entry_about(context, actor, AuditAction::MemberRemoved, &member);
    change_member(context, member, entry, |tx, name| tx.remove_member(name))
}

/// Member whose second factor is reset.
#[derive(Debug, Clone)]
pub struct ResetSecondFactor {
    /// Name of the member, for [`stored_name`].
    pub name: String,
}

/// Removes the second factor and the recovery codes of a member, and ends their sessions. They sign in
/// with the password alone until they set up another.
///
/// # Errors
/// Fails when the actor lacks the permission or may not manage the member, there is no second factor,
/// or the store fails.
pub fn reset_second_factor(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: ResetSecondFactor,
) -> StaffResult<()> {
    context.permit(actor, AdminOperation::ResetSecondFactor)?;
    let member = find_member(context, actor, &input.name)?;
    if !context.store.has_second_factor(&member.name)? {
        return Err(StaffRefusal::NoSecondFactor(member.name).into());
    }
    // Whoever has taken over a session could switch off what stands between them and the account.
    if actor.is_member(&member.name) {
        return Err(StaffRefusal::OwnSecondFactor.into());
    }
    let entry = entry_about(context, actor, AuditAction::SecondFactorReset, &member);
    change_member(context, member, entry, |tx, name| {
        // The factor first: a sign-in at the same time waits for this transaction, or its session ends with it.
        let is_removed = tx.remove_second_factor(name)?;
        if is_removed {
            tx.end_sessions_of(name)?;
        }
        Ok(is_removed)
    })
}

/// Session to end.
#[derive(Debug, Clone)]
pub struct EndSession {
    /// Id by which the session is listed.
    pub session_id: String,
}

/// Ends a session of the actor, or as a manager one of a member that the actor manages.
///
/// # Errors
/// Fails when there is no session that the actor may end, or the store fails.
pub fn end_session(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: EndSession,
) -> StaffResult<()> {
    context.permit(actor, AdminOperation::EndSession)?;
    let may_end_others = actor.has(AdminOperation::ResetSecondFactor.permission());
    let known = context.store.sessions(actor.seller_id(), context.now)?;
    let found = known.into_iter().find(|(session, member)| {
        let may_end = actor.is_member(&member.name) || may_end_others && actor.manages(member);
        session.id == input.session_id && may_end
    });
    let (session, member) = found.ok_or(StaffRefusal::UnknownSession)?;
    let entry = entry_about(context, actor, AuditAction::SessionEnded, &member);
    context.store.write_blocking(move |tx| {
        // It may have ended by itself meanwhile.
        let is_ended = tx.end_session(&session.id)?;
        record_if(is_ended, tx, &entry)
    })?;
    Ok(())
}

/// Finds a member that the actor manages.
fn find_member(context: &AdminContext<'_>, actor: &Actor, name: &str) -> StaffResult<StaffMember> {
    let name = stored_name(name);
    let found = context.store.member(&name)?.filter(|member| actor.manages(member));
    found.ok_or_else(|| StaffRefusal::UnknownMember(name).into())
}

/// Creates an audit entry about a member, in the record of their employer.
fn entry_about(
    context: &AdminContext<'_>,
    actor: &Actor,
    action: AuditAction,
    member: &StaffMember,
) -> NewAuditEntry {
    let chain = member.dealer_id.as_deref().unwrap_or(EVERYBODY);
    context.entry(actor, chain, action, Some(&member.name))
}

/// Changes a member and records it in one transaction. `job` returns false when the member is gone.
fn change_member(
    context: &AdminContext<'_>,
    member: StaffMember,
    entry: NewAuditEntry,
    mut job: impl FnMut(&StoreTransaction<'_>, &str) -> Result<bool, InternalError> + Send + 'static,
) -> StaffResult<()> {
    let name = member.name.clone();
    let is_done = context.store.write_blocking(move |tx| {
        let is_done = job(tx, &member.name)?;
        record_if(is_done, tx, &entry)
    })?;
    if is_done { Ok(()) } else { Err(StaffRefusal::UnknownMember(name).into()) }
}
