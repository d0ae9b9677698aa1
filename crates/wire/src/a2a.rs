//! A2A v1.0: the operations, and `SendMessage`'s parameters in the ProtoJSON form. Names are
//! accepted in camelCase and, as ProtoJSON parsers do, in snake_case; we write camelCase.

use serde::Serialize;
use serde_json::Value;

use crate::a2a::error::{Code, FieldViolation, Refusal};
use crate::catalog::{catalog, words};
use crate::parse::{self, read_object};
use crate::problem::{At, Extra, Keyword, Problems};

pub mod card;
pub mod error;

/// The header, query parameter and metadata key of the protocol version.
pub const VERSION_HEADER: &str = "a2a-version";

/// The header that lists the extensions a request activates.
pub const EXTENSIONS_HEADER: &str = "a2a-extensions";

/// The protocol version spoken (`Major.Minor`).
pub const VERSION: &str = "1.0";

catalog! {
    /// The eleven operations of A2A v1.0, by JSON-RPC method name (A2A §5.3).
    pub enum Operation {
        /// What an agent answers that has neither tasks, streams, push nor an extended card
        /// (A2A §3.3.4); `None` for the one operation that every agent has.
        without_capability: Option<Code>,
    }
    /// Sends a message and waits for the answer.
    SendMessage = "SendMessage" { without_capability: None }
    /// Sends a message and streams the answer.
    SendStreamingMessage = "SendStreamingMessage" { without_capability: Some(Code::UnsupportedOperation) }
    /// Reads a task.
    GetTask = "GetTask" { without_capability: Some(Code::TaskNotFound) }
    /// Lists the caller's tasks.
    ListTasks = "ListTasks" { without_capability: Some(Code::UnsupportedOperation) }
    /// Cancels a task.
    CancelTask = "CancelTask" { without_capability: Some(Code::TaskNotFound) }
    /// Streams a task's further events.
    SubscribeToTask = "SubscribeToTask" { without_capability: Some(Code::UnsupportedOperation) }
    /// Adds a webhook to a task.
    CreateTaskPushNotificationConfig = "CreateTaskPushNotificationConfig" {
        without_capability: Some(Code::PushNotificationNotSupported),
    }
    /// Reads a webhook of a task.
    GetTaskPushNotificationConfig = "GetTaskPushNotificationConfig" {
        without_capability: Some(Code::PushNotificationNotSupported),
    }
    /// Lists the webhooks of a task.
    ListTaskPushNotificationConfigs = "ListTaskPushNotificationConfigs" {
        without_capability: Some(Code::PushNotificationNotSupported),
    }
    /// Removes a webhook from a task.
    DeleteTaskPushNotificationConfig = "DeleteTaskPushNotificationConfig" {
        without_capability: Some(Code::PushNotificationNotSupported),
    }
    /// Reads the card for authenticated callers.
    GetExtendedAgentCard = "GetExtendedAgentCard" { without_capability: Some(Code::UnsupportedOperation) }
}

words! {
    /// Who speaks.
    pub enum Role {
        /// The buyer's side.
        User = "ROLE_USER",
        /// The seller's side.
        Agent = "ROLE_AGENT",
    }
}

/// `SendMessage`'s parameters, borrowed from the request.
#[derive(Debug, Clone)]
pub struct SendMessage<'v> {
    /// The message.
    pub message: Message<'v>,
    /// The media types that the caller can read; empty when it does not say.
    pub accepted_output_modes: Vec<String>,
    /// Whether a webhook is configured along with the message.
    pub push_notification_config: bool,
}

/// A message of the buyer's side.
#[derive(Debug, Clone)]
pub struct Message<'v> {
    /// The sender's unique id of this message.
    pub message_id: String,
    /// The conversation, when the caller names one.
    pub context_id: Option<String>,
    /// The task it belongs to, when the caller names one.
    pub task_id: Option<String>,
    /// What is said; at least one part.
    pub parts: Vec<Part<'v>>,
    /// The extensions that the message itself activates.
    pub extensions: Vec<String>,
}

/// A part of a message.
#[derive(Debug, Clone)]
pub struct Part<'v> {
    /// The one content member.
    pub content: Content<'v>,
    /// The media type, when given.
    pub media_type: Option<String>,
}

