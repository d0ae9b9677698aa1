//! The JSON-RPC binding (A2A 1.0 §9): parses requests and serialises answers. Errors have HTTP
//! status 200 except refusals by the transport and of authentication.
// AAP names status 429 for rate limits, but JSON-RPC answers with 200 by default, because some SDKs
// drop other bodies (C-30).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use tradepost_a2a::error::{A2aCode, A2aRefusal as ProtocolRefusal};
use tradepost_a2a::jsonrpc::{self, Id};
use tradepost_a2a::{A2aRelease, Event, Operation, older};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;

use super::answers::ErrorWriter;
use super::exchange::{LogFields, LoggedResponse, RawRequest, stamped};
use super::head::host;
use super::intake::BodyError;
use super::plain::{json_response, not_found};
use super::sse::SseFrame as _;
use super::{answers, cors, denied, intake, sse};
use crate::agent::{Agent, AgentAnswer, Binding, Caller, ProfileRefusal, SharedAgent};
use crate::fault::InternalError;
use crate::registry::AgentRegistry;

/// Handles `POST /a2a`.
pub(super) async fn post(State(registry): State<Arc<AgentRegistry>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let host = host(&parts.uri, &parts.headers);
    let Some(agent) = &registry.agent(host) else {
        return not_found().await;
    };
    let (mut response, stamp) = match intake::receive(&registry, &parts, body).await {
        Ok(bytes) => {
            let posted = RawRequest { registry: &registry, agent, parts: &parts, bytes: &bytes };
            let answered = async {
                match agent.posted(posted) {
                    Some(answer) => answer.await,
                    None => admit(posted).await,
                }
            };
            registry.guard(agent, "answering a request", answered).await.unwrap_or_else(|fault| {
                let id = jsonrpc::read(&bytes).map_or_else(|reject| reject.id, |sent| sent.id);
                RpcErrors(&id).internal_error(&**agent, &fault)
            })
        }
        Err(unread) => {
            let refusal = not_taken(&**agent, unread);
            let status = Some(unread.status());
            let (mut response, stamp) = RpcErrors(&Id::null()).protocol(&refusal, status);
            unread.mark(&mut response);
            (response, stamp)
        }
    };
    cors::open(&registry, &parts.headers, &mut response);
    stamped(response, stamp, agent)
}

/// Returns the refusal of a body that was not read.
fn not_taken(agent: &dyn Agent, unread: BodyError) -> ProtocolRefusal {
    let mut refusal = unread.refusal();
    if unread == BodyError::OtherType {
        refusal.code = agent.other_media_type();
    }
    refusal
}

/// Authenticates the caller, parses the body and answers.
async fn admit(posted: RawRequest<'_>) -> LoggedResponse {
    let RawRequest { registry, agent, parts, bytes } = posted;
    // Authentication comes before parsing, so a refused caller learns nothing about its body, not
    // even its id.
    let caller = match intake::caller(registry, &**agent, parts).await {
        Ok(caller) => caller,
        Err(denied) => return denied::respond(&**agent, &RpcErrors(&Id::null()), denied),
    };
    match jsonrpc::read(bytes) {
        Ok(envelope) => answer(posted, &caller, envelope).await,
        Err(reject) => rejected(&reject),
    }
}

/// Answers bytes that are not a request.
pub fn rejected(reject: &jsonrpc::RpcReject) -> LoggedResponse {
    RpcErrors(&reject.id).protocol(&reject.refusal(), None)
}

/// Performs an authenticated caller's request.
pub async fn answer(
    posted: RawRequest<'_>,
    caller: &Caller,
    envelope: jsonrpc::RpcRequest,
) -> LoggedResponse {
    let of = |release: A2aRelease| release.operation(&envelope.method);
    // For the log, also where the request is refused before its release is known.
    let operation = of(A2aRelease::V1_0).or_else(|| of(A2aRelease::V0_3));
    let (response, stamp) = perform(posted, caller, envelope).await;
    (response, LogFields { operation: operation.map(Operation::name), ..stamp.by(caller) })
}

