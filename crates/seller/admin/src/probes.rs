//! Runs of the prober against a dealer's agent.

use tradepost_dealer::staff::AuditAction;

use crate::actor::Actor;
use crate::context::{AdminContext, AdminError};
use crate::operation::AdminOperation;

/// Refusal of a run of the prober.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeRefusal {
    /// The actor may not see the dealer of this id.
    UnknownDealer(String),
}

impl From<ProbeRefusal> for AdminError<ProbeRefusal> {
    fn from(refusal: ProbeRefusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Run of the prober to start.
#[derive(Debug, Clone)]
pub struct StartProbe {
    /// Id of the dealer.
    pub dealer_id: String,
}

/// Records that the actor starts the prober against a dealer's agent.
///
/// # Errors
/// Fails when the actor lacks the permission or may not see the dealer, or the store fails; nothing may be sent then.
pub fn start_probe(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: StartProbe,
) -> Result<(), AdminError<ProbeRefusal>> {
    context.permit(actor, AdminOperation::StartProbe)?;
    let StartProbe { dealer_id } = input;
    if !actor.sees_dealer(&dealer_id) {
        return Err(ProbeRefusal::UnknownDealer(dealer_id).into());
    }
    let entry = context.entry(actor, &dealer_id, AuditAction::AgentProbed, None);
    context.store.write_blocking(move |tx| tx.record(&entry))?;
    Ok(())
}
