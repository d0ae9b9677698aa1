//! The HTTP+JSON binding: every rule of requirements a2a.md §1.3 that applies to it, against the
//! conformance agent, with whole answers; what a dealer says on it is in `dealer`.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use crate::conformance::{Conformance, Profile};
use expect_test::{Expect, expect};
use tradepost_document::json::{Value, json};
use tradepost_runtime::gate::KeyScope;
use tradepost_server::auth::key::NewApiKey;
use tradepost_store::ApiKey;

use crate::support::client::{self, Response};
use crate::support::conformance::versioned;
use crate::support::{NOW, TestServer, at, layout, start_conformance};

mod closed;
mod dealer;

const JSON: (&str, &str) = ("Content-Type", "application/a2a+json");

fn send(server: &TestServer, method: &str, target: &str, body: &str) -> Response {
    let headers: &[_] = if body.is_empty() { &[] } else { &[JSON] };
    ask(server, headers, method, target, body)
}

/// The same with these headers, and the version of the protocol unless they name one.
fn ask(
    server: &TestServer,
    headers: &[(&str, &str)],
    method: &str,
    target: &str,
    body: &str,
) -> Response {
    let headers = versioned(headers);
    let response = client::request(server.address, method, target, &headers, body.as_bytes());
    check_shape(&response);
    response
}

fn get(server: &TestServer, target: &str) -> Response {
    send(server, "GET", target, "")
}

/// What is true of every answer: E-02, E-05, E-09, CT-02.
fn check_shape(response: &Response) {
    if response.header("content-type") == Some("text/event-stream") {
        return;
    }
    assert_eq!(response.header("content-type"), Some("application/a2a+json"));
    let body = response.json();
    if response.status == 200 {
        assert!(body.get("error").is_none(), "{body}");
        return;
    }
    let error = body["error"].as_object().unwrap();
    let members: Vec<_> = error.keys().map(String::as_str).collect();
    assert_eq!(members, ["code", "status", "message", "details"]);
    assert_eq!(error["code"], response.status, "E-09");
    let details = error["details"].as_array().unwrap();
    assert_eq!(details[0]["@type"], "type.googleapis.com/google.rpc.ErrorInfo");
    assert!(details.iter().all(|detail| detail["@type"].is_string()));
    let metadata = details[0]["metadata"].as_object().unwrap();
    assert!(metadata.values().all(Value::is_string), "§1.2");
}

