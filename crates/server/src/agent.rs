//! The waist: somebody who answers, what is handed over, and what comes back. A binding turns bytes
//! into [`Incoming`] and an [`Outcome`] into bytes; an [`Agent`] knows neither.

use std::any::Any;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
pub use futures_util::future::BoxFuture;
use tradepost_wire::a2a::error::{Code, Refusal as ProtocolRefusal};
use tradepost_wire::a2a::request::RequestedPage;
use tradepost_wire::a2a::status::Status;
use tradepost_wire::a2a::{
    Capability, Message, Operation, Part, PushConfig, Release, Request, SendMessage, Task, older,
    request,
};
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::RawValue;
use tradepost_wire::json::Value;

use crate::auth::{Authenticator, Denied, Principal};
pub use crate::card::Binding;
use crate::card::{ClaimedExtension, PublishedCard};
use crate::fault::Fault;
use crate::http::exchange::{Parcel, Posted};
use crate::limit::{Exceeded, Key};
use crate::metrics::Metrics;
use crate::panics;
use crate::permission::{self, Permission};
use crate::refusals::Misfit;
use crate::tasks::{FOREIGN_TOKEN, PushPage, TaskPage, TaskStream};
use crate::tools::Tools;

/// After how long to come back when we broke: what will be over soon is over by then.
pub const PAUSE: Duration = Duration::from_secs(5);

/// Somebody who answers.
///
/// What its card claims is what is let through to it: capabilities, extensions and bindings are read
/// from there.
pub trait Agent: Any + fmt::Debug + Send + Sync {
    /// The id under which its tasks and keys are kept, and by which the log names it.
    fn id(&self) -> &str {
        self.auth().agent_id()
    }

    /// Its card.
    fn card(&self) -> &PublishedCard;

    /// Lets callers in.
    fn auth(&self) -> &Authenticator;

    /// Performs a request that was admitted.
    fn perform<'a>(&'a self, incoming: Incoming<'a>) -> BoxFuture<'a, Outcome>;

    /// The host names (without port) that lead to it; every one does when `None`.
    fn hosts(&self) -> Option<&[String]> {
        None
    }

    /// Whether the directory of the process names it to buyers.
    fn is_listed(&self) -> bool {
        true
    }

    /// Whether messages become tasks that can be asked for.
    fn keeps_tasks(&self) -> bool {
        true
    }

    /// Whether a request without a protocol version is refused: it means 0.3 (A2A §3.6.2).
    fn requires_version(&self) -> bool {
        true
    }

    /// The extensions that are in use on a binding when a request activates them.
    fn extensions(&self, binding: Binding) -> Vec<&str> {
        let _ = binding;
        self.card().claims.extensions.iter().map(|known| known.uri.as_str()).collect()
    }

    /// What an operation requires of whoever asks for it. Messages may require more, which the agent
    /// knows when it has read them.
    fn required(&self, operation: Operation) -> Option<Permission> {
        Some(permission::required(operation))
    }

    /// Which error it is when a body has another media type. A2A has no rule for it.
    fn other_media_type(&self) -> Code {
        Code::ContentTypeNotSupported
    }

    /// Whether a part of a message has a media type that the agent can read. By default the card decides
    /// ([`Claims::reads`](crate::card::Claims::reads)); a message with any other part is refused as
    /// `CONTENT_TYPE_NOT_SUPPORTED`.
    fn accepts_part(&self, part: &Part) -> bool {
        self.card().claims.reads(part)
    }

    /// Judges the page tokens that callers of lists send, so that a wrong one is reported together with
    /// whatever else is wrong with a request. An agent with a [`Service`](crate::tasks::Service) returns that;
    /// of others a wrong token is reported when the rest of the request is right.
    fn page_tokens(&self) -> Option<&dyn PageTokens> {
        None
    }

    /// What its profile says of a request of which nothing is known but that it cannot be performed;
    /// the protocol speaks where the profile says nothing.
    fn refusal(&self, binding: Binding, trouble: &Trouble) -> Option<ProfileRefusal> {
        let _ = (binding, trouble);
        None
    }

    /// Answers in a way of its own what was posted to the endpoint of JSON-RPC; the request is as it
    /// came, and nobody has asked who calls.
    fn posted<'a>(&'a self, posted: Posted<'a>) -> Option<BoxFuture<'a, Parcel>> {
        let _ = posted;
        None
    }

    /// Its tools for clients of MCP; where there are none, there is no `/mcp`.
    fn tools(&self) -> Option<&dyn Tools> {
        None
    }

    /// A request that gets an answer, for people: where it goes, and its body in JSON. The agent is
    /// reached under `base_url`.
    fn example(&self, base_url: &str) -> Option<(String, String)> {
        let _ = base_url;
        None
    }

    /// The code of an answer that is a refusal in the profile's own form.
    fn code_of(&self, _: &Answer) -> &'static str {
        "OK"
    }

    /// Takes over what other processes have changed. It may wait for a disk.
    ///
    /// # Errors
    /// When the store fails; what was loaded before stays in use.
    fn refresh(&self) -> Result<(), Fault> {
        self.auth().tidy();
        Ok(())
    }

    /// Does what has come due without anybody asking.
    fn tick(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Ends streams, which nobody could wait for when the process stops.
    fn close_streams(&self) {}
}

