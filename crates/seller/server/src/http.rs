//! The HTTP server. The router is the table of contents; the layer order is in [`router`].

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{any, get, post};
use tradepost_a2a::card::{DIRECTORY_PATH, WELL_KNOWN_PATH};

use crate::agent::Agent;
use crate::auth::AuthRefusal;
use crate::auth::agreement::CardDisagreements;
use crate::card::{ENDPOINT_PATH, HTTP_JSON_PATH};
use crate::panics;
use crate::registry::AgentRegistry;

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
mod discovery;
pub(crate) mod exchange;
#[cfg(feature = "grpc")]
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

pub use exchange::{LogFields, LoggedResponse, RawRequest};
pub use head::{Peer, host};
pub use observe::{PassedCall, record_passed};
pub use plain::{json_response, not_found, set_retry_after};
pub use settings::{HttpSettings, WebOrigin};
pub use site::Site;

use plain::plain_error;
use site::{HOME_PATH, LIVE_PATH, METRICS_PATH, READY_PATH};

/// Value of `Strict-Transport-Security` for hosts that are reached over TLS: one year (RFC 6797).
// TLS in production with HSTS (A2A 1.0 §7.1, §13.4; A-09).
pub const HSTS: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// Routes of another protocol beside those of A2A.
#[derive(Debug, Default)]
pub struct Routes {
    /// The routes.
    pub router: Router<Arc<AgentRegistry>>,
    /// Paths of the routes, with their names in the log.
    pub paths: &'static [(&'static str, &'static str)],
}

/// Creates the router for operators, for a separate listener that callers of the public one cannot
/// overload.
pub fn operator_router(registry: Arc<AgentRegistry>) -> Router {
    Router::new()
        .route(LIVE_PATH, get(health::live))
        .route(READY_PATH, get(health::ready))
        .route(METRICS_PATH, get(health::metrics))
        .fallback(not_found)
        .with_state(registry)
}

/// Creates the router of all public routes.
///
/// There are no layers. Limits of size, time and content belong to the bindings, because their
/// refusals have the binding's error format. The request log is around the router, in
/// [`server::serve`].
///
/// It can be nested in another router. Callers are then identified by the address in
/// [`ConnectInfo`](axum::extract::ConnectInfo), where the server provides it.
///
/// ```
/// use std::sync::Arc;
/// use tradepost_server::registry::AgentRegistry;
/// use tradepost_server::{agent::SharedAgent, http};
/// fn app(agent: SharedAgent) -> axum::Router {
/// let own = axum::Router::new().route("/about", axum::routing::get(async || "A shop"));
/// own.merge(http::router(Arc::new(AgentRegistry::from_agent(agent))))
/// }
/// ```
pub fn router(registry: Arc<AgentRegistry>) -> Router {
    let router = site(registry, Routes::default()).router;
    // `serve` catches panics around the router; a nested router has to do so itself.
    router.layer(middleware::from_fn(async |request, next: Next| {
        let answered = panics::catch("answering a request", next.run(request)).await;
        answered.unwrap_or_else(|fault| plain::failed(&fault))
    }))
}

/// Creates the public routes, together with those of other protocols.
pub fn site(registry: Arc<AgentRegistry>, others: Routes) -> Site {
    let with_slash = format!("{ENDPOINT_PATH}/");
    let router = Router::new()
        .route(HOME_PATH, get(home::get))
        .route(WELL_KNOWN_PATH, get(card::get))
        // Some clients look for the card below the endpoint.
        .route(&format!("{ENDPOINT_PATH}{WELL_KNOWN_PATH}"), get(card::get))
        .route(DIRECTORY_PATH, get(directory::get))
        .route(ENDPOINT_PATH, post(jsonrpc::post))
        // Clients join paths in different ways.
        .route(&with_slash, post(jsonrpc::post))
        // Paths below the prefix are matched by the binding.
        .route(HTTP_JSON_PATH, any(rest::handle))
        .route(&format!("{HTTP_JSON_PATH}/"), any(rest::handle))
        .route(&format!("{HTTP_JSON_PATH}/{{*path}}"), any(rest::handle))
        .route(mcp::PATH, any(mcp::handle))
        .route(mcp::PATH_WITH_SLASH, any(mcp::handle))
        .route(discovery::LLMS_PATH, get(discovery::llms))
        .route(discovery::REGISTRY_PATH, get(discovery::registry_entry))
        .route(discovery::METADATA_PATH, get(discovery::metadata))
        .route(discovery::RESOURCE_METADATA_PATH, get(discovery::resource_metadata))
        .route(LIVE_PATH, get(health::live))
        .route(READY_PATH, get(health::ready))
        .merge(grpc_routes())
        .merge(others.router)
        .fallback(unknown)
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(Arc::clone(&registry));
    Site { router, registry: Some(registry), paths: others.paths }
}

