//! MCP over streamable HTTP at `/mcp`, for agents with [`Tools`]. There are no sessions with a state:
//! every message gets its own JSON answer, and a session id only repeats what the client said of
//! itself. A call during which a person is asked is a stream of events (`ask`). Without tools the
//! path is unknown. An agent can have other tools at other paths, whose routes others mount.

use std::ops::RangeInclusive;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use tradepost_a2a::error::A2aCode;
use tradepost_a2a::jsonrpc::{self, Id, RpcIncoming, RpcReply};
use tradepost_document::http::MediaType;
use tradepost_document::http::own_page::is_own_loopback_page;
use tradepost_document::json::JsonPieces;
use tradepost_mcp::{self as mcp, DeclaredClient, Lifecycle, McpError};

use super::answers::{self, ErrorWriter as _};
use super::denied;
use super::discovery;
use super::exchange::{LogFields, LoggedResponse, stamped};
use super::head::host;
use super::intake::{self, BodyError};
use super::jsonrpc::RpcErrors;
use super::plain::{json_response, not_found};
use crate::agent::{Caller, SharedAgent};
use crate::auth::AuthRefusal;
use crate::registry::AgentRegistry;
use crate::tools::{
    AuthRejected, CallOrigin, ClientSession, FormSupport, ToolAnswer, ToolAuth, ToolCall,
    ToolOutcome, Tools,
};

mod ask;

use ask::PendingCall;

/// Path of the endpoint.
pub const PATH: &str = "/mcp";

/// Header with the session id.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// Path with a slash, because clients join paths in different ways.
pub(super) const PATH_WITH_SLASH: &str = "/mcp/";

/// Handles every method on the path, or on another path at which agents have tools.
pub async fn handle(State(registry): State<Arc<AgentRegistry>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path();
    let agent = registry.tools_agent(host(&parts.uri, &parts.headers));
    let Some(agent) = &agent else { return not_found().await };
    let others = agent.tools_at(path);
    let usual = if matches!(path, PATH | PATH_WITH_SLASH) { agent.tools() } else { None };
    let Some(tools) = others.as_deref().or(usual) else { return not_found().await };
    let answered = async {
        match check_head(tools, &parts) {
            Ok(session) => {
                let session = session.as_ref();
                let inside =
                    CheckedRequest { registry: &registry, agent, tools, parts: &parts, session };
                inside.take(body).await
            }
            Err(fail) => respond(&fail, &Id::null()),
        }
    };
    let answered = registry.guard(agent, "answering a request", answered).await;
    let (mut response, stamp) =
        answered.unwrap_or_else(|fault| RpcErrors(&Id::null()).internal_error(&**agent, &fault));
    if response.status() == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
    }
    stamped(response, stamp, agent)
}

/// Session that a request names, and its contents.
#[derive(Debug)]
struct NamedSession<'a> {
    id: &'a str,
    contents: ClientSession,
}

/// Checks the head of a request before its body is read, and reads its session.
fn check_head<'a>(
    tools: &dyn Tools,
    parts: &'a Parts,
) -> Result<Option<NamedSession<'a>>, McpError> {
    let invalid = |status: StatusCode, message| {
        Err(McpError::new(A2aCode::InvalidRequest, message).with_status(status.as_u16()))
    };
    // HTTP/2 has it in the place of `Host`.
    let authority = parts.uri.authority().map(|authority| authority.as_str());
    let host = authority.or_else(|| parts.headers.get(header::HOST)?.to_str().ok());
    let known = |origin: &HeaderValue| {
        let origin = origin.as_bytes();
        let mut allowed = tools.origins().iter();
        is_own_loopback_page(origin, host.unwrap_or_default())
            || allowed.any(|known| known.as_bytes().eq_ignore_ascii_case(origin))
    };
    // A request without the header does not come from a web page.
    if !parts.headers.get_all(header::ORIGIN).iter().all(known) {
        return invalid(StatusCode::FORBIDDEN, "web pages of this origin are not allowed here");
    }
    if parts.method != Method::POST {
        let message = "send messages with POST; there are no sessions and no streams here";
        return invalid(StatusCode::METHOD_NOT_ALLOWED, message);
    }
    let session = match (tools.sessions(), parts.headers.get(SESSION)) {
        (Some(sessions), Some(id)) => {
            let read = |id| Some(NamedSession { id, contents: sessions.read(id)? });
            let Some(session) = id.to_str().ok().and_then(read) else {
                let message = "there is no such session; begin again with initialize";
                return invalid(StatusCode::NOT_FOUND, message);
            };
            Some(session)
        }
        (Some(_) | None, _) => None,
    };
    if !reads_json(&parts.headers) {
        let message = "the Accept header must permit application/json";
        return invalid(StatusCode::NOT_ACCEPTABLE, message);
    }
    Ok(session)
}

