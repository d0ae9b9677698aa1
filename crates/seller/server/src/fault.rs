//! Internal errors, for the log.

pub use tradepost_document::fault::{InternalError, chain};

/// Cause of an internal error when the time limit is exceeded.
pub const LATE: &str = "it took longer than server.request_timeout";
