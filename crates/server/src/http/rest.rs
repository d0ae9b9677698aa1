//! The HTTP+JSON binding (A2A §11): path, query and body become a request for the desk, and what
//! the desk says becomes bytes. Whatever goes wrong has the one body of §11.6.
//!
//! What the request is in, JSON-RPC's `params`, is put together in [`http_json`] and read by the
//! same reader. To an agent whose card does not name this binding these paths are unknown ones.

use std::sync::Arc;

use axum::body::{Body, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
pub(super) use errors::HttpJson;
use tradepost_wire::a2a::error::{Code, Refusal};
use tradepost_wire::a2a::http_json::{self, Target};
use tradepost_wire::a2a::request::{invalid_param, with_violation};
use tradepost_wire::a2a::{self, Event, Operation, Release};
use tradepost_wire::json::json;

use super::answers::Dialect as _;
use super::exchange::{Parcel, Posted, stamped};
use super::head::{asks_for, host};
use super::intake::{Unread, Whole};
use super::perform::perform;
use super::plain::not_found;
use super::{answers, denied, intake, sse};
use crate::agent::{Agent, Answer, Binding, Caller, SharedAgent};
use crate::card::HTTP_JSON_PATH;
use crate::desk::Desk;
use crate::fault::Fault;

mod errors;

/// The binding's own media type.
// CT-02
const A2A_JSON: &str = "application/a2a+json";

/// What older clients call it.
const JSON: &str = "application/json";

/// Every path and method under `/rest`.
pub(super) async fn handle(State(desk): State<Arc<Desk>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let agent = desk.agent(host(&parts.uri, &parts.headers));
    let Some(agent) = &agent.filter(|agent| agent.speaks(Binding::HttpJson)) else {
        return not_found().await;
    };
    let answered = answer(&desk, agent, &parts, body);
    let answered = desk.guard(agent, "answering a request", answered).await;
    let (mut response, stamp) = answered.unwrap_or_else(|fault| HttpJson.broken(&**agent, &fault));
    // Streams have a type of their own.
    if let Some(kind) =
        response.headers_mut().get_mut(header::CONTENT_TYPE).filter(|kind| **kind == JSON)
    {
        *kind = HeaderValue::from_static(media_type(&parts.headers));
    }
    stamped((response, stamp), agent)
}

/// What a path of ours means.
fn find(path: &str) -> Option<Target> {
    http_json::find(path.strip_prefix(HTTP_JSON_PATH)?)
}

/// A path as the log names it.
pub(super) fn template(path: &str) -> Option<String> {
    find(path).map(|target| format!("{HTTP_JSON_PATH}{}", target.template()))
}

/// Which name of the format the caller wants: the older one only when it asks for nothing else.
fn media_type(headers: &HeaderMap) -> &'static str {
    if asks_for(headers, JSON) && !asks_for(headers, A2A_JSON) { JSON } else { A2A_JSON }
}

async fn answer(desk: &Desk, agent: &SharedAgent, parts: &Parts, body: Body) -> Parcel {
    let Some(target) = find(parts.uri.path()) else {
        let message = "no operation has this path; read A2A §11.3 for those that do";
        return HttpJson.protocol(&Refusal::new(Code::MethodNotFound, message), None);
    };
    let Some(operation) = target.operation(parts.method.as_str()) else {
        return wrong_method(&target);
    };
    let bytes = match receive(desk, operation, parts, body).await {
        Ok(bytes) => bytes,
        Err(unread) => return not_taken(unread),
    };
    let caller = match intake::caller(desk, &**agent, parts).await {
        Ok(caller) => caller,
        Err(denied) => return denied::respond(&**agent, &HttpJson, denied),
    };
    let activated = intake::activated_extensions(&parts.headers);
    let given = Given { target: &target, operation, activated: &activated, caller: &caller };
    let request = read(&**agent, parts, given, bytes.as_deref());
    let posted = Posted { desk, agent, parts, bytes: bytes.as_deref().unwrap_or_default() };
    let spoken = (Release::V1_0, activated.as_slice());
    let write = |answer| Ok(result(agent, answer));
    let (response, stamp) = perform(posted, &caller, spoken, request, &HttpJson, write).await;
    (response, stamp.by(&caller).of(operation))
}

