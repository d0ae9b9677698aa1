//! What tasks are kept in: a log of entries for each, and webhooks with their places in it. Whoever
//! keeps them implements [`TaskLog`]; what is read and written here is written in its terms.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use jiff::Timestamp;
use tradepost_wire::a2a::{ListTasks, TaskState};

use crate::fault::Fault;
use crate::seal::Secrets;

/// A task's head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    /// Its id.
    pub task_id: String,
    /// The conversation.
    pub context_id: String,
    /// Where it stands.
    pub state: TaskState,
    /// Since when.
    pub status_at: Timestamp,
    /// The number of its last event.
    pub last_seq: i64,
}

/// Whose tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The agent.
    pub agent_id: String,
    /// The caller.
    pub principal: String,
}

/// What an entry of a task's log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// Something that was said; not streamed.
    Message,
    /// The task stands elsewhere.
    Status,
    /// There is more of an artifact.
    Artifact,
}

/// An entry of a task's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its number, from 1, without gaps.
    pub seq: i64,
    /// What it is.
    pub kind: EntryKind,
    /// The JSON.
    pub body: String,
}

/// Which tasks to list.
#[derive(Debug, Clone, Default)]
pub struct TaskFilter {
    /// Of this conversation.
    pub context_id: Option<String>,
    /// In this state.
    pub state: Option<TaskState>,
    /// Whose state is not older than this.
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

/// A webhook as it is kept.
#[derive(Clone, PartialEq, Eq)]
pub struct PushTarget {
    /// Its id, unique within the task.
    pub config_id: String,
    /// The address.
    pub url: String,
    /// The address's host.
    pub host: String,
    /// What the receiver wants to see again.
    pub token: Option<String>,
    /// The scheme of a credential.
    pub scheme: Option<String>,
    /// The credential.
    pub credentials: Option<String>,
}

impl fmt::Debug for PushTarget {
    /// Without what is secret: the address may hold a secret, too.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PushTarget").field("config_id", &self.config_id).finish_non_exhaustive()
    }
}

/// A webhook with its place in the task's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushPlace {
    /// The webhook, under a number that no other one ever has.
    pub key: i64,
    /// The task.
    pub task_id: String,
    /// Whose.
    pub owner: String,
    /// Where to.
    pub target: PushTarget,
    /// The task as it was after this entry is told first.
    pub from_seq: i64,
    /// The last entry that was delivered; `None` before the task itself was.
    pub sent_seq: Option<i64>,
    /// The last entry of the task's log.
    pub last_seq: i64,
    /// How many attempts have failed in a row.
    pub failures: u32,
    /// How the last one failed.
    pub failure: Option<String>,
    /// When to deliver; `None` when nothing waits.
    pub due_at: Option<Timestamp>,
    /// When it was given up.
    pub off_at: Option<Timestamp>,
}

/// Whether a webhook was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushKept {
    /// It was.
    Kept,
    /// There is no such task of this owner.
    NoTask,
    /// The task has as many as it can have.
    TooMany,
}

/// Which webhooks have to wait although they are due.
#[derive(Debug, Clone, Default)]
pub struct PushBusy {
    /// Keys that are being delivered to.
    pub keys: Vec<i64>,
    /// Hosts that have as many deliveries as they can.
    pub hosts: Vec<String>,
    /// Owners that have as many deliveries as they can.
    pub owners: Vec<String>,
}

/// What is done in a transaction. It may be done again when the first time is not kept.
pub type Job = Box<dyn FnMut(&dyn LogWriter) -> Result<(), Fault> + Send>;

/// Who is told how a job ended.
pub type Done = Box<dyn FnOnce(Result<(), Fault>) + Send>;

/// Told of what other processes do to a log that they share.
pub trait Ear: Send + Sync {
    /// Another process has appended up to an entry, and has ended the task with it or not.
    fn appended(&self, task_id: &str, seq: i64, ended: bool);

    /// Something may have been missed. Called every few seconds at least.
    fn look(&self);
}

