//! Tasks of an agent: they begin with a message, record events in a log, and end. A follower of a
//! task reads its log from its own position, so a slow reader or a restart loses nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use futures_util::future::BoxFuture;
use tokio::sync::watch;
use tradepost_a2a::error::{A2aCode, A2aRefusal};
use tradepost_a2a::request::invalid_param;
use tradepost_a2a::{Event, ListTasks, Message, Task, TaskState};
use tradepost_document::problem::clip;

use crate::clock::Clock;
use crate::fault::InternalError;

pub mod log;
pub mod service;

mod beginning;
mod cursor;
mod error;
mod other_processes;
mod progress;
mod repeats;
mod replay;
mod stream;
mod webhooks;

pub use beginning::{Beginning, StartedTask, TaskMessage};
pub(crate) use cursor::FOREIGN_TOKEN;
pub use error::TaskError;
use log::{EntryKind, LogWriter, PushPosition, TaskFilter, TaskLog, TaskOwner, TaskRow};
pub use progress::{TaskEnded, TaskProgress};
use replay::ReplayError;
pub use service::{MessagePlan, TaskService};
use stream::LogWatch;
pub use stream::{StreamEnd, StreamItem, TaskStream};
pub use webhooks::{CheckedWebhook, PushPage, Webhooks};

/// Work on a task. A task that is not completed by its work is ended as failed.
pub type TaskWork = Box<dyn FnOnce(TaskProgress) -> BoxFuture<'static, WorkResult> + Send>;

/// Result of work: `Err` for an internal error. That the task has ended meanwhile is none.
pub type WorkResult = Result<(), InternalError>;

/// A page of tasks.
#[derive(Debug)]
pub struct TaskPage {
    /// Tasks, most recent status first.
    pub tasks: Vec<Task>,
    /// Token of the next page; empty at the end.
    pub next_page_token: String,
    /// Maximum number of tasks on the page.
    pub page_size: u32,
    /// Number of all matches.
    pub total_size: usize,
}

/// Page size when the caller names none (A2A 1.0 §3.1.4).
const PAGE_SIZE: u32 = 50;

/// The tasks of an agent.
#[derive(Debug)]
pub struct Tasks {
    agent_id: String,
    log: Arc<dyn TaskLog>,
    clock: Clock,
    live: Mutex<HashMap<String, LiveTask>>,
    cursors: cursor::PageTokenSigner,
    /// Places in the log's queue for the entries of all tasks: work waits for one, where a request
    /// would be refused.
    room: Arc<tokio::sync::Semaphore>,
    /// True when streams have to end, because the process stops.
    closing: watch::Sender<bool>,
    /// Wakes the delivery to webhooks.
    notify: tokio::sync::Notify,
}

/// Maximum number of entries of all tasks in the queue, fewer than the store's queue holds.
const ALL_IN_FLIGHT: usize = 4096;

/// A task with running work or followers.
#[derive(Debug)]
struct LiveTask {
    /// Number of the last entry on disk.
    committed: watch::Sender<i64>,
    /// Lock for one piece of work at a time.
    work_lock: Arc<tokio::sync::Mutex<()>>,
    /// True when the task has ended without its work, which then stops.
    stop: Arc<watch::Sender<bool>>,
}

impl Tasks {
    /// Opens an agent's tasks in a log. Tasks that a previous process was working on are ended as
    /// failed; so are those of another process that stops, where processes share the log.
    ///
    /// # Errors
    /// When the log fails.
    pub fn open(
        log: Arc<dyn TaskLog>,
        clock: Clock,
        agent_id: &str,
    ) -> Result<Arc<Self>, InternalError> {
        let cursors = cursor::PageTokenSigner::open(&*log)?;
        let room = Arc::new(tokio::sync::Semaphore::new(ALL_IN_FLIGHT));
        let live = Mutex::new(HashMap::new());
        let closing = watch::Sender::new(false);
        let notify = tokio::sync::Notify::new();
        let agent_id = agent_id.to_owned();
        let tasks = Arc::new(Self { agent_id, log, clock, live, cursors, room, closing, notify });
        // Before any request, because no process works on these tasks.
        tasks.fail_abandoned()?;
        let listener: Weak<Self> = Arc::downgrade(&tasks);
        tasks.log.on_change(listener)?;
        Ok(tasks)
    }

