//! The answer to a caller that is not let in (`E-110`, A2A §3.3.2): the HTTP status is the real
//! one and `WWW-Authenticate` says what is wanted, because clients look at nothing else before
//! they fetch a credential.

use axum::http::{HeaderValue, StatusCode, header};
use tradepost_wire::a2a::error::{Code, Refusal};
use tradepost_wire::aap::Version;
use tradepost_wire::jsonrpc::Id;

use super::answers;
use super::jsonrpc::{Parcel, failed, protocol_error, refused, stamp_error, told};
use crate::auth::Denied;
use crate::desk::{Agent, Desk};

pub(super) fn respond(desk: &Desk, agent: &Agent, id: &Id, denied: Denied) -> Parcel {
    if let Some(refusal) = denied.refusal() {
        let (mut response, stamp) = protocol_error(id, &refusal);
        let status = StatusCode::from_u16(refusal.code.http());
        *response.status_mut() = status.unwrap_or(StatusCode::UNAUTHORIZED);
        let challenge = denied.challenge(agent.id());
        if let Some(value) = challenge.and_then(|text| HeaderValue::from_str(&text).ok()) {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
        }
        return (response, stamp);
    }
    match denied {
        Denied::Limited(refusal) => {
            let (mut response, stamp) = match dealer_version(agent) {
                Some(version) => told(version, refused(id, stamp_error(desk, version, *refusal))),
                None => protocol_error(id, &Refusal::new(Code::InternalError, refusal.message)),
            };
            *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
            (response, stamp)
        }
        Denied::Unavailable(fault) => match dealer_version(agent) {
            Some(version) => told(version, failed(desk, agent, id, version, &fault)),
            None => protocol_error(id, &answers::broken(agent, &fault).0),
        },
        Denied::Missing | Denied::Invalid { .. } | Denied::Expired | Denied::Scope { .. } => {
            unreachable!("these have a row in the protocol's catalog")
        }
    }
}

/// The version in which a dealer answers whom nobody has read yet: its highest (C-34).
fn dealer_version(agent: &Agent) -> Option<Version> {
    match agent {
        Agent::Dealer(seller) => seller.dealer.versions.last().copied(),
        Agent::Conformance(_) => None,
    }
}
