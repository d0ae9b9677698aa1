//! The HTTP server. The router is the table of contents; the layer order is in [`router`].

use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, Version, header};
use axum::response::Response;
use axum::routing::{any, get, post};
use tradepost_wire::a2a::card::{DIRECTORY_PATH, WELL_KNOWN_PATH};
use tradepost_wire::http::MediaType;
use tradepost_wire::json::json;

use crate::agent::{Agent, SharedAgent};
use crate::auth::Denied;
use crate::card::{ENDPOINT_PATH, HTTP_JSON_PATH};
use crate::desk::Desk;
use crate::metrics::Metrics;

pub mod answers;
pub mod intake;
pub mod jsonrpc;
pub mod mcp;
pub mod server;

mod card;
mod compress;
mod cors;
mod denied;
pub(crate) mod directory;
mod grpc;
mod health;
mod home;
mod observe;
pub(crate) mod pending;
mod rest;
mod sse;

pub use answers::Parcel;
pub use cors::WebOrigin;
pub use observe::Stamp;

/// How requests are taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The largest request body in bytes.
    pub max_body_bytes: usize,
    /// How long a request may take to arrive, headers and body each.
    pub read_timeout: Duration,
    /// How long an answer may take, once the request has arrived.
    pub request_timeout: Duration,
    /// How many connections may be open at once.
    pub max_connections: usize,
    /// How many of them one address may have, or one IPv6 network of 64 bits.
    pub connections_per_address: usize,
    /// How many bytes of unanswered requests are kept at once.
    pub max_pending_bytes: usize,
    /// How many requests may be at work at once; beyond it agents, and the callers of each, take turns.
    pub max_running_requests: usize,
    /// The hosts (without port, in lower case) on which the directory of all agents is, and nothing else.
    pub directory_hosts: Vec<String>,
    /// How long requests in progress may take to finish when the server stops.
    pub shutdown_grace: Duration,
    /// Whether the client's address is taken from the last entry of `X-Forwarded-For`.
    pub trust_forwarded_for: bool,
    /// The web pages whose visitors' browsers may call.
    pub web_origins: Vec<WebOrigin>,
}

impl Default for Settings {
    /// What suits a small machine that everybody can reach.
    fn default() -> Self {
        Self {
            max_body_bytes: 256 * 1024,
            read_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(5),
            max_connections: 4096,
            connections_per_address: 256,
            max_pending_bytes: 64 * 1024 * 1024,
            max_running_requests: 512,
            directory_hosts: Vec::new(),
            shutdown_grace: Duration::from_secs(20),
            trust_forwarded_for: false,
            web_origins: vec![WebOrigin::Any],
        }
    }
}

/// What was posted to the endpoint of JSON-RPC, as it came.
#[derive(Debug, Clone, Copy)]
pub struct Posted<'a> {
    /// Where it came.
    pub desk: &'a Desk,
    /// For whom.
    pub agent: &'a SharedAgent,
    /// Its head.
    pub parts: &'a Parts,
    /// Its body.
    pub bytes: &'a [u8],
}

/// Routes of another protocol beside those of A2A.
#[derive(Debug, Default)]
pub struct Routes {
    /// The routes.
    pub router: Router<Arc<Desk>>,
    /// Their paths, and what the log calls them.
    pub paths: &'static [(&'static str, &'static str)],
}

/// Everything that can be asked for.
#[derive(Debug, Clone)]
pub struct Site {
    router: Router,
    metrics: Option<Arc<Metrics>>,
    /// Whose tracer is asked.
    desk: Option<Arc<Desk>>,
    paths: &'static [(&'static str, &'static str)],
}

impl From<Site> for Router {
    fn from(site: Site) -> Self {
        site.router
    }
}

impl From<Router> for Site {
    fn from(router: Router) -> Self {
        Self { router, metrics: None, desk: None, paths: &[] }
    }
}

/// The address that a connection came from; the server adds it to every request.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub SocketAddr);

/// Whether the process lives.
const LIVE_PATH: &str = "/healthz";

/// Whether it can answer.
const READY_PATH: &str = "/readyz";

