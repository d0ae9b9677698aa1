//! The gRPC binding (A2A 1.0 §10): converts paths and protobuf messages to requests, and results to
//! protobuf messages and a status.
//!
//! A message is converted to the equivalent JSON ([`protobuf`]), which the other bindings read too,
//! so that parameters have one parser and the same names in error messages:
//! `message.parts[0].data`. Answers are converted from the same JSON. Calls, deadlines and statuses
//! are handled here ([`call`], [`errors`]) instead of by a framework, whose refusals would have no
//! details.
//!
//! On the host of an agent whose card does not list this binding, and on unknown hosts, the service
//! is unknown.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, Version, header};
use axum::response::{IntoResponse as _, Response};
use call::Deadline;
use errors::{GrpcErrors, GrpcFailure};
use serde::Serialize;
use tradepost_a2a::error::{A2aCode, A2aRefusal};
use tradepost_a2a::protobuf::{self, schema};
use tradepost_a2a::{A2aRelease, Event, Operation};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};

use super::answers::ErrorWriter as _;
use super::exchange::{LoggedResponse, RawRequest, stamped};
use super::head::host;
use super::perform::perform;
use super::plain::{not_found, plain_error};
use super::{answers, denied, intake};
use crate::agent::{AgentAnswer, Binding, SharedAgent};
use crate::fault::InternalError;
use crate::registry::AgentRegistry;

mod call;
mod errors;
pub(super) mod health;
pub(super) mod reflection;
mod stream;

/// Path prefix of the methods: package and service, as published.
const SERVICE: &str = "/lf.a2a.v1.A2AService/";

/// Path of the service, for the router.
pub(super) const ROUTE: &str = "/lf.a2a.v1.A2AService/{method}";

/// Handles every method of the service.
pub(super) async fn handle(
    State(registry): State<Arc<AgentRegistry>>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let agent = match called_agent(&registry, &parts).await {
        Ok(agent) => agent,
        Err(refused) => return *refused,
    };
    let agent = &agent;
    let (response, stamp) = match Deadline::from_headers(&parts.headers) {
        Ok(deadline) => {
            let answered = answer(&registry, agent, &parts, body, deadline);
            let answered = registry.guard(agent, "answering a request", answered);
            match deadline.limit(answered).await {
                Some(Ok(logged)) => logged,
                Some(Err(fault)) => GrpcErrors.internal_error(&**agent, &fault),
                None => errors::deadline_exceeded().into_logged_response(),
            }
        }
        Err(message) => GrpcFailure::from(&A2aRefusal::new(A2aCode::InvalidRequest, message))
            .into_logged_response(),
    };
    stamped(response, stamp, agent)
}

/// Returns the agent of the host that was called, or the answer where it does not speak this binding or the request is no
/// gRPC call.
async fn called_agent(
    registry: &AgentRegistry,
    parts: &Parts,
) -> Result<SharedAgent, Box<Response>> {
    let agent = registry.agent(host(&parts.uri, &parts.headers));
    let Some(agent) = agent.filter(|agent| agent.speaks(Binding::Grpc)) else {
        return Err(Box::new(unknown(parts).await));
    };
    match respond_not_grpc(parts) {
        Some(refused) => Err(Box::new(refused)),
        None => Ok(agent),
    }
}

/// Answers an unknown service: in the format of gRPC where the caller uses it.
pub(super) async fn unknown(parts: &Parts) -> Response {
    if call::is_grpc(&parts.headers) && parts.version >= Version::HTTP_2 {
        errors::unknown_service().into_logged_response().0
    } else {
        not_found().await
    }
}

/// Returns a path of this service for the log.
pub(super) fn template(path: &str) -> Option<String> {
    if let Some(known) = health::template(path).or_else(|| reflection::template(path)) {
        return Some(known);
    }
    // Only known names, so that the log contains no text of a caller.
    Operation::from_name(path.strip_prefix(SERVICE)?).map(|_| path.to_owned())
}

/// Creates an HTTP response for a gRPC answer, whose HTTP status is always 200.
fn head(body: Body) -> Response {
    const ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");
    let grpc = HeaderValue::from_static("application/grpc");
    let plain = HeaderValue::from_static("identity");
    ([(header::CONTENT_TYPE, grpc), (ENCODING, plain)], body).into_response()
}

