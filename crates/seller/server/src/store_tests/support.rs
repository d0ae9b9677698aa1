//! What the checks share: names, moments, and transactions that are waited for.

use std::fmt::Debug;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use jiff::Timestamp;
use tradepost_a2a::TaskState;

use super::WrongStore;
use crate::fault::InternalError;
use crate::tasks::log::{
    EntryKind, LogEntry, LogWriter, PushTarget, TaskFilter, TaskLog, TaskOwner, TaskRow, submit,
};

/// Result of a check.
pub(super) type Checked = Result<(), WrongStore>;

/// Longest time for a transaction.
const TRANSACTION_TIMEOUT: Duration = Duration::from_secs(60);

/// Returns an owner of tasks.
pub(super) fn owner(agent: &str, caller: &str) -> TaskOwner {
    TaskOwner { agent_id: agent.to_owned(), principal: caller.to_owned() }
}

/// Returns the owner of most tasks.
pub(super) fn ada() -> TaskOwner {
    owner("agent", "ada")
}

/// Returns a moment, so many milliseconds after one.
pub(super) fn moment(milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(1_700_000_000_000 + milliseconds).unwrap_or_default()
}

/// Returns a task that was submitted.
pub(super) fn row(task_id: &str, at: i64) -> TaskRow {
    TaskRow {
        task_id: task_id.to_owned(),
        context_id: "context".to_owned(),
        state: TaskState::Submitted,
        status_at: moment(at),
        last_seq: 0,
    }
}

/// Returns a webhook.
pub(super) fn target(config_id: &str, host: &str) -> PushTarget {
    PushTarget {
        config_id: config_id.to_owned(),
        url: format!("https://{host}/notify"),
        host: host.to_owned(),
        token: Some("token".to_owned()),
        scheme: Some("Bearer".to_owned()),
        credentials: None,
    }
}

/// Compares a result of a store with the expected one.
pub(super) fn same<T: PartialEq + Debug>(what: &str, found: T, expected: T) -> Checked {
    if found == expected {
        return Ok(());
    }
    Err(WrongStore(format!("{what}: found {found:?}, expected {expected:?}")))
}

/// Runs a transaction and waits until it has ended.
pub(super) fn write<T: Send + 'static>(
    log: &dyn TaskLog,
    job: impl FnMut(&dyn LogWriter) -> Result<T, InternalError> + Send + 'static,
) -> Result<T, WrongStore> {
    Ok(outcome(log, job)??)
}

/// Runs a transaction that may fail.
pub(super) fn outcome<T: Send + 'static>(
    log: &dyn TaskLog,
    job: impl FnMut(&dyn LogWriter) -> Result<T, InternalError> + Send + 'static,
) -> Result<Result<T, InternalError>, WrongStore> {
    let (sender, receiver) = sync_channel(1);
    submit(log, job, move |ended| {
        let _ = sender.send(ended);
    })?;
    let silent = |_| WrongStore("a transaction has not ended".to_owned());
    receiver.recv_timeout(TRANSACTION_TIMEOUT).map_err(silent)
}

/// Stores a task of an owner with one entry, its state.
pub(super) fn begin(log: &dyn TaskLog, owner: &TaskOwner, row: &TaskRow) -> Checked {
    let owner = owner.clone();
    let row = row.clone();
    let is_new = write(log, move |tx| {
        let is_new = tx.create_task(&owner, &row)?;
        tx.append(&row.task_id, EntryKind::Status, "{}", Some((row.state, row.status_at)))?;
        Ok(is_new)
    })?;
    same("a task with a new id is stored", is_new, true)
}

/// Appends an entry.
pub(super) fn append(
    log: &dyn TaskLog,
    task_id: &str,
    kind: EntryKind,
    body: &str,
    status: Option<(TaskState, Timestamp)>,
) -> Result<Option<i64>, WrongStore> {
    let task_id = task_id.to_owned();
    let body = body.to_owned();
    write(log, move |tx| tx.append(&task_id, kind, &body, status))
}

/// Returns the whole log of a task.
pub(super) fn entries(log: &dyn TaskLog, task_id: &str) -> Result<Vec<LogEntry>, WrongStore> {
    Ok(log.task_entries(task_id, 0, i64::MAX, true, 10_000)?)
}

/// Returns the ids of an owner's tasks as they are listed.
pub(super) fn listed(log: &dyn TaskLog, owner: &TaskOwner) -> Result<Vec<String>, WrongStore> {
    let (rows, _) = log.tasks(owner, &TaskFilter::default(), None, 1_000)?;
    Ok(rows.into_iter().map(|row| row.task_id).collect())
}
