//! Validation of an agent's answers against the data model (A2A 1.0 §4.1, §5.7): required ids are
//! present, lists of parts are not empty, bytes are base64, and artifacts of a task have unique
//! ids.

use std::collections::HashSet;

use super::error::FieldViolation;
use super::{Artifact, Content, Message, Part, Task};
use tradepost_document::format;

/// Returns every problem of an agent's message.
#[must_use]
pub fn message_problems(message: &Message) -> Vec<FieldViolation> {
    let mut found = FoundProblems::default();
    found.check_message("message", message);
    found.problems
}

/// Returns every problem of a task.
#[must_use]
pub fn task_problems(task: &Task) -> Vec<FieldViolation> {
    let mut found = FoundProblems::default();
    found.check_id("task.id", &task.id);
    found.check_id("task.contextId", &task.context_id);
    if let Some(message) = &task.status.message {
        found.check_message("task.status.message", message);
    }
    let mut known_ids = HashSet::new();
    for (index, artifact) in task.artifacts.iter().flatten().enumerate() {
        let path = format!("task.artifacts[{index}]");
        found.check_artifact(&path, artifact);
        if !known_ids.insert(artifact.artifact_id.as_str()) {
            found.add(format!("{path}.artifactId"), "must differ from those of other artifacts");
        }
    }
    for (index, message) in task.history.iter().flatten().enumerate() {
        found.check_message(&format!("task.history[{index}]"), message);
    }
    found.problems
}

/// Returns every problem of a single artifact.
#[must_use]
pub fn artifact_problems(artifact: &Artifact) -> Vec<FieldViolation> {
    let mut found = FoundProblems::default();
    found.check_artifact("artifact", artifact);
    found.problems
}

/// Formats problems on one line for the log. They name paths, and never repeat values.
#[must_use]
pub fn in_one_line(problems: &[FieldViolation]) -> String {
    let sentences: Vec<_> = problems
        .iter()
        .map(|problem| format!("{} {}", problem.field, problem.description))
        .collect();
    sentences.join("; ")
}

/// The problems found so far.
#[derive(Default)]
struct FoundProblems {
    problems: Vec<FieldViolation>,
}

impl FoundProblems {
    fn add(&mut self, field: String, description: &str) {
        self.problems.push(FieldViolation { field, description: description.to_owned() });
    }

    fn check_id(&mut self, path: &str, id: &str) {
        if id.is_empty() {
            self.add(path.to_owned(), "must not be empty");
        }
    }

    fn check_message(&mut self, path: &str, message: &Message) {
        self.check_id(&format!("{path}.messageId"), &message.message_id);
        self.check_parts(path, &message.parts);
    }

    fn check_artifact(&mut self, path: &str, artifact: &Artifact) {
        self.check_id(&format!("{path}.artifactId"), &artifact.artifact_id);
        self.check_parts(path, &artifact.parts);
    }

    fn check_parts(&mut self, path: &str, parts: &[Part]) {
        if parts.is_empty() {
            self.add(format!("{path}.parts"), "must have at least one part");
        }
        for (index, part) in parts.iter().enumerate() {
            let path = format!("{path}.parts[{index}]");
            match &part.content {
                Content::Raw(bytes) if format::base64(bytes).is_none() => {
                    self.add(format!("{path}.raw"), "must be base64 (RFC 4648)");
                }
                Content::Url(url) if url.is_empty() => {
                    self.add(format!("{path}.url"), "must not be empty");
                }
                Content::Raw(_) | Content::Url(_) | Content::Text(_) | Content::Data(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::{Role, TaskState, TaskStatus};

    fn message(message_id: &str, parts: Vec<Part>) -> Message {
        Message {
            message_id: message_id.to_owned(),
            context_id: None,
            task_id: None,
            role: Role::Agent,
            parts,
            metadata: None,
            extensions: Vec::new(),
            reference_task_ids: Vec::new(),
        }
    }

    fn raw(bytes: &str) -> Part {
        Content::Raw(bytes.to_owned()).into()
    }

    #[test]
    fn every_problem_of_a_message_is_named_by_its_place() {
        let url = Content::Url(String::new()).into();
        let bad = message("", vec![raw("AAA="), raw("secret!"), url, Part::text("")]);
        let problems = in_one_line(&message_problems(&bad));
        assert_eq!(
            problems,
            "message.messageId must not be empty; message.parts[1].raw must be base64 (RFC 4648); \
             message.parts[2].url must not be empty"
        );
        let empty = message("1", Vec::new());
        let problems = in_one_line(&message_problems(&empty));
        assert_eq!(problems, "message.parts must have at least one part");
        assert!(message_problems(&message("1", vec![Part::text("")])).is_empty());
    }

    #[test]
    fn artifacts_of_a_task_have_own_ids_and_parts() {
        let parts = || vec![Part::text("x")];
        let artifacts = vec![
            Artifact::new("a", parts()),
            Artifact::new("a", parts()),
            Artifact::new("", Vec::new()),
        ];
        let status = TaskStatus {
            state: TaskState::Completed,
            message: Some(message("1", Vec::new())),
            timestamp: Timestamp::UNIX_EPOCH,
        };
        let task = Task {
            id: "t".to_owned(),
            context_id: "c".to_owned(),
            status,
            artifacts: Some(artifacts),
            history: Some(vec![message("", parts())]),
            metadata: None,
        };
        let problems: Vec<_> =
            task_problems(&task).into_iter().map(|problem| problem.field).collect();
        assert_eq!(
            problems,
            [
                "task.status.message.parts",
                "task.artifacts[1].artifactId",
                "task.artifacts[2].artifactId",
                "task.artifacts[2].parts",
                "task.history[0].messageId",
            ]
        );
    }
}
