//! Errors of operations on tasks.

use tradepost_a2a::error::A2aRefusal;

use crate::fault::InternalError;

/// Reason why an operation was not done.
#[derive(Debug)]
pub enum TaskError {
    /// A refusal by the protocol.
    Refused(A2aRefusal),
    /// An internal error.
    Broken(InternalError),
}

impl From<A2aRefusal> for TaskError {
    fn from(refusal: A2aRefusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<InternalError> for TaskError {
    fn from(fault: InternalError) -> Self {
        Self::Broken(fault)
    }
}
