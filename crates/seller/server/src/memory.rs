//! Storage of agents in memory, for agents that may lose their data with the process, and for
//! tests. A failed transaction leaves no changes, as in a database.

use std::cell::{RefCell, RefMut};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use jiff::civil::Date;
use tradepost_a2a::TaskState;

use crate::auth::key::{ApiKey, KeyLookup};
use crate::fault::InternalError;
use crate::health::Health;
use crate::signed_text::Secrets;
use crate::tasks::log::{
    BlockedPushes, EntryKind, LogEntry, PushPosition, PushStored, PushTarget, PushWriter,
    TaskFilter, TaskLog, TaskOwner, TaskRow, TaskWriter, TxCallback, TxJob,
};

/// Maximum number of completed tasks; the latest are kept.
const ENDED: usize = 10_000;

/// Storage in memory. Of completed tasks it keeps the latest ten thousand.
#[derive(Debug, Default)]
pub struct MemoryStore {
    /// Held during a transaction and its notifications, so that they happen in the same order.
    transaction_lock: Mutex<()>,
    stored: Mutex<MemoryState>,
}

#[derive(Debug, Default)]
struct MemoryState {
    tasks: BTreeMap<String, StoredTask>,
    /// Webhooks by key.
    places: BTreeMap<i64, StoredPosition>,
    last_key: i64,
    /// Ids of completed tasks, oldest first.
    ended: VecDeque<String>,
    secrets: HashMap<&'static str, Vec<u8>>,
    keys: HashMap<String, ApiKey>,
}

#[derive(Debug)]
struct StoredTask {
    owner: TaskOwner,
    row: TaskRow,
    entries: Vec<LogEntry>,
    /// Keys of the task's webhooks, by webhook id.
    places: BTreeMap<String, i64>,
}

#[derive(Debug, Clone)]
struct StoredPosition {
    agent_id: String,
    place: PushPosition,
}

impl MemoryStore {
    /// Adds an API key.
    pub fn add_key(&self, key: ApiKey) {
        self.lock().keys.insert(key.id.clone(), key);
    }

    /// Revokes an API key. Returns true when it had not been revoked before.
    pub fn revoke_key(&self, id: &str, now: Timestamp) -> bool {
        let mut stored = self.lock();
        let key = stored.keys.get_mut(id);
        key.is_some_and(|key| key.revoked_at.replace(now).is_none())
    }

    /// Returns webhooks of all agents and callers that were given up.
    #[must_use]
    pub fn given_up(&self) -> Vec<PushPosition> {
        let stored = self.lock();
        let keys = stored.places.keys().filter_map(|key| stored.place(*key));
        keys.filter(|place| place.off_at.is_some()).collect()
    }

    /// Restarts webhooks that were given up, from where they stopped. Returns their number.
    pub fn revive(&self, now: Timestamp) -> usize {
        let mut stored = self.lock();
        let off = stored.places.values_mut().map(|position| &mut position.place);
        off.filter(|place| place.off_at.is_some())
            .map(|place| {
                place.failures = 0;
                place.off_at = None;
                place.due_at = Some(in_millis(now));
            })
            .count()
    }

    fn lock(&self) -> MutexGuard<'_, MemoryState> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Secrets for MemoryStore {
    fn secret(&self, name: &'static str, fresh: Vec<u8>) -> Result<Vec<u8>, InternalError> {
        Ok(self.lock().secrets.entry(name).or_insert(fresh).clone())
    }
}

impl KeyLookup for MemoryStore {
    fn find(&self, agent_id: &str, id: &str) -> Result<Option<ApiKey>, InternalError> {
        Ok(self.lock().keys.get(id).filter(|key| key.agent_id == agent_id).cloned())
    }

    fn note_use(&self, id: &str, day: Date) {
        if let Some(key) = self.lock().keys.get_mut(id) {
            key.last_used_on = Some(day);
        }
    }
}

