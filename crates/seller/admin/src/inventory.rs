//! Counted inventory of a publisher: its books are written anew.

use std::convert::Infallible;

use tradepost_dealer::staff::AuditAction;
use tradepost_publisher::inventory::audit::{self, BookDifference};
use tradepost_publisher::publisher::Publisher;
use tradepost_store::TransactionError;

use crate::actor::Actor;
use crate::context::{AdminContext, AdminError};
use crate::decisions::{DecisionRefusal, DecisionResult, permit};
use crate::operation::AdminOperation;

/// Repair of a publisher's books.
#[derive(Debug, Clone)]
pub struct RepairInventory<'a> {
    /// The publisher.
    pub publisher: &'a Publisher,
}

/// Writes the books of a publisher's counted inventory anew, from its media buys, tasks and proposals. Returns
/// what differed; when nothing did, nothing has changed and nothing is recorded.
///
/// # Errors
/// Fails when the actor lacks the permission or is a stranger, or the store fails.
pub fn repair_inventory(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: RepairInventory<'_>,
) -> DecisionResult<Vec<BookDifference>> {
    let RepairInventory { publisher } = input;
    permit(context, actor, publisher, AdminOperation::RepairInventory, DecisionRefusal::Stranger)?;
    let id = publisher.profile.id.clone();
    let publisher = publisher.clone();
    let now = context.now;
    let entry = context.entry(actor, &id, AuditAction::InventoryRepaired, None);
    let done = context.store.decide::<_, Infallible>(move |tx| {
        let differences = tx.with_publisher(&id, |tx| audit::repair(&publisher, tx, now))??;
        if !differences.is_empty() {
            let mut entry = entry.clone();
            entry.detail = Some(format!("{} differences", differences.len()));
            tx.record(&entry)?;
        }
        Ok(differences)
    });
    done.map_err(|error| match error {
        TransactionError::Broken(fault) => AdminError::Broken(fault),
        TransactionError::Refused(never) => match never {},
    })
}
