//! Records of refused requests: enough to answer questions about a refusal, and nothing that the caller wrote.

use jiff::Timestamp;

/// A request that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusalRecord {
    /// Error id that the caller was given.
    pub error_id: String,
    /// The agent that refused it.
    pub agent_id: String,
    /// Time of the refusal.
    pub at: Timestamp,
    /// Error code of the catalog.
    pub code: String,
    /// Skill or tool, or else the operation, where it was known.
    pub operation: Option<String>,
    /// Kind of the caller, as in the metrics.
    pub caller: String,
    /// Pointers to invalid fields, each with the constraint that it violates.
    pub misfits: Vec<(String, String)>,
}

/// Number of refusals of an agent with one code within an hour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusalCount {
    /// The agent.
    pub agent_id: String,
    /// Start of the hour.
    pub hour: Timestamp,
    /// The code.
    pub code: String,
    /// Number of refusals.
    pub refused: i64,
}
