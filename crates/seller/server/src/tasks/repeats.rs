//! Messages that are sent again: the same message of the same caller belongs to the same task. The id of a task
//! follows from its first message, so that two that arrive at once cannot begin two tasks, in any process.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use tradepost_a2a::Message;
use tradepost_a2a::request::invalid_param;

use super::beginning::message_of_task;
use super::log::{EntryKind, TaskOwner, TaskRow};
use super::{TaskError, Tasks};
use crate::fault::InternalError;

/// Number of entries read at once.
const BATCH: usize = 500;

/// Returns the id of the task that an owner's message begins.
pub(super) fn task_id_of(owner: &TaskOwner, message_id: &str) -> String {
    let mut hash = Sha256::new_with_prefix("tradepost task of a message 1");
    for text in [&*owner.agent_id, &owner.principal, message_id] {
        // Each text follows its length, so that (`ab`, `c`) and (`a`, `bc`) hash differently.
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text);
    }
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(hash.finalize()).for_each(|(to, from)| *to = from);
    uuid::Builder::from_custom_bytes(bytes).into_uuid().to_string()
}

/// Returns true when one of these messages, as a log has them, has this id.
pub(super) fn has_message(bodies: &[String], message_id: &str) -> Result<bool, InternalError> {
    for body in bodies {
        if read(body)?.message_id == message_id {
            return Ok(true);
        }
    }
    Ok(false)
}

fn read(body: &str) -> Result<Message, InternalError> {
    tradepost_document::json::from_str(body).map_err(InternalError::on("reading a message"))
}

impl Tasks {
    /// Returns the task for which a message was recorded before.
    ///
    /// # Errors
    /// When another message with the same id was recorded, or when the log fails.
    pub(super) async fn repeated(
        self: &Arc<Self>,
        owner: &TaskOwner,
        message: &Message,
    ) -> Result<Option<TaskRow>, TaskError> {
        let owner = owner.clone();
        let message = message.clone();
        self.read(move |tasks| {
            let begun = || task_id_of(&owner, &message.message_id);
            let task_id = message.task_id.clone().unwrap_or_else(begun);
            let Some(row) = tasks.log.task(&owner, &task_id)? else { return Ok(None) };
            let Some(earlier) = tasks.recorded(&row, &message.message_id)? else { return Ok(None) };
            let has_context = |context: &String| *context == row.context_id;
            if earlier == message_of_task(&row, &message)
                && message.context_id.as_ref().is_none_or(has_context)
            {
                return Ok(Some(row));
            }
            let description =
                "was sent before with another content; give each message an id of its own";
            Err(invalid_param("message.messageId", description).into())
        })
        .await
    }

    /// Returns the message with this id in a task's log.
    fn recorded(&self, row: &TaskRow, message_id: &str) -> Result<Option<Message>, InternalError> {
        let mut after = 0;
        loop {
            let entries = self.log.task_entries(&row.task_id, after, row.last_seq, false, BATCH)?;
            for entry in &entries {
                after = entry.seq;
                if entry.kind == EntryKind::Message {
                    let message = read(&entry.body)?;
                    if message.message_id == message_id {
                        return Ok(Some(message));
                    }
                }
            }
            if entries.len() < BATCH {
                return Ok(None);
            }
        }
    }
}
