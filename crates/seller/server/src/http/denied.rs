//! The answer to a refused caller (A2A 1.0 §3.3.2): it has the real HTTP status and
//! `WWW-Authenticate`, because clients look at nothing else before they fetch a credential.
// Missing or invalid credentials get 401 with `WWW-Authenticate` (A2A 1.0 §3.3.2, E-110).

use axum::http::StatusCode;

use super::answers::ErrorWriter;
use super::exchange::LoggedResponse;
use crate::agent::{Agent, EarlyError, ProfileRefusal};
use crate::auth::AuthRefusal;

pub(super) fn respond(
    agent: &dyn Agent,
    dialect: &impl ErrorWriter,
    denied: AuthRefusal,
) -> LoggedResponse {
    respond_for(agent, dialect, denied, None)
}

/// Answers for a resource whose metadata is at this address.
pub(super) fn respond_for(
    agent: &dyn Agent,
    dialect: &impl ErrorWriter,
    denied: AuthRefusal,
    metadata: Option<&str>,
) -> LoggedResponse {
    if let Some(refusal) = agent.auth().refusal(&denied) {
        let refusal = match agent.auth().challenge_for(&denied, metadata) {
            Some(challenge) => refusal.with_challenge(challenge),
            None => refusal,
        };
        return dialect.protocol(&refusal, None);
    }
    match denied {
        AuthRefusal::Limited(exceeded) => {
            match agent.refusal(dialect.binding(), &EarlyError::TooOften(exceeded)) {
                Some(refusal) => {
                    let jsonrpc_status = Some(StatusCode::TOO_MANY_REQUESTS.as_u16());
                    dialect.profile(ProfileRefusal { jsonrpc_status, ..refusal })
                }
                None => dialect.too_often(exceeded),
            }
        }
        AuthRefusal::Unavailable(fault) => {
            match agent.refusal(dialect.binding(), &EarlyError::Broken(&fault)) {
                Some(refusal) => dialect.profile(refusal),
                None => dialect.internal_error(agent, &fault),
            }
        }
        AuthRefusal::Missing
        | AuthRefusal::Invalid { .. }
        | AuthRefusal::Expired
        | AuthRefusal::Page
        | AuthRefusal::Scope { .. } => {
            unreachable!("these have a row in the protocol's catalog")
        }
    }
}
