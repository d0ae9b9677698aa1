//! Deliveries, and which of them say the same. A2A gives events no ids: the same text twice is the same
//! event, and a polled task repeats several events. AdCP gives them keys, which are unique for each sender.

use std::collections::BTreeSet;

use jiff::Timestamp;
use tradepost_adcp::webhook::{self, SellerWebhook, WebhookError};
use tradepost_adcp::{AdcpTaskStatus, payload};
use tradepost_document::canonical;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json;
use tradepost_document::json::RawValue;
use tradepost_document::json::Value;
use tradepost_document::words;
use tradepost_keys::sha256;

use crate::signed::is_ambiguous;
use crate::text::decoded;

words! {
    /// Origin of a delivery, as tables and the store name it.
    pub enum DeliveryOrigin {
        /// The sender pushed it.
        Push = "push",
        /// We asked.
        Poll = "poll",
    }
}

words! {
    /// Kind of a delivery: the member of a StreamResponse, or our own name.
    pub enum DeliveryKind {
        /// A whole task.
        Task = "task",
        /// An answer without a task, or within one.
        Message = "message",
        /// A task stands elsewhere.
        StatusUpdate = "statusUpdate",
        /// There is more of an artifact.
        ArtifactUpdate = "artifactUpdate",
        /// A task of AdCP stands elsewhere.
        Webhook = "webhook",
        /// Something of AdCP that is no task has changed.
        Event = "event",
        /// How a task of AdCP stands, as `get_task_status` says.
        TaskStatus = "taskStatus",
    }
}

impl DeliveryKind {
    /// Kinds of A2A.
    const A2A: [Self; 4] = [Self::Task, Self::Message, Self::StatusUpdate, Self::ArtifactUpdate];
}

/// Body of a request to the receiver.
#[derive(Debug, Clone)]
pub enum ReceivedDelivery {
    /// Delivery.
    Delivery(Box<PushDelivery>),
    /// Check of the address: the answer has to repeat this text.
    Challenge(String),
}

/// Delivery of an event.
#[derive(Debug, Clone)]
pub struct PushDelivery {
    /// Id of the event, in hex: the SHA-256 of its sender and key, or of its content where it has no key.
    pub id: String,
    /// SHA-256 of the canonical form, in hex: the same for the same content, however it is written.
    pub fingerprint: String,
    /// Kind of event.
    pub kind: DeliveryKind,
    /// Origin.
    pub source: DeliveryOrigin,
    /// Sender, as far as it was proved; empty when there is only one sender.
    pub sender: String,
    /// Sender's key of the event.
    pub key: Option<String>,
    /// Moment of receipt.
    pub received_at: Timestamp,
    /// Task of the event.
    pub task_id: Option<String>,
    /// State that the task has reached, as sent.
    pub state: Option<String>,
    /// Key that distinguishes the statuses of a task.
    pub status: Option<String>,
    /// Ids of the artifacts in the event.
    pub artifacts: Vec<String>,
    /// Delivery as it came.
    pub body: Box<RawValue>,
}

/// Reason why a body is no delivery.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoDelivery {
    /// The body can be read in two ways.
    #[error("it can be read in two ways")]
    Ambiguous,
    /// The body is not JSON, or JSON of another kind.
    #[error("{0}")]
    Other(&'static str),
    /// The body is meant as an AdCP webhook, but invalid.
    #[error(transparent)]
    Webhook(WebhookError),
}

impl ReceivedDelivery {
    /// Reads a pushed body: a StreamResponse of A2A 1.0 (an object with exactly one of its four members), a
    /// task, message or event of A2A without an envelope, as 0.3 sends them, or an AdCP webhook. The content
    /// is read leniently, because it cannot be corrected any more.
    ///
    /// # Errors
    /// The defect of the body, without any of its bytes.
    pub fn read(body: &[u8], sender: &str, received_at: Timestamp) -> Result<Self, NoDelivery> {
        let (document, raw) = open(body)?;
        let source = DeliveryOrigin::Push;
        let new = |kind| PushDelivery::new(kind, &document, raw, source, sender, received_at);
        let delivery = match a2a(&document)? {
            Some((kind, content)) => new(kind).of_a2a(content)?,
            None => match webhook::read(&document).map_err(NoDelivery::Webhook)? {
                SellerWebhook::Challenge(challenge) => return Ok(Self::Challenge(challenge)),
                SellerWebhook::Task(step) => PushDelivery {
                    task_id: Some(step.task_id),
                    status: Some(result_key(step.standing.name(), &document)),
                    state: Some(step.standing.name().to_owned()),
                    ..new(DeliveryKind::Webhook).keyed(step.key)
                },
                SellerWebhook::Event { key, name } => {
                    PushDelivery { state: Some(name), ..new(DeliveryKind::Event).keyed(key) }
                }
            },
        };
        Ok(Self::Delivery(Box::new(delivery)))
    }
}

