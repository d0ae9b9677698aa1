//! Replies of an agent: messages, and tasks put together from snapshots and events. All of it is kept as the
//! agent sent it and is untrusted.

use tradepost_a2a::TaskState;
use tradepost_document::catalog::WireName;
use tradepost_document::json::{Value, json, object};

use crate::binding::BindingItem;
use crate::failure::{CallFailure, Defect, KeptResponse};
use crate::refusal::{SellerRefusal, stated_by};
use crate::response;

/// Maximum number of artifacts that are kept of one task.
pub const MAX_ARTIFACTS: usize = 1_000;

/// Reply of an agent.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentReply {
    /// Message, after which nothing more happens.
    Message(AgentMessage),
    /// Task, which may go on.
    Task(AgentTask),
}

/// Message of an agent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AgentMessage {
    /// Agent's id of the message; empty when it has none.
    pub id: String,
    /// Agent's id of the conversation.
    pub context_id: Option<String>,
    /// Content of the message.
    pub parts: Vec<MessagePart>,
}

/// Task of an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentTask {
    /// Agent's id of the task; never empty.
    pub id: String,
    /// Agent's id of the conversation.
    pub context_id: Option<String>,
    /// State, by its name in A2A 1.0.
    pub state: WireName<TaskState>,
    /// Message of the agent about the state.
    pub said: Option<AgentMessage>,
    /// Artifacts so far, at most [`MAX_ARTIFACTS`].
    pub artifacts: Vec<TaskArtifact>,
}

/// Artifact of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskArtifact {
    /// Agent's id of the artifact; empty when it has none.
    pub id: String,
    /// Name for people; empty when it has none.
    pub name: String,
    /// Content of the artifact.
    pub parts: Vec<MessagePart>,
}

/// Part of a message or an artifact, as it was sent.
#[derive(Debug, Clone, PartialEq)]
pub struct MessagePart(Value);

/// File, by its address or in the part itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct File<'a> {
    /// Name; empty when it has none.
    pub name: &'a str,
    /// Media type; empty when it has none.
    pub media_type: &'a str,
    /// Address of the file; `None` when its content is in the part.
    pub url: Option<&'a str>,
    /// Content in base64; empty when it has an address.
    pub base64: &'a str,
}

impl MessagePart {
    /// Returns the part as it was sent.
    #[must_use]
    pub fn raw(&self) -> &Value {
        &self.0
    }

    /// Returns the text of a text part.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.0.get("text").and_then(Value::as_str)
    }

    /// Returns the structured data of a data part.
    #[must_use]
    pub fn data(&self) -> Option<&Value> {
        self.0.get("data")
    }

    /// Returns the file of a file part: in 1.0 the part itself, in 0.3 its member `file`.
    #[must_use]
    pub fn file(&self) -> Option<File<'_>> {
        let older = self.0.get("file");
        let of = older.unwrap_or(&self.0);
        let text = |names: [&str; 2]| names.iter().find_map(|name| of.get(*name)?.as_str());
        let url = text(["url", "uri"]);
        let base64 = text(["raw", "bytes"]);
        if older.is_none() && url.is_none() && base64.is_none() {
            return None;
        }
        Some(File {
            name: text(["filename", "name"]).unwrap_or_default(),
            media_type: text(["mediaType", "mimeType"]).unwrap_or_default(),
            url,
            base64: base64.unwrap_or_default(),
        })
    }

    /// Appends a text; `false` when one of the parts is not a text.
    fn extend(&mut self, more: &Self) -> bool {
        let Some(more) = more.text() else {
            return false;
        };
        let Some(Value::String(text)) = self.0.get_mut("text") else {
            return false;
        };
        text.push_str(more);
        true
    }
}

impl AgentReply {
    /// Reads a reply that came in another way, such as by a webhook: a task, a message or an event of either release.
    ///
    /// # Errors
    /// The defect of the document.
    pub fn from_result(result: Value) -> Result<Self, Defect> {
        BindingItem::read(result).and_then(Self::read)
    }

    /// Reads a reply.
    pub(crate) fn read(item: BindingItem) -> Result<Self, Defect> {
        match item {
            BindingItem::Message(message) => Ok(Self::Message(AgentMessage::read(&message))),
            item @ (BindingItem::Task(_) | BindingItem::Status(_) | BindingItem::Artifact(_)) => {
                AgentTask::read(item).map(Self::Task)
            }
        }
    }

