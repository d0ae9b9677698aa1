//! AdCP tasks at a seller, over A2A 1.0 or 0.3 or over MCP (streamable HTTP). All bindings carry the same
//! task with the same arguments, and [`response`] reads all answers: the caller gets the same result over each.
//!
//! Before a request is sent, a task that changes something gets an idempotency key if it has none. Its
//! arguments are searched for credentials and checked against the published rules.
// E-4, A-9

use std::fmt;
use std::sync::{Arc, Mutex};

use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap};
use tradepost_adcp as adcp;
use tradepost_adcp::rules::{self, Internals};
use tradepost_adcp::{AdcpTool, EXTENSION};
use tradepost_document::catalog::WireName;
use tradepost_document::json::{Map, Value};

use crate::binding::AgentBinding;
use crate::card_reader::{CardReader, may_move};
use crate::client::uuid;
use crate::discover::{Discovered, discover, usable, without_credentials};
use crate::failure::{CallFailure, Unsent};
use crate::outcome::PayloadOutcome;
use crate::refusal::RefusalForm;
use crate::response::{self, Via};
use crate::token::{BearerToken, EndpointSource, SentToken};
use crate::transport::{HttpTransport, Response};

mod authorization;
mod idempotency;
mod mcp;
mod over_a2a;
mod recover;
mod rows;
mod signer;

pub use authorization::{AccountAuthorization, REFRESH};
pub use idempotency::Idempotency;
pub use signer::RequestSigner;

/// Member by which a seller recognises a repeated request.
const KEY: &str = "idempotency_key";

/// Calls the tasks of one seller. Clones share the connections, the session and what is known of the seller's
/// accounts; a clone that gets a token or a signer starts a session of its own.
#[derive(Clone)]
pub struct AdcpClient {
    transport: HttpTransport,
    endpoint: Url,
    source: EndpointSource,
    seller_transport: SellerTransport,
    /// Tasks that the seller's card lists; empty over MCP.
    offered: Vec<OfferedTask>,
    token: Option<SentToken>,
    signer: Option<Arc<RequestSigner>>,
    checks: bool,
    checks_authorization: bool,
    retries_rows: bool,
    card: Option<CardReader>,
    ids: Arc<Mutex<fastrand::Rng>>,
    authorizations: Arc<authorization::KnownAccounts>,
    idempotency: Arc<idempotency::KnownPromise>,
}

#[derive(Debug, Clone)]
enum SellerTransport {
    A2a(AgentBinding),
    Mcp(Arc<mcp::McpSession>),
}

/// Task that a seller says it offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedTask {
    /// Name, as sent.
    pub name: String,
    /// Description for people and models, as sent.
    pub description: String,
}

impl fmt::Debug for AdcpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdcpClient")
            .field("endpoint", &self.endpoint.as_str())
            .field("door", &self.seller_transport)
            .finish_non_exhaustive()
    }
}

/// Answer of a seller: a result, or the progress of a task that goes on.
#[derive(Debug)]
#[non_exhaustive]
pub struct SellerAnswer {
    /// Payload as the seller sent it, an object; null when an A2A task goes on without one.
    pub payload: Value,
    /// Status, warnings and failed rows read from the payload; `standing` is the state of the A2A task when
    /// the payload has none.
    pub outcome: PayloadOutcome,
    /// Id that the seller gave the A2A conversation.
    pub context_id: Option<String>,
    /// Id that the seller gave the A2A task; AdCP's own `task_id` is in the payload.
    pub a2a_task_id: Option<String>,
    /// Answers to the requests that sent failed rows again, oldest first.
    pub again: Vec<Self>,
    /// Failure that ended the repeated sending of failed rows.
    pub gave_up: Option<Box<crate::retry::GaveUp>>,
}

