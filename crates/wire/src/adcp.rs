//! AdCP, the protocol of buying advertising (3.1, and what 3.2 adds): its error catalog and error
//! object. Nothing here belongs to one side: sellers write with it and buyers read with it.

use crate::catalog::words;

pub mod answer;
pub mod credentials;
pub mod error;
pub mod payload;
pub mod release;
pub mod rules;
pub mod signing;
pub mod task;
pub mod tool;
pub mod webhook;

pub use answer::Answer;
pub use tool::{Need, Tool};

/// The release of AdCP that is spoken, at release precision (`adcp_version`).
pub const VERSION: &str = "3.1";

/// The extension by which an A2A agent card declares AdCP.
pub const EXTENSION: &str = "https://adcontextprotocol.org/extensions/adcp/v3";

words! {
    /// How far a task is, by the `status` of its payload.
    pub enum Standing {
        /// Accepted, and carried out later.
        Submitted = "submitted",
        /// Being carried out.
        Working = "working",
        /// Waiting for something from the caller.
        InputRequired = "input-required",
        /// Done.
        Completed = "completed",
        /// Canceled by the caller.
        Canceled = "canceled",
        /// Failed.
        Failed = "failed",
        /// Not begun: the agent declined.
        Rejected = "rejected",
        /// Waiting for a credential.
        AuthRequired = "auth-required",
        /// Nobody knows.
        Unknown = "unknown",
    }
}

words! {
    /// What a governance agent decides on a plan.
    pub enum Decision {
        /// The plan may go on.
        Approved = "approved",
        /// The plan must not go on.
        Denied = "denied",
        /// The plan may go on when its conditions are met.
        Conditions = "conditions",
    }
}

/// Each once, where it stood first.
fn once<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for one in all {
        if !seen.contains(&one) {
            seen.push(one);
        }
    }
    seen
}