    /// Returns the agent's id of the conversation.
    #[must_use]
    pub fn context_id(&self) -> Option<&str> {
        match self {
            Self::Message(message) => message.context_id.as_deref(),
            Self::Task(task) => task.context_id.as_deref(),
        }
    }
}

impl AgentMessage {
    fn read(message: &Value) -> Self {
        Self {
            id: text_of(message, "messageId"),
            context_id: id_of(message, "contextId"),
            parts: parts(message),
        }
    }

    /// Returns the message in the form of A2A 1.0.
    #[must_use]
    pub fn document(&self) -> Value {
        let parts: Vec<_> = self.parts.iter().map(MessagePart::raw).collect();
        json!({"messageId": self.id, "contextId": self.context_id, "role": "ROLE_AGENT",
            "parts": parts})
    }
}

impl AgentTask {
    /// Reads a task from a snapshot or an event.
    pub(crate) fn read(item: BindingItem) -> Result<Self, Defect> {
        const NO_ID: Defect = Defect::NotA2a("the task has no id");
        let (value, name) = match &item {
            BindingItem::Task(task) => (task, "id"),
            BindingItem::Status(update) | BindingItem::Artifact(update) => (update, "taskId"),
            BindingItem::Message(_) => {
                return Err(Defect::NotA2a("a message where a task belongs"));
            }
        };
        let mut task = Self {
            id: id_of(value, name).ok_or(NO_ID)?,
            context_id: id_of(value, "contextId"),
            // The default, because an artifact event names no state.
            state: WireName::Known(TaskState::Submitted),
            said: None,
            artifacts: Vec::new(),
        };
        task.take(item);
        Ok(task)
    }

    /// Adds a snapshot or an event that came in another way, as [`AgentReply::from_result`] reads it; one of another
    /// task is ignored.
    ///
    /// # Errors
    /// The defect of the document.
    pub fn hear(&mut self, result: Value) -> Result<(), Defect> {
        BindingItem::read(result).map(|item| self.take(item))
    }

    /// Adds an item of this task; one of another task is ignored.
    pub(crate) fn take(&mut self, item: BindingItem) {
        match item {
            BindingItem::Task(task) if id_of(&task, "id").as_ref() == Some(&self.id) => {
                self.take_status(task.get("status"));
                // A snapshot without this member leaves the artifacts as they are.
                if let Some(listed) = task.get("artifacts").and_then(Value::as_array) {
                    self.artifacts = listed.iter().take(MAX_ARTIFACTS).map(artifact).collect();
                }
            }
            BindingItem::Status(update) if id_of(&update, "taskId").as_ref() == Some(&self.id) => {
                self.take_status(update.get("status"));
            }
            BindingItem::Artifact(update)
                if id_of(&update, "taskId").as_ref() == Some(&self.id) =>
            {
                let append = update.get("append") == Some(&Value::Bool(true));
                if let Some(piece) = update.get("artifact") {
                    self.take_artifact(artifact(piece), append);
                }
            }
            BindingItem::Task(_)
            | BindingItem::Status(_)
            | BindingItem::Artifact(_)
            | BindingItem::Message(_) => {}
        }
    }

    fn take_status(&mut self, status: Option<&Value>) {
        let Some(status) = status else { return };
        if let Some(state) = status.get("state").and_then(Value::as_str) {
            self.state = read_state(state);
        }
        // A message about an earlier state does not apply to the new one.
        self.said = status.get("message").filter(|said| said.is_object()).map(AgentMessage::read);
    }

    fn take_artifact(&mut self, piece: TaskArtifact, append: bool) {
        let has_room = self.artifacts.len() < MAX_ARTIFACTS;
        // From the end, because the latest artifact is nearly always the one that grows.
        let known = self.artifacts.iter_mut().rev().find(|known| known.id == piece.id);
        match known {
            Some(known) if append => {
                for part in piece.parts {
                    // A text that comes in pieces is joined to one part.
                    if !known.parts.last_mut().is_some_and(|last| last.extend(&part)) {
                        known.parts.push(part);
                    }
                }
            }
            Some(known) => *known = piece,
            None if has_room => self.artifacts.push(piece),
            None => {}
        }
    }

