//! Tests of the steps that bring a dealer online: who may make one, its result, and the end of the lead with which
//! the whole way is tested.

use tradepost_dealer::delivery::sample;
use tradepost_dealer::staff::{AuditAction, NewAuditEntry};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_store::step_results::{StepOutcome, StepResult};

use crate::actor::Actor;
use crate::context::{AdminContext, AdminError};
use crate::operation::AdminOperation;

/// Refusal of an operation on steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepRefusal {
    /// The actor may not see the dealer of this id.
    UnknownDealer(String),
    /// No lead of this id is a test of the operator's.
    NoTestLead(String),
}

impl From<StepRefusal> for AdminError<StepRefusal> {
    fn from(refusal: StepRefusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Dealer whose step is tested.
#[derive(Debug, Clone)]
pub struct BeginStepTest {
    /// Id of the dealer.
    pub dealer_id: String,
}

/// Checks that the actor may test the steps of a dealer, before anything is sent.
///
/// # Errors
/// Fails when the actor lacks the permission or may not see the dealer, or the store fails.
pub fn begin_step_test(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: &BeginStepTest,
) -> Result<(), AdminError<StepRefusal>> {
    context.permit(actor, AdminOperation::TestStep)?;
    check_dealer(actor, &input.dealer_id)
}

/// Checks that the actor may test the steps of a publisher, before anything is sent.
///
/// # Errors
/// Fails when the actor lacks the permission or is not on the publisher's staff, or the store fails.
pub fn begin_publisher_step_test(
    context: &AdminContext<'_>,
    actor: &Actor,
    publisher_id: &str,
) -> Result<(), AdminError<StepRefusal>> {
    if !actor.works_for_publisher(publisher_id) {
        return Err(StepRefusal::UnknownDealer(publisher_id.to_owned()).into());
    }
    context.permit(actor, AdminOperation::TestPublisherStep)
}

/// Result of a test to be stored.
#[derive(Debug, Clone)]
pub struct KeepStepResult {
    /// Id of the dealer or publisher.
    pub dealer_id: String,
    /// Name of the step.
    pub step: &'static str,
    /// Outcome of the test.
    pub outcome: StepOutcome,
    /// Description of the outcome, without personal data.
    pub says: String,
}

/// Stores the result of a test in place of the former one of the step.
///
/// # Errors
/// Fails when the actor lacks the permission or may not see the dealer, or the store fails.
pub fn keep_step_result(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: KeepStepResult,
) -> Result<(), AdminError<StepRefusal>> {
    context.permit(actor, AdminOperation::TestStep)?;
    check_dealer(actor, &input.dealer_id)?;
    keep(context, actor, input)
}

/// Stores the result of a test in place of the former one of a publisher's step.
///
/// # Errors
/// Fails when the actor lacks the permission or is not on the publisher's staff, or the store fails.
pub fn keep_publisher_step_result(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: KeepStepResult,
) -> Result<(), AdminError<StepRefusal>> {
    begin_publisher_step_test(context, actor, &input.dealer_id)?;
    keep(context, actor, input)
}

fn keep(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: KeepStepResult,
) -> Result<(), AdminError<StepRefusal>> {
    let KeepStepResult { dealer_id, step, outcome, says } = input;
    let entry = context.entry(actor, &dealer_id, AuditAction::StepTested, None);
    let detail = Some(format!("{step} {}", outcome.name()));
    let entry = NewAuditEntry { detail, ..entry };
    let by = actor.name().to_owned();
    let at = context.now;
    let result = StepResult { dealer_id, step: step.to_owned(), at, by, outcome, says };
    context.store.write_blocking(move |tx| {
        tx.keep_step_result(&result)?;
        tx.record(&entry)
    })?;
    Ok(())
}

/// Lead with which the operator has tested the server.
#[derive(Debug, Clone)]
pub struct CloseTestLead {
    /// Id of the lead.
    pub lead_id: String,
}

/// Erases the lead of a test, so that it never counts as a customer's. Other leads are refused: whoever may test
/// need not be permitted to erase customers.
///
/// # Errors
/// Fails when the actor lacks the permission, the lead is no test, or the store fails.
pub fn close_test_lead(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: CloseTestLead,
) -> Result<(), AdminError<StepRefusal>> {
    context.permit(actor, AdminOperation::TestStep)?;
    let CloseTestLead { lead_id } = input;
    let found = context.store.lead_history(&lead_id)?;
    let is_test = found.is_some_and(|history| {
        // A lead that somebody has sent again may be a customer's by now.
        history.submissions.len() == 1
            && sample::is_self_test(&history.lead)
            && actor.sees_dealer(&history.lead.dealer_id)
    });
    if !is_test {
        return Err(StepRefusal::NoTestLead(lead_id).into());
    }
    context.store.erase_leads(vec![lead_id], actor.name(), context.now)?;
    Ok(())
}

fn check_dealer(actor: &Actor, dealer_id: &str) -> Result<(), AdminError<StepRefusal>> {
    if actor.sees_dealer(dealer_id) {
        return Ok(());
    }
    Err(StepRefusal::UnknownDealer(dealer_id.to_owned()).into())
}
