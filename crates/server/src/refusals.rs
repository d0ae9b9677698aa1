//! What was refused, for people who are asked about it later: never a word of whoever was refused.

use std::fmt;

use jiff::Timestamp;

use crate::metrics::Kind;

/// Where a request was wrong, without anything that its sender wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// A JSON Pointer in which the sender's own names are not named.
    pub pointer: String,
    /// The constraint that is not kept, as JSON Schema calls it.
    pub keyword: &'static str,
}

/// A request that was refused.
#[derive(Debug, Clone)]
pub struct Refused {
    /// The agent that refused it.
    pub agent: String,
    /// When.
    pub at: Timestamp,
    /// The catalog's code.
    pub code: &'static str,
    /// The id that the caller was given; `None` when it was given none, and for those of a flood, which
    /// are only counted.
    pub error_id: Option<String>,
    /// The skill or tool, or else the operation, where it is known.
    pub operation: Option<&'static str>,
    /// Who was refused.
    pub caller: Kind,
    /// What was wrong with the request.
    pub misfits: Vec<Misfit>,
}

/// Who remembers what was refused.
pub trait Ledger: fmt::Debug + Send + Sync {
    /// Notes it. The caller waits for the answer, so this must not wait for anything.
    fn note(&self, refused: Refused);
}
