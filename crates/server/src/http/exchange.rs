//! What was posted, and what is sent back with what the log says of it.

use std::sync::Arc;

use axum::http::request::Parts;
use axum::response::Response;
use tradepost_wire::a2a::Operation;
use tradepost_wire::catalog::Vocabulary as _;

use crate::agent::{Caller, SharedAgent};
use crate::desk::Desk;
use crate::metrics::Kind;
use crate::refusals::Misfit;

/// What was posted to the endpoint of JSON-RPC, as it came.
#[derive(Debug, Clone, Copy)]
pub struct Posted<'a> {
    /// Where it came.
    pub desk: &'a Desk,
    /// For whom.
    pub agent: &'a SharedAgent,
    /// Its head.
    pub parts: &'a Parts,
    /// Its body.
    pub bytes: &'a [u8],
}

/// An answer with what the log says about it.
pub type Parcel = (Response, Stamp);

/// What a binding says about its answer, for the log.
#[derive(Debug, Clone)]
pub struct Stamp {
    /// The agent, where one was meant.
    pub agent: Option<SharedAgent>,
    /// The catalog code, or `OK`.
    pub code: &'static str,
    /// The skill, where one was called.
    pub skill: Option<&'static str>,
    /// The operation of the protocol.
    pub operation: Option<&'static str>,
    /// Who called.
    pub caller: Kind,
    /// The id that an error carries.
    pub error_id: Option<String>,
    /// Whether its sender comes too often.
    pub too_often: bool,
    /// Where the request was wrong.
    pub misfits: Vec<Misfit>,
}

/// An answer of an agent, with what the log says of it inside.
pub(super) fn stamped((mut response, stamp): Parcel, agent: &SharedAgent) -> Response {
    let agent = Some(Arc::clone(agent));
    response.extensions_mut().insert(Stamp { agent, ..stamp });
    response
}

impl Default for Stamp {
    /// Nothing to say.
    fn default() -> Self {
        Self {
            agent: None,
            code: "OK",
            skill: None,
            operation: None,
            caller: Kind::Unproven,
            error_id: None,
            too_often: false,
            misfits: Vec::new(),
        }
    }
}

impl Stamp {
    /// The same, of a caller who was let in.
    #[must_use]
    pub fn by(self, caller: &Caller) -> Self {
        Self { caller: Kind::of(caller), ..self }
    }

    /// The same, of an operation.
    #[must_use]
    pub fn of(self, operation: Operation) -> Self {
        Self { operation: Some(operation.name()), ..self }
    }
}
