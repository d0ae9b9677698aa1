//! AdCP parts of the HTTP interface of a publisher: authentication over A2A and over MCP, and the
//! paths of its keys.

use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use tradepost_server::agent::SharedAgent;
use tradepost_server::http::Routes;

use crate::adcp::keys::{BRAND_PATH, JWKS_PATH};
use crate::adcp::seller::PublisherAgent;

pub(super) mod a2a;
mod denial;
mod intake;
mod keys;
mod mcp;

/// Returns the routes. On the host of another agent they are unknown.
#[must_use]
pub fn routes() -> Routes {
    let router =
        Router::new().route(JWKS_PATH, get(keys::jwks)).route(BRAND_PATH, get(keys::brand));
    let paths = &[(JWKS_PATH, JWKS_PATH), (BRAND_PATH, BRAND_PATH)];
    Routes { router, paths }
}

/// Returns the publisher when the agent is one.
fn publisher(agent: SharedAgent) -> Option<Arc<PublisherAgent>> {
    let agent: Arc<dyn std::any::Any + Send + Sync> = agent;
    agent.downcast().ok()
}
