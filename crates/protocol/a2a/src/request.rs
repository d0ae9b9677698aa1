//! Parsing of requests: parameters in ProtoJSON become typed requests, or a list of every wrong
//! field (A2A 1.0 §3.1). Unknown members are ignored (A2A 1.0 §5.7).

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Operation;
use super::error::{A2aCode, A2aRefusal, FieldViolation};
use super::model::{Content, Message, Role, TaskState};
use tradepost_document::json::{Map, Value};
use tradepost_document::parse::{self, read_object};
use tradepost_document::problem::{DocumentPlace, ProblemDetail, Problems};

mod page;
mod parts;

use parts::{read_part, read_role};

pub use page::{ListScope, RequestedPage, requested_page};

/// A request of an operation.
#[derive(Debug, Clone)]
pub enum A2aRequest {
    /// Sends a message and waits for the answer.
    SendMessage(SendMessage),
    /// Sends a message and streams the answer.
    SendStreamingMessage(SendMessage),
    /// Reads a task.
    GetTask {
        /// Id of the task.
        id: String,
        /// Maximum number of messages in its history (A2A 1.0 §3.2.4).
        history_length: Option<u32>,
    },
    /// Lists tasks.
    ListTasks(ListTasks),
    /// Cancels a task.
    CancelTask {
        /// Id of the task.
        id: String,
    },
    /// Streams further events of a task.
    SubscribeToTask {
        /// Id of the task.
        id: String,
    },
    /// Adds a webhook to a task.
    CreatePushConfig(PushConfig),
    /// Reads a webhook.
    GetPushConfig {
        /// Id of the task.
        task_id: String,
        /// Id of the webhook.
        id: String,
    },
    /// Lists the webhooks of a task.
    ListPushConfigs {
        /// Id of the task.
        task_id: String,
        /// Page size.
        page_size: Option<u32>,
        /// Token of the page.
        page_token: Option<String>,
    },
    /// Deletes a webhook.
    DeletePushConfig {
        /// Id of the task.
        task_id: String,
        /// Id of the webhook.
        id: String,
    },
    /// Reads the extended card.
    GetExtendedAgentCard,
}

impl A2aRequest {
    /// Returns the operation.
    #[must_use]
    pub fn operation(&self) -> Operation {
        match self {
            Self::SendMessage(_) => Operation::SendMessage,
            Self::SendStreamingMessage(_) => Operation::SendStreamingMessage,
            Self::GetTask { .. } => Operation::GetTask,
            Self::ListTasks(_) => Operation::ListTasks,
            Self::CancelTask { .. } => Operation::CancelTask,
            Self::SubscribeToTask { .. } => Operation::SubscribeToTask,
            Self::CreatePushConfig(_) => Operation::CreateTaskPushNotificationConfig,
            Self::GetPushConfig { .. } => Operation::GetTaskPushNotificationConfig,
            Self::ListPushConfigs { .. } => Operation::ListTaskPushNotificationConfigs,
            Self::DeletePushConfig { .. } => Operation::DeleteTaskPushNotificationConfig,
            Self::GetExtendedAgentCard => Operation::GetExtendedAgentCard,
        }
    }
}

/// A message with its options.
#[derive(Debug, Clone)]
pub struct SendMessage {
    /// The message.
    pub message: Message,
    /// Media types that the caller accepts; empty when unspecified.
    pub accepted_output_modes: Vec<String>,
    /// Webhook for the task.
    pub push_config: Option<PushConfig>,
    /// Maximum number of messages in the answer's history.
    pub history_length: Option<u32>,
    /// True when the answer should not wait for the task.
    pub return_immediately: bool,
    /// Metadata of the request; that of the message is in the message.
    pub metadata: Option<Map>,
}