/// What a part carries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Content<'v> {
    /// Text.
    Text(&'v str),
    /// Bytes, in base64.
    Raw(&'v str),
    /// A reference.
    Url(&'v str),
    /// Structured data, untouched.
    Data(&'v Value),
}

const CONTENT_NAMES: &[&str] = &["text", "raw", "url", "data"];

/// Reads `SendMessage`'s parameters. Unknown members are ignored (A2A §5.7).
///
/// # Errors
/// `INVALID_PARAMS` with every wrong field (`E-025` to `E-030`).
pub fn send_message(params: Option<&Value>) -> Result<SendMessage<'_>, Refusal> {
    let mut problems = Problems::new();
    let params = read_params(params.unwrap_or(&Value::Null), &mut problems);
    problems
        .into_result(params)
        .map_err(|problems| invalid_params(&problems))
}

fn read_params<'v>(value: &'v Value, problems: &mut Problems) -> Option<SendMessage<'v>> {
    read_object!(value, &At::Root, problems, open {
        required "message" => message: read_message,
        optional "configuration" => configuration: read_configuration,
    });
    let (accepted_output_modes, push_notification_config) = configuration.unwrap_or_default();
    Some(SendMessage {
        message: message?,
        accepted_output_modes,
        push_notification_config,
    })
}

fn read_configuration(
    value: &Value,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<(Vec<String>, bool)> {
    if value.is_null() {
        return None;
    }
    read_object!(value, at, problems, open {
        optional "acceptedOutputModes" | "accepted_output_modes" => modes: or_null(parse::texts),
        optional "taskPushNotificationConfig" | "task_push_notification_config" => push:
            |v: &Value, _: &At<'_>, _: &mut Problems| Some(!v.is_null()),
    });
    Some((modes.unwrap_or_default(), push.unwrap_or_default()))
}

fn read_message<'v>(value: &'v Value, at: &At<'_>, problems: &mut Problems) -> Option<Message<'v>> {
    read_object!(value, at, problems, open {
        required "messageId" | "message_id" => message_id:
            |v, at: &At<'_>, p: &mut Problems| parse::text_of(v, at, p, 1, None),
        optional "contextId" | "context_id" => context_id: or_null(parse::text),
        optional "taskId" | "task_id" => task_id: or_null(parse::text),
        required "role" => role: read_role,
        required "parts" => parts: |v, at: &At<'_>, p: &mut Problems| {
            parse::list(v, at, p, (1, None), read_part)
        },
        optional "extensions" => extensions: or_null(parse::texts),
    });
    role?;
    Some(Message {
        message_id: message_id?,
        context_id: context_id.filter(|id| !id.is_empty()),
        task_id: task_id.filter(|id| !id.is_empty()),
        parts: parts?,
        extensions: extensions.unwrap_or_default(),
    })
}

