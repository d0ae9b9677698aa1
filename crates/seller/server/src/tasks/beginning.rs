//! The beginning of a task, or of its continuation: the message is recorded, and the work starts.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio_util::sync::CancellationToken;
use tradepost_a2a::{Message, Role, TaskState};

use super::log::{self, EntryKind, LogWriter, TaskOwner, TaskRow};
use super::{
    CheckedWebhook, LiveTask, TaskError, TaskProgress, TaskWork, Tasks, ended, repeats, replay,
};
use crate::fault::InternalError;

/// Pauses between attempts to end a failed task.
// No pause follows the last attempt.
const END_PAUSES: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(30), Duration::ZERO];

/// A message that begins or continues a task.
#[derive(Debug)]
pub struct TaskMessage<'m> {
    /// The message.
    pub message: &'m Message,
    /// Webhook that gets the events from here on.
    pub webhook: Option<CheckedWebhook>,
    /// True when the same message of the same owner is recorded once, however often it is sent.
    pub is_once: bool,
    /// Signal that is given when the task ends while its work still runs, as when it is canceled.
    pub cancellation: CancellationToken,
}

impl<'m> From<&'m Message> for TaskMessage<'m> {
    fn from(message: &'m Message) -> Self {
        let cancellation = CancellationToken::new();
        Self { message, webhook: None, is_once: false, cancellation }
    }
}

/// A task that was started or continued.
#[derive(Debug)]
pub struct StartedTask {
    /// Id of the task.
    pub task_id: String,
    /// Number of the message's entry in the log.
    pub seq: i64,
}

/// Result of beginning a task.
#[derive(Debug)]
pub enum Beginning {
    /// The message was recorded, and its work starts.
    Started(StartedTask),
    /// The message was recorded before, so nothing was done ([`TaskMessage::is_once`]).
    Repeated,
}

/// Outcome of the transaction that records a message; `At` has the number of its entry.
enum RecordOutcome {
    At(i64),
    Ended,
    Repeated,
}

impl Tasks {
    /// Records a message, under a new task unless it continues one, and starts the work.
    ///
    /// # Errors
    /// When the task has ended, or when the log fails; then nothing was started.
    pub async fn begin(
        self: &Arc<Self>,
        owner: &TaskOwner,
        continues: Option<TaskRow>,
        sent: TaskMessage<'_>,
        work: TaskWork,
    ) -> Result<Beginning, TaskError> {
        let TaskMessage { message, webhook, is_once, cancellation } = sent;
        let now = self.clock.now();
        let owner = owner.clone();
        let is_new = continues.is_none();
        let new_id = || uuid::Uuid::now_v7().to_string();
        let row = continues.unwrap_or_else(|| TaskRow {
            task_id: match is_once {
                true => repeats::task_id_of(&owner, &message.message_id),
                false => new_id(),
            },
            context_id: message.context_id.clone().unwrap_or_else(new_id),
            state: TaskState::Submitted,
            status_at: now,
            last_seq: 0,
        });
        let entry = message_of_task(&row, message);
        let entry = tradepost_document::json::to_string(&entry)
            .map_err(InternalError::on("writing a message"))?;
        let message_id = is_once.then(|| message.message_id.clone());
        // A task that waited for this message continues.
        let state = if is_new { TaskState::Submitted } else { TaskState::Working };
        let status_entry = replay::status_event(&row, state, None, now)?;
        let job_row = row.clone();
        let tasks = Arc::clone(self);
        let record = move |tx: &dyn LogWriter| {
            let id = &job_row.task_id;
            if is_new && !tx.create_task(&owner, &job_row)? {
                return Ok(RecordOutcome::Repeated);
            }
            if let Some(message_id) = message_id.as_ref().filter(|_| !is_new)
                && repeats::has_message(&tx.messages(id)?, message_id)?
            {
                return Ok(RecordOutcome::Repeated);
            }
            // The message is appended last: the caller's stream begins at its number, with the task
            // already in the new state.
            tx.append(id, EntryKind::Status, &status_entry, Some((state, now)))?;
            let Some(seq) = tx.append(id, EntryKind::Message, &entry, None)? else {
                return Ok(RecordOutcome::Ended);
            };
            if let Some(webhook) = &webhook {
                webhook.keep(tx, &owner, id, now)?;
            }
            Ok(RecordOutcome::At(seq))
        };
        // A caller that disconnects drops this future, but a stored task needs its work.
        let begun = tokio::spawn(async move {
            let seq = match log::write(&*tasks.log, record).await? {
                RecordOutcome::At(seq) => seq,
                RecordOutcome::Repeated => return Ok(Beginning::Repeated),
                RecordOutcome::Ended => {
                    return Err(ended("the task has ended and takes no further message").into());
                }
            };
            let task_id = row.task_id.clone();
            tasks.committed(&task_id, seq);
            let shared = |live: &LiveTask| (Arc::clone(&live.work_lock), Arc::clone(&live.stop));
            let (work_lock, stop) = tasks.follow(&task_id, seq, shared);
            let progress = TaskProgress::new(Arc::clone(&tasks), row, stop, cancellation);
            tokio::spawn(async move { tasks.work(work_lock, progress, work).await });
            Ok(Beginning::Started(StartedTask { task_id, seq }))
        });
        begun.await.map_err(InternalError::on("beginning a task"))?
    }

