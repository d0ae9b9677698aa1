//! Checks of A2A v1.0, one file for each subject with a table of checks and their functions.
// Covers the requirements of docs/requirements/a2a.md.

use super::check::Check;

mod access;
mod alive;
mod ask;
mod capability;
mod card;
mod envelope;
mod failure;
mod grpc;
mod input;
mod kit;
mod list;
mod message;
mod push;
mod rest;
mod stream;
mod task;
mod updates;
mod version;

/// All tables, in the order in which they are run.
pub(super) const TABLES: &[&[Check]] = &[
    card::CHECKS,
    alive::CHECKS,
    envelope::CHECKS,
    version::CHECKS,
    failure::CHECKS,
    input::CHECKS,
    capability::CHECKS,
    rest::CHECKS,
    message::CHECKS,
    task::CHECKS,
    list::CHECKS,
    stream::CHECKS,
    updates::CHECKS,
    kit::CHECKS,
    push::CHECKS,
    access::CHECKS,
    grpc::CHECKS,
];
