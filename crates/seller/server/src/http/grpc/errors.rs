//! Errors of the gRPC binding: a status, a message, and the details of the same error catalog as in
//! the other bindings (A2A 1.0 §10.6).

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use tradepost_a2a::error::{A2aCode, A2aRefusal, StatusDetails, retry_info};
use tradepost_a2a::protobuf::{self, schema};
use tradepost_a2a::status::RpcStatus;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};

use crate::agent::{Agent, Binding, ProfileRefusal, ResponsibleParty};
use crate::fault::InternalError;
use crate::http::answers::{self, ErrorWriter};
use crate::http::exchange::{LogFields, LoggedResponse};

const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const DETAILS: HeaderName = HeaderName::from_static("grpc-status-details-bin");

/// Characters that are percent-encoded in `grpc-message`.
const ESCAPED: &AsciiSet = &CONTROLS.add(b'%');

/// Maximum size of the details in bytes. Clients accept 8 KiB of metadata (gRPC core, grpc-java)
/// and drop a whole answer that has more; base64 makes four bytes of three.
const MAX_DETAILS: usize = 4_608;

/// A failed call.
#[derive(Debug)]
pub(super) struct GrpcFailure {
    status: RpcStatus,
    message: String,
    details: Vec<Value>,
    stamp: LogFields,
}

impl From<&A2aRefusal> for GrpcFailure {
    fn from(refusal: &A2aRefusal) -> Self {
        let Ok(Value::Array(details)) = tradepost_document::json::to_value(StatusDetails(refusal))
        else {
            unreachable!("details are an array with text keys")
        };
        let status = refusal.code.into();
        let message = refusal.message.clone();
        Self { status, message, details, stamp: answers::stamp_of(refusal) }
    }
}

impl GrpcFailure {
    /// Replaces the status, where that of the error code is too general.
    pub(super) fn with_status(self, status: RpcStatus) -> Self {
        Self { status, ..self }
    }

    /// Creates a response that consists of the status only.
    pub(super) fn into_logged_response(self) -> LoggedResponse {
        let mut response = super::head(Body::empty());
        let stamp = self.stamp.clone();
        self.write(response.headers_mut());
        (response, stamp)
    }

    /// Creates the trailers that end a stream.
    pub(super) fn into_trailers(self) -> HeaderMap {
        let mut trailers = HeaderMap::new();
        self.write(&mut trailers);
        trailers
    }

    /// Writes the failure into headers or trailers.
    fn write(self, headers: &mut HeaderMap) {
        headers.insert(STATUS, HeaderValue::from(self.status.number()));
        let message = utf8_percent_encode(&self.message, ESCAPED).to_string();
        if let Ok(value) = HeaderValue::from_str(&message) {
            headers.insert(MESSAGE, value);
        }
        if !self.details.is_empty()
            && let Ok(value) = HeaderValue::from_str(&STANDARD_NO_PAD.encode(self.packed()))
        {
            headers.insert(DETAILS, value);
        }
    }

    /// Encodes the details as google.rpc.Status. Field violations that do not fit are dropped from
    /// the end; the message has their number.
    fn packed(self) -> Vec<u8> {
        let mut status = json!({
            "code": self.status.number(), "message": self.message, "details": self.details,
        });
        loop {
            let bytes = protobuf::write(&schema::STATUS, &status)
                .unwrap_or_else(|_| unreachable!("what catalogs say fits google.rpc.Status"));
            let fits = bytes.len() <= MAX_DETAILS;
            if fits || violations(&mut status).and_then(Vec::pop).is_none() {
                return bytes;
            }
        }
    }
}

fn violations(status: &mut Value) -> Option<&mut Vec<Value>> {
    let mut details = status.get_mut("details")?.as_array_mut()?.iter_mut();
    details.find_map(|detail| detail.get_mut("fieldViolations")?.as_array_mut())
}

/// Returns the trailers of a successful call.
pub(super) fn ok() -> HeaderMap {
    HeaderMap::from_iter([(STATUS, HeaderValue::from(RpcStatus::Ok.number()))])
}

/// Returns the error of an unknown service, which reveals nothing about the host.
pub(super) fn unknown_service() -> GrpcFailure {
    without_details(RpcStatus::Unimplemented, "nothing is here")
}

/// Returns the error of an exceeded deadline.
pub(super) fn deadline_exceeded() -> GrpcFailure {
    without_details(RpcStatus::DeadlineExceeded, "the deadline of the call has passed")
}

/// Writer of refusals for this binding, whose HTTP status is always 200. The authentication
/// challenge is in the metadata, as it is in a header in the other bindings.
pub(super) struct GrpcErrors;

impl ErrorWriter for GrpcErrors {
    fn protocol(&self, refusal: &A2aRefusal, _: Option<StatusCode>) -> LoggedResponse {
        let (mut response, stamp) = GrpcFailure::from(refusal).into_logged_response();
        answers::head(&mut response, None, refusal.challenge());
        (response, stamp)
    }

