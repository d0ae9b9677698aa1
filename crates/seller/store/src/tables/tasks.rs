//! Tasks as append-only event logs. Every row belongs to a task with an agent and an owner, and every query that a
//! caller can cause names both.

use jiff::Timestamp;
use tradepost_a2a::TaskState;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_server::tasks::log::{
    EntryKind, LogEntry, TaskFilter, TaskOwner, TaskRow, TaskWriter,
};

use super::processes::is_left;
use super::{Database, StoreTransaction};
use crate::change_notice::ChangeNotice;
use crate::sql::{Connection, RowResult, SqlRow, params};

/// The tables, as a migration.
pub(crate) const SCHEMA: &str = "
    CREATE TABLE tasks (
        task_id     TEXT PRIMARY KEY,
        agent_id    TEXT NOT NULL,
        owner       TEXT NOT NULL,
        context_id  TEXT NOT NULL,
        state       TEXT NOT NULL,
        status_at   INTEGER NOT NULL,
        last_seq    INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX tasks_by_age ON tasks (agent_id, owner, status_at DESC, task_id DESC);
    CREATE TABLE task_events (
        task_id     TEXT NOT NULL REFERENCES tasks (task_id),
        seq         INTEGER NOT NULL,
        kind        INTEGER NOT NULL,   -- 0 message, 1 status, 2 artifact
        body        TEXT NOT NULL,      -- a message, or an event as it is streamed
        PRIMARY KEY (task_id, seq)
    ) WITHOUT ROWID;
    CREATE TABLE secrets (
        name        TEXT PRIMARY KEY,
        value       BLOB NOT NULL
    ) WITHOUT ROWID;
";

const fn number(kind: EntryKind) -> i64 {
    match kind {
        EntryKind::Message => 0,
        EntryKind::Status => 1,
        EntryKind::Artifact => 2,
    }
}

impl TaskWriter for StoreTransaction<'_> {
    fn create_task(&self, owner: &TaskOwner, task: &TaskRow) -> Result<bool, InternalError> {
        self.0.changes(
            "writing a task",
            "INSERT INTO tasks
                 (task_id, agent_id, owner, context_id, state, status_at, last_seq, worker)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (task_id) DO NOTHING",
            params![
                task.task_id,
                owner.agent_id,
                owner.principal,
                task.context_id,
                task.state.name(),
                task.status_at,
                task.last_seq,
                self.0.process(),
            ],
        )
    }

    fn append(
        &self,
        task_id: &str,
        kind: EntryKind,
        body: &str,
        status: Option<(TaskState, Timestamp)>,
    ) -> Result<Option<i64>, InternalError> {
        let (seq, state) = self.0.one(
            "reading a task's state",
            &format!(
                "SELECT last_seq + 1 AS seq, state FROM tasks WHERE task_id = $1{}",
                self.0.for_update()
            ),
            params![task_id],
            |row| Ok((row.get::<i64>("seq")?, row.get::<String>("state")?)),
        )?;
        // A state that this version does not know is left unchanged.
        if TaskState::from_name(&state).is_none_or(TaskState::terminal) {
            return Ok(None);
        }
        self.0.execute(
            "writing a task's event",
            "INSERT INTO task_events (task_id, seq, kind, body) VALUES ($1, $2, $3, $4)",
            params![task_id, seq, number(kind), body],
        )?;
        let ended = status.is_some_and(|(state, _)| state.terminal());
        let status_at = status.map(|(_, at)| at);
        let state = status.map(|(state, _)| state.name());
        self.0.execute(
            "moving a task",
            "UPDATE tasks SET last_seq = $2, state = coalesce($3, state),
             status_at = coalesce($4, status_at), worker = $5 WHERE task_id = $1",
            params![task_id, seq, state, status_at, self.0.process()],
        )?;
        // In the same transaction, so that a crash in between leaves no webhook unsent.
        self.schedule_push_configs(task_id)?;
        self.0.notify(ChangeNotice::Appended { task_id: task_id.to_owned(), seq, ended });
        Ok(Some(seq))
    }

    fn messages(&self, task_id: &str) -> Result<Vec<String>, InternalError> {
        // Locked first, so that the next statement sees what others have appended before.
        let lock = format!("SELECT task_id FROM tasks WHERE task_id = $1{}", self.0.for_update());
        self.0.first("locking a task", &lock, params![task_id], |row| row.only::<String>())?;
        let query = "SELECT body FROM task_events WHERE task_id = $1 AND kind = 0 ORDER BY seq";
        self.0.all("reading a task's messages", query, params![task_id], |row| row.only())
    }

    fn unfinished_tasks(&self, agent_id: &str) -> Result<Vec<TaskRow>, InternalError> {
        unfinished(self.0, agent_id, self.0.for_update())
    }
}

impl StoreTransaction<'_> {
    /// Returns the owner's task.
    ///
    /// # Errors
    /// When the database fails.
    pub fn task(&self, owner: &TaskOwner, task_id: &str) -> Result<Option<TaskRow>, InternalError> {
        task_row(self.0, owner, task_id, "")
    }

    /// Returns the owner's task, locked until the transaction ends.
    pub(super) fn own_task(
        &self,
        owner: &TaskOwner,
        task_id: &str,
    ) -> Result<Option<TaskRow>, InternalError> {
        task_row(self.0, owner, task_id, self.0.for_update())
    }

    /// Returns a secret of this store by name; stores `fresh` when there is none.
    ///
    /// # Errors
    /// When the database fails.
    pub fn secret(&self, name: &str, fresh: &[u8]) -> Result<Vec<u8>, InternalError> {
        // Of two processes that start at once, both use the secret of the first.
        self.0.execute(
            "keeping a secret",
            "INSERT INTO secrets (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING",
            params![name, fresh],
        )?;
        let query = "SELECT value FROM secrets WHERE name = $1";
        self.0.one("reading a secret", query, params![name], |row| row.only())
    }
}