impl Health for MemoryStore {
    fn check(&self) -> BoxFuture<'_, Result<(), &'static str>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn intact(&self) -> Result<(), InternalError> {
        Ok(())
    }
}

impl TaskLog for MemoryStore {
    fn submit(&self, mut job: TxJob, done: TxCallback) -> Result<(), InternalError> {
        let transaction_lock = self.transaction_lock.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = {
            let mut stored = self.lock();
            let transaction = MemoryTx::new(&mut stored);
            let outcome = catch_unwind(AssertUnwindSafe(|| job(&transaction)))
                .unwrap_or_else(|_| Err(InternalError::new("keeping tasks", "a job panicked")));
            transaction.end(outcome.is_ok());
            outcome
        };
        // `stored` is unlocked now, because listeners may read. `transaction_lock` is not, so that notifications
        // keep the order of the transactions.
        done(outcome);
        drop(transaction_lock);
        Ok(())
    }

    fn standing(&self, task_id: &str) -> Result<(i64, bool), InternalError> {
        let standing = |task: &StoredTask| (task.row.last_seq, task.row.state.terminal());
        Ok(self.lock().tasks.get(task_id).map(standing).unwrap_or_default())
    }

    fn task(&self, owner: &TaskOwner, task_id: &str) -> Result<Option<TaskRow>, InternalError> {
        Ok(self.lock().task_of(owner, task_id).map(|task| task.row.clone()))
    }

    fn task_entries(
        &self,
        task_id: &str,
        after: i64,
        until: i64,
        with_artifacts: bool,
        limit: usize,
    ) -> Result<Vec<LogEntry>, InternalError> {
        let stored = self.lock();
        let entries = stored.tasks.get(task_id).map_or(&[][..], |task| &task.entries);
        // Entries are numbered from one without gaps.
        let entries = entries.iter().skip(usize::try_from(after).unwrap_or_default());
        let found = entries
            .take_while(|entry| entry.seq <= until)
            .filter(|entry| with_artifacts || entry.kind != EntryKind::Artifact);
        Ok(found.take(limit).cloned().collect())
    }

    fn tasks(
        &self,
        owner: &TaskOwner,
        filter: &TaskFilter,
        after: Option<(Timestamp, String)>,
        limit: usize,
    ) -> Result<(Vec<TaskRow>, usize), InternalError> {
        let stored = self.lock();
        let fits = |row: &&TaskRow| {
            filter.context_id.as_ref().is_none_or(|context| row.context_id == *context)
                && filter.state.is_none_or(|state| row.state == state)
                && filter.since.is_none_or(|since| row.status_at >= in_millis(since))
        };
        let own = stored.tasks.values().filter(|task| task.owner == *owner).map(|task| &task.row);
        let mut rows: Vec<_> = own.filter(fits).collect();
        let total = rows.len();
        rows.sort_unstable_by(|a, b| place_of(b).cmp(&place_of(a)));
        let is_after = |row: &&TaskRow| {
            after.as_ref().is_none_or(|(at, id)| place_of(row) < (in_millis(*at), id.as_str()))
        };
        Ok((rows.into_iter().filter(is_after).take(limit).cloned().collect(), total))
    }

    fn unfinished_tasks(&self, agent_id: &str) -> Result<Vec<TaskRow>, InternalError> {
        Ok(self.lock().unfinished(agent_id))
    }

    fn push_configs(
        &self,
        owner: &TaskOwner,
        task_id: &str,
        only: Option<&str>,
        after: &str,
        limit: usize,
    ) -> Result<Vec<PushPosition>, InternalError> {
        let stored = self.lock();
        let task = stored.task_of(owner, task_id);
        let places = task.into_iter().flat_map(|task| &task.places);
        let found = places
            .filter(|(id, _)| id.as_str() > after && only.is_none_or(|only| only == id.as_str()));
        Ok(found.take(limit).filter_map(|(_, key)| stored.place(*key)).collect())
    }

