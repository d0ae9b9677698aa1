//! Surroundings of an operation, and the reasons for which one is not done.

use jiff::Timestamp;
use tradepost_dealer::delivery::LeadDestination;
use tradepost_dealer::settings::DealerSettings;
use tradepost_dealer::staff::{AuditAction, NewAuditEntry, StaffRole};
use tradepost_document::fault::InternalError;
use tradepost_store::{Store, StoreTransaction, TransactionError};

use crate::actor::Actor;
use crate::operation::AdminOperation;

/// Surroundings of an operation.
#[derive(Debug, Clone, Copy)]
pub struct AdminContext<'a> {
    /// The store of the server.
    pub store: &'a Store,
    /// Dealers as they are configured. Empty for operations that need no configuration.
    pub dealers: &'a [DealerScope<'a>],
    /// Time of the operation.
    pub now: Timestamp,
}

/// A configured dealer, as far as operations need it.
#[derive(Debug, Clone)]
pub struct DealerScope<'a> {
    /// Its settings.
    pub settings: &'a DealerSettings,
    /// Destinations of its leads.
    pub destinations: Vec<&'a LeadDestination>,
}

/// Reason for which an operation is not done. `R` has the refusals of its area.
#[derive(Debug)]
pub enum AdminError<R> {
    /// The actor lacks the permission, which is recorded in the audit log.
    Forbidden(MissingPermission),
    /// The operation is refused: its subject does not exist, stands otherwise, or the input is invalid.
    Refused(R),
    /// The store fails.
    Broken(InternalError),
}

impl<R> From<InternalError> for AdminError<R> {
    fn from(fault: InternalError) -> Self {
        Self::Broken(fault)
    }
}

impl<R> From<TransactionError<R>> for AdminError<R> {
    fn from(error: TransactionError<R>) -> Self {
        match error {
            TransactionError::Refused(refusal) => Self::Refused(refusal),
            TransactionError::Broken(fault) => Self::Broken(fault),
        }
    }
}

/// A permission that an actor lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingPermission {
    /// The operation.
    pub operation: AdminOperation,
    /// Name of the staff member.
    pub member: String,
    /// Their role.
    pub role: StaffRole,
}

impl AdminContext<'_> {
    /// Checks that the actor may perform an operation. A refusal is recorded in the audit log.
    pub(crate) fn permit<R>(
        &self,
        actor: &Actor,
        operation: AdminOperation,
    ) -> Result<(), AdminError<R>> {
        let Some((member, role)) = actor.member() else { return Ok(()) };
        let permission = operation.permission();
        if permission.is_of(role) {
            return Ok(());
        }
        let mut entry = self.entry(actor, actor.chain(), AuditAction::AccessRefused, None);
        entry.detail = Some(format!("{operation} needs another role than {role}"));
        self.store.write_blocking(move |tx| tx.record_failure(&entry))?;
        let member = member.to_owned();
        Err(AdminError::Forbidden(MissingPermission { operation, member, role }))
    }

    /// Creates an audit entry of the actor at the time of the operation.
    pub(crate) fn entry(
        &self,
        actor: &Actor,
        chain: &str,
        action: AuditAction,
        subject: Option<&str>,
    ) -> NewAuditEntry {
        NewAuditEntry {
            chain: chain.to_owned(),
            at: self.now,
            actor: actor.name().to_owned(),
            action,
            subject: subject.map(str::to_owned),
            detail: None,
        }
    }
}

/// Records a change if it was made. Returns whether it was.
pub(crate) fn record_if(
    is_changed: bool,
    tx: &StoreTransaction<'_>,
    entry: &NewAuditEntry,
) -> Result<bool, InternalError> {
    if is_changed {
        tx.record(entry)?;
    }
    Ok(is_changed)
}
