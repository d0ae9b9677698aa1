//! The publisher without a network: requests go in, whole answers come out.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test that meets what it does not expect has to fail"
)]

mod accounts;
mod budgets;
mod buys;
mod capabilities;
mod delivery;
mod formats;
mod governance;
mod leaks;
mod products;
mod proposals;
mod signals;
mod support;
mod tasks;
mod updates;
mod upstream;