/// In ProtoJSON an optional member that is `null` is absent.
fn or_null<T>(
    reader: impl Fn(&Value, &At<'_>, &mut Problems) -> Option<T>,
) -> impl Fn(&Value, &At<'_>, &mut Problems) -> Option<T> {
    move |value, at, problems| {
        if value.is_null() {
            None
        } else {
            reader(value, at, problems)
        }
    }
}

fn str_or_null<'v>(value: &'v Value, at: &At<'_>, problems: &mut Problems) -> Option<&'v str> {
    if value.is_null() {
        None
    } else {
        parse::str(value, at, problems)
    }
}

fn read_role(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<()> {
    // The enum's number is ProtoJSON too: ROLE_USER is 1.
    if value.as_str() == Some("ROLE_USER") || value.as_u64() == Some(1) {
        return Some(());
    }
    let message = "must be ROLE_USER in a request";
    parse::push(
        at,
        problems,
        Keyword::Enum,
        message,
        Extra::Allowed(&["ROLE_USER"]),
    );
    None
}

fn read_part<'v>(value: &'v Value, at: &At<'_>, problems: &mut Problems) -> Option<Part<'v>> {
    read_object!(value, at, problems, open {
        optional "text" => text: str_or_null,
        optional "raw" => raw: str_or_null,
        optional "url" => url: str_or_null,
        optional "data" => data: |v: &'v Value, _: &At<'_>, _: &mut Problems| Some(v),
        optional "mediaType" | "media_type" => media_type: or_null(parse::text),
    });
    let members = value.as_object()?;
    // A null `data` is the value null; any other null member is absent.
    let present = |name: &&&str| {
        members
            .get(**name)
            .is_some_and(|v| **name == "data" || !v.is_null())
    };
    let present = CONTENT_NAMES.iter().filter(present).count();
    if present != 1 {
        let message = "must have exactly one of text, raw, url, data";
        parse::push(
            at,
            problems,
            Keyword::AnyOf,
            message,
            Extra::AnyOf(CONTENT_NAMES),
        );
        return None;
    }
    let content = text
        .map(Content::Text)
        .or(raw.map(Content::Raw))
        .or(url.map(Content::Url))
        .or(data.map(Content::Data))?;
    Some(Part {
        content,
        media_type,
    })
}

fn invalid_params(problems: &Problems) -> Refusal {
    let violations: Vec<_> = problems
        .listed()
        .iter()
        .map(|problem| FieldViolation {
            field: if let Extra::Property(name) = problem.extra {
                join(&path(&problem.pointer), name)
            } else {
                path(&problem.pointer)
            },
            description: problem.message.clone(),
        })
        .collect();
    let message = match problems.total() {
        1 => "Invalid parameters: 1 field is wrong".to_owned(),
        n => format!("Invalid parameters: {n} fields are wrong"),
    };
    Refusal {
        violations,
        ..Refusal::new(Code::InvalidParams, message)
    }
}

/// A JSON Pointer in A2A's notation: `/message/parts/0/data` is `message.parts[0].data`; the
/// parameters themselves are `params`.
fn path(pointer: &str) -> String {
    let mut out = String::new();
    for segment in pointer.split('/').skip(1) {
        if !out.is_empty() && segment.bytes().all(|b| b.is_ascii_digit()) {
            out = format!("{out}[{segment}]");
        } else {
            out = join(&out, &segment.replace("~1", "/").replace("~0", "~"));
        }
    }
    if out.is_empty() {
        "params".to_owned()
    } else {
        out
    }
}

fn join(parent: &str, name: &str) -> String {
    if parent.is_empty() || parent == "params" {
        name.to_owned()
    } else {
        format!("{parent}.{name}")
    }
}

/// The protocol version that a request asks for, `1.0.x` being `1.0` (A2A §3.6).
///
/// # Errors
/// `VERSION_NOT_SUPPORTED`, when it is another one.
pub fn check_version(requested: &str) -> Result<(), Refusal> {
    let mut numbers = requested.trim().split('.');
    let is = |part: Option<&str>, wanted| part == Some(wanted);
    let patch = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if is(numbers.next(), "1")
        && is(numbers.next(), "0")
        && numbers.next().is_none_or(patch)
        && numbers.next().is_none()
    {
        return Ok(());
    }
    let message = "this agent speaks A2A 1.0 only; send A2A-Version: 1.0";
    Err(Refusal::new(Code::VersionNotSupported, message).with("supportedVersions", VERSION))
}

/// An answering message, ready to be written: `{"message": …}` is `SendMessage`'s result.
#[derive(Debug, Serialize)]
pub struct MessageResult<P> {
    /// The message.
    pub message: Answer<P>,
}

/// A message of the seller's side with one data part.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer<P> {
    /// Unique, and never the request's (`R-ENV-03`).
    pub message_id: String,
    /// The conversation: echoed, or new.
    pub context_id: String,
    /// Always [`Role::Agent`].
    pub role: Role,
    /// The part.
    pub parts: [DataPart<P>; 1],
    /// The extensions in use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<&'static str>,
}

/// A structured part, ready to be written.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DataPart<P> {
    /// The payload.
    pub data: P,
    /// Its media type.
    pub media_type: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_spellings_and_unknown_members_are_accepted() {
        let params = json!({
            "message": {"message_id": "m", "context_id": "c", "role": "ROLE_USER", "kind": "message",
                        "parts": [{"data": {}, "media_type": "application/json"}, {"text": "hello"}]},
            "configuration": {"accepted_output_modes": ["*/*"]}, "metadata": {},
        });
        let read = send_message(Some(&params)).unwrap();
        assert_eq!(
            (read.message.message_id.as_str(), read.message.parts.len()),
            ("m", 2)
        );
        assert_eq!(read.message.context_id.as_deref(), Some("c"));
    }

    #[test]
    fn every_wrong_field_is_named_by_its_path() {
        let params =
            json!({"message": {"messageId": "", "role": "user", "parts": [{}, {"text": 5}]}});
        let refusal = send_message(Some(&params)).unwrap_err();
        let fields: Vec<_> = refusal
            .violations
            .iter()
            .map(|v| v.field.as_str())
            .collect();
        assert_eq!(
            fields,
            [
                "message.messageId",
                "message.role",
                "message.parts[0]",
                "message.parts[1].text"
            ]
        );
        let refusal = send_message(None).unwrap_err();
        assert_eq!(refusal.violations[0].field, "params");
    }

    #[test]
    fn versions_are_compared_without_their_patch_number() {
        for good in ["1.0", "1.0.3", " 1.0"] {
            assert!(check_version(good).is_ok(), "{good}");
        }
        for bad in ["0.3", "2.0", "1.1", "1", "abc", "", "1.0.x", "1.0.3.4"] {
            assert!(check_version(bad).is_err(), "{bad}");
        }
    }
}
