//! `GET /.well-known/api-catalog` (RFC 9727): addresses of the cards of all agents of the process,
//! as a link set (RFC 9264 §4.2). Agents can opt out.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use super::card::{CACHE_CONTROL, matches_etag};
use super::cors;
use super::head::host;
use super::plain::not_found;
use crate::background::piece;
use crate::registry::AgentRegistry;

/// Media type of the document (RFC 9727 §4).
const MEDIA_TYPE: HeaderValue = HeaderValue::from_static(
    "application/linkset+json; profile=\"https://www.rfc-editor.org/info/rfc9727\"",
);

/// Value of `Link` in the answer to `HEAD` (RFC 9727 §2).
const LINK: HeaderValue =
    HeaderValue::from_static("</.well-known/api-catalog>; rel=\"api-catalog\"");

/// Answers with the directory of the agents.
pub(super) async fn get(State(registry): State<Arc<AgentRegistry>>, request: Request) -> Response {
    if !registry.has_directory(host(request.uri(), request.headers())) {
        return not_found().await;
    }
    let agents = registry.agents();
    // The first request builds the document, which takes too long for a thread that serves other
    // requests.
    let written = piece("writing the directory", move || {
        let directory = agents.directory();
        (directory.body.clone(), directory.etag.clone())
    });
    let Some((body, etag)) = written.await else {
        return not_found().await;
    };
    let is_known = matches_etag(request.headers(), etag.to_str().unwrap_or_default());
    let headers = [
        (header::CONTENT_TYPE, MEDIA_TYPE),
        (header::CACHE_CONTROL, CACHE_CONTROL),
        (header::LINK, LINK),
        (header::ETAG, etag),
    ];
    let mut response = if is_known {
        (StatusCode::NOT_MODIFIED, headers).into_response()
    } else {
        (headers, body).into_response()
    };
    cors::open(&registry, request.headers(), &mut response);
    response
}
