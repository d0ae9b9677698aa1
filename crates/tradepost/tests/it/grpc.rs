//! The gRPC binding: every rule of requirements a2a.md §1.3 that applies to it, against the
//! conformance agent, by tonic's client, with whole answers.

use crate::conformance::Profile;
use client::{Answer, Client, SERVICE};
use expect_test::{Expect, expect};
use tradepost_a2a::Operation;
use tradepost_a2a::status::RpcStatus;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};

use crate::support::conformance::{
    ConformanceServer, at_once, follow_up, message, start_conformance,
};
use crate::support::{start, with};

mod callers;
mod client;
mod hostile;
mod push;
mod streams;
mod typed;

const REQUIRED: &str = "urn:a2a:tck:required-extension";

fn start_agent(profile: Profile) -> (ConformanceServer, Client) {
    let server = start_conformance(profile);
    let client = Client::connect(server.address);
    (server, client)
}

#[track_caller]
fn check(row: &str, answer: &Answer, expected: &Expect) {
    assert!(!row.is_empty());
    expected.assert_eq(&answer.snapshot());
}

fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().unwrap_or_default()
}

/// Covers O-05 too.
#[test]
fn o_04_a_message_waits_for_its_task_or_not() {
    let (_server, client) = start_agent(Profile::Streaming);
    check(
        "O-04: waits",
        &client.ask("SendMessage", &message("tck-artifact-text")),
        &expect![[r#"
            OK

            {"task":{"id":"<id>","contextId":"<id>","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-04-30T12:00:00Z"},
                "artifacts":[{"artifactId":"artifact-1","parts":[{"text":"Generated text content"}]}],
                "history":[{"messageId":"tck-artifact-text","contextId":"<id>","taskId":"<id>","role":"ROLE_USER","parts":[{"text":"hello"}]}]}}
        "#]],
    );
    check(
        "O-10",
        &client.ask("SendMessage", &message("tck-message-response")),
        &expect![[r#"
            OK

            {"message":{"messageId":"<id>","contextId":"<id>","role":"ROLE_AGENT","parts":[{"text":"Direct message response"}]}}
        "#]],
    );
    let none = with(message("m"), &[("/configuration", json!({"historyLength": 0}))]);
    check(
        "O-05",
        &client.ask("SendMessage", &none),
        &expect![[r#"
            OK

            {"task":{"id":"<id>","contextId":"<id>",
                "status":{"state":"TASK_STATE_COMPLETED",
                  "message":{"messageId":"<id>","contextId":"<id>","taskId":"<id>","role":"ROLE_AGENT","parts":[{"text":"Hello from TCK"}]},
                  "timestamp":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    let begun = client.ask("SendMessage", &at_once("tck-cancel"));
    assert!(["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"].contains(&state(&begun.one()["task"])));
    let id = &begun.one()["task"]["id"];
    let canceled = client.ask("CancelTask", &json!({"id": id}));
    assert_eq!(state(canceled.one()), "TASK_STATE_CANCELED");
    let again = client.ask("CancelTask", &json!({"id": id}));
    assert_eq!(again.one(), canceled.one(), "E-22, §1.5 row 13");
}

#[test]
fn o_06_and_a_06_pages_of_tasks() {
    let (server, client) = start_agent(Profile::Streaming);
    let ids: Vec<Value> = ["tck-artifact-data", "b", "tck-input-required"]
        .map(|id| server.task(id)["id"].clone())
        .into();
    let first = client.ask("ListTasks", &json!({"pageSize": 2})).one().clone();
    let listed = |page: &Value| -> Vec<Value> {
        page["tasks"].as_array().unwrap().iter().map(|task| task["id"].clone()).collect()
    };
    assert_eq!(listed(&first), [ids[2].clone(), ids[1].clone()]);
    assert_eq!((&first["pageSize"], &first["totalSize"]), (&json!(2), &json!(3)));
    let next = json!({"pageSize": 2, "pageToken": first["nextPageToken"],
                      "includeArtifacts": true, "historyLength": 0});
    check(
        "O-06: the last page",
        &client.ask("ListTasks", &next),
        &expect![[r#"
            OK

            {"tasks":[
                {"id":"<id>","contextId":"<id>","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-04-30T12:00:00Z"},
                  "artifacts":[{"artifactId":"artifact-1","parts":[{"data":{"key":"value","count":42}}]}]}],"pageSize":2,"totalSize":3}
        "#]],
    );
    let waiting = json!({"status": "TASK_STATE_INPUT_REQUIRED",
                         "statusTimestampAfter": "2026-04-30T12:00:00Z"});
    assert_eq!(listed(client.ask("ListTasks", &waiting).one()), [ids[2].clone()]);
    let later = json!({"statusTimestampAfter": "2026-04-30T12:00:00.001Z"});
    assert_eq!(
        client.ask("ListTasks", &later).one(),
        &json!({"pageSize": 50}),
        "defaults are unset"
    );
}

#[test]
fn o_08_a_task_is_one_document_on_every_binding() {
    let (server, client) = start_agent(Profile::Streaming);
    for kind in
        ["tck-artifact-file", "tck-artifact-file-url", "tck-artifact-data", "tck-reject-task"]
    {
        let task = server.task(kind);
        let on_grpc = client.ask("GetTask", &json!({"id": task["id"]})).one().clone();
        // Milliseconds are written with three digits where JSON is written.
        let text = on_grpc.to_string().replace("00:00Z", "00:00.000Z");
        // An empty list is no list there.
        assert_eq!(text, task.to_string().replace(r#""artifacts":[],"#, ""));
    }
}

#[test]
fn e_03_every_possible_error_of_a2a_has_its_row() {
    let (server, client) = start_agent(Profile::Streaming);
    let done = json!({"id": server.task("done")["id"]});
    let waits = server.task("tck-input-required")["id"].clone();
    check(
        "E-12",
        &client.ask("GetTask", &json!({"id": "absent"})),
        &expect![[r#"
            NOT_FOUND
            the task does not exist, or is not yours
            [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"taskId":"absent"}}]
        "#]],
    );
    check(
        "E-18",
        &client.ask("SendMessage", &follow_up("x", &json!("absent"))),
        &expect![[r#"
            NOT_FOUND
            the task does not exist, or is not yours
            [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"taskId":"absent"}}]
        "#]],
    );
    check(
        "E-22",
        &client.ask("CancelTask", &done),
        &expect![[r#"
            FAILED_PRECONDITION
            the task has ended and cannot be canceled
            [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_CANCELABLE","domain":"a2a-protocol.org","metadata":{"taskId":"<id>"}}]
        "#]],
    );
    check(
        "E-17",
        &client.ask("SendMessage", &follow_up("x", &done["id"])),
        &expect![[r#"
            FAILED_PRECONDITION
            the task has ended and takes no further message
            [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNSUPPORTED_OPERATION","domain":"a2a-protocol.org"}]
        "#]],
    );
    check(
        "E-17",
        &client.ask("SendStreamingMessage", &follow_up("x", &done["id"])),
        &expect![[r#"
            FAILED_PRECONDITION
            the task has ended and takes no further message
            [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNSUPPORTED_OPERATION","domain":"a2a-protocol.org"}]
        "#]],
    );
    check(
        "E-21",
        &client.ask("SubscribeToTask", &done),
        &expect![[r#"
            FAILED_PRECONDITION
            the task has ended; read it with GetTask
            [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNSUPPORTED_OPERATION","domain":"a2a-protocol.org"}]
        "#]],
    );
    check(
        "E-21",
        &client.ask("SubscribeToTask", &json!({"id": "absent"})),
        &expect![[r#"
            NOT_FOUND
            the task does not exist, or is not yours
            [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"taskId":"absent"}}]
        "#]],
    );
    let wrong_context = with(follow_up("x", &waits), &[("/message/contextId", json!("c-other"))]);
    check(
        "E-19",
        &client.ask("SendMessage", &wrong_context),
        &expect![[r#"
            INVALID_ARGUMENT
            Invalid parameters: message.contextId: must be the task's context, or absent
            [
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"message.contextId"}},
              {"@type":"type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations":[{"field":"message.contextId","description":"must be the task's context, or absent"}]}]
        "#]],
    );
    let strange = with(message("m"), &[("/message/parts/0/mediaType", json!("application/x-y"))]);
    check(
        "E-24",
        &client.ask("SendMessage", &strange),
        &expect![[r#"
            INVALID_ARGUMENT
            a part has a media type that this agent cannot read: message.parts[0]
            [
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"CONTENT_TYPE_NOT_SUPPORTED","domain":"a2a-protocol.org",
                "metadata":{"fields":"message.parts[0]","supportedMediaTypes":"text/plain, application/json"}}]
        "#]],
    );
    check(
        "D-12",
        &client.ask("GetExtendedAgentCard", &json!({})),
        &expect![[r#"
            FAILED_PRECONDITION
            Operation is not supported
            [
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNSUPPORTED_OPERATION","domain":"a2a-protocol.org",
                "metadata":{"operation":"GetExtendedAgentCard"}}]
        "#]],
    );
    check(
        "V-03",
        &client.call(&[("a2a-version", "0.3")], "ListTasks", &json!({})),
        &expect![[r#"
            FAILED_PRECONDITION
            this agent speaks A2A 1.0 only; send A2A-Version: 1.0
            [
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"VERSION_NOT_SUPPORTED","domain":"a2a-protocol.org",
                "metadata":{"supportedVersions":"1.0"}}]
        "#]],
    );
    let (_strict, strict) = start_agent(Profile::Strict);
    check(
        "X-01",
        &strict.ask("SendMessage", &message("m")),
        &expect![[r#"
            FAILED_PRECONDITION
            name the extension urn:a2a:tck:required-extension in A2A-Extensions
            [
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"EXTENSION_SUPPORT_REQUIRED","domain":"a2a-protocol.org",
                "metadata":{"extensionUri":"urn:a2a:tck:required-extension"}}]
        "#]],
    );
}

#[test]
fn e_16_what_is_not_offered_is_refused_before_parameters() {
    let (_server, client) = start_agent(Profile::Strict);
    let on = [("a2a-extensions", REQUIRED)];
    let outcome = |method: &str| {
        let answer = client.call(&on, method, &json!({}));
        (answer.status, answer.reason().to_owned())
    };
    let failed = |reason: &str| (RpcStatus::FailedPrecondition, reason.to_owned());
    for method in ["SendStreamingMessage", "SubscribeToTask", "GetExtendedAgentCard"] {
        assert_eq!(outcome(method), failed("UNSUPPORTED_OPERATION"), "{method}");
    }
    for method in Operation::NAMES.iter().filter(|name| name.contains("Push")) {
        assert_eq!(outcome(method), failed("PUSH_NOTIFICATION_NOT_SUPPORTED"), "{method}");
    }
}

/// Covers E-11, E-25 and E-26 too.
#[test]
fn e_10_wrong_fields_are_named_as_on_other_bindings() {
    let (server, client) = start_agent(Profile::Streaming);
    let bad = json!({
        "message": {"role": "ROLE_AGENT", "parts": [{}, {"text": "x"}, {"mediaType": "text/plain"}]},
        "configuration": {"historyLength": -1},
    });
    let answer = client.ask("SendMessage", &bad);
    check(
        "E-25",
        &answer,
        &expect![[r#"
            INVALID_ARGUMENT
            Invalid parameters: message.role: must be ROLE_USER in a request; message.parts[0]: must have exactly one of text, raw, url, data; message.parts[2]: must have exactly one of text, raw, url, data; message.messageId: missing required property "messageId"; configuration.historyLength: must be >= 0
            [
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org",
                "metadata":{"fields":"message.role, message.parts[0], message.parts[2], message.messageId, configuration.historyLength"}},
              {"@type":"type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations":[
                  {"field":"message.role","description":"must be ROLE_USER in a request"},
                  {"field":"message.parts[0]","description":"must have exactly one of text, raw, url, data"},
                  {"field":"message.parts[2]","description":"must have exactly one of text, raw, url, data"},
                  {"field":"message.messageId","description":"missing required property \"messageId\""},
                  {"field":"configuration.historyLength","description":"must be >= 0"}]}]
        "#]],
    );
    let other = server.ask(&[], "SendMessage", &bad).json();
    assert_eq!(answer.details["details"], other["error"]["data"], "one reader");
    check(
        "E-25: nothing at all",
        &client.ask("SendMessage", &json!({})),
        &expect![[r#"
            INVALID_ARGUMENT
            Invalid parameters: message: missing required property "message"
            [
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"message"}},
              {"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"message","description":"missing required property \"message\""}]}]
        "#]],
    );
    check(
        "E-25: the one field",
        &client.ask("GetTask", &json!({"id": ""})),
        &expect![[r#"
            INVALID_ARGUMENT
            Invalid parameters: id: missing required property "id"
            [
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"id"}},
              {"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"id","description":"missing required property \"id\""}]}]
        "#]],
    );
    let list = json!({"pageSize": 101, "historyLength": -1, "status": "99", "pageToken": "x"});
    check(
        "E-26",
        &client.ask("ListTasks", &list),
        &expect![[r#"
            INVALID_ARGUMENT
            Invalid parameters: status: must be one of TASK_STATE_SUBMITTED, TASK_STATE_WORKING, TASK_STATE_COMPLETED, TASK_STATE_FAILED, TASK_STATE_CANCELED, TASK_STATE_INPUT_REQUIRED, TASK_STATE_REJECTED, TASK_STATE_AUTH_REQUIRED; pageSize: must be <= 100; historyLength: must be >= 0; pageToken: must be a nextPageToken of the same list
            [
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org",
                "metadata":{"fields":"status, pageSize, historyLength, pageToken"}},
              {"@type":"type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations":[
                  {"field":"status",
                    "description":"must be one of TASK_STATE_SUBMITTED, TASK_STATE_WORKING, TASK_STATE_COMPLETED, TASK_STATE_FAILED, TASK_STATE_CANCELED, TASK_STATE_INPUT_REQUIRED, TASK_STATE_REJECTED, TASK_STATE_AUTH_REQUIRED"},
                  {"field":"pageSize","description":"must be <= 100"},
                  {"field":"historyLength","description":"must be >= 0"},
                  {"field":"pageToken","description":"must be a nextPageToken of the same list"}]}]
        "#]],
    );
    check(
        "E-26: cursor",
        &client.ask("ListTasks", &json!({"pageToken": "x"})),
        &expect![[r#"
            INVALID_ARGUMENT
            Invalid parameters: pageToken: must be a nextPageToken of the same list
            [
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"pageToken"}},
              {"@type":"type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations":[{"field":"pageToken","description":"must be a nextPageToken of the same list"}]}]
        "#]],
    );
    // A moment that no calendar has: seconds = 2^62.
    let moment = [0x3a, 0x0a, 0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40];
    check(
        "E-26: a moment",
        &client.bytes(&[], "ListTasks", moment.into()),
        &expect![[r#"
            INVALID_ARGUMENT
            Invalid parameters: statusTimestampAfter: must be an RFC 3339 date and time; it needs an offset, e.g. 2026-05-03T11:00:00-07:00
            [
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org",
                "metadata":{"fields":"statusTimestampAfter"}},
              {"@type":"type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations":[
                  {"field":"statusTimestampAfter","description":"must be an RFC 3339 date and time; it needs an offset, e.g. 2026-05-03T11:00:00-07:00"}]}]
        "#]],
    );
    assert_eq!(server.result("ListTasks", &json!({}))["totalSize"], 0, "E-10");
}

/// Covers V-05 too.
#[test]
fn v_03_versions_are_read_from_every_operations_metadata() {
    let (_server, client) = start_agent(Profile::Streaming);
    for method in Operation::NAMES {
        let headers = [("a2a-version", "2.0")];
        let answer = client.call(&headers, method, &json!({}));
        assert_eq!(answer.status, RpcStatus::FailedPrecondition, "{method}");
        assert_eq!(answer.reason(), "VERSION_NOT_SUPPORTED", "{method}");
    }
    let status = |values: &[&str]| {
        let headers: Vec<_> = values.iter().map(|value| ("a2a-version", *value)).collect();
        client.call(&headers, "ListTasks", &json!({})).status
    };
    for good in [&["1.0"][..], &["1.0.3"], &["1.0", "1.0"]] {
        assert_eq!(status(good), RpcStatus::Ok, "{good:?}");
    }
    for bad in [&["0.3"][..], &["1.1"], &["one"], &["1.0", "0.3"], &[""]] {
        assert_eq!(status(bad), RpcStatus::FailedPrecondition, "{bad:?}");
    }
    let grpc = [("content-type", "application/grpc")];
    let absent = client.http("POST", &format!("{SERVICE}/ListTasks"), &grpc, vec![0; 5]);
    assert!(absent.1.contains(&("grpc-status".to_owned(), "9".to_owned())), "V-04: {absent:?}");
}

/// Covers X-02, X-04 and X-05 too.
#[test]
fn x_01_extensions_are_read_and_echoed() {
    let (_server, client) = start_agent(Profile::Strict);
    for method in Operation::NAMES {
        let answer = client.call(&[("a2a-extensions", "urn:x")], method, &json!({}));
        assert_eq!(answer.reason(), "EXTENSION_SUPPORT_REQUIRED", "{method}");
    }
    let list = format!("urn:unknown , {REQUIRED}");
    for headers in [
        vec![("a2a-extensions", list.as_str())],
        vec![("a2a-extensions", "urn:unknown"), ("a2a-extensions", REQUIRED)],
    ] {
        let answer = client.call(&headers, "ListTasks", &json!({}));
        assert_eq!(answer.status, RpcStatus::Ok);
        assert_eq!(answer.metadata("a2a-extensions"), Some(REQUIRED));
    }
    let (_server, lenient) = start_agent(Profile::Streaming);
    let on = [("a2a-extensions", "urn:tradepost:conformance")];
    let stream = lenient.call(&on, "SendStreamingMessage", &message("tck-stream-002"));
    assert_eq!(stream.metadata("a2a-extensions"), Some(on[0].1), "in the initial metadata");
    assert_eq!(lenient.ask("ListTasks", &json!({})).metadata("a2a-extensions"), None);
}

#[test]
fn rows_of_section_3_that_official_servers_get_wrong() {
    let (server, client) = start_agent(Profile::Streaming);
    let task = |params: &Value| client.ask("SendMessage", params).one()["task"].clone();
    let first = task(&message("tck-multi-turn"));
    assert_eq!(state(&task(&follow_up("more", &first["id"]))), "TASK_STATE_INPUT_REQUIRED");
    let third = task(&follow_up("tck-complete-task", &first["id"]));
    assert_eq!(state(&third), "TASK_STATE_COMPLETED", "a third turn with the task alone");
    assert_eq!(third["contextId"], first["contextId"], "O-07");

    for id in ["tck-task-failure", "tradepost-panic"] {
        let failed = task(&message(id));
        assert_eq!(state(&failed), "TASK_STATE_FAILED");
        for secret in ["kit asked", "a test asked", "panicked", ".rs"] {
            assert!(!failed.to_string().contains(secret), "E-28: {failed}");
        }
    }

    let begun = task(&at_once("tck-cancel"));
    let next = with(at_once("more"), &[("/message/taskId", begun["id"].clone())]);
    assert_eq!(task(&next)["id"], begun["id"], "a message to a running task");
    client.ask("CancelTask", &json!({"id": begun["id"]}));

    let before = client.ask("ListTasks", &json!({})).one()["totalSize"].clone();
    client.ask("SendMessage", &message("tck-message-response"));
    client.ask("SendStreamingMessage", &message("tck-message-response"));
    let after = client.ask("ListTasks", &json!({})).one()["totalSize"].clone();
    assert_eq!(before, after, "O-01: a message-only reply leaves no task");
    server.forgets();
}

#[test]
fn a_08_the_extended_card_is_for_its_caller_alone() {
    let (server, client) = start_agent(Profile::Push);
    let ada = server.caller("ada", None);
    let denied = client.ask("GetExtendedAgentCard", &json!({}));
    check(
        "A-08",
        &denied,
        &expect![[r#"
            UNAUTHENTICATED
            this agent requires a credential; send one of a scheme that its card declares, in the header Authorization
            [
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNAUTHENTICATED","domain":"a2a-protocol.org",
                "metadata":{"scheme":"Bearer","challenge":"Bearer realm=\"conformance\""}}]
        "#]],
    );
    let answer = client.call(&[("authorization", &ada)], "GetExtendedAgentCard", &json!({}));
    assert_eq!(answer.metadata("cache-control"), Some("private, no-store"));
    let other = server.ask(&[("Authorization", &ada)], "GetExtendedAgentCard", &json!({})).json();
    let mut card = other["result"].clone();
    // What is false or empty is not there in protocol buffers, unless it was set.
    for extension in card["capabilities"]["extensions"].as_array_mut().unwrap() {
        extension.as_object_mut().unwrap().retain(|_, value| *value != false);
    }
    assert_eq!(*answer.one(), card, "O-08");
    let (_server, unset) = start_agent(Profile::Unset);
    check(
        "D-12",
        &unset.ask("GetExtendedAgentCard", &json!({})),
        &expect![[r#"
            UNAUTHENTICATED
            this agent requires a credential; send one of a scheme that its card declares, in the header Authorization
            [
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNAUTHENTICATED","domain":"a2a-protocol.org",
                "metadata":{"scheme":"Bearer","challenge":"Bearer realm=\"conformance\""}}]
        "#]],
    );
}

#[test]
fn s_04_a_tenant_is_read_and_refused_as_undeclared() {
    let (server, client) = start_agent(Profile::Streaming);
    let id = server.task("tck-input-required")["id"].clone();
    for (method, params) in [
        ("SendMessage", with(message("m"), &[("/tenant", json!("t"))])),
        ("GetTask", json!({"tenant": "t", "id": id})),
        ("ListTasks", json!({"tenant": "t"})),
        ("CancelTask", json!({"tenant": "t", "id": id, "metadata": {"why": null}})),
    ] {
        let refused = client.ask(method, &params);
        assert_eq!(refused.status, RpcStatus::InvalidArgument, "{method}");
        let without_tenant = with(params, &[("/tenant", json!(""))]);
        assert_eq!(client.ask(method, &without_tenant).status, RpcStatus::Ok, "{method}");
    }
}

#[test]
fn the_card_offers_grpc_only_where_it_is_answered() {
    let (server, client) = start_agent(Profile::Streaming);
    let card = super::support::client::request(
        server.address,
        "GET",
        "/.well-known/agent-card.json",
        &[],
        b"",
    );
    let address = server.address.to_string();
    let offered = json!({"url": address, "protocolBinding": "GRPC", "protocolVersion": "1.0"});
    assert!(card.json()["supportedInterfaces"].as_array().unwrap().contains(&offered), "D-02");
    // The card over the same connection as the calls.
    let (status, _, body) = client.http("GET", "/.well-known/agent-card.json", &[], "");
    assert_eq!((status, body.as_ref()), (200, card.body.as_slice()));

    let dealer = start();
    assert!(!String::from_utf8(dealer.card().body).unwrap().contains("GRPC"));
    let dealers = Client::connect(dealer.address);
    let at_dealer = dealers.bytes(&[], "SendMessage", Vec::new());
    check(
        "a dealer has no such service",
        &at_dealer,
        &expect![[r#"
            UNIMPLEMENTED
            nothing is here
        "#]],
    );
    for path in [&format!("{SERVICE}/SendMessage"), "/lf.a2a.v1.A2AService/Unheard", "/a.B/C"] {
        let grpc = [("content-type", "application/grpc")];
        assert_eq!(dealers.http("POST", path, &grpc, ""), dealers.http("POST", "/x/Y", &grpc, ""));
        let json = [("content-type", "application/json")];
        assert_eq!(dealers.http("POST", path, &json, ""), dealers.http("POST", "/x/Y", &json, ""));
    }
    let ours = client.http("POST", "/x/Y", &[("content-type", "application/grpc")], "");
    let mut theirs = dealers.http("POST", "/x/Y", &[("content-type", "application/grpc")], "");
    // The dealer's address is published with https, and the other agent's is not.
    theirs.1.retain(|(name, _)| name != "strict-transport-security");
    assert_eq!(ours, theirs);
}
