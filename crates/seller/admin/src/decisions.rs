//! Decisions of a publisher's staff: on accounts, creatives and media buys that wait for approval, on
//! media buys that were booked, and on the rights of agents on accounts.

use tradepost_publisher::agent::AccountRights;
use tradepost_publisher::publisher::Publisher;
use tradepost_publisher::staff::{
    self, CreativeChangeReason, DecisionError, DecisionStep, DecisionSubject, RightsChange,
    SeenVersion, StaffDecision, StateChange,
};
use tradepost_publisher::store::StoreTx;
use tradepost_publisher::task::finish::TaskFinisher;
use tradepost_store::TransactionError;

use crate::actor::Actor;
use crate::context::{AdminContext, AdminError};
use crate::operation::AdminOperation;

/// Refusal of a decision.
#[derive(Debug)]
pub enum DecisionRefusal {
    /// The actor is not on the publisher's staff; the answer is the same as for an unknown person.
    Stranger,
    /// The decision cannot be carried out, and nothing has changed.
    Undecided(DecisionError),
}

impl From<DecisionError> for AdminError<DecisionRefusal> {
    fn from(error: DecisionError) -> Self {
        match error {
            DecisionError::Broken(fault) => Self::Broken(fault),
            DecisionError::Absent
            | DecisionError::Ambiguous(_)
            | DecisionError::Impossible { .. }
            | DecisionError::Changed { .. }
            | DecisionError::SamePerson(_)
            | DecisionError::Objections(_)
            | DecisionError::Invalid(_) => Self::Refused(DecisionRefusal::Undecided(error)),
        }
    }
}

/// Result of a decision.
pub type DecisionResult<T> = Result<T, AdminError<DecisionRefusal>>;

/// Decision on an account, a creative, a task or a media buy.
#[derive(Debug, Clone)]
pub struct DecideMatter<'a> {
    /// The publisher.
    pub publisher: &'a Publisher,
    /// Kind of the subject.
    pub matter: DecisionSubject,
    /// Id of the subject, as callers know it.
    pub id: String,
    /// Account of the subject, where several have one of this id.
    pub account: Option<String>,
    /// Step that is decided.
    pub step: DecisionStep,
    /// Reason, for the buyer.
    pub reason: Option<String>,
    /// Reason, for the publisher's own record.
    pub why: Option<String>,
    /// Code of the reason for which a creative is declined; the usual one when `None`.
    pub code: Option<CreativeChangeReason>,
    /// Version that the actor had seen; a decision about another one is refused.
    pub seen: Option<SeenVersion>,
}

/// Decides on an account, a creative, a task or a media buy. Returns how it stood and stands; a decision that
/// changes nothing is not recorded. A media buy above the publisher's limit needs the approval of two members of
/// the staff.
///
/// # Errors
/// Fails when the actor lacks the permission or is a stranger, the decision is refused, or the store
/// fails.
pub fn decide_matter(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: DecideMatter<'_>,
) -> DecisionResult<StateChange> {
    let DecideMatter { publisher, matter, id, account, step, reason, why, code, seen } = input;
    permit(context, actor, publisher, AdminOperation::from_step(step), DecisionRefusal::Stranger)?;
    let by = Some(actor.name().to_owned());
    let person = actor.member().map(|(name, _)| name.to_owned());
    let decision = StaffDecision { matter, id, account, step, reason, by, why, person, code, seen };
    finish(context, publisher, move |finisher| staff::decide(finisher, &decision))
}

/// Rights of an agent on an account.
#[derive(Debug, Clone)]
pub struct GrantRights<'a> {
    /// The publisher.
    pub publisher: &'a Publisher,
    /// The account.
    pub account: String,
    /// The agent, by its id in the configuration.
    pub agent: String,
    /// Rights from now on, in place of earlier ones; `None` takes them away.
    pub rights: Option<AccountRights>,
    /// Reason, for the publisher's own record.
    pub why: Option<String>,
}

/// Sets the rights of an agent on an account. Returns true if rights had been set before.
///
/// # Errors
/// Fails when the actor lacks the permission or is a stranger, the rights are refused, or the store
/// fails.
pub fn grant_rights(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: GrantRights<'_>,
) -> DecisionResult<bool> {
    let GrantRights { publisher, account, agent, rights, why } = input;
    permit(context, actor, publisher, AdminOperation::GrantRights, DecisionRefusal::Stranger)?;
    let by = Some(actor.name().to_owned());
    let change = RightsChange { account, agent, rights, by, why };
    finish(context, publisher, move |finisher| staff::grant(finisher, &change))
}

/// Checks that the actor is on the publisher's staff, and may perform an operation. Others get the refusal `stranger`.
pub(crate) fn permit<R>(
    context: &AdminContext<'_>,
    actor: &Actor,
    publisher: &Publisher,
    operation: AdminOperation,
    stranger: R,
) -> Result<(), AdminError<R>> {
    // Staff of a dealer, also of all dealers, have no permission for a publisher.
    if !actor.works_for_publisher(&publisher.profile.id) {
        return Err(AdminError::Refused(stranger));
    }
    context.permit(actor, operation)
}

/// Carries a decision out in a transaction on the publisher's data.
fn finish<T: Send + 'static>(
    context: &AdminContext<'_>,
    publisher: &Publisher,
    mut decide: impl FnMut(TaskFinisher<'_>) -> Result<T, DecisionError> + Send + 'static,
) -> DecisionResult<T> {
    let id = publisher.profile.id.clone();
    let publisher = publisher.clone();
    let now = context.now;
    let done = context.store.write_for_publisher(&id, move |tx: &dyn StoreTx| {
        decide(TaskFinisher { publisher: &publisher, tx, now })
    });
    done.map_err(|error| match error {
        TransactionError::Refused(denied) => denied.into(),
        TransactionError::Broken(fault) => AdminError::Broken(fault),
    })
}