    /// Returns true when nothing more will happen unless the caller acts. An unknown state counts as settled,
    /// because it may have no end.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.state.known().is_none_or(|state| state.terminal() || state.interrupted())
    }

    /// Returns the failure of a task that ended without a result: an error object of AdCP or AAP if it has
    /// one, else its text. `None` when the task did not fail.
    #[must_use]
    pub fn failure(&self) -> Option<CallFailure> {
        let by = response::refusal_in(&self.document())?;
        let retry_after = stated_by(&by);
        let kept = KeptResponse::default();
        Some(CallFailure::Refused(Box::new(SellerRefusal { by, retry_after, kept })))
    }

    /// Returns the task in the form of A2A 1.0, with every part as it was sent.
    #[must_use]
    pub fn document(&self) -> Value {
        let artifacts: Vec<_> = self.artifacts.iter().map(TaskArtifact::document).collect();
        let said = self.said.as_ref().map(AgentMessage::document);
        object!({"id": self.id, "contextId": self.context_id,
            "status": {"state": self.state.name(), "message"?: said}, "artifacts": artifacts})
    }
}

impl TaskArtifact {
    fn document(&self) -> Value {
        let parts: Vec<_> = self.parts.iter().map(MessagePart::raw).collect();
        json!({"artifactId": self.id, "name": self.name, "parts": parts})
    }
}

/// Reads a state by its name in 1.0 or 0.3.
fn read_state(name: &str) -> WireName<TaskState> {
    let older = name.to_ascii_lowercase().replace('_', "-");
    TaskState::from_older(&older).map_or_else(|| WireName::parse(name), WireName::Known)
}

fn artifact(artifact: &Value) -> TaskArtifact {
    TaskArtifact {
        id: text_of(artifact, "artifactId"),
        name: text_of(artifact, "name"),
        parts: parts(artifact),
    }
}

fn parts(of: &Value) -> Vec<MessagePart> {
    let parts = of.get("parts").and_then(Value::as_array).into_iter().flatten();
    parts.filter(|part| part.is_object()).cloned().map(MessagePart).collect()
}