    /// Ends every stream after its current event, and each new one after its first, because a
    /// stream could last longer than the shutdown. Followers resume later or elsewhere with the id
    /// of the last event. Requests that wait for the end of a task continue.
    pub fn close_streams(&self) {
        self.closing.send_replace(true);
    }

    /// Returns the log.
    #[must_use]
    pub fn kept(&self) -> &dyn TaskLog {
        &*self.log
    }

    /// Returns the clock.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Wakes [`Self::woken`], because a task may have a new entry.
    pub fn wake(&self) {
        self.notify.notify_one();
    }

    /// Waits until a task may have a new entry. For a single waiter.
    pub async fn woken(&self) {
        self.notify.notified().await;
    }

    /// Returns the number of tasks with running work or followers.
    #[must_use]
    pub fn live(&self) -> usize {
        self.live.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Returns the task that a message continues, or `None` when it names none.
    ///
    /// # Errors
    /// When the task does not exist, has ended or has another context, or when the log fails.
    // Tasks that have ended, are unknown or have another context are refused (A2A 1.0 §3.1.1, §3.4;
    // E-17 to E-20).
    pub fn addressed(
        &self,
        owner: &TaskOwner,
        message: &Message,
    ) -> Result<Option<TaskRow>, TaskError> {
        // References are checked too: another caller's task gets the same answer as a missing one.
        for task_id in &message.reference_task_ids {
            self.found(owner, task_id)?;
        }
        let Some(task_id) = &message.task_id else { return Ok(None) };
        let row = self.found(owner, task_id)?;
        if message.context_id.as_ref().is_some_and(|context| *context != row.context_id) {
            let description = "must be the task's context, or absent";
            return Err(invalid_param("message.contextId", description).into());
        }
        // Checked again when the message is stored, because the task may end in between.
        if row.state.terminal() {
            return Err(ended("the task has ended and takes no further message").into());
        }
        Ok(Some(row))
    }

    /// Returns the owner's task.
    fn found(&self, owner: &TaskOwner, task_id: &str) -> Result<TaskRow, TaskError> {
        Ok(self.log.task(owner, task_id)?.ok_or_else(|| not_found(task_id))?)
    }

    /// Appends to a task's log and wakes its followers, also after the caller has disconnected.
    async fn append(
        self: &Arc<Self>,
        task_id: &str,
        job: impl FnMut(&dyn LogWriter) -> Result<Option<i64>, InternalError> + Send + 'static,
    ) -> Result<Option<i64>, InternalError> {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let tasks = Arc::clone(self);
        let task_id = task_id.to_owned();
        log::submit(&*self.log, job, move |appended| {
            if let Ok(Some(seq)) = appended {
                tasks.committed(&task_id, seq);
            }
            let _ = sender.send(appended);
        })?;
        receiver.await.map_err(InternalError::on("waiting for the writer"))?
    }

    /// Runs a long read on a blocking thread.
    async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        job: impl FnOnce(&Arc<Self>) -> Result<T, TaskError> + Send + 'static,
    ) -> Result<T, TaskError> {
        let tasks = Arc::clone(self);
        let read = tokio::task::spawn_blocking(move || job(&tasks));
        read.await.map_err(InternalError::on("reading tasks"))?
    }

    /// Returns a task with the requested part of its history (A2A 1.0 §3.2.4).
    ///
    /// # Errors
    /// When it does not exist, or when the log fails.
    pub async fn get(
        self: &Arc<Self>,
        owner: &TaskOwner,
        task_id: &str,
        history: Option<u32>,
    ) -> Result<Task, TaskError> {
        let owner = owner.clone();
        let task_id = task_id.to_owned();
        self.read(move |tasks| {
            let row = tasks.found(&owner, &task_id)?;
            Ok(replay::task(&*tasks.log, &row, row.last_seq, history, true)?)
        })
        .await
    }

    /// Returns a page of the caller's tasks.
    ///
    /// # Errors
    /// When the page token is not one of this list, or when the log fails.
    pub async fn list(
        self: &Arc<Self>,
        owner: &TaskOwner,
        query: ListTasks,
    ) -> Result<TaskPage, TaskError> {
        let owner = owner.clone();
        self.read(move |tasks| tasks.page(&owner, &query)).await
    }

