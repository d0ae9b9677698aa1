//! The JSON-RPC binding: bytes become a message for the desk, and what the desk says becomes
//! bytes. Errors are HTTP 200 (C-30) except where the transport itself refuses, or the caller may
//! not.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use serde::Serialize;
use tradepost_wire::a2a::error::{Code, Refusal as ProtocolRefusal};
use tradepost_wire::a2a::{self, Answer, DataPart, MessageResult, Operation, Role, SendMessage};
use tradepost_wire::aap::error::{Code as AapCode, ErrorObject};
use tradepost_wire::aap::{Refusal, Reply, Version};
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::jsonrpc::{self, Id};

use super::observe::Stamp;
use super::{Peer, denied, host, json_response, not_found};
use crate::auth::Denied;
use crate::desk::{Caller, Desk, Outcome, Seller};
use crate::fault::Fault;

/// `POST /a2a`.
pub(super) async fn post(State(desk): State<Arc<Desk>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let host = host(&parts.uri, &parts.headers);
    let Some(seller) = desk.seller(host.as_deref()).map(Arc::clone) else {
        return not_found().await;
    };
    let (mut response, mut stamp) = match receive(&desk, &parts.headers, body).await {
        Ok(bytes) => match admit(&desk, &seller, &parts).await {
            Ok(caller) => answer(&desk, &seller, &caller, &parts, &bytes).await,
            Err(denied) => denied::respond(&desk, &seller, &Id::null(), denied),
        },
        Err((status, message)) => {
            let refusal = ProtocolRefusal::new(Code::InvalidRequest, message);
            let (mut response, stamp) = protocol_error(&Id::null(), &refusal);
            *response.status_mut() = status;
            // What is left of the body would be read as the next request.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            (response, stamp)
        }
    };
    stamp.dealer.clone_from(&seller.dealer.id);
    response.extensions_mut().insert(stamp);
    response
}

