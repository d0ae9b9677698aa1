//! The answer to a caller that is not let in (`E-110`, A2A §3.3.2): the HTTP status is the real
//! one and `WWW-Authenticate` says what is wanted, because clients look at nothing else before
//! they fetch a credential.

use axum::http::{HeaderValue, StatusCode, header};
use tradepost_wire::a2a;
use tradepost_wire::aap::Version;
use tradepost_wire::jsonrpc::Id;

use super::jsonrpc::{Parcel, broken, protocol_error, refused, stamp_error};
use crate::auth::Denied;
use crate::desk::{Desk, Seller};

pub(super) fn respond(desk: &Desk, seller: &Seller, id: &Id, denied: Denied) -> Parcel {
    if let Some(refusal) = denied.refusal() {
        let (mut response, stamp) = protocol_error(id, &refusal);
        let status = StatusCode::from_u16(refusal.code.http());
        *response.status_mut() = status.unwrap_or(StatusCode::UNAUTHORIZED);
        let challenge = denied.challenge(&seller.dealer.id);
        if let Some(value) = challenge.and_then(|text| HeaderValue::from_str(&text).ok()) {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
        }
        return (response, stamp);
    }
    // Nobody has read yet which version the caller speaks; the dealer's highest is assumed (C-34).
    let version = seller.dealer.versions.last().copied().unwrap_or(Version::V1_1);
    let (mut response, stamp) = match denied {
        Denied::Limited(refusal) => {
            let (mut response, stamp) = refused(id, stamp_error(desk, version, *refusal));
            *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
            (response, stamp)
        }
        Denied::Unavailable(fault) => broken(desk, seller, id, version, &fault),
        Denied::Missing | Denied::Invalid { .. } | Denied::Expired | Denied::Scope { .. } => {
            unreachable!("these have a row in the protocol's catalog")
        }
    };
    let uri = HeaderValue::from_static(version.uri());
    response.headers_mut().insert(a2a::EXTENSIONS_HEADER, uri);
    (response, stamp)
}
