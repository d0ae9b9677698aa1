//! Messages to a publisher's staff that were given up.

use tradepost_dealer::staff::{AuditAction, NewAuditEntry};
use tradepost_publisher::publisher::Publisher;

use crate::actor::Actor;
use crate::context::{AdminContext, AdminError, record_if};
use crate::decisions::permit;
use crate::operation::AdminOperation;

/// Refusal of an operation on messages to staff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StaffMessageRefusal {
    /// The actor is not on the publisher's staff.
    Stranger,
}

/// Messages to send again.
#[derive(Debug, Clone)]
pub struct ResendStaffMessages<'a> {
    /// The publisher.
    pub publisher: &'a Publisher,
    /// Only messages about this media buy, task, creative or account; all messages when `None`.
    pub subject: Option<String>,
}

/// Makes messages to a publisher's staff due again that were given up. Returns how many; when there are none, nothing
/// is recorded.
///
/// # Errors
/// Fails when the actor lacks the permission or is a stranger, or the store fails.
pub fn resend_staff_messages(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: ResendStaffMessages<'_>,
) -> Result<usize, AdminError<StaffMessageRefusal>> {
    let ResendStaffMessages { publisher, subject } = input;
    let operation = AdminOperation::ResendStaffMessages;
    permit(context, actor, publisher, operation, StaffMessageRefusal::Stranger)?;
    let id = publisher.profile.id.clone();
    let action = AuditAction::StaffMessagesResent;
    let entry = context.entry(actor, &id, action, subject.as_deref());
    let count = context.store.write_blocking(move |tx| {
        let count = tx.retry_staff_deliveries(&id, subject.as_deref(), entry.at)?;
        let detail = Some(format!("{count} messages"));
        record_if(count > 0, tx, &NewAuditEntry { detail, ..entry.clone() })?;
        Ok(count)
    })?;
    Ok(count)
}
