//! What broke, for the log.

pub use tradepost_wire::fault::{Fault, chain};

/// Why something ends before it is done.
pub const LATE: &str = "it took longer than server.request_timeout";
