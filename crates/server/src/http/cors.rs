//! What web pages of other origins may do (CORS, Fetch §3.2): read the card and call the endpoint.
//!
//! Pages of every origin may read what is for everybody, unless the configuration says otherwise.
//! Only those whose origin it names may do what changes something, such as submitting a lead: it is
//! their visitor's address that an agent sees then, and not theirs. No page is ever let in with
//! credentials that the browser adds by itself; one that has a credential sends it in
//! `Authorization`.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use tradepost_wire::a2a::card::{DIRECTORY_PATH, WELL_KNOWN_PATH};

use super::plain::plain_error;
use super::settings::WebOrigin;
use crate::auth::Principal;
use crate::card::ENDPOINT_PATH;
use crate::desk::Desk;

/// What a page may send, besides what every page may.
const SENT: HeaderValue = HeaderValue::from_static(
    "content-type, authorization, a2a-version, a2a-extensions, last-event-id",
);

/// What a page may read of an answer's head, besides what every page may.
const READ: HeaderValue =
    HeaderValue::from_static("a2a-extensions, etag, retry-after, www-authenticate");

/// For how many seconds a browser need not ask again: browsers keep it no longer.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");

/// Which web page a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Page {
    /// No page.
    Absent,
    /// A page whose origin is named.
    Named,
    /// A page of another origin, all of which may read.
    Other,
    /// A page that may do nothing.
    Unwelcome,
}

impl Page {
    fn of(desk: &Desk, headers: &HeaderMap) -> Self {
        // Browsers send one; of several none is believed.
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let origin = match (origins.next(), origins.next()) {
            (Some(origin), None) => origin,
            (Some(_), Some(_)) => return Self::Unwelcome,
            (None, _) => return Self::Absent,
        };
        let allowed = &desk.settings.web_origins;
        let is = |known: &WebOrigin| match known {
            WebOrigin::Any => false,
            WebOrigin::Named(name) => name.as_bytes().eq_ignore_ascii_case(origin.as_bytes()),
        };
        if allowed.iter().any(is) {
            Self::Named
        } else if allowed.contains(&WebOrigin::Any) {
            Self::Other
        } else {
            Self::Unwelcome
        }
    }
}

/// Lets the page read that a request came from, if it may.
pub(super) fn open(desk: &Desk, asked: &HeaderMap, response: &mut Response) {
    let headers = response.headers_mut();
    let any = HeaderValue::from_static("*");
    // An answer to whom anybody may read is the same for all of them, and can be cached so.
    let readers = match Page::of(desk, asked) {
        Page::Absent if desk.settings.web_origins.contains(&WebOrigin::Any) => Some(any),
        Page::Named | Page::Other if desk.settings.web_origins == [WebOrigin::Any] => Some(any),
        Page::Other | Page::Named => asked.get(header::ORIGIN).cloned(),
        Page::Absent | Page::Unwelcome => None,
    };
    // Without this a cache could give one page the answer that names another.
    if desk.settings.web_origins != [WebOrigin::Any] {
        headers.append(header::VARY, HeaderValue::from_static("origin"));
    }
    if let Some(readers) = readers {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, readers);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, READ);
    }
}

/// What is left of what somebody may do who has not said who they are and comes by a web page.
pub(super) fn limit(desk: &Desk, headers: &HeaderMap, principal: Principal) -> Principal {
    match Page::of(desk, headers) {
        // A credential that a page shows is one that somebody gave to it, so that it counts in
        // full.
        Page::Other | Page::Unwelcome if principal.is_anonymous() => principal.reading(),
        Page::Absent | Page::Named | Page::Other | Page::Unwelcome => principal,
    }
}

/// The answer to a browser that asks whether a page may send a request here; `None` to whoever asks
/// for something else.
pub(super) fn preflight(desk: &Desk, request: &Request) -> Option<Response> {
    let (headers, path) = (request.headers(), request.uri().path());
    let path = path.strip_suffix('/').unwrap_or(path);
    let method = if path == ENDPOINT_PATH {
        HeaderValue::from_static("POST")
    } else if path.ends_with(WELL_KNOWN_PATH) || path == DIRECTORY_PATH {
        HeaderValue::from_static("GET")
    } else {
        return None;
    };
    let asks = request.method() == Method::OPTIONS
        && headers.contains_key(header::ORIGIN)
        && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    if !asks {
        return None;
    }
    if Page::of(desk, headers) == Page::Unwelcome {
        let message = "web pages of this origin may not call here";
        return Some(plain_error(StatusCode::FORBIDDEN, "PERMISSION_DENIED", message));
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    open(desk, headers, &mut response);
    response.headers_mut().extend([
        (header::ACCESS_CONTROL_ALLOW_METHODS, method),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, SENT),
        (header::ACCESS_CONTROL_MAX_AGE, MAX_AGE),
    ]);
    Some(response)
}
