//! SIGTERM while somebody follows a task: streams end at once and can be resumed, and whoever
//! waits for an answer gets it.

use std::time::Duration;

use tradepost_document::json::json;

use crate::process::Process;
use crate::support::conformance::{Stream, ask, follow_up, message};

#[test]
fn sigterm_ends_streams_between_events_and_finishes_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::agent(folder.path(), &["streaming"]);
    let address = process.address;
    let paused = ask(address, &[], "SendMessage", &message("tck-input-required")).json();
    let id = paused["result"]["task"]["id"].clone();
    // It would last until somebody answers.
    let mut subscription = Stream::open(address, &[], "SubscribeToTask", &json!({"id": id}));
    let first = subscription.next().unwrap();
    let long = message("test-resubscribe-message-id");
    let mut stream = Stream::open(address, &[], "SendStreamingMessage", &long);
    stream.next().unwrap();
    let waiting = std::thread::spawn(move || {
        ask(address, &[], "SendMessage", &message("test-resubscribe-message-id")).json()
    });
    let begun = (0..500).any(|_| {
        let list = ask(address, &[], "ListTasks", &json!({})).json();
        let _ = std::sync::mpsc::channel::<()>().1.recv_timeout(Duration::from_millis(10));
        list["result"]["totalSize"] == 3
    });
    assert!(begun, "three tasks");

    process.signal("TERM");
    assert_eq!(subscription.next(), None, "as a stream ends that is whole");
    let events = stream.rest();
    let ended = events.iter().filter_map(|event| event.state()).next_back();
    assert_ne!(ended, Some("TASK_STATE_COMPLETED"), "nobody waits for the task");
    let answer = waiting.join().unwrap();
    assert_eq!(answer["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{answer}");
    assert_eq!(process.end().code(), Some(0));
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(log.contains("stopped"), "{log}");
    assert!(!log.contains("grace period"), "{log}");

    let process = Process::agent(folder.path(), &["streaming"]);
    let after = first.id.to_string();
    let resumed = [("Last-Event-ID", after.as_str())];
    let stream = Stream::open(process.address, &resumed, "SubscribeToTask", &json!({"id": id}));
    ask(process.address, &[], "SendMessage", &follow_up("tck-complete-task", &id));
    let rest = stream.rest();
    assert_eq!(rest.last().unwrap().state(), Some("TASK_STATE_COMPLETED"));
}
