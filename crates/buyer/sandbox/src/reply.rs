//! Replies to a buyer, on which its permitted next steps depend.

use axum::http::{HeaderMap, StatusCode, header};
use jiff::{SignedDuration, Timestamp};
use tradepost_a2a::error::A2aCode as ProtocolCode;
use tradepost_aap::error::ReceivedRefusal;
use tradepost_adcp::error::{AdcpError, Recovery};
use tradepost_client::refusal;
use tradepost_document::catalog::Vocabulary;
use tradepost_document::http::RetryAfter;
use tradepost_document::json::Value;

/// Reply to a buyer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuyerReply {
    /// No answer that the buyer could understand: the request may have had an effect.
    Nothing,
    /// Success.
    Success,
    /// Refusal.
    Refusal {
        /// Catalog code, or a text like `HTTP 503`.
        code: String,
        /// True when the same request may succeed later.
        retryable: bool,
        /// Requested wait, where it is given in a form that can be read.
        wait: Option<SignedDuration>,
    },
}

impl BuyerReply {
    /// Reads an answer as a careful buyer would.
    #[must_use]
    pub fn read(status: StatusCode, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Self {
        let document: Value = tradepost_document::json::from_slice(body).unwrap_or_default();
        let after = header_wait(headers, now);
        let failed = document.pointer("/result/structuredContent/adcp_error");
        if let Some(Ok(error)) = failed.map(AdcpError::read) {
            return Self::task(&error);
        }
        // A gateway in front of the dealer may have errors of its own; for those the status is enough.
        let Some(error) = document.get("error").filter(|_| document.get("jsonrpc").is_some())
        else {
            return if status.is_success() { Self::Success } else { Self::http(status, after) };
        };
        let data = error.get("data").unwrap_or(&Value::Null);
        if let Some(received) = ReceivedRefusal::read(data) {
            let wait = details_wait(&received.details).or(after);
            let code = received.code.name().to_owned();
            return Self::Refusal { code, retryable: received.retryable, wait };
        }
        let number = error.get("code").and_then(Value::as_i64).unwrap_or_default();
        // The reason comes first: not every refusal of A2A has its own number (A2A §3.3.2).
        let reason = data.pointer("/0/reason").and_then(Value::as_str);
        let row =
            reason.and_then(ProtocolCode::from_name).or_else(|| ProtocolCode::from_jsonrpc(number));
        let code = row.map_or_else(|| number.to_string(), |row| row.name().to_owned());
        let retryable = row.is_some_and(refusal::is_retryable);
        Self::Refusal { code, retryable, wait: after }
    }

    /// Reads a refusal of a publisher.
    fn task(error: &AdcpError) -> Self {
        Self::Refusal {
            code: error.code.name().to_owned(),
            retryable: error.class() == Recovery::Transient,
            wait: error.retry_after.map(|seconds| SignedDuration::from_secs(seconds.into())),
        }
    }

    fn http(status: StatusCode, wait: Option<SignedDuration>) -> Self {
        let retryable = matches!(status.as_u16(), 408 | 425 | 429 | 500 | 502 | 503 | 504);
        Self::Refusal { code: format!("HTTP {}", status.as_u16()), retryable, wait }
    }

    /// Returns the name for the report.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Nothing => "nothing",
            Self::Success => "yes",
            Self::Refusal { code, .. } => code,
        }
    }
}

/// Reads `details.retry_after_ms` or `details.retry_after_seconds` of an AAP refusal (`errors`,
/// `R-ER-07`), rounded up.
fn details_wait(details: &Value) -> Option<SignedDuration> {
    let number = |name: &str| details.get(name)?.as_number()?.as_f64();
    let milliseconds = number("retry_after_ms").and_then(RetryAfter::from_milliseconds);
    let seconds = || number("retry_after_seconds").and_then(RetryAfter::from_seconds);
    milliseconds.or_else(seconds).map(signed)
}

/// Reads the `Retry-After` header.
fn header_wait(headers: &HeaderMap, now: Timestamp) -> Option<SignedDuration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?;
    RetryAfter::from_header(text, Some(now)).map(signed)
}

fn signed(wait: RetryAfter) -> SignedDuration {
    SignedDuration::try_from(wait.duration()).unwrap_or(SignedDuration::MAX)
}

#[cfg(test)]
mod tests {
    use tradepost_document::json::json;

    use super::*;

    fn reply(status: u16, retry_after: &str, body: &Value) -> String {
        let mut headers = HeaderMap::new();
        if !retry_after.is_empty() {
            headers.insert(header::RETRY_AFTER, retry_after.parse().unwrap());
        }
        let now = "2026-04-30T12:00:00Z".parse().unwrap();
        let status = StatusCode::from_u16(status).unwrap();
        match BuyerReply::read(status, &headers, body.to_string().as_bytes(), now) {
            BuyerReply::Nothing => "nothing".to_owned(),
            BuyerReply::Success => "yes".to_owned(),
            BuyerReply::Refusal { code, retryable, wait } => {
                format!("{code} {retryable} {:?}", wait.map(|wait| wait.as_millis()))
            }
        }
    }

    #[test]
    fn what_is_owed_follows_from_what_was_said() {
        let error = |code: i64, data: Value| {
            json!({"jsonrpc": "2.0", "id": 1,
            "error": {"code": code, "message": "x", "data": data}})
        };
        let limited = |details: Value| {
            let data = json!({"type": "aap.error", "code": "RATE_LIMITED", "details": details});
            error(-32002, data)
        };
        let failed = |code: &str, wait: Value| {
            let error = json!({"code": code, "message": "x", "retry_after": wait});
            json!({"jsonrpc": "2.0", "id": 1, "result": {"isError": true,
                "structuredContent": {"status": "failed", "adcp_error": error}}})
        };
        for (status, header, body, expected) in [
            (200, "", json!({"jsonrpc": "2.0", "id": 1, "result": {}}), "yes"),
            (200, "7", json!({"name": "a card"}), "yes"),
            (200, "7", limited(json!({"retry_after_ms": 1500.2})), "RATE_LIMITED true Some(1501)"),
            (200, "7", limited(json!({"retry_after_seconds": 2})), "RATE_LIMITED true Some(2000)"),
            (200, "7", limited(json!({"retry_after_ms": -1})), "RATE_LIMITED true Some(7000)"),
            (429, "", limited(json!({"retry_after_ms": "soon"})), "RATE_LIMITED true None"),
            (200, "", error(-32603, json!(null)), "INTERNAL_ERROR true None"),
            (200, "", error(-32004, json!(null)), "UNSUPPORTED_OPERATION false None"),
            (
                401,
                "",
                error(-32000, json!([{"reason": "UNAUTHENTICATED"}])),
                "UNAUTHENTICATED false None",
            ),
            (503, "Thu, 30 Apr 2026 12:00:30 GMT", json!(null), "HTTP 503 true Some(30000)"),
            (503, "Thu, 30 Apr 2026 11:00:00 GMT", json!(null), "HTTP 503 true Some(0)"),
            (503, "-5", json!({"error": "x"}), "HTTP 503 true None"),
            (413, "", json!(null), "HTTP 413 false None"),
            (200, "", failed("RATE_LIMITED", json!(7)), "RATE_LIMITED true Some(7000)"),
            (200, "9", failed("BUDGET_TOO_LOW", json!(null)), "BUDGET_TOO_LOW false None"),
        ] {
            assert_eq!(reply(status, header, &body), expected, "{status} {header} {body}");
        }
    }
}
