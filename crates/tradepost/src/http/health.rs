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

/// The store can begin to write, so leads can be taken.
pub(super) async fn ready(State(desk): State<Arc<Desk>>) -> Response {
    match desk.check().await {
        Ok(()) => json_response(StatusCode::OK, r#"{"status":"ready"}"#),
        Err(fault) => {
            tracing::error!(cause = %fault.chain(), "not ready");
            let status = StatusCode::SERVICE_UNAVAILABLE;
            plain_error(status, "UNAVAILABLE", "the store cannot be written")
        }
    }
}