    fn push_place(&self, key: i64) -> Result<Option<PushPosition>, InternalError> {
        Ok(self.lock().place(key).filter(|place| place.off_at.is_none()))
    }

    fn push_due(
        &self,
        agent_id: &str,
        now: Timestamp,
        busy: &BlockedPushes,
        limit: usize,
    ) -> Result<Vec<PushPosition>, InternalError> {
        let stored = self.lock();
        let mut due: Vec<_> = stored
            .places
            .values()
            .filter(|position| position.agent_id == agent_id)
            .map(|position| &position.place)
            .filter(|place| place.due_at.is_some_and(|due| due <= in_millis(now)))
            .filter(|place| {
                !busy.keys.contains(&place.key)
                    && !busy.hosts.contains(&place.target.host)
                    && !busy.owners.contains(&place.owner)
            })
            .map(|place| (place.due_at, place.key))
            .collect();
        due.sort_unstable();
        Ok(due.into_iter().take(limit).filter_map(|(_, key)| stored.place(key)).collect())
    }

    fn push_next_due(
        &self,
        agent_id: &str,
        after: Timestamp,
    ) -> Result<Option<Timestamp>, InternalError> {
        let stored = self.lock();
        let own = stored.places.values().filter(|position| position.agent_id == agent_id);
        let due = own.filter_map(|position| position.place.due_at);
        Ok(due.filter(|due| *due > in_millis(after)).min())
    }
}

/// Returns the position of a task in the order of lists.
fn place_of(row: &TaskRow) -> (Timestamp, &str) {
    (row.status_at, &row.task_id)
}

/// Rounds a time down to whole milliseconds, the precision of page tokens.
fn in_millis(moment: Timestamp) -> Timestamp {
    Timestamp::from_millisecond(moment.as_millisecond()).unwrap_or(moment)
}

impl MemoryState {
    fn task_of(&self, owner: &TaskOwner, task_id: &str) -> Option<&StoredTask> {
        self.tasks.get(task_id).filter(|task| task.owner == *owner)
    }

    fn unfinished(&self, agent_id: &str) -> Vec<TaskRow> {
        let left = self.tasks.values().filter(|task| {
            let state = task.row.state;
            task.owner.agent_id == agent_id && !state.terminal() && !state.interrupted()
        });
        left.map(|task| task.row.clone()).collect()
    }

    /// Returns a webhook with the last entry number of its task.
    fn place(&self, key: i64) -> Option<PushPosition> {
        let place = &self.places.get(&key)?.place;
        let last_seq = self.tasks.get(&place.task_id)?.row.last_seq;
        Some(PushPosition { last_seq, ..place.clone() })
    }

    fn forget(&mut self, task_id: &str) {
        let task = self.tasks.remove(task_id);
        for key in task.into_iter().flat_map(|task| task.places.into_values()) {
            self.places.remove(&key);
        }
    }
}

/// A transaction, with the changes to undo if it fails.
struct MemoryTx<'k> {
    stored: RefCell<&'k mut MemoryState>,
    undo: RefCell<Vec<Undo>>,
    ended: RefCell<Vec<String>>,
    last_key: i64,
}

enum Undo {
    /// A task was created.
    Task(String),
    /// An entry was added to a task, whose previous head this is.
    Entry(TaskRow),
    /// A webhook was changed from this state.
    Place(i64, Option<Box<StoredPosition>>),
}

impl<'k> MemoryTx<'k> {
    fn new(stored: &'k mut MemoryState) -> Self {
        let last_key = stored.last_key;
        let undo = RefCell::default();
        let ended = RefCell::default();
        Self { stored: RefCell::new(stored), undo, ended, last_key }
    }

