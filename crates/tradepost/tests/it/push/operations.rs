//! The decision table of the four operations, on JSON-RPC and on HTTP+JSON (E-16, E-23, P-05).

use crate::conformance::Profile;
use expect_test::{Expect, expect};
use tradepost_document::json::{Value, json};
use tradepost_server::permission::Permission;

use super::{hook, strict};
use crate::support::conformance::{ConformanceServer, message, start_conformance};
use crate::support::{Response, client, layout, with};

const CREATE: &str = "CreateTaskPushNotificationConfig";
const GET: &str = "GetTaskPushNotificationConfig";
const LIST: &str = "ListTaskPushNotificationConfigs";
const DELETE: &str = "DeleteTaskPushNotificationConfig";

/// The same request on HTTP+JSON: what the path says is taken from the parameters.
fn rest(
    server: &ConformanceServer,
    headers: &[(&str, &str)],
    operation: &str,
    params: &Value,
) -> Response {
    let text = |name: &str| params[name].as_str().unwrap_or_default();
    let configs = format!("/rest/tasks/{}/pushNotificationConfigs", text("taskId"));
    let (method, target, body) = match operation {
        CREATE => {
            let body = with(params.clone(), &[("/taskId", Value::Null)]);
            ("POST", configs, body.to_string())
        }
        LIST => {
            let size = params.get("pageSize").map(|n| format!("pageSize={n}"));
            let token = params.get("pageToken").map(|_| format!("pageToken={}", text("pageToken")));
            let query: Vec<_> = size.into_iter().chain(token).collect();
            ("GET", format!("{configs}?{}", query.join("&")), String::new())
        }
        GET => ("GET", format!("{configs}/{}", text("id")), String::new()),
        DELETE => ("DELETE", format!("{configs}/{}", text("id")), String::new()),
        other => panic!("{other}"),
    };
    let own = [("Content-Type", "application/a2a+json"), ("A2A-Version", "1.0")];
    let headers = [&own, headers].concat();
    client::request(server.address, method, &target, &headers, body.as_bytes())
}

