//! Requests as a binding hands them over.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tradepost_adcp::{AdcpTool, credentials};
use tradepost_document::json::{Map, Value};

use crate::agent::BuyerAgent;
use crate::store::ReadExtent;

/// A request for a tool, from a caller that the transport has authenticated.
#[derive(Debug, Clone)]
pub struct AdcpToolCall {
    /// The tool.
    pub tool: AdcpTool,
    /// Its arguments, not yet parsed.
    pub arguments: Map,
    /// The caller.
    pub caller: BuyerCaller,
    /// Credential of the request, if it showed one: it may not occur in the arguments.
    pub credential: Option<Credential>,
    /// Time of the request.
    pub now: Timestamp,
    /// The same moment by a monotonic clock, which measures the age of what is answered from memory.
    pub elapsed: Duration,
}

/// A credential, which is never logged.
#[derive(Clone)]
pub struct Credential(String);

impl Credential {
    /// Wraps the text of a credential.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Returns JSON Pointers to its occurrences in a value.
    #[must_use]
    pub fn find_in(&self, value: &Value) -> Vec<String> {
        credentials::find_value(value, &self.0)
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential(hidden)")
    }
}

impl AdcpToolCall {
    /// Returns true if it stores or changes something, so that it needs a transaction. Briefs make proposals
    /// and refining changes them, decisions about plans are stored for audits, and in a `sandbox` a search
    /// may become a task.
    pub(crate) fn keeps(&self, sandbox: bool) -> bool {
        let searches = self.searches();
        self.tool.mutates()
            || self.tool == AdcpTool::CheckGovernance
            || (searches && (sandbox || self.tool == AdcpTool::GetProducts))
    }

    /// Returns true if admission and work are one read: it stores nothing, so that it has no idempotency key either,
    /// and nobody outside is asked in between, as the ad server is for products.
    pub(crate) fn needs_one_read(&self, sandbox: bool) -> bool {
        !self.keeps(sandbox) && self.tool != AdcpTool::GetProducts
    }

    /// Returns how much its work reads.
    pub(crate) fn read_extent(&self) -> ReadExtent {
        // What a seller can do is in its profile, and a task is one record.
        if matches!(self.tool, AdcpTool::GetAdcpCapabilities | AdcpTool::GetTaskStatus) {
            ReadExtent::Records
        } else {
            ReadExtent::Pages
        }
    }

    /// Returns true if its `context` comes back with the answer.
    pub(crate) fn may_repeat(&self, context: &Value) -> bool {
        let shows_own =
            self.credential.as_ref().is_some_and(|own| !own.find_in(context).is_empty());
        may_be_repeated(context) && !shows_own
    }

    /// Returns true if it is a search that takes work; a listing of everything (`wholesale`) takes none.
    pub(crate) fn searches(&self) -> bool {
        let named = |mode| self.arguments.get(mode).and_then(Value::as_str);
        (self.tool == AdcpTool::GetProducts && named("buying_mode") != Some("wholesale"))
            || (self.tool == AdcpTool::GetSignals && named("discovery_mode") != Some("wholesale"))
    }
}

/// Returns true if a `context` comes back with the answer (AdCP 3.1 `error-handling`, `X-2`): it
/// has to be an object without a credential in it, because no answer repeats a credential (`A-10`).
#[must_use]
pub fn may_be_repeated(context: &Value) -> bool {
    context.is_object() && credentials::find(context).is_empty()
}

/// Caller of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuyerCaller {
    /// Name of the credential, by which requests are counted.
    pub principal: String,
    /// Buyer agent, when its identity is established: by the onboarding record that its credential is mapped
    /// to, or by a signed request (AdCP 3.1 `error-handling`; `B-2`, `G-2`). A credential alone establishes
    /// nothing.
    pub agent: Option<Arc<BuyerAgent>>,
}

impl BuyerCaller {
    /// Returns the tenant that owns what this caller makes. A credential that is mapped to no agent is a
    /// tenant of its own.
    #[must_use]
    pub fn tenant(&self) -> String {
        // The prefix keeps an agent and a principal of the same name apart.
        match &self.agent {
            Some(agent) => format!("agent:{}", agent.id),
            None => format!("principal:{}", self.principal),
        }
    }
}
