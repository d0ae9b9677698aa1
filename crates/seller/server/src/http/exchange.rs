//! Raw requests, and responses with their log fields.

use std::sync::Arc;

use axum::http::request::Parts;
use axum::response::Response;
use tradepost_a2a::Operation;
use tradepost_document::catalog::Vocabulary as _;

use crate::agent::{Caller, SharedAgent};
use crate::metrics::CallerKind;
use crate::refusals::FieldError;
use crate::registry::AgentRegistry;

/// A raw request to the JSON-RPC endpoint.
#[derive(Debug, Clone, Copy)]
pub struct RawRequest<'a> {
    /// Agents of the process.
    pub registry: &'a AgentRegistry,
    /// Agent that is addressed.
    pub agent: &'a SharedAgent,
    /// Head of the request.
    pub parts: &'a Parts,
    /// Body of the request.
    pub bytes: &'a [u8],
}

/// A response with its log fields.
pub type LoggedResponse = (Response, LogFields);

/// Log fields of an answer.
#[derive(Debug, Clone)]
pub struct LogFields {
    /// The agent, where one was addressed.
    pub agent: Option<SharedAgent>,
    /// Error code, or `OK`.
    pub code: &'static str,
    /// The called skill, if any.
    pub skill: Option<&'static str>,
    /// Operation of the protocol.
    pub operation: Option<&'static str>,
    /// Kind of caller.
    pub caller: CallerKind,
    /// Error id.
    pub error_id: Option<String>,
    /// True when the sender exceeds a rate limit.
    pub too_often: bool,
    /// Problems of the request.
    pub misfits: Vec<FieldError>,
}

/// Attaches the log fields to an agent's response.
pub(super) fn stamped(mut response: Response, stamp: LogFields, agent: &SharedAgent) -> Response {
    let agent = Some(Arc::clone(agent));
    response.extensions_mut().insert(LogFields { agent, ..stamp });
    response
}

impl Default for LogFields {
    /// Creates empty fields.
    fn default() -> Self {
        Self {
            agent: None,
            code: "OK",
            skill: None,
            operation: None,
            caller: CallerKind::Unproven,
            error_id: None,
            too_often: false,
            misfits: Vec::new(),
        }
    }
}

impl LogFields {
    /// Sets the caller, after authentication.
    #[must_use]
    pub fn by(self, caller: &Caller) -> Self {
        Self { caller: CallerKind::from_caller(caller), ..self }
    }

    /// Sets the operation.
    #[must_use]
    pub fn with_operation(self, operation: Operation) -> Self {
        Self { operation: Some(operation.name()), ..self }
    }
}
