//! Completed tasks (A2A §3.1).

use tradepost_a2a::Operation;
use tradepost_a2a::error::A2aCode;
use tradepost_document::json::{Value, json};

use crate::binding::Binding;
use crate::check::{
    Check, CheckResult, checks, not_applicable_if, not_looked_at, not_looked_at_if, pass_if,
    verdict_of, warn,
};
use crate::reply::streams;
use crate::run::ProbeRun;
use crate::shape::{self, ShapeProblems, id_of, items, text};

const WHY_END: &str =
    "What has ended stays as it is; a client that tries has to hear that it came too late.";

pub(super) const CHECKS: &[Check] = checks![
    "a2a.task.get", Binding, Must, ["O-08"], "A2A §3.1.3",
    "A task that was given can be read", "A client that lost the answer asks for the task.",
    "keep tasks at least as long as clients may ask for them" => get();
    "a2a.task.whole", Binding, Must, ["E-25", "O-08"], "A2A §4.1.1, §4.1.3",
    "A task that is read or listed is whole: it has an id, a state of A2A, and artifacts with parts",
    "Clients are generated from the protocol; they fail on anything else.",
    "fill in what is required; write enums with their full names" => whole();
    "a2a.task.artifacts", Binding, Must, ["O-08", "O-04"], "A2A §3.1.3",
    "A task that is read has the artifacts that it was given with", "The artifacts are the result; a client that lost the answer asks for them.",
    "keep artifacts with the task, and give them with every GetTask" => artifacts();
    "a2a.task.same-everywhere", Rest, Must, ["O-08"], "A2A §5.1",
    "A task is the same on every binding", "A buyer may send on one binding and read on another.",
    "serve all bindings from one store" => same_everywhere();
    "a2a.task.history-none", Binding, Should, ["O-05"], "A2A §3.2.4",
    "A history length of 0 leaves the history out", "Clients on phones ask for little.",
    "omit history" => history(0);
    "a2a.task.history-limit", Binding, Must, ["O-05"], "A2A §3.2.4",
    "A history length of 1 gives one message at most", "Clients on phones ask for little.",
    "give the latest messages only" => history(1);
    "a2a.task.send-after-end", Binding, Must, ["E-17"], "A2A §3.1.1",
    "A message to a task that has ended is UnsupportedOperation", WHY_END,
    "answer -32004, or HTTP 400 with UNSUPPORTED_OPERATION" => after_end(Operation::SendMessage, A2aCode::UnsupportedOperation);
    "a2a.task.stream-after-end", Binding, Must, ["E-17"], "A2A §3.1.2",
    "A streamed message to a task that has ended is UnsupportedOperation", WHY_END,
    "answer -32004 before the stream begins" => after_end(Operation::SendStreamingMessage, A2aCode::UnsupportedOperation);
    "a2a.task.cancel-after-end", Binding, Must, ["E-22"], "A2A §3.1.5",
    "Canceling a task that has ended is TaskNotCancelable", WHY_END,
    "answer -32002, or HTTP 400 with TASK_NOT_CANCELABLE" => after_end(Operation::CancelTask, A2aCode::TaskNotCancelable);
    "a2a.task.subscribe-after-end", Binding, Must, ["E-21"], "A2A §3.1.6",
    "Subscribing to a task that has ended is UnsupportedOperation", WHY_END,
    "answer -32004 before the stream begins" => after_end(Operation::SubscribeToTask, A2aCode::UnsupportedOperation);
];

async fn get(run: &mut ProbeRun) -> CheckResult {
    let task = run.task().await?;
    let reply = run.call(Operation::GetTask, json!({"id": id_of(&task)})).await?;
    let read = reply.result()?;
    pass_if(id_of(read) == id_of(&task), "it is another task")
}

async fn whole(run: &mut ProbeRun) -> CheckResult {
    let task = run.task().await?;
    let reply = run.call(Operation::GetTask, json!({"id": id_of(&task)})).await?;
    let Ok(read) = reply.result() else {
        return not_looked_at(format!("the task cannot be read: {}", reply.describe()));
    };
    let mut wrong = ShapeProblems::default();
    shape::task(read, &mut wrong);
    if run.lists_tasks().await.is_ok() {
        let context = text(&task, "contextId").unwrap_or_default();
        let reply = run.call(Operation::ListTasks, json!({"contextId": context})).await?;
        if let Ok(page) = reply.result() {
            items(page, "tasks").for_each(|listed| shape::task(listed, &mut wrong));
        }
    }
    wrong.0.dedup();
    verdict_of(&wrong.0)
}

async fn artifacts(run: &mut ProbeRun) -> CheckResult {
    let mut task = run.task().await?;
    if items(&task, "artifacts").count() == 0 {
        task = run.scenario_task("tck-artifact-text", json!({})).await?;
    }
    not_applicable_if(
        items(&task, "artifacts").count() == 0,
        "the agent's tasks have no artifacts",
    )?;
    // A task in progress may have other artifacts a moment later.
    not_looked_at_if(
        !shape::is_terminal(shape::state(&task)),
        "the task was given before it had ended",
    )?;
    let reply = run.call(Operation::GetTask, json!({"id": id_of(&task)})).await?;
    let Ok(read) = reply.result() else {
        return not_looked_at(format!("the task cannot be read: {}", reply.describe()));
    };
    let mut wrong = ShapeProblems::default();
    shape::same_artifacts(&task, read, "the answer", &mut wrong);
    verdict_of(&wrong.0)
}

async fn same_everywhere(run: &mut ProbeRun) -> CheckResult {
    let task = run.ended_task().await?;
    let params = json!({"id": id_of(&task)});
    let ours = run.call(Operation::GetTask, params.clone()).await?.result()?.clone();
    run.binding = Binding::JsonRpc;
    not_applicable_if(run.endpoint().is_err(), "the card offers one binding only")?;
    let theirs = run.call(Operation::GetTask, params).await?.result()?.clone();
    pass_if(ours == theirs, "JSON-RPC gives it otherwise")
}

async fn history(run: &mut ProbeRun, length: usize) -> CheckResult {
    let task = run.ended_task().await?;
    let params = json!({"id": id_of(&task), "historyLength": length});
    let reply = run.call(Operation::GetTask, params).await?;
    let task = reply.result()?;
    let count = items(task, "history").count();
    if length == 0 && task.get("history").is_some_and(Value::is_array) && count == 0 {
        return warn("history is an empty list, and not left out");
    }
    pass_if(count <= length, format!("the history has {count} messages"))
}

async fn after_end(run: &mut ProbeRun, operation: Operation, expected: A2aCode) -> CheckResult {
    not_applicable_if(
        streams(operation) && !run.can("streaming"),
        "the card declares no streaming",
    )?;
    let task = run.ended_task().await?;
    let canceled = shape::state(&task) == "TASK_STATE_CANCELED";
    let holds = canceled && operation == Operation::CancelTask;
    not_applicable_if(holds, "the task was canceled, and canceling again may succeed")?;
    let params = run.about(operation, id_of(&task));
    let reply = run.call(operation, params).await?;
    reply.refused(&[expected])
}
