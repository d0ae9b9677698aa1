//! What the agent does about a message, keyed on the prefix of the message's id, as the kit sends it, or
//! of the first part's text, as the kit's successor does.

use std::time::Duration;

use tradepost_document::json::json;
use tradepost_server::a2a::{Artifact, Content, Message, Part, Task, TaskState};
use tradepost_server::fault::InternalError;
use tradepost_server::tasks::{MessagePlan, TaskEnded, TaskProgress};

/// Duration of the kit's long task: twice the kit's timeout.
const LONG_WORK_TIME: Duration = Duration::from_secs(4);

/// Duration of a task that waits to be canceled.
const CANCELABLE_WORK_TIME: Duration = Duration::from_secs(600);

/// What is to be done about a message, with the task that it continues.
pub(crate) fn plan(message: &Message, task: Option<&Task>) -> MessagePlan {
    let scenario = scenario(message, task);
    if scenario == Scenario::Message {
        return MessagePlan::Answer(vec![Part::text("Direct message response")]);
    }
    MessagePlan::Work(Box::new(move |progress| {
        Box::pin(async move { work(scenario, &progress).await })
    }))
}

/// Returns the scenario of a message. A message that continues a task and names none completes it; a
/// task of several turns is completed only by a message that begins with `done`.
fn scenario(message: &Message, task: Option<&Task>) -> Scenario {
    if let Some(scenario) = named(message) {
        return scenario;
    }
    let first = task.and_then(|task| task.history.as_ref()?.first());
    let done = message.text().is_some_and(|text| text.starts_with("done"));
    match first.and_then(named) {
        Some(Scenario::MultiTurn) if !done => Scenario::MultiTurn,
        Some(_) | None => Scenario::Complete(None),
    }
}

/// Behaviour that the kits ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scenario {
    Message,
    InputRequired,
    MultiTurn,
    AuthRequired,
    Reject,
    Fail,
    Panic,
    /// Works for a while.
    Work(Duration, Option<Product>),
    Complete(Option<Product>),
    Stream {
        working: bool,
        artifact: Option<Product>,
    },
    Flood(u32),
}

/// Artifact of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Product {
    Text(&'static str),
    File,
    FileUrl,
    Data,
    Chunks,
}

/// Scenarios by prefix; a longer prefix precedes the shorter one it begins with.
const SCENARIOS: &[(&str, Scenario)] = &[
    ("tck-complete-task", Scenario::Complete(None)),
    ("tck-message-response", Scenario::Message),
    ("tck-input-required", Scenario::InputRequired),
    ("tck-multi-turn", Scenario::MultiTurn),
    ("tck-auth-required", Scenario::AuthRequired),
    ("tck-reject-task", Scenario::Reject),
    ("tck-task-failure", Scenario::Fail),
    ("tradepost-panic", Scenario::Panic),
    ("tradepost-flood-500", Scenario::Flood(500)),
    ("tradepost-flood-40000", Scenario::Flood(40_000)),
    ("tck-long-running", Scenario::Work(LONG_WORK_TIME, Some(Product::Text("Long task result")))),
    ("test-resubscribe-message-id", Scenario::Work(LONG_WORK_TIME, None)),
    ("tck-cancel", Scenario::Work(CANCELABLE_WORK_TIME, None)),
    ("tck-artifact-file-url", Scenario::Complete(Some(Product::FileUrl))),
    ("tck-artifact-file", Scenario::Complete(Some(Product::File))),
    ("tck-artifact-data", Scenario::Complete(Some(Product::Data))),
    ("tck-artifact-text", Scenario::Complete(Some(Product::Text("Generated text content")))),
    ("tck-stream-001", streaming("Stream hello from TCK")),
    ("tck-stream-002", Scenario::Stream { working: false, artifact: None }),
    ("tck-stream-003", streaming("Stream task lifecycle")),
    ("tck-stream-ordering-001", streaming("Ordered output")),
    ("tck-stream-basic", streaming("Stream hello from TCK")),
    ("tck-stream-artifact-text", streaming("Streamed text content")),
    ("tck-stream-artifact-file", Scenario::Stream { working: true, artifact: Some(Product::File) }),
    (
        "tck-stream-artifact-chunked",
        Scenario::Stream { working: true, artifact: Some(Product::Chunks) },
    ),
    ("tck-stream-chunked", Scenario::Stream { working: true, artifact: Some(Product::Chunks) }),
];

