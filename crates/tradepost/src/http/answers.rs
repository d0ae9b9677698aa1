//! What the HTTP bindings say alike.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Serialize;
use serde_json::{Value, json as value};
use tradepost_wire::a2a::error::{Code, Refusal};
use tradepost_wire::a2a::{self, DataPart, MessageResult, Role};
use tradepost_wire::aap::error::{Code as AapCode, ErrorObject};
use tradepost_wire::aap::{self, Reply, ReplyData, Version};
use tradepost_wire::catalog::Vocabulary as _;

use super::json_response;
use super::observe::Stamp;
use crate::desk::{Agent, Binding, Desk};
use crate::fault::Fault;
use crate::tasks::{PushPage, TaskPage};

/// An answer with what the log says about it.
pub(super) type Parcel = (Response, Stamp);

/// How a binding says no. A status that is given is the answer's; otherwise it is the binding's
/// usual one for the error.
pub(super) trait Dialect {
    /// The protocol's no.
    fn protocol(&self, refusal: &Refusal, status: Option<StatusCode>) -> Parcel;
    /// The profile's no.
    fn refused(&self, error: ErrorObject, status: Option<StatusCode>) -> Parcel;
    /// The binding.
    fn binding(&self) -> Binding;
    /// The status by which it tells a fault that will be over soon from others, if it does (E-14).
    fn unavailable(&self) -> Option<StatusCode> {
        None
    }
    /// The status of a fault, where it is not the usual one.
    fn status_of(&self, fault: &Fault) -> Option<StatusCode> {
        if fault.is_transient() { self.unavailable() } else { None }
    }
}

/// JSON text of something of ours.
pub(super) fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value)
        .unwrap_or_else(|_| unreachable!("our own documents have text keys and finite numbers"))
}

/// A page of tasks (O-06).
pub(super) fn page(page: &TaskPage) -> Value {
    value!({
        "tasks": page.tasks,
        "nextPageToken": page.next_page_token,
        "pageSize": page.page_size,
        "totalSize": page.total_size,
    })
}

/// The webhooks of a task.
pub(super) fn push_configs(page: &PushPage) -> Value {
    value!({"configs": page.configs, "nextPageToken": page.next_page_token})
}

/// What a caller reads when we broke: an error id, under which the log has the cause.
pub(super) fn broken(agent: &Agent, fault: &Fault) -> (Refusal, String) {
    let error_id = format!("err_{}", uuid::Uuid::now_v7().simple());
    let cause = fault.chain();
    tracing::error!(agent = %agent.id(), %error_id, cause, "a request could not be performed");
    let refusal = Refusal::new(Code::InternalError, "the agent failed; try again later");
    (refusal.with("errorId", error_id.clone()), error_id)
}

/// Names the extensions in use, where the answer does not name them already.
pub(super) fn echo_extensions(response: &mut Response, agent: &Agent, activated: &[String]) {
    let known = agent.extensions();
    let used: Vec<_> =
        activated.iter().map(String::as_str).filter(|uri| known.contains(uri)).collect();
    if !used.is_empty()
        && !response.headers().contains_key(a2a::EXTENSIONS_HEADER)
        && let Ok(value) = HeaderValue::from_str(&used.join(", "))
    {
        response.headers_mut().insert(a2a::EXTENSIONS_HEADER, value);
    }
}

/// An answer that is for one caller: no cache keeps it for another.
pub(super) fn private(mut response: Response) -> Response {
    let value = HeaderValue::from_static("private, no-store");
    response.headers_mut().insert(header::CACHE_CONTROL, value);
    response
}

/// The conversation that a message names.
pub(super) fn context_of(request: &a2a::Request) -> Option<String> {
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

/// A dealer's reply as a message, with what the log says about it and about how long it is.
pub(super) fn message(
    context_id: Option<String>,
    version: Version,
    reply: Reply,
) -> (MessageResult<Reply>, Stamp, usize) {
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
    (MessageResult { message }, Stamp { skill: Some(skill.name()), ..unstamped() }, size)
}

/// A dealer's answer names the version of the profile that it is in.
pub(super) fn told(version: Version, (mut response, stamp): Parcel) -> Parcel {
    let uri = HeaderValue::from_static(version.uri());
    response.headers_mut().insert(a2a::EXTENSIONS_HEADER, uri);
    (response, stamp)
}

/// A dealer's answer to a fault of ours, whose cause is in the log alone.
pub(super) fn failed(desk: &Desk, agent: &Agent, version: Version, fault: &Fault) -> ErrorObject {
    let error = stamp_error(desk, version, aap::Refusal::internal_error());
    tracing::error!(
        agent = %agent.id(),
        error_id = %error.error_id,
        cause = %fault.chain(),
        "a message could not be answered"
    );
    error
}

/// Gives a refusal its identity.
pub(super) fn stamp_error(desk: &Desk, version: Version, refusal: aap::Refusal) -> ErrorObject {
    let error_id = format!("err_{}", uuid::Uuid::now_v7().simple());
    refusal.stamp(version, error_id, desk.clock.now())
}

/// Says when to come back to whoever came too often.
pub(super) fn retry_after(response: &mut Response, refusal: &aap::Refusal) {
    if refusal.code == AapCode::RateLimited
        && let Some(seconds) = refusal.details.get("retry_after_seconds")
        && let Ok(value) = HeaderValue::from_str(&seconds.to_string())
    {
        response.headers_mut().insert(header::RETRY_AFTER, value);
    }
}

/// What the log says when there is nothing to say.
pub(super) fn unstamped() -> Stamp {
    Stamp { agent: None, code: "OK", skill: None, error_id: None }
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
pub(super) fn write<T: Serialize>(envelope: &T, size: usize) -> Response {
    const SIZE_OF_ENVELOPE: usize = 1024;
    let mut bytes = Vec::with_capacity(SIZE_OF_ENVELOPE + size);
    match serde_json::to_writer(&mut bytes, envelope) {
        Ok(()) => json_response(StatusCode::OK, bytes),
        Err(_) => unreachable!("our own envelopes have text keys and finite numbers"),
    }
}
