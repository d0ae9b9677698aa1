//! MCP over streamable HTTP, as far as a prober needs it, and the checks of MCP itself.

use reqwest::{Method, Url};
use tradepost_adcp::tool::AdcpTool;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value, json};
use tradepost_mcp::{ClientInfo, DISCOVER, INITIALIZE, SERVER_META, Version};

use super::answer::TaskAnswer;
use super::lookup;
use super::seller::{ProbeSession, SellerBinding};
use crate::check::{
    Check, CheckProfile, CheckResult, CheckVerdict, checks, fail, fail_if, not_applicable,
    not_looked_at, or_fail, pass_if, skip_if, verdict_of,
};
use crate::exchange::HttpResponse;
use crate::run::{Caller, OutgoingRequest, ProbeRun, RequestOverrides};
use crate::shape::{ShapeProblems, items, text};

/// Client name that is sent to servers.
const CLIENT: ClientInfo =
    ClientInfo { name: "tradepost-probe", version: env!("CARGO_PKG_VERSION") };

pub(super) const CHECKS: &[Check] = checks![
    "adcp.served", Card, Must, ["L-3"], "AdCP transports",
    "The seller answers MCP at the address, or its agent card names the AdCP extension",
    "A seller that cannot be found sells nothing.",
    "answer initialize at the address, or declare the extension on the card" => served();
    "adcp.mcp.initialize", Mcp, Must, ["L-3"], "MCP lifecycle",
    "initialize (of MCP 2026-07-28 alone: server/discover) gives the version, the server's name and the \
     capability for tools",
    "A client stops here when one of them is missing.",
    "answer with protocolVersion (supportedVersions), serverInfo and capabilities.tools" => initialize();
    "adcp.mcp.tools", Mcp, Must, ["L-3"], "MCP tools",
    "Every listed tool has a name of its own and an object schema for its arguments",
    "An agent finds out from this list what it can ask.",
    "give every tool a name and an inputSchema of type object" => listed();
    "adcp.tools.identical", Seller, Must, ["N-4"], "AdCP errors, not-found precedence",
    "Two callers see the same tools, to the byte",
    "A list that depends on the caller tells what somebody else may do.",
    "list every tool for everybody and refuse the call" => identical();
];

/// Searches for MCP at the address and at its `/mcp`, and records the endpoint.
pub(crate) async fn find_endpoint(run: &mut ProbeRun, address: &str) {
    // Derived from the card's address, which is the given one with its scheme completed and checked.
    let card = run.card_url.clone();
    let mut given = card.clone();
    let typed = address.trim().trim_end_matches('/');
    if !typed.ends_with(".json") {
        let path = card.path().trim_end_matches(tradepost_a2a::card::WELL_KNOWN_PATH);
        given.set_path(path);
    } else {
        given.set_path("/");
    }
    given.set_query(None);
    let mut candidates = vec![given.clone()];
    if given.path() == "/" {
        given.set_path("/mcp");
        candidates.insert(0, given);
    }
    if run.rehearses {
        let is_asked_for = run.options.profile == Some(CheckProfile::Adcp);
        run.seller.mcp = candidates.into_iter().next().filter(|_| is_asked_for);
        return;
    }
    for url in candidates {
        run.seller.mcp = Some(url);
        match open(run, Caller::First).await {
            Ok(OpenedSession::Open(_)) => {
                if is_seller(run).await {
                    return;
                }
                run.seller.unrelated_mcp = run.seller.mcp.take();
                run.seller.sessions.clear();
                run.cache.remove("adcp initialize");
                run.cache.remove("adcp discover");
                run.cache.remove("adcp tools");
            }
            // A server that demands a credential may be MCP; the checks then report what it demands.
            Err(CheckVerdict::Skipped(_)) if run.options.profile == Some(CheckProfile::Adcp) => {
                return;
            }
            Ok(OpenedSession::Refused(_)) | Err(_) => run.seller.mcp = None,
        }
    }
}

/// Returns true when an MCP server has any of AdCP's tools, or when its tools cannot be listed; checks then report
/// what is wrong.
async fn is_seller(run: &mut ProbeRun) -> bool {
    let sells = |name: &String| {
        AdcpTool::from_name(name).is_some()
            || lookup::LOOKUPS.iter().any(|lookup| lookup.tool == name)
    };
    match tools(run).await {
        Ok(names) => names.iter().any(sells),
        Err(_) => true,
    }
}

