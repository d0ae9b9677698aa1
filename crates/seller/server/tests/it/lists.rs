//! Lists of tasks: one that is broken hides no other, and everything wrong with a request is said at once.

use expect_test::expect;
use tradepost_document::json::json;
use tradepost_server::a2a::Operation;
use tradepost_server::agent::Binding;
use tradepost_server::tasks::log::{EntryKind, TaskLog as _};

use crate::client::shown;
use crate::scripted::{Log, Running, say, start};

const BINDINGS: [Binding; 3] = [Binding::JsonRpc, Binding::HttpJson, Binding::Grpc];

/// Makes a task whose log holds this entry besides, and lets it end.
async fn keep_task_with(running: &Running, body: &'static str) {
    let begun = running.client.ask(Binding::JsonRpc, Operation::SendMessage, say("wait")).await;
    let id = begun.unwrap()[0]["task"]["id"].as_str().unwrap().to_owned();
    let submitted = running.agent.memory.submit(
        Box::new(move |tx| tx.append(&id, EntryKind::Artifact, body, None).map(drop)),
        Box::new(|outcome| outcome.unwrap()),
    );
    submitted.unwrap();
}

#[tokio::test]
async fn a_broken_task_in_the_store_hides_no_other() {
    let plan = |text: &str| {
        use tradepost_server::prelude::*;
        let ends = if text == "wait" { TaskState::InputRequired } else { TaskState::Completed };
        Ok(MessagePlan::work(async move |progress| progress.status(ends, None).await))
    };
    let running = crate::scripted::start_with(|_| None, plan, |_| {}).await;
    keep_task_with(&running, "{not json").await;
    let bad = r#"{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a",
        "parts":[{"raw":"no base64!"}]}}}"#;
    keep_task_with(&running, bad).await;
    running.client.ask(Binding::JsonRpc, Operation::SendMessage, say("x")).await.unwrap();
    for binding in BINDINGS {
        let params = json!({"includeArtifacts": true});
        let page = running.client.ask(binding, Operation::ListTasks, params).await.unwrap();
        let tasks = page[0]["tasks"].as_array().unwrap();
        let states: Vec<_> = tasks.iter().map(|task| &task["status"]["state"]).collect();
        assert_eq!(states, ["TASK_STATE_COMPLETED"], "{binding:?}");
        assert_eq!(page[0]["totalSize"], 3, "{binding:?}");
    }
}

#[tokio::test]
async fn a_wrong_page_token_is_reported_with_every_other_problem() {
    let (log, _guard) = Log::collect();
    let running = start().await;
    let params = json!({"pageSize": 1_000, "pageToken": "nonsense"});
    for (binding, expected) in [
        (
            Binding::JsonRpc,
            expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid parameters: pageSize: must be <= 100; pageToken: must be a nextPageToken of the same list","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"pageSize, pageToken"}},{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"pageSize","description":"must be <= 100"},{"field":"pageToken","description":"must be a nextPageToken of the same list"}]}]}}"#]],
        ),
        (
            Binding::HttpJson,
            expect![[r#"
            400
            {"error":{"code":400,"status":"INVALID_ARGUMENT","message":"Invalid parameters: pageSize: must be <= 100; pageToken: must be a nextPageToken of the same list","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"pageSize, pageToken"}},{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"pageSize","description":"must be <= 100"},{"field":"pageToken","description":"must be a nextPageToken of the same list"}]}]}}"#]],
        ),
        (
            Binding::Grpc,
            expect![[r#"
            grpc 3 Invalid parameters: pageSize: must be <= 100; pageToken: must be a nextPageToken of the same list
            [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"pageSize, pageToken"}},{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"pageSize","description":"must be <= 100"},{"field":"pageToken","description":"must be a nextPageToken of the same list"}]}]"#]],
        ),
    ] {
        let answer = running.client.ask_full(binding, Operation::ListTasks, params.clone()).await;
        expected.assert_eq(&shown(&answer));
    }
    assert!(log.errors().is_empty());
}

#[tokio::test]
async fn page_tokens_are_judged_where_their_list_is_known() {
    let running = start().await;
    for _ in 0..2 {
        running.client.ask(Binding::JsonRpc, Operation::SendMessage, say("x")).await.unwrap();
    }
    let list = async |params| running.client.send_json_rpc("ListTasks", params).await.1;
    let page = list(json!({"pageSize": 1})).await;
    let page: tradepost_document::json::Value =
        tradepost_document::json::from_slice(&page).unwrap();
    let token = page["result"]["nextPageToken"].as_str().unwrap();
    let fields = async |params| {
        let answer: tradepost_document::json::Value =
            tradepost_document::json::from_slice(&list(params).await).unwrap();
        let violations = answer["error"]["data"][1]["fieldViolations"].clone();
        let named = violations.as_array().unwrap().iter();
        named.map(|one| one["field"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let wrong_size = json!({"pageSize": 0, "pageToken": token});
    assert_eq!(fields(wrong_size).await, ["pageSize"], "the token is good");
    let other_list = json!({"pageSize": 0, "pageToken": token, "contextId": "another"});
    assert_eq!(fields(other_list).await, ["pageSize", "pageToken"]);
    let unknown_list = json!({"status": "NO_STATE", "pageToken": token});
    assert_eq!(fields(unknown_list).await, ["status"], "of which list it is nobody knows");
    let no_token = json!({"status": "NO_STATE", "pageToken": "nonsense"});
    assert_eq!(fields(no_token).await, ["status", "pageToken"]);
}
