//! A delivery, and which deliveries say the same. A2A gives events no ids: the same text twice is
//! the same event, and a task that was asked for says what several events have said one by one.

use std::collections::BTreeSet;

use jiff::Timestamp;
use ring::digest;
use serde_json::Value;
use serde_json::value::RawValue;
use tradepost_wire::a2a::TaskState;
use tradepost_wire::catalog::Vocabulary;
use tradepost_wire::{canonical, jsonrpc};

/// How it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The sender pushed it.
    Push,
    /// We asked.
    Poll,
}

impl Source {
    /// Its name in tables and in the store.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Push => "push",
            Self::Poll => "poll",
        }
    }
}

/// What a delivery tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A whole task.
    Task,
    /// An answer without a task, or within one.
    Message,
    /// A task stands elsewhere.
    StatusUpdate,
    /// There is more of an artifact.
    ArtifactUpdate,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Task, Self::Message, Self::StatusUpdate, Self::ArtifactUpdate];

    /// The member of a StreamResponse.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Message => "message",
            Self::StatusUpdate => "statusUpdate",
            Self::ArtifactUpdate => "artifactUpdate",
        }
    }
}

/// A delivery.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// The same for the same content, however it is spelled: SHA-256 of the canonical form, in hex.
    pub id: String,
    /// What it tells.
    pub kind: Kind,
    /// How it came.
    pub source: Source,
    /// When.
    pub received_at: Timestamp,
    /// Of which task.
    pub task_id: Option<String>,
    /// The state that the task has reached, as sent.
    pub state: Option<String>,
    /// What tells one status of the task from another.
    pub status: Option<String>,
    /// The artifacts that it holds.
    pub artifacts: Vec<String>,
    /// The StreamResponse as it came.
    pub body: Box<RawValue>,
}

/// Bytes that are no delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoDelivery(pub &'static str);

impl Delivery {
    /// Reads a StreamResponse: an object with exactly one of the four members. What is in it is
    /// read leniently, because it has been sent already and nobody can mend it.
    ///
    /// # Errors
    /// What is wrong with it, without any of the bytes.
    pub fn read(body: &[u8], source: Source, received_at: Timestamp) -> Result<Self, NoDelivery> {
        let document = jsonrpc::document(body).map_err(|reject| NoDelivery(reject.message))?;
        let text = std::str::from_utf8(body).map_err(|_| NoDelivery("it is not UTF-8"))?;
        let raw = RawValue::from_string(text.trim().to_owned());
        let raw = raw.map_err(|_| NoDelivery("it is not JSON"))?;
        let members = Kind::ALL.iter().filter_map(|kind| Some((*kind, document.get(kind.name())?)));
        let mut members = members.filter(|(_, content)| content.is_object());
        let (Some((kind, content)), None) = (members.next(), members.next()) else {
            return Err(NoDelivery("it is no StreamResponse with exactly one member"));
        };
        let text =
            |pointer: &str| content.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let (task_id, status) = match kind {
            Kind::Task => (text("/id"), content.get("status")),
            Kind::StatusUpdate => (text("/taskId"), content.get("status")),
            Kind::Message | Kind::ArtifactUpdate => (text("/taskId"), None),
        };
        if task_id.is_none() && kind != Kind::Message {
            return Err(NoDelivery("it names no task"));
        }
        let artifacts = match kind {
            Kind::Task => content.get("artifacts").and_then(Value::as_array).map(Vec::as_slice),
            Kind::ArtifactUpdate => content.get("artifact").map(std::slice::from_ref),
            Kind::Message | Kind::StatusUpdate => None,
        };
        let artifacts = artifacts.unwrap_or_default().iter();
        let artifacts = artifacts.filter_map(|a| a.get("artifactId")?.as_str().map(str::to_owned));
        Ok(Self {
            id: hex(digest::digest(&digest::SHA256, canonical::to_string(&document).as_bytes())),
            kind,
            source,
            received_at,
            state: status.and_then(|status| status.get("state")?.as_str()).map(str::to_owned),
            status: status.map(status_key),
            artifacts: artifacts.collect(),
            task_id,
            body: raw,
        })
    }

    /// Whether its task has come to its end.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.state.as_deref().is_some_and(is_terminal)
    }
}

