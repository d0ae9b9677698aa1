//! Errors of operations on tasks.

use tradepost_a2a::error::A2aRefusal;

use crate::fault::InternalError;

/// Reason why an operation was not done.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// A refusal by the protocol.
    #[error(transparent)]
    Refused(#[from] A2aRefusal),
    /// An internal error.
    #[error(transparent)]
    Broken(#[from] InternalError),
}
