//! What an agent refuses, as each binding writes it.

use std::time::Duration;

use expect_test::{Expect, expect};
use tradepost_server::a2a::Operation;
use tradepost_server::a2a::error::{A2aCode, A2aRefusal};
use tradepost_server::agent::Binding;
use tradepost_server::fault::InternalError;
use tradepost_server::prelude::*;

use crate::client::shown;
use crate::scripted::{Running, say, start_with};

fn refused(code: A2aCode) -> A2aRefusal {
    A2aRefusal::new(code, "not like this")
}

fn script(text: &str) -> Option<AgentOutcome> {
    let store = || InternalError::new("reading a table", "password=hunter2");
    Some(match text {
        "permission" => AgentOutcome::Protocol(refused(A2aCode::PermissionDenied)),
        "credential" => AgentOutcome::Protocol(refused(A2aCode::Unauthenticated)),
        "other credential" => {
            let challenge = "DPoP algs=\"ES256\"";
            AgentOutcome::Protocol(refused(A2aCode::Unauthenticated).with_challenge(challenge))
        }
        "often" => AgentOutcome::Protocol(refused(A2aCode::ResourceExhausted)),
        "often, for a while" => {
            let wait = Duration::from_millis(1_500);
            AgentOutcome::Protocol(refused(A2aCode::ResourceExhausted).with_wait(wait))
        }
        "broken" => AgentOutcome::Broken(store()),
        "broken for a moment" => AgentOutcome::Broken(store().transient()),
        "broken for a minute" => {
            AgentOutcome::Broken(store().transient_for(Duration::from_mins(1)))
        }
        _ => return None,
    })
}

async fn start() -> Running {
    start_with(script, |_| Ok(MessagePlan::Answer(vec![Part::text("x")])), |_| {}).await
}

/// What each binding says, in its order: JSON-RPC, HTTP+JSON, gRPC.
async fn check(text: &str, expected: [Expect; 3]) {
    let running = start().await;
    for (binding, expected) in
        [Binding::JsonRpc, Binding::HttpJson, Binding::Grpc].into_iter().zip(expected)
    {
        let operation = Operation::SendMessage;
        let answer = running.client.ask_full(binding, operation, say(text)).await;
        expected.assert_eq(&shown(&answer));
        let streamed = Operation::SendStreamingMessage;
        let streamed = running.client.ask_full(binding, streamed, say(text)).await;
        assert_eq!(shown(&answer), shown(&streamed), "a stream that does not begin");
    }
}

#[tokio::test]
async fn a_denied_permission_says_its_reason() {
    check("permission", [expect![[r#"
        403
        {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"not like this","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"PERMISSION_DENIED","domain":"a2a-protocol.org","metadata":{}}]}}"#]], expect![[r#"
        403
        {"error":{"code":403,"status":"PERMISSION_DENIED","message":"not like this","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"PERMISSION_DENIED","domain":"a2a-protocol.org","metadata":{}}]}}"#]], expect![[r#"
        grpc 7 not like this
        [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"PERMISSION_DENIED","domain":"a2a-protocol.org"}]"#]]]).await;
}

#[tokio::test]
async fn a_missing_credential_says_how_to_authenticate() {
    check("credential", [expect![[r#"
        401
        www-authenticate: Bearer realm="scripted"
        {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"not like this","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNAUTHENTICATED","domain":"a2a-protocol.org","metadata":{"challenge":"Bearer realm=\"scripted\""}}]}}"#]], expect![[r#"
        401
        www-authenticate: Bearer realm="scripted"
        {"error":{"code":401,"status":"UNAUTHENTICATED","message":"not like this","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNAUTHENTICATED","domain":"a2a-protocol.org","metadata":{"challenge":"Bearer realm=\"scripted\""}}]}}"#]], expect![[r#"
        grpc 16 not like this
        www-authenticate: Bearer realm="scripted"
        [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNAUTHENTICATED","domain":"a2a-protocol.org","metadata":{"challenge":"Bearer realm=\"scripted\""}}]"#]]]).await;
}

#[tokio::test]
async fn an_agent_can_ask_for_another_way_to_authenticate() {
    check("other credential", [expect![[r#"
        401
        www-authenticate: DPoP algs="ES256"
        {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"not like this","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNAUTHENTICATED","domain":"a2a-protocol.org","metadata":{"challenge":"DPoP algs=\"ES256\""}}]}}"#]], expect![[r#"
        401
        www-authenticate: DPoP algs="ES256"
        {"error":{"code":401,"status":"UNAUTHENTICATED","message":"not like this","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNAUTHENTICATED","domain":"a2a-protocol.org","metadata":{"challenge":"DPoP algs=\"ES256\""}}]}}"#]], expect![[r#"
        grpc 16 not like this
        www-authenticate: DPoP algs="ES256"
        [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNAUTHENTICATED","domain":"a2a-protocol.org","metadata":{"challenge":"DPoP algs=\"ES256\""}}]"#]]]).await;
}

