//! Storage interface of tasks: an event log for each, and webhooks with their positions in it. A
//! store implements [`TaskLog`].

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use jiff::Timestamp;
use tradepost_a2a::{ListTasks, TaskState};

use crate::fault::InternalError;
use crate::signed_text::Secrets;

/// Head of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    /// Id of the task.
    pub task_id: String,
    /// Conversation.
    pub context_id: String,
    /// State.
    pub state: TaskState,
    /// Time of the state. A store keeps and compares it in whole milliseconds, because page tokens have no more.
    pub status_at: Timestamp,
    /// Number of the last entry.
    pub last_seq: i64,
}

/// Owner of tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskOwner {
    /// Id of the agent.
    pub agent_id: String,
    /// Name of the caller.
    pub principal: String,
}

/// Kinds of entries of a task's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A message, which is not streamed.
    Message,
    /// A change of the state.
    Status,
    /// An artifact, or a part of one.
    Artifact,
}

/// An entry of a task's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// Number, from 1, without gaps.
    pub seq: i64,
    /// Kind.
    pub kind: EntryKind,
    /// Body as JSON.
    pub body: String,
}

/// Filter of a list of tasks.
#[derive(Debug, Clone, Default)]
pub struct TaskFilter {
    /// Conversation.
    pub context_id: Option<String>,
    /// State.
    pub state: Option<TaskState>,
    /// Earliest time of the state; whole milliseconds of it count.
    pub since: Option<Timestamp>,
}

impl From<&ListTasks> for TaskFilter {
    fn from(query: &ListTasks) -> Self {
        Self {
            context_id: query.context_id.clone(),
            state: query.status,
            since: query.status_timestamp_after,
        }
    }
}

/// A stored webhook.
#[derive(Clone, PartialEq, Eq)]
pub struct PushTarget {
    /// Id, unique within the task.
    pub config_id: String,
    /// Address.
    pub url: String,
    /// Host of the address.
    pub host: String,
    /// Token for the receiver.
    pub token: Option<String>,
    /// Scheme of the credential.
    pub scheme: Option<String>,
    /// Credential.
    pub credentials: Option<String>,
}

impl fmt::Debug for PushTarget {
    /// Leaves out secrets, including the address, which may contain one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PushTarget").field("config_id", &self.config_id).finish_non_exhaustive()
    }
}

/// A webhook with its position in the task's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushPosition {
    /// Key of the webhook, which is never reused.
    pub key: i64,
    /// Id of the task.
    pub task_id: String,
    /// Name of the owner.
    pub owner: String,
    /// The webhook.
    pub target: PushTarget,
    /// Entry up to which the initial task is built.
    pub from_seq: i64,
    /// Last delivered entry; `None` before the initial task was delivered.
    pub sent_seq: Option<i64>,
    /// Last entry of the task's log.
    pub last_seq: i64,
    /// Number of consecutive failed attempts.
    pub failures: u32,
    /// Reason of the last failure.
    pub failure: Option<String>,
    /// Time of the next delivery; `None` without one.
    pub due_at: Option<Timestamp>,
    /// Time at which it was given up.
    pub off_at: Option<Timestamp>,
}

/// Result of storing a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushStored {
    /// Stored.
    Kept,
    /// The owner has no such task.
    NoTask,
    /// The task has the maximum number of webhooks.
    TooMany,
}

/// Webhooks that have to wait although they are due.
#[derive(Debug, Clone, Default)]
pub struct BlockedPushes {
    /// Keys with a delivery in progress.
    pub keys: Vec<i64>,
    /// Hosts at their limit.
    pub hosts: Vec<String>,
    /// Owners at their limit.
    pub owners: Vec<String>,
}

/// A transaction. It may be run again when the first attempt is not committed.
pub type TxJob = Box<dyn FnMut(&dyn LogWriter) -> Result<(), InternalError> + Send>;

/// Callback for the result of a transaction.
pub type TxCallback = Box<dyn FnOnce(Result<(), InternalError>) + Send>;

/// Listener for changes by other processes that share a log.
pub trait LogListener: Send + Sync {
    /// Called after another process has appended up to an entry; `ended` is true when that ended
    /// the task.
    fn appended(&self, task_id: &str, seq: i64, ended: bool);

    /// Called when notifications may have been missed, and at least every few seconds.
    fn look(&self);
}

