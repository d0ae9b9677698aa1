//! The routes of a process, with their names in the log.

use std::borrow::Cow;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use tradepost_a2a::card::{DIRECTORY_PATH, WELL_KNOWN_PATH};

#[cfg(feature = "grpc")]
use super::grpc;
use super::head::host;
use super::{discovery, mcp, rest};
use crate::card::ENDPOINT_PATH;
use crate::registry::AgentRegistry;

/// Path of the liveness check.
pub(super) const LIVE_PATH: &str = "/healthz";

/// Path of the readiness check.
pub(super) const READY_PATH: &str = "/readyz";

/// Path of the metrics, for operators only.
pub(super) const METRICS_PATH: &str = "/metrics";

/// Path of the page for people.
pub(super) const HOME_PATH: &str = "/";

/// The routes of a process.
#[derive(Debug, Clone)]
pub struct Site {
    pub(super) router: Router,
    /// Process whose metrics, tracer and recorder are used.
    pub(super) registry: Option<Arc<AgentRegistry>>,
    /// Paths outside the A2A bindings, with their names in the log.
    pub(super) paths: &'static [(&'static str, &'static str)],
}

impl Site {
    /// Returns true when a request is for a host that is published with `https`: then a proxy in
    /// front may speak TLS where this process does not.
    pub(super) fn is_published_over_tls(&self, request: &Request) -> bool {
        let host = host(request.uri(), request.headers());
        self.registry.as_ref().is_some_and(|registry| registry.is_published_over_tls(host))
    }
}

impl From<Site> for Router {
    fn from(site: Site) -> Self {
        site.router
    }
}

impl From<Router> for Site {
    fn from(router: Router) -> Self {
        Self { router, registry: None, paths: &[] }
    }
}

/// Returns a path's name for the log: those of the router, and none that a caller made up.
pub(super) fn known_path(path: &str, others: &[(&'static str, &'static str)]) -> Cow<'static, str> {
    let known = [
        HOME_PATH,
        ENDPOINT_PATH,
        mcp::PATH,
        WELL_KNOWN_PATH,
        DIRECTORY_PATH,
        discovery::LLMS_PATH,
        discovery::REGISTRY_PATH,
        discovery::METADATA_PATH,
        LIVE_PATH,
        READY_PATH,
    ];
    let ends_twice = [ENDPOINT_PATH, mcp::PATH];
    let is = |known: &&str| {
        path == *known || ends_twice.contains(known) && path.strip_suffix('/') == Some(*known)
    };
    let other = || others.iter().find(|(asked, _)| *asked == path).map(|(_, known)| *known);
    let of_resource = || {
        // What follows is the caller's.
        let rest = path.strip_prefix(discovery::METADATA_PATH)?;
        rest.starts_with('/').then_some(discovery::RESOURCE_METADATA_PATH)
    };
    let other = || other().or_else(of_resource);
    let known = known.into_iter().find(is).or_else(other).map(Cow::Borrowed);
    let made = || {
        #[cfg(feature = "grpc")]
        if let Some(method) = grpc::template(path) {
            return Some(Cow::Owned(method));
        }
        rest::template(path).map(Cow::Owned)
    };
    known.or_else(made).unwrap_or("(unknown)".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_names_only_paths_of_the_router() {
        let known_path = |path| known_path(path, &[("/keys", "/keys")]);
        assert_eq!(known_path("/keys"), "/keys");
        assert_eq!(known_path("/a2a"), ENDPOINT_PATH);
        assert_eq!(known_path("/a2a/"), ENDPOINT_PATH);
        assert_eq!(known_path("/mcp/"), "/mcp");
        assert_eq!(known_path("/.well-known/agent-card.json"), WELL_KNOWN_PATH);
        assert_eq!(known_path("/.well-known/api-catalog"), DIRECTORY_PATH);
        assert_eq!(
            known_path("/.well-known/oauth-protected-resource/d/ada@example.com"),
            "/.well-known/oauth-protected-resource/{*resource}"
        );
        assert_eq!(known_path("/healthz"), LIVE_PATH);
        assert_eq!(known_path("/rest/tasks/ada@example.com:cancel"), "/rest/tasks/{id}:cancel");
        assert_eq!(known_path("/rest/ada@example.com/tasks/t"), "/rest/tasks/{id}");
        #[cfg(feature = "grpc")]
        assert_eq!(known_path("/lf.a2a.v1.A2AService/GetTask"), "/lf.a2a.v1.A2AService/GetTask");
        for made_up in
            ["/rest/ada@example.com", "//", "", "/a2a//", "/healthz/", "/ada@example.com"]
        {
            assert_eq!(known_path(made_up), "(unknown)");
        }
    }
}
