//! Progress reports of work: each is an entry of the task's log.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tradepost_a2a::error::FieldViolation;
use tradepost_a2a::response_check::{artifact_problems, in_one_line, message_problems};
use tradepost_a2a::{Artifact, ArtifactUpdate, Event, Message, Part, TaskState};

use super::log::{self, EntryKind, LogWriter, TaskRow};
use super::{Tasks, replay};
use crate::fault::InternalError;

/// Maximum number of a task's entries in the queue before its work has to wait.
const IN_FLIGHT: u32 = 256;

/// The task has ended, so further reports are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskEnded;

/// Handle on the task being worked on. Clones refer to the same task.
#[derive(Debug, Clone)]
pub struct TaskProgress(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    tasks: Arc<Tasks>,
    row: TaskRow,
    room: Arc<Semaphore>,
    /// True when the last reported status permits the work to end.
    settled: AtomicBool,
    /// True when the task has ended without this work.
    ended: Arc<watch::Sender<bool>>,
    broken: Arc<AtomicBool>,
    /// Problem of the first invalid artifact or message, for the log.
    invalid: OnceLock<InvalidReport>,
    cancellation: CancellationToken,
}

impl TaskProgress {
    /// Creates the progress of a task.
    pub(super) fn new(
        tasks: Arc<Tasks>,
        row: TaskRow,
        ended: Arc<watch::Sender<bool>>,
        cancellation: CancellationToken,
    ) -> Self {
        Self(Arc::new(Inner {
            tasks,
            row,
            room: Arc::new(Semaphore::new(IN_FLIGHT as usize)),
            settled: AtomicBool::new(false),
            ended,
            broken: Arc::default(),
            invalid: OnceLock::new(),
            cancellation,
        }))
    }

    /// Returns the id of the task.
    #[must_use]
    pub fn task_id(&self) -> &str {
        &self.0.row.task_id
    }

    /// Returns the signal that the work is no longer wanted: the task was canceled or has ended in another way, or the
    /// caller that waited for it or followed it has gone. The work itself is dropped when the task has ended; the
    /// signal is for what it has started elsewhere, such as a thread, and for work that is pointless without its caller.
    #[must_use]
    pub fn cancellation(&self) -> &CancellationToken {
        &self.0.cancellation
    }

    /// Reports a state, with an optional message.
    ///
    /// # Errors
    /// When the task has ended.
    pub async fn status(
        &self,
        state: TaskState,
        message_text: Option<&str>,
    ) -> Result<(), TaskEnded> {
        let message =
            message_text.map(|text| replay::agent_message(&self.0.row, vec![Part::text(text)]));
        self.report(state, message).await
    }

    /// Reports a state with a message of these parts, at least one: text, data and files. A message that violates
    /// A2A's data model ends the task as failed, and the log has the reason.
    ///
    /// # Errors
    /// When the task has ended, or ends by this.
    pub async fn status_with(&self, state: TaskState, parts: Vec<Part>) -> Result<(), TaskEnded> {
        let message = replay::agent_message(&self.0.row, parts);
        let problems = message_problems(&message);
        if !problems.is_empty() {
            return Err(self.refuse("reporting a state", "message", &problems));
        }
        self.report(state, Some(message)).await
    }

    async fn report(&self, state: TaskState, message: Option<Message>) -> Result<(), TaskEnded> {
        let settled = state.terminal() || state.interrupted();
        let now = self.0.tasks.clock.now();
        let body = replay::status_event(&self.0.row, state, message, now);
        let body = body.map_err(|_| self.lost())?;
        self.0.settled.store(settled, Ordering::SeqCst);
        self.append(EntryKind::Status, body, Some((state, now))).await
    }

    /// Reports an artifact, or with `append` a part of one. An artifact that violates A2A's data
    /// model, such as one without parts or with a
    /// [`Content::Raw`](tradepost_a2a::Content::Raw) that is not base64, ends the task as
    /// failed, and the log has the reason.
    ///
    /// # Errors
    /// When the task has ended, or ends by this.
    pub async fn artifact(
        &self,
        artifact: Artifact,
        append: bool,
        last_chunk: bool,
    ) -> Result<(), TaskEnded> {
        let problems = artifact_problems(&artifact);
        if !problems.is_empty() {
            return Err(self.refuse("reporting an artifact", "artifact", &problems));
        }
        let event = Event::ArtifactUpdate(ArtifactUpdate {
            task_id: self.0.row.task_id.clone(),
            context_id: self.0.row.context_id.clone(),
            artifact,
            append,
            last_chunk,
        });
        let body = tradepost_document::json::to_string(&event).map_err(|_| self.lost())?;
        self.append(EntryKind::Artifact, body, None).await
    }