/// Storage of tasks.
pub trait TaskLog: Secrets {
    /// Registers a listener for changes by other processes. It is called on a thread that may
    /// block. A log of a single process never calls it.
    ///
    /// # Errors
    /// When the log fails.
    fn on_change(&self, _listener: Weak<dyn LogListener>) -> Result<(), InternalError> {
        Ok(())
    }

    /// Returns the number of the last entry of a task of any owner, and true when it has ended; 0
    /// for an unknown task.
    ///
    /// # Errors
    /// When it cannot be read.
    fn standing(&self, task_id: &str) -> Result<(i64, bool), InternalError>;

    /// Queues `job` and returns at once; `done` is called when its changes are committed, in the
    /// order of the queue. When `job` fails or panics, nothing has changed.
    ///
    /// # Errors
    /// When nothing can be queued; then `done` is never called.
    fn submit(&self, job: TxJob, done: TxCallback) -> Result<(), InternalError>;

    /// Returns the owner's task.
    ///
    /// # Errors
    /// When it cannot be read.
    fn task(&self, owner: &TaskOwner, task_id: &str) -> Result<Option<TaskRow>, InternalError>;

    /// Returns entries of a task's log `after` one, and up to and including `until`, at most
    /// `limit`; those of artifacts only on request.
    ///
    /// # Errors
    /// When they cannot be read.
    fn task_entries(
        &self,
        task_id: &str,
        after: i64,
        until: i64,
        with_artifacts: bool,
        limit: usize,
    ) -> Result<Vec<LogEntry>, InternalError>;

    /// Returns the owner's tasks, most recent status first, after the one with this time and id;
    /// and the number of all matches.
    ///
    /// # Errors
    /// When they cannot be read.
    fn tasks(
        &self,
        owner: &TaskOwner,
        filter: &TaskFilter,
        after: Option<(Timestamp, String)>,
        limit: usize,
    ) -> Result<(Vec<TaskRow>, usize), InternalError>;

    /// Returns an agent's unfinished tasks of processes that no longer run. Such a process may
    /// return, so check again in the transaction that ends them.
    ///
    /// # Errors
    /// When they cannot be read.
    fn unfinished_tasks(&self, agent_id: &str) -> Result<Vec<TaskRow>, InternalError>;

    /// Returns the webhooks of the owner's task after an id, ordered by id, at most `limit`; with
    /// `only` that one.
    ///
    /// # Errors
    /// When they cannot be read.
    fn push_configs(
        &self,
        owner: &TaskOwner,
        task_id: &str,
        only: Option<&str>,
        after: &str,
        limit: usize,
    ) -> Result<Vec<PushPosition>, InternalError>;

    /// Returns a webhook by its key, unless it was deleted, replaced or given up.
    ///
    /// # Errors
    /// When it cannot be read.
    fn push_place(&self, key: i64) -> Result<Option<PushPosition>, InternalError>;

    /// Returns an agent's due webhooks, the longest due first, without the busy ones.
    ///
    /// # Errors
    /// When they cannot be read.
    fn push_due(
        &self,
        agent_id: &str,
        now: Timestamp,
        busy: &BlockedPushes,
        limit: usize,
    ) -> Result<Vec<PushPosition>, InternalError>;

    /// Returns the time at which the next of an agent's webhooks becomes due.
    ///
    /// # Errors
    /// When it cannot be read.
    fn push_next_due(
        &self,
        agent_id: &str,
        after: Timestamp,
    ) -> Result<Option<Timestamp>, InternalError>;
}

/// Operations on tasks in a transaction.
pub trait TaskWriter {
    /// Stores a new task without entries. Returns false, and changes nothing, when there is a task with its id, of any
    /// owner.
    ///
    /// # Errors
    /// When it cannot be written.
    fn create_task(&self, owner: &TaskOwner, task: &TaskRow) -> Result<bool, InternalError>;

    /// Returns the bodies of a task's messages, the oldest first. Until the transaction ends, no other transaction
    /// appends to the task.
    ///
    /// # Errors
    /// When they cannot be read.
    fn messages(&self, task_id: &str) -> Result<Vec<String>, InternalError>;

    /// Appends an entry to a task's log, and changes the state if one is given; the task's waiting
    /// webhooks become due. Returns `None`, without appending, when the task has ended.
    ///
    /// # Errors
    /// When it cannot be written.
    fn append(
        &self,
        task_id: &str,
        kind: EntryKind,
        body: &str,
        status: Option<(TaskState, Timestamp)>,
    ) -> Result<Option<i64>, InternalError>;

