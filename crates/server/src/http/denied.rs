//! The answer to a refused caller (A2A 1.0 §3.3.2): it has the real HTTP status and
//! `WWW-Authenticate`, because clients look at nothing else before they fetch a credential.
// Missing or invalid credentials get 401 with `WWW-Authenticate` (A2A 1.0 §3.3.2, E-110).

use axum::http::StatusCode;

use super::answers::Dialect;
use super::exchange::Parcel;
use crate::agent::{Agent, ProfileRefusal, Trouble};
use crate::auth::Denied;

pub(super) fn respond(agent: &dyn Agent, dialect: &impl Dialect, denied: Denied) -> Parcel {
    if let Some(refusal) = agent.auth().refusal(&denied) {
        let refusal = match agent.auth().challenge(&denied) {
            Some(challenge) => refusal.with_challenge(challenge),
            None => refusal,
        };
        return dialect.protocol(&refusal, None);
    }
    match denied {
        Denied::Limited(exceeded) => {
            match agent.refusal(dialect.binding(), &Trouble::TooOften(exceeded)) {
                Some(refusal) => {
                    let jsonrpc_status = Some(StatusCode::TOO_MANY_REQUESTS.as_u16());
                    dialect.profile(ProfileRefusal { jsonrpc_status, ..refusal })
                }
                None => dialect.too_often(exceeded),
            }
        }
        Denied::Unavailable(fault) => {
            match agent.refusal(dialect.binding(), &Trouble::Broken(&fault)) {
                Some(refusal) => dialect.profile(refusal),
                None => dialect.broken(agent, &fault),
            }
        }
        Denied::Missing
        | Denied::Invalid { .. }
        | Denied::Expired
        | Denied::Page
        | Denied::Scope { .. } => {
            unreachable!("these have a row in the protocol's catalog")
        }
    }
}
