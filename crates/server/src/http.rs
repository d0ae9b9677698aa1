//! The HTTP server. The router is the table of contents; the layer order is in [`router`].

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{any, get, post};
use tradepost_wire::a2a::card::{DIRECTORY_PATH, WELL_KNOWN_PATH};

use crate::agent::Agent;
use crate::auth::Denied;
use crate::card::{ENDPOINT_PATH, HTTP_JSON_PATH};
use crate::desk::Desk;
use crate::panics;

pub mod answers;
pub mod intake;
pub mod jsonrpc;
pub mod mcp;
pub mod server;

mod answer_check;
mod card;
mod compress;
mod cors;
mod denied;
mod directory;
pub(crate) mod exchange;
mod grpc;
mod head;
mod health;
mod home;
mod observe;
pub(crate) mod pending;
mod perform;
mod plain;
mod rest;
pub(crate) mod settings;
mod site;
mod sse;

pub use exchange::{Parcel, Posted, Stamp};
pub use head::{Peer, host};
pub use plain::{json_response, not_found};
pub use settings::{Settings, WebOrigin};
pub use site::Site;

use plain::plain_error;
use site::{HOME_PATH, LIVE_PATH, METRICS_PATH, READY_PATH};

/// `Strict-Transport-Security` of an answer whose host is reached over TLS: for a year nobody should
/// ask in clear text again (RFC 6797).
//
pub const HSTS: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// Routes of another protocol beside those of A2A.
#[derive(Debug, Default)]
pub struct Routes {
    /// The routes.
    pub router: Router<Arc<Desk>>,
    /// Their paths, and what the log calls them.
    pub paths: &'static [(&'static str, &'static str)],
}

/// What the people who run the server ask, on a listener of their own: however large a crowd there is
/// on the other, it takes no place here.
pub fn operator_router(desk: Arc<Desk>) -> Router {
    Router::new()
        .route(LIVE_PATH, get(health::live))
        .route(READY_PATH, get(health::ready))
        .route(METRICS_PATH, get(health::metrics))
        .fallback(not_found)
        .with_state(desk)
}

/// Everything that can be asked for.
///
/// There are no layers. Size, time and content limits belong to the binding, because their
/// refusals have the binding's error shape. What logs every request once, whatever became of it,
/// is around the router, in [`server::serve`].
///
/// It can be nested in a router of the caller's own. Callers are then known by the address that
/// [`ConnectInfo`](axum::extract::ConnectInfo) gives, where the caller's server provides it.
pub fn router(desk: Arc<Desk>) -> Router {
    let router = site(desk, Routes::default()).router;
    // In `serve` this is around the router; whoever nests it has no such place.
    router.layer(middleware::from_fn(async |request, next: Next| {
        let answered = panics::catch("answering a request", next.run(request)).await;
        answered.unwrap_or_else(|fault| plain::failed(&fault))
    }))
}

/// The same, with the routes of other protocols.
pub fn site(desk: Arc<Desk>, others: Routes) -> Site {
    let with_slash = format!("{ENDPOINT_PATH}/");
    let router = Router::new()
        .route(HOME_PATH, get(home::get))
        .route(WELL_KNOWN_PATH, get(card::get))
        // Some clients look for the card below the endpoint that they were given.
        .route(&format!("{ENDPOINT_PATH}{WELL_KNOWN_PATH}"), get(card::get))
        .route(DIRECTORY_PATH, get(directory::get))
        .route(ENDPOINT_PATH, post(jsonrpc::post))
        // Clients join paths in different ways.
        .route(&with_slash, post(jsonrpc::post))
        // What is below is for the binding to tell apart.
        .route(HTTP_JSON_PATH, any(rest::handle))
        .route(&format!("{HTTP_JSON_PATH}/"), any(rest::handle))
        .route(&format!("{HTTP_JSON_PATH}/{{*path}}"), any(rest::handle))
        .route(grpc::ROUTE, any(grpc::handle))
        .route(mcp::PATH, any(mcp::handle))
        .route(mcp::PATH_WITH_SLASH, any(mcp::handle))
        .route(LIVE_PATH, get(health::live))
        .route(READY_PATH, get(health::ready))
        .merge(others.router)
        .fallback(unknown)
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(Arc::clone(&desk));
    Site { router, desk: Some(desk), paths: others.paths }
}

/// Serves what can be asked of a desk until `stop` resolves, and then until every request in progress
/// is answered. HTTP/1.1 and HTTP/2 are spoken on the same port.
pub async fn serve(
    listener: impl Into<server::Listener>,
    desk: Desk,
    stop: impl Future<Output = ()>,
) {
    let desk = Arc::new(desk);
    let stop = async {
        stop.await;
        desk.close_streams();
    };
    server::serve(listener, site(Arc::clone(&desk), Routes::default()), &desk.settings, stop).await;
}

/// What a caller hears that another route of an agent's host does not let in, as HTTP+JSON says it.
pub fn deny(agent: &dyn Agent, denied: Denied) -> Response {
    let (mut response, stamp) = denied::respond(agent, &rest::HttpJson, denied);
    response.extensions_mut().insert(stamp);
    response
}

/// The same, in the words of who asks.
async fn unknown(request: Request) -> Response {
    grpc::unknown(&request.into_parts().0).await
}

async fn method_not_allowed(State(desk): State<Arc<Desk>>, request: Request) -> Response {
    // A host that nobody has tells nothing, not even which paths there are.
    if desk.agent(host(request.uri(), request.headers())).is_none() {
        return not_found().await;
    }
    if let Some(answer) = cors::preflight(&desk, &request) {
        return answer;
    }
    let path = request.uri().path().trim_end_matches('/');
    let message = if path == ENDPOINT_PATH {
        "send JSON-RPC requests with POST"
    } else {
        "read this with GET"
    };
    plain_error(StatusCode::METHOD_NOT_ALLOWED, "UNIMPLEMENTED", message)
}