/// Answers a request that is no gRPC call, with an HTTP status as gRPC requires.
fn respond_not_grpc(parts: &Parts) -> Option<Response> {
    if parts.method != Method::POST {
        let message = "call methods with POST";
        let mut response = plain_error(StatusCode::METHOD_NOT_ALLOWED, "UNIMPLEMENTED", message);
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
        return Some(response);
    }
    if !call::is_grpc(&parts.headers) {
        let message = "the Content-Type must be application/grpc";
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Some(plain_error(status, "INVALID_ARGUMENT", message));
    }
    if parts.version < Version::HTTP_2 {
        let status = StatusCode::HTTP_VERSION_NOT_SUPPORTED;
        let mut response = plain_error(status, "UNIMPLEMENTED", "gRPC needs HTTP/2");
        // The rest of the body would be read as the next request.
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        return Some(response);
    }
    None
}

/// Answers a call of the gRPC binding.
async fn answer(
    registry: &AgentRegistry,
    agent: &SharedAgent,
    parts: &Parts,
    body: Body,
    deadline: Deadline,
) -> LoggedResponse {
    let name = parts.uri.path().strip_prefix(SERVICE).unwrap_or_default();
    let Some(operation) = Operation::from_name(name) else {
        return GrpcFailure::from(&unknown_method(name)).into_logged_response();
    };
    let bytes = match call::receive(registry, parts, body).await {
        Ok(bytes) => bytes,
        Err(failure) => return failure.into_logged_response(),
    };
    let caller = match intake::caller(registry, &**agent, parts).await {
        Ok(caller) => caller,
        Err(denied) => return denied::respond(&**agent, &GrpcErrors, denied),
    };
    let activated = intake::activated_extensions(&parts.headers);
    let request = protobuf::read(schema::request(operation), &bytes)
        .map_err(|reject| A2aRefusal::new(reject.code, reject.message))
        .and_then(|params| {
            intake::check_version(&**agent, parts)?;
            agent.accept(A2aRelease::V1_0, operation, &activated, &caller, Some(params))
        });
    let posted = RawRequest { registry, agent, parts, bytes: &bytes };
    let release = A2aRelease::V1_0;
    let write = |answer| result(agent, operation, answer, deadline);
    let (response, stamp) =
        perform(posted, &caller, release, &activated, request, &GrpcErrors, write).await;
    (response, stamp.by(&caller).with_operation(operation))
}

/// Refuses an unknown method, and suggests a similar one.
fn unknown_method(name: &str) -> A2aRefusal {
    match Operation::from_similar_method(name).map(Operation::name) {
        Some(meant) => {
            let message = format!("method not found; did you mean {meant}?");
            A2aRefusal::new(A2aCode::MethodNotFound, message).with("suggestion", meant)
        }
        None => {
            let message = "method not found; read A2A §10.3 for those that there are";
            A2aRefusal::new(A2aCode::MethodNotFound, message)
        }
    }
}

/// Writes an answer of the protocol.
fn result(
    agent: &SharedAgent,
    operation: Operation,
    answer: AgentAnswer,
    deadline: Deadline,
) -> Result<Response, InternalError> {
    let document = match answer {
        AgentAnswer::Message(message) | AgentAnswer::MessageStream(message) => {
            document(&Event::Message(message))
        }
        AgentAnswer::Written(written) => {
            // The agent serialised it as JSON for the other bindings.
            tradepost_document::json::from_slice(&written.json.concat())
                .map_err(InternalError::on("reading an answer"))
        }
        AgentAnswer::Begun(task) => document(&Event::Task(task)),
        AgentAnswer::Task(task) => document(&task),
        AgentAnswer::Tasks(page) => Ok(answers::page(&page)),
        AgentAnswer::PushConfig(config) => document(&config),
        AgentAnswer::PushConfigs(configs) => Ok(answers::push_configs(&configs)),
        AgentAnswer::Done => Ok(json!({})),
        AgentAnswer::ExtendedCard(card) => {
            let response = stream::one_message(message(operation, &card)?);
            return Ok(answers::private(response));
        }
        AgentAnswer::Stream(events) => {
            return Ok(stream::task_events(events, Arc::clone(agent), deadline));
        }
    };
    Ok(stream::one_message(message(operation, &document?)?))
}

fn document(answer: &impl Serialize) -> Result<Value, InternalError> {
    tradepost_document::json::to_value(answer).map_err(InternalError::on("writing an answer"))
}

/// Encodes an answer as a message of the operation's type.
fn message(operation: Operation, document: &Value) -> Result<Vec<u8>, InternalError> {
    protobuf::write(schema::answer(operation), document)
        .map_err(InternalError::on("writing an answer"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_names_methods_and_nothing_a_caller_made_up() {
        for operation in Operation::NAMES {
            let path = format!("{SERVICE}{operation}");
            assert_eq!(template(&path), Some(path));
        }
        assert_eq!(template("/lf.a2a.v1.A2AService/ada@example.com"), None);
        assert!(ROUTE.starts_with(SERVICE));
    }
}
