//! What A2A talks about: messages, tasks, artifacts and the events of a task (A2A §4.1, §4.2).
//! Structured data and metadata stay the JSON that they were.

use jiff::Timestamp;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::catalog::{Vocabulary as _, catalog, words};
use crate::json::{Map, Value, put};

words! {
    /// Who speaks.
    pub enum Role {
        /// The buyer's side.
        User = "ROLE_USER",
        /// The seller's side.
        Agent = "ROLE_AGENT",
    }
}

catalog! {
    /// Where a task stands (A2A §4.1.3).
    pub enum TaskState {
        /// The number in protobuf.
        number: i32,
        /// The name in A2A 0.3.
        older: &'static str;
        /// Whether nothing more will happen.
        terminal: bool = false,
        /// Whether the task waits for the buyer.
        interrupted: bool = false,
    }
    /// Accepted, not begun.
    Submitted = "TASK_STATE_SUBMITTED" { number: 1, older: "submitted" }
    /// Being worked on.
    Working = "TASK_STATE_WORKING" { number: 2, older: "working" }
    /// Done.
    Completed = "TASK_STATE_COMPLETED" { number: 3, older: "completed"; terminal: true }
    /// Failed.
    Failed = "TASK_STATE_FAILED" { number: 4, older: "failed"; terminal: true }
    /// Canceled by the buyer.
    Canceled = "TASK_STATE_CANCELED" { number: 5, older: "canceled"; terminal: true }
    /// Waits for another message.
    InputRequired = "TASK_STATE_INPUT_REQUIRED" {
        number: 6, older: "input-required"; interrupted: true,
    }
    /// Not accepted.
    Rejected = "TASK_STATE_REJECTED" { number: 7, older: "rejected"; terminal: true }
    /// Waits for a credential.
    AuthRequired = "TASK_STATE_AUTH_REQUIRED" {
        number: 8, older: "auth-required"; interrupted: true,
    }
}

impl TaskState {
    /// The state of this name in A2A 0.3.
    #[must_use]
    pub fn from_older(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|state| state.older() == name)
    }
}

impl Serialize for TaskState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(crate::catalog::Vocabulary::name(*self))
    }
}

impl<'de> Deserialize<'de> for TaskState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        crate::catalog::Vocabulary::from_name(&name)
            .ok_or_else(|| serde::de::Error::custom("not a task state"))
    }
}

/// A message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// The sender's unique id of this message.
    pub message_id: String,
    /// The conversation.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub context_id: Option<String>,
    /// The task that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub task_id: Option<String>,
    /// Who speaks.
    pub role: Role,
    /// What is said; at least one part.
    pub parts: Vec<Part>,
    /// Anything else.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub metadata: Option<Map>,
    /// The extensions that the message activates.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub extensions: Vec<String>,
    /// Other tasks that it refers to.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub reference_task_ids: Vec<String>,
}

/// A part of a message or artifact.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The one content member.
    pub content: Content,
    /// Anything else.
    pub metadata: Option<Map>,
    /// A name for what is carried.
    pub filename: Option<String>,
    /// The media type.
    pub media_type: Option<String>,
}

/// What a part carries.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Text.
    Text(String),
    /// Bytes, in base64.
    Raw(String),
    /// A reference.
    Url(String),
    /// Structured data, untouched.
    Data(Value),
}

impl From<Content> for Part {
    fn from(content: Content) -> Self {
        Self { content, metadata: None, filename: None, media_type: None }
    }
}

impl Message {
    /// The text of its first part, when that is text.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.parts.first()?.content {
            Content::Text(text) => Some(text),
            Content::Raw(_) | Content::Url(_) | Content::Data(_) => None,
        }
    }
}

impl Artifact {
    /// An artifact of these parts.
    #[must_use]
    pub fn new(artifact_id: impl Into<String>, parts: Vec<Part>) -> Self {
        let (artifact_id, extensions) = (artifact_id.into(), Vec::new());
        Self { artifact_id, name: None, description: None, parts, metadata: None, extensions }
    }
}