/// The tasks of agents.
pub trait TaskLog: Secrets {
    /// Has somebody told of what other processes do, from now on, on a thread that may wait. A log
    /// that has no other process has nothing to tell.
    ///
    /// # Errors
    /// When the log fails.
    fn hear(&self, _ear: Weak<dyn Ear>) -> Result<(), Fault> {
        Ok(())
    }

    /// The number of a task's last entry, whosever it is, and whether the task has ended; 0 where there is
    /// no such task.
    ///
    /// # Errors
    /// When it cannot be read.
    fn standing(&self, task_id: &str) -> Result<(i64, bool), Fault>;

    /// Queues `job` and returns at once; `done` is called when what it did is kept, in the order of
    /// the queue. When `job` fails or panics, nothing has changed.
    ///
    /// # Errors
    /// When nothing can be queued; then `done` is never called.
    fn submit(&self, job: Job, done: Done) -> Result<(), Fault>;

    /// The owner's task.
    ///
    /// # Errors
    /// When it cannot be read.
    fn task(&self, owner: &Owner, task_id: &str) -> Result<Option<TaskRow>, Fault>;

    /// Entries of a task's log after one and up to another, at most `limit`; those of artifacts
    /// only when asked for.
    ///
    /// # Errors
    /// When they cannot be read.
    fn task_entries(
        &self,
        task_id: &str,
        range: (i64, i64),
        with_artifacts: bool,
        limit: usize,
    ) -> Result<Vec<Entry>, Fault>;

    /// The owner's tasks, newest state first, after the one with this moment and id; and how many
    /// match in all.
    ///
    /// # Errors
    /// When they cannot be read.
    fn tasks(
        &self,
        owner: &Owner,
        filter: &TaskFilter,
        after: Option<(Timestamp, String)>,
        limit: usize,
    ) -> Result<(Vec<TaskRow>, usize), Fault>;

    /// An agent's tasks that somebody was working on, in a process that is there no more. A moment
    /// later it may be there again; who ends them asks once more in the transaction.
    ///
    /// # Errors
    /// When they cannot be read.
    fn unfinished_tasks(&self, agent_id: &str) -> Result<Vec<TaskRow>, Fault>;

    /// The webhooks of the owner's task after one id, by id, at most `limit`; with `only` that one.
    ///
    /// # Errors
    /// When they cannot be read.
    fn push_configs(
        &self,
        owner: &Owner,
        task_id: &str,
        only: Option<&str>,
        after: &str,
        limit: usize,
    ) -> Result<Vec<PushPlace>, Fault>;

    /// A webhook by its key, unless it was deleted, replaced or given up.
    ///
    /// # Errors
    /// When it cannot be read.
    fn push_place(&self, key: i64) -> Result<Option<PushPlace>, Fault>;

    /// An agent's webhooks that are due, the longest due first, without the busy ones.
    ///
    /// # Errors
    /// When they cannot be read.
    fn push_due(
        &self,
        agent_id: &str,
        now: Timestamp,
        busy: &PushBusy,
        limit: usize,
    ) -> Result<Vec<PushPlace>, Fault>;

    /// When the next of an agent's webhooks becomes due after a moment.
    ///
    /// # Errors
    /// When it cannot be read.
    fn push_next_due(&self, agent_id: &str, after: Timestamp) -> Result<Option<Timestamp>, Fault>;
}

/// What a job can do with tasks.
pub trait TaskWriter {
    /// Keeps a new task without entries.
    ///
    /// # Errors
    /// When it cannot be written.
    fn create_task(&self, owner: &Owner, task: &TaskRow) -> Result<(), Fault>;

    /// Appends an entry to a task's log, and with a status moves the task; its webhooks that wait
    /// for something new are due. `None` when the task has ended: nothing is appended then.
    ///
    /// # Errors
    /// When it cannot be written.
    fn append(
        &self,
        task_id: &str,
        kind: EntryKind,
        body: &str,
        status: Option<(TaskState, Timestamp)>,
    ) -> Result<Option<i64>, Fault>;

