//! Checks of the shape of JSON that an agent sent.

use tradepost_a2a::TaskState;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::format;
use tradepost_document::json::Value;

/// Collector of problems.
#[derive(Debug, Default)]
pub(crate) struct ShapeProblems(pub(crate) Vec<String>);

/// Returns the problems that `look` finds.
pub(crate) fn wrong(look: impl FnOnce(&mut ShapeProblems)) -> ShapeProblems {
    let mut wrong = ShapeProblems::default();
    look(&mut wrong);
    wrong
}

impl ShapeProblems {
    /// Records a problem.
    pub(crate) fn add(&mut self, text: impl Into<String>) {
        self.0.push(text.into());
    }

    /// Records a problem when a condition does not hold.
    pub(crate) fn unless(&mut self, holds: bool, text: impl Into<String>) {
        if !holds {
            self.add(text);
        }
    }

    /// Requires a non-empty text member.
    pub(crate) fn text(&mut self, value: &Value, name: &str, place: &str) {
        let holds = text(value, name).is_some_and(|text| !text.is_empty());
        self.unless(holds, format!("{place} has no {name}"));
    }

    /// Requires a list member.
    pub(crate) fn list(&mut self, value: &Value, name: &str, place: &str) {
        let holds = value.get(name).is_some_and(Value::is_array);
        self.unless(holds, format!("{place} has no list {name}"));
    }

    /// Permits only these members.
    pub(crate) fn closed(&mut self, value: &Value, known: &[&str], place: &str) {
        for name in value.as_object().into_iter().flatten().map(|(name, _)| name) {
            let holds = known.contains(&name.as_str());
            self.unless(holds, format!("{place} has the unknown member {name}"));
        }
    }
}

/// Returns a text member.
pub(crate) fn text<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name)?.as_str()
}

/// Returns a text member, or an empty text when there is none.
pub(crate) fn member<'v>(value: &'v Value, name: &str) -> &'v str {
    text(value, name).unwrap_or_default()
}

/// Returns the id of a task.
pub(crate) fn id_of(task: &Value) -> &str {
    member(task, "id")
}

/// Sets the member at a pointer, when its parent is an object.
pub(crate) fn set(value: &mut Value, pointer: &str, member: Value) {
    let (parent, name) = pointer.rsplit_once('/').unwrap_or_default();
    if let Some(members) = value.pointer_mut(parent).and_then(Value::as_object_mut) {
        members.insert(name.to_owned(), member);
    }
}

/// Replaces the member at a pointer by the value of a JSON text, or removes it when the text is not JSON.
pub(crate) fn change(value: &mut Value, pointer: &str, text: &str) {
    let (parent, name) = pointer.rsplit_once('/').unwrap_or_default();
    if let Some(members) = value.pointer_mut(parent).and_then(Value::as_object_mut) {
        match tradepost_document::json::from_str(text) {
            Ok(member) => members.insert(name.to_owned(), member),
            Err(_) => members.shift_remove(name),
        };
    }
}

/// Returns the items of a list member.
pub(crate) fn items<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}

/// Returns true when a text is a time in RFC 3339.
pub(crate) fn is_moment(text: &str) -> bool {
    format::timestamp(text).is_some()
}

/// Returns the state of a task.
pub(crate) fn state(task: &Value) -> &str {
    task.pointer("/status/state").and_then(Value::as_str).unwrap_or_default()
}

/// Returns true when a state is terminal.
pub(crate) fn is_terminal(state: &str) -> bool {
    TaskState::from_name(state).is_some_and(TaskState::terminal)
}

/// Checks a message of the agent (A2A §4.1.4).
pub(crate) fn message(message: &Value, wrong: &mut ShapeProblems) {
    wrong.text(message, "messageId", "the message");
    role(message, "the message", wrong);
    wrong.unless(items(message, "parts").count() > 0, "the message has no parts");
    parts(message, "the message", wrong);
}

/// Checks that a message of the agent has the agent's role (A2A §4.1.4).
pub(crate) fn role(message: &Value, place: &str, wrong: &mut ShapeProblems) {
    let role = text(message, "role").unwrap_or_default();
    wrong.unless(role == "ROLE_AGENT", format!("{place} has the role {role:?}, not ROLE_AGENT"));
}

