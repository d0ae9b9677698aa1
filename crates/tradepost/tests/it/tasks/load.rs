//! Many streams, long streams and slow readers: nothing is lost, and nothing is kept.

use std::time::Duration;

use crate::conformance::Profile;
use tradepost_document::json::json;

use crate::support::conformance::{Event, Stream, message, start_conformance};

/// The numbers that a flood's artifacts carry.
fn numbers(events: &[Event]) -> Vec<u64> {
    let number = |event: &Event| {
        event.result.pointer("/artifactUpdate/artifact/parts/0/data/number")?.as_u64()
    };
    events.iter().filter_map(number).collect()
}

fn pause(duration: Duration) {
    let (_sender, receiver) = std::sync::mpsc::channel::<()>();
    let _ = receiver.recv_timeout(duration);
}

#[test]
fn forty_streams_at_once_are_complete_and_in_order() {
    let server = start_conformance(Profile::Streaming);
    let address = server.address;
    let readers: Vec<_> = (0..40)
        .map(|_| {
            std::thread::spawn(move || {
                let params = message("tradepost-flood-500");
                Stream::open(address, &[], "SendStreamingMessage", &params).rest()
            })
        })
        .collect();
    for reader in readers {
        let events = reader.join().unwrap();
        assert_eq!(numbers(&events), (0..500).collect::<Vec<_>>());
        assert_eq!(events.last().unwrap().state(), Some("TASK_STATE_COMPLETED"));
    }
    server.forgets();
}

#[test]
fn a_slow_reader_receives_all_of_forty_thousand_events() {
    let server = start_conformance(Profile::Streaming);
    let params = message("tradepost-flood-40000");
    let mut stream = server.stream(&[], "SendStreamingMessage", &params);
    let mut next = 0;
    let mut last = None;
    while let Some(event) = stream.next() {
        for number in numbers(std::slice::from_ref(&event)) {
            assert_eq!(number, next);
            next += 1;
            if number % 1_000 == 0 {
                pause(Duration::from_millis(10));
            }
        }
        last = event.state().map(str::to_owned);
    }
    assert_eq!((next, last.as_deref()), (40_000, Some("TASK_STATE_COMPLETED")));
}

#[test]
fn two_hundred_idle_subscriptions_wait_and_are_forgotten() {
    let server = start_conformance(Profile::Streaming);
    let id = server.task("tck-input-required")["id"].clone();
    let subscribe = || {
        let mut stream = server.stream(&[], "SubscribeToTask", &json!({"id": id}));
        assert_eq!(stream.next().unwrap().state(), Some("TASK_STATE_INPUT_REQUIRED"));
        stream
    };
    let mut streams: Vec<_> = (0..200).map(|_| subscribe()).collect();
    assert_eq!(server.live(), 1);
    assert_eq!(server.task("tck-complete-task")["status"]["state"], "TASK_STATE_COMPLETED");
    // Half of them go away, the others hear how it ends.
    streams.truncate(100);
    server.result("CancelTask", &json!({"id": id}));
    for stream in streams {
        assert_eq!(stream.rest().last().unwrap().state(), Some("TASK_STATE_CANCELED"));
    }
    server.forgets();
}
