//! Answers of an agent to a message (A2A §3.1.1, §4.1).

use tradepost_a2a::Operation;
use tradepost_document::json::{Value, json};

use crate::check::{
    Check, CheckResult, CheckVerdict, checks, fail, not_applicable, not_applicable_if,
    or_not_applicable, pass_if, verdict_of, warn,
};
use crate::run::ProbeRun;
use crate::shape::{self, ShapeProblems, text};

const WHY: &str = "Clients are generated from the protocol; they fail on anything else.";

pub(super) const CHECKS: &[Check] = checks![
    "a2a.send.result", Binding, Must, ["O-04", "CT-05"], "A2A §3.1.1",
    "The answer to a message is one of task and message", WHY,
    "wrap the answer: {\"task\": …} or {\"message\": …}" => result();
    "a2a.send.message", Binding, Must, ["E-25", "CT-05"], "A2A §4.1.4",
    "A message of the agent has messageId, the role ROLE_AGENT and parts", WHY,
    "fill in what is required; write enums with their full names" => message();
    "a2a.send.message-ids", Binding, Must, ["E-25", "CT-05"], "A2A §4.1.4",
    "Every message within a task has a messageId: the one of its status, and those of its history",
    "Clients tell messages apart by it, and show one that has none twice or never.",
    "give each message an id when it is made, and keep it" => message_ids();
    "a2a.send.roles", Binding, Must, ["E-25", "CT-05"], "A2A §4.1.4, §4.1.5",
    "What the agent says within a task has the role ROLE_AGENT", "A client shows it as the user's own words, and a model takes it for an order of the user's.",
    "give every message that the agent makes the role ROLE_AGENT" => roles();
    "a2a.send.task", Binding, Must, ["E-25", "CT-05"], "A2A §4.1.1",
    "A task has an id and a state of A2A, and its artifacts are whole", WHY,
    "fill in what is required; write enums with their full names" => task();
    "a2a.send.own-id", Binding, Must, ["O-07"], "A2A §4.1.4",
    "A message of the agent has an id of its own", "Two messages with one id are one message to a client.",
    "make a new messageId for each answer" => own_id();
    "a2a.send.context", Binding, Must, ["O-07"], "A2A §3.4.1",
    "The answer to a message without a context names one", "Without it a conversation cannot go on.",
    "make a contextId and return it" => context();
    "a2a.send.context-kept", Binding, Must, ["E-20"], "A2A §3.4.1",
    "A context that the client chose is kept or refused", "A context that is replaced in silence loses the conversation.",
    "keep the contextId of the message, or answer with an error" => context_kept();
    "a2a.send.timestamps", Binding, Must, ["CT-06"], "A2A §5.6.1",
    "Moments are written in UTC and end in Z", "Clients compare and sort the text.",
    "write ISO 8601 with Z" => timestamps();
];

async fn result(run: &mut ProbeRun) -> CheckResult {
    let sample = run.sample().await?;
    let task = sample.get("task");
    let message = sample.get("message");
    match (task.is_some_and(Value::is_object), message.is_some_and(Value::is_object)) {
        (true, false) | (false, true) => Ok(CheckVerdict::Pass),
        (true, true) => fail("the result has both a task and a message"),
        (false, false) => fail("the result has neither a task nor a message"),
    }
}

async fn message(run: &mut ProbeRun) -> CheckResult {
    let sample = run.sample().await?;
    let Some(message) = sample.get("message") else {
        return not_applicable("the answer is a task");
    };
    let mut wrong = ShapeProblems::default();
    shape::message(message, &mut wrong);
    verdict_of(&wrong.0)
}

async fn message_ids(run: &mut ProbeRun) -> CheckResult {
    let sample = run.sample().await?;
    let Some(task) = sample.get("task") else { return not_applicable("the answer is a message") };
    let named = task.pointer("/status/message").filter(|message| message.is_object());
    let of_status =
        named.into_iter().map(|message| ("the message of the status".to_owned(), message));
    let of_history = shape::items(task, "history").enumerate();
    let of_history = of_history.map(|(index, message)| (format!("history[{index}]"), message));
    let messages: Vec<_> = of_status.chain(of_history).collect();
    not_applicable_if(messages.is_empty(), "the task has no message in it")?;
    let mut wrong = ShapeProblems::default();
    for (place, message) in messages {
        wrong.text(message, "messageId", &place);
    }
    verdict_of(&wrong.0)
}

