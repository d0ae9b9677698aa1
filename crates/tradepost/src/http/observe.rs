//! Logs every request once. What is never logged: bodies, header values, queries, addresses of
//! customers; of an error only its code and id.

use std::sync::Arc;

use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::Response;

use crate::desk::Seller;

/// What a binding says about its answer, for the log.
#[derive(Debug, Clone)]
pub(super) struct Stamp {
    /// The dealer, where one was meant.
    pub seller: Option<Arc<Seller>>,
    /// The catalog code, or `OK`.
    pub code: &'static str,
    /// The skill, where one was called.
    pub skill: Option<&'static str>,
    /// The id that an error carries.
    pub error_id: Option<String>,
}

pub(super) async fn observe(request: Request, next: Next) -> Response {
    let started = tokio::time::Instant::now();
    let method = request.method().clone();
    let path = request.extensions().get::<MatchedPath>().cloned();
    let mut response = next.run(request).await;
    let path = path.as_ref().map_or("(unknown)", MatchedPath::as_str);
    let status = response.status().as_u16();
    let micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
    match response.extensions_mut().remove::<Stamp>() {
        Some(Stamp { seller, code, skill, error_id }) => {
            let dealer = seller.as_ref().map_or("", |seller| &seller.dealer.id);
            let (skill, error_id) = (skill.unwrap_or_default(), error_id.unwrap_or_default());
            if code == "OK" {
                tracing::debug!(%method, path, status, micros, dealer, code, skill, "answered");
            } else {
                tracing::info!(%method, path, status, micros, dealer, code, error_id, "refused");
            }
        }
        None => tracing::debug!(%method, path, status, micros, "answered"),
    }
    response
}
