//! Documents by which programs find the MCP endpoint of an agent and what it requires.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::response::Response;

use super::head::host;
use super::plain::not_found;
use crate::registry::AgentRegistry;
use crate::tools::{DiscoveryDocument, Tools};

/// Path of what models read.
pub(super) const LLMS_PATH: &str = "/llms.txt";

/// Path of the entry for the MCP registry.
pub(super) const REGISTRY_PATH: &str = "/server.json";

/// Path of the metadata of a protected resource (RFC 9728 §3).
pub(super) const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";

/// The same for the resource `/mcp`, whose path is appended (RFC 9728 §3.1).
pub(super) const MCP_METADATA_PATH: &str = "/.well-known/oauth-protected-resource/mcp";

pub(super) async fn llms(registry: State<Arc<AgentRegistry>>, request: Request) -> Response {
    answer(&registry, request, DiscoveryDocument::LlmsText, "text/plain; charset=utf-8").await
}

pub(super) async fn registry_entry(
    registry: State<Arc<AgentRegistry>>,
    request: Request,
) -> Response {
    answer(&registry, request, DiscoveryDocument::RegistryEntry, "application/json").await
}

pub(super) async fn metadata(registry: State<Arc<AgentRegistry>>, request: Request) -> Response {
    answer(&registry, request, DiscoveryDocument::ProtectedResource, "application/json").await
}

async fn answer(
    registry: &AgentRegistry,
    request: Request,
    which: DiscoveryDocument,
    kind: &'static str,
) -> Response {
    let agent = registry.agent(host(request.uri(), request.headers()));
    let document = agent.as_ref().and_then(|agent| agent.tools()?.document(which));
    let Some(document) = document else { return not_found().await };
    let mut response = Response::new(Body::from(document));
    response.headers_mut().extend([
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=300")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        // Public, and the same for everybody.
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*")),
    ]);
    response
}

/// Adds the address of the metadata to a challenge for a bearer token (RFC 9728 §5.1).
pub(super) fn name_metadata(tools: &dyn Tools, response: &mut Response) {
    let Some(challenge) = response.headers().get(header::WWW_AUTHENTICATE) else { return };
    let Some(rest) = challenge.to_str().ok().and_then(|text| text.strip_prefix("Bearer ")) else {
        return;
    };
    let Some(base) = tools.address().and_then(|address| address.strip_suffix("/mcp")) else {
        return;
    };
    if tools.document(DiscoveryDocument::ProtectedResource).is_none() {
        return;
    }
    let named = format!("Bearer resource_metadata=\"{base}{MCP_METADATA_PATH}\", {rest}");
    if let Ok(named) = HeaderValue::from_str(&named) {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, named);
    }
}
