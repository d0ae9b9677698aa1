//! The HTTP+JSON binding (A2A 1.0 §11): converts path, query and body to requests, and serialises
//! answers. Every error has the format of §11.6.
//!
//! [`http_json`] builds JSON-RPC's `params` from a request, so that all bindings share one parser.
//! On the host of an agent whose card does not list this binding, the paths are unknown.

use std::sync::Arc;

use axum::body::{Body, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
pub(super) use errors::HttpJsonErrors;
use tradepost_a2a::error::{A2aCode, A2aRefusal};
use tradepost_a2a::http_json::{self, MatchedRoute};
use tradepost_a2a::request::{invalid_param, with_violation};
use tradepost_a2a::{self as a2a, A2aRelease, Event, Operation};
use tradepost_document::json::json;

use super::answers::ErrorWriter as _;
use super::exchange::{LoggedResponse, RawRequest, stamped};
use super::head::{asks_for, host};
use super::intake::{BodyError, FullBody};
use super::perform::perform;
use super::plain::not_found;
use super::{answers, denied, intake, sse};
use crate::agent::{Agent, AgentAnswer, Binding, Caller, SharedAgent};
use crate::card::HTTP_JSON_PATH;
use crate::fault::InternalError;
use crate::registry::AgentRegistry;

mod errors;

/// Media type of the binding.
// Requests, responses and errors have this type (A2A 1.0 §11.1, CT-02).
const A2A_JSON: &str = "application/a2a+json";

/// Media type of older clients.
const JSON: &str = "application/json";

/// Handles every path and method under `/rest`.
pub(super) async fn handle(
    State(registry): State<Arc<AgentRegistry>>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let agent = registry.agent(host(&parts.uri, &parts.headers));
    let Some(agent) = &agent.filter(|agent| agent.speaks(Binding::HttpJson)) else {
        return not_found().await;
    };
    let answered = answer(&registry, agent, &parts, body);
    let answered = registry.guard(agent, "answering a request", answered).await;
    let (mut response, stamp) =
        answered.unwrap_or_else(|fault| HttpJsonErrors.internal_error(&**agent, &fault));
    // Streams have another type.
    if let Some(kind) =
        response.headers_mut().get_mut(header::CONTENT_TYPE).filter(|kind| **kind == JSON)
    {
        *kind = HeaderValue::from_static(media_type(&parts.headers));
    }
    stamped(response, stamp, agent)
}

/// Returns the meaning of a path.
fn find(path: &str) -> Option<MatchedRoute> {
    http_json::find(path.strip_prefix(HTTP_JSON_PATH)?)
}

/// Returns a path's template for the log.
pub(super) fn template(path: &str) -> Option<String> {
    find(path).map(|target| format!("{HTTP_JSON_PATH}{}", target.template()))
}

/// Returns the media type for the caller: the older one only when it accepts nothing else.
fn media_type(headers: &HeaderMap) -> &'static str {
    if asks_for(headers, JSON) && !asks_for(headers, A2A_JSON) { JSON } else { A2A_JSON }
}

/// Answers a request of the HTTP+JSON binding.
async fn answer(
    registry: &AgentRegistry,
    agent: &SharedAgent,
    parts: &Parts,
    body: Body,
) -> LoggedResponse {
    let Some(target) = find(parts.uri.path()) else {
        let message = "no operation has this path; read A2A §11.3 for those that do";
        return HttpJsonErrors.protocol(&A2aRefusal::new(A2aCode::MethodNotFound, message), None);
    };
    let Some(operation) = target.operation(parts.method.as_str()) else {
        return wrong_method(&target);
    };
    let bytes = match receive(registry, operation, parts, body).await {
        Ok(bytes) => bytes,
        Err(unread) => return not_taken(unread),
    };
    let caller = match intake::caller(registry, &**agent, parts).await {
        Ok(caller) => caller,
        Err(denied) => return denied::respond(&**agent, &HttpJsonErrors, denied),
    };
    let activated = intake::activated_extensions(&parts.headers);
    let given = RequestFacts { target: &target, operation, activated: &activated, caller: &caller };
    let request = read(&**agent, parts, given, bytes.as_deref());
    let posted = RawRequest { registry, agent, parts, bytes: bytes.as_deref().unwrap_or_default() };
    let release = A2aRelease::V1_0;
    let write = |answer| Ok(result(agent, answer));
    let (response, stamp) =
        perform(posted, &caller, release, &activated, request, &HttpJsonErrors, write).await;
    (response, stamp.by(&caller).with_operation(operation))
}

/// Reads the body, where the operation has one. It is optional where the path is sufficient.
async fn receive<'d>(
    registry: &'d AgentRegistry,
    operation: Operation,
    parts: &Parts,
    body: Body,
) -> Result<Option<FullBody<'d>>, BodyError> {
    // The body of another method has no meaning, and is not read.
    if parts.method != axum::http::Method::POST {
        return Ok(None);
    }
    let optional = matches!(operation, Operation::CancelTask | Operation::SubscribeToTask);
    if optional && body.is_end_stream() {
        return Ok(None);
    }
    let bytes = intake::receive(registry, parts, body).await?;
    Ok(Some(bytes).filter(|bytes| !(optional && bytes.trim_ascii().is_empty())))
}

