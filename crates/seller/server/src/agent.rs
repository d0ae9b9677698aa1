//! The interface between bindings and agents. A binding turns bytes into [`AgentRequest`] and an
//! [`AgentOutcome`] into bytes; an [`Agent`] knows neither HTTP nor gRPC.

use std::any::Any;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
pub use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use tradepost_a2a::error::{A2aCode, A2aRefusal as ProtocolRefusal, FieldViolation};
use tradepost_a2a::request::RequestedPage;
use tradepost_a2a::status::RpcStatus;
use tradepost_a2a::{
    A2aRelease, A2aRequest, Capability, Content, Message, Operation, Part, PushConfig, SendMessage,
    Task, older, request,
};
use tradepost_document::catalog::Vocabulary as _;
pub use tradepost_document::fault::INTERNAL_ERROR_RETRY_AFTER;
use tradepost_document::json::RawValue;
use tradepost_document::json::Value;

use crate::auth::{AuthRefusal, Authenticator, Principal, ShownCredential};
pub use crate::card::Binding;
use crate::card::{ClaimedExtension, PublishedCard};
use crate::fault::InternalError;
use crate::http::exchange::{LoggedResponse, RawRequest};
use crate::limit::{LimitKey, RateLimitExceeded};
use crate::metrics::Metrics;
use crate::panics;
use crate::permission::{self, Permission};
use crate::refusals::FieldError;
use crate::tasks::{FOREIGN_TOKEN, PushPage, TaskError, TaskPage, TaskStream};
use crate::tools::Tools;

mod builder;
mod context;

pub use builder::{AgentBuilder, AgentError, BuiltAgent, MessageCall};
pub use context::{CallContext, RequestHeaders};

/// An agent: performs requests of A2A, and optionally calls of MCP tools.
///
/// Requests are checked against the capabilities, extensions and bindings of its card before they
/// reach it.
pub trait Agent: Any + fmt::Debug + Send + Sync {
    /// Returns the id that names the agent in the log, and under which its tasks and keys are
    /// stored.
    fn id(&self) -> &str {
        self.auth().agent_id()
    }

    /// Returns the agent card.
    fn card(&self) -> &PublishedCard;

    /// Returns the authenticator for its callers.
    fn auth(&self) -> &Authenticator;

    /// Performs a request that passed authentication.
    fn perform<'a>(&'a self, incoming: AgentRequest<'a>) -> BoxFuture<'a, AgentOutcome>;

    /// Returns the host names (without port) of the agent; `None` means every host.
    fn hosts(&self) -> Option<&[String]> {
        None
    }

    /// Returns true when the directory of the process lists the agent.
    fn is_listed(&self) -> bool {
        true
    }

    /// Returns true when messages become tasks that can be queried.
    fn keeps_tasks(&self) -> bool {
        true
    }

    /// Returns true when a request without a protocol version is refused, because it means 0.3 (A2A
    /// 1.0 §3.6.2).
    fn requires_version(&self) -> bool {
        true
    }

    /// Returns the extensions that are in use on a binding when a request activates them.
    fn extensions(&self, binding: Binding) -> Vec<&str> {
        let _ = binding;
        self.card().claims.extensions.iter().map(|known| known.uri.as_str()).collect()
    }

    /// Returns the permission that an operation requires. Messages may require more, which the
    /// agent checks after reading them.
    fn required(&self, operation: Operation) -> Option<Permission> {
        Some(permission::required(operation))
    }

    /// Returns the error code for a body with another media type, for which A2A has no rule.
    fn other_media_type(&self) -> A2aCode {
        A2aCode::ContentTypeNotSupported
    }

    /// Returns true for a part with a media type that the agent can read. By default the card
    /// decides ([`CardClaims::reads`](crate::card::CardClaims::reads)); a message with any other part is
    /// refused as `CONTENT_TYPE_NOT_SUPPORTED`.
    fn accepts_part(&self, part: &Part) -> bool {
        self.card().claims.reads(part)
    }

