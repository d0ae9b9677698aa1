//! Webhooks of tasks that were given up.

use std::convert::Infallible;

use tradepost_dealer::staff::{AuditAction, EVERYBODY, NewAuditEntry};

use crate::actor::Actor;
use crate::context::{AdminContext, AdminError, record_if};
use crate::operation::AdminOperation;

/// Webhooks to retry.
#[derive(Debug, Clone, Default)]
pub struct RetryWebhooks {
    /// Id of the task; all tasks when `None`.
    pub task_id: Option<String>,
    /// Id of the webhook; all webhooks of the task when `None`.
    pub webhook_id: Option<String>,
}

/// Resumes webhooks that were given up, from their last position. Returns how many; when there are none, nothing is
/// recorded.
///
/// # Errors
/// Fails when the actor lacks the permission, or the store fails.
pub fn retry_webhooks(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: RetryWebhooks,
) -> Result<usize, AdminError<Infallible>> {
    context.permit(actor, AdminOperation::RetryWebhooks)?;
    let RetryWebhooks { task_id, webhook_id } = input;
    // Agents with webhooks are neither dealers nor publishers, so that no chain of a seller is theirs.
    let entry = context.entry(actor, EVERYBODY, AuditAction::WebhooksRetried, task_id.as_deref());
    let count = context.store.write_blocking(move |tx| {
        let count = tx.revive_push_configs(task_id.as_deref(), webhook_id.as_deref(), entry.at)?;
        let detail = Some(format!("{count} webhooks"));
        record_if(count > 0, tx, &NewAuditEntry { detail, ..entry.clone() })?;
        Ok(count)
    })?;
    Ok(count)
}
