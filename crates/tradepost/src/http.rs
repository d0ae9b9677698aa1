//! The HTTP server. The router is the table of contents; the layer order is in [`router`].

use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, Version, header};
use axum::response::Response;
use axum::routing::{any, get, post};
use serde_json::json;
use tradepost_wire::a2a::card::WELL_KNOWN_PATH;

use crate::aap::card::{ENDPOINT_PATH, HTTP_JSON_PATH};
use crate::adcp::keys::{BRAND_PATH, JWKS_PATH};
use crate::desk::Desk;

pub mod jsonrpc;
pub mod server;

mod answers;
mod card;
mod denied;
mod grpc;
mod health;
pub(crate) mod intake;
mod keys;
mod mcp;
mod observe;
mod publisher;
mod rest;
mod sse;
mod turned_away;

/// The address that a connection came from; the server adds it to every request.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub SocketAddr);

/// Whether the process lives.
const LIVE_PATH: &str = "/healthz";

/// Whether it can answer.
const READY_PATH: &str = "/readyz";

/// Everything that can be asked for.
///
/// There are no layers. Size, time and content limits belong to the binding, because their
/// refusals have the binding's error shape. What logs every request once, whatever became of it,
/// is around the router, in [`server::serve`].
pub fn router(desk: Arc<Desk>) -> Router {
    let with_slash = format!("{ENDPOINT_PATH}/");
    Router::new()
        .route(WELL_KNOWN_PATH, get(card::get))
        // Some clients look for the card below the endpoint that they were given.
        .route(&format!("{ENDPOINT_PATH}{WELL_KNOWN_PATH}"), get(card::get))
        .route(ENDPOINT_PATH, post(jsonrpc::post))
        // Clients join paths in different ways.
        .route(&with_slash, post(jsonrpc::post))
        .route(mcp::PATH, any(mcp::handle))
        .route(&format!("{}/", mcp::PATH), any(mcp::handle))
        // What is below is for the binding to tell apart.
        .route(HTTP_JSON_PATH, any(rest::handle))
        .route(&format!("{HTTP_JSON_PATH}/"), any(rest::handle))
        .route(&format!("{HTTP_JSON_PATH}/{{*path}}"), any(rest::handle))
        .route(grpc::ROUTE, any(grpc::handle))
        .route(JWKS_PATH, get(keys::jwks))
        .route(BRAND_PATH, get(keys::brand))
        .route(LIVE_PATH, get(health::live))
        .route(READY_PATH, get(health::ready))
        .fallback(unknown)
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(desk)
}

/// A path as the log names it: those of the router, and nothing that a caller made up.
fn known_path(path: &str) -> Cow<'static, str> {
    let known =
        [ENDPOINT_PATH, mcp::PATH, WELL_KNOWN_PATH, JWKS_PATH, BRAND_PATH, LIVE_PATH, READY_PATH];
    let posted = [ENDPOINT_PATH, mcp::PATH];
    let is = |known: &&str| {
        path == *known || posted.contains(known) && path.strip_suffix('/') == Some(*known)
    };
    let known = known.into_iter().find(is).or_else(|| grpc::template(path)).map(Cow::Borrowed);
    known.or_else(|| rest::template(path).map(Cow::Owned)).unwrap_or("(unknown)".into())
}

/// Refuses a request that names no host or several (RFC 9112 §3.2): proxies in front of us could
/// have read another one than we would. In HTTP/2 `:authority` names it, and a `Host` header must
/// then agree (RFC 9113 §8.3.1).
fn name_one_host(request: &Request) -> Result<(), Box<Response>> {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let host = hosts.next();
    let one = hosts.next().is_none()
        && match (request.version(), request.uri().authority(), host) {
            (Version::HTTP_2, Some(authority), host) => {
                let same = |host: &header::HeaderValue| {
                    host.as_bytes().eq_ignore_ascii_case(authority.as_str().as_bytes())
                };
                // Credentials have no place there, and hide what the host is.
                !authority.as_str().contains('@') && host.is_none_or(same)
            }
            (version, _, host) => host.is_some() || version < Version::HTTP_11,
        };
    if one {
        return Ok(());
    }
    let message = if request.version() == Version::HTTP_2 {
        "name one host, in :authority"
    } else {
        "send exactly one Host header"
    };
    Err(Box::new(plain_error(StatusCode::BAD_REQUEST, "INVALID_ARGUMENT", message)))
}

/// The host that a request is for: in HTTP/2 that of `:authority`, which is in the URI.
fn host<'r>(request_uri: &'r axum::http::Uri, headers: &'r HeaderMap) -> Option<&'r str> {
    let header = headers.get(header::HOST).and_then(|value| value.to_str().ok());
    request_uri.host().or(header)
}

/// A JSON answer.
fn json_response(status: StatusCode, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let json = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// An error outside every binding, in the shape of google.rpc.Status (A2A §11.6).
fn plain_error(status: StatusCode, name: &str, message: &str) -> Response {
    json_response(status, plain_error_body(status, name, message))
}

fn plain_error_body(status: StatusCode, name: &str, message: &str) -> String {
    let error = json!({"code": status.as_u16(), "status": name, "message": message});
    json!({"error": error}).to_string()
}

/// An unknown path or an unknown host: both look the same (`E-111`).
async fn not_found() -> Response {
    plain_error(StatusCode::NOT_FOUND, "NOT_FOUND", "nothing is here")
}

/// The same, in the words of who asks.
async fn unknown(request: Request) -> Response {
    grpc::unknown(&request.into_parts().0).await
}

async fn method_not_allowed(State(desk): State<Arc<Desk>>, request: Request) -> Response {
    if desk.agent(host(request.uri(), request.headers())).is_none() {
        return not_found().await;
    }
    let path = request.uri().path().trim_end_matches('/');
    let message = if path == ENDPOINT_PATH {
        "send JSON-RPC requests with POST"
    } else {
        "read this with GET"
    };
    plain_error(StatusCode::METHOD_NOT_ALLOWED, "UNIMPLEMENTED", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_names_the_paths_of_the_router_and_no_others() {
        assert_eq!(known_path("/a2a"), ENDPOINT_PATH);
        assert_eq!(known_path("/a2a/"), ENDPOINT_PATH);
        assert_eq!(known_path("/.well-known/agent-card.json"), WELL_KNOWN_PATH);
        assert_eq!(known_path("/healthz"), LIVE_PATH);
        assert_eq!(known_path("/rest/tasks/ada@example.com:cancel"), "/rest/tasks/{id}:cancel");
        assert_eq!(known_path("/rest/ada@example.com/tasks/t"), "/rest/tasks/{id}");
        assert_eq!(known_path("/lf.a2a.v1.A2AService/GetTask"), "/lf.a2a.v1.A2AService/GetTask");
        for made_up in ["/rest/ada@example.com", "/", "", "/a2a//", "/healthz/", "/ada@example.com"]
        {
            assert_eq!(known_path(made_up), "(unknown)");
        }
    }
}