    /// Returns a page of an owner's tasks.
    fn page(&self, owner: &TaskOwner, query: &ListTasks) -> Result<TaskPage, TaskError> {
        let filter = TaskFilter::from(query);
        let read = |token: &String| {
            self.cursors.read(owner, &filter, token).ok_or_else(cursor::foreign_token)
        };
        let after = query.page_token.as_ref().map(read).transpose()?;
        let page_size = query.page_size.unwrap_or(PAGE_SIZE);
        let limit = page_size as usize;
        let (mut rows, total_size) = self.log.tasks(owner, &filter, after, limit + 1)?;
        let token = |last: &TaskRow| self.cursors.write(owner, &filter, last);
        let next_page_token = cursor::cut(&mut rows, limit, token);
        let mut tasks = Vec::with_capacity(rows.len());
        for row in &rows {
            let history = query.history_length;
            match replay::read(&*self.log, row, row.last_seq, history, query.include_artifacts) {
                Ok(task) => tasks.push(task),
                // One unreadable task must not hide the others. A request for it alone gets the
                // error.
                Err(ReplayError::Unreadable(fault)) => {
                    let cause = fault.chain();
                    let task = &row.task_id;
                    tracing::error!(agent = %self.agent_id, %task, cause, "an unreadable task is not listed");
                }
                Err(ReplayError::Broken(fault)) => return Err(fault.into()),
            }
        }
        Ok(TaskPage { tasks, next_page_token, page_size, total_size })
    }

    /// Cancels a task. Repeating it changes nothing.
    ///
    /// # Errors
    /// When the task does not exist or has ended in another way, or when the log fails.
    pub async fn cancel(
        self: &Arc<Self>,
        owner: &TaskOwner,
        task_id: &str,
    ) -> Result<Task, TaskError> {
        let row = self.found(owner, task_id)?;
        let now = self.clock.now();
        let event = replay::status_event(&row, TaskState::Canceled, None, now)?;
        let id = row.task_id.clone();
        let canceled = Some((TaskState::Canceled, now));
        let job = move |tx: &dyn LogWriter| tx.append(&id, EntryKind::Status, &event, canceled);
        // Nothing is appended to a task that has ended; its state is read below.
        self.append(task_id, job).await?;
        self.stop(task_id);
        let task = self.get(owner, task_id, None).await?;
        if task.status.state == TaskState::Canceled {
            return Ok(task);
        }
        let message = "the task has ended and cannot be canceled";
        let refusal = A2aRefusal::new(A2aCode::TaskNotCancelable, message);
        Err(refusal.with("taskId", clip(task_id)).into())
    }

    /// Stops the work on a task that has ended.
    fn stop(&self, task_id: &str) {
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(live) = live.get(task_id) {
            live.stop.send_replace(true);
        }
    }

    /// Follows a task from now on, or from the entry `after`.
    ///
    /// # Errors
    /// When it does not exist or has ended, or when the log fails.
    pub async fn subscribe(
        self: &Arc<Self>,
        owner: &TaskOwner,
        task_id: &str,
        after: Option<i64>,
    ) -> Result<TaskStream, TaskError> {
        let owner = owner.clone();
        let task_id = task_id.to_owned();
        self.read(move |tasks| {
            // Checked first, because watching creates an entry for any id.
            tasks.found(&owner, &task_id)?;
            let (row, watch) = tasks.watch(&owner, &task_id)?;
            let missed = after.is_some_and(|after| after < row.last_seq);
            if row.state.terminal() && !missed {
                return Err(ended("the task has ended; read it with GetTask").into());
            }
            // The first entry has the initial state; before it there is no task.
            let from = after.map_or(row.last_seq, |after| after.clamp(1, row.last_seq));
            let task = replay::task(&*tasks.log, &row, from, None, true)?;
            Ok(TaskStream::new(watch, task, from, StreamEnd::End))
        })
        .await
    }

