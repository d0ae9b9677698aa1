//! A part that the card does not claim to read is refused before the agent sees it.

use expect_test::expect;
use tradepost_document::json::{Value, json};
use tradepost_server::a2a::Operation;
use tradepost_server::agent::Binding;
use tradepost_server::prelude::*;

use crate::client::shown;
use crate::scripted::{Running, start_with};

async fn start(modes: &'static [&'static str]) -> Running {
    let plan = |_: &str| Ok(MessagePlan::Answer(vec![Part::text("read")]));
    start_with(
        |_| None,
        plan,
        |card| {
            card.default_input_modes = modes.iter().map(|mode| (*mode).to_owned()).collect();
            card.skills.clear();
        },
    )
    .await
}

fn message(parts: Value) -> Value {
    json!({"message": {"messageId": "1", "role": "ROLE_USER", "parts": parts}})
}

#[tokio::test]
async fn every_unread_part_is_named_on_every_binding() {
    let running = start(&["text/plain", "application/json"]).await;
    let parts = json!([
        {"text": "a"},
        {"raw": "AAAA", "mediaType": "image/png"},
        {"url": "https://a.example/x.pdf", "mediaType": "application/pdf"},
    ]);
    for (binding, expected) in [
        (
            Binding::JsonRpc,
            expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"a part has a media type that this agent cannot read: message.parts[1], message.parts[2]","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"CONTENT_TYPE_NOT_SUPPORTED","domain":"a2a-protocol.org","metadata":{"fields":"message.parts[1], message.parts[2]","supportedMediaTypes":"text/plain, application/json"}}]}}"#]],
        ),
        (
            Binding::HttpJson,
            expect![[r#"
            400
            {"error":{"code":400,"status":"INVALID_ARGUMENT","message":"a part has a media type that this agent cannot read: message.parts[1], message.parts[2]","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"CONTENT_TYPE_NOT_SUPPORTED","domain":"a2a-protocol.org","metadata":{"fields":"message.parts[1], message.parts[2]","supportedMediaTypes":"text/plain, application/json"}}]}}"#]],
        ),
        (
            Binding::Grpc,
            expect![[r#"
            grpc 3 a part has a media type that this agent cannot read: message.parts[1], message.parts[2]
            [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"CONTENT_TYPE_NOT_SUPPORTED","domain":"a2a-protocol.org","metadata":{"fields":"message.parts[1], message.parts[2]","supportedMediaTypes":"text/plain, application/json"}}]"#]],
        ),
    ] {
        for operation in [Operation::SendMessage, Operation::SendStreamingMessage] {
            let params = message(parts.clone());
            let answer = running.client.ask_full(binding, operation, params).await;
            expected.assert_eq(&shown(&answer));
        }
    }
}

#[tokio::test]
async fn a_part_is_read_when_the_card_lists_its_type() {
    let text = json!({"text": "a"});
    let data = json!({"data": {"a": 1}});
    let image = json!({"raw": "AAAA", "mediaType": "image/png"});
    let file = json!({"url": "https://a.example/x"});
    let typed = |media_type: &str| json!({"text": "a", "mediaType": media_type});
    for (modes, part, is_read) in [
        (&["text/plain"][..], &text, true),
        (&["text/plain"], &data, false),
        (&["text/plain"], &image, false),
        (&["text/plain"], &file, true),
        (&["text/plain"], &typed("Text/Plain; charset=utf-8"), true),
        (&["text/plain"], &typed(""), true),
        (&["text/plain"], &typed("text/html"), false),
        (&["application/json"], &text, false),
        (&["application/json"], &data, true),
        (&["image/*"], &image, true),
        (&["*/*"], &image, true),
        (&[], &image, true),
    ] {
        let running = start(modes).await;
        for binding in [Binding::JsonRpc, Binding::HttpJson, Binding::Grpc] {
            let params = message(json!([part]));
            let answer = running.client.ask(binding, Operation::SendMessage, params).await;
            assert_eq!(answer.is_ok(), is_read, "{modes:?} {part} {binding:?}: {answer:?}");
        }
    }
}