/// Answers a refused caller, and names the metadata of the endpoint in a challenge.
fn deny(
    agent: &SharedAgent,
    tools: Option<&dyn Tools>,
    dialect: &RpcErrors<'_>,
    denied: AuthRefusal,
) -> LoggedResponse {
    if let Some(refusal) = tools.and_then(|tools| tools.denied(&denied)) {
        return dialect.profile(refusal);
    }
    let metadata = tools.and_then(discovery::metadata_address);
    denied::respond_for(&**agent, dialect, denied, metadata.as_deref())
}

fn reads_json(headers: &HeaderMap) -> bool {
    let mut named = headers.get_all(header::ACCEPT).iter().peekable();
    // A missing header accepts everything (RFC 9110 §12.5.1).
    if named.peek().is_none() {
        return true;
    }
    let named = named.filter_map(|value| value.to_str().ok());
    MediaType::listed(named).any(|range| range.covers("application/json"))
}

/// A request whose head has been checked.
#[derive(Clone, Copy)]
struct CheckedRequest<'a> {
    registry: &'a Arc<AgentRegistry>,
    agent: &'a SharedAgent,
    tools: &'a dyn Tools,
    parts: &'a Parts,
    session: Option<&'a NamedSession<'a>>,
}

impl<'a> CheckedRequest<'a> {
    /// Reads the body and answers the message in it.
    async fn take(self, body: Body) -> LoggedResponse {
        let unread = match intake::receive(self.registry, self.parts, body).await {
            Ok(bytes) => return self.answer(&bytes).await,
            Err(unread) => unread,
        };
        // A signature over a body with two media types would be ambiguous, so it is checked first.
        if unread == BodyError::OtherType
            && let Some(Err(rejection)) = self.admit(&[], None).await
        {
            return RpcErrors(&Id::null()).profile(*rejection);
        }
        let refusal = unread.refusal();
        let fail = McpError::new(refusal.code, refusal.message);
        let fail = fail.with_status(unread.status().as_u16());
        let (mut response, stamp) = respond(&fail, &Id::null());
        unread.mark(&mut response);
        (response, stamp)
    }

    /// Lets the agent authenticate the caller, if it does so itself.
    async fn admit(
        self,
        bytes: &[u8],
        request: Option<&mcp::McpRequest>,
    ) -> Option<Result<Caller, AuthRejected>> {
        let Self { registry, parts, .. } = self;
        Some(self.tools.admit(ToolAuth { registry, parts, bytes, request })?.await)
    }

