//! The integration tests: one binary, one module for each area.

#![expect(
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that meets what it does not expect has to fail"
)]

mod adf;
mod config;
