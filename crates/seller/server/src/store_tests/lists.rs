//! Checks of what owners see of their tasks.

use jiff::SignedDuration;
use tradepost_a2a::TaskState;

use super::StoreUnderTest;
use super::support::{Checked, ada, append, begin, listed, moment, owner, row, same};
use crate::tasks::log::{EntryKind, TaskFilter, TaskRow};

pub(super) fn owners(store: &dyn StoreUnderTest) -> Checked {
    let log = store.open();
    let others = [owner("agent", "bob"), owner("agent", "ADA"), owner("other", "ada")];
    begin(&*log, &ada(), &row("one", 0))?;
    for (number, other) in others.iter().enumerate() {
        begin(&*log, other, &row(&format!("theirs-{number}"), 0))?;
    }
    same("the owner's tasks", listed(&*log, &ada())?, vec!["one".to_owned()])?;
    for (number, other) in others.iter().enumerate() {
        same("another owner does not see it", log.task(other, "one")?, None)?;
        let theirs = vec![format!("theirs-{number}")];
        same("nor in a list", listed(&*log, other)?, theirs)?;
        let hooks = log.push_configs(other, "one", None, "", 10)?;
        same("nor its webhooks", hooks.len(), 0)?;
    }
    Ok(())
}

pub(super) fn pages(store: &dyn StoreUnderTest) -> Checked {
    let log = store.open();
    // Of two with one moment the later id comes first.
    for (task_id, at) in [("a", 10), ("b", 30), ("c", 20), ("d", 30), ("e", 5)] {
        begin(&*log, &ada(), &row(task_id, at))?;
    }
    append(&*log, "e", EntryKind::Status, "{}", Some((TaskState::Working, moment(25))))?;
    let filter = TaskFilter::default();
    let mut after = None;
    let mut ids = Vec::new();
    loop {
        let (rows, total) = log.tasks(&ada(), &filter, after, 2)?;
        same("the number of all", total, 5)?;
        let Some(last) = rows.last() else { break };
        after = Some((last.status_at, last.task_id.clone()));
        ids.extend(rows.into_iter().map(|row| row.task_id));
    }
    let expected = ["d", "b", "e", "c", "a"].map(str::to_owned).to_vec();
    same("the pages, one after another", ids, expected)
}

pub(super) fn milliseconds(store: &dyn StoreUnderTest) -> Checked {
    let log = store.open();
    // A page token has whole milliseconds: a store that sorted by more, as PostgreSQL's own times do, would skip tasks
    // after a page. These are in one millisecond, whether a store cuts them off or rounds them.
    for (task_id, microseconds) in [("a", 400), ("b", 100), ("c", 300)] {
        let status_at = moment(10) + SignedDuration::from_micros(microseconds);
        begin(&*log, &ada(), &TaskRow { status_at, ..row(task_id, 10) })?;
    }
    same(
        "tasks of one millisecond",
        listed(&*log, &ada())?,
        ["c", "b", "a"].map(str::to_owned).to_vec(),
    )?;
    let after = Some((moment(10), "c".to_owned()));
    let (rows, _) = log.tasks(&ada(), &TaskFilter::default(), after, 10)?;
    let ids: Vec<_> = rows.iter().map(|row| row.task_id.as_str()).collect();
    same("those after one of them", ids, vec!["b", "a"])?;
    let times: Vec<_> = rows.iter().map(|row| row.status_at).collect();
    same("their times", times, vec![moment(10), moment(10)])?;
    let since = Some(moment(10) + SignedDuration::from_micros(350));
    let (_, total) = log.tasks(&ada(), &TaskFilter { since, ..TaskFilter::default() }, None, 10)?;
    same("a filter's time is one of whole milliseconds, too", total, 3)
}

pub(super) fn filters(store: &dyn StoreUnderTest) -> Checked {
    let log = store.open();
    let other = |task_id, at| TaskRow { context_id: "other".to_owned(), ..row(task_id, at) };
    for task in [row("a", 10), other("b", 20), row("c", 30), other("d", 40)] {
        begin(&*log, &ada(), &task)?;
    }
    append(&*log, "d", EntryKind::Status, "{}", Some((TaskState::Completed, moment(50))))?;
    let find = |filter: TaskFilter| {
        let (rows, total) = log.tasks(&ada(), &filter, None, 1)?;
        let first = rows.into_iter().next().map(|row| row.task_id).unwrap_or_default();
        Ok::<_, super::WrongStore>(format!("{first} of {total}"))
    };
    let all = TaskFilter::default();
    let context_id = Some("other".to_owned());
    let of_context = TaskFilter { context_id, ..all.clone() };
    same("by context", find(of_context.clone())?, "d of 2".to_owned())?;
    let submitted = TaskFilter { state: Some(TaskState::Submitted), ..all.clone() };
    same("by state", find(submitted)?, "c of 3".to_owned())?;
    let since = TaskFilter { since: Some(moment(30)), ..all };
    same("by time, which is included", find(since)?, "d of 2".to_owned())?;
    let both =
        TaskFilter { state: Some(TaskState::Submitted), since: Some(moment(20)), ..of_context };
    same("by all three", find(both)?, "b of 1".to_owned())
}

pub(super) fn unfinished(store: &dyn StoreUnderTest) -> Checked {
    let log = store.open();
    for (task_id, state) in [
        ("submitted", TaskState::Submitted),
        ("working", TaskState::Working),
        ("paused", TaskState::InputRequired),
        ("waiting", TaskState::AuthRequired),
        ("completed", TaskState::Completed),
        ("failed", TaskState::Failed),
    ] {
        begin(&*log, &ada(), &row(task_id, 0))?;
        append(&*log, task_id, EntryKind::Status, "{}", Some((state, moment(1))))?;
    }
    begin(&*log, &owner("other", "ada"), &row("theirs", 0))?;
    let mut found: Vec<_> =
        log.unfinished_tasks("agent")?.into_iter().map(|row| row.task_id).collect();
    found.sort_unstable();
    // A store that processes share may count this process as the worker of its tasks.
    if !found.is_empty() {
        let expected = ["submitted", "working"].map(str::to_owned).to_vec();
        same("the tasks that work was left on", found, expected)?;
    }
    same("those of an unknown agent", log.unfinished_tasks("nobody")?.len(), 0)
}
