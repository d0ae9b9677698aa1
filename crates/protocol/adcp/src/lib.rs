#![doc = include_str!("../README.md")]

use tradepost_document::catalog::words;

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

pub use answer::AdcpAnswer;
pub use tool::{AccountNeed, AdcpTool};

/// Supported release of AdCP (`adcp_version`).
pub const VERSION: &str = "3.1";

/// Extension by which an A2A agent card declares AdCP.
pub const EXTENSION: &str = "https://adcontextprotocol.org/extensions/adcp/v3";

words! {
    /// Statuses of a task, in the `status` of its payload.
    pub enum AdcpTaskStatus {
        /// Accepted, and to be carried out later.
        Submitted = "submitted",
        /// In progress.
        Working = "working",
        /// Waiting for input of the caller.
        InputRequired = "input-required",
        /// Done.
        Completed = "completed",
        /// Canceled by the caller.
        Canceled = "canceled",
        /// Failed.
        Failed = "failed",
        /// Declined by the agent.
        Rejected = "rejected",
        /// Waiting for a credential.
        AuthRequired = "auth-required",
        /// Unknown.
        Unknown = "unknown",
    }
}

words! {
    /// Decisions of a governance agent about a plan.
    pub enum GovernanceDecision {
        /// The plan may proceed.
        Approved = "approved",
        /// The plan must not proceed.
        Denied = "denied",
        /// The plan may proceed when its conditions are met.
        Conditions = "conditions",
    }
}

/// Removes duplicates, keeping the first of each.
fn once<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for one in all {
        if !seen.contains(&one) {
            seen.push(one);
        }
    }
    seen
}