/// Reads the body, within the limits (`E-004`, `E-005`).
async fn receive(
    desk: &Desk,
    headers: &HeaderMap,
    body: Body,
) -> Result<Bytes, (StatusCode, &'static str)> {
    const TOO_LARGE: (StatusCode, &str) =
        (StatusCode::PAYLOAD_TOO_LARGE, "the body is larger than this agent accepts");
    if !is_json(headers) {
        let message = "the Content-Type must be application/json";
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    let limit = desk.server.max_body_bytes;
    let declared = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|text| text.parse::<usize>().ok());
    if declared.is_some_and(|length| length > limit) {
        return Err(TOO_LARGE);
    }
    let patience = Duration::try_from(desk.server.read_timeout).unwrap_or(Duration::MAX);
    match tokio::time::timeout(patience, Limited::new(body, limit).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => Err(TOO_LARGE),
        Ok(Err(_)) => Err((StatusCode::BAD_REQUEST, "the body ended early")),
        Err(_) => Err((StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time")),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()) else {
        return false;
    };
    let essence = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json"
        || essence.strip_prefix("application/").is_some_and(|rest| rest.ends_with("+json"))
}

/// Who calls (`E-110`).
async fn admit(desk: &Desk, seller: &Seller, parts: &Parts) -> Result<Caller, Denied> {
    let address = address(desk, parts);
    let now = desk.clock.now();
    let principal = seller.auth.authenticate(address, &parts.headers, now).await?;
    Ok(Caller { address, principal })
}

async fn answer(
    desk: &Desk,
    seller: &Arc<Seller>,
    caller: &Caller,
    parts: &Parts,
    bytes: &[u8],
) -> Parcel {
    let request = match jsonrpc::read(bytes) {
        Ok(request) => request,
        Err(reject) => {
            let refusal = ProtocolRefusal::new(reject.code, reject.message);
            return protocol_error(&reject.id, &refusal);
        }
    };
    let id = &request.id;
    let message = check_version(seller, parts)
        .and_then(|()| operation(&request.method))
        .and_then(|()| a2a::send_message(request.params.as_ref()));
    let message = match message {
        Ok(message) => message,
        Err(refusal) => return protocol_error(id, &refusal),
    };
    let activated = activated_extensions(&parts.headers);
    let outcome = desk.answer(seller, caller, &activated, &message).await;
    respond(desk, seller, id, &message, outcome)
}

/// The version that a request asks for, by header or query (A2A §3.6, C-33).
fn check_version(seller: &Seller, parts: &Parts) -> Result<(), ProtocolRefusal> {
    let query = parts.uri.query().unwrap_or_default().as_bytes();
    let in_query = form_urlencoded::parse(query)
        .find(|(name, _)| name.eq_ignore_ascii_case(a2a::VERSION_HEADER))
        .map(|(_, value)| value.into_owned());
    let in_header = parts
        .headers
        .get(a2a::VERSION_HEADER)
        .map(|value| value.to_str().unwrap_or("?").trim().to_owned());
    let mut asked =
        [in_header, in_query].into_iter().flatten().filter(|v| !v.is_empty()).peekable();
    if asked.peek().is_none() && seller.dealer.require_version {
        return a2a::check_version("");
    }
    asked.try_for_each(|version| a2a::check_version(&version))
}

/// Whether a method is the one that this agent has (`E-015` to `E-021`).
fn operation(method: &str) -> Result<(), ProtocolRefusal> {
    let Some(operation) = Operation::from_name(method) else {
        let message = if method.contains('/') {
            "method not found; A2A 1.0 calls it SendMessage"
        } else {
            "method not found; use SendMessage"
        };
        return Err(ProtocolRefusal::new(Code::MethodNotFound, message));
    };
    match operation.without_capability() {
        None => Ok(()),
        Some(code) => {
            Err(ProtocolRefusal::new(code, code.title()).with("operation", operation.name()))
        }
    }
}

fn activated_extensions(headers: &HeaderMap) -> Vec<String> {
    headers
        .get_all(a2a::EXTENSIONS_HEADER)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|list| list.split(','))
        .map(|uri| uri.trim().to_owned())
        .filter(|uri| !uri.is_empty())
        .collect()
}

fn address(desk: &Desk, parts: &Parts) -> std::net::IpAddr {
    let forwarded = || {
        let last = parts.headers.get_all("x-forwarded-for").iter().next_back()?;
        last.to_str().ok()?.rsplit(',').next()?.trim().parse().ok()
    };
    let peer = parts.extensions.get::<Peer>().map_or([0, 0, 0, 0].into(), |peer| peer.0.ip());
    Some(desk.server.trust_forwarded_for)
        .filter(|trust| *trust)
        .and_then(|_| forwarded())
        .unwrap_or(peer)
}

/// An answer with what the log says about it.
pub(super) type Parcel = (Response, Stamp);

/// Turns what the desk says into bytes: the only place that does.
fn respond(
    desk: &Desk,
    seller: &Seller,
    id: &Id,
    request: &SendMessage<'_>,
    outcome: Outcome,
) -> Parcel {
    let (version, (mut response, stamp)) = match outcome {
        Outcome::Protocol(refusal) => return protocol_error(id, &refusal),
        Outcome::Denied(denied) => return denied::respond(desk, seller, id, denied),
        Outcome::Reply(version, reply) => (version, success(id, request, version, reply)),
        Outcome::Refusal(version, refusal) => {
            let limited = refusal.code == AapCode::RateLimited;
            let (mut response, stamp) = refused(id, stamp_error(desk, version, refusal));
            if limited && seller.dealer.rate_limit.http_429 {
                *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
            }
            (version, (response, stamp))
        }
        Outcome::Fault(version, fault) => (version, broken(desk, seller, id, version, &fault)),
    };
    let uri = HeaderValue::from_static(version.uri());
    response.headers_mut().insert(a2a::EXTENSIONS_HEADER, uri);
    (response, stamp)
}

/// The answer to a fault of ours, whose cause is in the log alone.
pub(super) fn broken(
    desk: &Desk,
    seller: &Seller,
    id: &Id,
    version: Version,
    fault: &Fault,
) -> Parcel {
    let error = stamp_error(desk, version, Refusal::internal_error());
    tracing::error!(
        dealer = %seller.dealer.id,
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

fn success(id: &Id, request: &SendMessage<'_>, version: Version, reply: Reply) -> Parcel {
    let fresh = || uuid::Uuid::now_v7().to_string();
    let skill = reply.skill;
    let message = Answer {
        message_id: fresh(),
        context_id: request.message.context_id.clone().unwrap_or_else(fresh),
        role: Role::Agent,
        parts: [DataPart { media_type: skill.response_media_type(), data: reply }],
        extensions: vec![version.uri()],
    };
    let result = MessageResult { message };
    let response = write(&Success { jsonrpc: "2.0", id, result });
    (response, Stamp { code: "OK", skill: Some(skill.name()), ..unstamped() })
}

pub(super) fn refused(id: &Id, error: ErrorObject) -> Parcel {
    let code = error.refusal.code;
    let body =
        ErrorBody { code: code.jsonrpc(), message: &error.jsonrpc_message(), data: Some(&error) };
    let mut response = write(&Failure { jsonrpc: "2.0", id, error: body });
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
    let body = ErrorBody {
        code: refusal.code.jsonrpc(),
        message: &refusal.message,
        data: refusal.has_details().then_some(refusal),
    };
    let response = write(&Failure { jsonrpc: "2.0", id, error: body });
    (response, Stamp { code: refusal.code.name(), ..unstamped() })
}

fn unstamped() -> Stamp {
    Stamp { dealer: String::new(), code: "OK", skill: None, error_id: None }
}

fn write<T: Serialize>(envelope: &T) -> Response {
    match serde_json::to_vec(envelope) {
        Ok(bytes) => json_response(StatusCode::OK, bytes),
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
