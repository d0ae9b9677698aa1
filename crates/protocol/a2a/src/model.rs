//! The data model of A2A: messages, tasks, artifacts and events of a task (A2A 1.0 §4.1, §4.2).
//! Structured data and metadata stay unchanged JSON.

use jiff::Timestamp;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use tradepost_document::catalog::{Vocabulary as _, catalog, words};
use tradepost_document::json::{Map, Value, put};

words! {
    /// Sender of a message.
    pub enum Role {
        /// The buyer's side.
        User = "ROLE_USER",
        /// The seller's side.
        Agent = "ROLE_AGENT",
    }
}

catalog! {
    /// States of a task (A2A 1.0 §4.1.3).
    pub enum TaskState {
        /// Number in protobuf.
        number: i32,
        /// Name in A2A 0.3.
        older: &'static str;
        /// True when the task has ended.
        terminal: bool = false,
        /// True when the task waits for the buyer.
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
    /// Returns the state with a name of A2A 0.3.
    #[must_use]
    pub fn from_older(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|state| state.older() == name)
    }
}

impl Serialize for TaskState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(tradepost_document::catalog::Vocabulary::name(*self))
    }
}

impl<'de> Deserialize<'de> for TaskState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        tradepost_document::catalog::Vocabulary::from_name(&name)
            .ok_or_else(|| serde::de::Error::custom("not a task state"))
    }
}

/// A message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Unique id, chosen by the sender.
    pub message_id: String,
    /// Conversation.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub context_id: Option<String>,
    /// Task that the message belongs to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub task_id: Option<String>,
    /// Sender.
    pub role: Role,
    /// Parts; at least one.
    pub parts: Vec<Part>,
    /// Metadata.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub metadata: Option<Map>,
    /// Extensions that the message activates.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub extensions: Vec<String>,
    /// Other tasks that the message refers to.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub reference_task_ids: Vec<String>,
}

/// A part of a message or artifact.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Content.
    pub content: Content,
    /// Metadata.
    pub metadata: Option<Map>,
    /// File name.
    pub filename: Option<String>,
    /// Media type.
    pub media_type: Option<String>,
}

/// Content of a part.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Text.
    Text(String),
    /// Bytes in base64.
    Raw(String),
    /// Address of a file.
    Url(String),
    /// Structured data, unchanged.
    Data(Value),
}

impl From<Content> for Part {
    fn from(content: Content) -> Self {
        Self { content, metadata: None, filename: None, media_type: None }
    }
}

impl Message {
    /// Returns the text of the first part, if it is text.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.parts.first()?.content {
            Content::Text(text) => Some(text),
            Content::Raw(_) | Content::Url(_) | Content::Data(_) => None,
        }
    }
}

impl Artifact {
    /// Creates an artifact of these parts.
    #[must_use]
    pub fn new(artifact_id: impl Into<String>, parts: Vec<Part>) -> Self {
        let artifact_id = artifact_id.into();
        let extensions = Vec::new();
        Self { artifact_id, name: None, description: None, parts, metadata: None, extensions }
    }
}

impl Part {
    /// Creates a part with text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Content::Text(text.into()).into()
    }

    /// Creates a part with structured data.
    #[must_use]
    pub fn data(data: Value) -> Self {
        Content::Data(data).into()
    }

    /// Creates a part with a file: [`Content::Raw`] with its bytes or [`Content::Url`] with its
    /// address.
    #[must_use]
    pub fn file(content: Content, filename: &str, media_type: &str) -> Self {
        let filename = Some(filename.to_owned());
        let media_type = Some(media_type.to_owned());
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

/// Reads our own JSON. That of a peer is read by [`request`](super::request), which reports every
/// problem.
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
    /// Id, unique within the task.
    pub artifact_id: String,
    /// Name for people.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// Description for people.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub description: Option<String>,
    /// Parts; at least one.
    pub parts: Vec<Part>,
    /// Metadata.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub metadata: Option<Map>,
    /// Extensions in use.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub extensions: Vec<String>,
}

/// Status of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskStatus {
    /// State.
    pub state: TaskState,
    /// Message of the agent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub message: Option<Message>,
    /// Time of the state.
    #[serde(with = "moment")]
    pub timestamp: Timestamp,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Id of the task.
    pub id: String,
    /// Conversation.
    pub context_id: String,
    /// Status.
    pub status: TaskStatus,
    /// Artifacts; `None` leaves the member out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub artifacts: Option<Vec<Artifact>>,
    /// Messages so far; `None` leaves the member out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub history: Option<Vec<Message>>,
    /// Metadata.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub metadata: Option<Map>,
}

/// A change of a task's status.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusUpdate {
    /// Id of the task.
    pub task_id: String,
    /// Conversation.
    pub context_id: String,
    /// New status.
    pub status: TaskStatus,
}

/// An artifact, or a part of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactUpdate {
    /// Id of the task.
    pub task_id: String,
    /// Conversation.
    pub context_id: String,
    /// The artifact, or what is appended to it.
    pub artifact: Artifact,
    /// True when the parts are appended to the artifact with this id.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub append: bool,
    /// True for the last part of the artifact.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub last_chunk: bool,
}

/// An event of a stream (A2A 1.0 §3.2.3).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Event {
    /// The current task.
    Task(Task),
    /// An answer without a task.
    Message(Message),
    /// A change of the task's status.
    StatusUpdate(StatusUpdate),
    /// An artifact, or a part of one.
    ArtifactUpdate(ArtifactUpdate),
}

/// A reply message for serialisation: `{"message": …}` is the result of `SendMessage`.
#[derive(Debug, Serialize)]
pub struct MessageResult<P> {
    /// The message.
    pub message: AgentMessage<P>,
}

/// A message of the agent with one data part.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentMessage<P> {
    /// Unique id, different from the request's.
    // The id differs from the request's (AAP 1.1 json-rpc, R-ENV-03).
    pub message_id: String,
    /// Conversation: the request's, or a new one.
    pub context_id: String,
    /// Always [`Role::Agent`].
    pub role: Role,
    /// The part.
    pub parts: [DataPart<P>; 1],
    /// Extensions in use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<&'static str>,
}

/// A data part for serialisation.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DataPart<P> {
    /// Payload.
    pub data: P,
    /// Metadata of the part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map>,
    /// Media type.
    pub media_type: String,
}

/// Serialisation of timestamps in UTC with milliseconds (A2A 1.0 §5.6.1).
mod moment {
    use jiff::Timestamp;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(at: &Timestamp, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(&format_args!("{at:.3}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Timestamp, D::Error> {
        let text = String::deserialize(d)?;
        tradepost_document::format::timestamp(&text)
            .ok_or_else(|| serde::de::Error::custom("not a moment"))
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
        let event: Event = tradepost_document::json::from_str(text).unwrap();
        assert_eq!(tradepost_document::json::to_string(&event).unwrap(), text);
        let text = concat!(
            r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":"#,
            r#"{"state":"TASK_STATE_WORKING","timestamp":"2026-04-30T12:00:00.000Z"}}}"#
        );
        let event: Event = tradepost_document::json::from_str(text).unwrap();
        assert_eq!(tradepost_document::json::to_string(&event).unwrap(), text);
    }
}
