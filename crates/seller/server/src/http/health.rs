//! Health and metrics endpoints.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use super::plain::{json_response, plain_error};
use crate::background::piece;
use crate::metrics::MEDIA_TYPE;
use crate::registry::AgentRegistry;

/// Answers that the process runs.
pub(super) async fn live() -> Response {
    json_response(StatusCode::OK, r#"{"status":"live"}"#)
}

/// Answers whether new data can be stored. The cause of a failure has been logged.
pub(super) async fn ready(State(registry): State<Arc<AgentRegistry>>) -> Response {
    match registry.check().await {
        Ok(()) => json_response(StatusCode::OK, with_remarks(registry).await),
        Err(why) => plain_error(StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE", why),
    }
}

/// Maximum time for collecting warnings.
const REMARKS: Duration = Duration::from_secs(1);

/// Writes the ready state with the warnings whose count is not zero. The names are fixed.
async fn with_remarks(registry: Arc<AgentRegistry>) -> String {
    let remarks = tokio::task::spawn_blocking(move || registry.remarks());
    // A slow store is no reason to report the process as not ready.
    let remarks = tokio::time::timeout(REMARKS, remarks).await;
    let remarks = remarks.ok().and_then(Result::ok).unwrap_or_default();
    let some = remarks.into_iter().filter(|(_, count)| *count > 0);
    let some: String = some.map(|(name, count)| format!(r#","{name}":{count}"#)).collect();
    format!(r#"{{"status":"ready"{some}}}"#)
}

/// Writes the metrics. Some are read from the store, so this runs on a blocking thread.
pub(super) async fn metrics(State(registry): State<Arc<AgentRegistry>>) -> Response {
    let metrics = Arc::clone(&registry.metrics);
    match piece("writing what was counted", move || metrics.write()).await {
        Some(Ok(text)) => {
            let media_type = HeaderValue::from_static(MEDIA_TYPE);
            ([(header::CONTENT_TYPE, media_type)], text).into_response()
        }
        Some(Err(_)) | None => {
            let message = "what was counted cannot be told; the log may say why";
            plain_error(StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE", message)
        }
    }
}