impl Part {
    /// A part with text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Content::Text(text.into()).into()
    }

    /// A part with structured data.
    #[must_use]
    pub fn data(data: Value) -> Self {
        Content::Data(data).into()
    }

    /// A part that is a file: [`Content::Raw`] with its bytes or [`Content::Url`] with its address.
    #[must_use]
    pub fn file(content: Content, filename: &str, media_type: &str) -> Self {
        let (filename, media_type) = (Some(filename.to_owned()), Some(media_type.to_owned()));
        Self { content, metadata: None, filename, media_type }
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut part = serializer.serialize_map(None)?;
        match &self.content {
            Content::Text(text) => part.serialize_entry("text", text)?,
            Content::Raw(bytes) => part.serialize_entry("raw", bytes)?,
            Content::Url(url) => part.serialize_entry("url", url)?,
            Content::Data(data) => part.serialize_entry("data", data)?,
        }
        put(&mut part, "metadata", self.metadata.as_ref())?;
        put(&mut part, "filename", self.filename.as_ref())?;
        put(&mut part, "mediaType", self.media_type.as_ref())?;
        part.end()
    }
}

/// Reads what we wrote. What a peer wrote is read by [`request`](super::request), which reports
/// every problem.
impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Flat {
            text: Option<String>,
            raw: Option<String>,
            url: Option<String>,
            #[serde(default, deserialize_with = "present")]
            data: Option<Value>,
            metadata: Option<Map>,
            filename: Option<String>,
            media_type: Option<String>,
        }
        fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
            Value::deserialize(deserializer).map(Some)
        }
        let Flat { text, raw, url, data, metadata, filename, media_type } =
            Flat::deserialize(deserializer)?;
        let content = text
            .map(Content::Text)
            .or(raw.map(Content::Raw))
            .or(url.map(Content::Url))
            .or(data.map(Content::Data))
            .ok_or_else(|| serde::de::Error::custom("a part without content"))?;
        Ok(Self { content, metadata, filename, media_type })
    }
}

/// A result of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// Unique within the task.
    pub artifact_id: String,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub description: Option<String>,
    /// What it is; at least one part.
    pub parts: Vec<Part>,
    /// Anything else.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub metadata: Option<Map>,
    /// The extensions in use.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub extensions: Vec<String>,
}

/// Where a task stands, since when, and what the agent says about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskStatus {
    /// The state.
    pub state: TaskState,
    /// What the agent says.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub message: Option<Message>,
    /// Since when.
    #[serde(with = "moment")]
    pub timestamp: Timestamp,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Its id.
    pub id: String,
    /// The conversation.
    pub context_id: String,
    /// Where it stands.
    pub status: TaskStatus,
    /// What has come of it; `None` leaves the member out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub artifacts: Option<Vec<Artifact>>,
    /// What was said; `None` leaves the member out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub history: Option<Vec<Message>>,
    /// Anything else.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub metadata: Option<Map>,
}

/// A task stands elsewhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusUpdate {
    /// The task.
    pub task_id: String,
    /// Its conversation.
    pub context_id: String,
    /// Where it stands now.
    pub status: TaskStatus,
}

/// There is more of an artifact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactUpdate {
    /// The task.
    pub task_id: String,
    /// Its conversation.
    pub context_id: String,
    /// The artifact, or what is to be appended to it.
    pub artifact: Artifact,
    /// Whether the parts continue the artifact of this id.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub append: bool,
    /// Whether nothing more of it will come.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub last_chunk: bool,
}

/// An item of a stream (A2A §3.2.3).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Event {
    /// The task as it is.
    Task(Task),
    /// An answer without a task.
    Message(Message),
    /// The task stands elsewhere.
    StatusUpdate(StatusUpdate),
    /// There is more of an artifact.
    ArtifactUpdate(ArtifactUpdate),
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
    /// Unique, and never the request's.
    // R-ENV-03
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

/// Moments in UTC with milliseconds (A2A §5.6.1).
mod moment {
    use jiff::Timestamp;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(at: &Timestamp, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(&format_args!("{at:.3}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Timestamp, D::Error> {
        let text = String::deserialize(d)?;
        crate::format::timestamp(&text).ok_or_else(|| serde::de::Error::custom("not a moment"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_we_write_we_read_and_numbers_keep_their_digits() {
        let text = concat!(
            r#"{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","#,
            r#""parts":[{"data":{"big":123456789012345678901234567890,"one":1,"float":1.0},"#,
            r#""metadata":{"z":1,"a":2},"mediaType":"application/json"},{"data":null},"#,
            r#"{"text":"x","filename":"f.txt"}]},"append":true}}"#
        );
        let event: Event = crate::json::from_str(text).unwrap();
        assert_eq!(crate::json::to_string(&event).unwrap(), text);
        let text = concat!(
            r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":"#,
            r#"{"state":"TASK_STATE_WORKING","timestamp":"2026-04-30T12:00:00.000Z"}}}"#
        );
        let event: Event = crate::json::from_str(text).unwrap();
        assert_eq!(crate::json::to_string(&event).unwrap(), text);
    }
}
