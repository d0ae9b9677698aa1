//! The answer to a caller that is not let in (A2A §3.3.2): the HTTP status is the real
//! one and `WWW-Authenticate` says what is wanted, because clients look at nothing else before
//! they fetch a credential.
// E-110

use axum::http::{HeaderValue, StatusCode, header};
use tradepost_wire::a2a::error::{Code, Refusal};

use super::answers::{self, Dialect};
use super::exchange::{Parcel, Stamp};
use crate::agent::{Agent, Trouble};
use crate::auth::Denied;
use crate::limit::Exceeded;

pub(super) fn respond(agent: &dyn Agent, dialect: &impl Dialect, denied: Denied) -> Parcel {
    if let Some(refusal) = agent.auth().refusal(&denied) {
        let status = StatusCode::from_u16(refusal.code.http());
        let status = status.unwrap_or(StatusCode::UNAUTHORIZED);
        let (mut response, stamp) = dialect.protocol(&refusal, Some(status));
        let challenge = agent.auth().challenge(&denied);
        if let Some(value) = challenge.and_then(|text| HeaderValue::from_str(&text).ok()) {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
        }
        return (response, stamp);
    }
    match denied {
        Denied::Limited(exceeded) => {
            let status = StatusCode::TOO_MANY_REQUESTS;
            let trouble = Trouble::TooOften(exceeded);
            if let Some(mut refusal) = agent.refusal(dialect.binding(), &trouble) {
                refusal.jsonrpc_status = Some(status.as_u16());
                return dialect.profile(refusal);
            }
            let (mut response, stamp) = dialect.protocol(&too_often(exceeded), Some(status));
            answers::retry_after(&mut response, exceeded.wait);
            (response, stamp)
        }
        Denied::Unavailable(fault) => {
            if let Some(refusal) = agent.refusal(dialect.binding(), &Trouble::Broken(&fault)) {
                return dialect.profile(refusal);
            }
            let (refusal, error_id) = answers::broken(agent, &fault);
            let (response, stamp) = dialect.protocol(&refusal, dialect.status_of(&fault));
            (response, Stamp { error_id: Some(error_id), ..stamp })
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

/// What the protocol says of a caller that comes too often.
pub(super) fn too_often(exceeded: Exceeded) -> Refusal {
    let said = Refusal::new(Code::ResourceExhausted, Code::ResourceExhausted.title());
    said.with("retryAfterSeconds", answers::seconds(exceeded.wait).to_string())
}
