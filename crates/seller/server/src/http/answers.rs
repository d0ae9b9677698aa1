//! Parts of answers that the HTTP bindings share.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use serde::Serialize;
use tradepost_a2a::error::{A2aCode, A2aRefusal};
use tradepost_a2a::{self as a2a, A2aRelease};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::http::RetryAfter;
use tradepost_document::json::{Map, Value, json as value};

use super::exchange::{LogFields, LoggedResponse};
use super::plain::{json_response, set_retry_after};
use crate::agent::{
    Agent, AgentAnswer, Binding, INTERNAL_ERROR_RETRY_AFTER, ProfileRefusal, ResponsibleParty,
    SerializedResponse,
};
use crate::auth::{AuthRefusal, SCHEME};
use crate::fault::InternalError;
use crate::limit::RateLimitExceeded;
use crate::tasks::{PushPage, TaskPage};

/// Header that names the extensions in use. A constant, so that it is not parsed for each answer.
const EXTENSIONS: HeaderName = HeaderName::from_static(a2a::EXTENSIONS_HEADER);

/// Writer of refusals in the format of a binding. `status` replaces the HTTP status that the
/// binding would use for the error.
pub trait ErrorWriter {
    /// Writes a refusal by the protocol.
    fn protocol(&self, refusal: &A2aRefusal, status: Option<StatusCode>) -> LoggedResponse;
    /// Writes a refusal by a profile.
    fn profile(&self, refusal: ProfileRefusal) -> LoggedResponse;
    /// Returns the binding.
    fn binding(&self) -> Binding;
    /// Writes an internal error.
    fn internal_error(&self, agent: &dyn Agent, fault: &InternalError) -> LoggedResponse {
        let (refusal, error_id) = internal_error(agent, fault);
        let (response, stamp) = self.protocol(&refusal, None);
        (response, LogFields { error_id: Some(error_id), ..stamp })
    }
    /// Writes the refusal for an exceeded rate limit.
    fn too_often(&self, exceeded: RateLimitExceeded) -> LoggedResponse {
        self.protocol(&too_often(exceeded), None)
    }
}

/// Serialises a value of ours to JSON.
pub fn json<T: Serialize>(value: &T) -> String {
    tradepost_document::json::to_string(value)
        .unwrap_or_else(|_| unreachable!("our own documents have text keys and finite numbers"))
}

/// Writes a page of tasks.
// `nextPageToken` is always present, and empty on the last page (A2A 1.0 §3.1.4, O-06).
pub(super) fn page(page: &TaskPage) -> Value {
    value!({
        "tasks": page.tasks,
        "nextPageToken": page.next_page_token,
        "pageSize": page.page_size,
        "totalSize": page.total_size,
    })
}

/// Writes the webhook configurations of a task.
pub(super) fn push_configs(page: &PushPage) -> Value {
    value!({"configs": page.configs, "nextPageToken": page.next_page_token})
}

/// Logs an internal error and returns the caller's refusal with its error id. A temporary error has
/// another code than a permanent one, and alone has a retry-after.
// Temporary errors differ from permanent ones (A2A 1.0 §3.3.2, E-14).
pub(super) fn internal_error(agent: &dyn Agent, fault: &InternalError) -> (A2aRefusal, String) {
    let error_id = format!("err_{}", uuid::Uuid::now_v7().simple());
    let cause = fault.chain();
    tracing::error!(agent = %agent.id_or_none(), %error_id, cause, "a request could not be performed");
    let refusal = if fault.is_transient() {
        let message = "the agent cannot answer now; send the same request again later";
        A2aRefusal::new(A2aCode::Unavailable, message)
            .with_wait(fault.wait().unwrap_or(INTERNAL_ERROR_RETRY_AFTER))
    } else {
        let message = "the agent failed; quote the error id to whoever runs it";
        A2aRefusal::new(A2aCode::InternalError, message)
    };
    (refusal.with("errorId", error_id.clone()), error_id)
}