    /// An agent's tasks that somebody was working on, in a process that is there no more. Until the
    /// transaction ends, nobody else appends to them.
    ///
    /// # Errors
    /// When they cannot be read.
    fn unfinished_tasks(&self, agent_id: &str) -> Result<Vec<TaskRow>, Fault>;
}

/// What a job can do with webhooks.
pub trait PushWriter {
    /// Keeps a webhook in the place of the one with its id, if there is one. It is due at once: it
    /// begins with the task as it is.
    ///
    /// # Errors
    /// When it cannot be written.
    fn put_push_config(
        &self,
        owner: &Owner,
        task_id: &str,
        target: &PushTarget,
        most: usize,
        now: Timestamp,
    ) -> Result<PushKept, Fault>;

    /// Forgets a webhook, if there is one.
    ///
    /// # Errors
    /// When it cannot be written.
    fn delete_push_config(
        &self,
        owner: &Owner,
        task_id: &str,
        config_id: &str,
    ) -> Result<(), Fault>;

    /// Notes that a webhook has taken an entry.
    ///
    /// # Errors
    /// When it cannot be written.
    fn push_delivered(&self, key: i64, seq: i64) -> Result<(), Fault>;

    /// Lets a webhook rest until there is more to tell; when there is already, it is due at `now`.
    ///
    /// # Errors
    /// When it cannot be written.
    fn push_rested(&self, key: i64, now: Timestamp) -> Result<(), Fault>;

    /// Notes a failed attempt: the next one is at a moment, or there is none and the webhook was
    /// given up at a moment (`Err`).
    ///
    /// # Errors
    /// When it cannot be written.
    fn push_failed(
        &self,
        key: i64,
        failure: &str,
        next: Result<Timestamp, Timestamp>,
    ) -> Result<(), Fault>;
}

/// What a job can do.
pub trait LogWriter: TaskWriter + PushWriter {}

impl<T: TaskWriter + PushWriter> LogWriter for T {}

/// Queues a job that comes to something.
///
/// # Errors
/// When nothing can be queued; then `done` is never called.
pub(crate) fn submit<T: Send + 'static>(
    log: &dyn TaskLog,
    mut job: impl FnMut(&dyn LogWriter) -> Result<T, Fault> + Send + 'static,
    done: impl FnOnce(Result<T, Fault>) + Send + 'static,
) -> Result<(), Fault> {
    let outcome = Arc::new(Mutex::new(None));
    let kept = Arc::clone(&outcome);
    let job = move |tx: &dyn LogWriter| {
        let value = job(tx)?;
        // Of several times the last is the one that is kept.
        *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
        Ok(())
    };
    let done = move |ended: Result<(), Fault>| {
        let value = outcome.lock().unwrap_or_else(PoisonError::into_inner).take();
        let lost = || Fault::new("keeping tasks", "a job was said to be done and was not");
        done(ended.and_then(|()| value.ok_or_else(lost)));
    };
    log.submit(Box::new(job), Box::new(done))
}

/// Does a job and returns when what it did is kept.
///
/// # Errors
/// What the job returned, or that nothing can be kept.
pub(crate) async fn write<T: Send + 'static>(
    log: &dyn TaskLog,
    job: impl FnMut(&dyn LogWriter) -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    submit(log, job, move |ended| {
        // The caller may have gone; what was done is done.
        let _ = sender.send(ended);
    })?;
    receiver.await.map_err(Fault::on("waiting for the writer"))?
}

/// The same where nobody else has to wait.
///
/// # Errors
/// As [`write`].
pub(crate) fn write_blocking<T: Send + 'static>(
    log: &dyn TaskLog,
    job: impl FnMut(&dyn LogWriter) -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let (sender, receiver) = std::sync::mpsc::channel();
    submit(log, job, move |ended| {
        let _ = sender.send(ended);
    })?;
    receiver.recv().map_err(Fault::on("waiting for the writer"))?
}