/// Filter and options of a list of tasks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ListTasks {
    /// Conversation.
    pub context_id: Option<String>,
    /// State.
    pub status: Option<TaskState>,
    /// Page size, 1 to 100; 50 when `None`.
    pub page_size: Option<u32>,
    /// Token of the page.
    pub page_token: Option<String>,
    /// Maximum number of messages in each history.
    pub history_length: Option<u32>,
    /// Earliest time of the state.
    pub status_timestamp_after: Option<Timestamp>,
    /// True when artifacts are included.
    pub include_artifacts: bool,
}

/// Configuration of a webhook.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PushConfig {
    /// Id, unique within the task.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub id: Option<String>,
    /// Id of the task.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub task_id: Option<String>,
    /// Address.
    pub url: String,
    /// Token for the receiver.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub token: Option<String>,
    /// Authentication at the receiver.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub authentication: Option<AuthenticationInfo>,
}

impl std::fmt::Debug for PushConfig {
    /// Leaves out address and token, which may contain secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PushConfig")
            .field("id", &self.id)
            .field("task_id", &self.task_id)
            .finish_non_exhaustive()
    }
}

/// A credential for a webhook.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthenticationInfo {
    /// Name of the scheme, such as `Bearer`.
    pub scheme: String,
    /// The credential.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub credentials: Option<String>,
}

impl std::fmt::Debug for AuthenticationInfo {
    /// Leaves out the credential.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authentication").field("scheme", &self.scheme).finish_non_exhaustive()
    }
}

/// Reads the parameters of an operation.
///
/// # Errors
/// `INVALID_PARAMS` with every wrong field.
pub fn read(operation: Operation, params: Option<&Value>) -> Result<A2aRequest, A2aRefusal> {
    let params = params.unwrap_or(&Value::Null);
    let mut problems = Problems::new();
    let p = &mut problems;
    let request = match operation {
        Operation::SendMessage => read_send(params, p).map(A2aRequest::SendMessage),
        Operation::SendStreamingMessage => {
            read_send(params, p).map(A2aRequest::SendStreamingMessage)
        }
        Operation::GetTask => {
            read_object!(params, &DocumentPlace::Root, p, open {
                required "id" => id: id_text,
                optional "historyLength" | "history_length" => history_length: or_null(length),
            });
            id.map(|id| A2aRequest::GetTask { id, history_length })
        }
        Operation::ListTasks => read_list(params, p).map(A2aRequest::ListTasks),
        Operation::CancelTask => read_id(params, p).map(|id| A2aRequest::CancelTask { id }),
        Operation::SubscribeToTask => {
            read_id(params, p).map(|id| A2aRequest::SubscribeToTask { id })
        }
        Operation::CreateTaskPushNotificationConfig => {
            let config = read_push_config(params, &DocumentPlace::Root, p);
            // Only this operation requires the task: the webhook of a message has none yet.
            let empty = |value: &Value| value.is_null() || value.as_str() == Some("");
            let named = |name: &str| params.get(name).is_some_and(|value| !empty(value));
            if params.is_object() && !named("taskId") && !named("task_id") {
                parse::missing(&DocumentPlace::Root, p, "taskId");
            }
            config.map(A2aRequest::CreatePushConfig)
        }
        Operation::GetTaskPushNotificationConfig => read_task_and_id(params, p)
            .map(|(task_id, id)| A2aRequest::GetPushConfig { task_id, id }),
        Operation::DeleteTaskPushNotificationConfig => read_task_and_id(params, p)
            .map(|(task_id, id)| A2aRequest::DeletePushConfig { task_id, id }),
        Operation::ListTaskPushNotificationConfigs => {
            read_object!(params, &DocumentPlace::Root, p, open {
                required "taskId" | "task_id" => task_id: id_text,
                optional "pageSize" | "page_size" => page_size: or_null(page),
                optional "pageToken" | "page_token" => page_token: given,
            });
            task_id.map(|task_id| A2aRequest::ListPushConfigs { task_id, page_size, page_token })
        }
        Operation::GetExtendedAgentCard => Some(A2aRequest::GetExtendedAgentCard),
    };
    problems.into_result(request).map_err(|problems| invalid_params(&problems))
}