    fn stored(&self) -> RefMut<'_, MemoryState> {
        RefMut::map(self.stored.borrow_mut(), |stored| &mut **stored)
    }

    /// Ends the transaction: keeps its changes, or undoes them.
    fn end(self, is_committed: bool) {
        let stored = self.stored.into_inner();
        if is_committed {
            stored.ended.extend(self.ended.into_inner());
            while stored.ended.len() > ENDED
                && let Some(oldest) = stored.ended.pop_front()
            {
                stored.forget(&oldest);
            }
            return;
        }
        stored.last_key = self.last_key;
        // In reverse order, because a later change may affect the result of an earlier one.
        for undo in self.undo.into_inner().into_iter().rev() {
            match undo {
                Undo::Task(task_id) => stored.forget(&task_id),
                Undo::Entry(row) => {
                    if let Some(task) = stored.tasks.get_mut(&row.task_id) {
                        task.entries.pop();
                        task.row = row;
                    }
                }
                Undo::Place(key, before) => set_place(stored, key, before.map(|before| *before)),
            }
        }
    }

    /// Changes a webhook.
    fn set(&self, stored: &mut MemoryState, key: i64, place: Option<StoredPosition>) {
        let before = stored.places.get(&key).cloned().map(Box::new);
        self.undo.borrow_mut().push(Undo::Place(key, before));
        set_place(stored, key, place);
    }

    fn change(&self, key: i64, change: impl FnOnce(&mut PushPosition, i64)) {
        let stored = &mut *self.stored();
        let Some(mut changed) = stored.places.get(&key).cloned() else { return };
        let task = stored.tasks.get(&changed.place.task_id);
        change(&mut changed.place, task.map_or(0, |task| task.row.last_seq));
        self.set(stored, key, Some(changed));
    }
}

/// Sets or removes a webhook, and updates the webhooks of its task.
fn set_place(stored: &mut MemoryState, key: i64, place: Option<StoredPosition>) {
    let before = match &place {
        Some(place) => stored.places.insert(key, place.clone()),
        None => stored.places.remove(&key),
    };
    let named = place.or(before);
    let Some(named) = named else { return };
    let task_id = &named.place.task_id;
    let id = &named.place.target.config_id;
    let Some(task) = stored.tasks.get_mut(task_id) else { return };
    if stored.places.contains_key(&key) {
        task.places.insert(id.clone(), key);
    } else if task.places.get(id) == Some(&key) {
        task.places.remove(id);
    }
}

impl TaskWriter for MemoryTx<'_> {
    fn create_task(&self, owner: &TaskOwner, task: &TaskRow) -> Result<bool, InternalError> {
        let mut stored = self.stored();
        if stored.tasks.contains_key(&task.task_id) {
            return Ok(false);
        }
        let row = TaskRow { status_at: in_millis(task.status_at), ..task.clone() };
        let owner = owner.clone();
        let entries = Vec::new();
        let places = BTreeMap::new();
        stored.tasks.insert(task.task_id.clone(), StoredTask { owner, row, entries, places });
        self.undo.borrow_mut().push(Undo::Task(task.task_id.clone()));
        Ok(true)
    }

    fn messages(&self, task_id: &str) -> Result<Vec<String>, InternalError> {
        let stored = self.stored();
        let entries = stored.tasks.get(task_id).map_or(&[][..], |task| &task.entries);
        let messages = entries.iter().filter(|entry| entry.kind == EntryKind::Message);
        Ok(messages.map(|entry| entry.body.clone()).collect())
    }

    fn append(
        &self,
        task_id: &str,
        kind: EntryKind,
        body: &str,
        status: Option<(TaskState, Timestamp)>,
    ) -> Result<Option<i64>, InternalError> {
        let stored = &mut *self.stored();
        let task = stored.tasks.get_mut(task_id);
        let task =
            task.ok_or_else(|| InternalError::new("reading a task's state", "it is gone"))?;
        if task.row.state.terminal() {
            return Ok(None);
        }
        self.undo.borrow_mut().push(Undo::Entry(task.row.clone()));
        let seq = task.row.last_seq + 1;
        task.entries.push(LogEntry { seq, kind, body: body.to_owned() });
        task.row.last_seq = seq;
        if let Some((state, at)) = status {
            task.row.state = state;
            task.row.status_at = in_millis(at);
        }
        if task.row.state.terminal() {
            self.ended.borrow_mut().push(task_id.to_owned());
        }
        // The time of the task's last status is good enough for an order, and there is no clock
        // here.
        let now = task.row.status_at;
        let keys: Vec<_> = task.places.values().copied().collect();
        for key in keys {
            let place = stored.places.get(&key).cloned();
            let waits = |position: &StoredPosition| {
                position.place.due_at.is_none() && position.place.off_at.is_none()
            };
            if let Some(mut updated) = place.filter(waits) {
                updated.place.due_at = Some(now);
                self.set(stored, key, Some(updated));
            }
        }
        Ok(Some(seq))
    }

    fn unfinished_tasks(&self, agent_id: &str) -> Result<Vec<TaskRow>, InternalError> {
        Ok(self.stored().unfinished(agent_id))
    }
}