impl PushDelivery {
    /// Reads the answer to a poll: a task of A2A in its envelope, or the answer to AdCP's `get_task_status`.
    ///
    /// # Errors
    /// The defect of the body, without any of its bytes.
    pub fn from_poll(
        body: &[u8],
        sender: &str,
        received_at: Timestamp,
    ) -> Result<Self, NoDelivery> {
        let (document, raw) = open(body)?;
        let source = DeliveryOrigin::Poll;
        let new = |kind| Self::new(kind, &document, raw, source, sender, received_at);
        match a2a(&document)? {
            Some((kind, content)) => new(kind).of_a2a(content),
            None => {
                let text = |name: &str| document.get(name).and_then(Value::as_str);
                let nameless = NoDelivery::Other("it names no task and no status");
                let Some(task_id) = text("task_id") else {
                    return Err(nameless);
                };
                let Some(state) = text("status") else {
                    return Err(nameless);
                };
                Ok(Self {
                    task_id: Some(task_id.to_owned()),
                    status: Some(result_key(state, &document)),
                    state: Some(state.to_owned()),
                    ..new(DeliveryKind::TaskStatus)
                })
            }
        }
    }

    /// Returns true when the task has ended.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.state.as_deref().is_some_and(is_terminal)
    }

    /// Creates a delivery without task and status.
    fn new(
        kind: DeliveryKind,
        document: &Value,
        body: Box<RawValue>,
        source: DeliveryOrigin,
        sender: &str,
        received_at: Timestamp,
    ) -> Self {
        let fingerprint = hash(&canonical::to_string(document));
        Self {
            id: fingerprint.clone(),
            fingerprint,
            kind,
            source,
            sender: sender.to_owned(),
            key: None,
            received_at,
            task_id: None,
            state: None,
            status: None,
            artifacts: Vec::new(),
            body,
        }
    }

    /// Adds the sender's key, by which the event is identified.
    fn keyed(self, key: String) -> Self {
        // Keys are unique for a sender only.
        Self { id: hash(&format!("{}\n{key}", self.sender)), key: Some(key), ..self }
    }

    /// Adds task, status and artifacts of an A2A item.
    fn of_a2a(self, content: &Value) -> Result<Self, NoDelivery> {
        let kind = self.kind;
        let text =
            |pointer: &str| content.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let task_id = if kind == DeliveryKind::Task { text("/id") } else { text("/taskId") };
        if task_id.is_none() && kind != DeliveryKind::Message {
            return Err(NoDelivery::Other("it names no task"));
        }
        let tells = matches!(kind, DeliveryKind::Task | DeliveryKind::StatusUpdate);
        let status = content.get("status").filter(|_| tells);
        let artifacts = match kind {
            DeliveryKind::Task => {
                content.get("artifacts").and_then(Value::as_array).map(Vec::as_slice)
            }
            DeliveryKind::ArtifactUpdate => content.get("artifact").map(std::slice::from_ref),
            DeliveryKind::Message
            | DeliveryKind::StatusUpdate
            | DeliveryKind::Webhook
            | DeliveryKind::Event
            | DeliveryKind::TaskStatus => None,
        };
        let artifacts = artifacts.unwrap_or_default().iter();
        let artifacts = artifacts.filter_map(|a| a.get("artifactId")?.as_str().map(str::to_owned));
        Ok(Self {
            task_id,
            state: status.and_then(|status| status.get("state")?.as_str()).map(str::to_owned),
            status: status.map(status_key),
            artifacts: artifacts.collect(),
            ..self
        })
    }
}

