//! Responses to browsers, with the security headers of all responses.

use std::fmt::Write as _;
use std::time::Duration;

use askama::Template;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use jiff::SignedDuration;
use sha2::{Digest as _, Sha256};
use tradepost_dealer::consent::{Sha256Hash, hex};
use tradepost_document::http::RetryAfter;
use tradepost_server::http::set_retry_after;

/// A response to be sent.
#[derive(Debug)]
pub(super) struct ConsoleReply {
    status: StatusCode,
    media_type: &'static str,
    body: String,
    location: Option<String>,
    cookies: Vec<String>,
    photos: String,
    /// Time after which a retry makes sense.
    retry_after: Option<RetryAfter>,
    /// `Content-Disposition` of a download.
    kept_as: Option<String>,
    /// Entity tag of a calendar.
    etag: Option<String>,
    /// Policy of a document that is only shown in a frame of the console.
    framed: Option<String>,
    /// True when the page shows such a document.
    has_frame: bool,
}

/// Delay for requests that waited too long for their turn.
const BUSY_RETRY_AFTER: RetryAfter = RetryAfter::new(Duration::from_secs(2));

/// Photo origins of pages without photos.
pub(super) const NO_PHOTOS: &str = "";

impl ConsoleReply {
    /// Renders a page.
    pub(super) fn page(page: &impl Template) -> Self {
        let body = page.render().unwrap_or_else(|_| unreachable!("pages hold texts alone"));
        Self::new("text/html; charset=utf-8", body)
    }

    /// Redirects to another page, which is requested with GET.
    pub(super) fn see(location: String) -> Self {
        let reply = Self::new("text/plain; charset=utf-8", String::new());
        Self { status: StatusCode::SEE_OTHER, location: Some(location), ..reply }
    }

    /// Creates a response with this media type.
    pub(super) fn new(media_type: &'static str, body: String) -> Self {
        Self {
            status: StatusCode::OK,
            media_type,
            body,
            location: None,
            cookies: Vec::new(),
            photos: String::new(),
            retry_after: None,
            kept_as: None,
            etag: None,
            framed: None,
            has_frame: false,
        }
    }

    /// Creates a document of a stranger for a frame of the console. The policy has to contain `sandbox`, which
    /// gives the document an origin of its own.
    pub(super) fn framed(policy: String, document: String) -> Self {
        let reply = Self::new("text/html; charset=utf-8", document);
        Self { framed: Some(policy), ..reply }
    }

    /// Allows the page to show documents of the console in frames.
    pub(super) fn with_frame(self) -> Self {
        Self { has_frame: true, ..self }
    }

    /// Creates a calendar for calendar programs, without its text for one that has the same already.
    pub(super) fn calendar(text: String, if_none_match: Option<&str>) -> Self {
        let digest: Sha256Hash = Sha256::digest(&text).into();
        let etag = format!("\"{}\"", hex(&digest));
        // A list of tags (RFC 9110 §13.1.2); ours has no character that would need a parser.
        let is_same = if_none_match.is_some_and(|tags| tags.contains(&etag));
        let reply = Self::new("text/calendar; charset=utf-8", text);
        let reply = Self { etag: Some(etag), ..reply };
        if !is_same {
            return reply;
        }
        Self { status: StatusCode::NOT_MODIFIED, body: String::new(), ..reply }
    }

    /// Creates a download of a page. The name may have letters, digits, dots, dashes and underscores.
    pub(super) fn download(name: &str, page: String) -> Self {
        Self::download_as(name, "text/html; charset=utf-8", page)
    }

    /// Creates a download with this media type, with a name as above.
    pub(super) fn download_as(name: &str, media_type: &'static str, body: String) -> Self {
        let reply = Self::new(media_type, body);
        // Never shown inline: the file may contain text from strangers, which would appear on a page of
        // this origin.
        Self { kept_as: Some(format!("attachment; filename=\"{name}\"")), ..reply }
    }

    /// Sets the status.
    pub(super) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    /// Answers a request that waited too long for its turn.
    pub(super) fn busy() -> Self {
        let text = "busy; try again in a moment\n".to_owned();
        let reply = Self::new("text/plain; charset=utf-8", text);
        Self {
            status: StatusCode::SERVICE_UNAVAILABLE,
            retry_after: Some(BUSY_RETRY_AFTER),
            ..reply
        }
    }

    /// Marks the response as rate-limited until the next attempt.
    pub(super) fn limited(self, wait: SignedDuration) -> Self {
        let wait = RetryAfter::new(Duration::try_from(wait).unwrap_or_default());
        Self { status: StatusCode::TOO_MANY_REQUESTS, retry_after: Some(wait), ..self }
    }

