//! Tasks at work: they begin with a message, log what happens to them, and end. Whoever follows a
//! task reads its log with a cursor of its own, so that a slow reader loses nothing and a restart
//! forgets nothing.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::watch;
use tradepost_wire::a2a::error::{Code, Refusal};
use tradepost_wire::a2a::request::invalid_param;
use tradepost_wire::a2a::{Event, ListTasks, Message, Role, Task, TaskState};
use tradepost_wire::problem::clip;

use crate::clock::Clock;
use crate::fault::Fault;

pub mod log;
pub mod service;

mod cursor;
mod fold;
mod others;
mod progress;
mod stream;
mod webhooks;

pub(crate) use cursor::FOREIGN_TOKEN;
use fold::Unfolded;
use log::{EntryKind, LogWriter, Owner, PushPlace, TaskFilter, TaskLog, TaskRow};
pub use progress::{Ended, Progress};
pub use service::{Plan, Service};
use stream::Watch;
pub use stream::{Item, TaskStream, Until};
pub use webhooks::{PushPage, Webhook, Webhooks};

/// Work on a task. It ends the task by itself, or else it is ended as failed.
pub type Work = Box<dyn FnOnce(Progress) -> BoxFuture<'static, Worked> + Send>;

/// How work ends: `Err` when something of ours broke. That the task has ended meanwhile is no
/// fault.
pub type Worked = Result<(), Fault>;

/// A page of a list.
#[derive(Debug)]
pub struct TaskPage {
    /// The tasks, newest state first.
    pub tasks: Vec<Task>,
    /// Where to go on; empty at the end.
    pub next_page_token: String,
    /// How many a page holds at most.
    pub page_size: u32,
    /// How many match in all.
    pub total_size: usize,
}

/// The protocol's yes or no, or a fault.
pub type Outcome<T> = Result<Result<T, Refusal>, Fault>;

/// Why something is not done.
#[derive(Debug)]
pub enum Undone {
    /// The protocol says no.
    Refused(Refusal),
    /// Something of ours broke.
    Broken(Fault),
}

impl From<Refusal> for Undone {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Fault> for Undone {
    fn from(fault: Fault) -> Self {
        Self::Broken(fault)
    }
}

/// How many tasks a page holds when the caller does not say (A2A §3.1.4).
const PAGE_SIZE: u32 = 50;

/// How long to wait before a task that failed is ended once more, when that failed too.
// Nothing is waited for after the last attempt.
const END_PAUSES: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(30), Duration::ZERO];

/// All tasks of an agent.
#[derive(Debug)]
pub struct Tasks {
    agent_id: String,
    log: Arc<dyn TaskLog>,
    clock: Clock,
    live: Mutex<HashMap<String, Live>>,
    cursors: cursor::Signer,
    /// Room in the log's queue for the entries of all tasks together: work waits where a
    /// request would be refused.
    room: Arc<tokio::sync::Semaphore>,
    /// Whether streams are to end: the process stops.
    closing: watch::Sender<bool>,
    /// Wakes whoever delivers to webhooks.
    stirred: tokio::sync::Notify,
}

/// How many entries of all tasks may wait for the disk: less than the store's queue holds.
const ALL_IN_FLIGHT: usize = 4096;

/// A task that somebody works on or follows.
#[derive(Debug)]
struct Live {
    /// The number of the last entry that is on disk.
    committed: watch::Sender<i64>,
    /// One piece of work at a time.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// Whether the task has ended without its work, which then stops.
    stop: Arc<watch::Sender<bool>>,
}

/// A task that was begun or continued.
#[derive(Debug)]
pub struct Begun {
    /// The task.
    pub task_id: String,
    /// The log up to and with the message.
    pub seq: i64,
}

