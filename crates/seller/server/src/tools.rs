//! Interface for an agent's MCP tools, in the terms of [`mcp`]. It knows HTTP only for the
//! authentication of callers.

use std::fmt;
use std::time::Duration;

use axum::http::request::Parts;
use futures_util::future::BoxFuture;
use tradepost_document::json::{Map, Value};
use tradepost_mcp as mcp;
pub use tradepost_mcp::{
    AgreementForm, Annotations, DeclaredClient, ListedTool, McpListing, Resource, ServerInfo,
    ToolResult,
};

use crate::agent::{Caller, ProfileRefusal, RequestMeta};
use crate::auth::AuthRefusal;
use crate::fault::InternalError;
use crate::permission::Permission;
use crate::refusals::FieldError;
use crate::registry::AgentRegistry;

mod session;

pub use session::{ClientSession, ClientSessions};

/// The MCP tools of an agent.
pub trait Tools: fmt::Debug + Send + Sync {
    /// Returns the description of the server.
    fn introduction(&self) -> ServerInfo;

    /// Returns the tools and resources, which are the same for every caller.
    fn listing(&self) -> &McpListing;

    /// Calls a known tool.
    fn call<'a>(&'a self, call: ToolCall<'a>) -> BoxFuture<'a, ToolOutcome>;

    /// Returns true when there is a tool with this name, listed or not.
    fn has(&self, name: &str) -> bool {
        self.listing().names().any(|known| known == name)
    }

    /// Returns the permission that a tool requires. Arguments may require more, which the agent
    /// checks after reading them.
    fn required(&self, tool: &str) -> Option<Permission> {
        let _ = tool;
        None
    }

    /// Returns true when a tool may ask the person behind the client by a form. A call of another tool never waits for a
    /// person.
    fn may_ask(&self, tool: &str) -> bool {
        let _ = tool;
        false
    }

    /// Returns true when every call is passed on to other agents of the process, each of which takes it in its turn
    /// ([`AgentRegistry::pass_on`]). A call that also had a turn of its own would keep one from them.
    fn passes_on(&self) -> bool {
        false
    }

    /// Returns the origins of web pages that may call, such as `https://example.com`: browsers send
    /// theirs with every request, also to a name that an attacker resolves to this server (DNS
    /// rebinding).
    fn origins(&self) -> &[String] {
        &[]
    }

    /// Returns the public address of the endpoint, such as `https://example.com/mcp`, which the
    /// page for people names. `None` when it is published elsewhere.
    fn address(&self) -> Option<&str> {
        None
    }

    /// Returns the sessions by which calls of versions with a handshake name their client; without
    /// them a session id is ignored.
    fn sessions(&self) -> Option<&ClientSessions> {
        None
    }

    /// Returns a document by which programs find the endpoint.
    fn document(&self, which: DiscoveryDocument) -> Option<String> {
        let _ = which;
        None
    }

    /// Writes the refusal of a caller in the tools' own format; `None` for that of the protocol.
    fn denied(&self, denied: &AuthRefusal) -> Option<ProfileRefusal> {
        let _ = denied;
        None
    }

    /// Authenticates a request in the agent's own way; `None` uses the agent's authenticator.
    fn admit<'a>(
        &'a self,
        request: ToolAuth<'a>,
    ) -> Option<BoxFuture<'a, Result<Caller, AuthRejected>>> {
        let _ = request;
        None
    }
}

/// A document by which programs find the endpoint and what it requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiscoveryDocument {
    /// `llms.txt`: what models can do here.
    LlmsText,
    /// `server.json` in the format of the MCP registry.
    RegistryEntry,
    /// The metadata of an OAuth protected resource (RFC 9728).
    ProtectedResource,
}

/// Way to ask the person behind a client with a form.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FormSupport<'a> {
    /// The client shows no forms, or cannot be asked in its version of MCP.
    Absent,
    /// The client declares forms, and gave no answer to one.
    Unanswered,
    /// The client shows the form, and the call is repeated with the answer.
    Returned {
        /// State that came with the form, on the repeated call.
        state: Option<&'a str>,
        /// What the client says that the person answered.
        answer: Option<&'a Value>,
    },
}

/// A request before authentication.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ToolAuth<'a> {
    /// Agents of the process.
    pub registry: &'a AgentRegistry,
    /// Head of the request.
    pub parts: &'a Parts,
    /// Body of the request.
    pub bytes: &'a [u8],
    /// Parsed request; `None` for a body that is no message or is ambiguous. An authenticated
    /// caller is then told what is wrong with it.
    pub request: Option<&'a mcp::McpRequest>,
}

/// The request of a call, as tools need it that pass calls on to other agents of the process.
#[derive(Debug, Clone, Copy)]
pub struct CallOrigin<'a> {
    /// Agents of the process.
    pub registry: &'a AgentRegistry,
    /// Head of the request, with the credential.
    pub parts: &'a Parts,
}

/// Refusal of authentication.
pub type AuthRejected = Box<ProfileRefusal>;

/// A call of a tool.
#[derive(Debug)]
#[non_exhaustive]
pub struct ToolCall<'a> {
    /// Name of the tool.
    pub tool: &'a str,
    /// Arguments, unchecked.
    pub arguments: Map,
    /// Caller.
    pub caller: &'a Caller,
    /// The client, as it describes itself.
    pub client: Option<DeclaredClient>,
    /// Way to ask the person behind the client.
    pub form: FormSupport<'a>,
    /// Raw request data.
    pub sent: RequestMeta<'a>,
    /// The request.
    pub origin: CallOrigin<'a>,
    /// Maximum time for an answer.
    pub patience: Duration,
}

impl<'a> ToolCall<'a> {
    /// Creates a call by another binding than MCP, whose caller can show no form.
    #[must_use]
    pub fn without_form(
        tool: &'a str,
        arguments: Map,
        caller: &'a Caller,
        sent: RequestMeta<'a>,
        origin: CallOrigin<'a>,
    ) -> Self {
        let form = FormSupport::Absent;
        let patience = origin.registry.settings.request_timeout;
        Self { tool, arguments, caller, client: None, form, sent, origin, patience }
    }
}

/// Result of a call.
#[derive(Debug)]
pub enum ToolOutcome {
    /// An answer, also of a call that failed.
    Answer(Box<ToolAnswer>),
    /// A form for the person behind the client, which calls again with the answer.
    Form {
        /// The form.
        form: AgreementForm,
        /// State that comes back with the answer.
        state: String,
        /// Name of the tool for the metrics.
        tool: &'static str,
    },
    /// A refusal by a profile, before the tool is called.
    Profile(Box<ProfileRefusal>),
    /// A refusal of authentication or permission.
    Denied(AuthRefusal),
    /// An internal error.
    Broken(InternalError),
}

/// Answer of a tool, with its log fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolAnswer {
    /// Result for the caller.
    pub result: ToolResult,
    /// Error code of the agent's catalog, or `OK`.
    pub code: &'static str,
    /// Name of the tool for the metrics.
    pub tool: Option<&'static str>,
    /// True when the sender exceeds a rate limit.
    pub too_often: bool,
    /// The id by which people find a refusal; its caller need not have it.
    pub error_id: Option<String>,
    /// Fields that were wrong in the request.
    pub misfits: Vec<FieldError>,
}

impl From<ToolResult> for ToolOutcome {
    fn from(result: ToolResult) -> Self {
        let code = if result.is_error { "FAILED" } else { "OK" };
        Self::Answer(Box::new(ToolAnswer {
            result,
            code,
            tool: None,
            too_often: false,
            error_id: None,
            misfits: Vec::new(),
        }))
    }
}
