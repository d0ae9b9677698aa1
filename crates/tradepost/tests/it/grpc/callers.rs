//! Two callers (A-01 to A-07, E-12, E-13, E-28): what is not yours is not there, and who may not is
//! told what is missing.

use crate::conformance::Profile;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use expect_test::expect;
use tradepost_a2a::protobuf::{self, schema};
use tradepost_a2a::status::RpcStatus;
use tradepost_document::json::{Value, json};
use tradepost_server::permission::Permission;

use super::client::{Answer, Client, SERVICE};
use super::{check, start_agent};
use crate::support::conformance::{follow_up, message};
use crate::support::with;

type Params<'a> = &'a dyn Fn(&Value) -> Value;

/// Everything that a caller can compare: headers, trailers and bytes as they came, of a call that
/// is about this task.
fn whole(
    client: &Client,
    who: &str,
    method: &str,
    params: &Value,
    id: &Value,
) -> (u16, Vec<(String, String)>, bytes::Bytes) {
    let operation = tradepost_document::catalog::Vocabulary::from_name(method).unwrap();
    let request = schema::request(operation);
    let bytes = protobuf::write(request, params).unwrap();
    let length = u32::try_from(bytes.len()).unwrap();
    let headers = [
        ("content-type", "application/grpc"),
        ("a2a-version", "1.0"),
        ("te", "trailers"),
        ("authorization", who),
    ];
    let body = super::client::framed(0, length, &bytes);
    let (status, mut headers, body) =
        client.http("POST", &format!("{SERVICE}/{method}"), &headers, body);
    // The id that was asked for is told again, and nothing else may differ.
    for (name, value) in &mut headers {
        if name == "grpc-status-details-bin" {
            let bytes = STANDARD_NO_PAD.decode(&value).unwrap();
            let details = protobuf::read(&schema::STATUS, &bytes).unwrap();
            *value = details.to_string().replace(id.as_str().unwrap(), "<asked>");
        }
    }
    (status, headers, body)
}

