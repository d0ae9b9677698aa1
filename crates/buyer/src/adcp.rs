//! AdCP tasks at a seller, over A2A 1.0 or over MCP (streamable HTTP). Both carry the same task
//! with the same arguments, and both are read by [`came`]: what a caller gets does not depend on
//! the way it came.
//!
//! Before a request leaves, its arguments are searched for credentials (`A-9`), and a task that
//! changes something gets an idempotency key when it has none (`E-4`).

use std::fmt;
use std::sync::Mutex;

use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};
use tradepost_wire::adcp::EXTENSION;
use tradepost_wire::catalog::Open;
use tradepost_wire::{a2a, adcp};

use crate::answer::{self, Opened};
use crate::came::{self, Came, Via};
use crate::card::NotAap;
use crate::client::{bearer, uuid};
use crate::discover::{Discovered, endpoint, usable, without_credentials};
use crate::failure::{Defect, Failure, Unsent};
use crate::outcome::Outcome;
use crate::transport::{Response, Transport};

mod events;
mod mcp;
mod over_a2a;
mod recover;

pub use recover::KEYED;

/// The member by which a seller recognises a request that it has seen.
const KEY: &str = "idempotency_key";

/// Calls the tasks of one seller.
pub struct AdcpClient {
    transport: Transport,
    endpoint: Url,
    door: Door,
    authorization: Option<HeaderValue>,
    ids: Mutex<fastrand::Rng>,
}

#[derive(Debug)]
enum Door {
    A2a { tenant: Option<String> },
    Mcp(mcp::Session),
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
pub struct Answered {
    /// The payload as the seller sent it, an object; null when an A2A task goes on without one.
    pub payload: Value,
    /// What the payload says beside its result; `standing` is that of the A2A task when the
    /// payload has none.
    pub outcome: Outcome,
    /// The A2A conversation, as the seller calls it.
    pub context_id: Option<String>,
    /// The A2A task, as the seller calls it; not AdCP's own `task_id`, which is in the payload.
    pub a2a_task_id: Option<String>,
}

impl AdcpClient {
    /// A client for the JSON-RPC interface of a card (A2A 1.0). Whether the card declares AdCP is
    /// for [`declares_adcp`] to say: not every seller of AdCP does.
    ///
    /// # Errors
    /// `Unsent`, when the card has no such interface or its address may not be used.
    pub fn a2a(
        transport: Transport,
        discovered: &Discovered,
        ids: fastrand::Rng,
    ) -> Result<Self, Failure> {
        let interface = discovered.card.interface();
        let interface = interface.ok_or(Failure::Unsent(Unsent::NotAap(NotAap::NoInterface)))?;
        let endpoint = endpoint(&discovered.url, interface)?;
        let door = Door::A2a { tenant: interface.tenant.clone() };
        Ok(Self { transport, endpoint, door, authorization: None, ids: Mutex::new(ids) })
    }

    /// A client for an MCP server at this address.
    ///
    /// # Errors
    /// `Unsent`, when the address cannot be used.
    pub fn mcp(transport: Transport, address: &str, ids: fastrand::Rng) -> Result<Self, Failure> {
        let endpoint = usable(address.trim())
            .map_err(|why| Failure::address(&without_credentials(address.trim()), why))?;
        let door = Door::Mcp(mcp::Session::default());
        Ok(Self { transport, endpoint, door, authorization: None, ids: Mutex::new(ids) })
    }

    /// Sends a bearer token with every call, never in clear text over a public network.
    ///
    /// # Errors
    /// `Unsent`, when the token could be read on the way or cannot be sent in a header.
    pub fn with_token(mut self, token: &str) -> Result<Self, Failure> {
        let from_card = matches!(self.door, Door::A2a { .. });
        self.authorization = Some(bearer(&self.endpoint, from_card, token)?);
        Ok(self)
    }

    /// Carries out a task, such as `get_products`. A task of [`KEYED`] without an idempotency key
    /// gets a fresh one; who wants to send it again keeps one (or uses
    /// [`Self::call_with_recovery`]).
    ///
    /// # Errors
    /// What went wrong, by how far the request got.
    pub async fn call(
        &self,
        task: &str,
        mut arguments: Map<String, Value>,
    ) -> Result<Answered, Failure> {
        if KEYED.contains(&task) {
            arguments.entry(KEY).or_insert_with(|| self.new_key().into());
        }
        self.send(task, arguments).await
    }

    /// A key for one intent: nobody can guess it, and no other seller sees it.
    #[must_use]
    pub fn new_key(&self) -> String {
        uuid(&self.ids)
    }

    async fn send(&self, task: &str, arguments: Map<String, Value>) -> Result<Answered, Failure> {
        let arguments = Value::Object(arguments);
        let found = adcp::credentials::find(&arguments);
        if !found.is_empty() {
            return Err(Failure::Unsent(Unsent::Credential(found)));
        }
        match &self.door {
            Door::A2a { tenant } => self.send_by_a2a(tenant.as_deref(), task, arguments).await,
            Door::Mcp(session) => self.send_by_mcp(session, task, &arguments).await,
        }
    }

    fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(value) = &self.authorization {
            headers.insert(AUTHORIZATION, value.clone());
        }
        headers
    }

    fn a2a_headers(&self) -> HeaderMap {
        let mut headers = self.headers();
        let version = HeaderValue::from_static(a2a::VERSION);
        headers.insert(HeaderName::from_static(a2a::VERSION_HEADER), version);
        let extension = HeaderValue::from_static(EXTENSION);
        headers.insert(HeaderName::from_static(a2a::EXTENSIONS_HEADER), extension);
        headers
    }
}

/// Whether a card declares AdCP.
#[must_use]
pub fn declares_adcp(card: &crate::Card) -> bool {
    card.extensions.iter().any(|extension| extension.uri == EXTENSION)
}

/// The result in the answer to the request with this id.
fn result_of(response: &Response, id: &str) -> Result<Value, Failure> {
    let came = Came {
        via: Via::JsonRpc { id },
        status: response.status,
        content_type: response.content_type.as_deref(),
        retry_after: response.retry_after,
        body: &response.body,
    };
    if let Some(failure) = came::read(&came) {
        return Err(failure);
    }
    let result = match answer::open(&response.body, id) {
        Ok(Opened::Result(result)) => serde_json::from_str(result).map_err(|_| Defect::NotJson),
        Ok(Opened::Refused { .. }) => Err(answer::no_error()),
        Err(defect) => Err(defect),
    };
    result.map_err(|defect| Failure::garbled(defect, response.kept()))
}

impl Answered {
    fn of(payload: Value) -> Self {
        let outcome = Outcome::read(&payload);
        Self { payload, outcome, context_id: None, a2a_task_id: None }
    }

    /// Whether the task ended and its result is to be used.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.outcome.is_complete()
    }

    /// AdCP's name for a task that goes on, with which `get_task_status` asks for it.
    #[must_use]
    pub fn task_id(&self) -> Option<&str> {
        self.payload.get("task_id").and_then(Value::as_str)
    }

    /// Takes the state of an A2A task for want of a `status`.
    fn or_state(mut self, state: Option<&str>) -> Self {
        if self.outcome.standing.is_none() {
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
