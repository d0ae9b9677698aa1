//! The HTTP server. The router is the table of contents; the layer order is in [`router`].

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use axum::routing::{get, post};
use serde_json::json;
use tradepost_wire::a2a::card::WELL_KNOWN_PATH;

use crate::aap::card::ENDPOINT_PATH;
use crate::desk::Desk;

pub mod jsonrpc;
pub mod server;

mod card;
mod denied;
mod health;
mod observe;

/// The address that a connection came from; the server adds it to every request.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub SocketAddr);

/// Everything that can be asked for.
///
/// There is one layer, outermost: `observe` logs every request once, whatever became of it, and
/// so has to see the answers of all others. Size, time and content limits belong to the binding,
/// because their refusals have the binding's error shape.
pub fn router(desk: Arc<Desk>) -> Router {
    let with_slash = format!("{ENDPOINT_PATH}/");
    Router::new()
        .route(WELL_KNOWN_PATH, get(card::get))
        .route(ENDPOINT_PATH, post(jsonrpc::post))
        // Clients join paths in different ways.
        .route(&with_slash, post(jsonrpc::post))
        .route("/healthz", get(health::live))
        .route("/readyz", get(health::ready))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(axum::middleware::from_fn(observe::observe))
        .with_state(desk)
}

/// The host that a request is for.
fn host(request_uri: &axum::http::Uri, headers: &HeaderMap) -> Option<String> {
    let header = headers.get(header::HOST).and_then(|value| value.to_str().ok());
    request_uri.host().or(header).map(str::to_owned)
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
    let error = json!({"code": status.as_u16(), "status": name, "message": message});
    json_response(status, json!({"error": error}).to_string())
}

/// An unknown path or an unknown host: both look the same (`E-111`).
async fn not_found() -> Response {
    plain_error(StatusCode::NOT_FOUND, "NOT_FOUND", "nothing is here")
}

async fn method_not_allowed(request: Request) -> Response {
    let path = request.uri().path().trim_end_matches('/');
    let message = if path == ENDPOINT_PATH {
        "send JSON-RPC requests with POST"
    } else {
        "read this with GET"
    };
    plain_error(StatusCode::METHOD_NOT_ALLOWED, "UNIMPLEMENTED", message)
}
