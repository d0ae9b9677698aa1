//! AdCP tasks at a seller, over A2A 1.0 or 0.3 or over MCP (streamable HTTP). All carry the same
//! task with the same arguments, and all are read by [`response`]: what a caller gets does not depend on
//! the way it came.
//!
//! Before a request leaves, a task that changes something gets an idempotency key when it has none, and
//! its arguments are searched for credentials and checked as published.
// E-4, A-9

use std::fmt;
use std::sync::{Arc, Mutex};

use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use tradepost_wire::adcp;
use tradepost_wire::adcp::rules::{self, Internals};
use tradepost_wire::adcp::{AdcpTool, EXTENSION};
use tradepost_wire::catalog::Open;
use tradepost_wire::json::{Map, Value};

use crate::binding::AgentBinding;
use crate::card_reader::{CardReader, may_move};
use crate::client::uuid;
use crate::discover::{Discovered, discover, usable, without_credentials};
use crate::failure::{CallFailure, Unsent};
use crate::outcome::PayloadOutcome;
use crate::refusal::RefusalForm;
use crate::response::{self, RawResponse};
use crate::token::{BearerToken, EndpointSource};
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

/// The member by which a seller recognises a request that it has seen.
const KEY: &str = "idempotency_key";

/// Calls the tasks of one seller. A clone shares the connections, and until it gets a token or a signer
/// also the session and what is known of the seller's accounts.
#[derive(Clone)]
pub struct AdcpClient {
    transport: HttpTransport,
    endpoint: Url,
    source: EndpointSource,
    door: SellerTransport,
    /// What the seller says that it offers, as far as its card says so.
    offered: Vec<OfferedTask>,
    token: Option<BearerToken>,
    /// The header with the token.
    authorization: Option<HeaderValue>,
    signer: Option<Arc<RequestSigner>>,
    checks: bool,
    heeds: bool,
    mends_rows: bool,
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

/// A task that a seller says it offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedTask {
    /// Its name, as sent.
    pub name: String,
    /// For people and models, as sent.
    pub description: String,
}

impl fmt::Debug for AdcpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdcpClient")
            .field("endpoint", &self.endpoint.as_str())
            .field("door", &self.door)
            .finish_non_exhaustive()
    }
}

/// What a seller answers: a result, or how far the task is.
#[derive(Debug)]
#[non_exhaustive]
pub struct SellerAnswer {
    /// The payload as the seller sent it, an object; null when an A2A task goes on without one.
    pub payload: Value,
    /// What the payload says beside its result; `standing` is that of the A2A task when the
    /// payload has none.
    pub outcome: PayloadOutcome,
    /// The A2A conversation, as the seller calls it.
    pub context_id: Option<String>,
    /// The A2A task, as the seller calls it; not AdCP's own `task_id`, which is in the payload.
    pub a2a_task_id: Option<String>,
    /// What became of the rows that were sent again by themselves, one answer after the other.
    pub again: Vec<Self>,
    /// Why they were not sent once more.
    pub gave_up: Option<Box<crate::retry::GaveUp>>,
}

