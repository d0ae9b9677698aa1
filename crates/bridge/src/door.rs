//! The door of MCP over HTTP: who may come in, and how large a request may be. Whatever is
//! refused here, or by the library behind it in plain text, is refused in JSON-RPC.
//!
//! MCP asks servers on one's own machine to look at `Origin` and to listen on the loopback
//! address: otherwise any web page could talk to them through the browser, by its own address or
//! by a name that it makes lead here (DNS rebinding).

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use axum::routing::any;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tower::ServiceExt as _;
use tradepost_wire::http::MediaType;
use tradepost_wire::json::{Value, json};
use tradepost_wire::jsonrpc;
use tradepost_wire::problem::Problems;

use super::server::Handler;

/// Who may come in, and how large a request may be.
#[derive(Debug, Clone)]
pub struct Door {
    /// The host names under which the bridge may be called, besides those of the loopback address.
    pub hosts: Vec<String>,
    /// The origins of web pages that may call it, such as `https://example.com`.
    pub origins: Vec<String>,
    /// The largest body, in bytes.
    pub max_body: usize,
    /// How long a body may take to arrive.
    pub patience: Duration,
}

/// The host names that always lead to one's own machine.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

const INVALID_REQUEST: i32 = -32600;
const INVALID_PARAMS: i32 = -32602;

struct Behind {
    door: Door,
    service: StreamableHttpService<Handler, NeverSessionManager>,
}

pub(super) fn router(path: &str, handler: Handler, door: Door) -> Router {
    // The door has looked at host, origin and size already.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(door.max_body)
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let sessions = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(handler.clone()), sessions, config);
    Router::new()
        .route(path, any(enter))
        .fallback(nothing_here)
        .with_state(Arc::new(Behind { door, service }))
}

async fn nothing_here() -> Response {
    refuse(StatusCode::NOT_FOUND, INVALID_REQUEST, "MCP is at /mcp", &Value::Null)
}

async fn enter(State(behind): State<Arc<Behind>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    match admit(&behind.door, &parts, body).await {
        Ok(bytes) => pass_on(&behind, Request::from_parts(parts, Body::from(bytes))).await,
        Err(refused) => refused.respond(),
    }
}

struct Refused {
    status: StatusCode,
    code: i32,
    message: &'static str,
    id: Value,
    issues: Problems,
}

impl Refused {
    fn new(status: StatusCode, message: &'static str) -> Self {
        Self { status, code: INVALID_REQUEST, message, id: Value::Null, issues: Problems::new() }
    }
}

impl Refused {
    fn respond(self) -> Response {
        let mut error = json!({"code": self.code, "message": self.message});
        if let (Some(error), false) = (error.as_object_mut(), self.issues.is_empty()) {
            let issues = json!({"issues": jsonrpc::places(&self.issues)});
            error.insert("data".to_owned(), issues);
        }
        written(self.status, &json!({"jsonrpc": "2.0", "id": self.id, "error": error}))
    }
}

