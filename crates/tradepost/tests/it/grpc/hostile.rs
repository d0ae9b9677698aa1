//! Calls that no client of good will makes: each has a status, and most say why.

use crate::conformance::Profile;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use expect_test::{Expect, expect};
use tradepost_a2a::Operation;
use tradepost_a2a::protobuf::{self, schema};
use tradepost_a2a::status::RpcStatus;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::json;

use super::client::{Client, SERVICE, framed};
use super::{check, start_agent};
use crate::support::client as http1;
use crate::support::conformance::message;
use crate::support::layout;

const GRPC: (&str, &str) = ("content-type", "application/grpc");

const VERSION: (&str, &str) = ("a2a-version", "1.0");

/// The whole answer to a body, and every header that is about it.
fn answer(client: &Client, method: &str, headers: &[(&str, &str)], body: Vec<u8>) -> String {
    let headers = [&[GRPC, VERSION, ("te", "trailers")], headers].concat();
    let (status, headers, body) =
        client.http("POST", &format!("{SERVICE}/{method}"), &headers, body);
    let mut out = format!("{status}\n");
    for (name, value) in headers {
        if name == "grpc-status-details-bin" {
            let bytes = STANDARD_NO_PAD.decode(value).unwrap();
            let details = protobuf::read(&schema::STATUS, &bytes).unwrap();
            out.push_str(&format!("{}\n", layout::lay_out(&details["details"])));
        } else {
            out.push_str(&format!("{name}: {value}\n"));
        }
    }
    assert_eq!(body.len(), 0);
    out
}

fn row(client: &Client, name: &str, body: Vec<u8>, expected: &Expect) {
    assert!(!name.is_empty());
    expected.assert_eq(&answer(client, "GetTask", &[], body));
}

