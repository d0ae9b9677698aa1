//! The answer to a caller that is not let in (A2A §3.3.2): the HTTP status is the real
//! one and `WWW-Authenticate` says what is wanted, because clients look at nothing else before
//! they fetch a credential.
// E-110

use axum::http::StatusCode;

use super::answers::{self, Dialect};
use super::exchange::Parcel;
use crate::agent::{Agent, ProfileRefusal, Trouble};
use crate::auth::Denied;

pub(super) fn respond(agent: &dyn Agent, dialect: &impl Dialect, denied: Denied) -> Parcel {
    if let Some(refusal) = agent.auth().refusal(&denied) {
        let status = StatusCode::from_u16(refusal.code.http());
        let status = status.unwrap_or(StatusCode::UNAUTHORIZED);
        let (mut response, stamp) = dialect.protocol(&refusal, Some(status));
        let challenge = agent.auth().challenge(&denied);
        answers::head(&mut response, None, challenge.as_deref());
        return (response, stamp);
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