impl AdcpClient {
    /// Creates a client for the JSON-RPC interface of a card, of A2A 1.0 or else of 0.3. The card need not
    /// declare AdCP, because not every AdCP seller does; [`declares_adcp`] checks it.
    ///
    /// # Errors
    /// `Unsent`, when the card has no such interface or its address may not be used.
    pub fn a2a(
        transport: HttpTransport,
        discovered: &Discovered,
        ids: fastrand::Rng,
    ) -> Result<Self, CallFailure> {
        let binding = AgentBinding::jsonrpc(discovered)?;
        let skills = discovered.card.skills.iter();
        let offered = skills.map(|skill| OfferedTask {
            name: skill.id.clone(),
            description: skill.description.clone(),
        });
        let endpoint = binding.endpoint.clone();
        let offered = offered.collect();
        let source = EndpointSource::card(discovered);
        Ok(Self {
            offered,
            source,
            ..Self::new(transport, endpoint, SellerTransport::A2a(binding), ids)
        })
    }

    /// Creates a client for an MCP server at this address.
    ///
    /// # Errors
    /// `Unsent`, when the address cannot be used.
    pub fn mcp(
        transport: HttpTransport,
        address: &str,
        ids: fastrand::Rng,
    ) -> Result<Self, CallFailure> {
        let endpoint = usable(address.trim())
            .map_err(|why| CallFailure::address(&without_credentials(address.trim()), why))?;
        Ok(Self::new(transport, endpoint, SellerTransport::Mcp(Arc::default()), ids))
    }

    /// Creates a client for the agent at this address: over MCP when the address ends in `/mcp` or the server
    /// has no agent card (HTTP 404 or 405), otherwise over A2A as the card says.
    ///
    /// # Errors
    /// Failure to fetch or use the card; nothing else was sent.
    pub async fn connect(
        transport: HttpTransport,
        address: &str,
        ids: fastrand::Rng,
    ) -> Result<Self, CallFailure> {
        // MCP servers usually stand at this path and have no card.
        if address.trim_end_matches('/').ends_with("/mcp") {
            return Self::mcp(transport, address, ids);
        }
        match discover(&transport, address, None).await {
            Ok(found) => {
                let card = CardReader::new_unverified(transport.clone(), found.url.clone());
                Ok(Self::a2a(transport, &found, ids)?.rereading(card))
            }
            Err(failure) if has_no_card(&failure) => Self::mcp(transport, address, ids),
            Err(failure) => Err(failure),
        }
    }

    fn new(
        transport: HttpTransport,
        endpoint: Url,
        seller_transport: SellerTransport,
        ids: fastrand::Rng,
    ) -> Self {
        Self {
            transport,
            source: EndpointSource::caller(&endpoint),
            endpoint,
            seller_transport,
            offered: Vec::new(),
            token: None,
            signer: None,
            checks: true,
            checks_authorization: false,
            retries_rows: true,
            card: None,
            ids: Arc::new(Mutex::new(ids)),
            authorizations: Arc::default(),
            idempotency: Arc::default(),
        }
    }

    /// Sends a bearer token with every call, never in clear text over a public network, and to no other
    /// origin than it is for. Starts a new session and forgets what is known of the seller's accounts: both
    /// belonged to the caller with the previous token.
    ///
    /// # Errors
    /// `Unsent`, when a card leads to another origin, the token could be read on the way or it cannot be sent in a
    /// header.
    pub fn with_token(self, token: impl Into<BearerToken>) -> Result<Self, CallFailure> {
        let token = SentToken::new(token, &self.endpoint, &self.source)?;
        Ok(Self { token: Some(token), ..self.without_caller_state() })
    }

    /// Returns the client without the state that belongs to one caller: session, account authorizations,
    /// idempotency promise.
    fn without_caller_state(mut self) -> Self {
        if let SellerTransport::Mcp(session) = &mut self.seller_transport {
            *session = Arc::new(session.restarted());
        }
        Self { authorizations: Arc::default(), idempotency: Arc::default(), ..self }
    }

