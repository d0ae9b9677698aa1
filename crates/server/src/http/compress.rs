//! Answers in gzip, for those who ask for it.
//!
//! An answer that is whole is compressed whole, here and at once. A layer that compresses while it
//! sends keeps its encoder, some 300 KiB, for as long as a client takes to read, and a hundred
//! requests of one HTTP/2 connection would keep a hundred. Streams stay as they are, because their
//! events are to arrive one by one.
//!
//! Lengths of compressed answers tell secrets (BREACH) where an answer holds a secret beside text of
//! an attacker's, and the attacker has somebody else's browser ask for it with credentials that the
//! browser adds by itself. No answer here repeats a credential; credentials stand in headers that a
//! page would have to know, and pages are never let in with a browser's own (see `cors`).
//!
//! What is refused stays as it is: refusals of what is another's and of what is nowhere are to be as long
//! as each other wherever the requests are, and how small they become depends on their ids.

use std::io::Write as _;

use axum::body::{Body, HttpBody as _};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::BodyExt as _;

/// What is shorter fits into a packet as it is.
const WORTH: u64 = 1_024;

/// Marks an answer that stays as it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct AsItIs;

/// Whether a request permits answers in gzip (RFC 9110 §12.5.3).
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

/// Whether an answer is of a kind that is compressed.
fn is_worth_it(response: &Response) -> bool {
    let headers = response.headers();
    let kind = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let text = [&b"application/json"[..], b"application/a2a+json", b"text/html"];
    text.iter().any(|text| kind.starts_with(text))
        && response.body().size_hint().exact().is_some_and(|size| size >= WORTH)
        && !headers.contains_key(header::CONTENT_ENCODING)
        && response.extensions().get::<AsItIs>().is_none()
}

/// The same answer in gzip, where that is worth it.
pub(super) async fn whole(response: Response) -> Response {
    if !is_worth_it(&response) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(plain) = body.collect().await.map(http_body_util::Collected::to_bytes) else {
        unreachable!("what is in memory can be read");
    };
    // This is done on a thread that serves others, too: quick is worth more than small.
    let mut encoder = GzEncoder::new(Vec::with_capacity(plain.len() / 4), Compression::fast());
    let Ok(compressed) = encoder.write_all(&plain).and_then(|()| encoder.finish()) else {
        unreachable!("a buffer takes everything");
    };
    let headers = &mut parts.headers;
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    // It is that of the plain text; hyper writes the other one.
    headers.remove(header::CONTENT_LENGTH);
    // Other bytes need another strong tag; a weak one is for both (RFC 9110 §8.8.1).
    let strong = headers.get(header::ETAG).filter(|tag| tag.as_bytes().starts_with(b"\""));
    let weak =
        strong.and_then(|tag| HeaderValue::from_bytes(&[b"W/", tag.as_bytes()].concat()).ok());
    if let Some(weak) = weak {
        headers.insert(header::ETAG, weak);
    }
    Response::from_parts(parts, Body::from(compressed))
}

/// Says that the answer depends on what was asked for, also where it stays as it is.
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