impl dyn Agent {
    /// Its id for the log and the numbers, which name a failure also where the id itself is what panics; it is
    /// empty then.
    pub(crate) fn id_or_none(&self) -> &str {
        panics::catch_now("reading an agent's id", || self.id()).unwrap_or_default()
    }

    /// Whether it answers on a binding.
    #[must_use]
    pub fn speaks(&self, binding: Binding) -> bool {
        self.card().claims.bindings.contains(&binding)
    }

    /// Reads a request of a release that this agent performs for a caller that activates these extensions.
    /// What the agent cannot do is said before what is wrong with the parameters (A2A §3.3.4), and those before
    /// the media types of a message.
    ///
    /// # Errors
    /// The error of the missing extension or capability, every wrong parameter, or every part that the agent
    /// cannot read.
    //
    pub fn accept(
        &self,
        release: Release,
        operation: Operation,
        activated: &[String],
        caller: &Caller,
        params: Option<Value>,
    ) -> Result<Request, ProtocolRefusal> {
        let tenant = params.as_ref().and_then(|params| params.get("tenant"));
        // Only 1.0 has tenants; to 0.3 the name is one of many that mean nothing.
        let is_newer = release == Release::V1_0;
        if is_newer && tenant.is_some_and(|tenant| !tenant.is_null() && tenant != "") {
            // No card of ours declares one (A2A §8.3.2): whoever it is meant for, it is not us.
            let description =
                "names no tenant of this agent, whose card declares none; leave it out";
            return Err(request::invalid_param("tenant", description));
        }
        let claims = &self.card().claims;
        let is_missing =
            |known: &&ClaimedExtension| known.required && !activated.contains(&known.uri);
        // 0.3 has no error for it, so that nothing of it is refused for that.
        let missing = claims.extensions.iter().filter(|_| is_newer).find(is_missing);
        if let Some(known) = missing {
            let message = format!("name the extension {} in A2A-Extensions", known.uri);
            return Err(ProtocolRefusal::new(Code::ExtensionSupportRequired, message)
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
        // A task that began without the webhook that was asked for would end without anybody being
        // told.
        if params.as_ref().is_some_and(asks_for_push) && !has(Capability::Push) {
            let message = "this agent sends no push notifications; leave the webhook out";
            return Err(ProtocolRefusal::new(Code::PushNotificationNotSupported, message));
        }
        let page = is_newer.then(|| request::requested_page(operation, params.as_ref())).flatten();
        let read = match release {
            Release::V1_0 => request::take(operation, params),
            Release::V0_3 => older::read(operation, params.as_ref()),
        };
        let request = match (read, page) {
            (Ok(request), _) => request,
            (Err(refusal), Some(page)) if self.is_foreign(caller, &page) => {
                return Err(request::with_violation(refusal, "pageToken", FOREIGN_TOKEN));
            }
            (Err(refusal), _) => return Err(refusal),
        };
        if let Request::SendMessage(send) | Request::SendStreamingMessage(send) = &request {
            self.check_media_types(send)?;
        }
        Ok(request)
    }

    /// Whether a page token is known to be none that this agent has given.
    fn is_foreign(&self, caller: &Caller, page: &RequestedPage) -> bool {
        self.page_tokens().is_some_and(|tokens| !tokens.is_known(caller, page))
    }

    /// Whether the agent reads every part of a message.
    // E-24
    fn check_media_types(&self, send: &SendMessage) -> Result<(), ProtocolRefusal> {
        let parts = send.message.parts.iter().enumerate();
        let unread = parts.filter(|(_, part)| !self.accepts_part(part));
        let unread: Vec<_> = unread.map(|(index, _)| format!("message.parts[{index}]")).collect();
        if unread.is_empty() {
            return Ok(());
        }
        let fields = unread.join(", ");
        let message = format!("a part has a media type that this agent cannot read: {fields}");
        let refusal = ProtocolRefusal::new(Code::ContentTypeNotSupported, message);
        let supported = self.card().claims.input_modes.join(", ");
        Err(refusal.with("fields", fields).with("supportedMediaTypes", supported))
    }
}

/// Gives out page tokens of lists, and knows them again.
pub trait PageTokens: Sync {
    /// Whether a token is one that this caller was given for this list. Where it is not known which list is
    /// meant, because that part of the request is wrong, whether it can be one at all.
    fn is_known(&self, caller: &Caller, page: &RequestedPage) -> bool;
}

/// An agent among others.
pub type SharedAgent = Arc<dyn Agent>;

/// Who calls.
#[derive(Debug, Clone)]
pub struct Caller {
    /// From where.
    pub address: IpAddr,
    /// Who, as far as it is known.
    pub principal: Principal,
}

impl Caller {
    /// Whose requests are counted together. Whoever has a name is limited by it, wherever it
    /// calls from.
    #[must_use]
    pub fn limit_key(&self) -> Key {
        if self.principal.is_anonymous() {
            Key::address(self.address)
        } else {
            Key::Credential(self.principal.name.clone())
        }
    }
}

/// How a request was sent: what is kept as evidence of a consent.
#[derive(Debug, Clone, Copy)]
pub struct Sent<'a> {
    /// What the caller says that it is.
    pub user_agent: Option<&'a str>,
    /// The bytes of its body.
    pub body: &'a [u8],
}

/// A request with what the transport says about it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Incoming<'a> {
    /// How it came.
    pub binding: Binding,
    /// In which release of the protocol.
    pub release: Release,
    /// Who calls.
    pub caller: &'a Caller,
    /// The extensions that the transport names.
    pub activated: &'a [String],
    /// The request.
    pub request: Request,
    /// How it was sent.
    pub sent: Sent<'a>,
    /// The last event that the caller has seen of a stream, when it resumes one.
    pub resume_after: Option<i64>,
    /// How long an answer may take.
    pub patience: Duration,
    /// Where panics of work on tasks are counted.
    pub(crate) metrics: &'a Arc<Metrics>,
}