const fn streaming(text: &'static str) -> Scenario {
    Scenario::Stream { working: true, artifact: Some(Product::Text(text)) }
}

/// The scenario that a message names.
fn named(message: &Message) -> Option<Scenario> {
    let find = |name: &str| {
        let found = SCENARIOS.iter().find(|(prefix, _)| name.starts_with(prefix));
        found.map(|(_, scenario)| *scenario)
    };
    find(&message.message_id).or_else(|| find(message.text()?))
}

async fn work(scenario: Scenario, progress: &TaskProgress) -> Result<(), InternalError> {
    use TaskState::{AuthRequired, InputRequired, Rejected, Working};
    const HELLO: Option<&str> = Some("Hello from TCK");
    // A task that was canceled meanwhile is no error.
    let _: Result<(), TaskEnded> = match scenario {
        Scenario::Message => Ok(()),
        Scenario::InputRequired | Scenario::MultiTurn => {
            progress.status(InputRequired, Some("More input is needed")).await
        }
        Scenario::AuthRequired => {
            progress.status(AuthRequired, Some("A credential is needed")).await
        }
        Scenario::Reject => progress.status(Rejected, Some("rejected")).await,
        Scenario::Fail => {
            return Err(InternalError::new("working on a task", "the kit asked for it"));
        }
        Scenario::Panic => unreachable!("a test asked for it"),
        Scenario::Work(time, artifact) => {
            let begun = progress.status(Working, None).await;
            tokio::time::sleep(time).await;
            match begun {
                Ok(()) => finish(progress, false, artifact, HELLO).await,
                Err(ended) => Err(ended),
            }
        }
        Scenario::Complete(artifact) => {
            finish(progress, false, artifact, HELLO.filter(|_| artifact.is_none())).await
        }
        Scenario::Stream { working, artifact } => finish(progress, working, artifact, None).await,
        Scenario::Flood(events) => flood(progress, events).await,
    };
    Ok(())
}

async fn finish(
    progress: &TaskProgress,
    working: bool,
    artifact: Option<Product>,
    says: Option<&str>,
) -> Result<(), TaskEnded> {
    if working {
        progress.status(TaskState::Working, None).await?;
    }
    match artifact {
        Some(Product::Chunks) => {
            progress.artifact(result(vec![Part::text("chunk-1 ")]), false, false).await?;
            progress.artifact(result(vec![Part::text("chunk-2")]), true, true).await?;
        }
        Some(other) => progress.artifact(result(vec![part(other)]), false, true).await?,
        None => {}
    }
    progress.status(TaskState::Completed, says).await
}

async fn flood(progress: &TaskProgress, events: u32) -> Result<(), TaskEnded> {
    progress.status(TaskState::Working, None).await?;
    for number in 0..events {
        let part = Part::data(json!({"number": number}));
        progress.artifact(result(vec![part]), number > 0, number + 1 == events).await?;
    }
    progress.status(TaskState::Completed, None).await
}

fn result(parts: Vec<Part>) -> Artifact {
    Artifact::new("artifact-1", parts)
}

fn part(result: Product) -> Part {
    let file = |content| Part::file(content, "output.txt", "text/plain");
    match result {
        Product::Text(text) => Part::text(text),
        // "Generated file content", in base64.
        Product::File => file(Content::Raw("R2VuZXJhdGVkIGZpbGUgY29udGVudA==".to_owned())),
        Product::FileUrl => file(Content::Url("https://example.com/output.txt".to_owned())),
        Product::Data => Part::data(json!({"key": "value", "count": 42})),
        Product::Chunks => Part::text("chunk-1 chunk-2"),
    }
}
