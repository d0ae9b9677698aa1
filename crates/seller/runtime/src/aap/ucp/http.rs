//! Routes of UCP: the profile of the business, the REST binding and the MCP binding. On the host of an agent without a
//! catalog they are unknown.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use axum::routing::{any, get};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::http::RetryAfter;
use tradepost_document::json::{self, Map, ReadLimits, Value};
use tradepost_document::parse;
use tradepost_document::problem::{DocumentPlace, Problems};
use tradepost_document::text::decoded;
use tradepost_server::agent::{ProfileRefusal, ResponsibleParty, SharedAgent};
use tradepost_server::http::intake::{self, BodyError};
use tradepost_server::http::{
    LogFields, Routes, host, json_response, mcp, not_found, set_retry_after,
};
use tradepost_server::registry::AgentRegistry;
use tradepost_server::tools::{CallOrigin, ToolAnswer, ToolCall, ToolOutcome};
use tradepost_ucp::error::{UcpCode, UcpRefusal};
use tradepost_ucp::profile::PROFILE_PATH;
use tradepost_ucp::{CatalogOperation, platform};

use super::refusal::CatalogBinding;
use super::{CatalogTools, MCP_PATH, MCP_PATH_WITH_SLASH, PATH};
use crate::aap::seller::DealerAgent;

const SEARCH_PATH: &str = "/ucp/catalog/search";
const LOOKUP_PATH: &str = "/ucp/catalog/lookup";
const PRODUCT_PATH: &str = "/ucp/catalog/product";

/// Limits of a body, those of JSON-RPC.
const LIMITS: ReadLimits =
    ReadLimits { depth: json::MAX_DEPTH, containers: 100_000, reserved: false };

/// Returns the routes.
#[must_use]
pub fn routes() -> Routes {
    let router = Router::new()
        .route(PROFILE_PATH, get(profile))
        .route(SEARCH_PATH, any(catalog))
        .route(LOOKUP_PATH, any(catalog))
        .route(PRODUCT_PATH, any(catalog))
        .route(MCP_PATH, any(mcp::handle))
        .route(MCP_PATH_WITH_SLASH, any(mcp::handle));
    let paths = &[
        (PROFILE_PATH, PROFILE_PATH),
        (SEARCH_PATH, SEARCH_PATH),
        (LOOKUP_PATH, LOOKUP_PATH),
        (PRODUCT_PATH, PRODUCT_PATH),
        (MCP_PATH, MCP_PATH),
        (MCP_PATH_WITH_SLASH, MCP_PATH),
    ];
    Routes { router, paths }
}

/// Returns the dealer of a host.
fn dealer(agent: SharedAgent) -> Option<Arc<DealerAgent>> {
    let agent: Arc<dyn std::any::Any + Send + Sync> = agent;
    agent.downcast().ok()
}

/// Answers with the profile, which every page and cache may keep for a while (UCP overview, "Profile Requirements").
async fn profile(State(registry): State<Arc<AgentRegistry>>, request: Request) -> Response {
    let agent = registry.agent(host(request.uri(), request.headers())).and_then(dealer);
    let profile = agent.as_ref().and_then(|agent| Some(agent.ucp.as_ref()?.profile.clone()));
    let Some(profile) = profile else { return not_found().await };
    let mut response = json_response(StatusCode::OK, profile);
    response.headers_mut().extend([
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=300")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*")),
    ]);
    response
}

/// Handles every method on the paths of the REST binding.
async fn catalog(State(registry): State<Arc<AgentRegistry>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let Some(agent) = registry.agent(host(&parts.uri, &parts.headers)) else {
        return not_found().await;
    };
    let found = dealer(Arc::clone(&agent));
    let Some(dealer) = &found else { return not_found().await };
    let Some(endpoint) = &dealer.ucp else { return not_found().await };
    let below = parts.uri.path().strip_prefix(PATH);
    let operation = CatalogOperation::ALL.iter().find(|one| Some(one.path()) == below);
    let Some(operation) = operation.and_then(|one| endpoint.operation(one.name())) else {
        return not_found().await;
    };
    let header_values = parts.headers.get_all(platform::HEADER).iter();
    let binding =
        CatalogBinding::Rest(header_values.map(|value| value.as_bytes().to_vec()).collect());
    let tools = CatalogTools { agent: dealer, endpoint, binding };
    let call = RestCall { registry: &registry, agent: &agent, tools: &tools, operation };
    let mut response = call.answer(&parts, body).await;
    if let Some(fields) = response.extensions_mut().get_mut::<LogFields>() {
        fields.agent = Some(agent);
    }
    response
}

/// A call by REST.
struct RestCall<'a> {
    registry: &'a AgentRegistry,
    agent: &'a SharedAgent,
    tools: &'a CatalogTools<'a>,
    operation: CatalogOperation,
}