/// Reads the body, where the operation has one. It may be left out where the path says all.
async fn receive<'d>(
    desk: &'d Desk,
    operation: Operation,
    parts: &Parts,
    body: Body,
) -> Result<Option<Whole<'d>>, Unread> {
    // What comes as the body of another method means nothing, and is not read.
    if parts.method != axum::http::Method::POST {
        return Ok(None);
    }
    let optional = matches!(operation, Operation::CancelTask | Operation::SubscribeToTask);
    if optional && body.is_end_stream() {
        return Ok(None);
    }
    let bytes = intake::receive(desk, parts, body).await?;
    Ok(Some(bytes).filter(|bytes| !(optional && bytes.trim_ascii().is_empty())))
}

/// What is known of a request before its parameters are read.
#[derive(Clone, Copy)]
struct Given<'a> {
    target: &'a Target,
    operation: Operation,
    activated: &'a [String],
    caller: &'a Caller,
}

fn read(
    agent: &dyn Agent,
    parts: &Parts,
    given: Given<'_>,
    body: Option<&[u8]>,
) -> Result<a2a::Request, Refusal> {
    const CONFLICT: &str = "must be as in the path, or absent";
    let Given { target, operation, activated, caller } = given;
    let (params, conflict) = http_json::params(operation, target, parts.uri.query(), body)?;
    intake::check_version(agent, parts)?;
    let read = agent.accept(Release::V1_0, operation, activated, caller, Some(params));
    match (read, conflict) {
        (Ok(request), None) => Ok(request),
        (Ok(_), Some(field)) => Err(invalid_param(field, CONFLICT)),
        (Err(refusal), Some(field)) if refusal.code == Code::InvalidParams => {
            Err(with_violation(refusal, field, CONFLICT))
        }
        (Err(refusal), _) => Err(refusal),
    }
}

/// A path of ours that this method does nothing with.
fn wrong_method(target: &Target) -> Parcel {
    let allowed = target.allowed();
    let refusal = Refusal::new(Code::MethodNotFound, format!("use {allowed} on this path"));
    let status = Some(StatusCode::METHOD_NOT_ALLOWED);
    let (mut response, stamp) = HttpJson.protocol(&refusal, status);
    if let Ok(value) = HeaderValue::from_str(&allowed) {
        response.headers_mut().insert(header::ALLOW, value);
    }
    (response, stamp)
}

/// A body that was not taken. Of another media type it is A2A's own error (§1.5 row 9).
fn not_taken(unread: Unread) -> Parcel {
    let (mut response, stamp) = if unread == Unread::OtherType {
        let message = "the Content-Type must be application/a2a+json or application/json";
        let refusal = Refusal::new(Code::ContentTypeNotSupported, message)
            .with("supportedMediaTypes", format!("{A2A_JSON}, {JSON}"));
        HttpJson.protocol(&refusal, None)
    } else {
        HttpJson.protocol(&unread.refusal(), Some(unread.status()))
    };
    unread.mark(&mut response);
    (response, stamp)
}

/// An answer of the protocol itself.
fn result(agent: &SharedAgent, answer: Answer) -> Response {
    let frame = || Frame(Arc::clone(agent));
    match answer {
        Answer::Written(written) => answers::written(String::new(), written, ""),
        Answer::Message(message) => answers::write(&Event::Message(message)),
        Answer::Task(task) => answers::write(&task),
        Answer::Begun(task) => answers::write(&Event::Task(task)),
        Answer::Tasks(page) => answers::write(&answers::page(&page)),
        Answer::PushConfig(config) => answers::write(&config),
        Answer::PushConfigs(page) => answers::write(&answers::push_configs(&page)),
        Answer::Done => answers::write(&json!({})),
        Answer::ExtendedCard(card) => answers::private(answers::write(&card)),
        Answer::MessageStream(message) => {
            sse::one_event(&answers::json(&Event::Message(message)), &frame())
        }
        Answer::Stream(events) => sse::task_events(events, frame()),
    }
}

/// An event of a stream is a `StreamResponse` and nothing around it.
// CT-03
struct Frame(SharedAgent);

impl sse::Frame for Frame {
    fn event(&self, json: &str, _: bool) -> String {
        json.to_owned()
    }

    /// The specification has no form for this, so the event has a name by which no client takes
    /// it for a `StreamResponse` (§1.5 row 4).
    fn broken(&self, fault: &Fault) -> String {
        let (refusal, _) = answers::broken(&*self.0, fault);
        format!("event: error\ndata: {}\n\n", errors::body(&refusal, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_older_media_type_is_only_for_those_who_ask_for_nothing_else() {
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
