//! Compression of answers with gzip, for clients that accept it.
//!
//! A complete answer is compressed at once. A compressing stream would keep its encoder, about 300
//! KiB, as long as a client takes to read, and one HTTP/2 connection can have a hundred requests.
//! Event streams are not compressed, because each event has to arrive at once.
//!
//! The length of a compressed answer leaks secrets (BREACH) where it contains a secret beside an
//! attacker's text, and the attacker makes another browser request it with credentials that the
//! browser adds itself. No answer here repeats a credential; credentials are in headers that a page
//! would have to know, and pages are never admitted with a browser's own (see `cors`).
//!
//! Refusals are not compressed, because those for another caller's data and for missing data must
//! have the same length, and a compressed length depends on the ids in them.

use std::io::Write as _;

use axum::body::{Body, HttpBody as _};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::BodyExt as _;

/// Minimum size in bytes; a smaller answer fits into one packet.
const MIN_SIZE: u64 = 1_024;

/// Marks an answer that must not be compressed.
#[derive(Debug, Clone, Copy)]
pub(super) struct NoCompression;

/// Returns true when a request accepts gzip (RFC 9110 §12.5.3).
pub(super) fn is_wanted(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT_ENCODING).iter();
    let mut listed = accepted.filter_map(|value| value.to_str().ok()).flat_map(|v| v.split(','));
    listed.any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let refused = || {
            let weight = weight.trim().strip_prefix("q=").map(str::parse::<f32>);
            weight.is_some_and(|weight| weight.is_ok_and(|weight| weight <= 0.0))
        };
        name.trim().eq_ignore_ascii_case("gzip") && !refused()
    })
}

/// Returns true for an answer that is worth compressing.
fn is_worth_it(response: &Response) -> bool {
    let headers = response.headers();
    let kind = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let text = [&b"application/json"[..], b"application/a2a+json", b"text/html"];
    text.iter().any(|text| kind.starts_with(text))
        && response.body().size_hint().exact().is_some_and(|size| size >= MIN_SIZE)
        && !headers.contains_key(header::CONTENT_ENCODING)
        && response.extensions().get::<NoCompression>().is_none()
}

/// Compresses an answer, where that is worth it.
pub(super) async fn compress(response: Response) -> Response {
    if !is_worth_it(&response) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(plain) = body.collect().await.map(http_body_util::Collected::to_bytes) else {
        unreachable!("what is in memory can be read");
    };
    // Fast compression, because this thread serves other requests too.
    let mut encoder = GzEncoder::new(Vec::with_capacity(plain.len() / 4), Compression::fast());
    let Ok(compressed) = encoder.write_all(&plain).and_then(|()| encoder.finish()) else {
        unreachable!("a buffer takes everything");
    };
    let headers = &mut parts.headers;
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    // It is the length of the plain text; hyper writes the new one.
    headers.remove(header::CONTENT_LENGTH);
    // Other bytes need another strong tag; a weak one covers both (RFC 9110 §8.8.1).
    let strong = headers.get(header::ETAG).filter(|tag| tag.as_bytes().starts_with(b"\""));
    let weak =
        strong.and_then(|tag| HeaderValue::from_bytes(&[b"W/", tag.as_bytes()].concat()).ok());
    if let Some(weak) = weak {
        headers.insert(header::ETAG, weak);
    }
    Response::from_parts(parts, Body::from(compressed))
}

/// Sets `Vary` on answers that may be compressed, also where this one is not.
pub(super) fn vary(response: &mut Response) {
    let depends = response.headers().contains_key(header::CONTENT_ENCODING)
        || response.status() == StatusCode::NOT_MODIFIED
        || is_worth_it(response);
    if depends {
        let value = HeaderValue::from_static("accept-encoding");
        response.headers_mut().append(header::VARY, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_sent_to_those_who_name_it() {
        let wanted = |accept: &[&str]| {
            let accept = accept.iter().map(|v| (header::ACCEPT_ENCODING, v.parse().unwrap()));
            is_wanted(&accept.collect())
        };
        for good in ["gzip", "br, GZIP", "deflate;q=0.5 , gzip;q=0.1", "gzip; q=1.000"] {
            assert!(wanted(&[good]), "{good}");
        }
        for bad in ["", "identity", "br", "gzip;q=0", "gzip ; q=0.000", "*", "xgzip"] {
            assert!(!wanted(&[bad]), "{bad}");
        }
        assert!(wanted(&["br", "gzip"]) && !wanted(&[]));
    }
}
