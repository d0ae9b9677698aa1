//! Answers outside every binding.

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::Response;
use tradepost_wire::json::json;

/// A JSON answer.
pub fn json_response(status: StatusCode, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let json = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// An error outside every binding, in the shape of google.rpc.Status (A2A §11.6).
pub(super) fn plain_error(status: StatusCode, name: &str, message: &str) -> Response {
    json_response(status, plain_error_body(status, name, message))
}

pub(super) fn plain_error_body(status: StatusCode, name: &str, message: &str) -> String {
    let error = json!({"code": status.as_u16(), "status": name, "message": message});
    json!({"error": error}).to_string()
}

/// An unknown path or an unknown host: both look the same.
// E-111
pub async fn not_found() -> Response {
    plain_error(StatusCode::NOT_FOUND, "NOT_FOUND", "nothing is here")
}
