//! A2A 0.3: methods with a slash, members called `kind`, and states in lower case. Requests are put
//! into the form of 1.0 and read by its reader, so that both are refused alike; answers are
//! the same tasks in the older form.

use tradepost_server::agent::Caller;
use tradepost_server::http::Stamp;
use tradepost_server::http::answers::{Dialect as _, Parcel};
use tradepost_server::http::jsonrpc::{JsonRpc, succeed};
use tradepost_wire::a2a::error::{Code, Refusal};
use tradepost_wire::a2a::{Artifact, Content, Operation, Part, Request, Task, TaskState, request};
use tradepost_wire::adcp::{Tool, rules};
use tradepost_wire::json::{Map, Value, json};
use tradepost_wire::jsonrpc;

use crate::adcp::invocation::{self, Form};
use crate::adcp::seller::PublisherAgent;

/// The argument by which AdCP itself says where to call.
const PUSH: &str = "push_notification_config";

/// Whether a method is one of 0.3.
pub(super) fn is_method(name: &str) -> bool {
    name.contains('/')
}

/// Answers a request.
pub(super) async fn answer(
    publisher: &PublisherAgent,
    caller: &Caller,
    envelope: jsonrpc::Request,
) -> Parcel {
    let jsonrpc::Request { id, method, params } = envelope;
    match perform(publisher, caller, &method, params).await {
        Ok(task) => {
            let code = invocation::code_of(&task);
            (succeed(&id, told(&task)), Stamp { code, ..Stamp::default() })
        }
        Err(refusal) => JsonRpc(&id).protocol(&refusal, None),
    }
}

async fn perform(
    publisher: &PublisherAgent,
    caller: &Caller,
    method: &str,
    params: Option<Value>,
) -> Result<Task, Refusal> {
    let unsupported = |code: Code| Err(Refusal::new(code, code.title()));
    match method {
        "message/send" => {
            let send = request::send_message(params.map(modern).as_ref())?;
            publisher.send(caller, &send.message, Form::Older).await
        }
        "tasks/get" => {
            let Request::GetTask { id, .. } = request::read(Operation::GetTask, params.as_ref())?
            else {
                unreachable!("the reader gives the request of its operation");
            };
            publisher.task(caller, &id)
        }
        "tasks/cancel" => {
            let Request::CancelTask { id } = request::read(Operation::CancelTask, params.as_ref())?
            else {
                unreachable!("the reader gives the request of its operation");
            };
            Err(publisher.cancel(caller, &id))
        }
        "message/stream" | "tasks/resubscribe" | "agent/getAuthenticatedExtendedCard" => {
            unsupported(Code::UnsupportedOperation)
        }
        _ if method.starts_with("tasks/pushNotificationConfig/") => {
            unsupported(Code::PushNotificationNotSupported)
        }
        _ => {
            let message = "method not found; A2A 0.3 has message/send, and 1.0 SendMessage";
            Err(Refusal::new(Code::MethodNotFound, message))
        }
    }
}

/// The parameters of `message/send` in the form of 1.0. What fits neither stays as it is, for the
/// reader to refuse.
fn modern(mut params: Value) -> Value {
    let push = params
        .get_mut("configuration")
        .and_then(Value::as_object_mut)
        .and_then(|configuration| configuration.swap_remove("pushNotificationConfig"));
    let Some(message) = params.get_mut("message").and_then(Value::as_object_mut) else {
        return params;
    };
    let role = match message.get("role").and_then(Value::as_str) {
        Some("user") => Some("ROLE_USER"),
        Some("agent") => Some("ROLE_AGENT"),
        Some(_) | None => None,
    };
    if let Some(role) = role {
        message.insert("role".to_owned(), role.into());
    }
    let parts = message.get_mut("parts").and_then(Value::as_array_mut);
    for part in parts.into_iter().flatten().filter_map(Value::as_object_mut) {
        part.swap_remove("kind");
        if let Some(Value::Object(mut file)) = part.swap_remove("file") {
            // A file is refused whatever it holds, and what it is called does not matter then.
            let content = file.swap_remove("uri").map(|uri| ("url", uri));
            let content = content.or_else(|| file.swap_remove("bytes").map(|bytes| ("raw", bytes)));
            if let Some((name, value)) = content {
                part.insert(name.to_owned(), value);
            }
        }
        if let (Some(push), Some(data)) = (&push, part.get_mut("data")) {
            take_push(push, data);
        }
    }
    params
}

/// Clients of 0.3 say in the protocol's configuration where to call; AdCP's own argument of the
/// tools that have one is where that belongs.
fn take_push(push: &Value, data: &mut Value) {
    let tool = data.get("skill").and_then(Value::as_str).and_then(Tool::of_name);
    let takes = |tool: Tool| {
        let schema = rules::json_schema(tool);
        schema.get("properties").is_some_and(|members| members.get(PUSH).is_some())
    };
    let name = if data.get("input").is_some() { "input" } else { "parameters" };
    let input = data.get_mut(name).and_then(Value::as_object_mut);
    if let (Some(input), true) = (input, tool.is_some_and(takes)) {
        input.entry(PUSH).or_insert_with(|| push.clone());
    }
}

/// A task in the older form.
fn told(task: &Task) -> Value {
    let artifacts = task.artifacts.iter().flatten().map(artifact);
    json!({
        "kind": "task",
        "id": task.id,
        "contextId": task.context_id,
        "status": {
            "state": state(task.status.state),
            "timestamp": format!("{:.3}", task.status.timestamp),
        },
        "artifacts": artifacts.collect::<Vec<_>>(),
    })
}

fn artifact(artifact: &Artifact) -> Value {
    let parts = artifact.parts.iter().map(part);
    json!({"artifactId": artifact.artifact_id, "parts": parts.collect::<Vec<_>>()})
}

fn part(part: &Part) -> Value {
    let members = match &part.content {
        Content::Text(text) => [("kind", "text".into()), ("text", text.clone().into())],
        Content::Data(data) => [("kind", "data".into()), ("data", data.clone())],
        Content::Raw(bytes) => [("kind", "file".into()), ("file", json!({"bytes": bytes}))],
        Content::Url(url) => [("kind", "file".into()), ("file", json!({"uri": url}))],
    };
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map>().into()
}

const fn state(state: TaskState) -> &'static str {
    match state {
        TaskState::Submitted => "submitted",
        TaskState::Working => "working",
        TaskState::Completed => "completed",
        TaskState::Failed => "failed",
        TaskState::Canceled => "canceled",
        TaskState::InputRequired => "input-required",
        TaskState::Rejected => "rejected",
        TaskState::AuthRequired => "auth-required",
    }
}
