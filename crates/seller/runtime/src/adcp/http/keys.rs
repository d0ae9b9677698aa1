//! Serves the documents by which receivers of webhooks find a publisher's keys: the key set and
//! `brand.json`.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use tradepost_server::http::{host, json_response, not_found};
use tradepost_server::registry::AgentRegistry;

use crate::adcp::seller::Documents;

/// Cache lifetime at receivers, which limits how long they use a withdrawn key.
const CACHE_CONTROL: HeaderValue = HeaderValue::from_static("public, max-age=300");

pub(super) async fn jwks(State(registry): State<Arc<AgentRegistry>>, request: Request) -> Response {
    shown(&registry, request, |documents| &documents.jwks).await
}

pub(super) async fn brand(
    State(registry): State<Arc<AgentRegistry>>,
    request: Request,
) -> Response {
    shown(&registry, request, |documents| &documents.brand).await
}

async fn shown(
    registry: &AgentRegistry,
    request: Request,
    read: fn(&Documents) -> &String,
) -> Response {
    let agent = registry.agent(host(request.uri(), request.headers()));
    let Some(publisher) = agent.and_then(super::publisher) else {
        return not_found().await;
    };
    let mut response = json_response(StatusCode::OK, read(&publisher.documents).clone());
    response.headers_mut().insert(header::CACHE_CONTROL, CACHE_CONTROL);
    response
}
