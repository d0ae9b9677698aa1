//! The answer to a caller that is not let in (`E-110`, A2A §3.3.2): the HTTP status is the real
//! one and `WWW-Authenticate` says what is wanted, because clients look at nothing else before
//! they fetch a credential.

use axum::http::{HeaderValue, StatusCode, header};
use tradepost_wire::a2a::error::{Code, Refusal};
use tradepost_wire::aap::{self, Version};

use super::answers::{self, Dialect, Parcel, stamp_error, told};
use super::observe::Stamp;
use crate::auth::Denied;
use crate::desk::{Agent, Binding, Desk};

pub(super) fn respond(
    desk: &Desk,
    agent: &Agent,
    dialect: &impl Dialect,
    denied: Denied,
) -> Parcel {
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
    let version = dealer_version(agent, dialect.binding());
    match denied {
        Denied::Limited(refusal) => {
            let status = Some(StatusCode::TOO_MANY_REQUESTS);
            if let Some(version) = version {
                return told(
                    version,
                    dialect.refused(stamp_error(desk, version, *refusal), status),
                );
            }
            let (mut response, stamp) = dialect.protocol(&too_often(&refusal), status);
            answers::retry_after(&mut response, &refusal);
            (response, stamp)
        }
        Denied::Unavailable(fault) => {
            let status = dialect.status_of(&fault);
            match version {
                Some(version) => {
                    let error = answers::failed(desk, agent, version, &fault);
                    told(version, dialect.refused(error, status))
                }
                None => {
                    let (refusal, error_id) = answers::broken(agent, &fault);
                    let (response, stamp) = dialect.protocol(&refusal, status);
                    (response, Stamp { error_id: Some(error_id), ..stamp })
                }
            }
        }
        Denied::Missing
        | Denied::Invalid { .. }
        | Denied::Expired
        | Denied::Signature(_)
        | Denied::Scope { .. } => {
            unreachable!("these have a row in the protocol's catalog")
        }
    }
}

/// What the protocol says of a caller that comes too often.
pub(super) fn too_often(refusal: &aap::Refusal) -> Refusal {
    let said = Refusal::new(Code::ResourceExhausted, Code::ResourceExhausted.title());
    match refusal.details.get("retry_after_seconds") {
        Some(seconds) => said.with("retryAfterSeconds", seconds.to_string()),
        None => said,
    }
}

/// The version in which a dealer answers whom nobody has read yet: its highest (C-34).
fn dealer_version(agent: &Agent, binding: Binding) -> Option<Version> {
    match agent {
        Agent::Dealer(seller) => binding.versions(&seller.dealer).last().copied(),
        Agent::Publisher(_) | Agent::Conformance(_) => None,
    }
}