fn text_of(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn id_of(value: &Value, name: &str) -> Option<String> {
    Some(text_of(value, name)).filter(|id| !id.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(result: Value) -> AgentTask {
        AgentTask::read(BindingItem::read(result).unwrap()).unwrap()
    }

    fn chunk(id: &str, text: &str, append: bool) -> BindingItem {
        let artifact = json!({"artifactId": id, "parts": [{"kind": "text", "text": text}]});
        let update = json!({"kind": "artifact-update", "taskId": "t", "artifact": artifact,
            "append": append});
        BindingItem::read(update).unwrap()
    }

    fn texts(task: &AgentTask) -> Vec<&str> {
        task.artifacts
            .iter()
            .flat_map(|artifact| &artifact.parts)
            .filter_map(MessagePart::text)
            .collect()
    }

    #[test]
    fn a_task_is_assembled_from_events_in_either_form() {
        let mut task = read(json!({"kind": "status-update", "taskId": "t", "contextId": "c",
            "status": {"state": "working"}, "final": false}));
        assert_eq!((task.id.as_str(), task.context_id.as_deref()), ("t", Some("c")));
        assert_eq!(task.state, WireName::Known(TaskState::Working));
        for (text, append) in [("Hel", false), ("lo ", true), ("you", true)] {
            task.take(chunk("a", text, append));
        }
        assert_eq!(texts(&task), ["Hello you"]);
        task.take(chunk("a", "Anew", false));
        task.take(chunk("b", "Other", false));
        assert_eq!(texts(&task), ["Anew", "Other"]);
        let done = json!({"statusUpdate": {"taskId": "t", "status": {"state":
            "TASK_STATE_COMPLETED", "message": {"messageId": "m", "parts": [{"text": "bye"}]}}}});
        task.take(BindingItem::read(done).unwrap());
        assert!(task.is_settled());
        assert_eq!(task.said.as_ref().unwrap().parts[0].text(), Some("bye"));
        // A snapshot without artifacts leaves them as they are.
        task.take(BindingItem::read(json!({"id": "t", "status": {"state": "completed"}})).unwrap());
        assert_eq!((texts(&task).len(), task.said.is_none()), (2, true));
    }

    #[test]
    fn what_is_said_of_another_task_is_passed_over() {
        let mut task = read(json!({"id": "t", "status": {"state": "working"}}));
        let before = task.clone();
        for other in [
            json!({"id": "u", "status": {"state": "failed"}}),
            json!({"kind": "status-update", "taskId": "u", "status": {"state": "failed"}}),
            json!({"kind": "artifact-update", "taskId": "u", "artifact": {"parts": []}}),
            json!({"kind": "message", "parts": [{"text": "x"}]}),
        ] {
            task.take(BindingItem::read(other).unwrap());
        }
        assert_eq!(task, before);
        assert!(AgentTask::read(BindingItem::Task(json!({"id": ""}))).is_err());
    }

    #[test]
    fn artifacts_are_bounded_and_nobody_waits_for_new_states() {
        let mut task = read(json!({"id": "t", "status": {"state": "pondering"}}));
        assert!(task.is_settled());
        assert_eq!(task.state, WireName::Other("pondering".into()));
        for index in 0..MAX_ARTIFACTS + 5 {
            task.take(chunk(&index.to_string(), "x", false));
        }
        assert_eq!(task.artifacts.len(), MAX_ARTIFACTS);
    }

    /// Generates JSON with the names that matter here, also in wrong places.
    fn json() -> impl Strategy<Value = Value> {
        const NAMES: &[&str] = &[
            "kind",
            "id",
            "taskId",
            "contextId",
            "status",
            "state",
            "message",
            "parts",
            "text",
            "data",
            "file",
            "bytes",
            "artifact",
            "artifacts",
            "artifactId",
            "append",
            "task",
            "statusUpdate",
            "artifactUpdate",
            "adcp_error",
        ];
        const TEXTS: &[&str] = &[
            "t",
            "u",
            "",
            "task",
            "message",
            "status-update",
            "artifact-update",
            "working",
            "failed",
            "TASK_STATE_COMPLETED",
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            prop::sample::select(TEXTS).prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 64, 6, |inner| {
            let members = prop::collection::vec((prop::sample::select(NAMES), inner.clone()), 0..6);
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(Value::from),
                members.prop_map(|members| {
                    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_task_keeps_its_identity_whatever_an_agent_says(
            first in json(), more in prop::collection::vec(json(), 0..8),
        ) {
            let mut tasks = vec![read(json!({"id": "t", "status": {"state": "working"}}))];
            if let Ok(AgentReply::Task(task)) = AgentReply::from_result(first) {
                tasks.push(task);
            }
            for mut task in tasks {
                let id = task.id.clone();
                prop_assert!(!id.is_empty());
                for said in &more {
                    let _ = task.hear(said.clone());
                }
                prop_assert_eq!(&task.id, &id);
                prop_assert!(task.artifacts.len() <= MAX_ARTIFACTS);
                prop_assert_eq!(&task.document()["id"], &id);
                let _ = task.failure().map(|failure| failure.to_string());
            }
        }
    }

    #[test]
    fn a_failed_task_is_a_refusal_in_its_words() {
        let failed = |part: Value| {
            let message = json!({"parts": [part]});
            read(json!({"id": "t", "status": {"state": "failed", "message": message}}))
        };
        let words = failed(json!({"kind": "text", "text": "no\u{1b}pe"})).failure().unwrap();
        assert_eq!(words.to_string(), "the seller failed: nope");
        let error = json!({"adcp_error": {"code": "RATE_LIMITED", "message": "m"}});
        let typed = failed(json!({"kind": "data", "data": error})).failure().unwrap();
        assert_eq!(typed.adcp().unwrap().code.name(), "RATE_LIMITED");
        assert!(read(json!({"id": "t", "status": {"state": "completed"}})).failure().is_none());
    }

    #[test]
    fn files_are_told_in_either_form() {
        let file = |part: Value| {
            let part = MessagePart(part);
            part.file().map(|file| (file.name.to_owned(), file.url.map(str::to_owned)))
        };
        let newer = json!({"url": "https://a/x", "filename": "x", "mediaType": "image/png"});
        assert_eq!(file(newer), Some(("x".into(), Some("https://a/x".into()))));
        let older = json!({"kind": "file", "file": {"bytes": "AA==", "name": "y"}});
        assert_eq!(file(older), Some(("y".into(), None)));
        assert_eq!(file(json!({"text": "x"})), None);
    }
}