    /// Returns the maximum size of a file in a message, in bytes after decoding; `None` for no other limit than that of
    /// the whole request ([`HttpSettings::max_body_bytes`](crate::http::HttpSettings::max_body_bytes)). Every larger file
    /// of a message is reported.
    fn max_file_bytes(&self) -> Option<usize> {
        None
    }

    /// Returns the check of page tokens, so that a wrong token is reported together with the other
    /// problems of a request. An agent with a [`TaskService`](crate::tasks::TaskService) returns that;
    /// without one, a wrong token is reported only when the rest of the request is right.
    fn page_tokens(&self) -> Option<&dyn PageTokens> {
        None
    }

    /// Writes the profile's refusal for a request that failed before it was read; `None` for the
    /// protocol's own error.
    fn refusal(&self, binding: Binding, trouble: &EarlyError) -> Option<ProfileRefusal> {
        let _ = (binding, trouble);
        None
    }

    /// Handles a body that was posted to the JSON-RPC endpoint in the agent's own way. The request
    /// is raw and not authenticated.
    fn posted<'a>(&'a self, posted: RawRequest<'a>) -> Option<BoxFuture<'a, LoggedResponse>> {
        let _ = posted;
        None
    }

    /// Returns its MCP tools; without any, there is no `/mcp`.
    fn tools(&self) -> Option<&dyn Tools> {
        None
    }

    /// Returns MCP tools that it has at another path than `/mcp`, where such a route is mounted
    /// ([`http::mcp::handle`](crate::http::mcp::handle)).
    fn tools_at<'a>(&'a self, path: &str) -> Option<Box<dyn Tools + 'a>> {
        let _ = path;
        None
    }

    /// Returns an example request for people: address and JSON body. The agent is reached under
    /// `base_url`.
    fn example(&self, base_url: &str) -> Option<(String, String)> {
        let _ = base_url;
        None
    }

    /// Returns the error code of an answer that is a refusal in the profile's own format.
    fn code_of(&self, _: &AgentAnswer) -> &'static str {
        "OK"
    }

    /// Returns the places where the request of such an answer was wrong.
    fn misfits_of(&self, _: &AgentAnswer) -> Vec<FieldError> {
        Vec::new()
    }

    /// Loads changes made by other processes. May block on a disk.
    ///
    /// # Errors
    /// When the store fails; the loaded data stays in use.
    fn refresh(&self) -> Result<(), InternalError> {
        self.auth().tidy();
        Ok(())
    }

    /// Runs periodic work.
    fn tick(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Ends all streams, because a stopping process cannot serve them.
    fn close_streams(&self) {}
}

impl dyn Agent {
    /// Returns the id for log and metrics; empty when reading it panics.
    pub(crate) fn id_or_none(&self) -> &str {
        panics::catch_now("reading an agent's id", || self.id()).unwrap_or_default()
    }

    /// Returns true when it answers on a binding.
    #[must_use]
    pub fn speaks(&self, binding: Binding) -> bool {
        binding.is_built_in() && self.card().claims.bindings.contains(&binding)
    }

