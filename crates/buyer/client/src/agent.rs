//! Client for any A2A agent: sends a message of text or data and follows the task that results from it, by a
//! stream where the agent has one and by polling where it has none. Supports A2A 1.0 and 0.3 over JSON-RPC,
//! and 1.0 over HTTP+JSON and gRPC.
//!
//! A message has no idempotency key, so one that may have arrived is not sent again. Once there is a task,
//! following it only reads, and a read may be repeated.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Url;
use tradepost_document::json::{Map, Value, json};

use crate::binding::{AgentBinding, BindingItem, MessageContext, Method};
pub use crate::card::CardTransport;
use crate::card_reader::{CardReader, may_move};
use crate::client::uuid;
use crate::discover::Discovered;
use crate::failure::{CallFailure, Defect, KeptResponse};
use crate::response::{self, Via};
use crate::token::{BearerToken, EndpointSource, SentToken};
use crate::transport::{Events, HttpTransport, Messages, OpenedResponse, Response};

mod follow;
mod task;

pub use follow::{FollowEnd, Followed, Follower};
pub use task::{
    AgentMessage, AgentReply, AgentTask, File, MAX_ARTIFACTS, MessagePart, TaskArtifact,
};

/// Sends messages to one agent. Clones share the connections and draw from the same ids.
#[derive(Clone)]
pub struct AgentClient {
    transport: HttpTransport,
    binding: AgentBinding,
    source: EndpointSource,
    streaming: bool,
    token: Option<SentToken>,
    card: Option<CardReader>,
    ids: Arc<Mutex<fastrand::Rng>>,
}

impl fmt::Debug for AgentClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentClient")
            .field("binding", &self.binding)
            .field("streaming", &self.streaming)
            .finish_non_exhaustive()
    }
}

/// Message to send to an agent.
#[derive(Debug, Clone, Default)]
pub struct Outgoing {
    parts: Vec<Value>,
    context_id: Option<String>,
    task_id: Option<String>,
    webhook: Option<Value>,
}

impl Outgoing {
    /// Creates a message of text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { parts: vec![json!({"text": text.into()})], ..Self::default() }
    }

    /// Creates a message of data.
    #[must_use]
    pub fn data(data: Value) -> Self {
        Self::default().with_data(data)
    }

    /// Adds a data part.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.parts.push(json!({"data": data}));
        self
    }

    /// Creates a message of a file.
    #[must_use]
    pub fn file(name: &str, media_type: &str, bytes: &[u8]) -> Self {
        Self::default().with_file(name, media_type, bytes)
    }

    /// Adds a file part.
    #[must_use]
    pub fn with_file(mut self, name: &str, media_type: &str, bytes: &[u8]) -> Self {
        let raw = STANDARD.encode(bytes);
        self.parts.push(json!({"raw": raw, "filename": name, "mediaType": media_type}));
        self
    }

    /// Asks the agent to call this webhook about the resulting task, with this token in
    /// `X-A2A-Notification-Token` (A2A §4.3.1).
    #[must_use]
    pub fn calling(mut self, url: &str, token: &str) -> Self {
        self.webhook = Some(json!({"url": url, "token": token}));
        self
    }

    /// Continues a conversation: that of [`AgentReply::context_id`].
    #[must_use]
    pub fn within(mut self, context_id: impl Into<String>) -> Self {
        self.context_id = Some(context_id.into());
        self
    }

    /// Continues a task that waits for an answer.
    #[must_use]
    pub fn answering(mut self, task_id: impl Into<String>) -> Self {
        self.task_id = Some(task_id.into());
        self
    }
}

impl AgentClient {
    /// Creates a client for a discovered agent. `ids` makes the ids of requests and messages.
    ///
    /// # Errors
    /// `Unsent`, when its card has no supported interface, or its address may not be used.
    pub fn new(
        transport: HttpTransport,
        discovered: &Discovered,
        ids: fastrand::Rng,
    ) -> Result<Self, CallFailure> {
        Ok(Self::from_binding(transport, AgentBinding::any(discovered)?, discovered, ids))
    }

