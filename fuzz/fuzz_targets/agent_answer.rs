//! What an agent of any kind answers: a stream of bytes becomes the same events however it is cut, and
//! a task that is put together from them stays the one that it is, and bounded.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tradepost_client::agent::{AgentReply, MAX_ARTIFACTS};
use tradepost_client::events::EventReader;

fuzz_target!(|input: (u16, &[u8])| {
    let (cut, bytes) = input;
    let mut whole = EventReader::default();
    whole.feed(bytes);
    let whole: Vec<_> = std::iter::from_fn(|| whole.take()).collect();
    let (first, rest) = bytes.split_at(usize::from(cut).min(bytes.len()));
    let mut pieces = EventReader::default();
    pieces.feed(first);
    pieces.feed(rest);
    assert_eq!(whole, std::iter::from_fn(|| pieces.take()).collect::<Vec<_>>());

    let mut said = whole.iter().filter_map(|data| tradepost_document::json::from_slice(data).ok());
    let Some(Ok(AgentReply::Task(mut task))) = said.next().map(AgentReply::from_result) else {
        return;
    };
    let id = task.id.clone();
    assert!(!id.is_empty());
    for event in said {
        let _ = task.hear(event);
    }
    assert_eq!(task.id, id);
    assert!(task.artifacts.len() <= MAX_ARTIFACTS);
    assert_eq!(task.document()["id"], id);
    let _ = task.failure().map(|failure| failure.to_string());
});