/// Performs a request in the release that the caller names.
async fn perform(
    posted: RawRequest<'_>,
    caller: &Caller,
    envelope: jsonrpc::RpcRequest,
) -> LoggedResponse {
    let RawRequest { agent, parts, .. } = posted;
    let id = &envelope.id;
    let params = envelope.params;
    let release = match intake::release(&**agent, parts, &envelope.method) {
        Ok(release) => release,
        Err(refusal) => return RpcErrors(id).protocol(&refusal, None),
    };
    let activated = intake::extensions_of(&parts.headers, release);
    let request = operation(release, &envelope.method)
        .and_then(|operation| agent.accept(release, operation, &activated, caller, params));
    let write = |answer| Ok(result(agent, id, release, answer));
    let errors = RpcErrors(id);
    super::perform::perform(posted, caller, release, &activated, request, &errors, write).await
}

/// Returns the operation of a method name.
// An unknown method gets -32601 with a suggestion, also when it is the name in A2A 0.3 (E-015,
// E-016).
fn operation(release: A2aRelease, method: &str) -> Result<Operation, ProtocolRefusal> {
    release.operation(method).ok_or_else(|| {
        let suggested =
            Operation::from_similar_method(method).and_then(|meant| release.method(meant));
        let message = match (release, suggested) {
            (A2aRelease::V1_0, Some(name)) if older::is_method(method) => {
                format!("method not found; A2A 1.0 calls it {name}")
            }
            (A2aRelease::V1_0 | A2aRelease::V0_3, Some(name)) => {
                format!("method not found; did you mean {name}?")
            }
            (A2aRelease::V0_3, None) => {
                "method not found; A2A 0.3 has message/send, and 1.0 SendMessage".to_owned()
            }
            (A2aRelease::V1_0, None) => "method not found; use SendMessage".to_owned(),
        };
        let refusal = ProtocolRefusal::new(A2aCode::MethodNotFound, message);
        match suggested {
            Some(name) => refusal.with("suggestion", name),
            None => refusal,
        }
    })
}

/// Writer of errors in an envelope with this id. The HTTP status is the given one or
/// [`A2aCode::jsonrpc_http`].
#[derive(Debug)]
pub struct RpcErrors<'a>(pub &'a Id);

impl ErrorWriter for RpcErrors<'_> {
    fn protocol(&self, refusal: &ProtocolRefusal, status: Option<StatusCode>) -> LoggedResponse {
        let error = error_body(refusal);
        let mut response = answers::write(&RpcFailure { jsonrpc: "2.0", id: self.0, error });
        let usual = StatusCode::from_u16(refusal.code.jsonrpc_http()).unwrap_or(StatusCode::OK);
        *response.status_mut() = status.unwrap_or(usual);
        answers::mark_refusal(&mut response, refusal);
        (response, answers::stamp_of(refusal))
    }

    fn profile(&self, refusal: ProfileRefusal) -> LoggedResponse {
        let ProfileRefusal { row, summary, document, .. } = &refusal;
        let error = ErrorBody { code: row.jsonrpc, message: summary, data: Some(document) };
        let failure = RpcFailure { jsonrpc: "2.0", id: self.0, error };
        // The summary is a short form of the document.
        let mut response = answers::write_wrapped(&failure, document.get().len() + summary.len());
        let status = refusal.jsonrpc_status.and_then(|status| StatusCode::from_u16(status).ok());
        *response.status_mut() = status.unwrap_or(StatusCode::OK);
        answers::set_retry_headers(&mut response, &refusal);
        (response, answers::stamp(refusal))
    }

    fn binding(&self) -> Binding {
        Binding::JsonRpc
    }
}

