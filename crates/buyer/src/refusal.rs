//! A seller's no, read leniently: AAP's error object first, then the typed details of A2A, then
//! the bare JSON-RPC number, then the HTTP status.

use std::fmt;
use std::time::Duration;

use jiff::SignedDuration;
use serde_json::Value;
use tradepost_wire::a2a::error::{Code, DOMAIN, FieldViolation};
use tradepost_wire::aap::error::{Code as AapCode, Received};
use tradepost_wire::catalog::{Open, Vocabulary};

use crate::failure::Kept;
use crate::text::{SENTENCE, WORD, plain};

/// The longest delay that a seller's word is taken for.
pub const MAX_DELAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How many violations and facts of an error are kept.
const MAX_LISTED: usize = 100;

/// A seller's no.
#[derive(Debug)]
pub struct Refused {
    /// In which words.
    pub by: By,
    /// How long the seller asks to wait, rounded up to milliseconds and at most [`MAX_DELAY`]:
    /// what the error says, else the `Retry-After` header.
    pub retry_after: Option<Duration>,
    /// The answer.
    pub kept: Kept,
}

/// In which words a seller says no.
#[derive(Debug)]
pub enum By {
    /// AAP's error object.
    Aap {
        /// The JSON-RPC number it came with.
        jsonrpc: i64,
        /// The object.
        error: Received,
    },
    /// An error of A2A or JSON-RPC.
    Protocol(ProtocolError),
    /// An HTTP status, with a body that is no JSON-RPC answer.
    Http(u16),
}

/// An error of A2A or JSON-RPC.
#[derive(Debug, Clone, PartialEq)]
pub struct ProtocolError {
    /// The JSON-RPC number.
    pub jsonrpc: i64,
    /// The catalog row; for an unknown number the reason given, else the number.
    pub code: Open<Code>,
    /// For people, as sent.
    pub message: String,
    /// `ErrorInfo.reason`, as sent.
    pub reason: Option<String>,
    /// `ErrorInfo.metadata`, as sent.
    pub metadata: Vec<(String, String)>,
    /// The wrong fields of a `BadRequest`.
    pub violations: Vec<FieldViolation>,
}

impl Refused {
    /// Whether the same request may succeed later. What the seller says beats the catalog
    /// (`R-ER-05`).
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match &self.by {
            By::Aap { error, .. } => error.retryable,
            By::Protocol(error) => match error.code.known() {
                Some(code) => is_retryable(code),
                None => self.retry_after.is_some(),
            },
            By::Http(status) => {
                matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504)
            }
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (code, message) = match &self.by {
            By::Aap { error, .. } => (error.code.name(), error.message.as_str()),
            By::Protocol(error) => (error.code.name(), error.message.as_str()),
            By::Http(status) => return write!(f, "the server answers with HTTP {status}"),
        };
        let code = plain(code, WORD);
        // Sellers often lead the message with the code (C-11); once is enough.
        let message = message
            .strip_prefix(code.as_str())
            .map_or(message, |rest| rest.trim_start_matches([':', ' ']));
        let message = plain(message, SENTENCE);
        if message.is_empty() { f.write_str(&code) } else { write!(f, "{code}: {message}") }
    }
}

/// Whether a request that was refused with this code may succeed later, unchanged.
#[must_use]
pub fn is_retryable(code: Code) -> bool {
    code == Code::InternalError
}

/// Reads the `error` member of a JSON-RPC answer; `None` when it is no error object.
#[must_use]
pub fn read(error: &Value, retry_after: Option<Duration>, kept: Kept) -> Option<Refused> {
    let jsonrpc = error.get("code").and_then(whole)?;
    let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
    let data = error.get("data").unwrap_or(&Value::Null);
    if let Some(error) = read_aap(data, message) {
        return Some(Refused {
            retry_after: stated_delay(&error.details).or(retry_after),
            by: By::Aap { jsonrpc, error },
            kept,
        });
    }
    let protocol = read_protocol(jsonrpc, message, data);
    Some(Refused { by: By::Protocol(protocol), retry_after, kept })
}

fn whole(value: &Value) -> Option<i64> {
    value.as_number().and_then(tradepost_wire::parse::whole)
}

