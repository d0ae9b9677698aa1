//! Reads an AdCP task from an A2A message, and writes its answer as an A2A task. The message has
//! one data part that names the task and has its arguments; any other message is refused by the
//! protocol itself, because no task was begun (AdCP A2A profile extension v3, "Invocation
//! message").

use jiff::Timestamp;
use tradepost_a2a::error::{A2aRefusal, FieldViolation};
use tradepost_a2a::request::invalid_fields;
use tradepost_a2a::{A2aRelease, Artifact, Content, Message, Part, Task, TaskState, TaskStatus};
use tradepost_adcp::error::AdcpCode;
use tradepost_adcp::tool::is_unsupported_task;
use tradepost_adcp::{AdcpAnswer, AdcpTool, EXTENSION};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value};
use tradepost_server::refusals::FieldError;

use super::field_errors;

/// Members that the data part may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvocationForm {
    /// Only `skill` and `input`.
    Profile,
    /// The same, or `parameters` in place of `input`, as clients outside the profile send it: those
    /// of A2A 0.3, and AdCP's own for Python over 1.0.
    Loose,
}

impl InvocationForm {
    /// Returns the form of messages in a release of A2A, of a caller that activates these
    /// extensions.
    #[must_use]
    pub fn new(release: A2aRelease, activated: &[String]) -> Self {
        let names_profile = activated.iter().any(|uri| uri == EXTENSION);
        match release {
            A2aRelease::V1_0 if names_profile => Self::Profile,
            A2aRelease::V1_0 | A2aRelease::V0_3 => Self::Loose,
        }
    }
}

/// Call in a message.
#[derive(Debug, Clone, PartialEq)]
pub struct Invocation {
    /// AdCP task.
    pub task: Invoked,
    /// Arguments of the task.
    pub input: Map,
}

/// Task that a message names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Invoked {
    /// Task of this seller.
    Here(AdcpTool),
    /// Name of an AdCP task that this seller does not have.
    Foreign(String),
}

/// Reads a message. `tools` are the seller's.
///
/// # Errors
/// Returns `INVALID_PARAMS` with every violation.
pub fn read(
    message: &Message,
    form: InvocationForm,
    tools: &[AdcpTool],
) -> Result<Invocation, A2aRefusal> {
    let mut wrong = Vec::new();
    let mut data = Vec::new();
    for (index, part) in message.parts.iter().enumerate() {
        match &part.content {
            Content::Data(value) => data.push((index, value)),
            // Text is for display only, and never read.
            Content::Text(_) => {}
            Content::Raw(_) | Content::Url(_) => wrong.push(violation(
                format!("message.parts[{index}]"),
                "files have no place here; refer to them in the task's input",
            )),
        }
    }
    let read = match data.as_slice() {
        [(index, value)] => {
            let at = format!("message.parts[{index}].data");
            invocation(value, &at, form, tools, &mut wrong)
        }
        [] => {
            let needs = "one data part {\"skill\": …, \"input\": {…}} is required";
            none(&mut wrong, "message.parts".to_owned(), needs)
        }
        [_, _, ..] => {
            let one = "exactly one data part is permitted; send one task in one message";
            none(&mut wrong, "message.parts".to_owned(), one)
        }
    };
    match read {
        Some(read) if wrong.is_empty() => Ok(read),
        Some(_) | None => Err(invalid_fields(wrong)),
    }
}

fn invocation(
    value: &Value,
    at: &str,
    form: InvocationForm,
    tools: &[AdcpTool],
    wrong: &mut Vec<FieldViolation>,
) -> Option<Invocation> {
    let Some(members) = value.as_object() else {
        return none(wrong, at.to_owned(), "must be an object {\"skill\": …, \"input\": {…}}");
    };
    let name = members.get("skill").and_then(Value::as_str).unwrap_or_default();
    let tool = AdcpTool::from_any_name(name).filter(|tool| tools.contains(tool));
    // A task that other agents have gets the same answer as over MCP: not supported here.
    if tool.is_none() && !is_unsupported_task(name) {
        let skill = "must be the id of a skill of the agent card";
        wrong.push(violation(format!("{at}.skill"), skill));
    }
    let alias = members.get("parameters").filter(|_| form == InvocationForm::Loose);
    let input = match (members.get("input"), alias) {
        (Some(Value::Object(input)), None) | (None, Some(Value::Object(input))) => {
            Some(input.clone())
        }
        (Some(_), Some(_)) => {
            let both = "must not stand beside input; send one of them";
            none(wrong, format!("{at}.parameters"), both)
        }
        (_, Some(_)) => none(wrong, format!("{at}.parameters"), "must be an object"),
        (_, None) => {
            let input = "must be an object with the task's request; it is required";
            none(wrong, format!("{at}.input"), input)
        }
    };
    let known = |name: &str| {
        matches!(name, "skill" | "input") || name == "parameters" && form == InvocationForm::Loose
    };
    // Extra members of clients outside the profile are ignored.
    if form == InvocationForm::Profile && members.keys().any(|name| !known(name)) {
        let others = "has members besides skill and input; put the request into input";
        wrong.push(violation(at.to_owned(), others));
    }
    let task = tool.map_or_else(|| Invoked::Foreign(name.to_owned()), Invoked::Here);
    Some(Invocation { task, input: input? })
}

/// Records a violation and returns `None`.
fn none<T>(wrong: &mut Vec<FieldViolation>, field: String, description: &str) -> Option<T> {
    wrong.push(violation(field, description));
    None
}

fn violation(field: String, description: &str) -> FieldViolation {
    FieldViolation { field, description: description.to_owned() }
}

/// Builds the A2A task of an answer. The AdCP status is in the data: any answer but a failure
/// completes the invocation.
#[must_use]
pub fn task(
    now: Timestamp,
    answer: &AdcpAnswer,
    document: Value,
    id: String,
    context_id: String,
) -> Task {
    let text_part = (!answer.message.is_empty()).then(|| Part::text(answer.message.clone()));
    let parts = text_part.into_iter().chain([Part::data(document)]).collect();
    let (state, artifact_id) = match answer.is_failure() {
        true => (TaskState::Failed, "error-result"),
        false => (TaskState::Completed, "adcp-result"),
    };
    Task {
        id,
        context_id,
        status: TaskStatus { state, message: None, timestamp: now },
        artifacts: Some(vec![Artifact::new(artifact_id, parts)]),
        history: None,
        metadata: None,
    }
}

/// Returns the field errors of a failed task.
#[must_use]
pub fn field_errors_of(task: &Task) -> Vec<FieldError> {
    if task.status.state != TaskState::Failed {
        return Vec::new();
    }
    let parts = task.artifacts.iter().flatten().flat_map(|artifact| &artifact.parts);
    let documents = parts.filter_map(|part| match &part.content {
        Content::Data(data) => Some(data),
        Content::Text(_) | Content::Raw(_) | Content::Url(_) => None,
    });
    documents.flat_map(field_errors::of_document).collect()
}

/// Returns the AdCP error code of a failed task, and `OK` for others.
#[must_use]
pub fn code_of(task: &Task) -> &'static str {
    if task.status.state != TaskState::Failed {
        return "OK";
    }
    let parts = task.artifacts.iter().flatten().flat_map(|artifact| &artifact.parts);
    let data = parts.filter_map(|part| match &part.content {
        Content::Data(data) => data.pointer("/adcp_error/code"),
        Content::Text(_) | Content::Raw(_) | Content::Url(_) => None,
    });
    let mut codes = data.filter_map(Value::as_str).filter_map(AdcpCode::from_name);
    codes.next().map_or("FAILED", AdcpCode::name)
}