    /// Answers a message: a request, a notification or a reply to a question.
    async fn answer(self, bytes: &[u8]) -> LoggedResponse {
        let message = match jsonrpc::read_incoming(bytes) {
            Ok(RpcIncoming::Message(message)) => message,
            Ok(RpcIncoming::Reply(reply)) => return self.take_reply(reply).await,
            Err(reject) => {
                // A signature over a body with duplicate members would be ambiguous, so it is
                // checked first.
                if !reject.duplicate_keys.is_empty()
                    && let Some(Err(rejection)) = self.admit(bytes, None).await
                {
                    return RpcErrors(&reject.id).profile(*rejection);
                }
                return respond(&McpError::from_reject(&reject), &reject.id);
            }
        };
        let header = |name: &str| self.parts.headers.get(name).map(HeaderValue::as_bytes);
        let request = match mcp::request(message, header) {
            Ok(Some(request)) => request,
            // Notifications are accepted and ignored.
            Ok(None) => return (json_response(StatusCode::ACCEPTED, ""), LogFields::default()),
            Err((id, fail)) => return respond(&fail, &id),
        };
        let caller = match self.admit(bytes, Some(&request)).await {
            Some(Ok(caller)) => caller,
            Some(Err(rejection)) => return RpcErrors(&request.id).profile(*rejection),
            None => match intake::caller(self.registry, &**self.agent, self.parts).await {
                Ok(caller) => caller,
                Err(denied) => {
                    let dialect = RpcErrors(&request.id);
                    return deny(self.agent, Some(self.tools), &dialect, denied);
                }
            },
        };
        let operation = mcp::method(&request.method);
        let (response, stamp) = if request.method == mcp::CALL {
            self.call(&caller, request, bytes).await
        } else {
            self.introduce(&request)
        };
        (response, LogFields { operation, ..stamp.by(&caller) })
    }

    /// Answers every message that is not a tool call.
    fn introduce(self, request: &mcp::McpRequest) -> LoggedResponse {
        let introduction = || self.tools.introduction();
        match mcp::answer(request, introduction, self.tools.listing()) {
            Some(Ok(result)) => {
                let body = mcp::body(&request.id, &result);
                let mut response = json_response(StatusCode::OK, body);
                if let Some(id) = self.new_session(request) {
                    response.headers_mut().insert(SESSION, id);
                }
                (response, LogFields::default())
            }
            Some(Err(fail)) => respond(&fail, &request.id),
            None => {
                let message = "method not found; there are tools/list, tools/call, resources/list \
                               and resources/read";
                let fail = McpError::new(A2aCode::MethodNotFound, message);
                respond(&fail.with_status(request.lifecycle.of_unknown_methods()), &request.id)
            }
        }
    }

    /// Returns the session id for a client that greets and says who it is.
    fn new_session(self, request: &mcp::McpRequest) -> Option<HeaderValue> {
        let sessions = self.tools.sessions().filter(|_| request.method == mcp::INITIALIZE)?;
        let client = DeclaredClient::from_params(request.lifecycle, &request.params)?;
        let shows_forms = mcp::can_be_asked(request.lifecycle, &request.params);
        HeaderValue::from_str(&sessions.issue(&ClientSession { client, shows_forms })).ok()
    }

    /// Takes the answer of a person, which a client sends in the session of the question.
    async fn take_reply(self, reply: RpcReply) -> LoggedResponse {
        let Some(session) = self.session else {
            let message = "an answer needs the Mcp-Session-Id of its question";
            let fail = McpError::new(A2aCode::InvalidRequest, message);
            return respond(&fail.with_status(StatusCode::BAD_REQUEST.as_u16()), &reply.id);
        };
        let caller = match intake::caller(self.registry, &**self.agent, self.parts).await {
            Ok(caller) => caller,
            Err(denied) => {
                return deny(self.agent, Some(self.tools), &RpcErrors(&reply.id), denied);
            }
        };
        let id = reply.id.clone();
        if !self.registry.questions.answered(session.id, reply) {
            let message = "no question of this id waits here: it was answered, its time is up, or another process has \
                           asked; wait for the result of the call, which says how to ask the person again, and \
                           send the messages of a session to one process";
            let fail = McpError::new(A2aCode::InvalidRequest, message);
            let (response, stamp) = respond(&fail.with_status(StatusCode::CONFLICT.as_u16()), &id);
            return (response, stamp.by(&caller));
        }
        (json_response(StatusCode::ACCEPTED, ""), LogFields::default().by(&caller))
    }

    /// Returns the client of a request, as it describes itself there or in its handshake.
    fn client(self, request: &mcp::McpRequest) -> Option<DeclaredClient> {
        match request.lifecycle {
            Lifecycle::Stateless => DeclaredClient::from_params(request.lifecycle, &request.params),
            Lifecycle::Handshake => Some(self.session?.contents.client.clone()),
        }
    }

