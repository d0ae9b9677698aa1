//! Streams of a task: first the task as it was, then every later entry in order.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::DropGuard;
use tradepost_a2a::{Event, StatusUpdate, Task, TaskState};

use super::Tasks;
use super::log::{EntryKind, LogEntry};
use crate::fault::InternalError;

/// Number of entries read at once, which bounds the memory of a slow reader.
const BATCH: usize = 100;

/// Condition for closing a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEnd {
    /// The task pauses or ends: for the stream of a sent message.
    Pause,
    /// The task ends: for a subscription.
    End,
}

/// An item of a stream: an event as JSON, and the number after which to resume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamItem {
    /// Number of the entry; for the initial task the last entry that it includes.
    pub seq: i64,
    /// The `StreamResponse`.
    pub json: String,
}

/// A stream of a task's events. Dropping it ends it.
#[derive(Debug)]
pub struct TaskStream {
    watch: LogWatch,
    first: Option<Task>,
    seen: i64,
    until: StreamEnd,
    read: VecDeque<LogEntry>,
    closed: bool,
    /// Signals that the process stops; `None` for a stream that is followed to the end.
    closing: Option<watch::Receiver<bool>>,
    /// Cancels the agent's work when the stream is dropped early.
    caller: Option<DropGuard>,
}

impl TaskStream {
    pub(super) fn new(watch: LogWatch, task: Task, seen: i64, until: StreamEnd) -> Self {
        let closing = Some(watch.tasks.closing.subscribe());
        let read = VecDeque::new();
        let caller = None;
        Self { watch, first: Some(task), seen, until, read, closed: false, closing, caller }
    }

    /// Returns a stream that does not end when the process stops.
    pub(super) fn unbounded(self) -> Self {
        Self { closing: None, ..self }
    }

    /// Cancels the agent's work by this guard when the stream is dropped before its end.
    pub(crate) fn cancel_on_drop(&mut self, caller: DropGuard) {
        self.caller = Some(caller);
    }

    /// Waits for the next item. Returns `None` at the end: when the task pauses or ends, or when
    /// the process stops (see [`Tasks::close_streams`]).
    ///
    /// # Errors
    /// When the log fails.
    pub async fn next(&mut self) -> Result<Option<StreamItem>, InternalError> {
        let next = self.advance().await;
        // The stream was read to its end: do not cancel.
        if self.closed || !matches!(next, Ok(Some(_))) {
            self.caller.take().map(DropGuard::disarm);
        }
        next
    }

    /// Returns the next item of the stream, waiting for it; `None` at the end.
    async fn advance(&mut self) -> Result<Option<StreamItem>, InternalError> {
        if let Some(task) = self.first.take() {
            // With more entries, those decide whether the stream is over.
            self.closed = self.is_over(task.status.state) && !self.lags();
            let json = tradepost_document::json::to_string(&Event::Task(task))
                .map_err(InternalError::on("writing a task"))?;
            return Ok(Some(StreamItem { seq: self.seen, json }));
        }
        while !self.closed && !self.closing.as_ref().is_some_and(|closing| *closing.borrow()) {
            if let Some(entry) = self.read.pop_front() {
                self.seen = entry.seq;
                if let Some(item) = self.item(entry)? {
                    return Ok(Some(item));
                }
                continue;
            }
            let watch = &mut self.watch;
            // Marked as seen before the log is read, so that a later commit ends the wait below.
            let until = *watch.committed.borrow_and_update();
            if until > self.seen {
                let after = self.seen;
                let read =
                    watch.tasks.log.task_entries(&watch.task_id, after, until, true, BATCH)?;
                self.read = read.into();
            }
            if self.read.is_empty() {
                let stopped = async {
                    match &mut self.closing {
                        Some(closing) => {
                            let _ = closing.wait_for(|closing| *closing).await;
                        }
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    changed = watch.committed.changed() => {
                        // The sender exists as long as the task has followers; without it there are
                        // no more entries.
                        self.closed = changed.is_err();
                    }
                    () = stopped => {}
                }
            }
        }
        Ok(None)
    }

    /// Returns true when no more items will come.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Returns true when a stream has ended because the process stops, with more to come.
    #[must_use]
    pub fn was_interrupted(&self) -> bool {
        !self.is_closed()
    }

    fn lags(&self) -> bool {
        *self.watch.committed.borrow() > self.seen
    }

    /// Converts an entry of the log into an item; messages of the caller have none.
    fn item(&mut self, entry: LogEntry) -> Result<Option<StreamItem>, InternalError> {
        let item = StreamItem { seq: entry.seq, json: entry.body };
        match entry.kind {
            EntryKind::Message => Ok(None),
            EntryKind::Artifact => Ok(Some(item)),
            EntryKind::Status => {
                let event = tradepost_document::json::from_str(&item.json)
                    .map_err(InternalError::on("reading an event"))?;
                if let Event::StatusUpdate(StatusUpdate { status, .. }) = event {
                    // A pause that is already over is skipped; an end always closes the stream.
                    self.closed =
                        self.is_over(status.state) && (status.state.terminal() || !self.has_more());
                }
                Ok(Some(item))
            }
        }
    }

    /// Returns true when there are entries that have not been returned.
    fn has_more(&self) -> bool {
        !self.read.is_empty() || self.lags()
    }

    fn is_over(&self, state: TaskState) -> bool {
        state.terminal() || (self.until == StreamEnd::Pause && state.interrupted())
    }
}

/// Watch on a task's log. It keeps the task live.
#[derive(Debug)]
pub(super) struct LogWatch {
    pub(super) tasks: Arc<Tasks>,
    pub(super) task_id: String,
    pub(super) committed: watch::Receiver<i64>,
}

impl Drop for LogWatch {
    fn drop(&mut self) {
        // Replaced before `release`, because the receiver still counts.
        let (_, disconnected) = watch::channel(0);
        self.committed = disconnected;
        self.tasks.release(&self.task_id);
    }
}
