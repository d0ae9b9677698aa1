//! What one process does is seen by the others: tasks that are followed elsewhere, and what is to be
//! delivered.

use std::sync::mpsc::channel;
use std::time::Duration;

use tradepost_document::json::{Value, json};
use tradepost_store::{ChangeNotice, Store};

use super::gone::until;
use super::{customer, lead_id};
use crate::support::conformance::{ConformanceServer, Event, Stream, message, start_sharing};
use crate::support::postgres::Scratch;
use crate::support::{dealer, start_on};

fn two(scratch: &Scratch) -> [ConformanceServer; 2] {
    [scratch.store(), scratch.store()].map(start_sharing)
}

fn state(server: &ConformanceServer, id: &Value) -> String {
    server.get(id)["status"]["state"].as_str().unwrap().to_owned()
}

/// Waits for a notice for which `wanted` returns true.
fn wait_for_notice(
    inbox: &std::sync::mpsc::Receiver<ChangeNotice>,
    wanted: impl Fn(&ChangeNotice) -> bool,
) {
    let mut looked = 0;
    // Those who look tell nothing: with this alone the test would never end well.
    while looked < 12 {
        match inbox.recv_timeout(Duration::from_secs(20)).unwrap() {
            notice if wanted(&notice) => return,
            notice => looked += usize::from(notice == ChangeNotice::Any),
        }
    }
    panic!("it was not told");
}

fn listen(store: &Store) -> std::sync::mpsc::Receiver<ChangeNotice> {
    let (tell, inbox) = channel();
    store.on_change(move |notice| drop(tell.send(notice.clone()))).unwrap();
    // What comes first says that it listens.
    wait_for_notice(&inbox, |notice| *notice == ChangeNotice::Any);
    inbox
}

#[test]
fn what_is_appended_at_one_server_is_streamed_by_another() {
    let Some(scratch) = Scratch::new() else { return };
    let [one, other] = two(&scratch);
    let third = scratch.store();
    let inbox = listen(&third);
    let mut here = one.stream(&[], "SendStreamingMessage", &message("tradepost-flood-500"));
    let begun = here.next().unwrap();
    let id = begun.result["task"]["id"].clone();
    let after = begun.id.to_string();
    let there = other.stream(&[("Last-Event-ID", &after)], "SubscribeToTask", &json!({"id": id}));
    let here = here.rest();
    let there = there.rest();
    assert_eq!(there[1..], here);
    assert_eq!(here.last().unwrap().state(), Some("TASK_STATE_COMPLETED"));
    let id = id.as_str().unwrap();
    let last = here.last().unwrap().id;
    wait_for_notice(&inbox, |notice| {
        *notice == ChangeNotice::Appended { task_id: id.to_owned(), seq: last, ended: true }
    });
}

#[test]
fn a_stream_is_whole_however_often_the_connections_are_cut() {
    let Some(scratch) = Scratch::new() else { return };
    let [one, other] = two(&scratch);
    let begun = one.begin("tradepost-flood-500");
    let params = json!({"id": begun["id"]});
    let mut seen: Vec<Event> = Vec::new();
    let ends = |event: &Event| event.state().is_some_and(|s| !s.ends_with("WORKING"));
    for _ in 0..1_000 {
        let after = seen.last().map_or(1, |event| event.id).to_string();
        let headers = [("Last-Event-ID", after.as_str())];
        let mut stream = Stream::open(other.address, &headers, "SubscribeToTask", &params);
        // The task as it was, and then what came after it.
        if stream.head.starts_with("HTTP/1.1 200") && stream.next().is_some() {
            scratch.cut();
            seen.extend(std::iter::from_fn(|| stream.next()).filter(|event| event.id > 0));
        }
        if seen.last().is_some_and(ends) {
            break;
        }
    }
    let ids: Vec<_> = seen.iter().map(|event| event.id).collect();
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "nothing twice, and in order: {ids:?}");
    let params = json!({"id": begun["id"]});
    let whole = Stream::open(one.address, &[("Last-Event-ID", "1")], "SubscribeToTask", &params);
    assert_eq!(whole.rest()[1..], seen, "nothing lost");
}

