//! Reads webhooks of sellers (`core/mcp-webhook-payload.json` of 3.0 and 3.1, and the payloads of
//! `notification_configs`). Unknown members are ignored, because the sender cannot correct a
//! webhook that it has already sent.

use std::fmt;

use jiff::Timestamp;

use super::AdcpTaskStatus;
use tradepost_document::json::Value;
use tradepost_document::parse::{self, read_object};
use tradepost_document::problem::{DocumentPlace, Problem, ProblemDetail, Problems};

/// The members that name the event of a webhook that is not about a task.
const NAMES: [&str; 4] = ["notification_type", "event", "batch_id", "rights_id"];

/// The longest name of a task, in characters; names are stored and shown in tables.
const MAX_NAME: usize = 255;

/// A webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SellerWebhook {
    /// A change of a task's status.
    Task(TaskUpdate),
    /// A change of something other than a task: an account, a creative or a list.
    Event {
        /// The idempotency key: the same at every attempt, and unique per sender and event.
        key: String,
        /// The event's name, from the first naming member that is present.
        name: String,
    },
    /// A check that this address is ours; the text is to be sent back.
    Challenge(String),
}

/// A task's status as reported by a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskUpdate {
    /// The idempotency key: the same at every attempt, and unique per sender and event.
    pub key: String,
    /// The task's id.
    pub task_id: String,
    /// The tool that created the task.
    pub task_type: String,
    /// The task's status.
    pub standing: AdcpTaskStatus,
    /// The time of the status.
    pub timestamp: Timestamp,
}

/// A body that is not a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WebhookError {
    /// The problems.
    pub problems: Problems,
}

impl WebhookError {
    /// The problem as one word, by the names of the published test vectors.
    #[must_use]
    pub fn code(&self) -> &'static str {
        let listed = self.problems.listed();
        let absent = |problem: &&Problem| problem.is_absence();
        let key = ProblemDetail::Property("idempotency_key");
        if listed.iter().filter(absent).count() == 1 && listed.iter().any(|p| p.extra == key) {
            "missing_idempotency_key"
        } else if listed.iter().any(|problem| problem.is_absence()) {
            "missing_envelope_fields"
        } else if listed.iter().any(|problem| problem.pointer == "/status") {
            "invalid_envelope_status"
        } else {
            "invalid_envelope"
        }
    }
}

impl fmt::Display for WebhookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl std::error::Error for WebhookError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.problems.as_cause()
    }
}

/// Reads a webhook.
///
/// # Errors
///
/// All problems.
pub fn read(document: &Value) -> Result<SellerWebhook, WebhookError> {
    let mut problems = Problems::new();
    let has = |name: &str| document.get(name).is_some();
    let read = if document.get("type").is_some_and(|kind| kind == "webhook.challenge") {
        read_object!(document, &DocumentPlace::Root, &mut problems, open {
            required "challenge" => challenge: sent_challenge,
        });
        challenge.map(SellerWebhook::Challenge)
    } else if has("idempotency_key")
        && !has("task_id")
        && !has("task_type")
        // An announcement of an account has a `status` that is not a task's.
        && (!has("status") || NAMES.into_iter().any(has))
    {
        event(document, &mut problems)
    } else {
        step(document, &mut problems)
    };
    problems.into_result(read).map_err(|problems| WebhookError { problems })
}

fn step(document: &Value, problems: &mut Problems) -> Option<SellerWebhook> {
    read_object!(document, &DocumentPlace::Root, problems, open {
        required "idempotency_key" => key: sent_key,
        optional "operation_id" => _operation: parse::text,
        required "task_id" => task_id: named,
        required "task_type" => task_type: named,
        required "status" => standing: parse::word::<AdcpTaskStatus>,
        required "timestamp" => timestamp: parse::timestamp,
    });
    // 3.0 did not require `operation_id`, so a webhook that lacks nothing else is one of 3.0.
    let lacking = problems.listed().iter().filter(|problem| problem.is_absence()).count();
    if lacking > 1 && document.get("operation_id").is_none() {
        parse::missing(&DocumentPlace::Root, problems, "operation_id");
    }
    Some(SellerWebhook::Task(TaskUpdate {
        key: key?,
        task_id: task_id?,
        task_type: task_type?,
        standing: standing?,
        timestamp: timestamp?,
    }))
}

