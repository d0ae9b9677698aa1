//! The JSON-RPC binding: bytes become a request for the desk, and what the desk says becomes
//! bytes. Errors are HTTP 200 (C-30) except where the transport itself refuses, or the caller may not.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Serialize;
use tradepost_wire::a2a::error::{Code, Refusal as ProtocolRefusal};
use tradepost_wire::a2a::{Event, Operation};
use tradepost_wire::aap::error::{Code as AapCode, ErrorObject};
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::jsonrpc::{self, Id};

use super::answers::{Dialect, Parcel, context_of, stamp_error, told, unstamped};
use super::observe::Stamp;
use super::{answers, denied, host, intake, not_found, publisher, sse};
use crate::desk::{Agent, Answer, Binding, Caller, Desk, Incoming, Outcome};
use crate::fault::Fault;

/// `POST /a2a`.
pub(super) async fn post(State(desk): State<Arc<Desk>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let host = host(&parts.uri, &parts.headers);
    let Some(agent) = desk.agent(host) else {
        return not_found().await;
    };
    let (mut response, mut stamp) = match intake::receive(&desk, &parts.headers, body).await {
        Ok(bytes) => match agent {
            Agent::Publisher(publisher) => {
                publisher::answer(&desk, agent, publisher, &parts, &bytes).await
            }
            Agent::Dealer(_) | Agent::Conformance(_) => admit(&desk, agent, &parts, &bytes).await,
        },
        Err((status, message)) => {
            let refusal = ProtocolRefusal::new(unread(agent, status), message);
            let (mut response, stamp) = JsonRpc(&Id::null()).protocol(&refusal, Some(status));
            // What is left of the body would be read as the next request.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            (response, stamp)
        }
    };
    stamp.agent = Some(agent.clone());
    response.extensions_mut().insert(stamp);
    response
}

/// The code for a body that was not taken. A body of another type has no rule in A2A, and the
/// official kit expects that of a part of another type; a dealer's profile has decided otherwise
/// (`E-005`).
fn unread(agent: &Agent, status: StatusCode) -> Code {
    match agent {
        Agent::Conformance(_) if status == StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            Code::ContentTypeNotSupported
        }
        Agent::Conformance(_) | Agent::Dealer(_) | Agent::Publisher(_) => Code::InvalidRequest,
    }
}

async fn admit(desk: &Desk, agent: &Agent, parts: &Parts, bytes: &[u8]) -> Parcel {
    let caller = match intake::caller(desk, agent, parts).await {
        Ok(caller) => caller,
        Err(denied) => return denied::respond(desk, agent, &JsonRpc(&Id::null()), denied),
    };
    match jsonrpc::read(bytes) {
        Ok(envelope) => answer(desk, agent, &caller, parts, envelope).await,
        Err(reject) => rejected(&reject),
    }
}

/// What is said to bytes that are no request.
pub(super) fn rejected(reject: &jsonrpc::Reject) -> Parcel {
    let refusal = ProtocolRefusal::new(reject.code, reject.message);
    JsonRpc(&reject.id).protocol(&refusal, None)
}

/// Has a request of a caller that was let in answered.
pub(super) async fn answer(
    desk: &Desk,
    agent: &Agent,
    caller: &Caller,
    parts: &Parts,
    envelope: jsonrpc::Request,
) -> Parcel {
    let id = &envelope.id;
    let activated = intake::activated_extensions(&parts.headers);
    let request = intake::check_version(agent, parts)
        .and_then(|()| operation(&envelope.method))
        .and_then(|operation| agent.accept(operation, &activated, envelope.params.as_ref()));
    let request = match request {
        Ok(request) => request,
        Err(refusal) => return JsonRpc(id).protocol(&refusal, None),
    };
    let context_id = context_of(&request);
    let resume_after = intake::resume_after(&parts.headers);
    let binding = Binding::JsonRpc;
    let incoming = Incoming { binding, caller, activated: &activated, request, resume_after };
    let outcome = desk.perform(agent, incoming).await;
    let (mut response, stamp) = respond(desk, agent, id, context_id, outcome);
    // Who activates an extension is told which ones are in use (X-04); a dealer's profile always is.
    answers::echo_extensions(&mut response, agent, &activated);
    (response, stamp)
}

/// The operation of this name (`E-015`, `E-016`).
fn operation(method: &str) -> Result<Operation, ProtocolRefusal> {
    Operation::from_name(method).ok_or_else(|| {
        let message = if method.contains('/') {
            "method not found; A2A 1.0 calls it SendMessage"
        } else {
            "method not found; use SendMessage"
        };
        ProtocolRefusal::new(Code::MethodNotFound, message)
    })
}

