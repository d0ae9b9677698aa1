//! Progress reports of work: each is an entry of the task's log.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tradepost_a2a::response_check::{artifact_problems, in_one_line};
use tradepost_a2a::{Artifact, ArtifactUpdate, Event, TaskState};

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
    /// Problem of the first invalid artifact, for the log.
    invalid: OnceLock<String>,
}

impl TaskProgress {
    pub(super) fn new(tasks: Arc<Tasks>, row: TaskRow, ended: Arc<watch::Sender<bool>>) -> Self {
        Self(Arc::new(Inner {
            tasks,
            row,
            room: Arc::new(Semaphore::new(IN_FLIGHT as usize)),
            settled: AtomicBool::new(false),
            ended,
            broken: Arc::default(),
            invalid: OnceLock::new(),
        }))
    }

    /// Returns the id of the task.
    #[must_use]
    pub fn task_id(&self) -> &str {
        &self.0.row.task_id
    }

    /// Reports a state, with an optional message.
    ///
    /// # Errors
    /// When the task has ended.
    pub async fn status(&self, state: TaskState, says: Option<&str>) -> Result<(), TaskEnded> {
        let settled = state.terminal() || state.interrupted();
        let now = self.0.tasks.clock.now();
        let message = says.map(|text| replay::said(&self.0.row, text));
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
            // Only the first problem is kept, because it ends the task.
            let _ = self.0.invalid.set(in_one_line(&problems));
            return Err(self.lost());
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

    /// Records that a report was lost, which ends the task as failed.
    fn lost(&self) -> TaskEnded {
        self.0.broken.store(true, Ordering::SeqCst);
        TaskEnded
    }

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
        if let Some(problems) = self.0.invalid.get() {
            let cause = format!("the artifact is not valid in A2A: {problems}");
            return Err(InternalError::new("reporting an artifact", cause));
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
