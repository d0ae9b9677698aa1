//! The publisher without a network: requests go in, whole answers come out.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test that meets what it does not expect has to fail"
)]

mod accounts;
mod capabilities;
mod leaks;
mod support;