#[test]
fn a_task_canceled_at_one_server_ends_at_the_other() {
    let Some(scratch) = Scratch::new() else { return };
    let [one, other] = two(&scratch);
    let id = one.begin("tck-long-running")["id"].clone();
    let subscribed = one.stream(&[], "SubscribeToTask", &json!({"id": id}));
    other.result("CancelTask", &json!({"id": id}));
    assert_eq!(subscribed.rest().last().unwrap().state(), Some("TASK_STATE_CANCELED"));
    one.forgets();
}

#[test]
fn only_tasks_of_a_process_that_is_gone_end() {
    let Some(scratch) = Scratch::new() else { return };
    let [one, other] = two(&scratch);
    let begin = |server: &ConformanceServer| server.begin("tck-cancel")["id"].clone();
    let left = begin(&one);
    let kept = begin(&other);
    let third = start_sharing(scratch.store());
    assert_eq!([&left, &kept].map(|id| state(&third, id)), ["TASK_STATE_WORKING"; 2]);
    let worker = format!("(SELECT worker FROM tasks WHERE task_id = {left})").replace('"', "'");
    drop(one);
    scratch.say(&format!("UPDATE processes SET seen_at = 0 WHERE process_id = {worker}"));
    let subscribed = third.stream(&[], "SubscribeToTask", &json!({"id": left}));
    assert_eq!(subscribed.rest().last().unwrap().state(), Some("TASK_STATE_FAILED"));
    assert_eq!(state(&other, &kept), "TASK_STATE_WORKING");
}

#[test]
fn a_task_another_process_goes_on_with_is_not_ended() {
    let Some(scratch) = Scratch::new() else { return };
    let [one, other] = two(&scratch);
    let id = one.begin("tck-cancel")["id"].clone();
    let is_it = format!("WHERE task_id = {id}").replace('"', "'");
    let worker = scratch.say(&format!("SELECT worker FROM tasks {is_it}")).remove(0);
    drop(one);
    let third = std::thread::scope(|scope| {
        // It is committed when whoever has found the task left waits for it.
        let goes_on = format!(
            "UPDATE tasks SET worker =
                 (SELECT process_id FROM processes WHERE process_id <> '{worker}' LIMIT 1) {is_it};
             DO $$ BEGIN
                 WHILE NOT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted
                                   AND pg_backend_pid() = ANY (pg_blocking_pids(pid)))
                 LOOP PERFORM pg_sleep(0.01); END LOOP;
             END $$"
        );
        let scratch = &scratch;
        let going_on = goes_on;
        scope.spawn(move || scratch.say(&going_on));
        let lock = format!("SELECT task_id FROM tasks {is_it} FOR UPDATE SKIP LOCKED");
        until("it is gone on with", || scratch.say(&lock).is_empty());
        scratch.say(&format!("UPDATE processes SET seen_at = 0 WHERE process_id = '{worker}'"));
        start_sharing(scratch.store())
    });
    assert_eq!([&third, &other].map(|server| state(server, &id)), ["TASK_STATE_WORKING"; 2]);
}

#[test]
fn others_hear_of_leads_and_of_inventories() {
    let Some(scratch) = Scratch::new() else { return };
    let config = dealer::config();
    let server = start_on(scratch.store(), config.clone());
    let other = scratch.store();
    let inbox = listen(&other);
    // Only who listens tells.
    let _own = listen(&server.store);
    dealer::stock(&server.store, &config);
    wait_for_notice(&inbox, |notice| *notice == ChangeNotice::Changed);
    lead_id(&server.call(&customer("k")).json()).unwrap();
    wait_for_notice(&inbox, |notice| *notice == ChangeNotice::Due);
    // Whoever listens connects again.
    scratch.cut();
    wait_for_notice(&inbox, |notice| *notice == ChangeNotice::Any);
    until("news are heard again", || {
        server
            .store
            .replace_inventory(dealer::ID, &[], crate::support::at(crate::support::NOW), false)
            .unwrap();
        inbox.try_iter().any(|notice| notice == ChangeNotice::Changed)
    });
}