/// Looks at a request before anything is done with it, and gives its body.
async fn admit(door: &Door, parts: &Parts, body: Body) -> Result<Bytes, Refused> {
    if !is_known_host(door, parts) {
        let message = "this host name is not allowed here; see --allow-host";
        return Err(Refused::new(StatusCode::FORBIDDEN, message));
    }
    let mut origins = parts.headers.get_all(header::ORIGIN).iter();
    let known = |origin: &HeaderValue| {
        door.origins.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(origin.as_bytes()))
    };
    if !origins.all(known) {
        let message = "this web page is not allowed here; see --allow-origin";
        return Err(Refused::new(StatusCode::FORBIDDEN, message));
    }
    if parts.method != Method::POST {
        return Ok(Bytes::new());
    }
    if !is_json(&parts.headers) {
        let message = "the Content-Type must be application/json";
        return Err(Refused::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    let mut codings = parts.headers.get_all(header::CONTENT_ENCODING).iter();
    if codings.any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        let message = "encoded bodies are not read here; leave Content-Encoding out";
        return Err(Refused::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    let collected = Limited::new(body, door.max_body).collect();
    let bytes = match tokio::time::timeout(door.patience, collected).await {
        Ok(Ok(collected)) => collected.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let message = "the body is larger than this bridge accepts";
            return Err(Refused::new(StatusCode::PAYLOAD_TOO_LARGE, message));
        }
        Ok(Err(_)) => {
            return Err(Refused::new(StatusCode::BAD_REQUEST, "the body ended early"));
        }
        Err(_) => {
            let message = "the body did not arrive in time";
            return Err(Refused::new(StatusCode::REQUEST_TIMEOUT, message));
        }
    };
    check_message(&bytes)?;
    Ok(bytes)
}

/// A message of JSON-RPC 2.0, alone: MCP has no batches any more.
fn check_message(bytes: &[u8]) -> Result<(), Refused> {
    let bad = |message| Refused::new(StatusCode::BAD_REQUEST, message);
    let message = jsonrpc::document(bytes).map_err(|reject| Refused {
        code: reject.code.jsonrpc(),
        issues: reject.twice,
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
        return Err(Refused { id, ..bad("jsonrpc must be \"2.0\"") });
    }
    let has = |name| members.contains_key(name);
    if has("method") && !members.get("method").is_some_and(Value::is_string) {
        return Err(Refused { id, ..bad("method must be a string") });
    }
    if has("id") && id.is_null() {
        return Err(bad("id must be a string or a number"));
    }
    if !has("method") && !has("result") && !has("error") {
        return Err(Refused { id, ..bad("method is missing") });
    }
    let params = members.get("params");
    if params.is_some_and(|params| !params.is_object()) {
        return Err(Refused { id, code: INVALID_PARAMS, ..bad("params must be an object") });
    }
    Ok(())
}

fn is_known_host(door: &Door, parts: &Parts) -> bool {
    let authority = parts.uri.authority().map(|authority| authority.as_str());
    let named = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let Some(host) = authority.or(named) else {
        return false;
    };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        Some(_) | None => host,
    };
    let allowed = LOOPBACK.into_iter().chain(door.hosts.iter().map(String::as_str));
    allowed.into_iter().any(|known| known.eq_ignore_ascii_case(name))
}

fn is_json(headers: &HeaderMap) -> bool {
    media_type(headers).is("application/json")
}

fn media_type(headers: &HeaderMap) -> MediaType<'_> {
    let named = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    MediaType::of(named.unwrap_or_default())
}

/// Lets the library answer. Where it refuses in plain text, the status says the same in JSON-RPC.
async fn pass_on(behind: &Behind, request: Request) -> Response {
    let answer = match behind.service.clone().oneshot(request).await {
        Ok(answer) => answer,
        Err(never) => match never {},
    };
    let (mut parts, body) = answer.into_parts();
    let kind = media_type(&parts.headers);
    if kind.is("application/json") || kind.is("text/event-stream") || parts.status.is_success() {
        return Response::from_parts(parts, Body::new(body));
    }
    let message = match parts.status {
        StatusCode::NOT_ACCEPTABLE => {
            "the Accept header must name application/json and text/event-stream"
        }
        StatusCode::METHOD_NOT_ALLOWED => "send messages with POST; there are no sessions here",
        StatusCode::BAD_REQUEST => "the MCP-Protocol-Version header names a version unknown here",
        StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            // The type was right, so it is the message that does not fit.
            parts.status = StatusCode::BAD_REQUEST;
            "the message is not one of JSON-RPC 2.0"
        }
        _ => "the message was not accepted",
    };
    let refused = refuse(parts.status, INVALID_REQUEST, message, &Value::Null);
    let (mut ours, body) = refused.into_parts();
    if let Some(allowed) = parts.headers.remove(header::ALLOW) {
        ours.headers.insert(header::ALLOW, allowed);
    }
    Response::from_parts(ours, body)
}

fn refuse(status: StatusCode, code: i32, message: &str, id: &Value) -> Response {
    written(
        status,
        &json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}),
    )
}

fn written(status: StatusCode, body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