    /// Creates a client that uses this binding and no other.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_card_transport(
        carrier: CardTransport,
        transport: HttpTransport,
        discovered: &Discovered,
        ids: fastrand::Rng,
    ) -> Result<Self, CallFailure> {
        Ok(Self::from_binding(
            transport,
            AgentBinding::with_card_transport(discovered, carrier)?,
            discovered,
            ids,
        ))
    }

    fn from_binding(
        transport: HttpTransport,
        binding: AgentBinding,
        discovered: &Discovered,
        ids: fastrand::Rng,
    ) -> Self {
        Self {
            transport,
            binding,
            source: EndpointSource::card(discovered),
            streaming: discovered.card.streaming,
            token: None,
            card: None,
            ids: Arc::new(Mutex::new(ids)),
        }
    }

    /// Sends a bearer token with every request, never in clear text over a public network, and to no other origin
    /// than it is for.
    ///
    /// # Errors
    /// `Unsent`, when the card leads to another origin, the token could be read on the way or it cannot be sent in
    /// a header.
    pub fn with_token(mut self, token: impl Into<BearerToken>) -> Result<Self, CallFailure> {
        self.token = Some(SentToken::new(token, &self.binding.endpoint, &self.source)?);
        Ok(self)
    }

    /// Reads the card again with this reader, once for each request with recovery, when the address of the
    /// card does not work any more (HTTP 404, 405 or 410), and continues at the new address by the same
    /// binding. A token is sent to no other origin than it is for.
    #[must_use]
    pub fn rereading(mut self, card: CardReader) -> Self {
        self.card = Some(card);
        self
    }

    /// Returns the client for the address that the card names now; `None` when the client may not or need not move.
    async fn moved(&self) -> Option<Self> {
        let discovered = self.card.as_ref()?.read().await?;
        let binding = AgentBinding::with_card_transport(&discovered, self.binding.carrier).ok()?;
        let source = EndpointSource::card(&discovered);
        may_move(&self.binding.endpoint, &binding.endpoint, self.token.as_ref(), &source)
            .then(|| Self { binding, source, ..self.clone() })
    }

    /// Polls for tasks even when the agent can stream.
    #[must_use]
    pub fn polling(mut self) -> Self {
        self.streaming = false;
        self
    }

    /// Returns the address of the agent.
    #[must_use]
    pub fn endpoint(&self) -> &Url {
        &self.binding.endpoint
    }

    /// Returns the binding in use.
    #[must_use]
    pub fn binding(&self) -> CardTransport {
        self.binding.carrier
    }

    /// Returns the release of A2A in use: `1.0` or `0.3`.
    #[must_use]
    pub fn release(&self) -> &'static str {
        self.binding.release.name()
    }

    /// Sends a message once, without recovery, and returns the first answer, which may be a task that goes
    /// on. [`Self::converse`] follows it.
    ///
    /// # Errors
    /// The failure, by how far the request got. A task that failed is an answer.
    pub async fn send(&self, outgoing: &Outgoing) -> Result<AgentReply, CallFailure> {
        let params = self.sending(outgoing, &uuid(&self.ids));
        self.one(Method::Send, params, AgentReply::read).await
    }

    /// Reads the current state of a task.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub async fn task(&self, id: &str) -> Result<AgentTask, CallFailure> {
        self.one(Method::Task, named(id), AgentTask::read).await
    }

    /// Asks the agent to cancel a task. The request is sent once, and not again when in doubt.
    ///
    /// # Errors
    /// As [`Self::send`]; a task that has ended cannot be cancelled.
    pub async fn cancel(&self, id: &str) -> Result<AgentTask, CallFailure> {
        self.one(Method::Cancel, named(id), AgentTask::read).await
    }

    /// Sends a message and returns the stream of events about it, without recovery. [`Self::converse`] puts
    /// the events together and continues when a stream breaks.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub async fn listen(
        &self,
        outgoing: &Outgoing,
        time: Duration,
    ) -> Result<Listening, CallFailure> {
        let params = self.sending(outgoing, &uuid(&self.ids));
        let (first, stream) = self.open(Method::Stream, params, time).await?;
        Ok(Listening { first: Some(first), stream })
    }

    /// Subscribes to the events of an existing task.
    ///
    /// # Errors
    /// As [`Self::send`]; a task that has ended sends no events.
    pub async fn subscribe(&self, id: &str, time: Duration) -> Result<Listening, CallFailure> {
        let (first, stream) = self.open(Method::Subscribe, named(id), time).await?;
        Ok(Listening { first: Some(first), stream })
    }

    /// Builds the parameters that send a message with this id.
    fn sending(&self, outgoing: &Outgoing, message_id: &str) -> Map {
        let about = MessageContext {
            context_id: outgoing.context_id.as_deref(),
            task_id: outgoing.task_id.as_deref(),
        };
        let message = self.binding.message(message_id, outgoing.parts.clone(), about);
        let webhook = outgoing.webhook.clone().map(|webhook| (self.binding.webhook(), webhook));
        let configuration = [self.binding.at_once()].into_iter().chain(webhook);
        let configuration: Map =
            configuration.map(|(name, value)| (name.to_owned(), value)).collect();
        [("message".to_owned(), message), ("configuration".to_owned(), configuration.into())]
            .into_iter()
            .collect()
    }

    /// Sends a request with one answer.
    async fn one<T>(
        &self,
        method: Method,
        params: Map,
        read: impl FnOnce(BindingItem) -> Result<T, Defect>,
    ) -> Result<T, CallFailure> {
        let time = self.transport.limits().timeout;
        let (item, _) = self.open(method, params, time).await?;
        read(item).map_err(|defect| CallFailure::garbled(defect, KeptResponse::default()))
    }

    /// Sends a request that may be answered with a stream, and returns the first item, and the stream if
    /// there is one. The stream may last for this time.
    async fn open(
        &self,
        method: Method,
        params: Map,
        time: Duration,
    ) -> Result<(BindingItem, Option<TaskEventStream>), CallFailure> {
        let transport = &self.transport;
        let headers = self.binding.headers(None, self.token.as_ref().map(SentToken::header));
        let (opened, id) = match self.binding.carrier {
            CardTransport::JsonRpc => {
                let id = uuid(&self.ids);
                let body = self.binding.request(&id, method, params);
                let endpoint = &self.binding.endpoint;
                (transport.post_for_events(endpoint, headers, body, time).await?, Some(id))
            }
            CardTransport::HttpJson => {
                let about = params.get("id").and_then(Value::as_str).map(ToOwned::to_owned);
                // An id in the path is not repeated in the body.
                let body = if about.is_some() { Map::new() } else { params };
                let (url, body) = self.binding.addressed(method, about.as_deref(), body);
                (transport.http_json(&url, headers, body, time).await?, None)
            }
            CardTransport::Grpc => {
                let (url, message) = self.binding.called(method, params)?;
                let messages = transport.call(&url, headers, &message, time).await?;
                return TaskEventStream::Grpc { messages: Box::new(messages), method }
                    .begun()
                    .await;
            }
        };
        let events = match opened {
            OpenedResponse::Whole(response) => {
                return Ok((item_of(&response, id.as_deref())?, None));
            }
            OpenedResponse::Events(events) => events,
        };
        TaskEventStream::Http { events, id }.begun().await
    }
}

