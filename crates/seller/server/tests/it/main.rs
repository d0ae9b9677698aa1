//! The library from outside: an agent on its public trait, over the network.

#![expect(
    unreachable_pub,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets what it does not expect has to fail, and nobody imports it"
)]

mod answers;
mod built;
mod client;
mod credentials;
#[expect(dead_code, reason = "a test serves on a listener of its own, and not where `main` does")]
#[path = "../../examples/echo.rs"]
mod echo;
mod echoed;
mod health;
mod length;
mod lists;
mod media_types;
mod nested;
mod older;
mod panics;
mod reflection;
mod refusals;
mod scripted;
mod tools;
mod turns;
