//! Replay of a task's log: combines entries to the task as it was at any moment.

use jiff::Timestamp;
use tradepost_a2a::{
    Artifact, ArtifactUpdate, Event, Message, Part, Role, StatusUpdate, Task, TaskState, TaskStatus,
};

use super::log::{EntryKind, LogEntry, TaskLog, TaskRow};
use crate::fault::InternalError;

/// Number of entries read at once.
const BATCH: usize = 500;

/// Reason why a task cannot be read.
pub(super) enum ReplayError {
    /// An entry of its log is unreadable: the store works, and so do other tasks.
    Unreadable(InternalError),
    /// The store fails.
    Broken(InternalError),
}

impl ReplayError {
    // Not a `From` of `InternalError`, because a second one would make `?` ambiguous in closures that
    // return faults.
    fn into_fault(self) -> InternalError {
        match self {
            Self::Unreadable(fault) | Self::Broken(fault) => fault,
        }
    }
}

/// Returns the task as it was after entry `until`.
pub(super) fn task(
    log: &dyn TaskLog,
    row: &TaskRow,
    until: i64,
    history: Option<u32>,
    with_artifacts: bool,
) -> Result<Task, InternalError> {
    read(log, row, until, history, with_artifacts).map_err(ReplayError::into_fault)
}

/// Returns the task as it was after entry `until`, and distinguishes an unreadable entry from a
/// failing store.
pub(super) fn read(
    log: &dyn TaskLog,
    row: &TaskRow,
    until: i64,
    history: Option<u32>,
    with_artifacts: bool,
) -> Result<Task, ReplayError> {
    let mut folded = ReplayedTask::new(row);
    let mut after = 0;
    loop {
        let entries = log.task_entries(&row.task_id, after, until, with_artifacts, BATCH);
        let entries = entries.map_err(ReplayError::Broken)?;
        for entry in &entries {
            after = entry.seq;
            folded.add(entry).map_err(ReplayError::Unreadable)?;
        }
        if entries.len() < BATCH {
            break;
        }
    }
    let ReplayedTask { status, artifacts, history: mut messages } = folded;
    if let Some(most) = history {
        // The latest messages (A2A 1.0 §3.2.4, O-05); an empty history is left out.
        messages.drain(..messages.len().saturating_sub(most as usize));
    }
    Ok(Task {
        id: row.task_id.clone(),
        context_id: row.context_id.clone(),
        status,
        artifacts: with_artifacts.then_some(artifacts),
        history: Some(messages).filter(|messages| !messages.is_empty()),
        metadata: None,
    })
}

struct ReplayedTask {
    status: TaskStatus,
    artifacts: Vec<Artifact>,
    history: Vec<Message>,
}

impl ReplayedTask {
    fn new(row: &TaskRow) -> Self {
        let status = TaskStatus { state: row.state, message: None, timestamp: row.status_at };
        Self { status, artifacts: Vec::new(), history: Vec::new() }
    }

    /// Applies an entry of the log.
    fn add(&mut self, entry: &LogEntry) -> Result<(), InternalError> {
        let on = InternalError::on::<tradepost_document::json::Error>;
        match entry.kind {
            EntryKind::Message => {
                let message = tradepost_document::json::from_str(&entry.body)
                    .map_err(on("reading a message"))?;
                self.history.push(message);
            }
            EntryKind::Status | EntryKind::Artifact => {
                let event = tradepost_document::json::from_str(&entry.body)
                    .map_err(on("reading an event"))?;
                match event {
                    Event::StatusUpdate(update) => {
                        // The previous message of the agent becomes history (A2A 1.0 §4.1.1).
                        let before = std::mem::replace(&mut self.status, update.status);
                        self.history.extend(before.message);
                    }
                    Event::ArtifactUpdate(update) => self.add_artifact(update),
                    // These are never written to a log.
                    Event::Task(_) | Event::Message(_) => {}
                }
            }
        }
        Ok(())
    }

    fn add_artifact(&mut self, update: ArtifactUpdate) {
        let id = &update.artifact.artifact_id;
        match self.artifacts.iter_mut().find(|known| known.artifact_id == *id) {
            Some(known) if update.append => known.parts.extend(update.artifact.parts),
            Some(known) => *known = update.artifact,
            None => self.artifacts.push(update.artifact),
        }
    }
}

/// Writes the entry that ends a task as failed.
pub(super) fn failure(row: &TaskRow, text: &str, now: Timestamp) -> Result<String, InternalError> {
    status_event(row, TaskState::Failed, Some(agent_message(row, vec![Part::text(text)])), now)
}

/// Creates a message of the agent about a task.
pub(super) fn agent_message(row: &TaskRow, parts: Vec<Part>) -> Message {
    let context_id = row.context_id.clone();
    let task_id = Some(row.task_id.clone());
    by_agent(context_id, task_id, parts)
}

/// Creates a message of the agent.
pub(super) fn by_agent(context_id: String, task_id: Option<String>, parts: Vec<Part>) -> Message {
    Message {
        message_id: uuid::Uuid::now_v7().to_string(),
        context_id: Some(context_id),
        task_id,
        role: Role::Agent,
        parts,
        metadata: None,
        extensions: Vec::new(),
        reference_task_ids: Vec::new(),
    }
}

/// Writes a status entry, as it is streamed.
pub(super) fn status_event(
    row: &TaskRow,
    state: TaskState,
    message: Option<Message>,
    timestamp: Timestamp,
) -> Result<String, InternalError> {
    let event = Event::StatusUpdate(StatusUpdate {
        task_id: row.task_id.clone(),
        context_id: row.context_id.clone(),
        status: TaskStatus { state, message, timestamp },
    });
    tradepost_document::json::to_string(&event).map_err(InternalError::on("writing an event"))
}
