//! `GET /.well-known/agent-card.json`, cacheable (A2A 1.0 §8.6).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use jiff::Timestamp;
use tradepost_document::http::date;

use super::cors;
use super::head::host;
use super::plain::{json_response, not_found};
use crate::registry::AgentRegistry;

/// Time for which a client need not ask again.
pub(super) const CACHE_CONTROL: HeaderValue = HeaderValue::from_static("public, max-age=300");

/// Answers with the card of the host's agent.
pub(super) async fn get(State(registry): State<Arc<AgentRegistry>>, request: Request) -> Response {
    let host = host(request.uri(), request.headers());
    let Some(agent) = registry.agent(host) else {
        return not_found().await;
    };
    let card = agent.card();
    let unchanged = is_unchanged(request.headers(), &card.etag, card.identity.modified_at);
    let mut response = if unchanged {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        json_response(StatusCode::OK, card.body.clone())
    };
    // Also with status 304, by which the client renews its copy (RFC 9110 §15.4.5).
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, CACHE_CONTROL);
    for (name, value) in [
        (header::ETAG, card.etag.clone()),
        (header::LAST_MODIFIED, date::write(card.identity.modified_at)),
    ] {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
    }
    cors::open(&registry, request.headers(), &mut response);
    response
}

/// Returns true when the client's copy is current. `If-None-Match` wins over the date (RFC 9110
/// §13.2.2).
fn is_unchanged(headers: &HeaderMap, etag: &str, modified_at: Timestamp) -> bool {
    if headers.contains_key(header::IF_NONE_MATCH) {
        return matches_etag(headers, etag);
    }
    let since = headers
        .get(header::IF_MODIFIED_SINCE)
        .and_then(|value| value.to_str().ok())
        .and_then(date::read);
    // HTTP dates have no fractions of seconds.
    since.is_some_and(|since| modified_at.as_second() <= since.as_second())
}

/// Returns true when `If-None-Match` contains a tag.
pub(super) fn matches_etag(headers: &HeaderMap, etag: &str) -> bool {
    let known = headers.get_all(header::IF_NONE_MATCH).iter();
    known.filter_map(|value| value.to_str().ok()).any(|list| {
        list.split(',').map(str::trim).any(|tag| {
            // The comparison is the weak one.
            tag == "*" || opaque(tag) == opaque(etag)
        })
    })
}

fn opaque(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}
