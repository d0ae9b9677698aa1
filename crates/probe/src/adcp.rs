//! The checks of AdCP 3.1, by subject: above all what the official
//! harness never asserts.
//!
//! A seller is asked over MCP, at the address that was given, and over A2A, where the agent card
//! names AdCP. Whatever is asked only reads, unless writing was allowed.
// requirements adcp.md §1

use super::check::Check;

mod answer;
pub(super) mod ask;
mod auth;
mod capability;
mod detail;
mod error;
mod idempotency;
mod input;
mod issue;
mod lookup;
pub(super) mod mcp;
mod pair;
pub(super) mod seller;
mod statistics;
mod uniform;

/// All of them, in the order in which they are run.
pub(super) const TABLES: &[&[Check]] = &[
    mcp::CHECKS,
    capability::CHECKS,
    input::CHECKS,
    auth::CHECKS,
    lookup::CHECKS,
    uniform::CHECKS,
    idempotency::CHECKS,
    error::CHECKS,
    issue::CHECKS,
    detail::CHECKS,
];