    /// Uses the newest version of MCP without asking the server for its versions first, unless the server
    /// refuses to process a request. Saves a round trip for callers of one request.
    #[must_use]
    pub fn at_once(mut self) -> Self {
        if let SellerTransport::Mcp(session) = &mut self.seller_transport {
            *session = Arc::new(mcp::McpSession::with_presumed_version());
        }
        self
    }

    /// Signs every request (RFC 9421, AdCP "Signed requests"). Forgets the caller's state as
    /// [`Self::with_token`] does, because a signature names the caller, too.
    #[must_use]
    pub fn signing(self, signer: RequestSigner) -> Self {
        Self { signer: Some(Arc::new(signer)), ..self.without_caller_state() }
    }

    /// Sends arguments that do not follow the published rules: for sellers of other releases.
    #[must_use]
    pub fn unchecked(mut self) -> Self {
        self.checks = false;
        self
    }

    /// Makes [`Self::call_with_recovery`] read the account's `authorization` before a task on an account. A
    /// task that the seller does not permit is not sent.
    #[must_use]
    pub fn heeding(mut self) -> Self {
        self.checks_authorization = true;
        self
    }

    /// Makes [`Self::call_with_recovery`] leave failed rows to the caller and send only the given request.
    #[must_use]
    pub fn without_rows(mut self) -> Self {
        self.retries_rows = false;
        self
    }

    /// Reads the card again with this reader, once for each call with recovery, when the address of the card
    /// does not work any more (HTTP 404, 405 or 410), and continues at the new address. A token is sent to no
    /// other origin than it is for.
    #[must_use]
    pub fn rereading(mut self, card: CardReader) -> Self {
        self.card = Some(card);
        self
    }

    /// Returns the client for the address that the card names now; `None` when the client may not or need not move.
    async fn moved(&self) -> Option<Self> {
        let discovered = self.card.as_ref()?.read().await?;
        let binding = AgentBinding::jsonrpc(&discovered).ok()?;
        let endpoint = binding.endpoint.clone();
        let source = EndpointSource::card(&discovered);
        may_move(&self.endpoint, &endpoint, self.token.as_ref(), &source).then(|| Self {
            endpoint,
            source,
            seller_transport: SellerTransport::A2a(binding),
            ..self.clone()
        })
    }

    /// Returns the address of the seller.
    #[must_use]
    pub fn endpoint(&self) -> &Url {
        &self.endpoint
    }

    /// Returns the protocol and its release: `MCP`, `A2A 1.0` or `A2A 0.3`.
    #[must_use]
    pub fn via(&self) -> String {
        match &self.seller_transport {
            SellerTransport::A2a(binding) => format!("A2A {}", binding.release.name()),
            SellerTransport::Mcp(_) => "MCP".to_owned(),
        }
    }

    /// Returns the tasks that the seller's card lists; empty for a seller without a card.
    #[must_use]
    pub fn listed(&self) -> &[OfferedTask] {
        &self.offered
    }

    /// Returns the tasks that the seller offers, by its card or by its MCP tool list.
    ///
    /// # Errors
    /// Failure of the request for the tool list.
    pub async fn offered(&self) -> Result<Vec<OfferedTask>, CallFailure> {
        match &self.seller_transport {
            SellerTransport::A2a(_) => Ok(self.offered.clone()),
            SellerTransport::Mcp(session) => self.list_by_mcp(session).await,
        }
    }

    /// Carries out a task, such as `get_products`. A task that requires an idempotency key
    /// (`tradepost_adcp::task`) and has none gets a fresh one. A caller that wants to send the task
    /// again keeps the key or uses [`Self::call_with_recovery`].
    ///
    /// # Errors
    /// The failure, by how far the request got.
    pub async fn call(&self, task: &str, mut arguments: Map) -> Result<SellerAnswer, CallFailure> {
        if recover::is_keyed(task) {
            arguments.entry(KEY).or_insert_with(|| self.new_key().into());
        }
        self.send(task, arguments).await
    }

    /// Returns a fresh random idempotency key for one intent.
    #[must_use]
    pub fn new_key(&self) -> String {
        uuid(&self.ids)
    }