/// Adds the value of `WWW-Authenticate` to an agent's refusal that has none (RFC 9110 §11.6.1).
pub(super) fn with_default_challenge(agent: &dyn Agent, refusal: A2aRefusal) -> A2aRefusal {
    if refusal.code != A2aCode::Unauthenticated || refusal.challenge().is_some() {
        return refusal;
    }
    let auth = agent.auth();
    let challenge = auth.challenge(&AuthRefusal::Missing);
    let challenge = challenge.unwrap_or_else(|| format!("{SCHEME} realm=\"{}\"", auth.agent_id()));
    refusal.with_challenge(challenge)
}

/// Returns the protocol's refusal for an exceeded rate limit.
pub(super) fn too_often(exceeded: RateLimitExceeded) -> A2aRefusal {
    let refusal = A2aRefusal::new(A2aCode::ResourceExhausted, A2aCode::ResourceExhausted.title());
    refusal.with_wait(exceeded.wait)
}

/// Returns a profile's refusal as `ErrorInfo`, one of the details of a `google.rpc.Status`.
pub(super) fn error_info(refusal: &ProfileRefusal) -> Value {
    let texts = refusal.metadata.iter();
    let metadata: Map =
        texts.map(|(name, text)| ((*name).to_owned(), text.as_str().into())).collect();
    value!({
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": refusal.row.name,
        "domain": refusal.row.domain,
        "metadata": metadata,
    })
}

/// Adds the header with the extensions in use, unless the answer has it already.
// The response lists the activated extensions (A2A extension guide, "Activation"; X-04).
pub(super) fn echo_extensions(
    response: &mut Response,
    agent: &dyn Agent,
    activated: &[String],
    binding: Binding,
    release: A2aRelease,
) {
    let header = release.extensions_header();
    let known = agent.extensions(binding);
    // Extensions that the agent does not know are not in use, and not repeated.
    let used: Vec<_> =
        activated.iter().map(String::as_str).filter(|uri| known.contains(uri)).collect();
    if !used.is_empty()
        && !response.headers().contains_key(header)
        && let Ok(value) = HeaderValue::from_str(&used.join(", "))
    {
        response.headers_mut().insert(header, value);
    }
}

/// Marks an answer as private, so that no cache returns it to another caller.
// Caching headers for the extended card (A2A 1.0 §13.3, A-08).
pub(super) fn private(mut response: Response) -> Response {
    let value = HeaderValue::from_static("private, no-store");
    response.headers_mut().insert(header::CACHE_CONTROL, value);
    response
}

/// Sets the headers of a protocol refusal: `Retry-After` and `WWW-Authenticate`.
pub(super) fn mark_refusal(response: &mut Response, refusal: &A2aRefusal) {
    head(response, None, refusal.challenge());
    if let Some(wait) = refusal.wait {
        set_retry_after(response.headers_mut(), RetryAfter::new(wait));
    }
}

/// Sets the headers of a profile's refusal.
pub(super) fn set_retry_headers(response: &mut Response, refusal: &ProfileRefusal) {
    head(response, refusal.extension, refusal.challenge.as_deref());
    if let Some(wait) = refusal.wait {
        set_retry_after(response.headers_mut(), RetryAfter::new(wait));
    }
}

/// Sets the headers for the extension in use and for the authentication challenge.
pub(super) fn head(response: &mut Response, extension: Option<&str>, challenge: Option<&str>) {
    for (name, text) in [(EXTENSIONS, extension), (header::WWW_AUTHENTICATE, challenge)] {
        if let Some(value) = text.and_then(|text| HeaderValue::from_str(text).ok()) {
            response.headers_mut().insert(name, value);
        }
    }
}

/// Returns the log fields of a profile's refusal.
pub(super) fn stamp(refusal: ProfileRefusal) -> LogFields {
    LogFields {
        code: refusal.row.name,
        skill: refusal.skill,
        error_id: refusal.error_id,
        too_often: refusal.blame == ResponsibleParty::TooOften,
        misfits: refusal.misfits,
        ..LogFields::default()
    }
}