/// Reads owned parameters, which moves the data of a message instead of copying it.
///
/// # Errors
/// `INVALID_PARAMS` with every wrong field.
pub fn take(operation: Operation, mut params: Option<Value>) -> Result<A2aRequest, A2aRefusal> {
    // Replaced by null, because the parser does not examine data.
    let data: Vec<Value> = params.iter_mut().flat_map(data).map(std::mem::take).collect();
    let mut request = read(operation, params.as_ref())?;
    if let A2aRequest::SendMessage(send) | A2aRequest::SendStreamingMessage(send) = &mut request {
        let places = send.message.parts.iter_mut().filter_map(|part| match &mut part.content {
            Content::Data(place) => Some(place),
            Content::Text(_) | Content::Raw(_) | Content::Url(_) => None,
        });
        places.zip(data).for_each(|(place, data)| *place = data);
    }
    Ok(request)
}

/// Returns the data of a message's parts, in their order.
fn data(params: &mut Value) -> impl Iterator<Item = &mut Value> {
    let parts = params.get_mut("message").and_then(|message| message.get_mut("parts"));
    let parts = parts.and_then(Value::as_array_mut).into_iter().flatten();
    parts.filter_map(|part| part.get_mut("data"))
}

/// Reads the parameters of `SendMessage`.
///
/// # Errors
/// `INVALID_PARAMS` with every wrong field.
// Messages need an id, the role of a user and parts with one content each (A2A 1.0 §3.1.1; E-25,
// E-26, E-025 to E-030).
pub fn send_message(params: Option<&Value>) -> Result<SendMessage, A2aRefusal> {
    let mut problems = Problems::new();
    let params = read_send(params.unwrap_or(&Value::Null), &mut problems);
    problems.into_result(params).map_err(|problems| invalid_params(&problems))
}

/// Returns true when a message's parameters ask for push notifications, well-formed or not.
#[must_use]
pub fn asks_for_push(params: &Value) -> bool {
    let Some(configuration) = params.get("configuration") else { return false };
    ["taskPushNotificationConfig", "task_push_notification_config"]
        .iter()
        .any(|name| configuration.get(name).is_some_and(|config| !config.is_null()))
}

/// Returns the refusal of a parameter that only the operation itself could check.
#[must_use]
pub fn invalid_param(field: &str, description: &str) -> A2aRefusal {
    invalid_fields(vec![FieldViolation {
        field: field.to_owned(),
        description: description.to_owned(),
    }])
}

/// Returns the refusal of parameters that only the operation itself could check; at least one.
#[must_use]
pub fn invalid_fields(violations: Vec<FieldViolation>) -> A2aRefusal {
    let total = violations.len();
    wrong(violations, total)
}

/// Adds a wrong field to a refusal.
#[must_use]
pub fn with_violation(refusal: A2aRefusal, field: &str, description: &str) -> A2aRefusal {
    let mut violations = refusal.violations;
    violations
        .push(FieldViolation { field: field.to_owned(), description: description.to_owned() });
    invalid_fields(violations)
}

/// Builds the refusal of wrong parameters. The first ones are also in the message and in the
/// metadata, because some official clients show neither the `BadRequest` nor any other detail.
fn wrong(violations: Vec<FieldViolation>, total: usize) -> A2aRefusal {
    const IN_WORDS: usize = 10;
    let first = || violations.iter().take(IN_WORDS);
    let listed: Vec<_> = first().map(|v| format!("{}: {}", v.field, v.description)).collect();
    let fields: Vec<_> = first().map(|violation| violation.field.as_str()).collect();
    let mut message = format!("Invalid parameters: {}", listed.join("; "));
    if let more @ 1.. = total.saturating_sub(listed.len()) {
        message = format!("{message}; and {more} more");
    }
    let refusal =
        A2aRefusal::new(A2aCode::InvalidParams, message).with("fields", fields.join(", "));
    A2aRefusal { violations, ..refusal }
}

