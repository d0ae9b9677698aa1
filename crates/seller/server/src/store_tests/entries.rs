//! Checks of a task's log.

use tradepost_a2a::TaskState;
use tradepost_document::catalog::Vocabulary as _;

use super::StoreUnderTest;
use super::support::{
    Checked, ada, append, begin, entries, moment, outcome, owner, row, same, write,
};
use crate::tasks::log::{EntryKind, TaskRow};

pub(super) fn new_task(store: &dyn StoreUnderTest) -> Checked {
    let log = store.open();
    same("an unknown task", log.task(&ada(), "one")?, None)?;
    same("its standing", log.standing("one")?, (0, false))?;
    let new = row("one", 5);
    let stored = new.clone();
    same("it is new", write(&*log, move |tx| tx.create_task(&ada(), &stored))?, true)?;
    same("the task", log.task(&ada(), "one")?, Some(new))?;
    same("its standing", log.standing("one")?, (0, false))?;
    same("its entries", entries(&*log, "one")?.len(), 0)
}

pub(super) fn numbered(store: &dyn StoreUnderTest) -> Checked {
    let log = store.open();
    begin(&*log, &ada(), &row("one", 0))?;
    begin(&*log, &ada(), &row("two", 0))?;
    for number in 2..=5 {
        let seq = append(&*log, "one", EntryKind::Artifact, "{}", None)?;
        same("the number of an entry", seq, Some(number))?;
    }
    same("that of another task", append(&*log, "two", EntryKind::Message, "{}", None)?, Some(2))?;
    let numbers: Vec<_> = entries(&*log, "one")?.iter().map(|entry| entry.seq).collect();
    same("the numbers", numbers, vec![1, 2, 3, 4, 5])?;
    same("the standing", log.standing("one")?, (5, false))?;
    let last = log.task(&ada(), "one")?.map(|row| row.last_seq);
    same("the last number in the task", last, Some(5))?;
    let missing = outcome(&*log, |tx| tx.append("three", EntryKind::Message, "{}", None))?;
    same("an entry of an unknown task fails", missing.is_err(), true)
}

pub(super) fn states(store: &dyn StoreUnderTest) -> Checked {
    let log = store.open();
    for (number, state) in (0..).zip(TaskState::ALL) {
        let id = format!("task-{number}");
        begin(&*log, &ada(), &row(&id, 0))?;
        append(&*log, &id, EntryKind::Status, "{}", Some((*state, moment(number + 1))))?;
        let expected = TaskRow { state: *state, status_at: moment(number + 1), ..row(&id, 0) };
        let expected = TaskRow { last_seq: 2, ..expected };
        same("the task with its new state", log.task(&ada(), &id)?, Some(expected))?;
        same("whether it has ended", log.standing(&id)?, (2, state.terminal()))?;
    }
    begin(&*log, &ada(), &row("kept", 7))?;
    append(&*log, "kept", EntryKind::Artifact, "{}", None)?;
    let expected = TaskRow { last_seq: 2, ..row("kept", 7) };
    same("a task whose state an entry leaves", log.task(&ada(), "kept")?, Some(expected))
}

pub(super) fn ended(store: &dyn StoreUnderTest) -> Checked {
    let log = store.open();
    for (number, state) in TaskState::ALL.iter().enumerate() {
        let id = format!("task-{number}");
        begin(&*log, &ada(), &row(&id, 0))?;
        append(&*log, &id, EntryKind::Status, "{}", Some((*state, moment(1))))?;
        let taken =
            append(&*log, &id, EntryKind::Status, "{}", Some((TaskState::Working, moment(2))))?;
        let expected = (!state.terminal()).then_some(3);
        same(&format!("an entry after {state}"), taken, expected)?;
        let left = entries(&*log, &id)?.len();
        same("the number of entries", left, if state.terminal() { 2 } else { 3 })?;
    }
    Ok(())
}

pub(super) fn unique(store: &dyn StoreUnderTest) -> Checked {
    let log = store.open();
    begin(&*log, &ada(), &row("one", 1))?;
    for other in [ada(), owner("agent", "bob"), owner("other agent", "ada")] {
        let again = write(&*log, move |tx| tx.create_task(&other, &row("one", 2)))?;
        same("a second task with the id is not stored", again, false)?;
    }
    let expected = TaskRow { last_seq: 1, ..row("one", 1) };
    same("the first one", log.task(&ada(), "one")?, Some(expected))?;
    same("nobody else has it", log.task(&owner("agent", "bob"), "one")?, None)
}

pub(super) fn ranges(store: &dyn StoreUnderTest) -> Checked {
    let log = store.open();
    begin(&*log, &ada(), &row("one", 0))?;
    for kind in [EntryKind::Message, EntryKind::Artifact, EntryKind::Artifact, EntryKind::Status] {
        append(&*log, "one", kind, "{}", None)?;
    }
    let read = |after, until, with_artifacts, limit| {
        let found = log.task_entries("one", after, until, with_artifacts, limit)?;
        Ok::<_, super::WrongStore>(found.iter().map(|entry| entry.seq).collect::<Vec<_>>())
    };
    same("after 1, up to 3", read(1, 3, true, 100)?, vec![2, 3])?;
    same("two of them", read(0, 100, true, 2)?, vec![1, 2])?;
    same("without artifacts", read(0, 100, false, 100)?, vec![1, 2, 5])?;
    same("two without artifacts", read(1, 100, false, 2)?, vec![2, 5])?;
    same("after the last", read(5, 100, true, 100)?, vec![])?;
    let kinds: Vec<_> =
        log.task_entries("one", 0, 100, true, 100)?.iter().map(|logged| logged.kind).collect();
    let expected =
        [EntryKind::Status, EntryKind::Message, EntryKind::Artifact, EntryKind::Artifact];
    same("the kinds", kinds, expected.into_iter().chain([EntryKind::Status]).collect())
}

pub(super) fn bodies(store: &dyn StoreUnderTest) -> Checked {
    let log = store.open();
    begin(&*log, &ada(), &row("one", 0))?;
    // Digits beyond what a floating-point number has, an order of members, and letters of several bytes.
    let body = format!(
        r#"{{"z":123456789012345678901234567890.10,"a":"é 語 🚗 \" \\ ' $1","long":"{}"}}"#,
        "x".repeat(100_000)
    );
    append(&*log, "one", EntryKind::Message, &body, None)?;
    let found = log.task_entries("one", 1, 2, true, 1)?.pop().map(|entry| entry.body);
    same("the body is as it was written", found == Some(body), true)
}

pub(super) fn messages(store: &dyn StoreUnderTest) -> Checked {
    let log = store.open();
    begin(&*log, &ada(), &row("one", 0))?;
    append(&*log, "one", EntryKind::Message, "first", None)?;
    append(&*log, "one", EntryKind::Artifact, "none", None)?;
    let read = write(&*log, |tx| {
        tx.append("one", EntryKind::Message, "second", None)?;
        Ok([tx.messages("one")?, tx.messages("unknown")?])
    })?;
    let expected = [vec!["first".to_owned(), "second".to_owned()], Vec::new()];
    same("the messages, with that of the transaction", read, expected)
}