    /// Reads a request of a protocol release for a caller that activated these extensions. Problems
    /// are reported in the order of A2A 1.0 §3.3.4: capabilities, then parameters, then media
    /// types.
    ///
    /// # Errors
    /// The error of the missing extension or capability, every wrong parameter, or every part that
    /// the agent cannot read.
    // A required extension that the request does not activate is an error (A2A 1.0 §3.3.4, X-01).
    pub fn accept(
        &self,
        release: A2aRelease,
        operation: Operation,
        activated: &[String],
        caller: &Caller,
        params: Option<Value>,
    ) -> Result<A2aRequest, ProtocolRefusal> {
        let tenant = params.as_ref().and_then(|params| params.get("tenant"));
        // Tenants exist only in 1.0; in 0.3 the name is an unknown member, which is ignored.
        let is_newer = release == A2aRelease::V1_0;
        if is_newer && tenant.is_some_and(|tenant| !tenant.is_null() && tenant != "") {
            // None of our cards declares a tenant (A2A 1.0 §8.3.2), so the request is meant for
            // another agent.
            let description =
                "names no tenant of this agent, whose card declares none; leave it out";
            return Err(request::invalid_param("tenant", description));
        }
        let claims = &self.card().claims;
        let is_missing =
            |known: &&ClaimedExtension| known.required && !activated.contains(&known.uri);
        // 0.3 has no error for a missing extension, so its requests are not refused for one.
        let missing = claims.extensions.iter().filter(|_| is_newer).find(is_missing);
        if let Some(known) = missing {
            let message = format!("name the extension {} in A2A-Extensions", known.uri);
            return Err(ProtocolRefusal::new(A2aCode::ExtensionSupportRequired, message)
                .with("extensionUri", &known.uri));
        }
        let has = |capability| match capability {
            Capability::Tasks => self.keeps_tasks(),
            Capability::Streaming => claims.streaming,
            Capability::Push => claims.push,
            Capability::ExtendedCard => claims.extended_card,
        };
        if let Some((capability, code)) = operation.needs()
            && !has(capability)
        {
            let refusal = ProtocolRefusal::new(code, code.title());
            return Err(refusal.with("operation", operation.name()));
        }
        let asks_for_push = if is_newer { request::asks_for_push } else { older::asks_for_push };
        // Accepting a webhook without delivering to it would leave the caller waiting.
        if params.as_ref().is_some_and(asks_for_push) && !has(Capability::Push) {
            let message = "this agent sends no push notifications; leave the webhook out";
            return Err(ProtocolRefusal::new(A2aCode::PushNotificationNotSupported, message));
        }
        let page = is_newer.then(|| request::requested_page(operation, params.as_ref())).flatten();
        let read = match release {
            A2aRelease::V1_0 => request::take(operation, params),
            A2aRelease::V0_3 => older::read(operation, params.as_ref()),
        };
        let request = match (read, page) {
            (Ok(request), _) => request,
            (Err(refusal), Some(page)) if self.is_foreign(caller, &page) => {
                return Err(request::with_violation(refusal, "pageToken", FOREIGN_TOKEN));
            }
            (Err(refusal), _) => return Err(refusal),
        };
        if let A2aRequest::SendMessage(send) | A2aRequest::SendStreamingMessage(send) = &request {
            self.check_media_types(send)?;
            self.check_file_sizes(send)?;
        }
        Ok(request)
    }

    /// Checks that no file of a message is too large.
    fn check_file_sizes(&self, send: &SendMessage) -> Result<(), ProtocolRefusal> {
        let Some(most) = self.max_file_bytes() else { return Ok(()) };
        let is_too_large = |part: &Part| match &part.content {
            Content::Raw(base64) => decoded_bytes(base64) > most,
            Content::Text(_) | Content::Data(_) | Content::Url(_) => false,
        };
        let parts = send.message.parts.iter().enumerate();
        let too_large = parts.filter(|(_, part)| is_too_large(part)).map(|(index, _)| {
            let field = format!("message.parts[{index}].raw");
            FieldViolation { field, description: format!("must have at most {most} bytes") }
        });
        let too_large: Vec<_> = too_large.collect();
        if too_large.is_empty() { Ok(()) } else { Err(request::invalid_fields(too_large)) }
    }

    /// Returns true when a page token was not issued by this agent.
    fn is_foreign(&self, caller: &Caller, page: &RequestedPage) -> bool {
        self.page_tokens().is_some_and(|tokens| !tokens.is_known(caller, page))
    }