    /// Returns an agent's unfinished tasks of processes that no longer run. Until the transaction ends, no other
    /// transaction appends to them.
    ///
    /// # Errors
    /// When they cannot be read.
    fn unfinished_tasks(&self, agent_id: &str) -> Result<Vec<TaskRow>, InternalError>;
}

/// Operations on webhooks in a transaction.
pub trait PushWriter {
    /// Stores a webhook, replacing one with the same id. It is due at once, beginning with the
    /// current task.
    ///
    /// # Errors
    /// When it cannot be written.
    fn put_push_config(
        &self,
        owner: &TaskOwner,
        task_id: &str,
        target: &PushTarget,
        most: usize,
        now: Timestamp,
    ) -> Result<PushStored, InternalError>;

    /// Deletes a webhook, if there is one.
    ///
    /// # Errors
    /// When it cannot be written.
    fn delete_push_config(
        &self,
        owner: &TaskOwner,
        task_id: &str,
        config_id: &str,
    ) -> Result<(), InternalError>;

    /// Records that a webhook has accepted an entry.
    ///
    /// # Errors
    /// When it cannot be written.
    fn push_delivered(&self, key: i64, seq: i64) -> Result<(), InternalError>;

    /// Sets a webhook to wait for new entries; when there are some already, it is due at `now`.
    ///
    /// # Errors
    /// When it cannot be written.
    fn push_rested(&self, key: i64, now: Timestamp) -> Result<(), InternalError>;

    /// Records a failed attempt: the time of the next one (`Ok`), or the time at which the webhook
    /// was given up (`Err`).
    ///
    /// # Errors
    /// When it cannot be written.
    fn push_failed(
        &self,
        key: i64,
        failure: &str,
        next: Result<Timestamp, Timestamp>,
    ) -> Result<(), InternalError>;
}

/// Operations in a transaction.
pub trait LogWriter: TaskWriter + PushWriter {}

impl<T: TaskWriter + PushWriter> LogWriter for T {}

/// Queues a transaction with a result.
///
/// # Errors
/// When nothing can be queued; then `done` is never called.
pub(crate) fn submit<T: Send + 'static>(
    log: &dyn TaskLog,
    mut job: impl FnMut(&dyn LogWriter) -> Result<T, InternalError> + Send + 'static,
    done: impl FnOnce(Result<T, InternalError>) + Send + 'static,
) -> Result<(), InternalError> {
    let outcome = Arc::new(Mutex::new(None));
    let job_outcome = Arc::clone(&outcome);
    let job = move |tx: &dyn LogWriter| {
        let value = job(tx)?;
        // When the transaction ran several times, the last one was committed.
        *job_outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
        Ok(())
    };
    let done = move |ended: Result<(), InternalError>| {
        let value = outcome.lock().unwrap_or_else(PoisonError::into_inner).take();
        let lost = || InternalError::new("keeping tasks", "a job was said to be done and was not");
        done(ended.and_then(|()| value.ok_or_else(lost)));
    };
    log.submit(Box::new(job), Box::new(done))
}

/// Runs a transaction and returns when it is committed.
///
/// # Errors
/// Those of `job`, or when nothing can be stored.
pub(crate) async fn write<T: Send + 'static>(
    log: &dyn TaskLog,
    job: impl FnMut(&dyn LogWriter) -> Result<T, InternalError> + Send + 'static,
) -> Result<T, InternalError> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    submit(log, job, move |ended| {
        // The caller may have disconnected; the transaction is committed all the same.
        let _ = sender.send(ended);
    })?;
    receiver.await.map_err(InternalError::on("waiting for the writer"))?
}

/// Runs a transaction on a thread that may block.
///
/// # Errors
/// Those of [`write`].
pub(crate) fn write_blocking<T: Send + 'static>(
    log: &dyn TaskLog,
    job: impl FnMut(&dyn LogWriter) -> Result<T, InternalError> + Send + 'static,
) -> Result<T, InternalError> {
    let (sender, receiver) = std::sync::mpsc::channel();
    submit(log, job, move |ended| {
        let _ = sender.send(ended);
    })?;
    receiver.recv().map_err(InternalError::on("waiting for the writer"))?
}