    /// Adds a cookie before the others, so that a later one with the same name replaces it.
    pub(super) fn with_earlier_cookie(mut self, cookie: String) -> Self {
        self.cookies.insert(0, cookie);
        self
    }

    /// Adds a cookie.
    pub(super) fn with_cookie(mut self, cookie: String) -> Self {
        self.cookies.push(cookie);
        self
    }

    /// Allows the page to load these photos, and no others.
    pub(super) fn with_photos<'a>(mut self, photos: impl IntoIterator<Item = &'a str>) -> Self {
        let mut origins: Vec<_> = photos.into_iter().filter_map(origin).collect();
        origins.sort_unstable();
        origins.dedup();
        for origin in origins {
            let _ = write!(self.photos, " {origin}");
        }
        self
    }

    pub(super) fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        protect(headers, &self.photos);
        if self.has_frame
            && let Some(policy) = headers.get(header::CONTENT_SECURITY_POLICY)
            && let Ok(policy) = policy.to_str()
            && let Ok(policy) = HeaderValue::from_str(&format!("{policy}; frame-src 'self'"))
        {
            headers.insert(header::CONTENT_SECURITY_POLICY, policy);
        }
        if let Some(policy) = self.framed.and_then(|policy| HeaderValue::from_str(&policy).ok()) {
            headers.insert(header::CONTENT_SECURITY_POLICY, policy);
            headers.insert("x-frame-options", HeaderValue::from_static("SAMEORIGIN"));
            // Not even the console's address is told to whoever has the files.
            headers.insert("referrer-policy", HeaderValue::from_static("no-referrer"));
        }
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.media_type));
        let value = |text: String| HeaderValue::from_str(&text).ok();
        if let Some(location) = self.location.and_then(value) {
            headers.insert(header::LOCATION, location);
        }
        if let Some(wait) = self.retry_after {
            set_retry_after(headers, wait);
        }
        if let Some(etag) = self.etag.and_then(value) {
            headers.insert(header::ETAG, etag);
            let private = HeaderValue::from_static("private, no-store");
            headers.insert(header::CACHE_CONTROL, private);
        }
        if let Some(kept_as) = self.kept_as.and_then(value) {
            headers.insert(header::CONTENT_DISPOSITION, kept_as);
        }
        for cookie in self.cookies.into_iter().filter_map(value) {
            headers.append(header::SET_COOKIE, cookie);
        }
        response
    }
}

/// Sets the security headers of a response. It may not be cached, because it is about customers. Nothing
/// may be loaded from other sites except the origins in `photos`, each with a space before it.
pub(super) fn protect(headers: &mut HeaderMap, photos: &str) {
    let policy = format!(
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
         img-src 'self'{photos}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    );
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    for (name, value) in [
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        // URLs contain ids of leads, which other sites must not see.
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
        ("x-robots-tag", "noindex"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// Returns the origin of a photo if it may be loaded: it has to use HTTPS, and must not contain
/// characters that change the policy.
pub(super) fn origin(photo: &str) -> Option<&str> {
    let rest = photo.strip_prefix("https://")?;
    let host = rest.find(['/', '?', '#']).map_or(rest, |end| rest.get(..end).unwrap_or_default());
    let plain = |b: u8| b.is_ascii_alphanumeric() || b".-:".contains(&b);
    let is_plain = !host.is_empty() && host.bytes().all(plain);
    is_plain.then(|| photo.get(.."https://".len() + host.len())).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_console_says_when_to_come_back() {
        let response = ConsoleReply::busy().into_response();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.headers()[header::RETRY_AFTER], "2");
    }

    #[test]
    fn a_wait_is_rounded_up_to_whole_seconds() {
        for (wait, expected) in [
            (SignedDuration::from_nanos(1), "1"),
            (SignedDuration::from_secs(2), "2"),
            (SignedDuration::from_micros(2_000_400), "3"),
        ] {
            let reply = ConsoleReply::new("text/plain", String::new()).limited(wait);
            let response = reply.into_response();
            assert_eq!(response.headers()[header::RETRY_AFTER], expected, "{wait}");
        }
    }

    #[test]
    fn a_photo_opens_the_policy_for_its_origin_alone() {
        for (photo, expected) in [
            ("https://photos.example/a/1.jpg", Some("https://photos.example")),
            ("https://photos.example:8443?x", Some("https://photos.example:8443")),
            ("http://photos.example/1.jpg", None),
            ("https://photos.example; script-src *", None),
            ("https://*/1.jpg", None),
            ("https://a@b.example/1.jpg", None),
            ("https:///1.jpg", None),
            ("javascript:alert(1)", None),
            ("data:image/png;base64,AAAA", None),
        ] {
            assert_eq!(origin(photo), expected, "{photo}");
        }
    }
}
