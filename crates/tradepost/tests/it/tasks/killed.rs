//! `kill -9` in the middle of a stream: whatever a client has seen is there afterwards.

use tradepost_document::json::json;

use crate::process::Process;
use crate::support::conformance::{Event, Stream, ask, message};

#[test]
fn a_killed_server_has_every_seen_event_and_ends_tasks() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::agent(folder.path(), &["streaming"]);
    let params = message("tradepost-flood-40000");
    let mut stream = Stream::open(process.address, &[], "SendStreamingMessage", &params);
    let seen: Vec<Event> = (0..300).map(|_| stream.next().unwrap()).collect();
    process.signal("KILL");
    process.end();
    drop(stream);

    let process = Process::agent(folder.path(), &["streaming"]);
    let id = seen[0].result["task"]["id"].clone();
    let task = ask(process.address, &[], "GetTask", &json!({"id": id})).json();
    let task = &task["result"];
    assert_eq!(task["status"]["state"], "TASK_STATE_FAILED");
    let text = &task["status"]["message"]["parts"][0]["text"];
    assert_eq!(text, "The agent was restarted during its work.");
    let stored = task["artifacts"][0]["parts"].as_array().unwrap().len();
    assert!(stored >= 298, "{stored} parts of at least 298 that were seen");

    let resume = |after: i64| {
        let after = after.to_string();
        let headers = [("Last-Event-ID", after.as_str())];
        Stream::open(process.address, &headers, "SubscribeToTask", &json!({"id": id})).rest()
    };
    let whole = resume(seen[0].id);
    assert_eq!(whole[1..seen.len()], seen[1..], "what was seen is what is there");
    let rest = resume(seen[299].id);
    assert_eq!(rest[1..], whole[seen.len()..]);
    assert_eq!(rest.last().unwrap().state(), Some("TASK_STATE_FAILED"));
}
