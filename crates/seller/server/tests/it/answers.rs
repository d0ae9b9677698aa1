//! What an agent answers is checked: clients never read what breaks A2A's data model.

use expect_test::expect;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_server::a2a::{Operation, Role, Task, TaskStatus};
use tradepost_server::agent::{AgentAnswer, Binding};
use tradepost_server::prelude::*;

use crate::client::{shown, without_ids};
use crate::scripted::{Log, say, start_with};

const BINDINGS: [Binding; 3] = [Binding::JsonRpc, Binding::HttpJson, Binding::Grpc];

fn twice(text: &str) -> Option<AgentOutcome> {
    if text != "twice" {
        return None;
    }
    let artifact = || Artifact::new("same", vec![Part::text("x")]);
    let task = Task {
        id: "t".to_owned(),
        context_id: "c".to_owned(),
        status: TaskStatus {
            state: TaskState::Completed,
            message: None,
            timestamp: Clock::system().now(),
        },
        artifacts: Some(vec![artifact(), artifact()]),
        history: None,
        metadata: None,
    };
    Some(AgentOutcome::Answer(Box::new(AgentAnswer::Begun(task))))
}

fn without_id(text: &str) -> Option<AgentOutcome> {
    let message = Message {
        message_id: String::new(),
        context_id: None,
        task_id: None,
        role: Role::Agent,
        parts: vec![Part::text("x")],
        metadata: None,
        extensions: Vec::new(),
        reference_task_ids: Vec::new(),
    };
    match text {
        "no id" => Some(AgentOutcome::Answer(Box::new(AgentAnswer::Message(message)))),
        other => twice(other),
    }
}

#[tokio::test]
async fn an_invalid_answer_is_an_internal_error_and_logged() {
    let (log, _guard) = Log::collect();
    let plan = |text: &str| {
        let parts = match text {
            "nothing" => Vec::new(),
            _ => vec![Part::text("x"), Content::Raw("no base64!".to_owned()).into()],
        };
        Ok(MessagePlan::Answer(parts))
    };
    let running = start_with(without_id, plan, |_| {}).await;
    for (text, expected) in [
        (
            "nothing",
            expect![[
                r#"ERROR tradepost_server::http::answers: a request could not be performed agent=scripted error_id=err_<id> cause="checking what the agent answers: the answer is not valid in A2A: message.parts must have at least one part""#
            ]],
        ),
        (
            "raw",
            expect![[
                r#"ERROR tradepost_server::http::answers: a request could not be performed agent=scripted error_id=err_<id> cause="checking what the agent answers: the answer is not valid in A2A: message.parts[1].raw must be base64 (RFC 4648)""#
            ]],
        ),
        (
            "twice",
            expect![[
                r#"ERROR tradepost_server::http::answers: a request could not be performed agent=scripted error_id=err_<id> cause="checking what the agent answers: the answer is not valid in A2A: task.artifacts[1].artifactId must differ from those of other artifacts""#
            ]],
        ),
        (
            "no id",
            expect![[
                r#"ERROR tradepost_server::http::answers: a request could not be performed agent=scripted error_id=err_<id> cause="checking what the agent answers: the answer is not valid in A2A: message.messageId must not be empty""#
            ]],
        ),
    ] {
        for binding in BINDINGS {
            let answer = running.client.ask_full(binding, Operation::SendMessage, say(text)).await;
            let answer = shown(&answer);
            let code = match binding {
                Binding::JsonRpc => "\"code\":-32603",
                Binding::HttpJson => "\"code\":500",
                Binding::Grpc => "grpc 13 ",
            };
            assert!(answer.contains(code) && answer.contains("err_<id>"), "{text}: {answer}");
            assert!(!answer.contains("parts") && !answer.contains("base64"), "{answer}");
            expected.assert_eq(&without_ids(&log.errors().pop().unwrap()));
        }
    }
}

#[tokio::test]
async fn an_invalid_artifact_fails_its_task_and_is_logged() {
    let (log, _guard) = Log::collect();
    let plan = |text: &str| {
        let artifact = match text {
            "nothing" => Artifact::new("a", Vec::new()),
            "raw" => Artifact::new("a", vec![Content::Raw("no base64!".to_owned()).into()]),
            _ => Artifact::new("", vec![Part::text("x")]),
        };
        Ok(MessagePlan::work(async move |progress| {
            // An agent that does not look whether its report was taken.
            let _ = progress.artifact(artifact, false, true).await;
            progress.status(TaskState::Completed, None).await
        }))
    };
    let running = start_with(|_| None, plan, |_| {}).await;
    for (text, expected) in [
        (
            "nothing",
            expect![
                "ERROR tradepost_server::tasks::beginning: a task failed agent=scripted task=<id> error_id=err_<id> cause=reporting an artifact: the artifact is not valid in A2A: artifact.parts must have at least one part"
            ],
        ),
        (
            "raw",
            expect![
                "ERROR tradepost_server::tasks::beginning: a task failed agent=scripted task=<id> error_id=err_<id> cause=reporting an artifact: the artifact is not valid in A2A: artifact.parts[0].raw must be base64 (RFC 4648)"
            ],
        ),
        (
            "no id",
            expect![
                "ERROR tradepost_server::tasks::beginning: a task failed agent=scripted task=<id> error_id=err_<id> cause=reporting an artifact: the artifact is not valid in A2A: artifact.artifactId must not be empty"
            ],
        ),
    ] {
        for binding in BINDINGS {
            let operation = Operation::SendStreamingMessage;
            let events = running.client.ask(binding, operation, say(text)).await.unwrap();
            let last = &events.last().unwrap()["statusUpdate"]["status"];
            assert_eq!(last["state"], "TASK_STATE_FAILED", "{}", binding.name());
            assert!(events.iter().all(|event| event.get("artifactUpdate").is_none()));
            let id = events[0]["task"]["id"].as_str().unwrap();
            let line = log.errors().pop().unwrap().replace(id, "<id>");
            expected.assert_eq(&without_ids(&line));
        }
    }
}