/// Stream of an agent's events about a message or task.
#[derive(Debug)]
pub struct Listening {
    first: Option<BindingItem>,
    stream: Option<TaskEventStream>,
}

impl Listening {
    /// Returns the next event on its own: a message, or a task with only what this event says. `None` at the
    /// end of the stream.
    ///
    /// # Errors
    /// When the stream breaks, or an item is not valid A2A.
    pub async fn next(&mut self) -> Result<Option<AgentReply>, CallFailure> {
        let item = match (self.first.take(), &mut self.stream) {
            (Some(first), _) => Some(first),
            (None, Some(stream)) => stream.next().await?,
            (None, None) => None,
        };
        let read = item.map(AgentReply::read).transpose();
        read.map_err(|defect| CallFailure::garbled(defect, KeptResponse::default()))
    }
}

/// Stream of events of one binding.
#[derive(Debug)]
enum TaskEventStream {
    Http {
        events: Box<Events>,
        /// Id of the request; `None` where answers do not repeat it.
        id: Option<String>,
    },
    Grpc {
        messages: Box<Messages>,
        method: Method,
    },
}

impl TaskEventStream {
    /// Returns the first event and the rest of the stream.
    async fn begun(mut self) -> Result<(BindingItem, Option<Self>), CallFailure> {
        match self.next().await? {
            Some(item) => Ok((item, Some(self))),
            None => Err(self.garbled(Defect::Empty)),
        }
    }

    /// Returns the next event; `None` at the end of the stream.
    async fn next(&mut self) -> Result<Option<BindingItem>, CallFailure> {
        match self {
            Self::Http { events, id } => match events.next().await? {
                Some(data) => item_of(&events.response(data), id.as_deref()).map(Some),
                None => Ok(None),
            },
            Self::Grpc { messages, method } => {
                let Some(message) = messages.next().await? else { return Ok(None) };
                let item = AgentBinding::returned(*method, &message).and_then(BindingItem::read);
                item.map(Some).map_err(|defect| messages.garbled(defect))
            }
        }
    }

    fn garbled(&self, defect: Defect) -> CallFailure {
        match self {
            Self::Http { events, .. } => events.garbled(defect),
            Self::Grpc { messages, .. } => messages.garbled(defect),
        }
    }
}

fn named(id: &str) -> Map {
    [("id".to_owned(), id.into())].into_iter().collect()
}

/// Reads the item in the answer to the request with this id; without an id, in an HTTP+JSON answer.
fn item_of(response: &Response, id: Option<&str>) -> Result<BindingItem, CallFailure> {
    let result = match id {
        Some(id) => response::result(&response.raw(Via::JsonRpc { id }), id)?,
        None => response::body(&response.raw(Via::HttpJson))?,
    };
    BindingItem::read(result).map_err(|defect| CallFailure::garbled(defect, response.kept()))
}

#[cfg(test)]
mod tests;
