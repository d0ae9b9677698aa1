//! Checks of webhooks and their positions.

use super::support::{Checked, ada, append, begin, moment, owner, row, same, target, write};
use super::{StoreUnderTest, WrongStore};
use crate::tasks::log::{BlockedPushes, EntryKind, PushPosition, PushStored, TaskLog, TaskOwner};

/// Stores a webhook of a task.
fn put(
    log: &dyn TaskLog,
    owner: &TaskOwner,
    task_id: &str,
    config_id: &str,
    at: i64,
) -> Result<PushStored, WrongStore> {
    let owner = owner.clone();
    let task_id = task_id.to_owned();
    let hook = target(config_id, &format!("{config_id}.example"));
    write(log, move |tx| tx.put_push_config(&owner, &task_id, &hook, 2, moment(at)))
}

/// Returns the only webhook with this id.
fn one(log: &dyn TaskLog, task_id: &str, config_id: &str) -> Result<PushPosition, WrongStore> {
    let found = log.push_configs(&ada(), task_id, Some(config_id), "", 10)?;
    let missing = || WrongStore(format!("the webhook {config_id} is missing"));
    found.into_iter().next().ok_or_else(missing)
}

/// Returns the ids of due webhooks.
fn due_ids(log: &dyn TaskLog, at: i64, busy: &BlockedPushes) -> Result<Vec<String>, WrongStore> {
    let found = log.push_due("agent", moment(at), busy, 10)?;
    Ok(found.into_iter().map(|place| place.target.config_id).collect())
}

pub(super) fn stored(store: &dyn StoreUnderTest) -> Checked {
    let log = store.open();
    begin(&*log, &ada(), &row("one", 0))?;
    same("of a missing task", put(&*log, &ada(), "two", "a", 0)?, PushStored::NoTask)?;
    let bob = owner("agent", "bob");
    same("of another's task", put(&*log, &bob, "one", "a", 0)?, PushStored::NoTask)?;
    for config_id in ["b", "a"] {
        same("the first two", put(&*log, &ada(), "one", config_id, 3)?, PushStored::Kept)?;
    }
    same("a third", put(&*log, &ada(), "one", "c", 0)?, PushStored::TooMany)?;
    let place = one(&*log, "one", "a")?;
    let expected = PushPosition {
        key: place.key,
        task_id: "one".to_owned(),
        owner: "ada".to_owned(),
        target: target("a", "a.example"),
        from_seq: 1,
        sent_seq: None,
        last_seq: 1,
        failures: 0,
        failure: None,
        due_at: Some(moment(3)),
        off_at: None,
    };
    same("the webhook", place.clone(), expected)?;
    let all = log.push_configs(&ada(), "one", None, "", 10)?;
    let ids: Vec<_> = all.iter().map(|place| place.target.config_id.as_str()).collect();
    same("all, by id", ids, vec!["a", "b"])?;
    let rest = log.push_configs(&ada(), "one", None, "a", 10)?;
    same("those after an id", rest.len(), 1)?;
    same("it is stored again", put(&*log, &ada(), "one", "a", 4)?, PushStored::Kept)?;
    let again = one(&*log, "one", "a")?;
    same("under another key", again.key == place.key, false)?;
    same("the old key leads nowhere", log.push_place(place.key)?, None)?;
    same("the new one does", log.push_place(again.key)?, Some(again.clone()))?;
    write(&*log, |tx| tx.delete_push_config(&ada(), "one", "a"))?;
    same("it is deleted", log.push_configs(&ada(), "one", Some("a"), "", 10)?.len(), 0)?;
    same("with its key", log.push_place(again.key)?, None)
}

fn due_again(log: &dyn TaskLog, key: i64, at: i64) -> Checked {
    write(log, move |tx| tx.push_rested(key, moment(at)))
}