/// Turns what the desk says into bytes: the only place that does.
fn respond(
    desk: &Desk,
    agent: &Agent,
    id: &Id,
    context_id: Option<String>,
    outcome: Outcome,
) -> Parcel {
    let dialect = JsonRpc(id);
    match outcome {
        Outcome::Reply(version, reply) => {
            let (result, stamp, size) = answers::message(context_id, version, reply);
            let response = answers::write(&Success { jsonrpc: "2.0", id, result }, size);
            told(version, (response, stamp))
        }
        Outcome::Refusal(version, refusal) => {
            let limited = refusal.code == AapCode::RateLimited && agent.answers_429();
            let status = limited.then_some(StatusCode::TOO_MANY_REQUESTS);
            told(version, dialect.refused(stamp_error(desk, version, refusal), status))
        }
        Outcome::Fault(version, fault) => {
            told(version, dialect.refused(answers::failed(desk, agent, version, &fault), None))
        }
        Outcome::Denied(denied) => denied::respond(desk, agent, &dialect, denied),
        Outcome::Protocol(refusal) => dialect.protocol(&refusal, None),
        Outcome::Broken(fault) => {
            let (refusal, error_id) = answers::broken(agent, &fault);
            let (response, stamp) = dialect.protocol(&refusal, None);
            (response, Stamp { error_id: Some(error_id), ..stamp })
        }
        Outcome::Answer(answer) => (result(agent, id, *answer), unstamped()),
    }
}

/// Errors as members of an envelope with this id. The HTTP status is 200 where none is asked for.
pub(super) struct JsonRpc<'a>(pub(super) &'a Id);

impl Dialect for JsonRpc<'_> {
    fn protocol(&self, refusal: &ProtocolRefusal, status: Option<StatusCode>) -> Parcel {
        let error = error_body(refusal);
        let mut response = answers::write(&Failure { jsonrpc: "2.0", id: self.0, error }, 0);
        *response.status_mut() = status.unwrap_or(StatusCode::OK);
        (response, Stamp { code: refusal.code.name(), ..unstamped() })
    }

    fn refused(&self, error: ErrorObject, status: Option<StatusCode>) -> Parcel {
        const SIZE_OF_PROBLEM: usize = 256;
        let code = error.refusal.code;
        let size = error.refusal.problems.listed().len() * SIZE_OF_PROBLEM;
        let message = &error.jsonrpc_message();
        let body = ErrorBody { code: code.jsonrpc(), message, data: Some(&error) };
        let failure = Failure { jsonrpc: "2.0", id: self.0, error: body };
        let mut response = answers::write(&failure, size);
        *response.status_mut() = status.unwrap_or(StatusCode::OK);
        answers::retry_after(&mut response, &error.refusal);
        let error_id = Some(error.error_id);
        (response, Stamp { code: code.name(), error_id, ..unstamped() })
    }

    fn binding(&self) -> Binding {
        Binding::JsonRpc
    }
}

/// An answer of the protocol itself.
fn result(agent: &Agent, id: &Id, answer: Answer) -> Response {
    match answer {
        Answer::Message(message) => succeed(id, Event::Message(message)),
        Answer::Task(task) => succeed(id, task),
        Answer::Begun(task) => succeed(id, Event::Task(task)),
        Answer::Tasks(page) => succeed(id, answers::page(&page)),
        Answer::PushConfig(config) => succeed(id, config),
        Answer::PushConfigs(page) => succeed(id, answers::push_configs(&page)),
        Answer::Done => succeed(id, serde_json::Value::Null),
        Answer::ExtendedCard(card) => answers::private(succeed(id, card)),
        Answer::MessageStream(message) => {
            let frame = Frame { id: id.clone(), agent: agent.clone() };
            sse::one_event(&answers::json(&Event::Message(message)), &frame)
        }
        Answer::Stream(events) => {
            sse::task_events(events, Frame { id: id.clone(), agent: agent.clone() })
        }
    }
}

/// An event of a stream is a whole JSON-RPC answer (C-03).
struct Frame {
    id: Id,
    agent: Agent,
}

impl sse::Frame for Frame {
    fn event(&self, json: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{json}}}"#, self.id.as_json())
    }

    fn broken(&self, fault: &Fault) -> String {
        let (refusal, _) = answers::broken(&self.agent, fault);
        let error = error_body(&refusal);
        let failure = Failure { jsonrpc: "2.0", id: &self.id, error };
        format!("data: {}\n\n", answers::json(&failure))
    }
}

fn error_body(refusal: &ProtocolRefusal) -> ErrorBody<'_, ProtocolRefusal> {
    ErrorBody {
        code: refusal.code.jsonrpc(),
        message: &refusal.message,
        data: refusal.has_details().then_some(refusal),
    }
}

pub(super) fn succeed(id: &Id, result: impl Serialize) -> Response {
    answers::write(&Success { jsonrpc: "2.0", id, result }, 0)
}

#[derive(Serialize)]
struct Success<'a, T> {
    jsonrpc: &'static str,
    id: &'a Id,
    result: T,
}

#[derive(Serialize)]
struct Failure<'a, D> {
    jsonrpc: &'static str,
    id: &'a Id,
    error: ErrorBody<'a, D>,
}

#[derive(Serialize)]
struct ErrorBody<'a, D> {
    code: i32,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a D>,
}