fn event(document: &Value, problems: &mut Problems) -> Option<SellerWebhook> {
    read_object!(document, &DocumentPlace::Root, problems, open {
        required "idempotency_key" => key: sent_key,
    });
    let name = NAMES.iter().find_map(|name| document.get(name)?.as_str());
    if name.is_none() {
        parse::none_of(&DocumentPlace::Root, problems, &NAMES);
    }
    Some(SellerWebhook::Event { key: key?, name: name?.to_owned() })
}

fn sent_key(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<String> {
    const PATTERN: &str = "^[A-Za-z0-9_.:-]{16,255}$";
    const HINT: &str = "must be 16 to 255 letters, digits and _.:-";
    parse::matching(value, at, problems, |text| is_key(text, 16), PATTERN, HINT)
}

fn sent_challenge(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<String> {
    const PATTERN: &str = "^[A-Za-z0-9_.:-]{32,255}$";
    const HINT: &str = "must be 32 to 255 letters, digits and _.:-";
    parse::matching(value, at, problems, |text| is_key(text, 32), PATTERN, HINT)
}

fn is_key(text: &str, least: usize) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
    (least..=255).contains(&text.len()) && text.bytes().all(plain)
}

fn named(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<String> {
    parse::text_of(value, at, problems, 1, Some(MAX_NAME))
}

#[cfg(test)]
mod tests {
    use tradepost_document::json::json;

    use super::*;

    fn envelope() -> Value {
        json!({"idempotency_key": "whk_0123456789abcdef", "operation_id": "o", "task_id": "t",
            "task_type": "create_media_buy", "status": "completed",
            "timestamp": "2026-04-30T12:00:00Z", "result": {"media_buy_id": "m"}})
    }

    fn without(name: &str) -> Value {
        let mut document = envelope();
        document.as_object_mut().unwrap().swap_remove(name);
        document
    }

    fn with(name: &str, value: Value) -> Value {
        let mut document = envelope();
        document[name] = value;
        document
    }

    #[test]
    fn an_envelope_needs_all_members_and_says_which_are_wrong() {
        for (document, code) in [
            (envelope(), ""),
            (without("operation_id"), ""),
            (without("result"), ""),
            (without("idempotency_key"), "missing_idempotency_key"),
            (without("task_id"), "missing_envelope_fields"),
            (without("timestamp"), "missing_envelope_fields"),
            (with("idempotency_key", json!("short")), "invalid_envelope"),
            (with("idempotency_key", json!("a b c d e f g h i j")), "invalid_envelope"),
            (with("idempotency_key", json!(1)), "invalid_envelope"),
            (with("status", json!("active")), "invalid_envelope_status"),
            (with("status", json!(null)), "invalid_envelope_status"),
            (with("timestamp", json!("yesterday")), "invalid_envelope"),
            (with("task_id", json!("")), "invalid_envelope"),
            (json!({"notification_type": "scheduled"}), "missing_envelope_fields"),
            (json!({}), "missing_envelope_fields"),
            (json!([]), "invalid_envelope"),
        ] {
            let refused = read(&document).err().map_or("", |no| no.code());
            assert_eq!(refused, code, "{document}");
        }
        let bare = read(&json!({"notification_type": "scheduled"})).unwrap_err();
        let named: Vec<_> = bare.problems.into_iter().map(|problem| problem.message).collect();
        expect_test::expect![[r#"
            missing required property "idempotency_key"
            missing required property "task_id"
            missing required property "task_type"
            missing required property "status"
            missing required property "timestamp"
            missing required property "operation_id""#]]
        .assert_eq(&named.join("\n"));
    }

    #[test]
    fn events_and_challenges_are_told_from_steps_of_a_task() {
        let key = "whk_0123456789abcdef";
        let event = json!({"idempotency_key": key, "notification_type": "account.status_changed",
            "status": "active"});
        let name = "account.status_changed".to_owned();
        assert_eq!(read(&event), Ok(SellerWebhook::Event { key: key.to_owned(), name }));
        assert_eq!(
            read(&json!({"idempotency_key": key})).unwrap_err().code(),
            "missing_envelope_fields"
        );
        let short = json!({"type": "webhook.challenge", "challenge": "x"});
        assert!(read(&short).is_err());
        let asked = "example-challenge-token-000000000000";
        let asks = json!({"type": "webhook.challenge", "challenge": asked, "account_id": "a"});
        assert_eq!(read(&asks), Ok(SellerWebhook::Challenge(asked.to_owned())));
    }
}