#[test]
fn bodies_that_are_not_one_message() {
    let (_server, client) = start_agent(Profile::Streaming);
    row(
        &client,
        "nothing",
        vec![],
        &expect![[r#"
            200
            content-type: application/grpc
            grpc-accept-encoding: identity
            grpc-status: 3
            grpc-message: send exactly one message
            [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_REQUEST","domain":"a2a-protocol.org"}]
            content-length: 0
        "#]],
    );
    row(
        &client,
        "half a prefix",
        vec![0, 0, 0],
        &expect![[r#"
            200
            content-type: application/grpc
            grpc-accept-encoding: identity
            grpc-status: 3
            grpc-message: send exactly one message
            [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_REQUEST","domain":"a2a-protocol.org"}]
            content-length: 0
        "#]],
    );
    row(
        &client,
        "less than it says",
        framed(0, 9, b"\x12\x01a"),
        &expect![[r#"
            200
            content-type: application/grpc
            grpc-accept-encoding: identity
            grpc-status: 3
            grpc-message: the message ended early
            [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_REQUEST","domain":"a2a-protocol.org"}]
            content-length: 0
        "#]],
    );
    let two = [framed(0, 3, b"\x12\x01a"), framed(0, 3, b"\x12\x01a")].concat();
    row(
        &client,
        "two messages",
        two,
        &expect![[r#"
            200
            content-type: application/grpc
            grpc-accept-encoding: identity
            grpc-status: 3
            grpc-message: send exactly one message
            [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_REQUEST","domain":"a2a-protocol.org"}]
            content-length: 0
        "#]],
    );
    row(
        &client,
        "compressed",
        framed(1, 3, b"\x12\x01a"),
        &expect![[r#"
            200
            content-type: application/grpc
            grpc-accept-encoding: identity
            grpc-status: 12
            grpc-message: this agent reads no compressed messages; send it as it is
            [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_REQUEST","domain":"a2a-protocol.org","metadata":{"acceptEncoding":"identity"}}]
            content-length: 0
        "#]],
    );
    row(
        &client,
        "an unknown flag",
        framed(7, 3, b"\x12\x01a"),
        &expect![[r#"
            200
            content-type: application/grpc
            grpc-accept-encoding: identity
            grpc-status: 3
            grpc-message: the message has an unknown flag
            [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_REQUEST","domain":"a2a-protocol.org"}]
            content-length: 0
        "#]],
    );
    row(
        &client,
        "garbage",
        framed(0, 3, b"\xff\xff\xff"),
        &expect![[r#"
            200
            content-type: application/grpc
            grpc-accept-encoding: identity
            grpc-status: 3
            grpc-message: the message is not valid protocol buffers
            [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"PARSE_ERROR","domain":"a2a-protocol.org"}]
            content-length: 0
        "#]],
    );
    row(
        &client,
        "not Unicode",
        framed(0, 3, b"\x12\x01\xff"),
        &expect![[r#"
            200
            content-type: application/grpc
            grpc-accept-encoding: identity
            grpc-status: 3
            grpc-message: the message has a text that is not valid UTF-8
            [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"PARSE_ERROR","domain":"a2a-protocol.org"}]
            content-length: 0
        "#]],
    );
    row(
        &client,
        "longer than memory",
        framed(0, u32::MAX, b""),
        &expect![[r#"
            200
            content-type: application/grpc
            grpc-accept-encoding: identity
            grpc-status: 3
            grpc-message: the message ended early
            [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_REQUEST","domain":"a2a-protocol.org"}]
            content-length: 0
        "#]],
    );
}

#[test]
fn e_27_a_message_is_no_larger_than_a_body() {
    let (server, client) = start_agent(Profile::Streaming);
    let limit = server.registry.settings.max_body_bytes;
    let of = |size: usize| {
        // A field that nobody knows: key, length in four bytes, bytes.
        let content = size - 5;
        let length = [content & 0x7f | 0x80, content >> 7 & 0x7f | 0x80, content >> 14];
        let mut bytes = vec![0xfa, 0x01];
        bytes.extend(length.map(|byte| u8::try_from(byte).unwrap()));
        bytes.resize(size, 0);
        bytes
    };
    assert_eq!(client.bytes(&[], "ListTasks", of(limit)).status, RpcStatus::Ok);
    check(
        "E-27",
        &client.bytes(&[], "ListTasks", of(limit + 1)),
        &expect![[r#"
            RESOURCE_EXHAUSTED
            the message is larger than the 262144 bytes that this agent accepts
            [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_REQUEST","domain":"a2a-protocol.org","metadata":{"maxBytes":"262144"}}]
        "#]],
    );
}

#[test]
fn http_says_what_is_no_call_at_all() {
    let (server, client) = start_agent(Profile::Streaming);
    let path = format!("{SERVICE}/ListTasks");
    for other in ["application/json", "application/grpc-web", "application/grpc+json"] {
        let (status, ..) =
            client.http("POST", &path, &[("content-type", other)], framed(0, 0, b""));
        assert_eq!(status, 415, "{other}");
    }
    assert_eq!(client.http("POST", &path, &[], framed(0, 0, b"")).0, 415);
    let (status, headers, body) = client.http("GET", &path, &[GRPC], "");
    assert!(headers.contains(&("allow".to_owned(), "POST".to_owned())));
    expect![[r#"
        405 {"error":{"code":405,"status":"UNIMPLEMENTED","message":"call methods with POST"}}
    "#]]
    .assert_eq(&format!("{status} {}\n", String::from_utf8_lossy(&body)));
    let old = http1::request(server.address, "POST", &path, &[GRPC], &framed(0, 0, b""));
    expect![[r#"
        505
        {"error":{"code":505,"status":"UNIMPLEMENTED","message":"gRPC needs HTTP/2"}}
    "#]]
    .assert_eq(&old.snapshot());
    let proto = [("content-type", "application/grpc+proto"), VERSION];
    let (status, headers, body) = client.http("POST", &path, &proto, framed(0, 0, b""));
    assert!(headers.contains(&("grpc-status".to_owned(), "0".to_owned())));
    assert_eq!((status, &body[..]), (200, &[0, 0, 0, 0, 2, 0x18, 50][..]), "a page of 50");
}

#[test]
fn methods_that_there_are_not() {
    let (_server, client) = start_agent(Profile::Streaming);
    let body = || framed(0, 0, b"");
    expect![[r#"
        200
        content-type: application/grpc
        grpc-accept-encoding: identity
        grpc-status: 12
        grpc-message: nothing is here
        content-length: 0
    "#]]
    .assert_eq(&answer(&client, "message/send", &[], body()));
    expect![[r#"
        200
        content-type: application/grpc
        grpc-accept-encoding: identity
        grpc-status: 12
        grpc-message: method not found; read A2A %C2%A710.3 for those that there are
        [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"METHOD_NOT_FOUND","domain":"a2a-protocol.org"}]
        content-length: 0
    "#]].assert_eq(&answer(&client, "Unheard", &[], body()));
}

#[test]
fn deadlines_are_kept_and_wrong_ones_refused() {
    let (_server, client) = start_agent(Profile::Streaming);
    let send =
        protobuf::write(&schema::SEND_MESSAGE_REQUEST, &message("tck-long-running")).unwrap();
    let body = framed(0, u32::try_from(send.len()).unwrap(), &send);
    let late = |method: &str| answer(&client, method, &[("grpc-timeout", "50m")], body.clone());
    expect![[r#"
        200
        content-type: application/grpc
        grpc-accept-encoding: identity
        grpc-status: 4
        grpc-message: the deadline of the call has passed
        content-length: 0
    "#]]
    .assert_eq(&late("SendMessage"));
    // The stream has begun by then: its events stay, and the status says that it was too late.
    let headers = [GRPC, VERSION, ("grpc-timeout", "900m")];
    let path = format!("{SERVICE}/SendStreamingMessage");
    let (status, trailers, sent) = client.http("POST", &path, &headers, body.clone());
    assert!(status == 200 && sent.len() > 100);
    assert!(trailers.contains(&("grpc-status".to_owned(), "4".to_owned())), "{trailers:?}");
    let wrong = answer(&client, "ListTasks", &[("grpc-timeout", "soon")], framed(0, 0, b""));
    expect![[r#"
        200
        content-type: application/grpc
        grpc-accept-encoding: identity
        grpc-status: 3
        grpc-message: grpc-timeout must be up to eight digits and a unit
        [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_REQUEST","domain":"a2a-protocol.org"}]
        content-length: 0
    "#]].assert_eq(&wrong);
}

#[test]
fn a_message_nests_no_deeper_than_json_may() {
    let (_server, client) = start_agent(Profile::Streaming);
    let send = |depth: usize| {
        let mut data = json!("core");
        for _ in 0..depth {
            data = json!([data]);
        }
        let mut params = message("m");
        params["message"]["parts"][0] = json!({"data": data});
        params
    };
    // Around the data are the request, the message, its parts and the part; and around a task's
    // two more, so that our own reader would refuse the answer to the deepest.
    let deep = client.ask("SendMessage", &send(58));
    let mut data = &deep.one()["task"]["history"][0]["parts"][0]["data"];
    while let Some(inner) = data.get(0) {
        data = inner;
    }
    assert_eq!(data, "core");
    let mut deepest = send(60);
    deepest["message"]["messageId"] = json!("tck-message-response");
    assert_eq!(client.ask("SendMessage", &deepest).status, RpcStatus::Ok);
    check(
        "E-27",
        &client.ask("SendMessage", &send(61)),
        &expect![[r#"
        INVALID_ARGUMENT
        the message nests deeper than 64 levels
        [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"PARSE_ERROR","domain":"a2a-protocol.org"}]
    "#]],
    );
    // A hundred times as deep; our own writer recurses, so it goes no further.
    let deeper = client.ask("SendMessage", &send(600));
    assert_eq!(deeper.message, "the message nests deeper than 64 levels");
}

#[test]
fn random_bytes_are_refused_or_understood_and_the_server_lives() {
    let (_server, client) = start_agent(Profile::Streaming);
    let mut random = fastrand::Rng::with_seed(20_260_430);
    for round in 0..400 {
        let method = Operation::NAMES[round % Operation::NAMES.len()];
        let bytes: Vec<u8> = (0..random.usize(0..60)).map(|_| random.u8(..)).collect();
        let known = [
            RpcStatus::Ok,
            RpcStatus::InvalidArgument,
            RpcStatus::NotFound,
            RpcStatus::FailedPrecondition,
        ];
        let outcome = client.bytes(&[], method, bytes.clone());
        assert!(known.contains(&outcome.status), "{method} {bytes:?}: {outcome:?}");
        let (status, ..) = client.http("POST", &format!("{SERVICE}/{method}"), &[GRPC], bytes);
        assert_eq!(status, 200);
    }
    assert_eq!(client.ask("ListTasks", &json!({})).status, RpcStatus::Ok);
}