impl Tasks {
    /// An agent's tasks in a log. Those that a former process was working on are ended as
    /// failed: nobody will. Where processes share the log, so are those of one that goes away.
    ///
    /// # Errors
    /// When the log fails.
    pub fn open(log: Arc<dyn TaskLog>, clock: Clock, agent_id: &str) -> Result<Arc<Self>, Fault> {
        let cursors = cursor::Signer::open(&*log)?;
        let room = Arc::new(tokio::sync::Semaphore::new(ALL_IN_FLIGHT));
        let (live, closing) = (Mutex::new(HashMap::new()), watch::Sender::new(false));
        let (stirred, agent_id) = (tokio::sync::Notify::new(), agent_id.to_owned());
        let tasks = Arc::new(Self { agent_id, log, clock, live, cursors, room, closing, stirred });
        // Nobody may see a task at work on which nobody works, so this is waited for.
        tasks.end_left()?;
        let ear: Weak<Self> = Arc::downgrade(&tasks);
        tasks.log.hear(ear)?;
        Ok(tasks)
    }

    /// Ends every stream after the event that it is at, and each new one after its first: a
    /// stream could last longer than anybody waits for the process. Who followed resumes
    /// elsewhere or later with the last event's id. Who waits for a task's end goes on waiting.
    pub fn close_streams(&self) {
        self.closing.send_replace(true);
    }

    /// What they are kept in.
    #[must_use]
    pub fn kept(&self) -> &dyn TaskLog {
        &*self.log
    }

    /// The time.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Wakes whoever waits for [`Self::stirred`]: there may be something to tell.
    pub fn stir(&self) {
        self.stirred.notify_one();
    }

    /// Waits until a task may have something new to tell. One waits at most.
    pub async fn stirred(&self) {
        self.stirred.notified().await;
    }