/// Ids and page tokens differ from run to run.
fn redact(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(redact),
        Value::Object(members) => {
            if let Some(token) = members.get_mut("nextPageToken").filter(|token| **token != "") {
                *token = json!("<token>");
            }
            members.values_mut().for_each(redact);
        }
        Value::String(text) if uuid::Uuid::parse_str(text).is_ok() => *text = "<id>".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn laid_out(response: &Response) -> String {
    let mut body = response.json();
    redact(&mut body);
    layout::redact(&mut body);
    format!("{}\n{}\n", response.status, layout::lay_out(&body))
}

/// A row: the whole answers of both bindings.
#[track_caller]
fn check(
    server: &ConformanceServer,
    row: &str,
    operation: &str,
    params: &Value,
    expected: &Expect,
) {
    assert!(!row.is_empty());
    let answers = [server.ask(&[], operation, params), rest(server, &[], operation, params)];
    expected.assert_eq(&answers.map(|answer| laid_out(&answer)).concat());
}

fn task(server: &ConformanceServer) -> Value {
    server.task("tck-input-required")["id"].clone()
}

const URL: &str = "https://buyer.example.com/notify?key=4711";

#[test]
fn p_05_webhooks_are_kept_shown_replaced_and_deleted() {
    let server = strict();
    let id = task(&server);
    let whole = with(
        hook(&id, "mine", URL),
        &[
            ("/token", json!("seekrit-token")),
            ("/authentication", json!({"scheme": "Bearer", "credentials": "seekrit"})),
        ],
    );
    check(
        &server,
        "create",
        CREATE,
        &whole,
        &expect![[r#"
        200
        {"jsonrpc":"2.0","id":7,"result":{"id":"mine","taskId":"<id>","url":"https://buyer.example.com/notify?key=4711","authentication":{"scheme":"Bearer"}}}
        200
        {"id":"mine","taskId":"<id>","url":"https://buyer.example.com/notify?key=4711","authentication":{"scheme":"Bearer"}}
    "#]],
    );
    let nameless = json!({"taskId": id, "url": "https://other.example.com/"});
    check(
        &server,
        "an id is assigned when there is none",
        CREATE,
        &nameless,
        &expect![[r#"
        200
        {"jsonrpc":"2.0","id":7,"result":{"id":"<id>","taskId":"<id>","url":"https://other.example.com/"}}
        200
        {"id":"<id>","taskId":"<id>","url":"https://other.example.com/"}
    "#]],
    );
    let named = json!({"taskId": id, "id": "mine"});
    check(
        &server,
        "get",
        GET,
        &named,
        &expect![[r#"
        200
        {"jsonrpc":"2.0","id":7,"result":{"id":"mine","taskId":"<id>","url":"https://buyer.example.com/notify?key=4711","authentication":{"scheme":"Bearer"}}}
        200
        {"id":"mine","taskId":"<id>","url":"https://buyer.example.com/notify?key=4711","authentication":{"scheme":"Bearer"}}
    "#]],
    );
    let other = hook(&id, "mine", "https://other.example.com:8443/x");
    check(
        &server,
        "create with an id replaces",
        CREATE,
        &other,
        &expect![[r#"
        200
        {"jsonrpc":"2.0","id":7,"result":{"id":"mine","taskId":"<id>","url":"https://other.example.com:8443/x"}}
        200
        {"id":"mine","taskId":"<id>","url":"https://other.example.com:8443/x"}
    "#]],
    );
    let all = json!({"taskId": id});
    check(
        &server,
        "list",
        LIST,
        &all,
        &expect![[r#"
        200
        {"jsonrpc":"2.0","id":7,
          "result":{"configs":[
              {"id":"<id>","taskId":"<id>","url":"https://other.example.com/"},
              {"id":"<id>","taskId":"<id>","url":"https://other.example.com/"},
              {"id":"mine","taskId":"<id>","url":"https://other.example.com:8443/x"}],"nextPageToken":""}}
        200
        {"configs":[
            {"id":"<id>","taskId":"<id>","url":"https://other.example.com/"},
            {"id":"<id>","taskId":"<id>","url":"https://other.example.com/"},
            {"id":"mine","taskId":"<id>","url":"https://other.example.com:8443/x"}],"nextPageToken":""}
    "#]],
    );
    check(
        &server,
        "delete",
        DELETE,
        &named,
        &expect![[r#"
        200
        {"jsonrpc":"2.0","id":7,"result":null}
        200
        {}
    "#]],
    );
    check(
        &server,
        "E-23: get of a deleted one",
        GET,
        &named,
        &expect![[r#"
            200
            {"jsonrpc":"2.0","id":7,
              "error":{"code":-32001,"message":"no task of yours has this webhook",
                "data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"taskId":"<id>"}}]}}
            404
            {"error":{"code":404,"status":"NOT_FOUND","message":"no task of yours has this webhook",
                "details":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"taskId":"<id>"}}]}}
        "#]],
    );
    check(
        &server,
        "E-23: delete is idempotent",
        DELETE,
        &named,
        &expect![[r#"
        200
        {"jsonrpc":"2.0","id":7,"result":null}
        200
        {}
    "#]],
    );
}

#[test]
fn e_23_an_unknown_task_and_an_unknown_webhook() {
    let server = strict();
    let id = task(&server);
    let absent = json!("01970000-0000-7000-8000-000000000000");
    let row = "unknown task";
    check(
        &server,
        row,
        CREATE,
        &hook(&absent, "x", URL),
        &expect![[r#"
            200
            {"jsonrpc":"2.0","id":7,
              "error":{"code":-32001,"message":"the task does not exist, or is not yours",
                "data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"taskId":"<id>"}}]}}
            404
            {"error":{"code":404,"status":"NOT_FOUND","message":"the task does not exist, or is not yours",
                "details":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"taskId":"<id>"}}]}}
        "#]],
    );
    let named = json!({"taskId": absent, "id": "x"});
    check(
        &server,
        row,
        GET,
        &named,
        &expect![[r#"
            200
            {"jsonrpc":"2.0","id":7,
              "error":{"code":-32001,"message":"no task of yours has this webhook",
                "data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"taskId":"<id>"}}]}}
            404
            {"error":{"code":404,"status":"NOT_FOUND","message":"no task of yours has this webhook",
                "details":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"taskId":"<id>"}}]}}
        "#]],
    );
    check(
        &server,
        row,
        LIST,
        &json!({"taskId": absent}),
        &expect![[r#"
            200
            {"jsonrpc":"2.0","id":7,
              "error":{"code":-32001,"message":"the task does not exist, or is not yours",
                "data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"taskId":"<id>"}}]}}
            404
            {"error":{"code":404,"status":"NOT_FOUND","message":"the task does not exist, or is not yours",
                "details":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"taskId":"<id>"}}]}}
        "#]],
    );
    check(
        &server,
        row,
        DELETE,
        &named,
        &expect![[r#"
            200
            {"jsonrpc":"2.0","id":7,
              "error":{"code":-32001,"message":"the task does not exist, or is not yours",
                "data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"taskId":"<id>"}}]}}
            404
            {"error":{"code":404,"status":"NOT_FOUND","message":"the task does not exist, or is not yours",
                "details":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"taskId":"<id>"}}]}}
        "#]],
    );
    let row = "unknown webhook";
    check(
        &server,
        row,
        GET,
        &json!({"taskId": id, "id": "x"}),
        &expect![[r#"
            200
            {"jsonrpc":"2.0","id":7,
              "error":{"code":-32001,"message":"no task of yours has this webhook",
                "data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"taskId":"<id>"}}]}}
            404
            {"error":{"code":404,"status":"NOT_FOUND","message":"no task of yours has this webhook",
                "details":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"taskId":"<id>"}}]}}
        "#]],
    );
    check(
        &server,
        row,
        DELETE,
        &json!({"taskId": id, "id": "x"}),
        &expect![[r#"
        200
        {"jsonrpc":"2.0","id":7,"result":null}
        200
        {}
    "#]],
    );
}

#[test]
fn e_11_wrong_fields_are_named_and_no_value_repeated() {
    let server = strict();
    let id = task(&server);
    let row = "a required field is missing";
    check(
        &server,
        row,
        CREATE,
        &json!({"taskId": id}),
        &expect![[r#"
            200
            {"jsonrpc":"2.0","id":7,
              "error":{"code":-32602,"message":"Invalid parameters: url: missing required property \"url\"",
                "data":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"url"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"url","description":"missing required property \"url\""}]}]}}
            400
            {"error":{"code":400,"status":"INVALID_ARGUMENT","message":"Invalid parameters: url: missing required property \"url\"",
                "details":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"url"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"url","description":"missing required property \"url\""}]}]}}
        "#]],
    );
    let wrong = with(
        hook(&id, "a\u{1}b", "https://user:seekrit@buyer.example.com/"),
        &[
            ("/token", json!("seekrit\r\nX-Evil: 1")),
            ("/authentication", json!({"scheme": "Be arer", "credentials": "seekrit\n"})),
        ],
    );
    check(
        &server,
        "every wrong field",
        CREATE,
        &wrong,
        &expect![[r#"
            200
            {"jsonrpc":"2.0","id":7,
              "error":{"code":-32602,
                "message":"Invalid parameters: id: must have 1 to 128 bytes and no control characters; url: must hold no user name and no password; use authentication for credentials; token: must have at most 4096 visible ASCII characters, with spaces between them; authentication.scheme: must be the name of an HTTP scheme, such as Bearer; authentication.credentials: must have at most 4096 visible ASCII characters, with spaces between them",
                "data":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org",
                    "metadata":{"fields":"id, url, token, authentication.scheme, authentication.credentials"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest",
                    "fieldViolations":[
                      {"field":"id","description":"must have 1 to 128 bytes and no control characters"},
                      {"field":"url","description":"must hold no user name and no password; use authentication for credentials"},
                      {"field":"token","description":"must have at most 4096 visible ASCII characters, with spaces between them"},
                      {"field":"authentication.scheme","description":"must be the name of an HTTP scheme, such as Bearer"},
                      {"field":"authentication.credentials","description":"must have at most 4096 visible ASCII characters, with spaces between them"}]}]}}
            400
            {"error":{"code":400,"status":"INVALID_ARGUMENT",
                "message":"Invalid parameters: id: must have 1 to 128 bytes and no control characters; url: must hold no user name and no password; use authentication for credentials; token: must have at most 4096 visible ASCII characters, with spaces between them; authentication.scheme: must be the name of an HTTP scheme, such as Bearer; authentication.credentials: must have at most 4096 visible ASCII characters, with spaces between them",
                "details":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org",
                    "metadata":{"fields":"id, url, token, authentication.scheme, authentication.credentials"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest",
                    "fieldViolations":[
                      {"field":"id","description":"must have 1 to 128 bytes and no control characters"},
                      {"field":"url","description":"must hold no user name and no password; use authentication for credentials"},
                      {"field":"token","description":"must have at most 4096 visible ASCII characters, with spaces between them"},
                      {"field":"authentication.scheme","description":"must be the name of an HTTP scheme, such as Bearer"},
                      {"field":"authentication.credentials","description":"must have at most 4096 visible ASCII characters, with spaces between them"}]}]}}
        "#]],
    );
    let row = "P-04: an address inside";
    check(
        &server,
        row,
        CREATE,
        &hook(&id, "x", "https://169.254.169.254/"),
        &expect![[r#"
            200
            {"jsonrpc":"2.0","id":7,
              "error":{"code":-32602,"message":"Invalid parameters: url: must be an address on the public Internet",
                "data":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"url"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest",
                    "fieldViolations":[{"field":"url","description":"must be an address on the public Internet"}]}]}}
            400
            {"error":{"code":400,"status":"INVALID_ARGUMENT","message":"Invalid parameters: url: must be an address on the public Internet",
                "details":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"url"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest",
                    "fieldViolations":[{"field":"url","description":"must be an address on the public Internet"}]}]}}
        "#]],
    );
    let row = "P-04: a name that leads inside, or nowhere";
    check(
        &server,
        row,
        CREATE,
        &hook(&id, "x", "https://no.example.com/"),
        &expect![[r#"
            200
            {"jsonrpc":"2.0","id":7,
              "error":{"code":-32602,"message":"Invalid parameters: url: must name a host that resolves, and to addresses on the public Internet only",
                "data":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"url"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest",
                    "fieldViolations":[{"field":"url","description":"must name a host that resolves, and to addresses on the public Internet only"}]}]}}
            400
            {"error":{"code":400,"status":"INVALID_ARGUMENT",
                "message":"Invalid parameters: url: must name a host that resolves, and to addresses on the public Internet only",
                "details":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"url"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest",
                    "fieldViolations":[{"field":"url","description":"must name a host that resolves, and to addresses on the public Internet only"}]}]}}
        "#]],
    );
    let row = "no scheme in authentication";
    let bare = with(hook(&id, "x", URL), &[("/authentication", json!({"credentials": "c"}))]);
    check(
        &server,
        row,
        CREATE,
        &bare,
        &expect![[r#"
            200
            {"jsonrpc":"2.0","id":7,
              "error":{"code":-32602,"message":"Invalid parameters: authentication.scheme: missing required property \"scheme\"",
                "data":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org",
                    "metadata":{"fields":"authentication.scheme"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest",
                    "fieldViolations":[{"field":"authentication.scheme","description":"missing required property \"scheme\""}]}]}}
            400
            {"error":{"code":400,"status":"INVALID_ARGUMENT","message":"Invalid parameters: authentication.scheme: missing required property \"scheme\"",
                "details":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org",
                    "metadata":{"fields":"authentication.scheme"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest",
                    "fieldViolations":[{"field":"authentication.scheme","description":"missing required property \"scheme\""}]}]}}
        "#]],
    );
    check(
        &server,
        "E-26",
        LIST,
        &json!({"taskId": id, "pageSize": 101}),
        &expect![[r#"
            200
            {"jsonrpc":"2.0","id":7,
              "error":{"code":-32602,"message":"Invalid parameters: pageSize: must be <= 100",
                "data":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"pageSize"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"pageSize","description":"must be <= 100"}]}]}}
            400
            {"error":{"code":400,"status":"INVALID_ARGUMENT","message":"Invalid parameters: pageSize: must be <= 100",
                "details":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"pageSize"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"pageSize","description":"must be <= 100"}]}]}}
        "#]],
    );
    let forged = json!({"taskId": id, "pageToken": "00.mine"});
    check(
        &server,
        "E-26",
        LIST,
        &forged,
        &expect![[r#"
            200
            {"jsonrpc":"2.0","id":7,
              "error":{"code":-32602,"message":"Invalid parameters: pageToken: must be a nextPageToken of the same list",
                "data":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"pageToken"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest",
                    "fieldViolations":[{"field":"pageToken","description":"must be a nextPageToken of the same list"}]}]}}
            400
            {"error":{"code":400,"status":"INVALID_ARGUMENT","message":"Invalid parameters: pageToken: must be a nextPageToken of the same list",
                "details":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"pageToken"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest",
                    "fieldViolations":[{"field":"pageToken","description":"must be a nextPageToken of the same list"}]}]}}
        "#]],
    );
    assert_eq!(server.result(LIST, &json!({"taskId": id}))["configs"], json!([]), "none was kept");
}

#[test]
fn lists_have_pages_and_tokens_for_nothing_else() {
    let server = strict();
    let id = task(&server);
    let other = task(&server);
    for name in ["d", "b", "a", "c", "e"] {
        server.result(CREATE, &hook(&id, name, URL));
    }
    let mut seen = Vec::new();
    let mut params = json!({"taskId": id, "pageSize": 2});
    let mut tokens = Vec::new();
    for binding in [true, false] {
        loop {
            let page = if binding {
                server.result(LIST, &params)
            } else {
                rest(&server, &[], LIST, &params).json()
            };
            let configs = page["configs"].as_array().unwrap();
            assert!(configs.len() <= 2);
            seen.extend(configs.iter().map(|config| config["id"].as_str().unwrap().to_owned()));
            let token = page["nextPageToken"].clone();
            if token == "" {
                break;
            }
            tokens.push(token.clone());
            params = json!({"taskId": id, "pageSize": 2, "pageToken": token});
        }
        params = json!({"taskId": id, "pageSize": 2});
    }
    assert_eq!(seen.concat(), "abcdeabcde");
    let other_tasks_token = json!({"taskId": other, "pageToken": tokens[0]});
    assert_eq!(server.code(LIST, &other_tasks_token), -32602, "another task's list");
    assert_eq!(server.code("ListTasks", &json!({"pageToken": tokens[0]})), -32602);
}

#[test]
fn a_task_has_ten_replaceable_webhooks_at_most() {
    let server = strict();
    let id = task(&server);
    for number in 0..10 {
        server.result(CREATE, &hook(&id, &format!("w{number}"), URL));
    }
    check(
        &server,
        "the eleventh",
        CREATE,
        &hook(&id, "w10", URL),
        &expect![[r#"
            200
            {"jsonrpc":"2.0","id":7,
              "error":{"code":-32602,"message":"Invalid parameters: taskId: has 10 webhooks already; delete one first, or replace one by its id",
                "data":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"taskId"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest",
                    "fieldViolations":[{"field":"taskId","description":"has 10 webhooks already; delete one first, or replace one by its id"}]}]}}
            400
            {"error":{"code":400,"status":"INVALID_ARGUMENT",
                "message":"Invalid parameters: taskId: has 10 webhooks already; delete one first, or replace one by its id",
                "details":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"taskId"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest",
                    "fieldViolations":[{"field":"taskId","description":"has 10 webhooks already; delete one first, or replace one by its id"}]}]}}
        "#]],
    );
    server.result(CREATE, &hook(&id, "w9", "https://other.example.com/"));
    let config = json!({"taskPushNotificationConfig": {"url": URL}});
    let more = with(
        message("tck-complete-task"),
        &[("/message/taskId", id.clone()), ("/configuration", config)],
    );
    let answer = server.ask(&[], "SendMessage", &more).json();
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert_eq!(server.get(&id)["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "E-10");
}

#[test]
fn a_07_a_messages_webhook_is_kept_with_its_task() {
    let server = strict();
    let send = |message_id: &str, config: &Value| {
        let configuration = json!({"taskPushNotificationConfig": config});
        let params = with(message(message_id), &[("/configuration", configuration)]);
        server.ask(&[], "SendMessage", &params).json()
    };
    let sent = send("tck-input-required", &json!({"id": "inline", "url": URL, "token": "t"}));
    let id = sent["result"]["task"]["id"].clone();
    let shown = server.result(GET, &json!({"taskId": id, "id": "inline"}));
    assert_eq!(shown, json!({"id": "inline", "taskId": id, "url": URL}));
    let refused = |config: &Value| {
        let answer = send("tck-complete-task", config);
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        let violation = &answer["error"]["data"][1]["fieldViolations"][0];
        format!("{}: {}", violation["field"], violation["description"]).replace('"', "")
    };
    let field = "configuration.taskPushNotificationConfig";
    let inside = refused(&json!({"url": "https://10.0.0.1/"}));
    assert_eq!(inside, format!("{field}.url: must be an address on the public Internet"));
    let nowhere = refused(&json!({"url": "https://no.example.com/"}));
    assert!(nowhere.starts_with(&format!("{field}.url: must name a host that resolves")));
    let with_task_id = refused(&json!({"url": URL, "taskId": id}));
    let expected = "must be absent, or the task that the message names";
    assert_eq!(with_task_id, format!("{field}.taskId: {expected}"));
    let tasks = server.result("ListTasks", &json!({}));
    assert_eq!(tasks["totalSize"], 1, "E-10: none was begun for a webhook that is refused");
}

#[test]
fn e_16_an_agent_without_webhooks_says_so_first() {
    let server = start_conformance(Profile::Streaming);
    for operation in [CREATE, GET, LIST, DELETE] {
        let code = server.code(operation, &json!({}));
        assert_eq!(code, -32003, "{operation}");
        let params = json!({"taskId": "t", "id": "i", "url": "no address"});
        let answer = rest(&server, &[], operation, &params);
        assert_eq!(answer.status, 400);
        let reason = &answer.json()["error"]["details"][0]["reason"];
        assert_eq!(reason, "PUSH_NOTIFICATION_NOT_SUPPORTED", "{operation}");
    }
}

/// Everything that a caller can compare: status, headers and body, except the time and the id
/// that the caller has sent.
fn whole(response: &Response, id: &Value) -> (u16, Vec<(String, String)>, String) {
    let mut headers = response.headers.clone();
    headers.retain(|(name, _)| !name.eq_ignore_ascii_case("date"));
    let body = String::from_utf8(response.body.clone()).unwrap();
    (response.status, headers, body.replace(id.as_str().unwrap(), "<id>"))
}

/// The parameters that name a task.
type Params<'a> = &'a dyn Fn(&Value) -> Value;

#[test]
fn e_13_anothers_webhook_is_absent_in_every_byte() {
    let server = strict();
    let ada = server.caller("ada", None);
    let bob = server.caller("bob", None);
    let sent =
        server.ask(&[("Authorization", &ada)], "SendMessage", &message("tck-input-required"));
    let hers = sent.json()["result"]["task"]["id"].clone();
    let kept = server.ask(&[("Authorization", &ada)], CREATE, &hook(&hers, "mine", URL)).json();
    assert_eq!(kept["result"]["id"], "mine", "{kept}");
    let absent = json!("01970000-0000-7000-8000-000000000000");
    let wrong = json!("https://no.example.com/");
    let requests: [(&str, Params<'_>); 6] = [
        (CREATE, &|id| hook(id, "mine", URL)),
        // Nothing is resolved for a task that is not the caller's.
        (CREATE, &|id| with(hook(id, "mine", URL), &[("/url", wrong.clone())])),
        (GET, &|id| json!({"taskId": id, "id": "mine"})),
        (LIST, &|id| json!({"taskId": id})),
        (LIST, &|id| json!({"taskId": id, "pageToken": "forged"})),
        (DELETE, &|id| json!({"taskId": id, "id": "mine"})),
    ];
    for (operation, params) in requests {
        for headers in [&[("Authorization", bob.as_str())][..], &[]] {
            let ask = |id: &Value| whole(&server.ask(headers, operation, &params(id)), id);
            let theirs = ask(&hers);
            let nobodys = ask(&absent);
            assert_eq!(theirs, nobodys, "{operation}");
            assert!(theirs.2.contains("-32001"), "{}", theirs.2);
            let ask = |id: &Value| whole(&rest(&server, headers, operation, &params(id)), id);
            let theirs = ask(&hers);
            let nobodys = ask(&absent);
            assert_eq!(theirs, nobodys, "{operation}");
            assert_eq!(theirs.0, 404);
        }
    }
    let mine = json!({"taskId": hers, "id": "mine"});
    let still = server.ask(&[("Authorization", &ada)], GET, &mine).json();
    assert_eq!(still["result"], kept["result"], "nothing has happened to it");
}

#[test]
fn a_03_reading_and_changing_webhooks_have_own_scopes() {
    let server = strict();
    let reader = server.caller("reader", Some(&[Permission::TASKS_READ]));
    let writer = server.caller("writer", Some(&[Permission::TASKS_WRITE]));
    for (who, denied, operations, scope) in [
        (&reader, true, [CREATE, DELETE], "tasks:write"),
        (&reader, false, [GET, LIST], ""),
        (&writer, true, [GET, LIST], "tasks:read"),
        (&writer, false, [CREATE, DELETE], ""),
    ] {
        let headers = [("Authorization", who.as_str())];
        let params = hook(&json!("absent"), "x", URL);
        for operation in operations {
            let answer = server.ask(&headers, operation, &params);
            assert_eq!(answer.status, if denied { 403 } else { 200 }, "{operation}");
            assert!(answer.json()["error"].to_string().contains(scope), "{operation}");
        }
    }
    let config = json!({"taskPushNotificationConfig": {"url": URL}});
    let brings = with(message("tck-complete-task"), &[("/configuration", config)]);
    for (who, status) in [(&reader, 403), (&writer, 200)] {
        let answer = server.ask(&[("Authorization", who)], "SendMessage", &brings);
        assert_eq!(answer.status, status, "a webhook that comes with a message is one, too");
        assert_eq!(answer.json()["error"].to_string().contains("tasks:write"), status == 403);
    }
}
