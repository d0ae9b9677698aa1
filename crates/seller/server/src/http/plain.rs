//! Answers outside every binding, and parts that they share with those of the bindings.

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use tradepost_document::http::RetryAfter;
use tradepost_document::json::json;

use crate::fault::InternalError;

/// Creates a JSON response.
pub fn json_response(status: StatusCode, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let json = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// Writes `Retry-After` in whole seconds, rounded up and at least one (RFC 9110 §10.2.3). It replaces an earlier one.
///
/// ```
/// use std::time::Duration;
///
/// use axum::http::{HeaderMap, header};
/// use tradepost_document::http::RetryAfter;
/// use tradepost_server::http::set_retry_after;
///
/// let mut headers = HeaderMap::new();
/// set_retry_after(&mut headers, RetryAfter::new(Duration::from_millis(1_200)));
/// assert_eq!(headers[header::RETRY_AFTER], "2");
/// ```
pub fn set_retry_after(headers: &mut HeaderMap, wait: RetryAfter) {
    headers.insert(header::RETRY_AFTER, wait.seconds().into());
}

/// Writes an error outside every binding, in the format of google.rpc.Status (A2A 1.0 §11.6).
pub(super) fn plain_error(status: StatusCode, name: &str, message: &str) -> Response {
    json_response(status, plain_error_body(status, name, message))
}

pub(super) fn plain_error_body(status: StatusCode, name: &str, message: &str) -> String {
    let error = json!({"code": status.as_u16(), "status": name, "message": message});
    json!({"error": error}).to_string()
}

/// Writes the answer to an internal error outside every binding. The log has the cause under the
/// answer's error id.
pub(super) fn failed(fault: &InternalError) -> Response {
    let error_id = format!("err_{}", uuid::Uuid::now_v7().simple());
    tracing::error!(%error_id, cause = %fault.chain(), "a request could not be answered");
    let message = format!("the agent failed; quote the error id {error_id} to whoever runs it");
    plain_error(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", &message)
}

/// Answers an unknown path or an unknown host; both look the same.
// Tenants are not revealed (E-111).
pub async fn not_found() -> Response {
    plain_error(StatusCode::NOT_FOUND, "NOT_FOUND", "nothing is here")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_wait_of_whole_seconds_is_not_prolonged() {
        for (wait, expected) in [(2_000, "2"), (2_001, "3"), (1, "1"), (0, "1")] {
            let mut headers = HeaderMap::new();
            set_retry_after(&mut headers, RetryAfter::new(Duration::from_millis(wait)));
            assert_eq!(headers[header::RETRY_AFTER], expected, "{wait} ms");
        }
    }
}
