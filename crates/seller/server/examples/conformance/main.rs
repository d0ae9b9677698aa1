//! The agent that the official conformance kits of A2A are run against: tasks, streams, webhooks, a card
//! for callers who say who they are, and what a server refuses, by profiles of what it claims.
//!
//! `cargo run -p tradepost-server --example conformance -- push --push-allow-loopback`

use clap::Parser as _;
use tradepost_server::memory::MemoryStore;

mod agent;
mod extended;
mod process;
mod profile;
mod scenario;

pub(crate) use agent::Conformance;
pub(crate) use process::{Arguments, Stores, run};
pub(crate) use profile::Profile;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    run(Arguments::parse(), Stores::from_store(MemoryStore::default())).await
}
