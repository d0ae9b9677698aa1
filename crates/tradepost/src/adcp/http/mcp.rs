//! MCP over streamable HTTP at `/mcp`, without sessions: every message is answered by itself, in
//! JSON. It is written here and not by `rmcp`, whose place the errors take that AdCP wants before
//! a tool is reached (see `docs/decisions/0011-mcp-without-a-library.md`).
//!
//! What introduces the seller (`initialize`, the lists of tools and of resources) and its capabilities are open to
//! everybody and the same for everybody (`N-4`); whoever shows a credential is judged all the same.
//! A web page may call when its origin is allowed: browsers send `Origin` with every POST, also to
//! a name that somebody makes lead here (DNS rebinding).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use release::Release;
use tradepost_publisher::order;
use tradepost_server::agent::Caller;
use tradepost_server::desk::Desk;
use tradepost_server::http::answers::{self, Parcel};
use tradepost_server::http::intake::{self as shared, Unread};
use tradepost_server::http::{Stamp, host, json_response, not_found};
use tradepost_wire::a2a::error::Code;
use tradepost_wire::adcp::error::Code as AdcpCode;
use tradepost_wire::adcp::{Tool, tool};
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::http::MediaType;
use tradepost_wire::json::{Map, Value, json};
use tradepost_wire::jsonrpc::{self, Id};
use tradepost_wire::problem::clip;
use written::Written;

use super::intake;
use super::turned_away::TurnedAway;
use crate::adcp::listing::List;
use crate::adcp::seller::PublisherAgent;

mod release;
mod written;

/// The path.
pub(in crate::adcp) const PATH: &str = "/mcp";

/// Clients join paths in different ways.
pub(super) const PATH_WITH_SLASH: &str = "/mcp/";

/// What the seller says about itself.
const INSTRUCTIONS: &str = "An AdCP seller. Call get_adcp_capabilities first; every failed call \
                            says in adcp_error what to do. The list of tools names what most calls \
                            need; all that a tool takes is in its resource, tradepost://schemas/ \
                            and its name.";

/// That there is no such resource, up to 2025-11-25; later it is an invalid parameter.
const RESOURCE_NOT_FOUND: i32 = -32002;

/// A JSON-RPC error.
struct Fail {
    status: StatusCode,
    code: i32,
    name: &'static str,
    message: String,
    data: Option<Value>,
}

impl Fail {
    fn new(code: Code, message: impl Into<String>) -> Self {
        let status = StatusCode::OK;
        let name = code.name();
        Self { status, code: code.jsonrpc(), name, message: message.into(), data: None }
    }

    fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    fn respond(self, id: &Id) -> Parcel {
        let error = match self.data {
            None => json!({"code": self.code, "message": self.message}),
            Some(data) => json!({"code": self.code, "message": self.message, "data": data}),
        };
        let body = json!({"jsonrpc": "2.0", "id": id, "error": error});
        let response = json_response(self.status, answers::json(&body));
        (response, Stamp { code: self.name, ..Stamp::default() })
    }
}

/// Every method on `/mcp`.
pub(super) async fn handle(State(desk): State<Arc<Desk>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let agent = desk.agent(host(&parts.uri, &parts.headers));
    let Some(publisher) = agent.and_then(super::publisher) else {
        return not_found().await;
    };
    let (mut response, mut stamp) = if let Err(fail) = may_come_in(&publisher, &parts) {
        let allowed = fail.status == StatusCode::METHOD_NOT_ALLOWED;
        let (mut response, stamp) = fail.respond(&Id::null());
        if allowed {
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
        }
        (response, stamp)
    } else {
        match shared::receive(&desk, &parts, body).await {
            Ok(bytes) => answer(&desk, &publisher, &parts, &bytes).await,
            // Of two media types a signature could mean either.
            Err(Unread::OtherType)
                if let Err(refused) = intake::signed(&desk, &publisher, &parts, &[]).await =>
            {
                TurnedAway::refused(&publisher, refused).respond(&Id::null(), None)
            }
            Err(unread) => {
                let refusal = unread.refusal();
                let fail = Fail::new(refusal.code, refusal.message).with_status(unread.status());
                let (mut response, stamp) = fail.respond(&Id::null());
                unread.mark(&mut response);
                (response, stamp)
            }
        }
    };
    stamp.agent = Some(publisher);
    response.extensions_mut().insert(stamp);
    response
}