    /// Returns the first event for a webhook, as at the start of a stream: the task at the time the
    /// webhook was added.
    ///
    /// # Errors
    /// When the log fails.
    pub fn first_event_of(
        &self,
        place: &PushPosition,
        agent_id: &str,
    ) -> Result<String, InternalError> {
        let owner = TaskOwner { agent_id: agent_id.to_owned(), principal: place.owner.clone() };
        let row = self.log.task(&owner, &place.task_id)?;
        let row =
            row.ok_or_else(|| InternalError::new("reading a webhook's task", "it is gone"))?;
        let task = replay::task(&*self.log, &row, place.from_seq, None, true)?;
        tradepost_document::json::to_string(&Event::Task(task))
            .map_err(InternalError::on("writing a task"))
    }

    /// Follows a task that was just started.
    ///
    /// # Errors
    /// When the log fails.
    pub async fn stream_begun(
        self: &Arc<Self>,
        owner: &TaskOwner,
        begun: &StartedTask,
        history: Option<u32>,
    ) -> Result<TaskStream, TaskError> {
        let owner = owner.clone();
        let task_id = begun.task_id.clone();
        let seq = begun.seq;
        self.read(move |tasks| {
            let (row, watch) = tasks.watch(&owner, &task_id)?;
            let task = replay::task(&*tasks.log, &row, seq, history, true)?;
            Ok(TaskStream::new(watch, task, seq, StreamEnd::Pause))
        })
        .await
    }

    /// Starts to watch a task and then reads it, so that no entry in between is missed.
    fn watch(
        self: &Arc<Self>,
        owner: &TaskOwner,
        task_id: &str,
    ) -> Result<(TaskRow, LogWatch), InternalError> {
        let committed = self.follow(task_id, 0, |live| live.committed.subscribe());
        let watch = LogWatch { tasks: Arc::clone(self), task_id: task_id.to_owned(), committed };
        let row = self.log.task(owner, task_id)?;
        let row = row.ok_or_else(|| InternalError::new("following a task", "it is gone"))?;
        self.committed(task_id, row.last_seq);
        Ok((row, watch))
    }

    /// Waits until a task pauses or ends (A2A 1.0 §3.2.2).
    ///
    /// # Errors
    /// When the log fails.
    pub async fn settled(
        self: &Arc<Self>,
        owner: &TaskOwner,
        begun: &StartedTask,
        history: Option<u32>,
    ) -> Result<Task, TaskError> {
        // The history is read with the task below.
        let mut stream = self.stream_begun(owner, begun, Some(0)).await?.unbounded();
        while stream.next().await?.is_some() {}
        self.get(owner, &begun.task_id, history).await
    }

    /// Records the last entry on disk, and wakes the followers.
    fn committed(&self, task_id: &str, seq: i64) {
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(live) = live.get(task_id) {
            live.committed.send_if_modified(|last| raise_to(last, seq));
        }
        drop(live);
        self.wake();
    }

    /// Makes a task live, unless it is, records that its log has the entry `seq`, and returns what `read` takes from it.
    fn follow<T>(&self, task_id: &str, seq: i64, read: impl FnOnce(&LiveTask) -> T) -> T {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = live.entry(task_id.to_owned()).or_insert_with(|| LiveTask {
            committed: watch::Sender::new(seq),
            work_lock: Arc::default(),
            stop: Arc::new(watch::Sender::new(false)),
        });
        // A later caller may know of more entries than the first.
        entry.committed.send_if_modified(|last| raise_to(last, seq));
        read(entry)
    }

    /// Removes a task without running work and followers.
    fn release(&self, task_id: &str) {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = |live: &LiveTask| {
            live.committed.receiver_count() == 0 && Arc::strong_count(&live.work_lock) == 1
        };
        if live.get(task_id).is_some_and(idle) {
            live.remove(task_id);
        }
    }
}

fn raise_to(last: &mut i64, seq: i64) -> bool {
    let newer = seq > *last;
    *last = (*last).max(seq);
    newer
}

/// Returns the refusal for a missing task, which is the same for another caller's task.
// Missing and inaccessible tasks are indistinguishable (A2A 1.0 §3.3.2; E-12, E-13).
fn not_found(task_id: &str) -> A2aRefusal {
    let message = "the task does not exist, or is not yours";
    A2aRefusal::new(A2aCode::TaskNotFound, message).with("taskId", clip(task_id))
}

fn ended(message: &str) -> A2aRefusal {
    A2aRefusal::new(A2aCode::UnsupportedOperation, message)
}
