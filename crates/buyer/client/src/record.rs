//! Log records of failures, and sentences for people about them.
//!
//! A record has the code, the recovery class, the seller's message and field, and the time. It has nothing
//! that the caller has sent: values of the request are removed from the seller's message.
// Z-1, Z-2

use jiff::Timestamp;
use serde::Serialize;
use tradepost_adcp::error::AdcpError;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;

use crate::failure::{CallFailure, Unsent};
use crate::refusal::{MAX_MESSAGE, RefusalForm};
use crate::text::{WORD, bounded, plain};

pub use tradepost_recovery::sentence::of_code;

/// Shortest value of a request that is removed from a message, in characters; shorter ones occur in any
/// sentence.
const LEAST_PRIVATE: usize = 4;

/// Maximum number of values of a request that are removed.
const MAX_PRIVATE: usize = 2_000;

/// Log record of a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailureRecord {
    /// Seller's code; for a failure without one its kind: `unsent`, `unanswered`, `garbled` or `refused`.
    pub code: String,
    /// Recovery class, when the seller's protocol has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<&'static str>,
    /// Message of the failure.
    pub message: String,
    /// Field at fault, in the seller's notation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

impl FailureRecord {
    /// Creates the record of a failure, without these private values of the request.
    #[must_use]
    pub fn new(failure: &CallFailure, private: &[String]) -> Self {
        if let Some(error) = failure.adcp() {
            return Self::from_error(error, private);
        }
        let code = match failure {
            CallFailure::Unsent(Unsent::Arguments(error)) => {
                return Self::from_error(error, private);
            }
            CallFailure::Unsent(_) => "unsent".to_owned(),
            CallFailure::Unanswered(_) => "unanswered".to_owned(),
            CallFailure::Garbled(_) => "garbled".to_owned(),
            CallFailure::Refused(refused) => match &refused.by {
                RefusalForm::Aap { error, .. } => plain(error.code.name(), WORD),
                RefusalForm::Protocol(error) => plain(error.code.name(), WORD),
                RefusalForm::Adcp(_)
                | RefusalForm::Grpc { .. }
                | RefusalForm::Http(_)
                | RefusalForm::Words { .. } => "refused".to_owned(),
            },
        };
        let message = without(&failure.to_string(), private);
        Self { code, recovery: None, message, field: None }
    }

    /// Creates the record of an error object, such as that of a row.
    #[must_use]
    pub fn from_error(error: &AdcpError, private: &[String]) -> Self {
        let field = error.field.as_deref().map(|field| without(field, private));
        Self {
            code: plain(error.code.name(), WORD),
            recovery: Some(error.class().name()),
            message: without(&error.message, private),
            field: field.filter(|field| !field.is_empty()),
        }
    }

    /// Returns the record as a log line, which is one JSON object.
    #[must_use]
    pub fn line(&self, at: Timestamp) -> String {
        #[derive(Serialize)]
        struct RecordLine<'a> {
            timestamp: String,
            #[serde(flatten)]
            record: &'a FailureRecord,
        }
        let timestamp = format!("{at:.3}");
        tradepost_document::json::to_string(&RecordLine { timestamp, record: self })
            .unwrap_or_default()
    }
}

/// Removes these values from a text, bounds it and makes it fit for display.
fn without(text: &str, private: &[String]) -> String {
    let mut text = text.to_owned();
    let mut private: Vec<_> = private.iter().collect();
    // Longest first, because a value may contain a shorter one.
    private.sort_by_key(|value| std::cmp::Reverse(value.len()));
    for value in private.into_iter().take(MAX_PRIVATE) {
        if value.chars().count() >= LEAST_PRIVATE && text.contains(value.as_str()) {
            text = text.replace(value.as_str(), "[…]");
        }
    }
    bounded(&text, MAX_MESSAGE)
}

/// Returns the texts in a value.
pub(crate) fn texts(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => found.push(text.clone()),
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values()),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use tradepost_adcp::error::AdcpCode;
    use tradepost_document::json::json;

    use super::*;
    use crate::response::{RawResponse, Via, read};

    fn refused(error: &Value) -> CallFailure {
        let body = json!({"isError": true, "structuredContent": {"adcp_error": error}}).to_string();
        let content_type = None;
        let retry_after = None;
        let body = body.as_bytes();
        read(&RawResponse {
            via: Via::McpTool,
            status: 200,
            content_type,
            retry_after,
            challenges: &[],
            body,
        })
        .unwrap()
    }

    #[test]
    fn z_1_every_code_has_a_sentence_even_new_ones() {
        for code in AdcpCode::ALL {
            let sentence = of_code(&AdcpError::new(*code, ""));
            assert!(sentence.ends_with('.') && sentence.len() > 15, "{code}: {sentence}");
        }
        for (recovery, expected) in [
            ("transient", "The seller cannot do this at the moment."),
            ("correctable", "The seller wants the request to be changed."),
            ("terminal", "The seller says no, and a person has to settle it."),
        ] {
            let failure = refused(&json!({"code": "X_NEW", "message": "m", "recovery": recovery}));
            assert_eq!(failure.sentence(), expected);
        }
        assert_eq!(CallFailure::address("x", "y").sentence(), "Nothing was sent.");
    }

    #[test]
    fn z_2_lines_have_what_is_needed_and_nothing_sent() {
        let brief = "Shoes for Ada Lovelace, ada@example.com";
        let arguments = json!({"brief": brief, "ext": {"key": ["t0ken-123", "a", 5]}});
        let message = format!("cannot place \"{brief}\" for t0ken-123\u{202e}\nin a list");
        let failure = refused(&json!({"code": "POLICY_VIOLATION", "message": message,
            "recovery": "correctable", "field": "packages[0].brief", "details": {"brief": brief}}));
        let record = FailureRecord::new(&failure, &texts(&arguments));
        expect_test::expect![[r#"{"timestamp":"2026-08-01T12:00:00.000Z","code":"POLICY_VIOLATION","recovery":"correctable","message":"cannot place \"[…]\" for […] in a list","field":"packages[0].brief"}"#]]
            .assert_eq(&record.line("2026-08-01T12:00:00Z".parse().unwrap()));
        let long = refused(&json!({"code": "A", "message": "é".repeat(1_000)}));
        assert!(FailureRecord::new(&long, &[]).message.len() <= MAX_MESSAGE);
        let unsent = FailureRecord::new(&CallFailure::address("ftp://x", "is no web address"), &[]);
        assert_eq!((unsent.code.as_str(), unsent.recovery), ("unsent", None));
    }
}
