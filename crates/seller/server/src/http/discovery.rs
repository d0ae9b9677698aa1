//! Documents by which programs find the MCP endpoint of an agent and what it requires.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::response::Response;

use super::head::host;
use super::mcp::PATH;
use super::plain::not_found;
use crate::registry::AgentRegistry;
use crate::tools::{DiscoveryDocument, Tools};

/// Path of what models read.
pub(super) const LLMS_PATH: &str = "/llms.txt";

/// Path of the entry for the MCP registry.
pub(super) const REGISTRY_PATH: &str = "/server.json";

/// Path of the metadata of a protected resource (RFC 9728 §3).
pub(super) const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";

/// The same with the path of the resource appended (RFC 9728 §3.1), which a base path precedes where an agent has one.
pub(super) const RESOURCE_METADATA_PATH: &str = "/.well-known/oauth-protected-resource/{*resource}";

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

/// Answers with the metadata of the resource whose path is appended to that of the metadata.
pub(super) async fn resource_metadata(
    State(registry): State<Arc<AgentRegistry>>,
    request: Request,
) -> Response {
    let agent = registry.tools_agent(host(request.uri(), request.headers()));
    let address = agent.as_ref().and_then(|agent| metadata_address(agent.tools()?));
    let named = request.uri().path().strip_prefix(METADATA_PATH).unwrap_or_default();
    // A proxy may have taken the base path away.
    let is_here = named == PATH
        || address.is_some_and(|address| address.ends_with(&format!("{METADATA_PATH}{named}")));
    if !is_here {
        return not_found().await;
    }
    answer(&registry, request, DiscoveryDocument::ProtectedResource, "application/json").await
}

/// Answers with a discovery document of the tools at a host.
async fn answer(
    registry: &AgentRegistry,
    request: Request,
    which: DiscoveryDocument,
    kind: &'static str,
) -> Response {
    let agent = registry.tools_agent(host(request.uri(), request.headers()));
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

/// Returns the address of the metadata of an endpoint: the well-known path comes between the host and the path of the
/// resource (RFC 9728 §3.1). `None` where no bearer credential is demanded.
pub(super) fn metadata_address(tools: &dyn Tools) -> Option<String> {
    let address = tools.address()?;
    tools.document(DiscoveryDocument::ProtectedResource)?;
    let (scheme, rest) = address.split_once("://")?;
    let path_at = rest.find('/').unwrap_or(rest.len());
    let (host, path) = rest.split_at(path_at);
    Some(format!("{scheme}://{host}{METADATA_PATH}{path}"))
}