    /// Checks that the agent can read every part of a message.
    // An unreadable part is refused as `CONTENT_TYPE_NOT_SUPPORTED` (A2A 1.0 §3.1.1, E-24).
    fn check_media_types(&self, send: &SendMessage) -> Result<(), ProtocolRefusal> {
        let parts = send.message.parts.iter().enumerate();
        let unread = parts.filter(|(_, part)| !self.accepts_part(part));
        let unread: Vec<_> = unread.map(|(index, _)| format!("message.parts[{index}]")).collect();
        if unread.is_empty() {
            return Ok(());
        }
        let fields = unread.join(", ");
        let message = format!("a part has a media type that this agent cannot read: {fields}");
        let refusal = ProtocolRefusal::new(A2aCode::ContentTypeNotSupported, message);
        let supported = self.card().claims.input_modes.join(", ");
        Err(refusal.with("fields", fields).with("supportedMediaTypes", supported))
    }
}

/// Returns the number of bytes that a text in base64 stands for.
fn decoded_bytes(base64: &str) -> usize {
    let digits = base64.trim_end_matches('=').len();
    digits / 4 * 3 + (digits % 4) * 3 / 4
}

/// Issues page tokens of lists and recognises them.
pub trait PageTokens: Sync {
    /// Returns true when this caller was issued the token for this list. When the request does not
    /// show which list is meant, returns true for any token that could be valid.
    fn is_known(&self, caller: &Caller, page: &RequestedPage) -> bool;
}

/// A shared agent.
pub type SharedAgent = Arc<dyn Agent>;

/// The caller of a request.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Network address.
    pub address: IpAddr,
    /// Authenticated identity.
    pub principal: Principal,
    /// The credential that it has shown: an agent may look whether it stands where it must not.
    pub credential: Option<ShownCredential>,
}

impl Caller {
    /// Returns the key for rate limits. A caller with a name is limited by it, whatever its
    /// address.
    #[must_use]
    pub fn limit_key(&self) -> LimitKey {
        if self.principal.is_anonymous() {
            LimitKey::address(self.address)
        } else {
            LimitKey::Credential(self.principal.name.clone())
        }
    }
}

/// Raw request data that is kept as evidence of a consent.
#[derive(Debug, Clone, Copy)]
pub struct RequestMeta<'a> {
    /// `User-Agent` of the caller.
    pub user_agent: Option<&'a str>,
    /// Bytes of the body.
    pub body: &'a [u8],
}

/// A request with the data of its transport.
#[derive(Debug)]
#[non_exhaustive]
pub struct AgentRequest<'a> {
    /// Binding of the request.
    pub binding: Binding,
    /// Protocol release of the request.
    pub release: A2aRelease,
    /// Caller.
    pub caller: &'a Caller,
    /// Extensions that the transport activates.
    pub activated: &'a [String],
    /// The request.
    pub request: A2aRequest,
    /// Headers of the request, or the metadata of a gRPC call.
    pub headers: RequestHeaders<'a>,
    /// Signal that the caller has gone before it had the whole answer. A task that the request begins also gives it
    /// when it is canceled.
    pub cancellation: CancellationToken,
    /// Raw request data.
    pub sent: RequestMeta<'a>,
    /// Last stream event that the caller has received, when it resumes a stream.
    pub resume_after: Option<i64>,
    /// Maximum time for an answer.
    pub patience: Duration,
    /// Metrics that count panics of task work.
    pub(crate) metrics: &'a Arc<Metrics>,
}

/// Result of a request.
#[derive(Debug)]
pub enum AgentOutcome {
    /// An answer.
    Answer(Box<AgentAnswer>),
    /// A refusal by the protocol.
    Protocol(ProtocolRefusal),
    /// A refusal by a profile of the protocol.
    Profile(Box<ProfileRefusal>),
    /// A refusal of authentication or permission.
    Denied(AuthRefusal),
    /// An internal error.
    Broken(InternalError),
}

impl From<AgentAnswer> for AgentOutcome {
    fn from(answer: AgentAnswer) -> Self {
        Self::Answer(Box::new(answer))
    }
}

impl From<Result<AgentAnswer, ProtocolRefusal>> for AgentOutcome {
    fn from(answer: Result<AgentAnswer, ProtocolRefusal>) -> Self {
        answer.map_or_else(Self::Protocol, Self::from)
    }
}

