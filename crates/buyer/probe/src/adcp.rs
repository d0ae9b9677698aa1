//! Checks of AdCP 3.1, by subject: above all those that the official harness does not make.
//!
//! A seller is called over MCP, at the given address, and over A2A when the agent card names AdCP. Every request only
//! reads, unless writes are allowed.
// Covers the requirements of docs/requirements/adcp.md.

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

/// All tables, in the order in which they are run.
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
