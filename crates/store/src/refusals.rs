//! What is remembered of requests that were refused: enough to answer whoever asks, and nothing that the
//! caller wrote.

use jiff::Timestamp;

/// A request that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusalRecord {
    /// The id that the caller was given.
    pub error_id: String,
    /// The agent that refused it.
    pub agent_id: String,
    /// When.
    pub at: Timestamp,
    /// The catalog's code.
    pub code: String,
    /// The skill or tool, or else the operation, where it was known.
    pub operation: Option<String>,
    /// Who was refused, as numbers tell callers apart.
    pub caller: String,
    /// Where the request was wrong, each with the constraint that was not kept.
    pub misfits: Vec<(String, String)>,
}

/// How often an agent refused with a code, within an hour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusalCount {
    /// The agent.
    pub agent_id: String,
    /// When the hour began.
    pub hour: Timestamp,
    /// The code.
    pub code: String,
    /// How often.
    pub refused: i64,
}