fn read_aap(data: &Value, message: &str) -> Option<Received> {
    if let Some(received) = Received::read(data) {
        return Some(received);
    }
    let items = data.as_array().map(Vec::as_slice).unwrap_or_default();
    if let Some(received) = items.iter().find_map(Received::read) {
        return Some(received);
    }
    if !data.is_null() {
        return None;
    }
    // Some gateways lose the data; then the code that leads the message is all that is left.
    let (name, text) = message.split_once(':')?;
    let code = AapCode::from_name(name.trim())?;
    Some(Received {
        code: Open::Known(code),
        message: text.trim().to_owned(),
        retryable: code.retryable(),
        error_id: String::new(),
        details: Value::Null,
    })
}

fn read_protocol(jsonrpc: i64, message: &str, data: &Value) -> ProtocolError {
    let text = |value: &Value, name: &str| {
        value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let details = data.as_array().map(Vec::as_slice).unwrap_or_default();
    let typed = |name: &str| {
        let wanted = format!("google.rpc.{name}");
        details.iter().find(move |detail| {
            text(detail, "@type").rsplit('/').next().is_some_and(|kind| kind == wanted)
        })
    };
    let info = typed("ErrorInfo");
    let reason = info.map(|info| text(info, "reason")).filter(|reason| !reason.is_empty());
    let row = Code::from_jsonrpc(jsonrpc).or_else(|| {
        let info = info.filter(|info| text(info, "domain") == DOMAIN)?;
        Code::from_name(&text(info, "reason"))
    });
    let code = match (row, &reason) {
        (Some(row), _) => Open::Known(row),
        (None, Some(reason)) => Open::Other(reason.as_str().into()),
        (None, None) => Open::Other(jsonrpc.to_string().into()),
    };
    let metadata = info.and_then(|info| info.get("metadata")).and_then(Value::as_object);
    let metadata = metadata
        .into_iter()
        .flatten()
        .take(MAX_LISTED)
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    let violations = typed("BadRequest")
        .and_then(|detail| detail.get("fieldViolations"))
        .and_then(Value::as_array);
    let violations =
        violations.into_iter().flatten().take(MAX_LISTED).map(|violation| FieldViolation {
            field: text(violation, "field"),
            description: text(violation, "description"),
        });
    ProtocolError {
        jsonrpc,
        code,
        message: message.to_owned(),
        metadata: metadata.collect(),
        violations: violations.collect(),
        reason,
    }
}

/// `details.retry_after_ms` or `details.retry_after_seconds` (`R-ER-07`).
fn stated_delay(details: &Value) -> Option<Duration> {
    let number = |name: &str| {
        let number = details.get(name)?.as_number()?.as_f64()?;
        (number.is_finite() && number >= 0.0).then_some(number)
    };
    let milliseconds =
        number("retry_after_ms").or_else(|| number("retry_after_seconds").map(|s| s * 1000.0))?;
    // The conversion saturates.
    Some(Duration::from_millis(milliseconds.ceil() as u64).min(MAX_DELAY))
}

/// A `Retry-After` header: seconds, or a moment, which is compared with the answer's own `Date`
/// so that no clock is needed and the two sides' clocks need not agree.
#[must_use]
pub fn retry_after(header: &str, date: Option<&str>) -> Option<Duration> {
    let header = header.trim();
    if !header.is_empty() && header.bytes().all(|b| b.is_ascii_digit()) {
        return Some(Duration::from_secs(header.parse().unwrap_or(u64::MAX)).min(MAX_DELAY));
    }
    let moment = |text: &str| jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok();
    let wait: SignedDuration = moment(date?)?.duration_until(moment(header)?);
    Some(Duration::try_from(wait).unwrap_or_default().min(MAX_DELAY))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(error: Value) -> Refused {
        read(&error, Some(Duration::from_secs(7)), Kept::default()).unwrap()
    }

    #[test]
    fn the_aap_object_wins_and_its_word_on_retrying_counts() {
        let refused =
            refused(json!({"code": -32002, "message": "RATE_LIMITED: slow down", "data": {
            "type": "aap.error", "code": "RATE_LIMITED", "message": "slow down", "error_id": "e1",
            "retryable": false, "details": {"retry_after_ms": 1500.2}}}));
        assert_eq!(refused.to_string(), "RATE_LIMITED: slow down");
        assert_eq!(refused.retry_after, Some(Duration::from_millis(1501)));
        assert!(!refused.is_retryable());
    }

    #[test]
    fn codes_of_the_future_are_kept() {
        let refused = refused(json!({"code": -32000, "message": "x", "data": {
            "type": "aap.error", "code": "FINANCE_\u{1b}DECLINED", "message": "\u{202e}no"}}));
        assert_eq!(refused.to_string(), "FINANCE_DECLINED: no");
        let By::Aap { error, .. } = &refused.by else { panic!("{refused:?}") };
        assert_eq!(error.code, Open::Other("FINANCE_\u{1b}DECLINED".into()));
    }

    #[test]
    fn the_details_of_a_protocol_error_are_read() {
        let refused = refused(json!({"code": -32602, "message": "Invalid parameters", "data": [
            {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "INVALID_PARAMS",
             "domain": "a2a-protocol.org", "metadata": {"a": "b", "n": 1}},
            {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [
                {"field": "message.parts", "description": "must not be empty"}, 5]}]}));
        let By::Protocol(error) = &refused.by else { panic!("{refused:?}") };
        assert_eq!(error.code, Open::Known(Code::InvalidParams));
        assert_eq!(error.metadata, [("a".to_owned(), "b".to_owned())]);
        assert_eq!(error.violations[0].field, "message.parts");
        assert_eq!(refused.retry_after, Some(Duration::from_secs(7)));
    }

    #[test]
    fn numbers_and_names_find_their_row_whichever_is_known() {
        let code = |error: Value| match refused(error).by {
            By::Aap { error, .. } => format!("aap {}", error.code),
            By::Protocol(error) => format!("a2a {}", error.code),
            By::Http(status) => status.to_string(),
        };
        let info = |reason: &str| json!([{"@type": "google.rpc.ErrorInfo", "reason": reason, "domain": DOMAIN}]);
        for (error, expected) in [
            (json!({"code": -32601}), "a2a METHOD_NOT_FOUND"),
            (json!({"code": -32002, "message": "x"}), "a2a TASK_NOT_CANCELABLE"),
            (json!({"code": -32099, "data": info("TASK_NOT_FOUND")}), "a2a TASK_NOT_FOUND"),
            (json!({"code": -32099, "data": info("NEW")}), "a2a NEW"),
            (json!({"code": -32099.0, "data": {"x": 1}}), "a2a -32099"),
            (json!({"code": -32002, "message": "RATE_LIMITED: x"}), "aap RATE_LIMITED"),
            (json!({"code": -32000, "message": "Oops: x"}), "a2a -32000"),
            (
                json!({"code": -32000, "data": [{"type": "aap.error", "code": "INVALID_CONSENT"}]}),
                "aap INVALID_CONSENT",
            ),
        ] {
            assert_eq!(code(error), expected);
        }
        for no_error in [json!(null), json!("x"), json!({"code": "x"}), json!({"code": 1.5})] {
            assert!(read(&no_error, None, Kept::default()).is_none());
        }
    }

    #[test]
    fn delays_are_read_in_both_forms_and_clamped() {
        let date = Some("Wed, 21 Oct 2026 07:28:00 GMT");
        for (header, date, expected) in [
            ("120", None, Some(120)),
            ("99999999999999999999999", None, Some(86_400)),
            ("Wed, 21 Oct 2026 07:28:30 GMT", date, Some(30)),
            ("Wed, 21 Oct 2026 07:27:30 GMT", date, Some(0)),
            ("Wed, 21 Oct 2026 07:28:30 GMT", None, None),
            ("-5", None, None),
            ("soon", date, None),
            ("", date, None),
        ] {
            let expected = expected.map(Duration::from_secs);
            assert_eq!(retry_after(header, date), expected, "{header}");
        }
        for (details, expected) in [
            (json!({"retry_after_seconds": 2}), Some(2_000)),
            (json!({"retry_after_ms": 1e300}), Some(86_400_000)),
            (json!({"retry_after_ms": -1}), None),
            (json!({"retry_after_ms": "5"}), None),
        ] {
            assert_eq!(stated_delay(&details), expected.map(Duration::from_millis), "{details}");
        }
    }
}