impl From<Result<AgentAnswer, TaskError>> for AgentOutcome {
    fn from(answer: Result<AgentAnswer, TaskError>) -> Self {
        match answer {
            Ok(answer) => answer.into(),
            Err(TaskError::Refused(refusal)) => Self::Protocol(refusal),
            Err(TaskError::Broken(fault)) => Self::Broken(fault),
        }
    }
}

/// A successful answer.
#[derive(Debug)]
pub enum AgentAnswer {
    /// A message.
    Message(Message),
    /// A message that the agent has serialised itself.
    Written(SerializedResponse),
    /// The task that a message has started.
    Begun(Task),
    /// A task.
    Task(Task),
    /// A page of tasks.
    Tasks(TaskPage),
    /// A webhook configuration.
    PushConfig(PushConfig),
    /// The webhook configurations of a task.
    PushConfigs(PushPage),
    /// Success without content.
    Done,
    /// The extended card for this caller, which caches must not share (A2A 1.0 §13.3).
    ExtendedCard(Value),
    /// A stream of a single message.
    MessageStream(Message),
    /// A stream of task events.
    Stream(TaskStream),
}

/// A `SendMessageResponse` that the agent has serialised, which avoids copying its content.
#[derive(Debug)]
pub struct SerializedResponse {
    /// The JSON in pieces, which may be shared with other answers.
    pub json: Vec<Bytes>,
    /// The extension that the answer is in.
    pub extension: &'static str,
    /// The called skill, for the log.
    pub skill: &'static str,
}

/// A refusal by a profile, with what each binding needs to write it.
#[derive(Debug)]
pub struct ProfileRefusal {
    /// Row of the profile's error catalog.
    pub row: ErrorProperties,
    /// The called skill, where known.
    pub skill: Option<&'static str>,
    /// Message for people.
    pub message: String,
    /// Short message for clients that show nothing else.
    pub summary: String,
    /// The profile's own error document, a serialised JSON object, which most bindings pass on
    /// unchanged.
    pub document: Box<RawValue>,
    /// Type name of the document as a detail of a gRPC status.
    pub document_type: &'static str,
    /// Metadata for programs (`ErrorInfo.metadata`).
    pub metadata: Vec<(&'static str, String)>,
    /// Error id in the log, if there is one.
    pub error_id: Option<String>,
    /// Retry-after, where retrying helps.
    pub wait: Option<Duration>,
    /// HTTP status of a JSON-RPC answer, where it is not 200.
    pub jsonrpc_status: Option<u16>,
    /// Value of `WWW-Authenticate` for a caller that has to authenticate.
    pub challenge: Option<String>,
    /// The extension that the refusal is in.
    pub extension: Option<&'static str>,
    /// Party that caused it.
    pub blame: ResponsibleParty,
    /// Problems of the request, for the operators of the agent.
    pub misfits: Vec<FieldError>,
}

/// Fixed properties of a profile's error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorProperties {
    /// Name of the code.
    pub name: &'static str,
    /// Domain of the error catalog.
    pub domain: &'static str,
    /// JSON-RPC error code.
    pub jsonrpc: i32,
    /// HTTP status in the HTTP+JSON binding.
    pub http: u16,
    /// gRPC status.
    pub grpc: RpcStatus,
}

/// Party that caused a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponsibleParty {
    /// The caller.
    Caller,
    /// The caller, by exceeding a rate limit.
    TooOften,
    /// The server.
    Server,
    /// The server, temporarily.
    // Temporary errors differ from permanent ones (A2A 1.0 §3.3.2, E-14).
    ServerTemporarily,
}

/// Reason why a request failed before it was read.
#[derive(Debug)]
pub enum EarlyError<'t> {
    /// The sender exceeds a rate limit.
    TooOften(RateLimitExceeded),
    /// An internal error.
    Broken(&'t InternalError),
}