impl AdcpClient {
    /// A client for the JSON-RPC interface of a card, of A2A 1.0 or else of 0.3. Whether the card
    /// declares AdCP is for [`declares_adcp`] to say: not every seller of AdCP does.
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
        let (endpoint, offered) = (binding.endpoint.clone(), offered.collect());
        let source = EndpointSource::card(discovered);
        Ok(Self {
            offered,
            source,
            ..Self::new(transport, endpoint, SellerTransport::A2a(binding), ids)
        })
    }

    /// A client for an MCP server at this address.
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

    /// A client for what is at this address: that of an MCP server when it ends in `/mcp`, and where
    /// somebody answers who has no agent card; otherwise that of the card.
    ///
    /// # Errors
    /// What went wrong; nothing but a card was asked for.
    pub async fn found(
        transport: HttpTransport,
        address: &str,
        ids: fastrand::Rng,
    ) -> Result<Self, CallFailure> {
        // Servers of MCP usually stand at this path, and have no card to ask for.
        if address.trim_end_matches('/').ends_with("/mcp") {
            return Self::mcp(transport, address, ids);
        }
        match discover(&transport, address, None).await {
            Ok(found) => {
                let card = CardReader::unverified(transport.clone(), found.url.clone());
                Ok(Self::a2a(transport, &found, ids)?.rereading(card))
            }
            Err(failure) if has_no_card(&failure) => Self::mcp(transport, address, ids),
            Err(failure) => Err(failure),
        }
    }

    fn new(
        transport: HttpTransport,
        endpoint: Url,
        door: SellerTransport,
        ids: fastrand::Rng,
    ) -> Self {
        Self {
            transport,
            source: EndpointSource::caller(&endpoint),
            endpoint,
            door,
            offered: Vec::new(),
            token: None,
            authorization: None,
            signer: None,
            checks: true,
            heeds: false,
            mends_rows: true,
            card: None,
            ids: Arc::new(Mutex::new(ids)),
            authorizations: Arc::default(),
            idempotency: Arc::default(),
        }
    }

    /// Sends a bearer token with every call, never in clear text over a public network, and to no other origin
    /// than it is for. Nothing of the session and of what is known of the seller's accounts is taken over:
    /// both belong to the caller with the token of before.
    ///
    /// # Errors
    /// `Unsent`, when a card leads to another origin, the token could be read on the way or it cannot be sent in a
    /// header.
    pub fn with_token(self, token: impl Into<BearerToken>) -> Result<Self, CallFailure> {
        let token = token.into();
        let authorization = Some(token.header(&self.endpoint, &self.source)?);
        Ok(Self { token: Some(token), authorization, ..self.forgetting_caller() })
    }

    /// The same client without what a seller has agreed on with its caller, and said to it.
    fn forgetting_caller(mut self) -> Self {
        if let SellerTransport::Mcp(session) = &mut self.door {
            *session = Arc::new(session.restarted());
        }
        Self { authorizations: Arc::default(), idempotency: Arc::default(), ..self }
    }

    /// Speaks the newest version of MCP without asking the server first whether it does, as long as the server does
    /// not refuse to look at a request: for callers of one request.
    #[must_use]
    pub fn at_once(mut self) -> Self {
        if let SellerTransport::Mcp(session) = &mut self.door {
            *session = Arc::new(mcp::McpSession::presumed());
        }
        self
    }

    /// Signs every request (RFC 9421, AdCP "Signed requests"). A signature names the caller as a token does
    /// ([`Self::with_token`]).
    #[must_use]
    pub fn signing(self, signer: RequestSigner) -> Self {
        Self { signer: Some(Arc::new(signer)), ..self.forgetting_caller() }
    }

    /// Sends arguments although they are not as published: for sellers of other releases.
    #[must_use]
    pub fn unchecked(mut self) -> Self {
        self.checks = false;
        self
    }

    /// Looks before a task on an account whether the seller permits it (`authorization`), by
    /// [`Self::call_with_recovery`]: what it does not is not sent.
    #[must_use]
    pub fn heeding(mut self) -> Self {
        self.heeds = true;
        self
    }

    /// Leaves rows that failed to the caller: [`Self::call_with_recovery`] sends nothing but the
    /// request that it was given.
    #[must_use]
    pub fn without_rows(mut self) -> Self {
        self.mends_rows = false;
        self
    }

    /// Reads the card again in this way, once for each call with recovery, when nobody answers where it
    /// said (HTTP 404, 405 or 410), and goes on where it leads now. A token goes to no other origin than it is for.
    #[must_use]
    pub fn rereading(mut self, card: CardReader) -> Self {
        self.card = Some(card);
        self
    }

    /// The client for where the card leads now, when that is elsewhere.
    async fn moved(&self) -> Option<Self> {
        let discovered = self.card.as_ref()?.read().await?;
        let binding = AgentBinding::jsonrpc(&discovered).ok()?;
        let endpoint = binding.endpoint.clone();
        let source = EndpointSource::card(&discovered);
        may_move(&self.endpoint, &endpoint, self.token.as_ref(), &source).then(|| Self {
            endpoint,
            source,
            door: SellerTransport::A2a(binding),
            ..self.clone()
        })
    }

    /// Where the seller is reached.
    #[must_use]
    pub fn endpoint(&self) -> &Url {
        &self.endpoint
    }

    /// How the seller is reached, and in which release of it: `MCP`, or `A2A 1.0` or `A2A 0.3`.
    #[must_use]
    pub fn via(&self) -> String {
        match &self.door {
            SellerTransport::A2a(binding) => format!("A2A {}", binding.release.name()),
            SellerTransport::Mcp(_) => "MCP".to_owned(),
        }
    }

    /// The tasks that the seller's card lists; none of a seller without one.
    #[must_use]
    pub fn listed(&self) -> &[OfferedTask] {
        &self.offered
    }

    /// The tasks that the seller says it offers: by its card, or by its list of tools on MCP.
    ///
    /// # Errors
    /// What went wrong.
    pub async fn offered(&self) -> Result<Vec<OfferedTask>, CallFailure> {
        match &self.door {
            SellerTransport::A2a(_) => Ok(self.offered.clone()),
            SellerTransport::Mcp(session) => self.list_by_mcp(session).await,
        }
    }

    /// Carries out a task, such as `get_products`. A task that wants an idempotency key
    /// (`tradepost_wire::adcp::task`) and has none gets a fresh one; who wants to send it again keeps one (or uses
    /// [`Self::call_with_recovery`]).
    ///
    /// # Errors
    /// What went wrong, by how far the request got.
    pub async fn call(&self, task: &str, mut arguments: Map) -> Result<SellerAnswer, CallFailure> {
        if recover::is_keyed(task) {
            arguments.entry(KEY).or_insert_with(|| self.new_key().into());
        }
        self.send(task, arguments).await
    }

    /// A key for one intent: nobody can guess it, and no other seller sees it.
    #[must_use]
    pub fn new_key(&self) -> String {
        uuid(&self.ids)
    }

    async fn send(&self, task: &str, arguments: Map) -> Result<SellerAnswer, CallFailure> {
        let arguments = Value::Object(arguments);
        // Before anything leaves: what stands among arguments stands in the seller's logs, too
        // (`A-9`).
        let mut found = adcp::credentials::find(&arguments);
        let own = self.authorization.as_ref().and_then(|value| value.to_str().ok());
        if let Some((_, own)) = own.and_then(|value| value.split_once(' ')) {
            found.extend(adcp::credentials::find_value(&arguments, own));
        }
        if !found.is_empty() {
            return Err(CallFailure::Unsent(Unsent::Credential(found)));
        }
        // What a task is that the rules do not have is between the caller and the seller.
        if let (true, Some(tool)) = (self.checks, AdcpTool::of_name(task)) {
            rules::check(tool, &arguments, Internals::Off).map_err(|issues| {
                CallFailure::Unsent(Unsent::Arguments(Box::new(issues.into_error())))
            })?;
        }
        match &self.door {
            SellerTransport::A2a(binding) => self.send_by_a2a(binding, task, arguments).await,
            SellerTransport::Mcp(session) => self.send_by_mcp(session, task, &arguments).await,
        }
    }

    /// The headers of a request with this body, beside those of its binding.
    fn headers(&self, mut headers: HeaderMap, body: &[u8]) -> Result<HeaderMap, CallFailure> {
        headers.extend(self.authorization.clone().map(|value| (AUTHORIZATION, value)));
        if let Some(signer) = &self.signer {
            signer.sign(&self.endpoint, body, &mut headers)?;
        }
        Ok(headers)
    }
}