/// Covers E-13 too.
#[test]
fn a_04_anothers_task_is_absent_in_every_byte() {
    let (server, client) = start_agent(Profile::Streaming);
    let ada = server.caller("ada", None);
    let bob = server.caller("bob", None);
    let absent = json!("01970000-0000-7000-8000-000000000000");
    for kind in ["tck-input-required", "tck-complete-task"] {
        let sent = client.call(&[("authorization", &ada)], "SendMessage", &message(kind));
        let task = sent.one()["task"].clone();
        let refer = |id: &Value| with(message("x"), &[("/message/referenceTaskIds", json!([id]))]);
        let wrong_context =
            |id: &Value| with(follow_up("x", id), &[("/message/contextId", json!("c"))]);
        let name = |id: &Value| json!({"id": id});
        let requests: [(&str, Params<'_>); 8] = [
            ("GetTask", &name),
            ("CancelTask", &name),
            ("SubscribeToTask", &name),
            ("SendMessage", &|id| follow_up("x", id)),
            ("SendStreamingMessage", &|id| follow_up("x", id)),
            ("SendMessage", &refer),
            ("SendMessage", &wrong_context),
            ("SendStreamingMessage", &refer),
        ];
        for (method, params) in requests {
            let hers = whole(&client, &bob, method, &params(&task["id"]), &task["id"]);
            let nobodys = whole(&client, &bob, method, &params(&absent), &absent);
            assert_eq!(hers, nobodys, "{method} of a task of {kind}");
            let answer = client.call(&[("authorization", &bob)], method, &params(&task["id"]));
            assert_eq!(answer.reason(), "TASK_NOT_FOUND", "{method}");
        }
        let still = client.call(&[("authorization", &ada)], "GetTask", &name(&task["id"]));
        assert_eq!(still.one(), &task, "nothing has happened to it");
    }
    let list = |who: &str| client.call(&[("authorization", who)], "ListTasks", &json!({}));
    assert_eq!(list(&bob).one().get("totalSize"), None, "A-06: none");
    assert_eq!(list(&ada).one()["totalSize"], 2);
}

/// Covers A-02 and A-03 too.
#[test]
fn a_01_who_may_not_is_told_why() {
    let (server, client) = start_agent(Profile::Streaming);
    let ask = |who: &str, method: &str| -> Answer {
        client.call(&[("authorization", who)], method, &json!({"id": "absent"}))
    };
    let wrong = ask("Bearer tp_0000000000000000_wrong", "GetTask");
    check(
        "A-01",
        &wrong,
        &expect![[r#"
            UNAUTHENTICATED
            the credential is not valid
            [
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNAUTHENTICATED","domain":"a2a-protocol.org",
                "metadata":{"scheme":"Bearer","challenge":"Bearer realm=\"conformance\", error=\"invalid_token\""}}]
        "#]],
    );
    let challenge = wrong.metadata("www-authenticate");
    expect![[r#"Bearer realm="conformance", error="invalid_token""#]].assert_eq(challenge.unwrap());
    check(
        "A-01: another scheme",
        &ask("Basic YTpi", "ListTasks"),
        &expect![[r#"
            UNAUTHENTICATED
            the credential is not valid
            [
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNAUTHENTICATED","domain":"a2a-protocol.org",
                "metadata":{"scheme":"Bearer","challenge":"Bearer realm=\"conformance\", error=\"invalid_token\""}}]
        "#]],
    );
    let reader = server.caller("reader", Some(&[Permission::TASKS_READ]));
    let denied = ask(&reader, "CancelTask");
    check(
        "A-03",
        &denied,
        &expect![[r#"
            PERMISSION_DENIED
            the credential lacks the scope tasks:write
            [
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"PERMISSION_DENIED","domain":"a2a-protocol.org",
                "metadata":{"scope":"tasks:write","challenge":"Bearer realm=\"conformance\", error=\"insufficient_scope\", scope=\"tasks:write\""}}]
        "#]],
    );
    expect![[r#"Bearer realm="conformance", error="insufficient_scope", scope="tasks:write""#]]
        .assert_eq(denied.metadata("www-authenticate").unwrap());
    assert_eq!(ask(&reader, "GetTask").status, RpcStatus::NotFound);
    let writer = server.caller("writer", Some(&[Permission::TASKS_WRITE]));
    for method in ["GetTask", "SubscribeToTask"] {
        assert_eq!(
            ask(&writer, method).status,
            RpcStatus::PermissionDenied,
            "{method}: before E-12"
        );
    }
}

#[test]
fn e_14_an_unreachable_key_store_is_unavailable_not_broken() {
    let (server, client) = start_agent(Profile::Streaming);
    let ada = server.caller("ada", None);
    let database = rusqlite::Connection::open(server.database()).unwrap();
    database.execute_batch("ALTER TABLE api_keys RENAME TO mislaid").unwrap();
    let answer = client.call(&[("authorization", &ada)], "ListTasks", &json!({}));
    check(
        "E-14",
        &answer,
        &expect![[r#"
            UNAVAILABLE
            the agent cannot answer now; send the same request again later
            [
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNAVAILABLE","domain":"a2a-protocol.org",
                "metadata":{"errorId":"err_<id>","retryAfterSeconds":"5"}},
              {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"5s"}]
        "#]],
    );
}

#[test]
fn e_27_who_fails_too_often_hears_when_to_return() {
    let (server, client) = start_agent(Profile::Streaming);
    let ask = || client.call(&[("authorization", "Bearer nonsense")], "ListTasks", &json!({}));
    for _ in 0..10 {
        assert_eq!(ask().status, RpcStatus::Unauthenticated);
    }
    check(
        "E-27",
        &ask(),
        &expect![[r#"
            RESOURCE_EXHAUSTED
            Too many requests
            [
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RESOURCE_EXHAUSTED","domain":"a2a-protocol.org","metadata":{"retryAfterSeconds":"6"}},
              {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"6s"}]
        "#]],
    );
    let ada = server.caller("ada", None);
    let answer = client.call(&[("authorization", &ada)], "ListTasks", &json!({}));
    assert_eq!(answer.status, RpcStatus::Ok, "nobody locks a neighbour out");
}
