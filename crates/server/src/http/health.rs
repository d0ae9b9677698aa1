//! Whether the process lives, and whether it can answer.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::{json_response, plain_error};
use crate::desk::Desk;

/// The process answers.
pub(super) async fn live() -> Response {
    json_response(StatusCode::OK, r#"{"status":"live"}"#)
}

/// Something new can be taken and is stored. What is wrong has been logged.
pub(super) async fn ready(State(desk): State<Arc<Desk>>) -> Response {
    match desk.check().await {
        Ok(()) => json_response(StatusCode::OK, r#"{"status":"ready"}"#),
        Err(why) => plain_error(StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE", why),
    }
}