    async fn send(&self, task: &str, arguments: Map) -> Result<SellerAnswer, CallFailure> {
        let arguments = Value::Object(arguments);
        // Checked before anything is sent, because sellers log arguments (`A-9`).
        let mut found = adcp::credentials::find(&arguments);
        let own = self.token.as_ref().and_then(|token| token.header().to_str().ok());
        if let Some((_, own)) = own.and_then(|value| value.split_once(' ')) {
            found.extend(adcp::credentials::find_value(&arguments, own));
        }
        if !found.is_empty() {
            return Err(CallFailure::Unsent(Unsent::Credential(found)));
        }
        // Tasks without published rules are not checked.
        if self.checks
            && let Some(tool) = AdcpTool::from_any_name(task)
        {
            rules::check(tool, &arguments, Internals::Off).map_err(|issues| {
                CallFailure::Unsent(Unsent::Arguments(Box::new(issues.into_error())))
            })?;
        }
        match &self.seller_transport {
            SellerTransport::A2a(binding) => self.send_by_a2a(binding, task, arguments).await,
            SellerTransport::Mcp(session) => self.send_by_mcp(session, task, &arguments).await,
        }
    }

    /// Returns the headers of a request with this body, added to those of its binding.
    fn headers(&self, mut headers: HeaderMap, body: &[u8]) -> Result<HeaderMap, CallFailure> {
        headers.extend(self.token.iter().map(|token| (AUTHORIZATION, token.header().clone())));
        if let Some(signer) = &self.signer {
            signer.sign(&self.endpoint, body, &mut headers)?;
        }
        Ok(headers)
    }
}

/// Returns true when a server answers that it has no card.
fn has_no_card(failure: &CallFailure) -> bool {
    let CallFailure::Refused(refused) = failure else { return false };
    matches!(refused.by, RefusalForm::Http(404 | 405))
}

/// Returns true when a card declares AdCP.
#[must_use]
pub fn declares_adcp(card: &crate::SellerCard) -> bool {
    card.extensions.iter().any(|extension| extension.uri == EXTENSION)
}

/// Returns the result in the answer to the request with this id.
fn result_of(response: &Response, id: &str) -> Result<Value, CallFailure> {
    let raw = response.raw(Via::JsonRpc { id });
    let result = response::result(&raw, id)?;
    match response::refusal_in(&result) {
        Some(by) => Err(raw.refused(by)),
        None => Ok(result),
    }
}

impl SellerAnswer {
    fn from_payload(payload: Value) -> Self {
        let outcome = PayloadOutcome::read(&payload);
        Self {
            payload,
            outcome,
            context_id: None,
            a2a_task_id: None,
            again: Vec::new(),
            gave_up: None,
        }
    }

    /// Returns true when the task ended and its result can be used.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.outcome.is_complete()
    }

    /// Returns the rows that failed and were not sent again, of this answer and of those in `again`.
    pub fn failed_rows(&self) -> impl Iterator<Item = &crate::outcome::FailedRow> {
        let all = std::iter::once(self).chain(&self.again);
        all.flat_map(|answered| &answered.outcome.rows).filter(|row| !row.again)
    }

    /// Returns AdCP's id of a task that goes on, for `get_task_status`.
    #[must_use]
    pub fn task_id(&self) -> Option<&str> {
        self.payload.get("task_id").and_then(Value::as_str)
    }

    /// Uses the state of an A2A task when the payload has no `status`.
    fn or_state(mut self, state: Option<&str>) -> Self {
        if self.outcome.standing.is_none() {
            // AdCP and A2A 0.3 have the same spelling of states.
            let name = |state: &str| {
                let name = state.strip_prefix("TASK_STATE_").unwrap_or(state);
                name.to_ascii_lowercase().replace('_', "-")
            };
            self.outcome.standing = state.map(|state| WireName::parse(&name(state)));
        }
        self
    }
}

#[cfg(test)]
mod tests;