/// What was counted, for operators alone.
const METRICS_PATH: &str = "/metrics";

/// The page for people.
const HOME_PATH: &str = "/";

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
pub fn router(desk: Arc<Desk>) -> Router {
    site(desk, Routes::default()).router
}

/// The same, with the routes of other protocols.
pub fn site(desk: Arc<Desk>, others: Routes) -> Site {
    let with_slash = format!("{ENDPOINT_PATH}/");
    let metrics = Some(Arc::clone(&desk.metrics));
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
    Site { router, metrics, desk: Some(desk), paths: others.paths }
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

/// A path as the log names it: those of the router, and nothing that a caller made up.
fn known_path(path: &str, others: &[(&'static str, &'static str)]) -> Cow<'static, str> {
    let known = [
        HOME_PATH,
        ENDPOINT_PATH,
        mcp::PATH,
        WELL_KNOWN_PATH,
        DIRECTORY_PATH,
        LIVE_PATH,
        READY_PATH,
    ];
    let ends_twice = [ENDPOINT_PATH, mcp::PATH];
    let is = |known: &&str| {
        path == *known || ends_twice.contains(known) && path.strip_suffix('/') == Some(*known)
    };
    let other = || others.iter().find(|(asked, _)| *asked == path).map(|(_, known)| *known);
    let known = known.into_iter().find(is).or_else(other).or_else(|| grpc::template(path));
    let known = known.map(Cow::Borrowed);
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
pub fn host<'r>(request_uri: &'r axum::http::Uri, headers: &'r HeaderMap) -> Option<&'r str> {
    let header = headers.get(header::HOST).and_then(|value| value.to_str().ok());
    request_uri.host().or(header)
}

/// A JSON answer.
pub fn json_response(status: StatusCode, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let json = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// What a caller hears that another route of an agent's host does not let in, as HTTP+JSON says it.
pub fn turned_away(agent: &dyn Agent, denied: Denied) -> Response {
    let (mut response, stamp) = denied::respond(agent, &rest::HttpJson, denied);
    response.extensions_mut().insert(stamp);
    response
}

/// Whether a request asks for a format by its name.
fn asks_for(headers: &HeaderMap, format: &str) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    MediaType::listed(accepted).any(|range| range.is(format))
}

/// An error outside every binding, in the shape of google.rpc.Status (A2A §11.6).
fn plain_error(status: StatusCode, name: &str, message: &str) -> Response {
    json_response(status, plain_error_body(status, name, message))
}

fn plain_error_body(status: StatusCode, name: &str, message: &str) -> String {
    let error = json!({"code": status.as_u16(), "status": name, "message": message});
    json!({"error": error}).to_string()
}

/// An unknown path or an unknown host: both look the same.
// E-111
pub async fn not_found() -> Response {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_names_the_paths_of_the_router_and_no_others() {
        let known_path = |path| known_path(path, &[("/keys", "/keys")]);
        assert_eq!(known_path("/keys"), "/keys");
        assert_eq!(known_path("/a2a"), ENDPOINT_PATH);
        assert_eq!(known_path("/a2a/"), ENDPOINT_PATH);
        assert_eq!(known_path("/mcp/"), "/mcp");
        assert_eq!(known_path("/.well-known/agent-card.json"), WELL_KNOWN_PATH);
        assert_eq!(known_path("/.well-known/api-catalog"), DIRECTORY_PATH);
        assert_eq!(known_path("/healthz"), LIVE_PATH);
        assert_eq!(known_path("/rest/tasks/ada@example.com:cancel"), "/rest/tasks/{id}:cancel");
        assert_eq!(known_path("/rest/ada@example.com/tasks/t"), "/rest/tasks/{id}");
        assert_eq!(known_path("/lf.a2a.v1.A2AService/GetTask"), "/lf.a2a.v1.A2AService/GetTask");
        for made_up in
            ["/rest/ada@example.com", "//", "", "/a2a//", "/healthz/", "/ada@example.com"]
        {
            assert_eq!(known_path(made_up), "(unknown)");
        }
    }
}