/// Checks the parts of a message or artifact.
pub(crate) fn parts(holder: &Value, place: &str, wrong: &mut ShapeProblems) {
    for part in items(holder, "parts") {
        let contents =
            ["text", "raw", "url", "data"].iter().filter(|name| part.get(name).is_some());
        let count = contents.count();
        wrong.unless(
            count == 1,
            format!("a part of {place} has {count} of text, raw, url and data instead of one"),
        );
        let holds = part.get("kind").is_none();
        wrong.unless(holds, format!("a part of {place} has kind, as in A2A 0.3"));
    }
}

/// Checks a task (A2A §4.1.1).
pub(crate) fn task(task: &Value, wrong: &mut ShapeProblems) {
    wrong.text(task, "id", "the task");
    known_state(task, "the task", wrong);
    for artifact in items(task, "artifacts") {
        wrong.text(artifact, "artifactId", "an artifact");
        wrong.unless(items(artifact, "parts").count() > 0, "an artifact has no parts");
        parts(artifact, "an artifact", wrong);
    }
}

/// Checks that a task or status update has a state of A2A (A2A §4.1.3); the unspecified state is not accepted.
fn known_state(holder: &Value, place: &str, wrong: &mut ShapeProblems) {
    let state = state(holder);
    let holds = TaskState::from_name(state).is_some();
    wrong.unless(holds, format!("{place} has the state {state:?}, which is none of A2A's"));
}

/// Checks that two tasks have the same artifacts, by ids and contents. Adjacent texts may be one part or several.
pub(crate) fn same_artifacts(known: &Value, read: &Value, from: &str, wrong: &mut ShapeProblems) {
    for artifact in items(known, "artifacts") {
        let id = text(artifact, "artifactId");
        let same = items(read, "artifacts").find(|other| text(other, "artifactId") == id);
        match same {
            None => wrong.add(format!("an artifact of {from} is not in the task that is read")),
            Some(other) => wrong.unless(
                contents(artifact) == contents(other),
                format!("an artifact of {from} is another one in the task that is read"),
            ),
        }
    }
    let expected = items(known, "artifacts").count();
    let count = items(read, "artifacts").count();
    let text = format!("the task that is read has {count} artifacts, and {from} {expected}");
    wrong.unless(count <= expected, text);
}

/// Returns the contents of an artifact in order, with adjacent texts joined.
fn contents(artifact: &Value) -> Vec<(&'static str, Value)> {
    let mut contents: Vec<(&'static str, Value)> = Vec::new();
    for part in items(artifact, "parts") {
        for name in ["text", "raw", "url", "data"] {
            match (part.get(name), contents.last_mut()) {
                (Some(Value::String(more)), Some(("text", Value::String(known))))
                    if name == "text" =>
                {
                    known.push_str(more);
                }
                (Some(content), _) => contents.push((name, content.clone())),
                (None, _) => {}
            }
        }
    }
    contents
}

/// Checks an event of a stream (A2A §4.2): exactly one of four members, and that one complete.
pub(crate) fn event(event: &Value, wrong: &mut ShapeProblems) {
    let members = ["task", "message", "statusUpdate", "artifactUpdate"];
    let found: Vec<_> = members.iter().filter(|name| event.get(name).is_some()).collect();
    wrong.unless(
        found.len() == 1,
        format!("an event has {} of task, message, statusUpdate and artifactUpdate", found.len()),
    );
    if let Some(value) = event.get("task") {
        task(value, wrong);
    }
    if let Some(value) = event.get("message") {
        message(value, wrong);
    }
    for (name, member) in [("statusUpdate", "status"), ("artifactUpdate", "artifact")] {
        if let Some(update) = event.get(name) {
            wrong.text(update, "taskId", name);
            wrong.text(update, "contextId", name);
            let holds = update.get(member).is_some_and(Value::is_object);
            wrong.unless(holds, format!("{name} has no {member}"));
            if name == "statusUpdate" {
                known_state(update, name, wrong);
            }
            if let Some(message) =
                update.pointer("/status/message").filter(|message| message.is_object())
            {
                wrong.text(message, "messageId", "the message of a statusUpdate");
                role(message, "the message of a statusUpdate", wrong);
            }
        }
    }
}