/// Looks at a request before its body.
fn may_come_in(publisher: &PublisherAgent, parts: &Parts) -> Result<(), Fail> {
    let invalid =
        |status, message| Err(Fail::new(Code::InvalidRequest, message).with_status(status));
    let mut origins = parts.headers.get_all(header::ORIGIN).iter();
    let known = |origin: &HeaderValue| {
        let mut allowed = publisher.front.origins.iter();
        allowed.any(|known| known.as_bytes().eq_ignore_ascii_case(origin.as_bytes()))
    };
    if !origins.all(known) {
        return invalid(StatusCode::FORBIDDEN, "web pages of this origin are not allowed here");
    }
    if parts.method != Method::POST {
        let message = "send messages with POST; there are no sessions and no streams here";
        return invalid(StatusCode::METHOD_NOT_ALLOWED, message);
    }
    if !reads_json(&parts.headers) {
        let message = "the Accept header must permit application/json";
        return invalid(StatusCode::NOT_ACCEPTABLE, message);
    }
    Ok(())
}

fn reads_json(headers: &HeaderMap) -> bool {
    let mut named = headers.get_all(header::ACCEPT).iter().peekable();
    if named.peek().is_none() {
        return true;
    }
    MediaType::listed(named.filter_map(|value| value.to_str().ok()))
        .any(|range| range.covers("application/json"))
}

async fn answer(desk: &Desk, publisher: &PublisherAgent, parts: &Parts, bytes: &[u8]) -> Parcel {
    let bad = |fail: Fail| fail.with_status(StatusCode::BAD_REQUEST);
    let message = match jsonrpc::read_message(bytes) {
        Ok(message) => message,
        // Of a body that can be read in two ways a signature says nothing: whoever has signed it
        // hears that in the words of the signatures.
        Err(reject)
            if !reject.twice.is_empty()
                && let Err(refused) = intake::signed(desk, publisher, parts, bytes).await =>
        {
            return TurnedAway::refused(publisher, refused).respond(&reject.id, None);
        }
        Err(reject) => return bad(rejected(&reject)).respond(&reject.id),
    };
    let Some(id) = message.id else {
        // Nothing here waits for being told of something.
        return (json_response(StatusCode::ACCEPTED, ""), Stamp::default());
    };
    if id.is_null() {
        let fail = Fail::new(Code::InvalidRequest, "id must be a string or a number");
        return bad(fail).respond(&id);
    }
    let (method, params) = match read_params(message.method, message.params) {
        Ok(read) => read,
        Err(fail) => return fail.respond(&id),
    };
    let release = match Release::of(&parts.headers, &method, &params) {
        Ok(release) => release,
        Err(fail) => return fail.respond(&id),
    };
    let arguments = params.get("arguments").and_then(Value::as_object);
    let is_open = method != "tools/call"
        || params.get("name").and_then(Value::as_str) == Some(Tool::GetAdcpCapabilities.name());
    let caller = intake::caller(desk, publisher, parts, bytes, is_open).await;
    let caller = match caller {
        Ok(caller) => caller,
        Err(refused) => return TurnedAway::refused(publisher, refused).respond(&id, arguments),
    };
    let asked = known(&method);
    let (response, stamp) = if method == "tools/call" {
        call(publisher, &caller, release, &id, params).await
    } else {
        protocol(publisher, &caller, release, &id, &method, &params)
    };
    (response, Stamp { operation: asked, ..stamp.by(&caller) })
}

/// A call of a tool.
async fn call(
    publisher: &PublisherAgent,
    caller: &Caller,
    release: Release,
    id: &Id,
    params: Map,
) -> Parcel {
    match tool_call(publisher, params) {
        Ok((Called::Elsewhere, arguments)) => match publisher.admit(caller) {
            Ok(()) => {
                let answer = order::lacking(&arguments);
                let code = AdcpCode::UnsupportedFeature.name();
                let response = Written::of(&answer).respond(id, release);
                (response, Stamp { code, ..Stamp::default() })
            }
            Err(wait) => TurnedAway::too_often(wait).respond(id, None),
        },
        Ok((Called::Tool(tool), arguments)) => {
            let answer = publisher.answer(caller, tool, arguments).await;
            let code = answer.errors.first().filter(|_| answer.is_failure());
            let code = code.and_then(|error| error.code.known());
            let code = code.map_or("OK", tradepost_wire::catalog::Vocabulary::name);
            let response = Written::of(&answer).respond(id, release);
            let too_often = code == AdcpCode::RateLimited.name();
            (response, Stamp { code, skill: Some(tool.name()), too_often, ..Stamp::default() })
        }
        // A call that reaches a tool is counted there.
        Err(fail) => match publisher.admit(caller) {
            Ok(()) => fail.respond(id),
            Err(wait) => TurnedAway::too_often(wait).respond(id, None),
        },
    }
}

/// The methods that there are, as the numbers name them.
fn known(method: &str) -> Option<&'static str> {
    const METHODS: [&str; 8] = [
        "initialize",
        "ping",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "server/discover",
        "tools/call",
        "tools/list",
    ];
    METHODS.into_iter().find(|known| *known == method)
}

