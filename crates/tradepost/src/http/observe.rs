//! Logs every request once. What is never logged: bodies, header values, queries, addresses of
//! customers; of an error only its code and id.

use std::convert::Infallible;

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use tower::Service as _;

use super::{known_path, name_one_host};
use crate::desk::Agent;

/// What a binding says about its answer, for the log.
#[derive(Debug, Clone)]
pub(super) struct Stamp {
    /// The agent, where one was meant.
    pub agent: Option<Agent>,
    /// The catalog code, or `OK`.
    pub code: &'static str,
    /// The skill, where one was called.
    pub skill: Option<&'static str>,
    /// The id that an error carries.
    pub error_id: Option<String>,
}

/// Has a request answered and logs it. This is a function around the router and no layer in it:
/// axum keeps a layer behind two boxes for each request.
pub(super) async fn observe(mut router: Router, request: Request) -> Result<Response, Infallible> {
    let started = tokio::time::Instant::now();
    let method = request.method().clone();
    let path = known_path(request.uri().path());
    let path = path.as_ref();
    // Before everything else, because every route depends on the host.
    let mut response = match name_one_host(&request) {
        Ok(()) => router.call(request).await?,
        Err(refused) => *refused,
    };
    let status = response.status().as_u16();
    let micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
    match response.extensions_mut().remove::<Stamp>() {
        Some(Stamp { agent, code, skill, error_id }) => {
            let agent = agent.as_ref().map_or("", Agent::id);
            let (skill, error_id) = (skill.unwrap_or_default(), error_id.unwrap_or_default());
            if code == "OK" {
                tracing::debug!(%method, path, status, micros, agent, code, skill, "answered");
            } else {
                tracing::info!(%method, path, status, micros, agent, code, error_id, "refused");
            }
        }
        None => tracing::debug!(%method, path, status, micros, "answered"),
    }
    Ok(response)
}