/// Ids differ from run to run.
fn redact(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(redact),
        Value::Object(members) => members.values_mut().for_each(redact),
        Value::String(text) if uuid::Uuid::parse_str(text).is_ok() => *text = "<id>".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[track_caller]
fn check(row: &str, response: &Response, expected: &Expect) {
    assert!(!row.is_empty());
    let mut body = response.json();
    redact(&mut body);
    layout::redact(&mut body);
    expected.assert_eq(&format!("{}\n{}\n", response.status, layout::lay_out(&body)));
}

fn message(id: &str) -> Value {
    json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": "hello"}]})
}

fn request(id: &str) -> String {
    json!({"message": message(id)}).to_string()
}

/// The id of a task that a message begins.
fn begin(server: &TestServer, id: &str) -> String {
    let body = json!({"message": message(id), "configuration": {"returnImmediately": true}});
    let response = send(server, "POST", "/rest/message:send", &body.to_string());
    response.json()["task"]["id"].as_str().unwrap().to_owned()
}

/// The same when it stands still.
fn settle(server: &TestServer, id: &str) -> String {
    let response = send(server, "POST", "/rest/message:send", &request(id));
    response.json()["task"]["id"].as_str().unwrap().to_owned()
}

/// The fields that an answer says are wrong.
fn wrong(response: &Response) -> Vec<String> {
    assert_eq!(response.status, 400);
    let error = &response.json()["error"];
    assert_eq!(error["details"][0]["reason"], "INVALID_PARAMS");
    let violations = error["details"][1]["fieldViolations"].as_array().unwrap().clone();
    let text = |v: &Value| format!("{} {}", v["field"], v["description"]).replace('"', "");
    violations.iter().map(text).collect()
}

#[test]
fn the_card_names_the_binding() {
    let server = start_conformance(Profile::Streaming);
    let interfaces = &server.card().json()["supportedInterfaces"];
    assert_eq!(
        interfaces[1],
        json!({"url": "http://127.0.0.1:8080/rest", "protocolBinding": "HTTP+JSON",
               "protocolVersion": "1.0"}),
        "D-02"
    );
}

#[test]
fn unknown_paths_and_methods_are_refused_in_the_bindings_shape() {
    let server = start_conformance(Profile::Streaming);
    let unknown = expect![[r#"
        404
        {"error":{"code":404,"status":"UNIMPLEMENTED","message":"no operation has this path; read A2A §11.3 for those that do",
            "details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"METHOD_NOT_FOUND","domain":"a2a-protocol.org","metadata":{}}]}}
    "#]];
    for target in ["/rest", "/rest/", "/rest/nothing", "/rest/tasks/", "/rest/tasks/t:fly"] {
        check("E-09", &get(&server, target), &unknown);
    }
    let wrong_method = send(&server, "DELETE", "/rest/tasks/t-1", "");
    assert_eq!(wrong_method.header("allow"), Some("GET"));
    check(
        "E-09",
        &wrong_method,
        &expect![[r#"
        405
        {"error":{"code":405,"status":"UNIMPLEMENTED","message":"use GET on this path",
            "details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"METHOD_NOT_FOUND","domain":"a2a-protocol.org","metadata":{}}]}}
    "#]],
    );
    let response = get(&server, "/rest/message:send?A2A-Version=1.0");
    assert_eq!((response.status, response.header("allow")), (405, Some("POST")));
    let response = send(&server, "PUT", "/rest/tasks/t-1:subscribe", "");
    assert_eq!((response.status, response.header("allow")), (405, Some("GET, POST")));
    let response = send(&server, "PATCH", "/rest/tasks/t/pushNotificationConfigs/c", "");
    assert_eq!((response.status, response.header("allow")), (405, Some("GET, DELETE")));
}

#[test]
fn unreadable_bodies_are_refused_in_the_bindings_shape() {
    let server = start_conformance(Profile::Streaming);
    let post = |body: &str| send(&server, "POST", "/rest/message:send", body);
    check(
        "E-07",
        &post("{"),
        &expect![[r#"
        400
        {"error":{"code":400,"status":"INVALID_ARGUMENT","message":"the body is not valid JSON",
            "details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"PARSE_ERROR","domain":"a2a-protocol.org","metadata":{}}]}}
    "#]],
    );
    check(
        "E-07",
        &post(" "),
        &expect![[r#"
        400
        {"error":{"code":400,"status":"INVALID_ARGUMENT","message":"the body is empty; send a JSON object",
            "details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"PARSE_ERROR","domain":"a2a-protocol.org","metadata":{}}]}}
    "#]],
    );
    check(
        "E-07",
        &post(&"[".repeat(65)),
        &expect![[r#"
        400
        {"error":{"code":400,"status":"INVALID_ARGUMENT","message":"the body nests deeper than 64 levels",
            "details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"PARSE_ERROR","domain":"a2a-protocol.org","metadata":{}}]}}
    "#]],
    );
    check(
        "E-27",
        &post(&" ".repeat(256 * 1024 + 1)),
        &expect![[r#"
            413
            {"error":{"code":413,"status":"INVALID_ARGUMENT","message":"the body is larger than the 262144 bytes that this agent accepts",
                "details":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_REQUEST","domain":"a2a-protocol.org","metadata":{"maxBytes":"262144"}}]}}
        "#]],
    );
    let typed = |headers: &[(&str, &str)]| {
        ask(&server, headers, "POST", "/rest/message:send", &request("m"))
    };
    let no_type = expect![[r#"
        400
        {"error":{"code":400,"status":"INVALID_ARGUMENT","message":"the Content-Type must be application/a2a+json or application/json",
            "details":[
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"CONTENT_TYPE_NOT_SUPPORTED","domain":"a2a-protocol.org",
                "metadata":{"supportedMediaTypes":"application/a2a+json, application/json"}}]}}
    "#]];
    check("§1.5 row 9", &typed(&[("Content-Type", "text/plain")]), &no_type);
    check("§1.5 row 9", &typed(&[]), &no_type);
    for good in ["application/json", "application/a2a+json; charset=utf-8"] {
        assert_eq!(typed(&[("Content-Type", good)]).status, 200, "CT-02 {good}");
    }
    let slow = b"POST /rest/message:send HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\
                 Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{";
    let response = client::raw(server.address, slow).unwrap();
    check_shape(&response);
    check(
        "E-09",
        &response,
        &expect![[r#"
            408
            {"error":{"code":408,"status":"INVALID_ARGUMENT","message":"the body came at less than 240 bytes a second; send it without pauses",
                "details":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_REQUEST","domain":"a2a-protocol.org",
                    "metadata":{"minBytesPerSecond":"240"}}]}}
        "#]],
    );
}

#[test]
fn every_wrong_field_of_a_body_is_named() {
    let server = start_conformance(Profile::Streaming);
    let post = |body: &str| send(&server, "POST", "/rest/message:send", body);
    let bad = json!({"message": {"messageId": "", "role": "user", "parts": [{}]},
                     "configuration": {"historyLength": -1}});
    check(
        "E-25, E-11",
        &post(&bad.to_string()),
        &expect![[r#"
            400
            {"error":{"code":400,"status":"INVALID_ARGUMENT",
                "message":"Invalid parameters: message.messageId: must not be empty; message.role: must be ROLE_USER in a request; message.parts[0]: must have exactly one of text, raw, url, data; configuration.historyLength: must be >= 0",
                "details":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org",
                    "metadata":{"fields":"message.messageId, message.role, message.parts[0], configuration.historyLength"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest",
                    "fieldViolations":[
                      {"field":"message.messageId","description":"must not be empty"},
                      {"field":"message.role","description":"must be ROLE_USER in a request"},
                      {"field":"message.parts[0]","description":"must have exactly one of text, raw, url, data"},
                      {"field":"configuration.historyLength","description":"must be >= 0"}]}]}}
        "#]],
    );
    assert_eq!(wrong(&post("{}")), [r"message missing required property \message\"]);
    assert_eq!(wrong(&post("[]")), ["params must be object"]);
    assert_eq!(wrong(&post("42")), ["params must be object"]);
    let unknown = json!({"message": message("m"), "future": [1]});
    assert_eq!(post(&unknown.to_string()).status, 200, "E-25: unknown members are ignored");
}

#[test]
fn every_wrong_parameter_of_a_query_is_named() {
    let server = start_conformance(Profile::Streaming);
    let list = get(
        &server,
        "/rest/tasks?pageSize=0&historyLength=-1&status=DONE&statusTimestampAfter=now\
         &includeArtifacts=yes",
    );
    check(
        "E-26, CT-07",
        &list,
        &expect![[r#"
            400
            {"error":{"code":400,"status":"INVALID_ARGUMENT",
                "message":"Invalid parameters: pageSize: must be >= 1; historyLength: must be >= 0; status: must be one of TASK_STATE_SUBMITTED, TASK_STATE_WORKING, TASK_STATE_COMPLETED, TASK_STATE_FAILED, TASK_STATE_CANCELED, TASK_STATE_INPUT_REQUIRED, TASK_STATE_REJECTED, TASK_STATE_AUTH_REQUIRED; statusTimestampAfter: must be an RFC 3339 date and time; it needs an offset, e.g. 2026-05-03T11:00:00-07:00; includeArtifacts: must be boolean",
                "details":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org",
                    "metadata":{"fields":"pageSize, historyLength, status, statusTimestampAfter, includeArtifacts"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest",
                    "fieldViolations":[
                      {"field":"pageSize","description":"must be >= 1"},
                      {"field":"historyLength","description":"must be >= 0"},
                      {"field":"status",
                        "description":"must be one of TASK_STATE_SUBMITTED, TASK_STATE_WORKING, TASK_STATE_COMPLETED, TASK_STATE_FAILED, TASK_STATE_CANCELED, TASK_STATE_INPUT_REQUIRED, TASK_STATE_REJECTED, TASK_STATE_AUTH_REQUIRED"},
                      {"field":"statusTimestampAfter","description":"must be an RFC 3339 date and time; it needs an offset, e.g. 2026-05-03T11:00:00-07:00"},
                      {"field":"includeArtifacts","description":"must be boolean"}]}]}}
        "#]],
    );
    let of = |query: &str| wrong(&get(&server, &format!("/rest/tasks?{query}")));
    assert_eq!(of("pageSize=101"), ["pageSize must be <= 100"]);
    assert_eq!(of("pageSize=ten"), ["pageSize must be integer"]);
    assert_eq!(of("pageSize=99999999999999999999"), ["pageSize must be <= 100"]);
    assert_eq!(of("pageSize=1&pageSize=2"), ["pageSize must be integer"]);
    assert_eq!(of("includeArtifacts=TRUE"), ["includeArtifacts must be boolean"]);
    assert_eq!(of("contextId=a&contextId=b"), ["contextId must be string"]);
    assert_eq!(of("pageToken=1000").len(), 1, "a page token is no offset");
    let one = get(&server, "/rest/tasks/t?historyLength=1.5");
    assert_eq!(wrong(&one), ["historyLength must be integer"]);
    let page = get(&server, "/rest/tasks?pageSize=5&contextId=%C3%A9&unknown=1&history_length=0");
    check(
        "O-06",
        &page,
        &expect![[r#"
        200
        {"tasks":[],"nextPageToken":"","pageSize":5,"totalSize":0}
    "#]],
    );
}

#[test]
fn messages_are_answered_with_a_message_or_a_task() {
    let server = start_conformance(Profile::Streaming);
    let post = |body: &str| send(&server, "POST", "/rest/message:send", body);
    check(
        "§11",
        &post(&request("tck-message-response")),
        &expect![[r#"
        200
        {"message":{"messageId":"<id>","contextId":"<id>","role":"ROLE_AGENT","parts":[{"text":"Direct message response"}]}}
    "#]],
    );
    check(
        "CT-05, CT-06, O-04",
        &post(&request("tck-artifact-data")),
        &expect![[r#"
        200
        {"task":{"id":"<id>","contextId":"<id>","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-04-30T12:00:00.000Z"},
            "artifacts":[{"artifactId":"artifact-1","parts":[{"data":{"key":"value","count":42}}]}],
            "history":[{"messageId":"tck-artifact-data","contextId":"<id>","taskId":"<id>","role":"ROLE_USER","parts":[{"text":"hello"}]}]}}
    "#]],
    );
    let id = settle(&server, "tck-complete-task");
    check(
        "O-05",
        &get(&server, &format!("/rest/tasks/{id}?historyLength=0")),
        &expect![[r#"
        200
        {"id":"<id>","contextId":"<id>",
          "status":{"state":"TASK_STATE_COMPLETED",
            "message":{"messageId":"<id>","contextId":"<id>","taskId":"<id>","role":"ROLE_AGENT","parts":[{"text":"Hello from TCK"}]},
            "timestamp":"2026-04-30T12:00:00.000Z"},"artifacts":[]}
    "#]],
    );
    let list = get(&server, "/rest/tasks?status=TASK_STATE_COMPLETED&pageSize=1");
    assert_eq!(list.json()["totalSize"], 2);
    let token = list.json()["nextPageToken"].as_str().unwrap().to_owned();
    let query: String = form_urlencoded::byte_serialize(token.as_bytes()).collect();
    let target = format!("/rest/tasks?status=TASK_STATE_COMPLETED&pageSize=1&pageToken={query}");
    let list = get(&server, &target).json();
    assert_eq!((list["tasks"].as_array().unwrap().len(), &list["nextPageToken"]), (1, &json!("")));
    let with = get(&server, "/rest/tasks?includeArtifacts=true").json();
    let has = |task: &Value| task.get("artifacts").is_some();
    assert!(with["tasks"].as_array().unwrap().iter().any(has), "O-06");
}

#[test]
fn tasks_that_are_absent_or_over_have_their_own_errors() {
    let server = start_conformance(Profile::Streaming);
    let not_found = expect![[r#"
        404
        {"error":{"code":404,"status":"NOT_FOUND","message":"the task does not exist, or is not yours",
            "details":[
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"taskId":"none"}}]}}
    "#]];
    check("E-12", &get(&server, "/rest/tasks/none"), &not_found);
    check("E-22", &send(&server, "POST", "/rest/tasks/none:cancel", ""), &not_found);
    check("E-21", &get(&server, "/rest/tasks/none:subscribe"), &not_found);
    check("E-21", &send(&server, "POST", "/rest/tasks/none:subscribe", "{}"), &not_found);
    let over = settle(&server, "tck-complete-task");
    let cancel = send(&server, "POST", &format!("/rest/tasks/{over}:cancel"), "{}");
    check(
        "E-22",
        &cancel,
        &expect![[r#"
        400
        {"error":{"code":400,"status":"FAILED_PRECONDITION","message":"the task has ended and cannot be canceled",
            "details":[
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_CANCELABLE","domain":"a2a-protocol.org","metadata":{"taskId":"<id>"}}]}}
    "#]],
    );
    let subscribe = get(&server, &format!("/rest/tasks/{over}:subscribe"));
    check(
        "E-21",
        &subscribe,
        &expect![[r#"
        400
        {"error":{"code":400,"status":"FAILED_PRECONDITION","message":"the task has ended; read it with GetTask",
            "details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNSUPPORTED_OPERATION","domain":"a2a-protocol.org","metadata":{}}]}}
    "#]],
    );
    let mut body = json!({"message": message("m")});
    body["message"]["taskId"] = json!(over);
    for path in ["/rest/message:send", "/rest/message:stream"] {
        check(
            "E-17",
            &send(&server, "POST", path, &body.to_string()),
            &expect![[r#"
            400
            {"error":{"code":400,"status":"FAILED_PRECONDITION","message":"the task has ended and takes no further message",
                "details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNSUPPORTED_OPERATION","domain":"a2a-protocol.org","metadata":{}}]}}
        "#]],
        );
        body["message"]["taskId"] = json!("none");
        check("E-18", &send(&server, "POST", path, &body.to_string()), &not_found);
        body["message"]["taskId"] = json!(over);
    }
    let waits = settle(&server, "tck-input-required");
    body["message"]["taskId"] = json!(waits);
    body["message"]["contextId"] = json!("another");
    check(
        "E-19",
        &send(&server, "POST", "/rest/message:send", &body.to_string()),
        &expect![[r#"
            400
            {"error":{"code":400,"status":"INVALID_ARGUMENT","message":"Invalid parameters: message.contextId: must be the task's context, or absent",
                "details":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org",
                    "metadata":{"fields":"message.contextId"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest",
                    "fieldViolations":[{"field":"message.contextId","description":"must be the task's context, or absent"}]}]}}
        "#]],
    );
    let canceled = send(&server, "POST", &format!("/rest/tasks/{waits}:cancel"), "");
    assert_eq!(canceled.json()["status"]["state"], "TASK_STATE_CANCELED");
    let again = send(&server, "POST", &format!("/rest/tasks/{waits}:cancel"), "");
    assert_eq!(again.json(), canceled.json(), "§1.5 row 13");
    let contrary = send(&server, "POST", &format!("/rest/tasks/{waits}:cancel"), r#"{"id":"x"}"#);
    assert_eq!(wrong(&contrary), ["id must be as in the path, or absent"]);
}

#[test]
fn what_it_cannot_do_is_said_before_what_is_wrong() {
    let server = start_conformance(Profile::Streaming);
    let configs = "/rest/tasks/none/pushNotificationConfigs";
    let no_push = expect![[r#"
        400
        {"error":{"code":400,"status":"FAILED_PRECONDITION","message":"Push notifications are not supported",
            "details":[
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"PUSH_NOTIFICATION_NOT_SUPPORTED","domain":"a2a-protocol.org",
                "metadata":{"operation":"ListTaskPushNotificationConfigs"}}]}}
    "#]];
    let create = send(&server, "POST", configs, "{}");
    assert_eq!(create.json()["error"]["details"][0]["reason"], "PUSH_NOTIFICATION_NOT_SUPPORTED");
    check("E-16", &get(&server, configs), &no_push);
    for method in ["GET", "DELETE"] {
        let response = send(&server, method, &format!("{configs}/c"), "");
        assert_eq!(response.json()["error"]["status"], "FAILED_PRECONDITION", "E-16");
    }
    check(
        "D-12",
        &get(&server, "/rest/extendedAgentCard"),
        &expect![[r#"
        400
        {"error":{"code":400,"status":"FAILED_PRECONDITION","message":"Operation is not supported",
            "details":[
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNSUPPORTED_OPERATION","domain":"a2a-protocol.org",
                "metadata":{"operation":"GetExtendedAgentCard"}}]}}
    "#]],
    );
    let unreadable = json!({"message": {"messageId": "m", "role": "ROLE_USER",
        "parts": [{"raw": "", "mediaType": "application/x-unknown"}]}});
    let unreadable = send(&server, "POST", "/rest/message:send", &unreadable.to_string());
    check(
        "E-24",
        &unreadable,
        &expect![[r#"
            400
            {"error":{"code":400,"status":"INVALID_ARGUMENT","message":"a part has a media type that this agent cannot read: message.parts[0]",
                "details":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"CONTENT_TYPE_NOT_SUPPORTED","domain":"a2a-protocol.org",
                    "metadata":{"fields":"message.parts[0]","supportedMediaTypes":"text/plain, application/json"}}]}}
        "#]],
    );

    let strict = start_conformance(Profile::Strict);
    let required = get(&strict, "/rest/tasks");
    check(
        "X-01",
        &required,
        &expect![[r#"
        400
        {"error":{"code":400,"status":"FAILED_PRECONDITION","message":"name the extension urn:a2a:tck:required-extension in A2A-Extensions",
            "details":[
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"EXTENSION_SUPPORT_REQUIRED","domain":"a2a-protocol.org",
                "metadata":{"extensionUri":"urn:a2a:tck:required-extension"}}]}}
    "#]],
    );
    let headers = [
        JSON,
        ("A2A-Extensions", "urn:other"),
        ("a2a-extensions", "urn:a2a:tck:required-extension"),
    ];
    let stream = |target: &str| ask(&strict, &headers, "POST", target, &request("m"));
    check(
        "E-16",
        &stream("/rest/message:stream"),
        &expect![[r#"
        400
        {"error":{"code":400,"status":"FAILED_PRECONDITION","message":"Operation is not supported",
            "details":[
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNSUPPORTED_OPERATION","domain":"a2a-protocol.org",
                "metadata":{"operation":"SendStreamingMessage"}}]}}
    "#]],
    );
    let sent = stream("/rest/message:send");
    assert_eq!(sent.header("a2a-extensions"), Some("urn:a2a:tck:required-extension"), "X-04");
}

#[test]
fn versions_are_taken_from_header_and_query() {
    let server = start_conformance(Profile::Streaming);
    let ask = |header: Option<&str>, query: &str| {
        let header = header.map(|version| ("A2A-Version", version));
        let headers: Vec<_> = header.into_iter().collect();
        let target = format!("/rest/tasks{query}");
        let response = client::request(server.address, "GET", &target, &headers, b"");
        check_shape(&response);
        response
    };
    for (header, query) in [
        (Some("1.0"), ""),
        (Some("1.0.3"), ""),
        (None, "?A2A-Version=1.0"),
        (Some("1.0"), "?a2a-version=1.0"),
    ] {
        assert_eq!(ask(header, query).status, 200, "V-05, V-06 {header:?} {query}");
    }
    check(
        "V-03",
        &ask(Some("0.3"), ""),
        &expect![[r#"
        400
        {"error":{"code":400,"status":"FAILED_PRECONDITION","message":"this agent speaks A2A 1.0 only; send A2A-Version: 1.0",
            "details":[
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"VERSION_NOT_SUPPORTED","domain":"a2a-protocol.org",
                "metadata":{"supportedVersions":"1.0"}}]}}
    "#]],
    );
    for (header, query) in [
        (None, ""),
        (Some(""), ""),
        (None, "?A2A-Version="),
        (None, "?A2A-Version=2.0"),
        (Some("1.0"), "?A2A-Version=0.3"),
    ] {
        let response = ask(header, query);
        assert_eq!(response.status, 400, "V-04, §1.5 rows 5 and 10: {header:?} {query}");
        assert_eq!(response.json()["error"]["details"][0]["reason"], "VERSION_NOT_SUPPORTED");
    }
}

#[test]
fn who_asks_for_plain_json_gets_it_named_everywhere() {
    let server = start_conformance(Profile::Streaming);
    for target in ["/rest/tasks", "/rest/tasks/none", "/rest/nothing"] {
        let headers = [("Accept", "application/json")];
        let response = client::request(server.address, "GET", target, &headers, b"");
        assert_eq!(response.header("content-type"), Some("application/json"), "CT-02 {target}");
    }
}

#[test]
fn an_undeclared_tenant_is_refused_on_every_path() {
    let server = start_conformance(Profile::Streaming);
    let id = settle(&server, "tck-complete-task");
    assert_eq!(get(&server, &format!("/rest/tasks/{id}?tenant=")).status, 200);
    for path in ["acme/tasks/ID", "tasks/ID?tenant=acme", "acme/tasks", "acme/extendedAgentCard"] {
        let answer = get(&server, &format!("/rest/{}", path.replace("ID", &id)));
        let metadata = &answer.json()["error"]["details"][0]["metadata"];
        assert_eq!((answer.status, &metadata["fields"]), (400, &json!("tenant")), "S-04 {path}");
    }
    let sent = send(&server, "POST", "/rest/acme/message:send", &request("tck-message-response"));
    assert_eq!(sent.status, 400, "S-04");
    assert_eq!(get(&server, "/rest/%2e%2e/tasks").status, 404);
}

/// The events of a stream: their ids and their data.
fn events(response: &Response) -> Vec<(String, Value)> {
    assert_eq!(response.header("content-type"), Some("text/event-stream"), "CT-03");
    let text = layout_of_chunks(&response.body);
    let field = |event: &str, name: &str| {
        event.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned()
    };
    text.split("\n\n")
        .filter(|event| event.contains("data: "))
        .map(|event| {
            let data = tradepost_document::json::from_str(&field(event, "data: ")).unwrap();
            (format!("{}{}", field(event, "event: "), field(event, "id: ")), data)
        })
        .collect()
}

/// A chunked body without its chunks' heads.
fn layout_of_chunks(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body).replace('\r', "");
    let is_head = |line: &&str| !line.is_empty() && line.bytes().all(|b| b.is_ascii_hexdigit());
    text.split('\n').filter(|line| !is_head(line)).collect::<Vec<_>>().join("\n")
}

fn kinds(events: &[(String, Value)]) -> Vec<&str> {
    events
        .iter()
        .map(|(_, data)| data.as_object().unwrap().keys().next().unwrap().as_str())
        .collect()
}

#[test]
fn streams_carry_bare_events_with_ids_and_resume_after_them() {
    let server = start_conformance(Profile::Streaming);
    let stream = |body: &str| send(&server, "POST", "/rest/message:stream", body);
    let one = events(&stream(&request("tck-message-response")));
    assert_eq!(kinds(&one), ["message"], "O-01");
    let all = events(&stream(&request("tck-stream-001")));
    assert_eq!(kinds(&all), ["task", "statusUpdate", "artifactUpdate", "statusUpdate"], "O-02");
    assert_eq!(all[3].1["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
    let ids: Vec<i64> = all.iter().map(|(id, _)| id.parse().unwrap()).collect();
    assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");

    let waits = settle(&server, "tck-input-required");
    let path = format!("/rest/tasks/{waits}:subscribe");
    let followers: Vec<_> = ["GET", "POST"]
        .map(|method| {
            let mut stream = TcpStream::connect(server.address).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            let head = format!(
                "{method} {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nA2A-Version: 1.0\r\n\
                 Last-Event-ID: 1\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).unwrap();
            let mut first = [0; 1];
            stream.read_exact(&mut first).unwrap();
            (stream, first)
        })
        .into();
    let mut body = json!({"message": message("tck-complete-task")});
    body["message"]["taskId"] = json!(waits);
    assert_eq!(send(&server, "POST", "/rest/message:send", &body.to_string()).status, 200);
    let followed: Vec<String> = followers
        .into_iter()
        .map(|(mut stream, first)| {
            let mut text = first.to_vec();
            stream.read_to_end(&mut text).unwrap();
            let text = String::from_utf8(text).unwrap();
            assert!(text.contains("TASK_STATE_COMPLETED"), "§1.5 row 3: {text}");
            text.lines().filter(|line| line.starts_with("id: ")).collect::<Vec<_>>().join(" ")
        })
        .collect();
    assert_eq!(followed[0], followed[1], "O-03, §1.5 row 2");
}

#[test]
fn a_broken_stream_ends_with_an_event_without_the_cause() {
    let server = start_conformance(Profile::Streaming);
    let waits = settle(&server, "tck-input-required");
    let path = server.directory.path().join("tradepost.sqlite");
    let database = rusqlite::Connection::open(path).unwrap();
    database
        .execute_batch(
            "CREATE TRIGGER damage AFTER INSERT ON task_events WHEN NEW.kind = 1 BEGIN
             UPDATE task_events SET body = 'damaged'
             WHERE task_id = NEW.task_id AND seq = NEW.seq; END",
        )
        .unwrap();
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let head = format!(
        "GET /rest/tasks/{waits}:subscribe?A2A-Version=1.0 HTTP/1.1\r\nHost: a\r\n\
         Connection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut first = [0; 1];
    stream.read_exact(&mut first).unwrap();
    let mut body = json!({"message": message("tck-complete-task"),
                          "configuration": {"returnImmediately": true}});
    body["message"]["taskId"] = json!(waits);
    send(&server, "POST", "/rest/message:send", &body.to_string());
    let mut text = first.to_vec();
    stream.read_to_end(&mut text).unwrap();
    let text = layout_of_chunks(&text);
    assert!(!text.contains("damaged"), "{text}");
    let (_, error) = text.split_once("event: error\ndata: ").expect("§1.5 row 4");
    let mut error: Value =
        tradepost_document::json::from_str(error.lines().next().unwrap()).unwrap();
    let details = error["error"]["details"][0]["metadata"]["errorId"].take();
    assert!(details.as_str().unwrap().starts_with("err_"));
    expect![[r#"{"error":{"code":500,"status":"INTERNAL","message":"the agent failed; quote the error id to whoever runs it","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INTERNAL_ERROR","domain":"a2a-protocol.org","metadata":{"errorId":null}}]}}"#]].assert_eq(&error.to_string());
}

/// A credential for an agent's caller.
fn issue(server: &TestServer, agent: &str, name: &str, scopes: Option<Vec<KeyScope>>) -> String {
    let fresh = NewApiKey::generate().unwrap();
    let key = ApiKey {
        id: fresh.id,
        agent_id: agent.to_owned(),
        name: name.to_owned(),
        hash: fresh.hash,
        scopes: scopes.map(|scopes| scopes.into_iter().map(Into::into).collect()),
        created_at: at(NOW),
        expires_at: None,
        revoked_at: None,
        last_used_on: None,
    };
    assert!(server.store.add_api_key(key, false).unwrap());
    format!("Bearer {}", fresh.text)
}

#[test]
fn who_is_not_let_in_hears_the_bindings_shape() {
    let server = start_conformance(Profile::Streaming);
    let ask = |credential: &str| {
        let headers = [("Authorization", credential)];
        let response = client::request(server.address, "GET", "/rest/tasks", &headers, b"");
        check_shape(&response);
        response
    };
    let response = ask("Bearer nonsense");
    assert_eq!(
        response.header("www-authenticate"),
        Some("Bearer realm=\"conformance\", error=\"invalid_token\""),
        "A-02"
    );
    check(
        "A-01",
        &response,
        &expect![[r#"
            401
            {"error":{"code":401,"status":"UNAUTHENTICATED","message":"the credential is not valid",
                "details":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNAUTHENTICATED","domain":"a2a-protocol.org",
                    "metadata":{"scheme":"Bearer","challenge":"Bearer realm=\"conformance\", error=\"invalid_token\""}}]}}
        "#]],
    );
    for _ in 0..9 {
        ask("Bearer nonsense");
    }
    let limited = ask("Bearer nonsense");
    assert_eq!(limited.header("retry-after"), Some("6"));
    check(
        "A-12, E-27",
        &limited,
        &expect![[r#"
            429
            {"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"Too many requests",
                "details":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RESOURCE_EXHAUSTED","domain":"a2a-protocol.org",
                    "metadata":{"retryAfterSeconds":"6"}},
                  {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"6s"}]}}
        "#]],
    );
}

#[test]
fn anothers_task_is_a_task_that_does_not_exist() {
    let server = start_conformance(Profile::Streaming);
    let task = begin(&server, "tck-input-required");
    let key = issue(&server, Conformance::ID, "stranger", None);
    let call = |method: &str, target: &str, body: &str| {
        let headers = [JSON, ("Authorization", key.as_str())];
        let response = ask(&server, &headers, method, target, body);
        let mut headers = response.headers.clone();
        headers.retain(|(name, _)| !name.eq_ignore_ascii_case("date"));
        (response.status, headers, String::from_utf8(response.body).unwrap())
    };
    let continued = |id: &str| {
        let mut body = json!({"message": message("m")});
        body["message"]["taskId"] = json!(id);
        body.to_string()
    };
    for (method, before, after) in [
        ("GET", "/rest/tasks/", ""),
        ("POST", "/rest/tasks/", ":cancel"),
        ("GET", "/rest/tasks/", ":subscribe"),
        ("POST", "/rest/message:send", ""),
        ("POST", "/rest/message:stream", ""),
    ] {
        let outcome_for = |id: &str| {
            if before.ends_with('/') {
                call(method, &format!("{before}{id}{after}"), "")
            } else {
                call(method, before, &continued(id))
            }
        };
        let absent = uuid::Uuid::now_v7().to_string();
        let (status, headers, body) = outcome_for(&task);
        let (other_status, other_headers, other_body) = outcome_for(&absent);
        let row = format!("E-13, A-04 {method} {before}{after}");
        assert_eq!((status, headers), (other_status, other_headers), "{row}");
        assert_eq!(body.replace(&task, "<id>"), other_body.replace(&absent, "<id>"), "{row}");
        assert_eq!(status, 404);
    }
    let (_, _, list) = call("GET", "/rest/tasks", "");
    assert_eq!(list, r#"{"tasks":[],"nextPageToken":"","pageSize":50,"totalSize":0}"#, "A-06");
}

#[test]
fn a_broken_store_is_an_internal_error_with_an_id() {
    let server = start_conformance(Profile::Streaming);
    let path = server.directory.path().join("tradepost.sqlite");
    let database = rusqlite::Connection::open(path).unwrap();
    database.execute_batch("ALTER TABLE tasks RENAME TO mislaid").unwrap();
    let response = get(&server, "/rest/tasks/t");
    let mut body = response.json();
    let id = body["error"]["details"][0]["metadata"]["errorId"].take();
    assert!(id.as_str().unwrap().starts_with("err_"), "E-15");
    assert_eq!(response.status, 500);
    expect![[r#"{"error":{"code":500,"status":"INTERNAL","message":"the agent failed; quote the error id to whoever runs it","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INTERNAL_ERROR","domain":"a2a-protocol.org","metadata":{"errorId":null}}]}}"#]].assert_eq(&body.to_string());
}

#[test]
fn e_14_an_unreachable_key_store_is_unavailable() {
    let server = start_conformance(Profile::Streaming);
    let key = issue(&server, "conformance", "acme", None);
    let path = server.directory.path().join("tradepost.sqlite");
    let database = rusqlite::Connection::open(path).unwrap();
    database.execute_batch("ALTER TABLE api_keys RENAME TO mislaid").unwrap();
    let headers = [("Authorization", key.as_str())];
    let response = client::request(server.address, "GET", "/rest/tasks", &headers, b"");
    check_shape(&response);
    let body = response.json();
    assert_eq!((response.status, &body["error"]["status"]), (503, &json!("UNAVAILABLE")));
    assert_eq!(response.header("retry-after"), Some("5"));
    assert!(!body.to_string().contains("mislaid"), "{body}");
}