/// Whether somebody answers there who knows of no card.
fn has_no_card(failure: &CallFailure) -> bool {
    let CallFailure::Refused(refused) = failure else { return false };
    matches!(refused.by, RefusalForm::Http(404 | 405))
}

/// Whether a card declares AdCP.
#[must_use]
pub fn declares_adcp(card: &crate::SellerCard) -> bool {
    card.extensions.iter().any(|extension| extension.uri == EXTENSION)
}

/// The result in the answer to the request with this id.
fn result_of(response: &Response, id: &str) -> Result<Value, CallFailure> {
    let raw = RawResponse::jsonrpc(response, id);
    let result = response::result(&raw, id)?;
    match response::refusal_in(&result) {
        Some(by) => Err(raw.refused(by)),
        None => Ok(result),
    }
}

impl SellerAnswer {
    fn of(payload: Value) -> Self {
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

    /// Whether the task ended and its result is to be used.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.outcome.is_complete()
    }

    /// The rows that failed and were not sent again, of this answer and of those after it.
    pub fn failed_rows(&self) -> impl Iterator<Item = &crate::outcome::FailedRow> {
        let all = std::iter::once(self).chain(&self.again);
        all.flat_map(|answered| &answered.outcome.rows).filter(|row| !row.again)
    }

    /// AdCP's name for a task that goes on, with which `get_task_status` asks for it.
    #[must_use]
    pub fn task_id(&self) -> Option<&str> {
        self.payload.get("task_id").and_then(Value::as_str)
    }

    /// Takes the state of an A2A task for want of a `status`.
    fn or_state(mut self, state: Option<&str>) -> Self {
        if self.outcome.standing.is_none() {
            // AdCP spells its states as A2A 0.3 does.
            let name = |state: &str| {
                let name = state.strip_prefix("TASK_STATE_").unwrap_or(state);
                name.to_ascii_lowercase().replace('_', "-")
            };
            self.outcome.standing = state.map(|state| Open::parse(&name(state)));
        }
        self
    }
}

#[cfg(test)]
mod tests;
