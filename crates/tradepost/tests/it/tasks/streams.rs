//! Streams: order, ends, and going on where one broke off (O-02, O-03, E-21).

use crate::conformance::Profile;
use tradepost_document::json::{Value, json};

use crate::support::conformance::{Event, follow_up, message, start_conformance};

fn states(events: &[Event]) -> Vec<&str> {
    events.iter().filter_map(Event::state).collect()
}

fn task_id(event: &Event) -> Value {
    event.result["task"]["id"].clone()
}

#[test]
fn o_02_a_stream_begins_and_closes_with_the_task() {
    let server = start_conformance(Profile::Streaming);
    let params = message("tck-stream-artifact-chunked");
    let stream = server.stream(&[], "SendStreamingMessage", &params);
    assert!(stream.head.starts_with("HTTP/1.1 200"), "{}", stream.head);
    let events = stream.rest();
    let expected = ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_COMPLETED"];
    assert_eq!(states(&events), expected);
    let ids: Vec<_> = events.iter().map(|event| event.id).collect();
    assert_eq!(ids, (ids[0]..ids[0] + 5).collect::<Vec<_>>(), "ids count up without gaps");
    let chunks: Vec<_> = events
        .iter()
        .filter_map(|event| event.result.get("artifactUpdate"))
        .map(|update| {
            let flag = |name: &str| update.get(name).and_then(Value::as_bool).unwrap_or(false);
            let text = update["artifact"]["parts"][0]["text"].as_str().unwrap();
            (text, flag("append"), flag("lastChunk"))
        })
        .collect();
    assert_eq!(chunks, [("chunk-1 ", false, false), ("chunk-2", true, true)]);
    let task = server.get(&task_id(&events[0]));
    assert_eq!(task["artifacts"][0]["parts"].as_array().unwrap().len(), 2);
}

#[test]
fn a_pause_closes_a_sends_stream_but_no_subscription() {
    let server = start_conformance(Profile::Streaming);
    let params = message("tck-input-required");
    let sent = server.stream(&[], "SendStreamingMessage", &params).rest();
    assert_eq!(states(&sent).last(), Some(&"TASK_STATE_INPUT_REQUIRED"));
    let id = task_id(&sent[0]);
    let mut subscription = server.stream(&[], "SubscribeToTask", &json!({"id": id}));
    let first = subscription.next().unwrap();
    assert_eq!(first.state(), Some("TASK_STATE_INPUT_REQUIRED"));
    let other = server.stream(&[], "SubscribeToTask", &json!({"id": id}));
    let next = server.stream(&[], "SendStreamingMessage", &follow_up("tck-stream-001", &id)).rest();
    assert_eq!(states(&next).last(), Some(&"TASK_STATE_COMPLETED"));
    let rest = subscription.rest();
    assert_eq!(states(&rest).last(), Some(&"TASK_STATE_COMPLETED"));
    assert_eq!(other.rest()[1..], rest, "O-03: everybody sees the same");
    assert!(rest.ends_with(&next[1..]));
    server.forgets();
}

#[test]
fn e_21_ended_and_unknown_tasks_are_refused_before_streaming() {
    let server = start_conformance(Profile::Streaming);
    let ended = server.task("tck-complete-task")["id"].clone();
    assert_eq!(server.code("SubscribeToTask", &json!({"id": ended})), -32004);
    assert_eq!(server.code("SubscribeToTask", &json!({"id": "unknown"})), -32001);
    server.forgets();
}

#[test]
fn last_event_id_goes_on_without_loss_or_repetition() {
    let mut server = start_conformance(Profile::Streaming);
    let params = message("tradepost-flood-500");
    let all = server.stream(&[], "SendStreamingMessage", &params).rest();
    let id = task_id(&all[0]);
    let last = all.last().unwrap().id;
    for turn in 0..2 {
        for after in [all[0].id, all[1].id, all[7].id, last - 1] {
            let seen = after.to_string();
            let headers = [("Last-Event-ID", seen.as_str())];
            let events = server.stream(&headers, "SubscribeToTask", &json!({"id": id})).rest();
            assert_eq!(events[0].id, after);
            let missed: Vec<_> = all.iter().filter(|event| event.id > after).cloned().collect();
            assert_eq!(events[1..], missed, "after {after} in turn {turn}");
        }
        let beginning = [("Last-Event-ID", "0")];
        let events = server.stream(&beginning, "SubscribeToTask", &json!({"id": id})).rest();
        assert_eq!(events[0].state(), Some("TASK_STATE_SUBMITTED"), "the task as it was then");
        assert_eq!(events[1..], all[1..]);
        let seen = last.to_string();
        let answer = server.ask(&[("Last-Event-ID", &seen)], "SubscribeToTask", &json!({"id": id}));
        assert_eq!(answer.json()["error"]["code"], -32004, "nothing was missed");
        server = server.restart();
    }
}

#[test]
fn last_event_id_goes_on_while_the_task_runs() {
    let server = start_conformance(Profile::Streaming);
    let params = message("test-resubscribe-message-id");
    let mut first = server.stream(&[], "SendStreamingMessage", &params);
    let begun = first.next().unwrap();
    let working = first.next().unwrap();
    assert_eq!(working.state(), Some("TASK_STATE_WORKING"));
    drop(first);
    let seen = begun.id.to_string();
    let headers = [("Last-Event-ID", seen.as_str())];
    let id = task_id(&begun);
    let events = server.stream(&headers, "SubscribeToTask", &json!({"id": id})).rest();
    assert_eq!(events[1], working);
    assert_eq!(states(&events[2..]), ["TASK_STATE_COMPLETED"]);
}

#[test]
fn canceling_closes_every_stream_of_the_task() {
    let server = start_conformance(Profile::Streaming);
    let mut sent = server.stream(&[], "SendStreamingMessage", &message("tck-cancel"));
    let id = task_id(&sent.next().unwrap());
    let subscription = server.stream(&[], "SubscribeToTask", &json!({"id": id}));
    server.result("CancelTask", &json!({"id": id}));
    assert_eq!(states(&sent.rest()).last(), Some(&"TASK_STATE_CANCELED"));
    assert_eq!(states(&subscription.rest()).last(), Some(&"TASK_STATE_CANCELED"));
    // Its work would have taken minutes.
    server.forgets();
}
