//! Requests and answers: complete for the checks, shortened and without credentials for the report.

use serde::Serialize;
use tradepost_a2a::status::RpcStatus;
use tradepost_client::events::EventReader;
use tradepost_document::http::MediaType;
use tradepost_document::json::Value;

/// Maximum size of a body in the report, in bytes.
const SHOWN: usize = 4096;

/// Maximum number of an answer's headers in the report.
const SHOWN_HEADERS: usize = 40;

/// Request and answer, as the report shows them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecordedExchange {
    /// Request.
    pub request: RecordedRequest,
    /// Answer, if one arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<RecordedResponse>,
    /// Reason for a missing answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// Recorded request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecordedRequest {
    /// Method, usually `GET` or `POST`.
    pub method: String,
    /// Complete address.
    pub url: String,
    /// Headers that the prober adds.
    pub headers: Vec<(String, String)>,
    /// Body, shortened.
    pub body: String,
}

/// Recorded answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecordedResponse {
    /// HTTP status.
    pub status: u16,
    /// Headers.
    pub headers: Vec<(String, String)>,
    /// Body, shortened.
    pub body: String,
}

/// Complete answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// True when the agent ended it; a stream may have been left earlier.
    pub(crate) ended: bool,
    /// Trailers of HTTP/2.
    pub(crate) trailers: Vec<(String, String)>,
    /// Text to show in place of a binary body.
    pub(crate) readable: Option<String>,
}

impl HttpResponse {
    /// Returns gRPC metadata: from the trailers, or from the headers when there are none.
    pub(crate) fn metadata(&self, name: &str) -> Option<&str> {
        let found = self.trailers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str()).or_else(|| self.header(name))
    }

    /// Returns true when the answer demands authentication, on any binding.
    pub(crate) fn wants_credential(&self) -> bool {
        let unauthenticated = RpcStatus::Unauthenticated.number().to_string();
        self.status == 401 || self.metadata("grpc-status") == Some(unauthenticated.as_str())
    }

    /// Returns the value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the media type without its parameters, in lower case; empty when there is none.
    pub(crate) fn media_type(&self) -> String {
        let value = self.header("content-type").unwrap_or_default();
        MediaType::new(value).as_str().to_ascii_lowercase()
    }

    /// Returns the body as JSON.
    pub(crate) fn json(&self) -> Option<Value> {
        tradepost_document::json::from_slice(&self.body).ok()
    }

    /// Returns the body as text.
    pub(crate) fn text(&self) -> String {
        self.readable.clone().unwrap_or_else(|| String::from_utf8_lossy(&self.body).into_owned())
    }

    /// Returns the data of each event of a stream.
    pub(crate) fn events(&self) -> Vec<String> {
        let mut reader = EventReader::default();
        reader.feed(self.text().as_bytes());
        // Completes the last event, because a stream is left in the middle of one.
        reader.feed(b"\n\n");
        let data = std::iter::from_fn(|| reader.take());
        data.map(|data| String::from_utf8_lossy(&data).into_owned()).collect()
    }

    /// Returns the answer as the report shows it.
    pub(crate) fn shown(&self, secrets: &[String]) -> RecordedResponse {
        let headers = self.headers.iter().chain(&self.trailers).take(SHOWN_HEADERS);
        let body = self.readable.as_ref().map_or(&*self.body, |text| text.as_bytes());
        RecordedResponse {
            status: self.status,
            headers: headers.map(|(name, value)| (name.clone(), redact(value, secrets))).collect(),
            body: excerpt(body, secrets),
        }
    }
}

/// Removes the credentials of the probe from a text.
pub(crate) fn redact(text: &str, secrets: &[String]) -> String {
    secrets.iter().filter(|secret| !secret.is_empty()).fold(text.to_owned(), |text, secret| {
        if text.contains(secret.as_str()) { text.replace(secret.as_str(), "***") } else { text }
    })
}

/// Shortens a body for the report and removes credentials.
pub(crate) fn excerpt(body: &[u8], secrets: &[String]) -> String {
    // Credentials are removed first, or part of one that lies across the cut would remain.
    let text = redact(&String::from_utf8_lossy(body), secrets);
    match text.get(..text.floor_char_boundary(SHOWN)) {
        Some(shown) if shown.len() < text.len() => {
            format!("{shown}… ({} bytes in all)", body.len())
        }
        Some(_) | None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_capped_and_has_no_credentials() {
        let response = HttpResponse {
            status: 200,
            headers: vec![("x".to_owned(), "echo s3cret".to_owned())],
            body: format!("s3cret{}", "y".repeat(5000)).into_bytes(),
            ..HttpResponse::default()
        };
        let shown = response.shown(&["s3cret".to_owned(), String::new()]);
        assert_eq!(shown.headers[0].1, "echo ***");
        assert!(shown.body.starts_with("***yyy"), "{}", shown.body);
        assert!(shown.body.ends_with("… (5006 bytes in all)"), "{}", shown.body);
    }

    #[test]
    fn a_credential_across_the_cut_leaves_no_part() {
        for before in SHOWN - 6..=SHOWN {
            let body = format!("{}s3cret{}", "y".repeat(before), "z".repeat(5000));
            let shown = excerpt(body.as_bytes(), &["s3cret".to_owned()]);
            let cut = shown.split_once('…').map(|(cut, _)| cut.trim_start_matches('y'));
            assert!(cut.is_some_and(|cut| "***zzz".starts_with(cut)), "{cut:?}");
        }
    }

    #[test]
    fn the_events_of_a_stream_are_told_apart() {
        let body = b": hi\r\n\r\nid: 1\r\ndata: {\"a\":1}\r\n\r\ndata:x\ndata: y\n\nevent: z\n\n";
        let response = HttpResponse { status: 200, body: body.to_vec(), ..HttpResponse::default() };
        assert_eq!(response.events(), ["{\"a\":1}", "x\ny"]);
    }
}
