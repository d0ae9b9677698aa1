//! The JSON-RPC binding: bytes become a request for the desk, and what the desk says becomes
//! bytes. Errors are HTTP 200 (C-30) except where the transport itself refuses, or the caller may not.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Serialize;
use tradepost_wire::a2a::error::{Code, Refusal as ProtocolRefusal};
use tradepost_wire::a2a::{self, DataPart, Event, MessageResult, Operation, Role};
use tradepost_wire::aap::error::{Code as AapCode, ErrorObject};
use tradepost_wire::aap::{Refusal, Reply, ReplyData, Version};
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::jsonrpc::{self, Id};

use super::observe::Stamp;
use super::{answers, denied, host, intake, json_response, not_found, sse};
use crate::desk::{Agent, Answer, Caller, Desk, Incoming, Outcome};
use crate::fault::Fault;

/// `POST /a2a`.
pub(super) async fn post(State(desk): State<Arc<Desk>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let host = host(&parts.uri, &parts.headers);
    let Some(agent) = desk.agent(host) else {
        return not_found().await;
    };
    let (mut response, mut stamp) = match intake::receive(&desk, &parts.headers, body).await {
        Ok(bytes) => match intake::caller(&desk, agent, &parts).await {
            Ok(caller) => answer(&desk, agent, &caller, &parts, &bytes).await,
            Err(denied) => denied::respond(&desk, agent, &Id::null(), denied),
        },
        Err((status, message)) => {
            let refusal = ProtocolRefusal::new(unread(agent, status), message);
            let (mut response, stamp) = protocol_error(&Id::null(), &refusal);
            *response.status_mut() = status;
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
        Agent::Conformance(_) | Agent::Dealer(_) => Code::InvalidRequest,
    }
}

async fn answer(
    desk: &Desk,
    agent: &Agent,
    caller: &Caller,
    parts: &Parts,
    bytes: &[u8],
) -> Parcel {
    let envelope = match jsonrpc::read(bytes) {
        Ok(envelope) => envelope,
        Err(reject) => {
            let refusal = ProtocolRefusal::new(reject.code, reject.message);
            return protocol_error(&reject.id, &refusal);
        }
    };
    let id = &envelope.id;
    let activated = intake::activated_extensions(&parts.headers);
    let request = intake::check_version(agent, parts)
        .and_then(|()| operation(&envelope.method))
        .and_then(|operation| agent.accept(operation, &activated, envelope.params.as_ref()));
    let request = match request {
        Ok(request) => request,
        Err(refusal) => return protocol_error(id, &refusal),
    };
    let context_id = context_of(&request);
    let resume_after = intake::resume_after(&parts.headers);
    let incoming = Incoming { caller, activated: &activated, request, resume_after };
    let outcome = desk.perform(agent, incoming).await;
    let (mut response, stamp) = respond(desk, agent, id, context_id, outcome);
    // Who activates an extension is told which ones are in use (X-04); a dealer's profile always is.
    answers::echo_extensions(&mut response, agent, &activated);
    (response, stamp)
}

/// The conversation that a message names.
fn context_of(request: &a2a::Request) -> Option<String> {
    match request {
        a2a::Request::SendMessage(send) | a2a::Request::SendStreamingMessage(send) => {
            send.message.context_id.clone()
        }
        a2a::Request::GetTask { .. }
        | a2a::Request::ListTasks(_)
        | a2a::Request::CancelTask { .. }
        | a2a::Request::SubscribeToTask { .. }
        | a2a::Request::CreatePushConfig(_)
        | a2a::Request::GetPushConfig { .. }
        | a2a::Request::ListPushConfigs { .. }
        | a2a::Request::DeletePushConfig { .. }
        | a2a::Request::GetExtendedAgentCard => None,
    }
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

/// An answer with what the log says about it.
pub(super) type Parcel = (Response, Stamp);

/// Turns what the desk says into bytes: the only place that does.
fn respond(
    desk: &Desk,
    agent: &Agent,
    id: &Id,
    context_id: Option<String>,
    outcome: Outcome,
) -> Parcel {
    match outcome {
        Outcome::Reply(version, reply) => told(version, success(id, context_id, version, reply)),
        Outcome::Refusal(version, refusal) => {
            let limited = refusal.code == AapCode::RateLimited;
            let (mut response, stamp) = refused(id, stamp_error(desk, version, refusal));
            if limited && agent.answers_429() {
                *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
            }
            told(version, (response, stamp))
        }
        Outcome::Fault(version, fault) => told(version, failed(desk, agent, id, version, &fault)),
        Outcome::Denied(denied) => denied::respond(desk, agent, id, denied),
        Outcome::Protocol(refusal) => protocol_error(id, &refusal),
        Outcome::Broken(fault) => {
            let (refusal, error_id) = answers::broken(agent, &fault);
            let (response, stamp) = protocol_error(id, &refusal);
            (response, Stamp { error_id: Some(error_id), ..stamp })
        }
        Outcome::Answer(answer) => (result(agent, id, *answer), unstamped()),
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
        Answer::PushConfigs(configs) => succeed(id, answers::push_configs(&configs)),
        Answer::Done => succeed(id, serde_json::Value::Null),
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

/// A dealer's answer names the version of the profile that it is in.
pub(super) fn told(version: Version, (mut response, stamp): Parcel) -> Parcel {
    let uri = HeaderValue::from_static(version.uri());
    response.headers_mut().insert(a2a::EXTENSIONS_HEADER, uri);
    (response, stamp)
}

/// A dealer's answer to a fault of ours, whose cause is in the log alone.
pub(super) fn failed(
    desk: &Desk,
    agent: &Agent,
    id: &Id,
    version: Version,
    fault: &Fault,
) -> Parcel {
    let error = stamp_error(desk, version, Refusal::internal_error());
    tracing::error!(
        agent = %agent.id(),
        error_id = %error.error_id,
        cause = %fault.chain(),
        "a message could not be answered"
    );
    refused(id, error)
}

pub(super) fn stamp_error(desk: &Desk, version: Version, refusal: Refusal) -> ErrorObject {
    let error_id = format!("err_{}", uuid::Uuid::now_v7().simple());
    refusal.stamp(version, error_id, desk.clock.now())
}

fn success(id: &Id, context_id: Option<String>, version: Version, reply: Reply) -> Parcel {
    let fresh = || uuid::Uuid::now_v7().to_string();
    let skill = reply.skill;
    let size = size_of(&reply.data);
    let message = a2a::Answer {
        message_id: fresh(),
        context_id: context_id.unwrap_or_else(fresh),
        role: Role::Agent,
        parts: [DataPart { media_type: skill.response_media_type(), data: reply }],
        extensions: vec![version.uri()],
    };
    let result = MessageResult { message };
    let response = write(&Success { jsonrpc: "2.0", id, result }, size);
    (response, Stamp { code: "OK", skill: Some(skill.name()), ..unstamped() })
}

pub(super) fn refused(id: &Id, error: ErrorObject) -> Parcel {
    const SIZE_OF_PROBLEM: usize = 256;
    let code = error.refusal.code;
    let size = error.refusal.problems.listed().len() * SIZE_OF_PROBLEM;
    let body =
        ErrorBody { code: code.jsonrpc(), message: &error.jsonrpc_message(), data: Some(&error) };
    let mut response = write(&Failure { jsonrpc: "2.0", id, error: body }, size);
    if code == AapCode::RateLimited
        && let Some(seconds) = error.refusal.details.get("retry_after_seconds")
        && let Ok(value) = HeaderValue::from_str(&seconds.to_string())
    {
        response.headers_mut().insert(header::RETRY_AFTER, value);
    }
    let error_id = Some(error.error_id);
    (response, Stamp { code: code.name(), error_id, ..unstamped() })
}

pub(super) fn protocol_error(id: &Id, refusal: &ProtocolRefusal) -> Parcel {
    let response = write(&Failure { jsonrpc: "2.0", id, error: error_body(refusal) }, 0);
    (response, Stamp { code: refusal.code.name(), ..unstamped() })
}

fn error_body(refusal: &ProtocolRefusal) -> ErrorBody<'_, ProtocolRefusal> {
    ErrorBody {
        code: refusal.code.jsonrpc(),
        message: &refusal.message,
        data: refusal.has_details().then_some(refusal),
    }
}

fn unstamped() -> Stamp {
    Stamp { agent: None, code: "OK", skill: None, error_id: None }
}

fn succeed(id: &Id, result: impl Serialize) -> Response {
    write(&Success { jsonrpc: "2.0", id, result }, 0)
}

/// About how long the answer's data is, as far as that is known without writing it.
fn size_of(data: &ReplyData) -> usize {
    match data {
        ReplyData::Page(page) => {
            page.vehicles.iter().map(|vehicle| vehicle.as_json().len() + 1).sum()
        }
        ReplyData::Vehicle(vehicle) => vehicle.as_json().len(),
        ReplyData::Dealer(_) | ReplyData::Facets(_) | ReplyData::Lead(_) => 0,
    }
}

/// `size` is about how long the part is that varies: a buffer that has to grow is copied.
fn write<T: Serialize>(envelope: &T, size: usize) -> Response {
    const SIZE_OF_ENVELOPE: usize = 1024;
    let mut bytes = Vec::with_capacity(SIZE_OF_ENVELOPE + size);
    match serde_json::to_writer(&mut bytes, envelope) {
        Ok(()) => json_response(StatusCode::OK, bytes),
        Err(_) => unreachable!("our own envelopes have text keys and finite numbers"),
    }
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