fn open(body: &[u8]) -> Result<(Value, Box<RawValue>), NoDelivery> {
    let text = decoded(body).ok_or(NoDelivery::Other("it is not UTF-8"))?;
    // A body that can be read in two ways must not be stored as either.
    if is_ambiguous(text.as_bytes()) {
        return Err(NoDelivery::Ambiguous);
    }
    let document = json::read(text).map_err(|_| NoDelivery::Other("it is not JSON"))?;
    let raw = RawValue::from_string(text.trim().to_owned());
    Ok((document, raw.map_err(|_| NoDelivery::Other("it is not JSON"))?))
}

/// Returns the A2A item that a document is or wraps.
fn a2a(document: &Value) -> Result<Option<(DeliveryKind, &Value)>, NoDelivery> {
    let members =
        DeliveryKind::A2A.iter().filter_map(|kind| Some((*kind, document.get(kind.name())?)));
    let mut members = members.filter(|(_, content)| content.is_object());
    match (members.next(), members.next()) {
        (Some(held), None) => return Ok(Some(held)),
        (Some(_), Some(_)) => {
            return Err(NoDelivery::Other("it is no StreamResponse with exactly one member"));
        }
        (None, _) => {}
    }
    let has_state = document.pointer("/status/state").is_some_and(Value::is_string);
    let is_event = document.get("taskId").is_some();
    let kind = match document.get("kind").and_then(Value::as_str) {
        Some("message") => DeliveryKind::Message,
        Some("artifact-update") => DeliveryKind::ArtifactUpdate,
        _ if has_state && is_event => DeliveryKind::StatusUpdate,
        _ if has_state => DeliveryKind::Task,
        _ => return Ok(None),
    };
    Ok(Some((kind, document)))
}

/// Returns true for a state of A2A or AdCP after which nothing more comes.
#[must_use]
pub fn is_terminal(state: &str) -> bool {
    use AdcpTaskStatus::{Canceled, Completed, Failed, Rejected};
    matches!(payload::standing(state), Some(Completed | Failed | Canceled | Rejected))
}

/// Returns the key of a status: its state, its time and the id of its message.
fn status_key(status: &Value) -> String {
    let text = |pointer: &str| status.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    [text("/state"), text("/timestamp"), text("/message/messageId")].join(" ")
}

/// Returns the key of an AdCP status: its state and the hash of its result without the caller's `context`. It
/// is the same in a webhook and in the answer to `get_task_status`.
fn result_key(state: &str, document: &Value) -> String {
    let mut result = document.get("result").cloned().unwrap_or_default();
    if let Some(members) = result.as_object_mut() {
        members.swap_remove("context");
    }
    format!("{state} {}", hash(&canonical::to_string(&result)))
}

fn hash(text: &str) -> String {
    tradepost_document::format::hex(&sha256(text.as_bytes()))
}

/// Stored deliveries of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownTask {
    /// Number of deliveries.
    pub count: usize,
    /// Keys of all statuses so far.
    pub statuses: BTreeSet<String>,
    /// Ids of all artifacts so far.
    pub artifacts: BTreeSet<String>,
    /// Ids of the artifacts from polls, which are complete.
    pub whole: BTreeSet<String>,
    /// True when the task has ended.
    pub ended: bool,
}

impl KnownTask {
    /// Adds a stored delivery.
    pub fn add(&mut self, kept: &PushDelivery) {
        self.count += 1;
        self.statuses.extend(kept.status.clone());
        self.artifacts.extend(kept.artifacts.iter().cloned());
        if kept.source == DeliveryOrigin::Poll {
            self.whole.extend(kept.artifacts.iter().cloned());
        }
        self.ended |= kept.is_terminal();
    }

