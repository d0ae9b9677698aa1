//! Records of refused requests, for later questions. They contain no text of the caller.

use std::fmt;

use jiff::Timestamp;

use crate::metrics::CallerKind;

/// A problem of a request, without the caller's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// JSON Pointer, in which names chosen by the caller are masked.
    pub pointer: String,
    /// The violated keyword of JSON Schema.
    pub keyword: &'static str,
}

/// A refused request.
#[derive(Debug, Clone)]
pub struct RefusedRequest {
    /// Id of the agent.
    pub agent: String,
    /// Time.
    pub at: Timestamp,
    /// Error code.
    pub code: &'static str,
    /// Error id that the caller or the log got; `None` for excess refusals, and for requests that no
    /// profile has read, which are only counted.
    pub error_id: Option<String>,
    /// Skill or tool, or else the operation, where known.
    pub operation: Option<&'static str>,
    /// Kind of caller.
    pub caller: CallerKind,
    /// Problems of the request.
    pub misfits: Vec<FieldError>,
}

/// Recorder of refusals.
pub trait RefusalSink: fmt::Debug + Send + Sync {
    /// Records a refusal. Must not block, because the caller waits for its answer.
    fn note(&self, refused: RefusedRequest);
}