    /// How many tasks are worked on or followed.
    #[must_use]
    pub fn live(&self) -> usize {
        self.live.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The task that a message belongs to: an own one that can take it, or none when it names
    /// none.
    ///
    /// # Errors
    /// That there is none such, or when the log fails.
    // E-17 to E-20
    pub fn addressed(&self, owner: &Owner, message: &Message) -> Result<Option<TaskRow>, Undone> {
        // Also what is only referred to: the answer for somebody else's task is the one for a task
        // that there is not.
        for task_id in &message.reference_task_ids {
            self.found(owner, task_id)?;
        }
        let Some(task_id) = &message.task_id else { return Ok(None) };
        let row = self.found(owner, task_id)?;
        if message.context_id.as_ref().is_some_and(|context| *context != row.context_id) {
            let description = "must be the task's context, or absent";
            return Err(invalid_param("message.contextId", description).into());
        }
        // Looked at again when the message is stored, since the task may end in between.
        if row.state.terminal() {
            return Err(ended("the task has ended and takes no further message").into());
        }
        Ok(Some(row))
    }

    /// The owner's task.
    fn found(&self, owner: &Owner, task_id: &str) -> Result<TaskRow, Undone> {
        Ok(self.log.task(owner, task_id)?.ok_or_else(|| not_found(task_id))?)
    }

    /// Logs a message, under a new task unless it continues one, and starts the work. With a
    /// webhook whoever it belongs to is told of the task from here on.
    ///
    /// # Errors
    /// That the task has ended, or when the log fails; nothing was begun then.
    pub async fn begin(
        self: &Arc<Self>,
        owner: &Owner,
        continues: Option<TaskRow>,
        message: &Message,
        webhook: Option<Webhook>,
        work: Work,
    ) -> Result<Begun, Undone> {
        let (now, owner) = (self.clock.now(), owner.clone());
        let is_new = continues.is_none();
        let row = continues.unwrap_or_else(|| TaskRow {
            task_id: uuid::Uuid::now_v7().to_string(),
            context_id: message
                .context_id
                .clone()
                .unwrap_or_else(|| uuid::Uuid::now_v7().to_string()),
            state: TaskState::Submitted,
            status_at: now,
            last_seq: 0,
        });
        let said = Message {
            task_id: Some(row.task_id.clone()),
            context_id: Some(row.context_id.clone()),
            role: Role::User,
            ..message.clone()
        };
        let said =
            tradepost_wire::json::to_string(&said).map_err(Fault::on("writing a message"))?;
        // A task that waited for this message waits no longer.
        let state = if is_new { TaskState::Submitted } else { TaskState::Working };
        let moved = fold::status_event(&row, state, None, now)?;
        let job_row = row.clone();
        let tasks = Arc::clone(self);
        // A caller that goes away while its message is being stored drops this future, but a task
        // that is on disk has to be worked on.
        let begun = tokio::spawn(async move {
            let logged = tasks.append(&row.task_id, move |tx| {
                if is_new {
                    tx.create_task(&owner, &job_row)?;
                }
                // The message last: its number is where the caller's stream begins, which has the
                // state by then.
                tx.append(&job_row.task_id, EntryKind::Status, &moved, Some((state, now)))?;
                let seq = tx.append(&job_row.task_id, EntryKind::Message, &said, None)?;
                if let Some(webhook) = webhook.as_ref().filter(|_| seq.is_some()) {
                    webhook.keep(tx, &owner, &job_row.task_id, now)?;
                }
                Ok(seq)
            });
            let ended = || ended("the task has ended and takes no further message");
            let seq = logged.await?.ok_or_else(ended)?;
            let task_id = row.task_id.clone();
            let shared = |live: &Live| (Arc::clone(&live.turn), Arc::clone(&live.stop));
            let (turn, stop) = tasks.follow(&task_id, seq, shared);
            let progress = Progress::new(Arc::clone(&tasks), row, stop);
            tokio::spawn(async move { tasks.work(turn, progress, work).await });
            Ok(Begun { task_id, seq })
        });
        begun.await.map_err(Fault::on("beginning a task"))?
    }

    /// Works on a task when it is its turn. Whatever goes wrong ends the task; nothing of the cause
    /// reaches the caller.
    async fn work(&self, turn: Arc<tokio::sync::Mutex<()>>, progress: Progress, work: Work) {
        let guard = turn.lock().await;
        let copy = progress.clone();
        let worked = AssertUnwindSafe(async { work(copy).await }).catch_unwind();
        let worked = tokio::select! {
            biased;
            () = progress.stopped() => Ok(()),
            worked = worked => worked
                .unwrap_or_else(|_| Err(Fault::new("working on a task", "the work panicked"))),
        };
        // Whether the task has ended is known when all that was reported is on disk.
        let flushed = progress.flush().await;
        let cause = match worked.and(flushed) {
            Ok(()) if progress.may_be_left() => None,
            Ok(()) => Some(Fault::new("working on a task", "it was left")),
            Err(fault) => Some(fault),
        };
        if let Some(cause) = cause {
            self.fail(&progress, &cause).await;
        }
        // `release` counts who holds the turn: what this one still held would keep the task in
        // memory.
        drop(guard);
        drop(turn);
        self.release(progress.task_id());
    }

    /// Ends a task as failed. The log has the cause, under the id that the caller reads.
    async fn fail(&self, progress: &Progress, fault: &Fault) {
        let error_id = format!("err_{}", uuid::Uuid::now_v7().simple());
        let agent = &self.agent_id;
        let task = progress.task_id();
        tracing::error!(%agent, %task, %error_id, cause = %fault.chain(), "a task failed");
        let text = format!("The agent failed to work on this task. Error id: {error_id}");
        // What broke is the log, perhaps, and a task that never ends keeps its followers
        // waiting.
        for pause in END_PAUSES {
            let Err(fault) = progress.end_as_failed(&text).await else { return };
            tracing::error!(cause = %fault.chain(), "a failed task could not be ended");
            tokio::time::sleep(pause).await;
        }
    }

    /// Writes to a task's log and wakes whoever follows it, also when the caller has gone.
    async fn append(
        self: &Arc<Self>,
        task_id: &str,
        job: impl FnMut(&dyn LogWriter) -> Result<Option<i64>, Fault> + Send + 'static,
    ) -> Result<Option<i64>, Fault> {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let (tasks, task_id) = (Arc::clone(self), task_id.to_owned());
        log::submit(&*self.log, job, move |appended| {
            if let Ok(Some(seq)) = appended {
                tasks.committed(&task_id, seq);
            }
            let _ = sender.send(appended);
        })?;
        receiver.await.map_err(Fault::on("waiting for the writer"))?
    }

    /// Reads what may be long, where nobody else has to wait for it.
    async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        job: impl FnOnce(&Arc<Self>) -> Result<T, Undone> + Send + 'static,
    ) -> Result<T, Undone> {
        let tasks = Arc::clone(self);
        let read = tokio::task::spawn_blocking(move || job(&tasks));
        read.await.map_err(Fault::on("reading tasks"))?
    }

