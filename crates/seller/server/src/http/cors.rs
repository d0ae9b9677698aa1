//! Access of web pages from other origins (CORS, Fetch §3.2) to the card and the endpoint.
//!
//! By default pages of every origin may read public data. Only pages of configured origins may
//! change data, such as submitting a lead, because the agent then sees the address of the page's
//! visitor. No page is admitted with credentials that the browser adds itself; a page with a
//! credential sends it in `Authorization`.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use tradepost_a2a::card::{DIRECTORY_PATH, WELL_KNOWN_PATH};

use super::plain::plain_error;
use super::settings::WebOrigin;
use crate::auth::Principal;
use crate::card::ENDPOINT_PATH;
use crate::registry::AgentRegistry;

/// Request headers that a page may send, beside the standard ones.
const SENT: HeaderValue = HeaderValue::from_static(
    "content-type, authorization, a2a-version, a2a-extensions, last-event-id",
);

/// Response headers that a page may read, beside the standard ones.
const READ: HeaderValue =
    HeaderValue::from_static("a2a-extensions, etag, retry-after, www-authenticate");

/// Time in seconds for which browsers may cache a preflight answer; their maximum.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");

/// Web page that a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallerPage {
    /// No page.
    Absent,
    /// A page of a configured origin.
    Named,
    /// A page of any other origin, when all may read.
    Other,
    /// A page without access.
    Unwelcome,
}

impl CallerPage {
    /// Classifies the origin of a request.
    fn from_headers(registry: &AgentRegistry, headers: &HeaderMap) -> Self {
        // Browsers send one origin; of several none is trusted.
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let origin = match (origins.next(), origins.next()) {
            (Some(origin), None) => origin,
            (Some(_), Some(_)) => return Self::Unwelcome,
            (None, _) => return Self::Absent,
        };
        let allowed = &registry.settings.web_origins;
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

/// Sets the headers that let a page read the answer, if it may.
pub(super) fn open(registry: &AgentRegistry, asked: &HeaderMap, response: &mut Response) {
    let headers = response.headers_mut();
    let any = HeaderValue::from_static("*");
    // An answer that every page may read is the same for all of them, and can be cached as such.
    let readers = match CallerPage::from_headers(registry, asked) {
        CallerPage::Absent if registry.settings.web_origins.contains(&WebOrigin::Any) => Some(any),
        CallerPage::Named | CallerPage::Other
            if registry.settings.web_origins == [WebOrigin::Any] =>
        {
            Some(any)
        }
        CallerPage::Other | CallerPage::Named => asked.get(header::ORIGIN).cloned(),
        CallerPage::Absent | CallerPage::Unwelcome => None,
    };
    // Otherwise a cache could return an answer for one page to another.
    if registry.settings.web_origins != [WebOrigin::Any] {
        headers.append(header::VARY, HeaderValue::from_static("origin"));
    }
    if let Some(readers) = readers {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, readers);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, READ);
    }
}

/// Restricts a caller without a credential that comes from a web page.
pub(super) fn limit(
    registry: &AgentRegistry,
    headers: &HeaderMap,
    principal: Principal,
) -> Principal {
    match CallerPage::from_headers(registry, headers) {
        // A user gave the page its credential, so it has all its permissions.
        CallerPage::Other | CallerPage::Unwelcome if principal.is_anonymous() => {
            principal.reading()
        }
        CallerPage::Absent | CallerPage::Named | CallerPage::Other | CallerPage::Unwelcome => {
            principal
        }
    }
}

/// Answers a preflight request; `None` for other requests.
pub(super) fn preflight(registry: &AgentRegistry, request: &Request) -> Option<Response> {
    let headers = request.headers();
    let path = request.uri().path();
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
    if CallerPage::from_headers(registry, headers) == CallerPage::Unwelcome {
        let message = "web pages of this origin may not call here";
        return Some(plain_error(StatusCode::FORBIDDEN, "PERMISSION_DENIED", message));
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    open(registry, headers, &mut response);
    response.headers_mut().extend([
        (header::ACCESS_CONTROL_ALLOW_METHODS, method),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, SENT),
        (header::ACCESS_CONTROL_MAX_AGE, MAX_AGE),
    ]);
    Some(response)
}