    /// Leaves out the profile's own document, because both sides have to know the type of every
    /// detail.
    fn profile(&self, refusal: ProfileRefusal) -> LoggedResponse {
        let status = match refusal.blame {
            ResponsibleParty::ServerTemporarily => RpcStatus::Unavailable,
            ResponsibleParty::Caller | ResponsibleParty::TooOften | ResponsibleParty::Server => {
                refusal.row.grpc
            }
        };
        let message = refusal.summary.clone();
        let challenge = refusal.challenge.clone();
        let extension = refusal.extension;
        let wait = refusal.wait;
        let mut details = vec![answers::error_info(&refusal)];
        details.extend(wait.map(retry_info));
        let failure = GrpcFailure { status, message, details, stamp: answers::stamp(refusal) };
        let (mut response, stamp) = failure.into_logged_response();
        answers::head(&mut response, extension, challenge.as_deref());
        (response, stamp)
    }

    fn binding(&self) -> Binding {
        Binding::Grpc
    }
}

/// Returns the error that ends a stream after an internal error.
// Temporary errors differ from permanent ones (A2A 1.0 §3.3.2, E-14).
pub(super) fn internal_error(agent: &dyn Agent, fault: &InternalError) -> GrpcFailure {
    GrpcFailure::from(&answers::internal_error(agent, fault).0)
}

/// Returns the error that ends a stream when the process stops.
// Stopping is a temporary error, so the status is `UNAVAILABLE` (A2A 1.0 §3.3.2, E-14).
pub(super) fn stopping() -> GrpcFailure {
    without_details(
        RpcStatus::Unavailable,
        "this server stops; read the task, or subscribe to it again",
    )
}

/// Returns the error of a compressed message.
pub(super) fn compressed() -> GrpcFailure {
    let message = "this agent reads no compressed messages; send it as it is";
    let refusal =
        A2aRefusal::new(A2aCode::InvalidRequest, message).with("acceptEncoding", "identity");
    GrpcFailure::from(&refusal).with_status(RpcStatus::Unimplemented)
}

/// Creates an error of the transport, which the error catalog does not have.
fn without_details(status: RpcStatus, message: &str) -> GrpcFailure {
    let stamp = LogFields { code: status.name(), ..LogFields::default() };
    GrpcFailure { status, message: message.to_owned(), details: Vec::new(), stamp }
}

#[cfg(test)]
mod tests {
    use tradepost_a2a::error::FieldViolation;

    use super::*;

    fn details(failure: GrpcFailure) -> (usize, Value) {
        let trailers = failure.into_trailers();
        let text = trailers[DETAILS].to_str().unwrap();
        let bytes = STANDARD_NO_PAD.decode(text).unwrap();
        let size = trailers.iter().map(|(name, value)| name.as_str().len() + value.len() + 32);
        (size.sum(), protobuf::read(&schema::STATUS, &bytes).unwrap())
    }

    #[test]
    fn every_row_of_the_catalog_has_status_and_reason() {
        for code in A2aCode::ALL.iter().copied() {
            let (_, status) =
                details(GrpcFailure::from(&A2aRefusal::new(code, "no").with("k", "v")));
            let info = json!({
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": code.name(), "domain": "a2a-protocol.org", "metadata": {"k": "v"},
            });
            let number = RpcStatus::from_name(code.grpc()).unwrap().number();
            assert_eq!(status, json!({"code": number, "message": "no", "details": [info]}));
        }
    }

    #[test]
    fn what_clients_would_drop_for_its_length_is_shortened() {
        let violation = |number: usize| FieldViolation {
            field: format!("message.parts[{number}]"),
            description: "must have exactly one of text, raw, url, data".repeat(2),
        };
        let mut refusal =
            A2aRefusal::new(A2aCode::InvalidParams, "Invalid parameters: 60 fields are wrong");
        refusal.violations = (0..50).map(violation).collect();
        let (size, status) = details(GrpcFailure::from(&refusal));
        assert!(size < 8_192, "{size}");
        let listed = status["details"][1]["fieldViolations"].as_array().unwrap();
        assert!((20..50).contains(&listed.len()), "{}", listed.len());
        assert_eq!(listed[0]["field"], "message.parts[0]");
    }

    #[test]
    fn messages_are_percent_encoded() {
        let failure =
            GrpcFailure::from(&A2aRefusal::new(A2aCode::InvalidParams, "50 % of \u{e9}\n"));
        assert_eq!(failure.into_trailers()[MESSAGE], "50 %25 of %C3%A9%0A");
    }

    #[test]
    fn who_comes_too_often_is_told_when_to_come_back() {
        let refusal = A2aRefusal::new(A2aCode::Unavailable, "later");
        let refusal = refusal.with_wait(std::time::Duration::from_millis(61_005));
        let (_, status) = details(GrpcFailure::from(&refusal));
        let retry = json!({
            "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "61.005s",
        });
        assert_eq!(status["details"][1], retry);
    }
}