/// What is said to bytes that are no message.
fn rejected(reject: &jsonrpc::Reject) -> Fail {
    let data = (!reject.twice.is_empty()).then(|| {
        let issues = jsonrpc::places(&reject.twice);
        json!({"issues": issues})
    });
    Fail { data, ..Fail::new(reject.code, reject.message) }
}

/// `params` is an object, or not there.
fn read_params(method: String, params: Option<Value>) -> Result<(String, Map), Fail> {
    match params {
        None => Ok((method, Map::new())),
        Some(Value::Object(params)) => Ok((method, params)),
        Some(_) => Err(Fail::new(Code::InvalidParams, "params must be an object")),
    }
}

/// What is called.
enum Called {
    /// A tool that there is.
    Tool(Tool),
    /// A task of AdCP that other agents have.
    Elsewhere,
}

/// What is called, and with what.
fn tool_call(publisher: &PublisherAgent, mut params: Map) -> Result<(Called, Map), Fail> {
    let invalid = |message| Fail::new(Code::InvalidParams, message);
    let Some(Value::String(name)) = params.get("name") else {
        return Err(invalid("name must be the name of a tool"));
    };
    let elsewhere = || tool::is_of_others(name).then_some(Called::Elsewhere);
    let called = publisher.tool(name).map(Called::Tool).or_else(elsewhere).ok_or_else(|| {
        invalid("there is no tool of this name; tools/list names those there are")
    })?;
    match params.swap_remove("arguments") {
        None | Some(Value::Null) => Ok((called, Map::new())),
        Some(Value::Object(arguments)) => Ok((called, arguments)),
        Some(_) => Err(invalid("arguments must be an object")),
    }
}

/// Whatever is no call of a tool.
fn protocol(
    publisher: &PublisherAgent,
    caller: &Caller,
    release: Release,
    id: &Id,
    method: &str,
    params: &Map,
) -> Parcel {
    if let Err(wait) = publisher.admit(caller) {
        return TurnedAway::too_often(wait).respond(id, None);
    }
    let result = match method {
        "initialize" => release::initialize(params, introduction(publisher)),
        "server/discover" if release == Release::Later => {
            Ok(release::discovered(introduction(publisher)))
        }
        "ping" => Ok(release.result(Map::new())),
        "tools/list" => return list(publisher, List::Tools, release, id, params),
        "resources/list" => return list(publisher, List::Resources, release, id, params),
        "resources/templates/list" => return list(publisher, List::Templates, release, id, params),
        "resources/read" => return read(publisher, release, id, params),
        _ => {
            let message = "method not found; there are tools/list, tools/call, resources/list and \
                           resources/read";
            let status = release.of_unknown_methods();
            Err(Fail::new(Code::MethodNotFound, message).with_status(status))
        }
    };
    match result {
        Ok(result) => {
            let body = json!({"jsonrpc": "2.0", "id": id, "result": result});
            (json_response(StatusCode::OK, answers::json(&body)), Stamp::default())
        }
        Err(fail) => fail.respond(id),
    }
}

/// Who this is, and what it can do.
fn introduction(publisher: &PublisherAgent) -> release::Introduction {
    release::Introduction {
        capabilities: json!({"tools": {}, "resources": {}}),
        server: json!({
            "name": "tradepost",
            "title": publisher.profile.name,
            "version": env!("CARGO_PKG_VERSION"),
        }),
        instructions: INSTRUCTIONS,
    }
}

fn list(publisher: &PublisherAgent, list: List, release: Release, id: &Id, params: &Map) -> Parcel {
    if params.get("cursor").is_some_and(|cursor| !cursor.is_null()) {
        let message = "cursor is none that this server has given; the list has one page";
        return Fail::new(Code::InvalidParams, message).respond(id);
    }
    succeeded(id, &publisher.listing().list(list, release.style()))
}

/// The whole schema of a tool.
fn read(publisher: &PublisherAgent, release: Release, id: &Id, params: &Map) -> Parcel {
    let fail = |message| Fail::new(Code::InvalidParams, message);
    let Some(uri) = params.get("uri").and_then(Value::as_str) else {
        return fail("uri must be the address of a resource").respond(id);
    };
    if let Some(result) = publisher.listing().read(uri, release.style()) {
        return succeeded(id, &result);
    }
    let fail = fail("there is no such resource; resources/list names those there are");
    let fail = match release {
        Release::Plain => Fail { code: RESOURCE_NOT_FOUND, ..fail },
        Release::Later => fail,
    };
    fail.respond(id)
}

/// A result that is written already.
fn succeeded(id: &Id, result: &str) -> Parcel {
    let body = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id.as_json());
    (json_response(StatusCode::OK, body), Stamp::default())
}

/// A value of the caller's, short.
fn shown(value: &str) -> &str {
    clip(value)
}
