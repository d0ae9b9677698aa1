//! Access to MCP over HTTP: which requests are accepted, and their maximum size. Refusals are JSON-RPC errors.
//!
//! MCP asks local servers to check `Origin` and to listen on the loopback address. Otherwise any web page could reach
//! them through the browser, by the loopback address or by a name that it resolves to it (DNS rebinding).

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use tradepost_a2a::jsonrpc::{self, RpcIncoming};
use tradepost_document::fault::is_timeout;
use tradepost_document::http::MediaType;
use tradepost_document::http::own_page::{host_name, is_loopback_host, is_own_loopback_page};
use tradepost_document::json::{Value, json, object};
use tradepost_document::problem::Problems;
use tradepost_mcp::{self as mcp, Lifecycle};

use super::progress::progress_token;
use super::server::{BridgeHandler, can_be_asked};

mod stream;

/// Access rules and limits of the HTTP endpoint.
#[derive(Debug, Clone)]
pub struct HttpAccess {
    /// Host names under which the bridge may be called, in addition to those of the loopback address.
    pub hosts: Vec<String>,
    /// Origins of web pages that may call it, such as `https://example.com`.
    pub origins: Vec<String>,
    /// Maximum body size in bytes.
    pub max_body: usize,
    /// Maximum time for a body to arrive.
    pub patience: Duration,
}

const INVALID_REQUEST: i32 = -32600;
const INVALID_PARAMS: i32 = -32602;

struct AccessState {
    access: HttpAccess,
    handler: BridgeHandler,
}

pub(super) fn router(path: &str, handler: BridgeHandler, access: HttpAccess) -> Router {
    Router::new()
        .route(path, any(handle))
        .fallback(not_found)
        .with_state(Arc::new(AccessState { access, handler }))
}

async fn not_found() -> Response {
    AccessRefused::new(StatusCode::NOT_FOUND, "MCP is at /mcp").respond()
}

async fn handle(State(state): State<Arc<AccessState>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    match admit(&state.access, &parts, body).await {
        Ok(bytes) => {
            let answered = answer(&state, &parts, &bytes).await;
            answered.unwrap_or_else(AccessRefused::respond)
        }
        Err(refused) => refused.respond(),
    }
}

struct AccessRefused {
    status: StatusCode,
    code: i32,
    message: &'static str,
    id: Value,
    issues: Problems,
}

impl AccessRefused {
    fn new(status: StatusCode, message: &'static str) -> Self {
        Self { status, code: INVALID_REQUEST, message, id: Value::Null, issues: Problems::new() }
    }

    fn respond(self) -> Response {
        let issues = (!self.issues.is_empty()).then(|| jsonrpc::places(&self.issues));
        let data = issues.map(|issues| json!({"issues": issues}));
        let error = object!({"code": self.code, "message": self.message, "data"?: data});
        let body = json!({"jsonrpc": "2.0", "id": self.id, "error": error});
        let mut response = json_response(self.status, body.to_string());
        if self.status == StatusCode::METHOD_NOT_ALLOWED {
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
        }
        response
    }
}

/// Checks a request before it is processed and returns its body.
async fn admit(access: &HttpAccess, parts: &Parts, body: Body) -> Result<Bytes, AccessRefused> {
    let refuse = |status, message| Err(AccessRefused::new(status, message));
    if !is_known_host(access, parts) {
        let message = "this host name is not allowed here; see --allow-host";
        return refuse(StatusCode::FORBIDDEN, message);
    }
    let mut origins = parts.headers.get_all(header::ORIGIN).iter();
    let called = called_host(parts).unwrap_or_default();
    let known = |origin: &HeaderValue| {
        let origin = origin.as_bytes();
        is_own_loopback_page(origin, called)
            || access.origins.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(origin))
    };
    if !origins.all(known) {
        let message = "this web page is not allowed here; see --allow-origin";
        return refuse(StatusCode::FORBIDDEN, message);
    }
    if parts.method != Method::POST {
        return Ok(Bytes::new());
    }
    // A web page can send this type only after a CORS preflight, whatever its `Origin` says.
    if !is_json(&parts.headers) {
        let message = "the Content-Type must be application/json";
        return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, message);
    }
    let mut codings = parts.headers.get_all(header::CONTENT_ENCODING).iter();
    if codings.any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        let message = "encoded bodies are not read here; leave Content-Encoding out";
        return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, message);
    }
    let collected = Limited::new(body, access.max_body).collect();
    let (status, message) = match tokio::time::timeout(access.patience, collected).await {
        Ok(Ok(collected)) => {
            let bytes = collected.to_bytes();
            return check_message(&bytes).map(|()| bytes);
        }
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            (StatusCode::PAYLOAD_TOO_LARGE, "the body is larger than this bridge accepts")
        }
        Ok(Err(error)) if !is_timeout(&*error) => (StatusCode::BAD_REQUEST, "the body ended early"),
        Ok(Err(_)) | Err(_) => (StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time"),
    };
    refuse(status, message)
}

