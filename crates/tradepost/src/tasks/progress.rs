//! How work reports: every report is an entry of the task's log.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Semaphore;
use tradepost_wire::a2a::{Artifact, ArtifactUpdate, Event, Message, Part, Role, TaskState};

use super::{Tasks, fold};
use crate::fault::Fault;
use crate::store::{EntryKind, TaskRow};

/// How many entries may wait for the disk before work has to wait too.
const IN_FLIGHT: u32 = 256;

/// The task has ended: whatever was to be reported does not matter any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended;

/// A handle on the task being worked on. Copies are of the same task.
#[derive(Debug, Clone)]
pub struct Progress(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    tasks: Arc<Tasks>,
    row: TaskRow,
    room: Arc<Semaphore>,
    /// Whether the last status reported lets the work end.
    settled: AtomicBool,
    ended: Arc<AtomicBool>,
    broken: Arc<AtomicBool>,
}

impl Progress {
    pub(super) fn new(tasks: Arc<Tasks>, row: TaskRow) -> Self {
        Self(Arc::new(Inner {
            tasks,
            row,
            room: Arc::new(Semaphore::new(IN_FLIGHT as usize)),
            settled: AtomicBool::new(false),
            ended: Arc::default(),
            broken: Arc::default(),
        }))
    }

    /// The task.
    #[must_use]
    pub fn task_id(&self) -> &str {
        &self.0.row.task_id
    }

    /// Reports a state, with something to say.
    ///
    /// # Errors
    /// When the task has ended.
    pub async fn status(&self, state: TaskState, says: Option<&str>) -> Result<(), Ended> {
        let settled = state.terminal() || state.interrupted();
        let now = self.0.tasks.clock.now();
        let message = says.map(|text| self.message(text));
        let Ok(body) = fold::status_event(&self.0.row, state, message, now) else {
            self.0.broken.store(true, Ordering::SeqCst);
            return Err(Ended);
        };
        self.0.settled.store(settled, Ordering::SeqCst);
        self.append(EntryKind::Status, body, Some((state, now))).await
    }

    /// Reports an artifact, or with `append` more of it.
    ///
    /// # Errors
    /// When the task has ended.
    pub async fn artifact(
        &self,
        artifact: Artifact,
        append: bool,
        last_chunk: bool,
    ) -> Result<(), Ended> {
        let event = Event::ArtifactUpdate(ArtifactUpdate {
            task_id: self.0.row.task_id.clone(),
            context_id: self.0.row.context_id.clone(),
            artifact,
            append,
            last_chunk,
        });
        let Ok(body) = serde_json::to_string(&event) else {
            self.0.broken.store(true, Ordering::SeqCst);
            return Err(Ended);
        };
        self.append(EntryKind::Artifact, body, None).await
    }

    async fn append(
        &self,
        kind: EntryKind,
        body: String,
        status: Option<(TaskState, jiff::Timestamp)>,
    ) -> Result<(), Ended> {
        let inner = &self.0;
        let Ok(room) = Arc::clone(&inner.room).acquire_owned().await else { return Err(Ended) };
        if inner.ended.load(Ordering::SeqCst) || inner.broken.load(Ordering::SeqCst) {
            return Err(Ended);
        }
        let (tasks, task_id) = (Arc::clone(&inner.tasks), inner.row.task_id.clone());
        let (ended, broken) = (Arc::clone(&inner.ended), Arc::clone(&inner.broken));
        let job_id = task_id.clone();
        let queued = inner.tasks.store.submit(
            move |tx| tx.append(&job_id, kind, &body, status),
            move |appended| {
                match appended {
                    Ok(Some(seq)) => tasks.committed(&task_id, seq),
                    Ok(None) => ended.store(true, Ordering::SeqCst),
                    Err(fault) => {
                        tracing::error!(cause = %fault.chain(), "a task's event is lost");
                        broken.store(true, Ordering::SeqCst);
                    }
                }
                drop(room);
            },
        );
        queued.map_err(|_| Ended)
    }

    fn message(&self, text: &str) -> Message {
        Message {
            message_id: uuid::Uuid::now_v7().to_string(),
            context_id: Some(self.0.row.context_id.clone()),
            task_id: Some(self.0.row.task_id.clone()),
            role: Role::Agent,
            parts: vec![Part::text(text)],
            metadata: None,
            extensions: Vec::new(),
            reference_task_ids: Vec::new(),
        }
    }

    /// Whether the work may end here: it has settled the task, or somebody else has ended it.
    pub(super) fn may_be_left(&self) -> bool {
        self.0.settled.load(Ordering::SeqCst) || self.0.ended.load(Ordering::SeqCst)
    }

    /// Waits until everything reported is on disk.
    pub(super) async fn flush(&self) -> Result<(), Fault> {
        let _all = self.0.room.acquire_many(IN_FLIGHT).await;
        if self.0.broken.load(Ordering::SeqCst) {
            return Err(Fault::new("working on a task", "an event could not be stored"));
        }
        Ok(())
    }

    /// Ends the task as failed, unless it has ended.
    pub(super) fn end_as_failed(&self, text: &str) -> Result<(), Fault> {
        let inner = &self.0;
        let now = inner.tasks.clock.now();
        let failed = TaskState::Failed;
        let body = fold::status_event(&inner.row, failed, Some(self.message(text)), now)?;
        let (tasks, task_id) = (Arc::clone(&inner.tasks), inner.row.task_id.clone());
        let job_id = task_id.clone();
        inner.tasks.store.submit(
            move |tx| tx.append(&job_id, EntryKind::Status, &body, Some((failed, now))),
            move |appended| match appended {
                Ok(Some(seq)) => tasks.committed(&task_id, seq),
                Ok(None) => {}
                Err(fault) => {
                    tracing::error!(cause = %fault.chain(), "a failed task could not be ended");
                }
            },
        )
    }
}
