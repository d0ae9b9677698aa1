//! Whether the process lives, and whether it can answer.

use std::sync::Arc;
use std::time::Duration;

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
        Ok(()) => json_response(StatusCode::OK, with_remarks(desk).await),
        Err(why) => plain_error(StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE", why),
    }
}

/// How long whoever asks waits for what is only remarked.
const REMARKS: Duration = Duration::from_secs(1);

/// That it is ready, with the numbers that a person should look at, where they are not zero. The
/// names are ours.
async fn with_remarks(desk: Arc<Desk>) -> String {
    let remarks = tokio::task::spawn_blocking(move || desk.remarks());
    let remarks = tokio::time::timeout(REMARKS, remarks).await;
    let remarks = remarks.ok().and_then(Result::ok).unwrap_or_default();
    let some = remarks.into_iter().filter(|(_, count)| *count > 0);
    let some: String = some.map(|(name, count)| format!(r#","{name}":{count}"#)).collect();
    format!(r#"{{"status":"ready"{some}}}"#)
}
