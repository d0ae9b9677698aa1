//! Checks for agents that follow the message scenarios of the official kit.

use tradepost_a2a::Operation;
use tradepost_a2a::error::A2aCode;
use tradepost_document::json::{Value, json};

use crate::check::{
    Check, CheckResult, CheckVerdict, checks, fail, fail_if, not_applicable, not_applicable_if,
    pass_if, verdict_of,
};
use crate::reply::AnswerContent;
use crate::run::{ProbeRun, RequestOverrides};
use crate::shape::{self, ShapeProblems, id_of, items, text};

pub(super) const CHECKS: &[Check] = checks![
    "a2a.kit.input-required", Binding, Must, ["O-04", "O-07"], "A2A §3.2.2, §3.4.3",
    "A task that waits for input takes a message that names only the task, and ends", "It is how every conversation with more than one turn goes.",
    "infer the context from the task" => input_required();
    "a2a.kit.third-turn", Binding, Must, ["O-07"], "A2A §3.4.3",
    "A third message that names only the task is taken", "Conversations have more than two turns.",
    "infer the context from the task, each time" => third_turn();
    "a2a.kit.context-mismatch", Binding, Must, ["E-19"], "A2A §3.4.3",
    "A message whose context is not the task's is refused", "It would mix two conversations.",
    "compare contextId with the task's" => context_mismatch();
    "a2a.kit.subscribe-waiting", Binding, Must, ["O-02"], "A2A §3.1.6",
    "A task that waits for input can be subscribed to", "The stream shows what the other turn brings.",
    "keep the task's events available until it ends" => subscribe_waiting();
    "a2a.kit.return-immediately", Binding, Must, ["O-04"], "A2A §3.2.2",
    "returnImmediately gives the task while it is worked on", "Some work takes longer than any connection lives.",
    "answer before the work is done" => return_immediately();
    "a2a.kit.cancel", Binding, Must, ["E-22"], "A2A §3.1.5",
    "A task that is worked on can be canceled, and canceling again changes nothing", "Users change their minds, and requests are repeated.",
    "stop the work, and answer the second time with the canceled task or -32002" => cancel();
    "a2a.kit.stream-message", Binding, Must, ["O-01"], "A2A §3.1.2",
    "A message in place of a task is the only event of its stream", "Clients close the stream after a message.",
    "send the message and close" => stream_message();
    "a2a.kit.failure", Binding, Must, ["E-28", "E-14"], "A2A §3.3.2",
    "A task whose work fails ends as failed, and says nothing of how", "The text of an exception is written for its programmer.",
    "set the state FAILED with a general sentence, and log the cause" => failure();
    "a2a.kit.integers", Binding, May, ["CT-05"], "A2A §4.1.6",
    "A whole number in a data part stays one", "42.0 is another text than 42, and some readers refuse it.",
    "keep JSON as it is, and do not pass it through doubles" => integers();
];

/// Returns a task that waits for input.
async fn waiting(run: &mut ProbeRun) -> Result<Value, CheckVerdict> {
    let task = run.scenario_task("tck-input-required", json!({})).await?;
    match shape::state(&task) {
        "TASK_STATE_INPUT_REQUIRED" => Ok(task),
        state => not_applicable(format!("the task does not wait for input but is {state:?}")),
    }
}

async fn input_required(run: &mut ProbeRun) -> CheckResult {
    let task = waiting(run).await?;
    let more = json!({"message": {"taskId": id_of(&task)}});
    let next = run.scenario_task("tck-complete-task", more).await?;
    let mut wrong = ShapeProblems::default();
    wrong.unless(id_of(&next) == id_of(&task), "the answer is another task");
    let holds = text(&next, "contextId") == text(&task, "contextId");
    wrong.unless(holds, "the task has another context");
    let state = shape::state(&next);
    wrong.unless(state == "TASK_STATE_COMPLETED", format!("the state is {state:?}"));
    verdict_of(&wrong.0)
}

async fn third_turn(run: &mut ProbeRun) -> CheckResult {
    let task = waiting(run).await?;
    let more = json!({"message": {"taskId": id_of(&task)}});
    let second = run.scenario_task("tck-input-required", more.clone()).await?;
    let holds = shape::state(&second) != "TASK_STATE_INPUT_REQUIRED";
    not_applicable_if(holds, "the agent's task ends with the second message")?;
    let third = run.scenario_task("tck-complete-task", more).await?;
    let state = shape::state(&third);
    pass_if(matches!(state, "TASK_STATE_COMPLETED"), format!("the state is {state:?}"))
}

