//! Streams: everything in order, to many at once, to the slow, and a status at the end.

use std::time::Duration;

use crate::conformance::Profile;
use expect_test::expect;
use tradepost_document::json::{Value, json};

use super::client::Client;
use super::{check, start_agent};
use crate::support::conformance::{follow_up, message};

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event.as_object().unwrap().keys().next().unwrap().as_str()).collect()
}

fn state(event: &Value) -> Option<&str> {
    let status = ["/task/status/state", "/statusUpdate/status/state"];
    status.iter().find_map(|path| event.pointer(path)).and_then(Value::as_str)
}

/// The number that a flood's artifact carries; protocol buffers leave nothing of a zero's zero.
fn number(event: &Value) -> Option<u64> {
    event.pointer("/artifactUpdate/artifact/parts/0/data/number")?.as_u64()
}

/// Covers O-02 and O-03 too.
#[test]
fn o_01_events_come_in_order_and_subscriptions_outlive_pauses() {
    let (_server, client) = start_agent(Profile::Streaming);
    check(
        "O-01",
        &client.ask("SendStreamingMessage", &message("tck-message-response")),
        &expect![[r#"
            OK

            {"message":{"messageId":"<id>","contextId":"<id>","role":"ROLE_AGENT","parts":[{"text":"Direct message response"}]}}
        "#]],
    );
    check(
        "O-02",
        &client.ask("SendStreamingMessage", &message("tck-stream-001")),
        &expect![[r#"
            OK

            {"task":{"id":"<id>","contextId":"<id>","status":{"state":"TASK_STATE_SUBMITTED","timestamp":"2026-04-30T12:00:00Z"},
                "history":[{"messageId":"tck-stream-001","contextId":"<id>","taskId":"<id>","role":"ROLE_USER","parts":[{"text":"hello"}]}]}}
            {"statusUpdate":{"taskId":"<id>","contextId":"<id>","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-04-30T12:00:00Z"}}}
            {"artifactUpdate":{"taskId":"<id>","contextId":"<id>","artifact":{"artifactId":"artifact-1","parts":[{"text":"Stream hello from TCK"}]},
                "lastChunk":true}}
            {"statusUpdate":{"taskId":"<id>","contextId":"<id>","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    let paused = client.ask("SendStreamingMessage", &message("tck-input-required"));
    assert_eq!(
        kinds(&paused.messages),
        ["task", "statusUpdate"],
        "§1.5 row 3: closed at the pause"
    );
    let id = paused.messages[0]["task"]["id"].clone();
    let subscribe = || client.stream("SubscribeToTask", &json!({"id": id}));
    let mut followers = [subscribe(), subscribe(), subscribe()];
    for follower in &mut followers {
        let first = client.next(follower).unwrap();
        assert_eq!(state(&first), Some("TASK_STATE_INPUT_REQUIRED"));
    }
    let [gone, mut one, mut other] = followers;
    drop(gone);
    client.ask("SendMessage", &follow_up("tck-complete-task", &id));
    let rest =
        |stream: &mut _| -> Vec<Value> { std::iter::from_fn(|| client.next(stream)).collect() };
    let remaining_events = rest(&mut one);
    assert_eq!(remaining_events.last().and_then(state), Some("TASK_STATE_COMPLETED"));
    assert_eq!(rest(&mut other), remaining_events, "O-03");
}

#[test]
fn forty_streams_on_one_connection_are_complete_and_in_order() {
    let (server, client) = start_agent(Profile::Streaming);
    let readers: Vec<_> = (0..40)
        .map(|_| client.stream("SendStreamingMessage", &message("tradepost-flood-500")))
        .map(|mut stream| {
            client.runtime.spawn(async move {
                let mut events = Vec::new();
                while let Some(message) = stream.message().await.unwrap() {
                    events.push(super::client::event(&message));
                }
                events
            })
        })
        .collect();
    for reader in readers {
        let events = client.runtime.block_on(reader).unwrap();
        let numbers: Vec<_> = events.iter().filter_map(number).collect();
        assert_eq!(numbers, (0..500).collect::<Vec<_>>());
        assert_eq!(events.last().and_then(state), Some("TASK_STATE_COMPLETED"));
    }
    server.forgets();
}

#[test]
fn a_slow_reader_receives_all_of_forty_thousand_events() {
    let (_server, client) = start_agent(Profile::Streaming);
    let mut stream = client.stream("SendStreamingMessage", &message("tradepost-flood-40000"));
    let (_sender, never) = std::sync::mpsc::channel::<()>();
    let mut next = 0;
    let mut last = None;
    while let Some(event) = client.next(&mut stream) {
        if let Some(number) = number(&event) {
            assert_eq!(number, next);
            next += 1;
            if number % 1_000 == 0 {
                let _ = never.recv_timeout(Duration::from_millis(10));
            }
        }
        last = state(&event).map(str::to_owned);
    }
    assert_eq!((next, last.as_deref()), (40_000, Some("TASK_STATE_COMPLETED")));
}

#[test]
fn e_14_a_stream_ended_by_the_server_says_so() {
    let (server, client) = start_agent(Profile::Streaming);
    let id = server.task("tck-input-required")["id"].clone();
    let mut stream = client.stream("SubscribeToTask", &json!({"id": id}));
    assert!(client.next(&mut stream).is_some());
    server.registry.close_streams();
    let status = client.runtime.block_on(stream.message()).unwrap_err();
    assert_eq!(status.code(), tonic::Code::Unavailable);
    expect!["this server stops; read the task, or subscribe to it again"]
        .assert_eq(status.message());
}

#[test]
fn a_broken_stream_ends_with_a_status_without_the_cause() {
    let (server, client) = start_agent(Profile::Streaming);
    let id = server.task("tck-input-required")["id"].clone();
    let database = rusqlite::Connection::open(server.database()).unwrap();
    database
        .execute_batch(
            "CREATE TRIGGER damage AFTER INSERT ON task_events WHEN NEW.kind = 1 BEGIN
             UPDATE task_events SET body = 'damaged'
             WHERE task_id = NEW.task_id AND seq = NEW.seq; END",
        )
        .unwrap();
    let follower = Client::connect(server.address);
    let subscription = std::thread::spawn({
        let id = id.clone();
        move || follower.ask("SubscribeToTask", &json!({"id": id}))
    });
    while server.live() == 0 {
        std::thread::yield_now();
    }
    server.ask(&[], "SendMessage", &follow_up("tck-complete-task", &id));
    let mut broken = subscription.join().unwrap();
    assert_eq!(kinds(&broken.messages), ["task"]);
    broken.messages.clear();
    check(
        "E-28",
        &broken,
        &expect![[r#"
            INTERNAL
            the agent failed; quote the error id to whoever runs it
            [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INTERNAL_ERROR","domain":"a2a-protocol.org","metadata":{"errorId":"err_<id>"}}]
        "#]],
    );
    let unary = client.ask("GetTask", &json!({"id": id}));
    check(
        "E-28: and so does a call",
        &unary,
        &expect![[r#"
            INTERNAL
            the agent failed; quote the error id to whoever runs it
            [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INTERNAL_ERROR","domain":"a2a-protocol.org","metadata":{"errorId":"err_<id>"}}]
        "#]],
    );
}