/// Checks that the body is one JSON-RPC 2.0 message; MCP no longer has batches.
fn check_message(bytes: &[u8]) -> Result<(), AccessRefused> {
    let bad = |message| AccessRefused::new(StatusCode::BAD_REQUEST, message);
    let message = jsonrpc::document(bytes).map_err(|reject| AccessRefused {
        code: reject.code.jsonrpc(),
        issues: reject.duplicate_keys,
        ..bad(reject.message)
    })?;
    let Some(members) = message.as_object() else {
        return Err(bad(if message.is_array() {
            "MCP has no batches; send one message"
        } else {
            "a message is a JSON object"
        }));
    };
    let id = members.get("id").filter(|id| id.is_string() || id.is_number());
    let id = id.cloned().unwrap_or_default();
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(AccessRefused { id, ..bad("jsonrpc must be \"2.0\"") });
    }
    let has = |name| members.contains_key(name);
    // The message is the answer to a request of the bridge.
    let answers = !has("method") && (has("result") || has("error"));
    if has("method") && !members.get("method").is_some_and(Value::is_string) {
        return Err(AccessRefused { id, ..bad("method must be a string") });
    }
    if has("id") && id.is_null() {
        return Err(bad("id must be a string or a number"));
    }
    if !has("method") && !answers {
        return Err(AccessRefused { id, ..bad("method is missing") });
    }
    let params = members.get("params");
    if params.is_some_and(|params| !params.is_object()) {
        return Err(AccessRefused { id, code: INVALID_PARAMS, ..bad("params must be an object") });
    }
    Ok(())
}

/// Returns the host that a request is for, as the client writes it.
fn called_host(parts: &Parts) -> Option<&str> {
    // HTTP/2 carries it in `:authority` instead of `Host`.
    let authority = parts.uri.authority().map(|authority| authority.as_str());
    authority.or_else(|| parts.headers.get(header::HOST)?.to_str().ok())
}

fn is_known_host(access: &HttpAccess, parts: &Parts) -> bool {
    // A request without a host could be meant for any server.
    let Some(host) = called_host(parts) else {
        return false;
    };
    let name = host_name(host);
    is_loopback_host(host) || access.hosts.iter().any(|known| known.eq_ignore_ascii_case(name))
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    MediaType::new(kind.unwrap_or_default()).is("application/json")
}

/// Answers an accepted request.
async fn answer(
    state: &Arc<AccessState>,
    parts: &Parts,
    bytes: &[u8],
) -> Result<Response, AccessRefused> {
    if parts.method != Method::POST {
        let message = "send messages with POST; nothing is said here unasked";
        return Err(AccessRefused::new(StatusCode::METHOD_NOT_ALLOWED, message));
    }
    if !READ.iter().all(|kind| accepts(&parts.headers, kind)) {
        let message = "the Accept header must name application/json and text/event-stream";
        return Err(AccessRefused::new(StatusCode::NOT_ACCEPTABLE, message));
    }
    let handler = &state.handler;
    let bad = |message| AccessRefused::new(StatusCode::BAD_REQUEST, message);
    let session = session(handler, &parts.headers)?;
    let message = match jsonrpc::read_incoming(bytes).map_err(|reject| bad(reject.message))? {
        RpcIncoming::Message(message) => message,
        RpcIncoming::Reply(reply) => {
            let Some(session) = session else {
                return Err(bad("an answer needs the Mcp-Session-Id of its question"));
            };
            // An answer that comes late or twice is ignored.
            handler.replied(&session, reply);
            return Ok(accepted());
        }
    };
    if message.id.is_none()
        && let Some(session) = &session
    {
        handler.notified(session, &message);
    }
    let header = |name: &str| parts.headers.get(name).map(HeaderValue::as_bytes);
    let request = match mcp::request(message, header) {
        Ok(Some(request)) => request,
        // Notifications are accepted without an answer.
        Ok(None) => return Ok(accepted()),
        Err((id, fail)) => return Ok(status_response(fail.status, fail.body(&id))),
    };
    let session = session.filter(|_| request.lifecycle == Lifecycle::Handshake);
    if session.is_some() || request.method == mcp::CALL && progress_token(&request.params).is_some()
    {
        return Ok(stream::answer(Arc::clone(state), request, session).await);
    }
    let is_new = request.lifecycle == Lifecycle::Handshake && can_be_asked(&request);
    let (status, body) = handler.answer(request, None, None).await;
    let mut response = status_response(status, body);
    if is_new && let Ok(name) = HeaderValue::from_str(&handler.sessions.name()) {
        response.headers_mut().insert(SESSION, name);
    }
    Ok(response)
}

/// Header with the session id.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// Returns the session that a message belongs to.
fn session(handler: &BridgeHandler, headers: &HeaderMap) -> Result<Option<String>, AccessRefused> {
    let Some(name) = headers.get(SESSION) else { return Ok(None) };
    let name = name.to_str().ok().filter(|name| handler.sessions.is_known(name));
    let message = "there is no such session (any more); say hello again with initialize";
    name.map(|name| Some(name.to_owned()))
        .ok_or_else(|| AccessRefused::new(StatusCode::NOT_FOUND, message))
}

fn accepted() -> Response {
    StatusCode::ACCEPTED.into_response()
}

fn status_response(status: u16, body: String) -> Response {
    json_response(StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST), body)
}

/// Content types that a client of streamable HTTP must accept.
const READ: [&str; 2] = ["application/json", "text/event-stream"];

fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    let named = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    MediaType::listed(named).any(|range| range.is(kind))
}

fn json_response(status: StatusCode, body: String) -> Response {
    let kind = HeaderValue::from_static("application/json");
    (status, [(header::CONTENT_TYPE, kind)], body).into_response()
}