fn read_id(params: &Value, problems: &mut Problems) -> Option<String> {
    read_object!(params, &DocumentPlace::Root, problems, open { required "id" => id: id_text });
    id
}

fn read_task_and_id(params: &Value, problems: &mut Problems) -> Option<(String, String)> {
    read_object!(params, &DocumentPlace::Root, problems, open {
        required "taskId" | "task_id" => task_id: id_text,
        required "id" => id: id_text,
    });
    task_id.zip(id)
}

pub(super) fn id_text(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<String> {
    parse::text_of(value, at, problems, 1, None)
}

pub(super) fn length(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<u32> {
    parse::integer(value, at, problems, 0, Some(i64::from(i32::MAX)))
        .and_then(|n| u32::try_from(n).ok())
}

fn page(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<u32> {
    parse::integer(value, at, problems, 1, Some(100)).and_then(|n| u32::try_from(n).ok())
}

fn read_list(params: &Value, problems: &mut Problems) -> Option<ListTasks> {
    if params.is_null() {
        return Some(ListTasks::default());
    }
    read_object!(params, &DocumentPlace::Root, problems, open {
        optional "contextId" | "context_id" => context_id: given,
        optional "status" => status: or_null(state_filter),
        optional "pageSize" | "page_size" => page_size: or_null(page),
        optional "pageToken" | "page_token" => page_token: given,
        optional "historyLength" | "history_length" => history_length: or_null(length),
        optional "statusTimestampAfter" | "status_timestamp_after" => status_timestamp_after:
            or_null(parse::timestamp),
        optional "includeArtifacts" | "include_artifacts" => include_artifacts:
            or_null(parse::boolean),
    });
    Some(ListTasks {
        context_id,
        status: status.flatten(),
        page_size,
        page_token,
        history_length,
        status_timestamp_after,
        include_artifacts: include_artifacts.unwrap_or_default(),
    })
}

/// Reads a state to filter by; the unspecified one does not filter.
fn state_filter(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<Option<TaskState>> {
    if value.as_str() == Some("TASK_STATE_UNSPECIFIED") || value.as_u64() == Some(0) {
        return Some(None);
    }
    parse::word(value, at, problems).map(Some)
}

fn read_push_config(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<PushConfig> {
    read_object!(value, at, problems, open {
        optional "id" => id: given,
        optional "taskId" | "task_id" => task_id: given,
        required "url" => url: parse::uri,
        optional "token" => token: given,
        optional "authentication" => authentication: or_null(read_authentication),
    });
    Some(PushConfig { id, task_id, url: url?, token, authentication })
}

fn read_authentication(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<AuthenticationInfo> {
    read_object!(value, at, problems, open {
        required "scheme" => scheme: id_text,
        optional "credentials" => credentials: or_null(parse::text),
    });
    Some(AuthenticationInfo { scheme: scheme?, credentials })
}

fn read_send(params: &Value, problems: &mut Problems) -> Option<SendMessage> {
    read_object!(params, &DocumentPlace::Root, problems, open {
        required "message" => message: read_message,
        optional "configuration" => configuration: read_configuration,
        optional "metadata" => metadata: or_null(object),
    });
    Some(SendMessage { metadata, ..configuration.unwrap_or_default().with_message(message?) })
}

/// Options of a message.
#[derive(Default)]
pub(super) struct SendOptions {
    pub(super) accepted_output_modes: Vec<String>,
    pub(super) push_config: Option<PushConfig>,
    pub(super) history_length: Option<u32>,
    pub(super) return_immediately: bool,
}

impl SendOptions {
    /// Combines the options with a message.
    pub(super) fn with_message(self, message: Message) -> SendMessage {
        let Self { accepted_output_modes, push_config, history_length, return_immediately } = self;
        SendMessage {
            message,
            accepted_output_modes,
            push_config,
            history_length,
            return_immediately,
            metadata: None,
        }
    }
}

fn read_configuration(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<SendOptions> {
    if value.is_null() {
        return None;
    }
    read_object!(value, at, problems, open {
        optional "acceptedOutputModes" | "accepted_output_modes" => modes: or_null(parse::texts),
        optional "taskPushNotificationConfig" | "task_push_notification_config" => push_config:
            or_null(read_push_config),
        optional "historyLength" | "history_length" => history_length: or_null(length),
        optional "returnImmediately" | "return_immediately" => return_immediately:
            or_null(parse::boolean),
    });
    Some(SendOptions {
        accepted_output_modes: modes.unwrap_or_default(),
        push_config,
        history_length,
        return_immediately: return_immediately.unwrap_or_default(),
    })
}

pub(super) fn read_message(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<Message> {
    read_object!(value, at, problems, open {
        required "messageId" | "message_id" => message_id: id_text,
        optional "contextId" | "context_id" => context_id: given,
        optional "taskId" | "task_id" => task_id: given,
        required "role" => role: read_role,
        required "parts" => parts: |v, at, p| parse::list(v, at, p, (1, None), read_part),
        optional "metadata" => metadata: or_null(object),
        optional "extensions" => extensions: or_null(parse::texts),
        optional "referenceTaskIds" | "reference_task_ids" => reference_task_ids:
            or_null(parse::texts),
    });
    // After everything else, so that a wrong role hides no other problem.
    role?;
    Some(Message {
        message_id: message_id?,
        context_id,
        task_id,
        role: Role::User,
        parts: parts?,
        metadata,
        extensions: extensions.unwrap_or_default(),
        reference_task_ids: reference_task_ids.unwrap_or_default(),
    })
}

pub(super) fn object(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<Map> {
    let members = value.as_object().cloned();
    if members.is_none() {
        parse::wrong_type(at, problems, "object");
    }
    members
}

/// Reads a member for which null means absent, as in ProtoJSON.
pub(super) fn or_null<T>(
    reader: impl Fn(&Value, &DocumentPlace<'_>, &mut Problems) -> Option<T>,
) -> impl Fn(&Value, &DocumentPlace<'_>, &mut Problems) -> Option<T> {
    move |value, at, problems| {
        if value.is_null() { None } else { reader(value, at, problems) }
    }
}

/// Reads a string; an empty one means absent.
pub(super) fn given(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<String> {
    or_null(parse::text)(value, at, problems).filter(|text| !text.is_empty())
}

pub(super) fn invalid_params(problems: &Problems) -> A2aRefusal {
    let violations: Vec<_> = problems
        .listed()
        .iter()
        .map(|problem| FieldViolation {
            field: if let ProblemDetail::Property(name) = problem.extra {
                join(&path(&problem.pointer), name)
            } else {
                path(&problem.pointer)
            },
            description: problem.message.clone(),
        })
        .collect();
    wrong(violations, problems.total())
}

/// Converts a JSON Pointer to A2A's notation: `/message/parts/0/data` becomes
/// `message.parts[0].data`, and the parameters themselves `params`.
pub(crate) fn path(pointer: &str) -> String {
    let mut out = String::new();
    for segment in pointer.split('/').skip(1) {
        if !out.is_empty() && segment.bytes().all(|b| b.is_ascii_digit()) {
            out = format!("{out}[{segment}]");
        } else {
            out = join(&out, &segment.replace("~1", "/").replace("~0", "~"));
        }
    }
    if out.is_empty() { "params".to_owned() } else { out }
}

fn join(parent: &str, name: &str) -> String {
    if parent.is_empty() || parent == "params" {
        name.to_owned()
    } else {
        format!("{parent}.{name}")
    }
}

#[cfg(test)]
mod tests;