impl Database {
    /// Returns the owner's task.
    pub(crate) fn task(
        &self,
        owner: &TaskOwner,
        task_id: &str,
    ) -> Result<Option<TaskRow>, InternalError> {
        task_row(&self.0, owner, task_id, "")
    }

    /// Returns the number of a task's last entry, 0 when there is none, and true when the task has ended.
    pub(crate) fn standing(&self, task_id: &str) -> Result<(i64, bool), InternalError> {
        let query = "SELECT last_seq, state FROM tasks WHERE task_id = $1";
        let found = self.0.first("reading a task", query, params![task_id], |row| {
            let state = TaskState::from_name(&row.get::<String>("state")?);
            Ok((row.get("last_seq")?, state.is_some_and(TaskState::terminal)))
        });
        Ok(found?.unwrap_or_default())
    }

    /// Returns up to `limit` entries of a task after one and up to another; artifacts only `with_artifacts`.
    pub(crate) fn task_entries(
        &self,
        task_id: &str,
        after: i64,
        until: i64,
        with_artifacts: bool,
        limit: usize,
    ) -> Result<Vec<LogEntry>, InternalError> {
        self.0.all(
            "reading a task's events",
            "SELECT seq, kind, body FROM task_events
             WHERE task_id = $1 AND seq > $2 AND seq <= $3 AND ($5 OR kind <> 2)
             ORDER BY seq LIMIT $4",
            params![task_id, after, until, limit, with_artifacts],
            |row| {
                let kind = match row.get::<i64>("kind")? {
                    0 => EntryKind::Message,
                    1 => EntryKind::Status,
                    _ => EntryKind::Artifact,
                };
                Ok(LogEntry { seq: row.get("seq")?, kind, body: row.get("body")? })
            },
        )
    }

    /// Returns the owner's tasks, newest state first, after the one with this time and id, and the total number.
    pub(crate) fn tasks(
        &self,
        owner: &TaskOwner,
        filter: &TaskFilter,
        after: Option<(Timestamp, String)>,
        limit: usize,
    ) -> Result<(Vec<TaskRow>, usize), InternalError> {
        const WHERE: &str = "FROM tasks WHERE agent_id = $1 AND owner = $2
            AND ($3 IS NULL OR context_id = $3) AND ($4 IS NULL OR state = $4)
            AND ($5 IS NULL OR status_at >= $5)";
        let state = filter.state.map(TaskState::name);
        let since = filter.since;
        let total = self.0.one(
            "counting tasks",
            &format!("SELECT count(*) {WHERE}"),
            params![owner.agent_id, owner.principal, filter.context_id, state, since],
            |row| row.only::<i64>(),
        )?;
        let (moment, id) = after.unzip();
        let rows = self.0.all(
            "listing tasks",
            &format!(
                "SELECT task_id, context_id, state, status_at, last_seq {WHERE}
                 AND ($6 IS NULL OR (status_at, task_id) < ($6, $7))
                 ORDER BY status_at DESC, task_id DESC LIMIT $8"
            ),
            params![
                &owner.agent_id,
                &owner.principal,
                &filter.context_id,
                state,
                since,
                moment,
                id,
                limit
            ],
            read_row,
        )?;
        Ok((rows, usize::try_from(total).unwrap_or_default()))
    }

    /// Returns an agent's unfinished tasks that no process works on any more.
    pub(crate) fn unfinished_tasks(&self, agent_id: &str) -> Result<Vec<TaskRow>, InternalError> {
        unfinished(&self.0, agent_id, "")
    }
}

/// Returns an agent's tasks whose work was left behind by an ended process; `and` is appended to the query.
fn unfinished(
    connection: &Connection,
    agent_id: &str,
    and: &str,
) -> Result<Vec<TaskRow>, InternalError> {
    // Interrupted tasks wait for the caller, and can go on waiting.
    let states = TaskState::ALL.iter().filter(|s| !s.terminal() && !s.interrupted());
    let names: Vec<_> = states.map(|s| format!("'{}'", s.name())).collect();
    // In a fixed order, so that two processes that end the same tasks do not deadlock.
    let sql = format!(
        "SELECT task_id, context_id, state, status_at, last_seq FROM tasks
         WHERE agent_id = $1 AND state IN ({}) AND {} ORDER BY task_id{and}",
        names.join(", "),
        is_left(connection)
    );
    connection.all("reading unfinished tasks", &sql, params![agent_id], read_row)
}

/// Returns a task of an owner; `and` is appended to the query.
fn task_row(
    connection: &Connection,
    owner: &TaskOwner,
    task_id: &str,
    and: &str,
) -> Result<Option<TaskRow>, InternalError> {
    let sql = format!(
        "SELECT task_id, context_id, state, status_at, last_seq FROM tasks
         WHERE task_id = $1 AND agent_id = $2 AND owner = $3{and}"
    );
    connection.first(
        "reading a task",
        &sql,
        params![task_id, owner.agent_id, owner.principal],
        read_row,
    )
}

/// Reads a task from a row.
fn read_row(row: &SqlRow<'_>) -> RowResult<TaskRow> {
    let state: String = row.get("state")?;
    Ok(TaskRow {
        task_id: row.get("task_id")?,
        context_id: row.get("context_id")?,
        // A task in an unknown state must not be reported as still running.
        state: TaskState::from_name(&state).unwrap_or(TaskState::Failed),
        status_at: row.get("status_at")?,
        last_seq: row.get("last_seq")?,
    })
}