impl RestCall<'_> {
    async fn answer(&self, parts: &Parts, body: axum::body::Body) -> Response {
        if parts.method != Method::POST {
            intake::discard(&parts.headers, body);
            let refusal = UcpRefusal::new(UcpCode::InvalidRequest, "send requests with POST");
            let status = Some(StatusCode::METHOD_NOT_ALLOWED.as_u16());
            let mut response = self.refuse(UcpRefusal { status, ..refusal });
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
            return response;
        }
        let bytes = match intake::receive(self.registry, parts, body).await {
            Ok(bytes) => bytes,
            Err(unread) => return self.unread(unread),
        };
        let caller = match intake::caller(self.registry, &**self.agent, parts).await {
            Ok(caller) => caller,
            Err(denied) => return written(self.tools.denial(&denied)),
        };
        let arguments = match read_body(&bytes) {
            Ok(arguments) => arguments,
            Err(refusal) => return by(self.refuse(refusal), &caller),
        };
        let sent = intake::sent(parts, &bytes);
        let name = self.operation.name();
        let origin = CallOrigin { registry: self.registry, parts };
        let call = ToolCall::without_form(name, arguments, &caller, sent, origin);
        by(self.outcome(self.registry.call(self.agent, self.tools, call).await), &caller)
    }

    fn outcome(&self, outcome: ToolOutcome) -> Response {
        match outcome {
            ToolOutcome::Answer(answer) => {
                let ToolAnswer { result, code, tool, .. } = *answer;
                let mut response = json_response(StatusCode::OK, String::from(result.document));
                let fields = LogFields { code, skill: tool, ..LogFields::default() };
                response.extensions_mut().insert(fields);
                response
            }
            ToolOutcome::Profile(refusal) => written(*refusal),
            ToolOutcome::Denied(denied) => written(self.tools.denial(&denied)),
            ToolOutcome::Broken(fault) => {
                written(self.tools.internal_error(self.operation, &fault))
            }
            ToolOutcome::Form { .. } => unreachable!("a catalog asks nobody"),
        }
    }

    fn refuse(&self, refusal: UcpRefusal) -> Response {
        written(self.tools.refuse(Some(self.operation), refusal))
    }

    /// Refuses a body that was not read.
    fn unread(&self, unread: BodyError) -> Response {
        let code = match unread {
            BodyError::NoRoom => UcpCode::Unavailable,
            BodyError::TooLarge(_)
            | BodyError::OtherType
            | BodyError::Encoded
            | BodyError::Broken
            | BodyError::Late(_)
            | BodyError::Slow => UcpCode::InvalidRequest,
        };
        let refusal = UcpRefusal::new(code, unread.refusal().message);
        let status = Some(unread.status().as_u16());
        let mut response = self.refuse(UcpRefusal { status, ..refusal });
        unread.mark(&mut response);
        response
    }
}

/// Reads the body of a request, an object without repeated members.
fn read_body(bytes: &[u8]) -> Result<Map, UcpRefusal> {
    let invalid = |message: &str| {
        let mut problems = Problems::new();
        parse::reject(&DocumentPlace::Root, &mut problems, message);
        UcpRefusal::from_problems(problems, false)
    };
    let text = decoded(bytes).ok_or_else(|| invalid("must be JSON in UTF-8"))?;
    match json::document(text, LIMITS) {
        Ok((_, repeated)) if !repeated.is_empty() => {
            Err(UcpRefusal::from_problems(repeated, false))
        }
        Ok((Value::Object(members), _)) => Ok(members),
        Ok(_) => Err(invalid("must be object")),
        Err(json::ReadError::Syntax) => Err(invalid("must be JSON")),
        Err(json::ReadError::Deep) => Err(invalid("nests too deep")),
        Err(json::ReadError::Many) => Err(invalid("has too many objects and arrays")),
        Err(json::ReadError::Reserved) => Err(invalid("has a member with a reserved name")),
    }
}

/// Adds who has called to the log fields.
fn by(mut response: Response, caller: &tradepost_server::agent::Caller) -> Response {
    if let Some(fields) = response.extensions_mut().remove::<LogFields>() {
        response.extensions_mut().insert(fields.by(caller));
    }
    response
}

/// Writes a refusal, whose document is the body.
fn written(refusal: ProfileRefusal) -> Response {
    let status = StatusCode::from_u16(refusal.row.http).unwrap_or(StatusCode::BAD_REQUEST);
    let mut response = json_response(status, refusal.document.get().to_owned());
    let headers = response.headers_mut();
    let challenge = refusal.challenge.and_then(|text| HeaderValue::from_str(&text).ok());
    if let Some(challenge) = challenge {
        headers.insert(header::WWW_AUTHENTICATE, challenge);
    }
    if let Some(wait) = refusal.wait {
        set_retry_after(headers, RetryAfter::new(wait));
    }
    response.extensions_mut().insert(LogFields {
        code: refusal.row.name,
        skill: refusal.skill,
        error_id: refusal.error_id,
        too_often: refusal.blame == ResponsibleParty::TooOften,
        misfits: refusal.misfits,
        ..LogFields::default()
    });
    response
}
