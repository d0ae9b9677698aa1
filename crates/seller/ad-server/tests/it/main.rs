//! The adapters against servers that do wrong: a decision table over all of them, and what they send.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it does not expect has to fail"
)]

mod faults;
mod google;
mod kevel;
mod sent;
mod server;
mod settings;
mod specs;