fn key(caller: Caller<'_>) -> String {
    match caller {
        Caller::First => "first".to_owned(),
        Caller::Second => "second".to_owned(),
        Caller::Anonymous => "nobody".to_owned(),
        Caller::Token(token) => format!("token {token}"),
    }
}

/// Result of opening a session.
enum OpenedSession {
    /// The session.
    Open(ProbeSession),
    /// The answer that refused it.
    Refused(HttpResponse),
}

/// Returns the session of a caller, opened at the first call, or the answer that refused it. For a server without a
/// handshake, discovery is used instead.
async fn open(run: &mut ProbeRun, caller: Caller<'_>) -> Result<OpenedSession, CheckVerdict> {
    let key = key(caller);
    if let Some((_, session)) = run.seller.sessions.iter().find(|(known, _)| *known == key) {
        return Ok(OpenedSession::Open(session.clone()));
    }
    // A server that has no handshake for one caller has none for others.
    let is_stateless =
        |(_, session): &(String, ProbeSession)| matches!(session, ProbeSession::Stateless);
    if run.seller.sessions.iter().any(is_stateless) {
        run.seller.sessions.push((key, ProbeSession::Stateless));
        return Ok(OpenedSession::Open(ProbeSession::Stateless));
    }
    let opened = post(run, caller, None, INITIALIZE, CLIENT.handshake()).await;
    if run.rehearses {
        let version = Version::NEWEST_WITH_HANDSHAKE.name().to_owned();
        let session = ProbeSession::Handshake { id: None, version };
        run.seller.sessions.push((key, session.clone()));
        return Ok(OpenedSession::Open(session));
    }
    let (response, message) = opened?;
    let result = message.as_ref().and_then(|message| message.get("result"));
    let Some(result) = result.filter(|result| result.get("protocolVersion").is_some()) else {
        let refuses = message.is_some_and(|message| message.get("error").is_some());
        if refuses && !matches!(response.status, 401 | 403 | 429) && discover(run, caller).await? {
            run.seller.sessions.push((key, ProbeSession::Stateless));
            return Ok(OpenedSession::Open(ProbeSession::Stateless));
        }
        return Ok(OpenedSession::Refused(response));
    };
    if caller == Caller::First {
        run.cache.insert("adcp initialize".to_owned(), Ok(result.clone()));
    }
    let version = text(result, "protocolVersion").unwrap_or_default().to_owned();
    let session = ProbeSession::Handshake {
        id: response.header("mcp-session-id").map(str::to_owned),
        version,
    };
    let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    post_message(run, caller, headers(&session), &note).await?;
    run.seller.sessions.push((key, session.clone()));
    Ok(OpenedSession::Open(session))
}

/// Asks a server that may have no handshake, and returns true when it supports the newest version.
async fn discover(run: &mut ProbeRun, caller: Caller<'_>) -> Result<bool, CheckVerdict> {
    let (_, message) =
        post(run, caller, Some(&ProbeSession::Stateless), DISCOVER, Map::new()).await?;
    let result = message.and_then(|message| message.get("result").cloned()).unwrap_or_default();
    let named = result.get("supportedVersions").and_then(Value::as_array);
    let newest = Version::NEWEST.name();
    let speaks_it = named.is_some_and(|named| named.iter().any(|version| version == newest));
    if speaks_it && caller == Caller::First {
        run.cache.insert("adcp discover".to_owned(), Ok(result));
    }
    Ok(speaks_it)
}

/// Returns the headers of a message after a handshake.
fn headers(session: &ProbeSession) -> Vec<(&'static str, String)> {
    match session {
        ProbeSession::Handshake { id, version } => {
            let id = id.clone().map(|id| ("mcp-session-id", id));
            let version = ("mcp-protocol-version", version.clone());
            [version].into_iter().chain(id).collect()
        }
        ProbeSession::Stateless => Vec::new(),
    }
}