pub(super) fn due(store: &dyn StoreUnderTest) -> Checked {
    let log = store.open();
    let none = BlockedPushes::default();
    begin(&*log, &ada(), &row("one", 0))?;
    put(&*log, &ada(), "one", "a", 10)?;
    let key = one(&*log, "one", "a")?.key;
    same("before its time", due_ids(&*log, 9, &none)?, vec![])?;
    same("at its time", due_ids(&*log, 10, &none)?, vec!["a".to_owned()])?;
    same("the next time", log.push_next_due("agent", moment(0))?, Some(moment(10)))?;
    same("after that", log.push_next_due("agent", moment(10))?, None)?;
    same("of another agent", log.push_next_due("other", moment(0))?, None)?;
    write(&*log, move |tx| tx.push_delivered(key, 1))?;
    due_again(&*log, key, 20)?;
    let rested = one(&*log, "one", "a")?;
    same("it has everything", (rested.sent_seq, rested.due_at), (Some(1), None))?;
    append(&*log, "one", EntryKind::Artifact, "{}", None)?;
    let updated = one(&*log, "one", "a")?;
    same("a new entry makes it due", updated.due_at.is_some(), true)?;
    same("with the last number", updated.last_seq, 2)?;
    due_again(&*log, key, 30)?;
    same("it is due as long as entries wait", one(&*log, "one", "a")?.due_at, Some(moment(30)))?;
    write(&*log, move |tx| tx.push_delivered(key, 1))?;
    same("an older delivery takes nothing back", one(&*log, "one", "a")?.sent_seq, Some(1))
}

pub(super) fn failing(store: &dyn StoreUnderTest) -> Checked {
    let log = store.open();
    begin(&*log, &ada(), &row("one", 0))?;
    put(&*log, &ada(), "one", "a", 0)?;
    let key = one(&*log, "one", "a")?.key;
    write(&*log, move |tx| tx.push_failed(key, "status 500", Ok(moment(40))))?;
    let waits = one(&*log, "one", "a")?;
    let found = (waits.failures, waits.failure.as_deref(), waits.due_at);
    same("it waits", found, (1, Some("status 500"), Some(moment(40))))?;
    write(&*log, move |tx| tx.push_delivered(key, 1))?;
    let well = one(&*log, "one", "a")?;
    same("a success clears it", (well.failures, well.failure), (0, None))?;
    write(&*log, move |tx| tx.push_failed(key, "status 404", Err(moment(50))))?;
    let off = one(&*log, "one", "a")?;
    same("it is given up", (off.due_at, off.off_at), (None, Some(moment(50))))?;
    same("its key leads nowhere", log.push_place(key)?, None)?;
    append(&*log, "one", EntryKind::Artifact, "{}", None)?;
    same("a new entry changes nothing", one(&*log, "one", "a")?.due_at, None)?;
    same("nothing is due", due_ids(&*log, 1_000, &BlockedPushes::default())?, vec![])
}

pub(super) fn busy(store: &dyn StoreUnderTest) -> Checked {
    let log = store.open();
    let bob = owner("agent", "bob");
    begin(&*log, &ada(), &row("one", 0))?;
    begin(&*log, &bob, &row("two", 0))?;
    put(&*log, &ada(), "one", "a", 20)?;
    put(&*log, &ada(), "one", "b", 10)?;
    put(&*log, &bob, "two", "c", 30)?;
    let ids = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    let none = BlockedPushes::default();
    same("the longest due first", due_ids(&*log, 30, &none)?, ids(&["b", "a", "c"]))?;
    let limited = log.push_due("agent", moment(30), &none, 1)?;
    same("at most one", limited.len(), 1)?;
    let keys = vec![one(&*log, "one", "b")?.key];
    let by_key = BlockedPushes { keys, ..none.clone() };
    same("without a key", due_ids(&*log, 30, &by_key)?, ids(&["a", "c"]))?;
    let by_host = BlockedPushes { hosts: ids(&["a.example"]), ..none.clone() };
    same("without a host", due_ids(&*log, 30, &by_host)?, ids(&["b", "c"]))?;
    let by_owner = BlockedPushes { owners: ids(&["ada"]), ..none };
    same("without an owner", due_ids(&*log, 30, &by_owner)?, ids(&["c"]))?;
    same("of another agent", log.push_due("other", moment(99), &by_owner, 10)?.len(), 0)
}