/// Whether a state is one after which nothing comes.
#[must_use]
pub fn is_terminal(state: &str) -> bool {
    TaskState::from_name(state).is_some_and(TaskState::terminal)
}

/// A status is told from others by its state, its moment, and what is said in it.
fn status_key(status: &Value) -> String {
    let text = |pointer: &str| status.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    [text("/state"), text("/timestamp"), text("/message/messageId")].join(" ")
}

fn hex(digest: digest::Digest) -> String {
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What is kept of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    /// How many deliveries.
    pub count: usize,
    /// Every status that was told.
    pub statuses: BTreeSet<String>,
    /// Every artifact of which something was told.
    pub artifacts: BTreeSet<String>,
    /// The artifacts that were found by asking, and so are whole.
    pub whole: BTreeSet<String>,
    /// Whether the task has come to its end.
    pub ended: bool,
}

impl Known {
    /// Adds a delivery that is kept.
    pub fn add(&mut self, kept: &Delivery) {
        self.count += 1;
        self.statuses.extend(kept.status.clone());
        self.artifacts.extend(kept.artifacts.iter().cloned());
        if kept.source == Source::Poll {
            self.whole.extend(kept.artifacts.iter().cloned());
        }
        self.ended |= kept.is_terminal();
    }

    /// Whether a delivery says nothing that was not told before. The same text twice is for the
    /// inbox to find; this is about different texts that say the same.
    #[must_use]
    pub fn covers(&self, delivery: &Delivery) -> bool {
        let status = delivery.status.as_ref().is_none_or(|status| self.statuses.contains(status));
        match delivery.kind {
            Kind::Message => false,
            Kind::StatusUpdate => delivery.status.is_some() && status,
            Kind::ArtifactUpdate => {
                self.ended && delivery.artifacts.iter().all(|id| self.whole.contains(id))
            }
            Kind::Task => {
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

    fn delivery(text: &str, source: Source) -> Delivery {
        Delivery::read(text.as_bytes(), source, Timestamp::UNIX_EPOCH).unwrap()
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
    fn the_same_content_has_the_same_id_however_it_is_spelled() {
        let one = delivery(r#"{"message":{"messageId":"m","n":1.0}}"#, Source::Push);
        let same = delivery(r#" { "message" : {"n":1, "messageId":"\u006d"}}"#, Source::Poll);
        assert_eq!(one.id, same.id);
        assert_ne!(one.id, delivery(MESSAGE, Source::Push).id);
    }

    #[test]
    fn what_is_no_stream_response_is_refused() {
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
        ] {
            let read = Delivery::read(text.as_bytes(), Source::Push, Timestamp::UNIX_EPOCH);
            assert!(read.is_err(), "{text}");
        }
    }

    #[test]
    fn what_has_been_told_is_covered_and_nothing_else() {
        use Source::{Poll, Push};
        type Told = (&'static str, Source);
        let table: &[(&[Told], Told, bool)] = &[
            (&[], (WORKING, Push), false),
            (&[(WORKING, Push)], (WORKING, Push), true),
            (&[(WORKING, Push)], (DONE, Push), false),
            (&[(TASK, Poll)], (DONE, Push), true),
            (&[(TASK, Poll)], (WORKING, Push), false),
            (&[(TASK, Poll)], (PIECE, Push), true),
            // Pushed pieces are told apart by their text alone.
            (&[(DONE, Push), (PIECE, Push)], (PIECE, Push), false),
            (&[(DONE, Push), (PIECE, Push)], (TASK, Poll), true),
            (&[(DONE, Push)], (TASK, Poll), false),
            (&[(PIECE, Push)], (TASK, Poll), false),
            (&[(TASK, Poll)], (TASK, Poll), true),
            (&[(MESSAGE, Push)], (MESSAGE, Push), false),
        ];
        for (kept, (text, source), expected) in table {
            let mut known = Known::default();
            kept.iter().for_each(|(text, source)| known.add(&delivery(text, *source)));
            assert_eq!(known.covers(&delivery(text, *source)), *expected, "{kept:?} {text}");
            let ended = kept.iter().any(|(text, _)| text.contains("COMPLETED"));
            assert_eq!(known.ended, ended);
        }
    }
}