    /// Returns true when a delivery says nothing new. The inbox itself finds the same text; this finds
    /// different texts that say the same.
    #[must_use]
    pub fn covers(&self, delivery: &PushDelivery) -> bool {
        let status = delivery.status.as_ref().is_none_or(|status| self.statuses.contains(status));
        match delivery.kind {
            DeliveryKind::Message | DeliveryKind::Event => false,
            DeliveryKind::StatusUpdate | DeliveryKind::Webhook | DeliveryKind::TaskStatus => {
                delivery.status.is_some() && status
            }
            DeliveryKind::ArtifactUpdate => {
                // Before the end even a complete artifact may get another piece.
                self.ended && delivery.artifacts.iter().all(|id| self.whole.contains(id))
            }
            DeliveryKind::Task => {
                delivery.status.is_some()
                    && status
                    && delivery.artifacts.iter().all(|id| self.artifacts.contains(id))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pushed(text: &str, sender: &str) -> Result<PushDelivery, NoDelivery> {
        match ReceivedDelivery::read(text.as_bytes(), sender, Timestamp::UNIX_EPOCH)? {
            ReceivedDelivery::Delivery(delivery) => Ok(*delivery),
            ReceivedDelivery::Challenge(challenge) => panic!("{challenge}"),
        }
    }

    fn delivery(text: &str, source: DeliveryOrigin) -> PushDelivery {
        match source {
            DeliveryOrigin::Push => pushed(text, "").unwrap(),
            DeliveryOrigin::Poll => {
                PushDelivery::from_poll(text.as_bytes(), "", Timestamp::UNIX_EPOCH).unwrap()
            }
        }
    }

    const WORKING: &str = r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":
        {"state":"TASK_STATE_WORKING","timestamp":"2026-04-30T12:00:00.000Z"}}}"#;
    const DONE: &str = r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":
        {"state":"TASK_STATE_COMPLETED","timestamp":"2026-04-30T12:00:01.000Z"}}}"#;
    const PIECE: &str = r#"{"artifactUpdate":{"taskId":"t","contextId":"c",
        "artifact":{"artifactId":"a","parts":[{"text":"x"}]}}}"#;
    const TASK: &str = r#"{"task":{"id":"t","contextId":"c","status":
        {"state":"TASK_STATE_COMPLETED","timestamp":"2026-04-30T12:00:01.000Z"},
        "artifacts":[{"artifactId":"a","parts":[{"text":"x"}]}]}}"#;
    const MESSAGE: &str = r#"{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[]}}"#;

    #[test]
    fn the_same_content_has_one_id_however_it_is_spelled() {
        let one = delivery(r#"{"message":{"messageId":"m","n":1.0}}"#, DeliveryOrigin::Push);
        let same =
            delivery(r#" { "message" : {"n":1, "messageId":"\u006d"}}"#, DeliveryOrigin::Poll);
        assert_eq!(one.id, same.id);
        let marked =
            delivery("\u{feff}{\"message\":{\"messageId\":\"m\",\"n\":1}}", DeliveryOrigin::Push);
        assert_eq!(one.id, marked.id);
        assert_ne!(one.id, delivery(MESSAGE, DeliveryOrigin::Push).id);
    }

    #[test]
    fn what_is_no_delivery_is_refused() {
        for text in [
            "",
            "{",
            "[]",
            "{}",
            r#"{"task":1}"#,
            r#"{"task":{}}"#,
            r#"{"task":{"id":"t"},"message":{}}"#,
            r#"{"artifactUpdate":{"artifact":{}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"task":{"id":"t","id":"u"}}"#,
            r#"{"kind":"artifact-update","artifact":{}}"#,
            r#"{"notification_type":"scheduled"}"#,
        ] {
            assert!(pushed(text, "").is_err(), "{text}");
        }
    }

    #[test]
    fn what_has_been_told_is_covered_and_nothing_else() {
        use DeliveryOrigin::{Poll, Push};
        type Row = (&'static str, DeliveryOrigin);
        let table: &[(&[Row], Row, bool)] = &[
            (&[], (WORKING, Push), false),
            (&[(WORKING, Push)], (WORKING, Push), true),
            (&[(WORKING, Push)], (DONE, Push), false),
            (&[(TASK, Poll)], (DONE, Push), true),
            (&[(TASK, Poll)], (WORKING, Push), false),
            (&[(TASK, Poll)], (PIECE, Push), true),
            // Pushed pieces are distinguished by their text alone.
            (&[(DONE, Push), (PIECE, Push)], (PIECE, Push), false),
            (&[(DONE, Push), (PIECE, Push)], (TASK, Poll), true),
            (&[(DONE, Push)], (TASK, Poll), false),
            (&[(PIECE, Push)], (TASK, Poll), false),
            (&[(TASK, Poll)], (TASK, Poll), true),
            (&[(MESSAGE, Push)], (MESSAGE, Push), false),
        ];
        for (kept, (text, source), expected) in table {
            let mut known = KnownTask::default();
            kept.iter().for_each(|(text, source)| known.add(&delivery(text, *source)));
            assert_eq!(known.covers(&delivery(text, *source)), *expected, "{kept:?} {text}");
            let ended = kept.iter().any(|(text, _)| text.contains("COMPLETED"));
            assert_eq!(known.ended, ended);
        }
    }
}
