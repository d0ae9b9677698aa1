//! What a binding hands over.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use tradepost_wire::adcp::{AdcpTool, credentials};
use tradepost_wire::json::{Map, Value};

use crate::agent::BuyerAgent;

/// A request for a tool, from a caller that the transport has authenticated.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// The tool.
    pub tool: AdcpTool,
    /// Its arguments, unread.
    pub arguments: Map,
    /// Who calls.
    pub caller: BuyerCaller,
    /// The credential with which it came, where it has shown one: it may not stand in the arguments.
    pub credential: Option<Credential>,
    /// The moment.
    pub now: Timestamp,
}

/// A credential, which stands in no log.
#[derive(Clone)]
pub struct Credential(String);

impl Credential {
    /// The credential with this text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// JSON Pointers to where it stands in a value.
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

impl ToolCall {
    /// Whether it keeps or changes something, so that it needs a transaction. Proposals come of
    /// briefs, and change by refining; decisions about plans are noted for those who audit them; a
    /// search may become a task where a `sandbox` is told so.
    pub(crate) fn keeps(&self, sandbox: bool) -> bool {
        let searches = self.searches();
        self.tool.mutates()
            || self.tool == AdcpTool::CheckGovernance
            || (searches && (sandbox || self.tool == AdcpTool::GetProducts))
    }

    /// Whether its `context` comes back with the answer.
    pub(crate) fn may_repeat(&self, context: &Value) -> bool {
        let shows_own =
            self.credential.as_ref().is_some_and(|own| !own.find_in(context).is_empty());
        may_be_repeated(context) && !shows_own
    }

    /// Whether it searches for something that the publisher has to think about: everything that is
    /// there (`wholesale`) is known at once.
    pub(crate) fn searches(&self) -> bool {
        let named = |mode| self.arguments.get(mode).and_then(Value::as_str);
        (self.tool == AdcpTool::GetProducts && named("buying_mode") != Some("wholesale"))
            || (self.tool == AdcpTool::GetSignals && named("discovery_mode") != Some("wholesale"))
    }
}

/// Whether a `context` comes back with the answer (`X-2`): an object does, unless a credential
/// stands in it (`A-10`).
#[must_use]
pub fn may_be_repeated(context: &Value) -> bool {
    context.is_object() && credentials::find(context).is_empty()
}

/// Who calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuyerCaller {
    /// The name of the credential: whose requests are counted together.
    pub principal: String,
    /// The buyer agent, when its identity is established: by the onboarding record that its
    /// credential is mapped to, or by a signed request (`B-2`, `G-2`). A credential alone
    /// establishes nothing.
    pub agent: Option<Arc<BuyerAgent>>,
}

impl BuyerCaller {
    /// To whom belongs what this caller makes. A credential that is mapped to no agent is a
    /// tenant of its own.
    #[must_use]
    pub fn tenant(&self) -> String {
        // The words in front keep an agent and a principal of one name apart.
        match &self.agent {
            Some(agent) => format!("agent:{}", agent.id),
            None => format!("principal:{}", self.principal),
        }
    }
}