    /// Records why a report is not valid, which ends the task as failed.
    fn refuse(&self, what: &'static str, report: &str, problems: &[FieldViolation]) -> TaskEnded {
        let problems = in_one_line(problems);
        let cause = format!("the {report} is not valid in A2A: {problems}");
        // Only the first is kept, because it ends the task.
        let _ = self.0.invalid.set(InvalidReport { what, cause });
        self.lost()
    }

    /// Records that a report was lost, which ends the task as failed.
    fn lost(&self) -> TaskEnded {
        self.0.broken.store(true, Ordering::SeqCst);
        TaskEnded
    }

    /// Queues an entry of the task's log, waiting while too many are in flight.
    async fn append(
        &self,
        kind: EntryKind,
        body: String,
        status: Option<(TaskState, jiff::Timestamp)>,
    ) -> Result<(), TaskEnded> {
        let inner = &self.0;
        // The task's own limit first, so that work at its limit holds no place in the shared queue.
        let room = Arc::clone(&inner.room).acquire_owned().await.map_err(|_| TaskEnded)?;
        let place = Arc::clone(&inner.tasks.room).acquire_owned().await.map_err(|_| TaskEnded)?;
        // After the wait, in which the task may have ended.
        if *inner.ended.borrow() || inner.broken.load(Ordering::SeqCst) {
            return Err(TaskEnded);
        }
        let tasks = Arc::clone(&inner.tasks);
        let task_id = inner.row.task_id.clone();
        let ended = Arc::clone(&inner.ended);
        let broken = Arc::clone(&inner.broken);
        let receipt = EntryPermits { broken, stored: false, _room: room, _place: place };
        let job_id = task_id.clone();
        let queued = log::submit(
            &*inner.tasks.log,
            move |tx| tx.append(&job_id, kind, &body, status),
            move |appended| {
                let mut receipt = receipt;
                receipt.stored = appended.is_ok();
                match appended {
                    Ok(Some(seq)) => tasks.committed(&task_id, seq),
                    Ok(None) => {
                        ended.send_replace(true);
                    }
                    Err(fault) => {
                        tracing::error!(cause = %fault.chain(), "a task's event is lost");
                    }
                }
            },
        );
        queued.map_err(|_| TaskEnded)
    }

    /// Returns true when the work may end: it has reported a final or paused state, or the task has
    /// ended without it.
    pub(super) fn is_settled(&self) -> bool {
        self.0.settled.load(Ordering::SeqCst) || *self.0.ended.borrow()
    }

    /// Waits until the task has ended without this work.
    pub(super) async fn stopped(&self) {
        let mut ended = self.0.ended.subscribe();
        // The sender is part of this handle, so it outlives the wait.
        let _ = ended.wait_for(|ended| *ended).await;
    }

    /// Waits until all reports are on disk.
    pub(super) async fn flush(&self) -> Result<(), InternalError> {
        // Every pending entry holds a permit, so acquiring all of them means that none is pending.
        let _all = self.0.room.acquire_many(IN_FLIGHT).await;
        if let Some(InvalidReport { what, cause }) = self.0.invalid.get() {
            return Err(InternalError::new(what, cause.clone()));
        }
        if self.0.broken.load(Ordering::SeqCst) {
            return Err(InternalError::new("working on a task", "an event could not be stored"));
        }
        Ok(())
    }

    /// Ends the task as failed, unless it has ended.
    pub(super) async fn end_as_failed(&self, text: &str) -> Result<(), InternalError> {
        let inner = &self.0;
        let now = inner.tasks.clock.now();
        let body = replay::failure(&inner.row, text, now)?;
        let job_id = inner.row.task_id.clone();
        let failed = Some((TaskState::Failed, now));
        let job = move |tx: &dyn LogWriter| tx.append(&job_id, EntryKind::Status, &body, failed);
        inner.tasks.append(&inner.row.task_id, job).await.map(|_| ())
    }
}

/// A report that violates A2A's data model.
#[derive(Debug)]
struct InvalidReport {
    what: &'static str,
    cause: String,
}

/// Permits of an entry while it is queued. A transaction that cannot begin is dropped silently, so
/// an entry counts as lost unless it was stored.
struct EntryPermits {
    broken: Arc<AtomicBool>,
    stored: bool,
    _room: OwnedSemaphorePermit,
    _place: OwnedSemaphorePermit,
}

impl Drop for EntryPermits {
    fn drop(&mut self) {
        // Before the permits are released, because the next holder reads this.
        if !self.stored {
            self.broken.store(true, Ordering::SeqCst);
        }
    }
}