/// What a request came to.
#[derive(Debug)]
pub enum Outcome {
    /// An answer.
    Answer(Box<Answer>),
    /// The protocol says no.
    Protocol(ProtocolRefusal),
    /// A profile of the protocol says no.
    Profile(Box<ProfileRefusal>),
    /// The caller may not.
    Denied(Denied),
    /// We broke.
    Broken(Fault),
}

impl From<Result<Answer, ProtocolRefusal>> for Outcome {
    fn from(answer: Result<Answer, ProtocolRefusal>) -> Self {
        answer.map_or_else(Self::Protocol, |answer| Self::Answer(Box::new(answer)))
    }
}

impl From<crate::tasks::Outcome<Answer>> for Outcome {
    fn from(answer: crate::tasks::Outcome<Answer>) -> Self {
        answer.map_or_else(Self::Broken, Self::from)
    }
}

/// An answer.
#[derive(Debug)]
pub enum Answer {
    /// A message.
    Message(Message),
    /// A message that the agent has written itself.
    Written(Written),
    /// The task that came of a message.
    Begun(Task),
    /// A task.
    Task(Task),
    /// Some tasks.
    Tasks(TaskPage),
    /// A webhook.
    PushConfig(PushConfig),
    /// The webhooks of a task.
    PushConfigs(PushPage),
    /// It is done, and there is nothing to say.
    Done,
    /// The card for this caller alone: nobody may keep it for another (A2A §13.3).
    ExtendedCard(Value),
    /// A stream that is one message.
    MessageStream(Message),
    /// A task's events.
    Stream(TaskStream),
}

/// A `SendMessageResponse` that the agent has written, because it can do so without a copy of what it
/// tells.
#[derive(Debug)]
pub struct Written {
    /// The JSON, as it is sent, in pieces of which some may be shared with other answers.
    pub json: Vec<Bytes>,
    /// The extension that it is in.
    pub extension: &'static str,
    /// What was called, for the log.
    pub skill: &'static str,
}

/// A profile's no, with what each binding needs to write it.
#[derive(Debug)]
pub struct ProfileRefusal {
    /// The row of the profile's catalog.
    pub row: Row,
    /// What was called, where that is known.
    pub skill: Option<&'static str>,
    /// For people.
    pub message: String,
    /// The same where clients show nothing else.
    pub summary: String,
    /// The profile's own document, an object, written already: most bindings only pass it on.
    pub document: Box<RawValue>,
    /// What the document is called as a detail of a status.
    pub document_type: &'static str,
    /// What programs read besides (`ErrorInfo.metadata`).
    pub metadata: Vec<(&'static str, String)>,
    /// The id under which the log has it, if it has.
    pub error_id: Option<String>,
    /// After how long to come back, where that helps.
    pub wait: Option<Duration>,
    /// The HTTP status of an answer in JSON-RPC, where it is not 200.
    pub jsonrpc_status: Option<u16>,
    /// What is wanted of whoever has to say who it is: the value of `WWW-Authenticate`.
    pub challenge: Option<String>,
    /// The extension that it is in.
    pub extension: Option<&'static str>,
    /// Whose doing it is.
    pub blame: Blame,
    /// Where the request was wrong, for the agent's own people.
    pub misfits: Vec<Misfit>,
}

/// What is known of an error of a profile, whatever it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// In whose catalog it stands: a domain.
    pub domain: &'static str,
    /// The JSON-RPC error code.
    pub jsonrpc: i32,
    /// The HTTP status of the HTTP+JSON binding.
    pub http: u16,
    /// The status in gRPC.
    pub grpc: Status,
}

/// Whose doing a refusal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// The caller's.
    Caller,
    /// The caller's, who comes too often.
    TooOften,
    /// Ours.
    Us,
    /// Ours, and it will be over soon.
    // E-14
    UsForAMoment,
}

/// Why a request cannot be performed of which nothing is known.
#[derive(Debug)]
pub enum Trouble<'t> {
    /// Its sender comes too often.
    TooOften(Exceeded),
    /// Something of ours broke.
    Broken(&'t Fault),
}
