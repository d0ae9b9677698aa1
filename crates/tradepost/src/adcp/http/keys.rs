//! What receivers of a publisher's webhooks find its keys by: the key set and `brand.json`.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use tradepost_server::desk::AgentRegistry;
use tradepost_server::http::{host, json_response, not_found};

use crate::adcp::seller::Documents;

/// For how long a receiver need not ask again: no longer than it may go on with a key that was
/// withdrawn.
const CACHE_CONTROL: HeaderValue = HeaderValue::from_static("public, max-age=300");

pub(super) async fn jwks(State(desk): State<Arc<AgentRegistry>>, request: Request) -> Response {
    shown(&desk, request, |documents| &documents.jwks).await
}

pub(super) async fn brand(State(desk): State<Arc<AgentRegistry>>, request: Request) -> Response {
    shown(&desk, request, |documents| &documents.brand).await
}

async fn shown(
    desk: &AgentRegistry,
    request: Request,
    read: fn(&Documents) -> &String,
) -> Response {
    let agent = desk.agent(host(request.uri(), request.headers()));
    let Some(publisher) = agent.and_then(super::publisher) else {
        return not_found().await;
    };
    let mut response = json_response(StatusCode::OK, read(&publisher.documents).clone());
    response.headers_mut().insert(header::CACHE_CONTROL, CACHE_CONTROL);
    response
}
