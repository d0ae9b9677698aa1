//! A publisher's own paths: MCP, its keys, and what is posted to its A2A endpoint in ways that are
//! AdCP's.

use std::sync::Arc;

use axum::Router;
use axum::routing::{any, get};
use tradepost_server::agent::SharedAgent;
use tradepost_server::http::Routes;

use crate::adcp::keys::{BRAND_PATH, JWKS_PATH};
use crate::adcp::seller::PublisherAgent;

pub(super) mod a2a;
mod intake;
mod keys;
pub(super) mod mcp;
mod turned_away;

/// The routes. To a host of another agent they are unknown ones.
#[must_use]
pub fn routes() -> Routes {
    let router = Router::new()
        .route(mcp::PATH, any(mcp::handle))
        .route(mcp::PATH_WITH_SLASH, any(mcp::handle))
        .route(JWKS_PATH, get(keys::jwks))
        .route(BRAND_PATH, get(keys::brand));
    let paths = &[
        (mcp::PATH, mcp::PATH),
        (mcp::PATH_WITH_SLASH, mcp::PATH),
        (JWKS_PATH, JWKS_PATH),
        (BRAND_PATH, BRAND_PATH),
    ];
    Routes { router, paths }
}

/// The publisher among agents.
fn publisher(agent: SharedAgent) -> Option<Arc<PublisherAgent>> {
    let agent: Arc<dyn std::any::Any + Send + Sync> = agent;
    agent.downcast().ok()
}