    /// Runs the work on a task when it is its turn. Any failure ends the task; the caller does not
    /// see the cause.
    async fn work(
        &self,
        work_lock: Arc<tokio::sync::Mutex<()>>,
        progress: TaskProgress,
        work: TaskWork,
    ) {
        let guard = work_lock.lock().await;
        let copy = progress.clone();
        let worked = AssertUnwindSafe(async { work(copy).await }).catch_unwind();
        let worked = tokio::select! {
            biased;
            () = progress.stopped() => {
                // The work's future is dropped here; the signal stops what it has started
                // elsewhere, such as a thread.
                progress.cancellation().cancel();
                Ok(())
            }
            worked = worked => worked
                .unwrap_or_else(|_| Err(InternalError::new("working on a task", "the work panicked"))),
        };
        // The state is known only when all reports are on disk.
        let flushed = progress.flush().await;
        let cause = match worked.and(flushed) {
            Ok(()) if progress.is_settled() => None,
            Ok(()) => Some(InternalError::new("working on a task", "it was left")),
            Err(fault) => Some(fault),
        };
        if let Some(cause) = cause {
            self.fail(&progress, &cause).await;
        }
        // `release` counts the holders of the lock, so this one has to be dropped to free the
        // memory.
        drop(guard);
        drop(work_lock);
        self.release(progress.task_id());
    }

    /// Ends a task as failed. The log has the cause, under the caller's error id.
    async fn fail(&self, progress: &TaskProgress, fault: &InternalError) {
        let error_id = format!("err_{}", uuid::Uuid::now_v7().simple());
        let agent = &self.agent_id;
        let task = progress.task_id();
        tracing::error!(%agent, %task, %error_id, cause = %fault.chain(), "a task failed");
        let text = format!("The agent failed to work on this task. Error id: {error_id}");
        // Retried, because the log itself may have failed, and followers would wait forever for a
        // task that never ends.
        for pause in END_PAUSES {
            let Err(fault) = progress.end_as_failed(&text).await else { return };
            tracing::error!(cause = %fault.chain(), "a failed task could not be ended");
            tokio::time::sleep(pause).await;
        }
    }
}

/// Returns a message as the log of its task has it.
pub(super) fn message_of_task(row: &TaskRow, message: &Message) -> Message {
    Message {
        task_id: Some(row.task_id.clone()),
        context_id: Some(row.context_id.clone()),
        role: Role::User,
        ..message.clone()
    }
}
