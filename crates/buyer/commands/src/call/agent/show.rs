//! Replies of an agent of any kind, for people. They may contain anything: every text goes through
//! [`paragraphs`] or [`plain`], or is escaped.

use tradepost_client::agent::{AgentReply, AgentTask, File, MessagePart, TaskArtifact};
use tradepost_client::text::{SENTENCE, WORD, escape_json, paragraphs, plain};

/// Maximum number of characters of one text.
const LONG: usize = 100_000;

/// Maximum number of parts of one reply.
const MAX_PARTS: usize = 200;

/// Formats a reply: the message, or the result of a task, or the status message of one without a
/// result.
pub(super) fn reply(reply: &AgentReply) -> String {
    match reply {
        AgentReply::Message(message) => super::words(message),
        AgentReply::Task(task) => {
            let mut blocks: Vec<_> = task.artifacts.iter().map(artifact).collect();
            if let Some(said) = &task.said {
                blocks.push(super::words(said));
            }
            blocks.retain(|block| !block.is_empty());
            blocks.join("\n\n")
        }
    }
}

fn artifact(artifact: &TaskArtifact) -> String {
    let name = plain(&artifact.name, WORD);
    let shown = parts(&artifact.parts);
    if name.is_empty() || shown.is_empty() { shown } else { format!("{name}:\n{shown}") }
}

/// Formats parts, each on lines of its own.
pub(super) fn parts(parts: &[MessagePart]) -> String {
    let mut shown: Vec<_> = parts.iter().take(MAX_PARTS).map(part).collect();
    if parts.len() > MAX_PARTS {
        shown.push(format!("and {} more", parts.len() - MAX_PARTS));
    }
    shown.retain(|part| !part.is_empty());
    shown.join("\n")
}

fn part(part: &MessagePart) -> String {
    if let Some(text) = part.text() {
        return paragraphs(text, LONG);
    }
    if let Some(data) = part.data() {
        let pretty = tradepost_document::json::to_string_pretty(data).unwrap_or_default();
        return paragraphs(&escape_json(&pretty), LONG);
    }
    match part.file() {
        Some(file) => of_file(file),
        None => format!("a part of an unknown kind: {}", plain(&part.raw().to_string(), SENTENCE)),
    }
}

fn of_file(file: File<'_>) -> String {
    let mut out = "file".to_owned();
    for text in [file.name, file.media_type] {
        let text = plain(text, WORD);
        if !text.is_empty() {
            out.push_str(&format!(" {text}"));
        }
    }
    match file.url {
        Some(url) => out.push_str(&format!(": {}", plain(url, SENTENCE))),
        None => out.push_str(&format!(
            ": about {} bytes, which --json writes in base64",
            file.base64.len() / 4 * 3
        )),
    }
    out
}

/// Returns a task's state as a word: that of A2A 1.0 without its prefix.
pub(super) fn state(task: &AgentTask) -> String {
    let name = task.state.name();
    let name = name.strip_prefix("TASK_STATE_").unwrap_or(name);
    plain(&name.to_ascii_lowercase().replace('_', "-"), WORD)
}

/// Describes the progress of a task.
pub(super) fn progress(task: &AgentTask) -> String {
    format!("{}{}", state(task), said(task))
}

/// Returns the status message of a task, after a colon.
pub(super) fn said(task: &AgentTask) -> String {
    let said = task.said.iter().flat_map(|said| &said.parts).find_map(MessagePart::text);
    let said = plain(said.unwrap_or_default(), SENTENCE);
    if said.is_empty() { said } else { format!(": {said}") }
}

/// Quotes text as a shell argument: an id that an agent chose must not run anything.
pub(super) fn argument(text: &str) -> String {
    let text = plain(text, SENTENCE);
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.:/@%+=,".contains(&b);
    if !text.is_empty() && text.bytes().all(is_plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_calls_its_task_runs_nothing() {
        assert_eq!(argument("task-1"), "task-1");
        assert_eq!(argument("x; rm -rf ~"), "'x; rm -rf ~'");
        assert_eq!(argument("a'$(b)\u{1b}"), "'a'\\''$(b)'");
        assert_eq!(argument(""), "''");
    }
}