/// Creates the routes of the gRPC binding, when it is built in.
fn grpc_routes() -> Router<Arc<AgentRegistry>> {
    let router = Router::new();
    #[cfg(feature = "grpc")]
    let router = router
        .route(grpc::ROUTE, any(grpc::handle))
        .route(grpc::health::HEALTH_ROUTE, any(grpc::health::handle));
    #[cfg(feature = "grpc")]
    let router = grpc::reflection::REFLECTION_ROUTES
        .into_iter()
        .fold(router, |router, path| router.route(path, any(grpc::reflection::handle)));
    router
}

/// Serves the agents until `stop` resolves, and then until every request in progress is answered.
/// HTTP/1.1 and HTTP/2 share the port.
///
/// # Errors
/// When the card of an agent disagrees with its authentication, at once and with every difference
/// ([`AgentRegistry::check_cards`]).
pub async fn serve(
    listener: impl Into<server::Listener>,
    registry: AgentRegistry,
    stop: impl Future<Output = ()>,
) -> Result<(), CardDisagreements> {
    registry.check_cards()?;
    let registry = Arc::new(registry);
    let stop = async {
        stop.await;
        registry.close_streams();
    };
    server::serve(
        listener,
        site(Arc::clone(&registry), Routes::default()),
        &registry.settings,
        stop,
    )
    .await;
    Ok(())
}

/// Writes the refusal of a caller on another route of an agent's host, in the format of HTTP+JSON.
pub fn deny(agent: &dyn Agent, denied: AuthRefusal) -> Response {
    let (mut response, stamp) = denied::respond(agent, &rest::HttpJsonErrors, denied);
    response.extensions_mut().insert(stamp);
    response
}

/// Answers a request for an unknown path, in the caller's protocol.
async fn unknown(request: Request) -> Response {
    #[cfg(feature = "grpc")]
    return grpc::unknown(&request.into_parts().0).await;
    #[cfg(not(feature = "grpc"))]
    {
        drop(request);
        not_found().await
    }
}

/// Answers a request whose method the path does not support: a CORS preflight, or with an error.
async fn method_not_allowed(
    State(registry): State<Arc<AgentRegistry>>,
    request: Request,
) -> Response {
    // An unknown host reveals nothing, not even its paths.
    if registry.agent(host(request.uri(), request.headers())).is_none() {
        return not_found().await;
    }
    if let Some(answer) = cors::preflight(&registry, &request) {
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

    /// Returns the size in bytes of the future that a handler returns.
    fn size_of_future<State, Handled>(_: impl Fn(State, Request) -> Handled) -> usize {
        size_of::<Handled>()
    }

    /// Each request copies the future of its handler; one that holds its work twice or thrice has three times the size.
    #[test]
    fn futures_of_handlers_are_small() {
        let sizes = [
            ("json-rpc", size_of_future(jsonrpc::post)),
            ("mcp", size_of_future(mcp::handle)),
            ("http+json", size_of_future(rest::handle)),
            #[cfg(feature = "grpc")]
            ("grpc", size_of_future(grpc::handle)),
        ];
        for (binding, size) in sizes {
            assert!(size < 8 * 1024, "{binding}: {size} bytes");
        }
    }
}
