//! Facts in the head of a request: network address and host.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, Request};
use axum::http::{Extensions, HeaderMap, StatusCode, Version, header};
use axum::response::Response;
use tradepost_document::http::MediaType;

use super::plain::plain_error;

/// Network address of a connection; the server adds it to every request.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub SocketAddr);

/// Returns the peer of a connection, as recorded by our server or, where the router is nested in
/// another server, by axum. `None` without either, as in tests that call a router.
pub(super) fn peer(extensions: &Extensions) -> Option<SocketAddr> {
    let ours = extensions.get::<Peer>().map(|peer| peer.0);
    ours.or_else(|| extensions.get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0))
}

/// Refuses a request without a host or with several (RFC 9112 §3.2), because a proxy in front could
/// have read another one. In HTTP/2 `:authority` is the host, and a `Host` header must agree (RFC
/// 9113 §8.3.1).
pub(super) fn check_single_host(request: &Request) -> Result<(), Box<Response>> {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let host = hosts.next();
    let one = hosts.next().is_none()
        && match (request.version(), request.uri().authority(), host) {
            (Version::HTTP_2, Some(authority), host) => {
                let same = |host: &header::HeaderValue| {
                    host.as_bytes().eq_ignore_ascii_case(authority.as_str().as_bytes())
                };
                // Credentials are not allowed there, and would hide the host.
                !authority.as_str().contains('@') && host.is_none_or(same)
            }
            // HTTP/1.0 does not require the header.
            (version, _, host) => host.is_some() || version < Version::HTTP_11,
        };
    if one {
        return Ok(());
    }
    let message = if request.version() == Version::HTTP_2 {
        "name one host, in :authority"
    } else {
        "send exactly one Host header"
    };
    Err(Box::new(plain_error(StatusCode::BAD_REQUEST, "INVALID_ARGUMENT", message)))
}

/// Returns the host of a request: in HTTP/2 that of `:authority`, which is in the URI.
pub fn host<'r>(request_uri: &'r axum::http::Uri, headers: &'r HeaderMap) -> Option<&'r str> {
    // A target with a host wins over the header in HTTP/1.1 too (RFC 9112 §3.2.2).
    let header = headers.get(header::HOST).and_then(|value| value.to_str().ok());
    request_uri.host().or(header)
}

/// Returns true when `Accept` names a media type itself.
pub(super) fn asks_for(headers: &HeaderMap, format: &str) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    MediaType::listed(accepted).any(|range| range.is(format))
}
