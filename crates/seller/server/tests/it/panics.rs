//! A panic of an agent's code is an error of one request or task, and of nothing else.

use expect_test::expect;
use hyper::Method;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::json;
use tradepost_server::a2a::Operation;
use tradepost_server::agent::Binding;
use tradepost_server::prelude::*;

use crate::client::{shown, without_ids};
use crate::scripted::{Log, Running, say, start, start_with};

/// How many panics were counted.
fn counted(running: &Running) -> u64 {
    let text = running.registry.metrics.write().unwrap();
    let lines = text.lines().filter(|line| line.starts_with("tradepost_agent_panics_total"));
    lines.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
}

#[tokio::test]
async fn a_panic_is_an_internal_error_on_every_binding() {
    let (log, _guard) = Log::collect();
    let running = start().await;
    for (method, operation) in [
        ("perform", Operation::SendMessage),
        ("perform", Operation::SendStreamingMessage),
        ("perform, later", Operation::SendMessage),
        ("plan", Operation::SendMessage),
        ("plan", Operation::SendStreamingMessage),
        ("auth", Operation::SendMessage),
        ("required", Operation::SendMessage),
        ("keeps_tasks", Operation::ListTasks),
        ("accepts_part", Operation::SendMessage),
        ("code_of", Operation::SendMessage),
    ] {
        for (binding, expected) in [
            (
                Binding::JsonRpc,
                expect![[r#"
                    200
                    {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the agent failed; quote the error id to whoever runs it","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INTERNAL_ERROR","domain":"a2a-protocol.org","metadata":{"errorId":"err_<id>"}}]}}"#]],
            ),
            (
                Binding::HttpJson,
                expect![[r#"
                500
                {"error":{"code":500,"status":"INTERNAL","message":"the agent failed; quote the error id to whoever runs it","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INTERNAL_ERROR","domain":"a2a-protocol.org","metadata":{"errorId":"err_<id>"}}]}}"#]],
            ),
            (
                Binding::Grpc,
                expect![[r#"
                grpc 13 the agent failed; quote the error id to whoever runs it
                [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INTERNAL_ERROR","domain":"a2a-protocol.org","metadata":{"errorId":"err_<id>"}}]"#]],
            ),
        ] {
            let before = counted(&running);
            running.agent.panic_in(method);
            let params = if operation == Operation::ListTasks { json!({}) } else { say("x") };
            let answer = running.client.ask_full(binding, operation, params).await;
            running.agent.panic_in("");
            expected.assert_eq(&shown(&answer));
            assert_eq!(counted(&running), before + 1, "{method} over {}", binding.name());
            let line = log.errors().pop().unwrap();
            assert!(line.contains("the agent's code panicked") && line.contains("err_"), "{line}");
            let next = running.client.ask(binding, Operation::SendMessage, say("x")).await;
            assert_eq!(next.unwrap().len(), 1, "{method}: the process goes on");
        }
    }
}

#[tokio::test]
async fn a_panic_outside_of_every_binding_is_an_error_too() {
    let (log, _guard) = Log::collect();
    let running = start().await;
    for (method, path) in [("card", "/.well-known/agent-card.json"), ("example", "/")] {
        running.agent.panic_in(method);
        let headers = [("accept", "text/html")];
        let answer =
            running.client.send_as(&headers, Method::GET, path, "application/json", "").await;
        running.agent.panic_in("");
        expect![[r#"
            500
            {"error":{"code":500,"status":"INTERNAL","message":"the agent failed; quote the error id err_<id> to whoever runs it"}}"#]].assert_eq(&shown(&answer));
        expect!["ERROR tradepost_server::http::plain: a request could not be answered error_id=err_<id> cause=answering a request: the agent's code panicked"].assert_eq(&without_ids(&log.errors().pop().unwrap()));
    }
    assert_eq!(running.client.get("/.well-known/agent-card.json").await.0, 200);
}

#[tokio::test]
async fn a_panic_of_work_fails_its_task_and_is_counted() {
    let (log, _guard) = Log::collect();
    let plan = |text: &str| {
        let is_faulty = text == "panic";
        Ok(MessagePlan::work(async move |progress| {
            progress.status(TaskState::Working, None).await?;
            assert!(!is_faulty, "expected by the test");
            progress.status(TaskState::Completed, None).await
        }))
    };
    let running = start_with(|_| None, plan, |_| {}).await;
    for binding in [Binding::JsonRpc, Binding::HttpJson, Binding::Grpc] {
        let operation = Operation::SendStreamingMessage;
        let events = running.client.ask(binding, operation, say("panic")).await.unwrap();
        let status = &events.last().unwrap()["statusUpdate"]["status"];
        assert_eq!(status["state"], "TASK_STATE_FAILED", "{}", binding.name());
        let text = status["message"]["parts"][0]["text"].as_str().unwrap();
        let expected = "The agent failed to work on this task. Error id: err_<id>";
        assert_eq!(without_ids(text), expected);
        let well = running.client.ask(binding, Operation::SendMessage, say("well")).await.unwrap();
        assert_eq!(well[0]["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    }
    assert_eq!((counted(&running), log.errors().len()), (3, 3));
}

#[tokio::test]
async fn a_panic_in_the_background_keeps_nothing_from_other_agents() {
    let (log, _guard) = Log::collect();
    let running = start().await;
    running.agent.panic_in("auth");
    let refreshed = running.registry.refresh().unwrap_err();
    assert_eq!(refreshed.chain(), "refreshing an agent: the agent's code panicked");
    running.agent.panic_in("");
    running.registry.refresh().unwrap();
    running.registry.tick().await;
    running.registry.close_streams();
    assert!(log.errors().is_empty());
}