    /// Calls a tool.
    async fn call(
        self,
        caller: &Caller,
        mut request: mcp::McpRequest,
        bytes: &[u8],
    ) -> LoggedResponse {
        let Self { registry, agent, tools, parts, .. } = self;
        let tool = match request.tool(|name| tools.has(name)) {
            // Copied, because the arguments are taken out of the request next.
            Ok(tool) => &tool.to_owned(),
            Err(fail) => return respond(&fail, &request.id),
        };
        let arguments = request.take_arguments();
        if let Some(session) = self.session_for_form(&request, tool) {
            let pending = PendingCall {
                registry: Arc::clone(registry),
                agent: Arc::clone(agent),
                caller: caller.clone(),
                client: self.client(&request),
                session: session.to_owned(),
                tool: tool.clone(),
                arguments,
                parts: parts.clone(),
                body: bytes.to_vec(),
                id: request.id,
            };
            return pending.answer().await;
        }
        let sent = intake::sent(parts, bytes);
        let patience = registry.settings.request_timeout;
        let client = self.client(&request);
        let form = match request.lifecycle {
            Lifecycle::Stateless if mcp::can_be_asked(request.lifecycle, &request.params) => {
                let (state, answer) = mcp::state_and_answer(&request.params);
                FormSupport::Returned { state, answer }
            }
            Lifecycle::Stateless | Lifecycle::Handshake => FormSupport::Absent,
        };
        let origin = CallOrigin { registry, parts };
        let call = ToolCall { tool, arguments, caller, client, form, sent, origin, patience };
        let outcome = registry.call(agent, tools, call).await;
        written(agent, Some(tools), &request.id, request.lifecycle, outcome)
    }

    /// Returns the session of a client that can show a form, for a tool that may ask.
    fn session_for_form(self, request: &mcp::McpRequest, tool: &str) -> Option<&'a str> {
        let is_handshake = request.lifecycle == Lifecycle::Handshake;
        let session =
            self.session.filter(|session| is_handshake && session.contents.shows_forms)?;
        let named = self.parts.headers.get_all(header::ACCEPT).iter();
        let mut named = MediaType::listed(named.filter_map(|value| value.to_str().ok()));
        let is_asked =
            self.tools.may_ask(tool) && named.any(|range| range.covers("text/event-stream"));
        is_asked.then_some(session.id)
    }
}

/// Writes the outcome of a call.
fn written(
    agent: &SharedAgent,
    tools: Option<&dyn Tools>,
    id: &Id,
    lifecycle: Lifecycle,
    outcome: ToolOutcome,
) -> LoggedResponse {
    let dialect = RpcErrors(id);
    match outcome {
        ToolOutcome::Answer(answer) => {
            let ToolAnswer { result, code, tool, too_often, error_id, misfits } = *answer;
            let body = body_of(result.body(id, lifecycle));
            let skill = tool;
            let stamp =
                LogFields { code, skill, too_often, error_id, misfits, ..LogFields::default() };
            (json_response(StatusCode::OK, body), stamp)
        }
        ToolOutcome::Form { form, state, tool } => {
            let body = mcp::body(id, &form.result(&state));
            let stamp = LogFields { skill: Some(tool), ..LogFields::default() };
            (json_response(StatusCode::OK, body), stamp)
        }
        ToolOutcome::Profile(refusal) => dialect.profile(*refusal),
        ToolOutcome::Denied(denied) => deny(agent, tools, &dialect, denied),
        ToolOutcome::Broken(fault) => dialect.internal_error(&**agent, &fault),
    }
}

/// Creates a body of a text, without copying when it has few pieces.
fn body_of(text: JsonPieces) -> Body {
    const CHUNKED_PIECES: RangeInclusive<usize> = 2..=8;
    if !CHUNKED_PIECES.contains(&text.count()) {
        return String::from(text).into();
    }
    answers::in_pieces(text.into_iter().map(Bytes::from_owner).collect())
}

fn respond(fail: &McpError, id: &Id) -> LoggedResponse {
    let status = StatusCode::from_u16(fail.status).unwrap_or(StatusCode::BAD_REQUEST);
    let response = json_response(status, fail.body(id));
    (response, LogFields { code: fail.name, ..LogFields::default() })
}