async fn context_mismatch(run: &mut ProbeRun) -> CheckResult {
    let task = waiting(run).await?;
    let other = run.unique_id("context");
    let more = json!({"message": {"taskId": id_of(&task), "contextId": other}});
    let params = run.scenario_params("tck-complete-task", more);
    let reply = run.call(Operation::SendMessage, params).await?;
    // The specification does not name the error.
    pass_if(reply.error().is_some(), reply.describe())
}

async fn subscribe_waiting(run: &mut ProbeRun) -> CheckResult {
    not_applicable_if(!run.can("streaming"), "the card declares no streaming")?;
    let task = waiting(run).await?;
    let overrides = RequestOverrides { leave_after: Some(1), ..RequestOverrides::default() };
    let reply = run.ask(overrides, Operation::SubscribeToTask, json!({"id": id_of(&task)})).await?;
    pass_if(matches!(&reply.content, AnswerContent::Stream(_)), reply.describe())
}

async fn return_immediately(run: &mut ProbeRun) -> CheckResult {
    let task = running(run).await?;
    // The task is no longer needed, so its work is cancelled.
    let _ = run.call(Operation::CancelTask, json!({"id": id_of(&task)})).await?;
    match shape::state(&task) {
        state if shape::is_terminal(state) => fail(format!("the task came when it was {state:?}")),
        _ => Ok(CheckVerdict::Pass),
    }
}

/// Returns a task that takes a while, returned immediately.
async fn running(run: &mut ProbeRun) -> Result<Value, CheckVerdict> {
    let more = json!({"configuration": {"returnImmediately": true}});
    run.scenario_task("test-resubscribe-message-id", more).await
}

async fn cancel(run: &mut ProbeRun) -> CheckResult {
    let task = running(run).await?;
    not_applicable_if(shape::is_terminal(shape::state(&task)), "the agent's task ends at once")?;
    let params = json!({"id": id_of(&task)});
    let first = run.call(Operation::CancelTask, params.clone()).await?;
    let state = shape::state(first.result()?).to_owned();
    fail_if(state != "TASK_STATE_CANCELED", format!("the canceled task is {state:?}"))?;
    let again = run.call(Operation::CancelTask, params).await?;
    match &again.content {
        AnswerContent::Result(task) if shape::state(task) == "TASK_STATE_CANCELED" => {
            Ok(CheckVerdict::Pass)
        }
        AnswerContent::Result(_)
        | AnswerContent::Error(_)
        | AnswerContent::Stream(_)
        | AnswerContent::Other => again.refused(&[A2aCode::TaskNotCancelable]),
    }
}

async fn stream_message(run: &mut ProbeRun) -> CheckResult {
    not_applicable_if(!run.can("streaming"), "the card declares no streaming")?;
    let sample = run.scenario("tck-message-response", json!({})).await?;
    not_applicable_if(sample.get("message").is_none(), "the agent does not answer with a message")?;
    let params = run.scenario_params("tck-message-response", json!({}));
    let reply = run.call(Operation::SendStreamingMessage, params).await?;
    pass_if(
        matches!(&reply.content, AnswerContent::Stream(events) if events.len() == 1 && reply.response.ended),
        reply.describe(),
    )
}

async fn failure(run: &mut ProbeRun) -> CheckResult {
    run.may_send()?;
    // Ensures that the agent reacts to the prefixes at all.
    run.scenario("tck-complete-task", json!({})).await?;
    let params = run.scenario_params("tck-task-failure", json!({}));
    let reply = run.call(Operation::SendMessage, params).await?;
    if let Some(sign) = crate::leak::sign(&reply.response.text()) {
        return fail(format!("the answer shows {sign}"));
    }
    match &reply.content {
        AnswerContent::Error(_) if reply.is(A2aCode::InternalError) => Ok(CheckVerdict::Pass),
        AnswerContent::Result(result) => match shape::state(result.get("task").unwrap_or(result)) {
            "TASK_STATE_FAILED" => Ok(CheckVerdict::Pass),
            _ => not_applicable("the agent does not fail when the kit asks for it"),
        },
        AnswerContent::Error(_) | AnswerContent::Stream(_) | AnswerContent::Other => {
            fail(reply.describe())
        }
    }
}

async fn integers(run: &mut ProbeRun) -> CheckResult {
    let task = run.scenario_task("tck-artifact-data", json!({})).await?;
    let mut parts = items(&task, "artifacts").flat_map(|artifact| items(artifact, "parts"));
    let count = parts.find_map(|part| part.pointer("/data/count"));
    match count.map(Value::to_string).as_deref() {
        Some("42") => Ok(CheckVerdict::Pass),
        Some(other) => fail(format!("42 came as {other}")),
        None => not_applicable("the agent's artifact has no number in it"),
    }
}