/// Facts about a request before its parameters are parsed.
#[derive(Clone, Copy)]
struct RequestFacts<'a> {
    target: &'a MatchedRoute,
    operation: Operation,
    activated: &'a [String],
    caller: &'a Caller,
}

/// Builds the request from path, query and body.
fn read(
    agent: &dyn Agent,
    parts: &Parts,
    given: RequestFacts<'_>,
    body: Option<&[u8]>,
) -> Result<a2a::A2aRequest, A2aRefusal> {
    const CONFLICT: &str = "must be as in the path, or absent";
    let RequestFacts { target, operation, activated, caller } = given;
    let (params, conflict) = http_json::params(operation, target, parts.uri.query(), body)?;
    intake::check_version(agent, parts)?;
    let read = agent.accept(A2aRelease::V1_0, operation, activated, caller, Some(params));
    match (read, conflict) {
        (Ok(request), None) => Ok(request),
        (Ok(_), Some(field)) => Err(invalid_param(field, CONFLICT)),
        (Err(refusal), Some(field)) if refusal.code == A2aCode::InvalidParams => {
            Err(with_violation(refusal, field, CONFLICT))
        }
        (Err(refusal), _) => Err(refusal),
    }
}

/// Refuses a method that a path does not support.
fn wrong_method(target: &MatchedRoute) -> LoggedResponse {
    let allowed = target.allowed();
    let refusal = A2aRefusal::new(A2aCode::MethodNotFound, format!("use {allowed} on this path"));
    let status = Some(StatusCode::METHOD_NOT_ALLOWED);
    let (mut response, stamp) = HttpJsonErrors.protocol(&refusal, status);
    if let Ok(value) = HeaderValue::from_str(&allowed) {
        response.headers_mut().insert(header::ALLOW, value);
    }
    (response, stamp)
}

/// Refuses a body that was not read. Another media type is the protocol's own error
/// `CONTENT_TYPE_NOT_SUPPORTED`.
fn not_taken(unread: BodyError) -> LoggedResponse {
    let (mut response, stamp) = if unread == BodyError::OtherType {
        let message = "the Content-Type must be application/a2a+json or application/json";
        let refusal = A2aRefusal::new(A2aCode::ContentTypeNotSupported, message)
            .with("supportedMediaTypes", format!("{A2A_JSON}, {JSON}"));
        HttpJsonErrors.protocol(&refusal, None)
    } else {
        HttpJsonErrors.protocol(&unread.refusal(), Some(unread.status()))
    };
    unread.mark(&mut response);
    (response, stamp)
}

/// Writes an answer of the protocol.
fn result(agent: &SharedAgent, answer: AgentAnswer) -> Response {
    let frame = || RestFrame(Arc::clone(agent));
    match answer {
        AgentAnswer::Written(written) => answers::written(String::new(), written, ""),
        AgentAnswer::Message(message) => answers::write(&Event::Message(message)),
        AgentAnswer::Task(task) => answers::write(&task),
        AgentAnswer::Begun(task) => answers::write(&Event::Task(task)),
        AgentAnswer::Tasks(page) => answers::write(&answers::page(&page)),
        AgentAnswer::PushConfig(config) => answers::write(&config),
        AgentAnswer::PushConfigs(page) => answers::write(&answers::push_configs(&page)),
        AgentAnswer::Done => answers::write(&json!({})),
        AgentAnswer::ExtendedCard(card) => answers::private(answers::write(&card)),
        AgentAnswer::MessageStream(message) => {
            sse::one_event(&answers::json(&Event::Message(message)), &frame())
        }
        AgentAnswer::Stream(events) => sse::task_events(events, frame()),
    }
}

/// Frames of a stream, each of which is a `StreamResponse` alone.
// The data of an event is a StreamResponse (A2A 1.0 §11.7, CT-03).
struct RestFrame(SharedAgent);

impl sse::SseFrame for RestFrame {
    fn event(&self, json: &str, _: bool) -> String {
        json.to_owned()
    }

    /// Writes an event with its own name, so that clients do not read it as a `StreamResponse`,
    /// because the specification has no format for errors in a stream.
    fn internal_error(&self, fault: &InternalError) -> String {
        let (refusal, _) = answers::internal_error(&*self.0, fault);
        format!("event: error\ndata: {}\n\n", errors::body(&refusal, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_accepts_only_the_older_media_type_gets_it() {
        let chosen = |accept: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in accept {
                headers.append(header::ACCEPT, value.parse().unwrap());
            }
            media_type(&headers)
        };
        assert_eq!(chosen(&[]), A2A_JSON);
        assert_eq!(chosen(&["*/*"]), A2A_JSON);
        assert_eq!(chosen(&["text/html, application/JSON;q=0.8"]), JSON);
        assert_eq!(chosen(&["application/json, application/a2a+json"]), A2A_JSON);
        assert_eq!(chosen(&["application/json", "application/a2a+json"]), A2A_JSON);
    }
}