/// Posts a request, and returns the answer with its JSON-RPC message, from the body or a stream.
async fn post(
    run: &mut ProbeRun,
    caller: Caller<'_>,
    session: Option<&ProbeSession>,
    method: &str,
    params: Map,
) -> Result<(HttpResponse, Option<Value>), CheckVerdict> {
    // Constant length, so that answers do not differ because of the id.
    let id = run.unique_id_of_fixed_length("q");
    let (headers, params) = match session {
        Some(ProbeSession::Stateless) => {
            let request = CLIENT.request(Version::NEWEST, method, params);
            (request.headers, request.params)
        }
        Some(session) => (headers(session), params),
        None => (Vec::new(), params),
    };
    let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let response = post_message(run, caller, headers, &body).await?;
    let message = if response.media_type() == "text/event-stream" {
        let events = response.events();
        let read =
            events.iter().filter_map(|data| tradepost_document::json::from_str::<Value>(data).ok());
        read.into_iter().find(|message| text(message, "id") == Some(&id))
    } else {
        response.json()
    };
    Ok((response, message))
}

/// Posts a message.
async fn post_message(
    run: &mut ProbeRun,
    caller: Caller<'_>,
    more: Vec<(&'static str, String)>,
    message: &Value,
) -> Result<HttpResponse, CheckVerdict> {
    let url: Url = match &run.seller.mcp {
        Some(url) => url.clone(),
        None => return not_applicable("the seller does not speak MCP"),
    };
    let mut headers = vec![
        ("accept", "application/json, text/event-stream".to_owned()),
        ("content-type", "application/json".to_owned()),
    ];
    headers.extend(more);
    if let Some(token) = run.token(caller) {
        headers.push(("authorization", format!("Bearer {token}")));
    }
    let overrides = RequestOverrides {
        caller,
        expects_401: caller != Caller::First,
        ..RequestOverrides::default()
    };
    let body = message.to_string().into_bytes();
    run.send(OutgoingRequest { method: Method::POST, url, headers, body, call: None }, overrides)
        .await
}

/// Sends a request in the session of a caller.
async fn request(
    run: &mut ProbeRun,
    caller: Caller<'_>,
    method: &str,
    params: Value,
) -> Result<TaskAnswer, CheckVerdict> {
    let params = params.as_object().cloned().unwrap_or_default();
    let session = match open(run, caller).await? {
        OpenedSession::Open(session) => session,
        OpenedSession::Refused(response) => {
            let message = response.json();
            let answer = TaskAnswer::from_mcp(response, message);
            fail_if(caller == Caller::First, format!("initialize gives {}", answer.describe()))?;
            return Ok(answer);
        }
    };
    let (response, message) = post(run, caller, Some(&session), method, params).await?;
    Ok(TaskAnswer::from_mcp(response, message))
}

/// Calls a tool.
pub(super) async fn call(
    run: &mut ProbeRun,
    caller: Caller<'_>,
    tool: &str,
    arguments: Value,
) -> Result<TaskAnswer, CheckVerdict> {
    request(run, caller, "tools/call", json!({"name": tool, "arguments": arguments})).await
}

/// Returns the result of `tools/list` for a caller, with all pages in one list.
async fn list(run: &mut ProbeRun, caller: Caller<'_>) -> Result<Value, CheckVerdict> {
    const PAGES: usize = 20;
    let mut tools = Vec::new();
    let mut params = json!({});
    for _ in 0..PAGES {
        let answer = request(run, caller, "tools/list", params).await?;
        let result = answer.response.json().and_then(|body| body.get("result").cloned());
        let of_stream = || {
            let events = answer.response.events();
            let mut read =
                events.iter().filter_map(|data| tradepost_document::json::from_str(data).ok());
            read.find_map(|event: Value| event.get("result").cloned())
        };
        let result =
            or_fail(result.or_else(of_stream), format!("tools/list gives {}", answer.describe()))?;
        tools.extend(items(&result, "tools").cloned());
        match text(&result, "nextCursor") {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => break,
        }
    }
    Ok(Value::Array(tools))
}

/// Returns the tools, requested once.
async fn known(run: &mut ProbeRun) -> Result<Value, CheckVerdict> {
    if let Some(known) = run.cache.get("adcp tools") {
        return known.clone();
    }
    let mut tools = list(run, Caller::First).await;
    if run.rehearses {
        // A dry run assumes all tools.
        tools = Ok(AdcpTool::NAMES.iter().map(|name| json!({"name": name})).collect());
    }
    run.cache.insert("adcp tools".to_owned(), tools.clone());
    tools
}

/// Returns the names of the tools.
pub(super) async fn tools(run: &mut ProbeRun) -> Result<Vec<String>, CheckVerdict> {
    let tools = match known(run).await {
        Ok(tools) => tools,
        // A missing list is reported by a single check.
        Err(CheckVerdict::Fail(why)) => {
            return not_looked_at(format!("there is no list of tools: {why}"));
        }
        Err(other) => return Err(other),
    };
    let tools = tools.as_array().into_iter().flatten();
    Ok(tools.filter_map(|tool| text(tool, "name")).map(str::to_owned).collect())
}

async fn served(run: &mut ProbeRun) -> CheckResult {
    fail_if(
        run.seller.bindings().is_empty() && run.seller.unrelated_mcp.is_some(),
        "the MCP server at the address lists none of AdCP's tools, and no card names AdCP",
    )?;
    pass_if(!run.seller.bindings().is_empty(), "neither answers MCP nor has a card that names AdCP")
}

async fn initialize(run: &mut ProbeRun) -> CheckResult {
    let answer = open(run, Caller::First).await?;
    if let OpenedSession::Refused(response) = answer {
        return fail(format!("initialize gives HTTP {} and no result of MCP", response.status));
    }
    let mut wrong = ShapeProblems::default();
    let (result, server) = match run.cache.get("adcp discover").cloned() {
        Some(result) => {
            let result = result?;
            let is_complete = text(&result, "resultType") == Some("complete");
            wrong.unless(is_complete, "the resultType is not complete");
            let server = result.get("_meta").and_then(|meta| meta.get(SERVER_META)).cloned();
            (result, server)
        }
        None => {
            let result = run.cache.get("adcp initialize").cloned().unwrap_or(Ok(Value::Null))?;
            wrong.text(&result, "protocolVersion", "the result");
            let server = result.get("serverInfo").cloned();
            (result, server)
        }
    };
    wrong.text(&server.unwrap_or_default(), "name", "the server's information");
    let has_tools = result.pointer("/capabilities/tools").is_some_and(Value::is_object);
    wrong.unless(has_tools, "the capabilities have no tools");
    verdict_of(&wrong.0)
}

async fn listed(run: &mut ProbeRun) -> CheckResult {
    let tools = known(run).await?;
    let tools = tools.as_array().cloned().unwrap_or_default();
    let mut wrong = ShapeProblems::default();
    wrong.unless(!tools.is_empty(), "no tool is listed");
    let mut names: Vec<&str> = Vec::new();
    for tool in &tools {
        wrong.text(tool, "name", "a tool");
        let name = text(tool, "name").unwrap_or_default();
        wrong.unless(!names.contains(&name), format!("{name} is listed twice"));
        names.push(name);
        let kind = tool.pointer("/inputSchema/type").and_then(Value::as_str);
        wrong.unless(kind == Some("object"), format!("{name} has no object schema"));
    }
    verdict_of(&wrong.0)
}

async fn identical(run: &mut ProbeRun) -> CheckResult {
    let holds = run.options.token_b.is_none();
    skip_if(holds, "needs two callers; give their tokens with --token and --token-b")?;
    let (first, second) = match run.seller.binding {
        SellerBinding::Mcp => {
            let first = known(run).await?;
            (first, list(run, Caller::Second).await?)
        }
        SellerBinding::A2a => {
            let skills = |card: Value| card.get("skills").cloned().unwrap_or_default();
            let mut cards = Vec::new();
            for caller in [Caller::First, Caller::Second] {
                let overrides =
                    RequestOverrides { caller, expects_401: true, ..RequestOverrides::default() };
                let headers = run.headers(&overrides, false);
                let out = OutgoingRequest {
                    method: Method::GET,
                    url: run.card_url.clone(),
                    headers,
                    body: vec![],
                    call: None,
                };
                let response = run.send(out, overrides).await?;
                cards.push(skills(response.json().unwrap_or_default()).to_string());
            }
            let mut cards = cards.into_iter().map(Value::String);
            (cards.next().unwrap_or_default(), cards.next().unwrap_or_default())
        }
    };
    let first = first.to_string();
    let second = second.to_string();
    pass_if(first == second, "the two callers get different lists")
}