    /// The task as it is, with as much of its history as asked for (A2A §3.2.4).
    ///
    /// # Errors
    /// That there is none such, or when the log fails.
    pub async fn get(
        self: &Arc<Self>,
        owner: &Owner,
        task_id: &str,
        history: Option<u32>,
    ) -> Result<Task, Undone> {
        let (owner, task_id) = (owner.clone(), task_id.to_owned());
        self.read(move |tasks| {
            let row = tasks.found(&owner, &task_id)?;
            Ok(fold::task(&*tasks.log, &row, row.last_seq, history, true)?)
        })
        .await
    }

    /// A page of the caller's tasks.
    ///
    /// # Errors
    /// That the page is none of the list, or when the log fails.
    pub async fn list(
        self: &Arc<Self>,
        owner: &Owner,
        query: ListTasks,
    ) -> Result<TaskPage, Undone> {
        let owner = owner.clone();
        self.read(move |tasks| tasks.page(&owner, &query)).await
    }

    fn page(&self, owner: &Owner, query: &ListTasks) -> Result<TaskPage, Undone> {
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
            match fold::read(&*self.log, row, row.last_seq, history, query.include_artifacts) {
                Ok(task) => tasks.push(task),
                // One of them must not hide the others. Whoever asks for it alone hears that it is broken.
                Err(Unfolded::Unreadable(fault)) => {
                    let cause = fault.chain();
                    let task = &row.task_id;
                    tracing::error!(agent = %self.agent_id, %task, cause, "an unreadable task is not listed");
                }
                Err(Unfolded::Broken(fault)) => return Err(fault.into()),
            }
        }
        Ok(TaskPage { tasks, next_page_token, page_size, total_size })
    }

    /// Ends a task because its owner wants so. Repeating it changes nothing (§1.5 row 13).
    ///
    /// # Errors
    /// That there is none such or it has ended in another way, or when the log fails.
    pub async fn cancel(self: &Arc<Self>, owner: &Owner, task_id: &str) -> Result<Task, Undone> {
        let row = self.found(owner, task_id)?;
        let now = self.clock.now();
        let event = fold::status_event(&row, TaskState::Canceled, None, now)?;
        let id = row.task_id.clone();
        let canceled = Some((TaskState::Canceled, now));
        let job = move |tx: &dyn LogWriter| tx.append(&id, EntryKind::Status, &event, canceled);
        // When the task has ended nothing is appended, and how it ended is read below.
        self.append(task_id, job).await?;
        self.stop(task_id);
        let task = self.get(owner, task_id, None).await?;
        if task.status.state == TaskState::Canceled {
            return Ok(task);
        }
        let message = "the task has ended and cannot be canceled";
        let refusal = Refusal::new(Code::TaskNotCancelable, message);
        Err(refusal.with("taskId", clip(task_id)).into())
    }

    /// Stops the work on a task that has ended.
    fn stop(&self, task_id: &str) {
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(live) = live.get(task_id) {
            live.stop.send_replace(true);
        }
    }

    /// Follows a task from now on, or with `after` from what the caller has seen last.
    ///
    /// # Errors
    /// That there is none such or it has ended, or when the log fails.
    pub async fn subscribe(
        self: &Arc<Self>,
        owner: &Owner,
        task_id: &str,
        after: Option<i64>,
    ) -> Result<TaskStream, Undone> {
        let (owner, task_id) = (owner.clone(), task_id.to_owned());
        self.read(move |tasks| {
            // Before it is watched: a watch makes an entry for whatever id is named.
            tasks.found(&owner, &task_id)?;
            let (row, watch) = tasks.watch(&owner, &task_id)?;
            let missed = after.is_some_and(|after| after < row.last_seq);
            if row.state.terminal() && !missed {
                return Err(ended("the task has ended; read it with GetTask").into());
            }
            // The first entry says where the task began; before it there is no task to tell of.
            let from = after.map_or(row.last_seq, |after| after.clamp(1, row.last_seq));
            let task = fold::task(&*tasks.log, &row, from, None, true)?;
            Ok(TaskStream::new(watch, task, from, Until::End))
        })
        .await
    }

    /// What a webhook is told first, as a stream begins: the task as it was when it was added.
    ///
    /// # Errors
    /// When the log fails.
    pub fn first_event_of(&self, place: &PushPlace, agent_id: &str) -> Result<String, Fault> {
        let owner = Owner { agent_id: agent_id.to_owned(), principal: place.owner.clone() };
        let row = self.log.task(&owner, &place.task_id)?;
        let row = row.ok_or_else(|| Fault::new("reading a webhook's task", "it is gone"))?;
        let task = fold::task(&*self.log, &row, place.from_seq, None, true)?;
        tradepost_wire::json::to_string(&Event::Task(task)).map_err(Fault::on("writing a task"))
    }

    /// Follows a task that was begun just now.
    ///
    /// # Errors
    /// When the log fails.
    pub async fn stream_begun(
        self: &Arc<Self>,
        owner: &Owner,
        begun: &Begun,
        history: Option<u32>,
    ) -> Result<TaskStream, Undone> {
        let (owner, task_id, seq) = (owner.clone(), begun.task_id.clone(), begun.seq);
        self.read(move |tasks| {
            let (row, watch) = tasks.watch(&owner, &task_id)?;
            let task = fold::task(&*tasks.log, &row, seq, history, true)?;
            Ok(TaskStream::new(watch, task, seq, Until::Pause))
        })
        .await
    }

    /// Watches a task, and reads it after that: what is committed in between wakes the watch.
    fn watch(self: &Arc<Self>, owner: &Owner, task_id: &str) -> Result<(TaskRow, Watch), Fault> {
        let committed = self.follow(task_id, 0, |live| live.committed.subscribe());
        let watch = Watch { tasks: Arc::clone(self), task_id: task_id.to_owned(), committed };
        let row = self.log.task(owner, task_id)?;
        let row = row.ok_or_else(|| Fault::new("following a task", "it is gone"))?;
        self.committed(task_id, row.last_seq);
        Ok((row, watch))
    }

    /// Waits until a task pauses or ends (A2A §3.2.2).
    ///
    /// # Errors
    /// When the log fails.
    pub async fn settled(
        self: &Arc<Self>,
        owner: &Owner,
        begun: &Begun,
        history: Option<u32>,
    ) -> Result<Task, Undone> {
        // Only the end is of interest here; the history is read with the task.
        let mut stream = self.stream_begun(owner, begun, Some(0)).await?.until_the_end();
        while stream.next().await?.is_some() {}
        self.get(owner, &begun.task_id, history).await
    }

    /// Notes what is on disk, and wakes whoever follows.
    fn committed(&self, task_id: &str, seq: i64) {
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(live) = live.get(task_id) {
            live.committed.send_if_modified(|last| raise(last, seq));
        }
        drop(live);
        self.stir();
    }

    fn follow<T>(&self, task_id: &str, seq: i64, read: impl FnOnce(&Live) -> T) -> T {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = live.entry(task_id.to_owned()).or_insert_with(|| Live {
            committed: watch::Sender::new(seq),
            turn: Arc::default(),
            stop: Arc::new(watch::Sender::new(false)),
        });
        // Whoever comes second may know of more than the first.
        entry.committed.send_if_modified(|last| raise(last, seq));
        read(entry)
    }

    /// Forgets a task that nobody works on or follows any more.
    fn release(&self, task_id: &str) {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = |live: &Live| {
            live.committed.receiver_count() == 0 && Arc::strong_count(&live.turn) == 1
        };
        if live.get(task_id).is_some_and(idle) {
            live.remove(task_id);
        }
    }
}

fn raise(last: &mut i64, seq: i64) -> bool {
    let newer = seq > *last;
    *last = (*last).max(seq);
    newer
}

/// The one answer for a task that is not there and for one that is not the caller's.
// E-12, E-13
fn not_found(task_id: &str) -> Refusal {
    let message = "the task does not exist, or is not yours";
    Refusal::new(Code::TaskNotFound, message).with("taskId", clip(task_id))
}

fn ended(message: &str) -> Refusal {
    Refusal::new(Code::UnsupportedOperation, message)
}