#[tokio::test]
async fn a_caller_that_comes_too_often_hears_the_reason() {
    check("often", [expect![[r#"
        429
        {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"not like this","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RESOURCE_EXHAUSTED","domain":"a2a-protocol.org","metadata":{}}]}}"#]], expect![[r#"
        429
        {"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"not like this","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RESOURCE_EXHAUSTED","domain":"a2a-protocol.org","metadata":{}}]}}"#]], expect![[r#"
        grpc 8 not like this
        [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RESOURCE_EXHAUSTED","domain":"a2a-protocol.org"}]"#]]]).await;
}

#[tokio::test]
async fn a_wait_is_retry_info_on_every_binding() {
    check("often, for a while", [expect![[r#"
        429
        retry-after: 2
        {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"not like this","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RESOURCE_EXHAUSTED","domain":"a2a-protocol.org","metadata":{"retryAfterSeconds":"2"}},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.500s"}]}}"#]], expect![[r#"
        429
        retry-after: 2
        {"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"not like this","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RESOURCE_EXHAUSTED","domain":"a2a-protocol.org","metadata":{"retryAfterSeconds":"2"}},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.500s"}]}}"#]], expect![[r#"
        grpc 8 not like this
        [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RESOURCE_EXHAUSTED","domain":"a2a-protocol.org","metadata":{"retryAfterSeconds":"2"}},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.5s"}]"#]]]).await;
}

#[tokio::test]
async fn a_permanent_fault_names_no_wait() {
    check("broken", [expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the agent failed; quote the error id to whoever runs it","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INTERNAL_ERROR","domain":"a2a-protocol.org","metadata":{"errorId":"err_<id>"}}]}}"#]], expect![[r#"
        500
        {"error":{"code":500,"status":"INTERNAL","message":"the agent failed; quote the error id to whoever runs it","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INTERNAL_ERROR","domain":"a2a-protocol.org","metadata":{"errorId":"err_<id>"}}]}}"#]], expect![[r#"
        grpc 13 the agent failed; quote the error id to whoever runs it
        [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INTERNAL_ERROR","domain":"a2a-protocol.org","metadata":{"errorId":"err_<id>"}}]"#]]]).await;
}

#[tokio::test]
async fn a_passing_fault_says_when_to_come_back() {
    check("broken for a moment", [expect![[r#"
        200
        retry-after: 5
        {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the agent cannot answer now; send the same request again later","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNAVAILABLE","domain":"a2a-protocol.org","metadata":{"errorId":"err_<id>","retryAfterSeconds":"5"}},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"5s"}]}}"#]], expect![[r#"
        503
        retry-after: 5
        {"error":{"code":503,"status":"UNAVAILABLE","message":"the agent cannot answer now; send the same request again later","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNAVAILABLE","domain":"a2a-protocol.org","metadata":{"errorId":"err_<id>","retryAfterSeconds":"5"}},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"5s"}]}}"#]], expect![[r#"
        grpc 14 the agent cannot answer now; send the same request again later
        [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNAVAILABLE","domain":"a2a-protocol.org","metadata":{"errorId":"err_<id>","retryAfterSeconds":"5"}},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"5s"}]"#]]]).await;
}

#[tokio::test]
async fn an_agent_can_say_how_long_a_fault_lasts() {
    check("broken for a minute", [expect![[r#"
        200
        retry-after: 60
        {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the agent cannot answer now; send the same request again later","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNAVAILABLE","domain":"a2a-protocol.org","metadata":{"errorId":"err_<id>","retryAfterSeconds":"60"}},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"60s"}]}}"#]], expect![[r#"
        503
        retry-after: 60
        {"error":{"code":503,"status":"UNAVAILABLE","message":"the agent cannot answer now; send the same request again later","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNAVAILABLE","domain":"a2a-protocol.org","metadata":{"errorId":"err_<id>","retryAfterSeconds":"60"}},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"60s"}]}}"#]], expect![[r#"
        grpc 14 the agent cannot answer now; send the same request again later
        [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNAVAILABLE","domain":"a2a-protocol.org","metadata":{"errorId":"err_<id>","retryAfterSeconds":"60"}},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"60s"}]"#]]]).await;
}

#[tokio::test]
async fn an_unknown_method_suggests_the_one_that_is_meant() {
    let running = start().await;
    let ask = async |method: &str| {
        shown(&running.client.send_json_rpc(method, tradepost_document::json::json!({})).await)
    };
    expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not found; did you mean GetTask?","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"METHOD_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"suggestion":"GetTask"}}]}}"#]].assert_eq(&ask("getTask").await);
    expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not found; A2A 1.0 calls it GetTask","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"METHOD_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"suggestion":"GetTask"}}]}}"#]].assert_eq(&ask("tasks/get").await);
    expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not found; use SendMessage"}}"#]].assert_eq(&ask("tools/call").await);
    let by_grpc = running.client.send_grpc("getTask", b"").await;
    expect![[r#"
        grpc 12 method not found; did you mean GetTask?
        [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"METHOD_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"suggestion":"GetTask"}}]"#]].assert_eq(&shown(&by_grpc));
}