async fn roles(run: &mut ProbeRun) -> CheckResult {
    let sample = run.sample().await?;
    let Some(task) = sample.get("task") else { return not_applicable("the answer is a message") };
    let asked = run.cache.get(&format!("asked {}", run.binding)).cloned();
    let asked = asked.and_then(Result::ok).unwrap_or_default();
    // The history contains our own message too, to which some agents give another id.
    let is_ours = |message: &&Value| {
        ["messageId", "parts"].into_iter().any(|name| message.get(name) == asked.get(name))
    };
    let status = task.pointer("/status/message").filter(|message| message.is_object());
    let of_agent =
        shape::items(task, "history").enumerate().filter(|(_, message)| !is_ours(message));
    let mut wrong = ShapeProblems::default();
    let mut count = 0;
    if let Some(message) = status {
        count += 1;
        shape::role(message, "the message of the status", &mut wrong);
    }
    for (index, message) in of_agent {
        count += 1;
        shape::role(message, &format!("history[{index}]"), &mut wrong);
    }
    not_applicable_if(count == 0, "the agent says nothing within the task")?;
    verdict_of(&wrong.0)
}

async fn task(run: &mut ProbeRun) -> CheckResult {
    let sample = run.sample().await?;
    let Some(task) = sample.get("task") else { return not_applicable("the answer is a message") };
    let mut wrong = ShapeProblems::default();
    shape::task(task, &mut wrong);
    verdict_of(&wrong.0)
}

async fn own_id(run: &mut ProbeRun) -> CheckResult {
    let sample = run.sample().await?;
    let asked = run.cache.get(&format!("asked {}", run.binding)).cloned();
    let asked = asked.and_then(Result::ok).unwrap_or_default();
    let ours = text(&asked, "messageId").unwrap_or_default();
    let answers = [sample.get("message"), sample.pointer("/task/status/message")];
    let mut ids = answers.into_iter().flatten().filter_map(|message| text(message, "messageId"));
    if ids.any(|id| id == ours) {
        fail("the answer has the id of the question")
    } else {
        Ok(CheckVerdict::Pass)
    }
}

async fn context(run: &mut ProbeRun) -> CheckResult {
    let sample = run.sample().await?;
    let named = |value: Option<&Value>| {
        value.and_then(|value| text(value, "contextId")).is_some_and(|id| !id.is_empty())
    };
    if named(sample.get("task")) || named(sample.get("message")) {
        return Ok(CheckVerdict::Pass);
    }
    if sample.get("message").is_some() {
        // Optional in a message, although a client may need it for the next one.
        return warn("the message names no context");
    }
    not_applicable_if(sample.get("task").is_none(), "the answer is neither a task nor a message")?;
    fail("the task names no context")
}

async fn context_kept(run: &mut ProbeRun) -> CheckResult {
    run.sample().await?;
    let mut message = run.message("probe");
    let ours = run.unique_id("context");
    shape::set(&mut message, "/contextId", json!(ours));
    let reply = run.call(Operation::SendMessage, json!({"message": message})).await?;
    if reply.error().is_some() {
        return Ok(CheckVerdict::Pass);
    }
    let result = reply.result()?;
    let answer = result.get("task").or_else(|| result.get("message"));
    match answer.and_then(|answer| text(answer, "contextId")) {
        Some(theirs) if theirs == ours => Ok(CheckVerdict::Pass),
        Some(_) => fail("the answer has another context"),
        None => warn("the answer names no context"),
    }
}

async fn timestamps(run: &mut ProbeRun) -> CheckResult {
    let sample = run.sample().await?;
    let moment = or_not_applicable(
        sample.pointer("/task/status/timestamp"),
        "the answer has no moment in it",
    )?;
    let written = moment.as_str().unwrap_or_default();
    let holds = shape::is_moment(written) && written.ends_with('Z');
    pass_if(holds, format!("status.timestamp is {moment}"))
}
