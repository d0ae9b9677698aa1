//! Checks of transactions, secrets and restarts.

use std::sync::{Arc, Barrier, Mutex, PoisonError, mpsc};
use std::time::Duration;

use super::support::{
    Checked, ada, append, begin, entries, listed, moment, outcome, row, same, target, write,
};
use super::{StoreUnderTest, WrongStore};
use crate::fault::InternalError;
use crate::tasks::log::{EntryKind, PushStored, submit};

/// Number of threads, and of the entries that each appends.
const THREADS: i64 = 4;
const EACH: i64 = 25;

pub(super) fn failed(store: &dyn StoreUnderTest) -> Checked {
    let log = store.open();
    begin(&*log, &ada(), &row("one", 0))?;
    let ended = outcome::<()>(&*log, |tx| {
        tx.create_task(&ada(), &row("two", 1))?;
        tx.append("two", EntryKind::Message, "{}", None)?;
        tx.append("one", EntryKind::Message, "{}", None)?;
        tx.put_push_config(&ada(), "one", &target("hook", "host"), 10, moment(0))?;
        Err(InternalError::new("checking", "it is to fail"))
    })?;
    same("the callback has the error", ended.is_err(), true)?;
    same("the tasks", listed(&*log, &ada())?, vec!["one".to_owned()])?;
    same("the entries", entries(&*log, "one")?.len(), 1)?;
    same("the webhooks", log.push_configs(&ada(), "one", None, "", 10)?.len(), 0)?;
    same("what comes next", append(&*log, "one", EntryKind::Message, "{}", None)?, Some(2))
}

pub(super) fn panicked(store: &dyn StoreUnderTest) -> Checked {
    let log = store.open();
    begin(&*log, &ada(), &row("one", 0))?;
    let ended = outcome::<()>(&*log, |tx| {
        tx.append("one", EntryKind::Message, "{}", None)?;
        std::panic::resume_unwind(Box::new("the check lets the job panic"))
    })?;
    same("the callback has an error", ended.is_err(), true)?;
    same("the entries", entries(&*log, "one")?.len(), 1)?;
    same("what comes next", append(&*log, "one", EntryKind::Message, "{}", None)?, Some(2))
}

pub(super) fn ordered(store: &dyn StoreUnderTest) -> Checked {
    let log = store.open();
    begin(&*log, &ada(), &row("one", 0))?;
    let (sender, receiver) = mpsc::channel();
    for number in 0..50 {
        let sender = sender.clone();
        let job = |tx: &dyn crate::tasks::log::LogWriter| {
            tx.append("one", EntryKind::Message, "{}", None)
        };
        submit(&*log, job, move |ended| {
            let _ = sender.send((number, ended.ok().flatten()));
        })?;
    }
    for number in 0..50 {
        let silent = |_| WrongStore("a transaction has not ended".to_owned());
        let ended = receiver.recv_timeout(Duration::from_secs(60)).map_err(silent)?;
        same("the next callback, with its entry", ended, (number, Some(number + 2)))?;
    }
    Ok(())
}

pub(super) fn threads(store: &dyn StoreUnderTest) -> Checked {
    let log = store.open();
    begin(&*log, &ada(), &row("one", 0))?;
    let numbers = Arc::new(Mutex::new(Vec::new()));
    let start = Arc::new(Barrier::new(usize::try_from(THREADS).unwrap_or(1)));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let log = Arc::clone(&log);
            let numbers = Arc::clone(&numbers);
            let start = Arc::clone(&start);
            std::thread::spawn(move || {
                start.wait();
                for _ in 0..EACH {
                    let seq = append(&*log, "one", EntryKind::Artifact, "{}", None)?;
                    numbers.lock().unwrap_or_else(PoisonError::into_inner).extend(seq);
                }
                Ok::<_, WrongStore>(())
            })
        })
        .collect();
    for thread in threads {
        thread.join().map_err(|_| WrongStore("a thread panicked".to_owned()))??;
    }
    let mut numbers = numbers.lock().unwrap_or_else(PoisonError::into_inner).clone();
    numbers.sort_unstable();
    same("the numbers, each once", numbers, (2..2 + THREADS * EACH).collect())?;
    let read = entries(&*log, "one")?.len();
    same("the entries", i64::try_from(read).unwrap_or_default(), 1 + THREADS * EACH)
}

pub(super) fn secrets(store: &dyn StoreUnderTest) -> Checked {
    let log = store.open();
    same("a new secret", log.secret("one", vec![1, 0, 255])?, vec![1, 0, 255])?;
    same("the same name again", log.secret("one", vec![2])?, vec![1, 0, 255])?;
    same("another name", log.secret("two", vec![3])?, vec![3])
}

pub(super) fn restarted(store: &dyn StoreUnderTest) -> Checked {
    let log = store.open();
    begin(&*log, &ada(), &row("one", 0))?;
    append(&*log, "one", EntryKind::Message, "kept", None)?;
    log.secret("name", vec![7])?;
    let hook = target("hook", "host");
    let stored = write(&*log, move |tx| tx.put_push_config(&ada(), "one", &hook, 10, moment(0)))?;
    same("the webhook is stored", stored, PushStored::Kept)?;
    let before = (log.task(&ada(), "one")?, entries(&*log, "one")?);
    let hooks = log.push_configs(&ada(), "one", None, "", 10)?;
    let Some(log) = store.reopen(log) else { return Ok(()) };
    same("the task and its log", (log.task(&ada(), "one")?, entries(&*log, "one")?), before)?;
    same("the webhooks", log.push_configs(&ada(), "one", None, "", 10)?, hooks)?;
    same("the secret", log.secret("name", vec![8])?, vec![7])?;
    same("what comes next", append(&*log, "one", EntryKind::Message, "{}", None)?, Some(3))
}