impl PushWriter for MemoryTx<'_> {
    fn put_push_config(
        &self,
        owner: &TaskOwner,
        task_id: &str,
        target: &PushTarget,
        most: usize,
        now: Timestamp,
    ) -> Result<PushStored, InternalError> {
        let stored = &mut *self.stored();
        let Some(task) = stored.task_of(owner, task_id) else { return Ok(PushStored::NoTask) };
        let last_seq = task.row.last_seq;
        let same = task.places.get(&target.config_id).copied();
        if task.places.len() - usize::from(same.is_some()) >= most {
            return Ok(PushStored::TooMany);
        }
        // The new webhook gets a key of its own, so results for the old address are no longer
        // recorded.
        if let Some(same) = same {
            self.set(stored, same, None);
        }
        stored.last_key += 1;
        let key = stored.last_key;
        let place = PushPosition {
            key,
            task_id: task_id.to_owned(),
            owner: owner.principal.clone(),
            target: target.clone(),
            from_seq: last_seq,
            sent_seq: None,
            last_seq,
            failures: 0,
            failure: None,
            due_at: Some(in_millis(now)),
            off_at: None,
        };
        self.set(stored, key, Some(StoredPosition { agent_id: owner.agent_id.clone(), place }));
        Ok(PushStored::Kept)
    }

    fn delete_push_config(
        &self,
        owner: &TaskOwner,
        task_id: &str,
        config_id: &str,
    ) -> Result<(), InternalError> {
        let stored = &mut *self.stored();
        let task = stored.task_of(owner, task_id);
        if let Some(key) = task.and_then(|task| task.places.get(config_id).copied()) {
            self.set(stored, key, None);
        }
        Ok(())
    }

    fn push_delivered(&self, key: i64, seq: i64) -> Result<(), InternalError> {
        self.change(key, |place, _| {
            place.sent_seq = Some(place.sent_seq.unwrap_or_default().max(seq));
            place.failures = 0;
            place.failure = None;
        });
        Ok(())
    }

    fn push_rested(&self, key: i64, now: Timestamp) -> Result<(), InternalError> {
        self.change(key, |place, last_seq| {
            if place.off_at.is_none() {
                let has_more = place.sent_seq.is_none_or(|sent| sent < last_seq);
                place.due_at = has_more.then(|| in_millis(now));
            }
        });
        Ok(())
    }

    fn push_failed(
        &self,
        key: i64,
        failure: &str,
        next: Result<Timestamp, Timestamp>,
    ) -> Result<(), InternalError> {
        self.change(key, |place, _| {
            place.failures += 1;
            place.failure = Some(failure.to_owned());
            (place.due_at, place.off_at) = match next {
                Ok(again) => (Some(in_millis(again)), None),
                Err(off_at) => (None, Some(in_millis(off_at))),
            };
        });
        Ok(())
    }
}