/// Returns the log fields of a protocol refusal.
pub(super) fn stamp_of(refusal: &A2aRefusal) -> LogFields {
    let too_often = refusal.code == A2aCode::ResourceExhausted;
    LogFields { code: refusal.code.name(), too_often, ..LogFields::default() }
}

/// Returns the log fields of an answer.
pub(super) fn stamp_answer(agent: &dyn Agent, answer: &AgentAnswer) -> LogFields {
    let skill = if let AgentAnswer::Written(written) = answer { Some(written.skill) } else { None };
    let misfits = agent.misfits_of(answer);
    LogFields { code: agent.code_of(answer), skill, misfits, ..LogFields::default() }
}

/// Writes an answer that an agent has serialised itself, with our own JSON around it.
pub(super) fn written(
    before: String,
    written: SerializedResponse,
    after: &'static str,
) -> Response {
    /// Maximum size in bytes up to which copying costs less than sending the pieces separately.
    const MAX_COPIED_LENGTH: usize = 4 * 1024;
    let SerializedResponse { json, extension, .. } = written;
    let mut pieces = vec![before.into()];
    pieces.extend(json);
    pieces.push(Bytes::from_static(after.as_bytes()));
    let length: usize = pieces.iter().map(Bytes::len).sum();
    let body = if length > MAX_COPIED_LENGTH { in_pieces(pieces) } else { pieces.concat().into() };
    let mut response = json_response(StatusCode::OK, body);
    let uri = HeaderValue::from_static(extension);
    response.headers_mut().insert(EXTENSIONS, uri);
    response
}

/// Creates a body whose pieces are sent without copying.
pub(super) fn in_pieces(pieces: Vec<Bytes>) -> Body {
    Body::new(PiecesBody(pieces.into_iter()))
}

struct PiecesBody(std::vec::IntoIter<Bytes>);

impl HttpBody for PiecesBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        // An empty piece would become an empty frame.
        let next = self.0.by_ref().find(|piece| !piece.is_empty());
        Poll::Ready(next.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_slice().iter().all(Bytes::is_empty)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_slice().iter().map(|piece| piece.len() as u64).sum())
    }
}

/// Serialises a value of ours to a JSON response.
pub(super) fn write<T: Serialize>(envelope: &T) -> Response {
    write_wrapped(envelope, 0)
}

/// Serialises a value to a JSON response. `written` is the size in bytes of the parts of it that
/// are serialised already, for which memory is reserved.
pub(super) fn write_wrapped<T: Serialize>(envelope: &T, written: usize) -> Response {
    const SIZE_OF_ENVELOPE: usize = 1024;
    let mut bytes = Vec::with_capacity(SIZE_OF_ENVELOPE + written);
    match tradepost_document::json::to_writer(&mut bytes, envelope) {
        Ok(()) => json_response(StatusCode::OK, bytes),
        Err(_) => unreachable!("our own envelopes have text keys and finite numbers"),
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn pieces_are_the_same_text_and_state_its_length() {
        for length in [0, 1, 4 * 1024, 4 * 1024 + 1, 100_000] {
            for (before, after) in [("", ""), (r#"{"result":"#, "}")] {
                let json = vec![b'1'; length];
                let text = [before.as_bytes(), &json, after.as_bytes()].concat();
                let written = super::SerializedResponse {
                    json: vec![json.into()],
                    extension: "urn:x",
                    skill: "search",
                };
                let response = super::written(before.to_owned(), written, after);
                assert_eq!(response.headers()[a2a::EXTENSIONS_HEADER], "urn:x");
                let mut body = response.into_body();
                assert_eq!(body.size_hint().exact(), Some(text.len() as u64));
                let mut sent = Vec::new();
                while let Some(frame) = body.frame().await {
                    let piece = frame.unwrap().into_data().unwrap();
                    assert!(!piece.is_empty());
                    sent.extend(piece);
                }
                assert!(body.is_end_stream());
                assert_eq!(sent, text, "{length}");
            }
        }
    }
}