/// Writes an answer of the protocol.
fn result(agent: &SharedAgent, id: &Id, release: A2aRelease, answer: AgentAnswer) -> Response {
    let frame = || RpcFrame { id: id.clone(), agent: Arc::clone(agent), release };
    match (release, answer) {
        (_, AgentAnswer::Done) => succeed(id, Value::Null),
        (_, AgentAnswer::ExtendedCard(card)) => answers::private(succeed(id, card)),
        (_, AgentAnswer::MessageStream(message)) => {
            sse::one_event(&answers::json(&Event::Message(message)), &frame())
        }
        (_, AgentAnswer::Stream(events)) => sse::task_events(events, frame()),
        (A2aRelease::V1_0, AgentAnswer::Written(written)) => {
            let before = format!(r#"{{"jsonrpc":"2.0","id":{},"result":"#, id.as_json());
            answers::written(before, written, "}")
        }
        (A2aRelease::V1_0, AgentAnswer::Message(message)) => succeed(id, Event::Message(message)),
        (A2aRelease::V1_0, AgentAnswer::Task(task)) => succeed(id, task),
        (A2aRelease::V1_0, AgentAnswer::Begun(task)) => succeed(id, Event::Task(task)),
        (A2aRelease::V1_0, AgentAnswer::Tasks(page)) => succeed(id, answers::page(&page)),
        (A2aRelease::V1_0, AgentAnswer::PushConfig(config)) => succeed(id, config),
        (A2aRelease::V1_0, AgentAnswer::PushConfigs(page)) => {
            succeed(id, answers::push_configs(&page))
        }
        (A2aRelease::V0_3, AgentAnswer::Written(written)) => {
            // Agents serialise only for 1.0; for clients of 0.3 the JSON is parsed and converted.
            let json = written.json.concat();
            let json = String::from_utf8_lossy(&json);
            json_response(StatusCode::OK, frame().event(&json, true))
        }
        (A2aRelease::V0_3, AgentAnswer::Message(message)) => succeed(id, older::message(&message)),
        (A2aRelease::V0_3, AgentAnswer::Task(task) | AgentAnswer::Begun(task)) => {
            succeed(id, older::task(&task))
        }
        (A2aRelease::V0_3, AgentAnswer::Tasks(page)) => succeed(id, list(&page.tasks, older::task)),
        (A2aRelease::V0_3, AgentAnswer::PushConfig(config)) => {
            succeed(id, older::push_config(&config))
        }
        (A2aRelease::V0_3, AgentAnswer::PushConfigs(page)) => {
            succeed(id, list(&page.configs, older::push_config))
        }
    }
}

fn list<T>(items: &[T], write: fn(&T) -> Value) -> Value {
    items.iter().map(write).collect()
}

/// Frames of a stream, each of which is a complete JSON-RPC response.
// Each event has the id of the request (A2A 1.0 §9.4.2, CT-03).
struct RpcFrame {
    id: Id,
    agent: SharedAgent,
    release: A2aRelease,
}

impl RpcFrame {
    fn failure(&self, fault: &InternalError) -> String {
        let (refusal, _) = answers::internal_error(&*self.agent, fault);
        let error = error_body(&refusal);
        answers::json(&RpcFailure { jsonrpc: "2.0", id: &self.id, error })
    }
}

impl sse::SseFrame for RpcFrame {
    fn event(&self, json: &str, is_last: bool) -> String {
        let id = self.id.as_json();
        match self.release {
            A2aRelease::V1_0 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{json}}}"#),
            A2aRelease::V0_3 => match tradepost_document::json::from_str(json) {
                Ok(event) => {
                    let event = older::event(&event, is_last);
                    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{event}}}"#)
                }
                Err(error) => self.failure(&InternalError::on("reading an event")(error)),
            },
        }
    }

    fn internal_error(&self, fault: &InternalError) -> String {
        format!("data: {}\n\n", self.failure(fault))
    }
}

fn error_body(refusal: &ProtocolRefusal) -> ErrorBody<'_, ProtocolRefusal> {
    ErrorBody {
        code: refusal.code.jsonrpc(),
        message: &refusal.message,
        data: refusal.has_details().then_some(refusal),
    }
}

/// Writes a result for the request with this id.
pub fn succeed(id: &Id, result: impl Serialize) -> Response {
    answers::write(&RpcSuccess { jsonrpc: "2.0", id, result })
}

#[derive(Serialize)]
struct RpcSuccess<'a, T> {
    jsonrpc: &'static str,
    id: &'a Id,
    result: T,
}

#[derive(Serialize)]
struct RpcFailure<'a, D> {
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
