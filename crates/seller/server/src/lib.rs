// The examples of the README are compiled and run by the store's crate, because they also use a store.
#![cfg_attr(not(doctest), doc = include_str!("../README.md"))]

pub use tradepost_a2a as a2a;
pub use tradepost_document::json;

pub mod agent;
pub mod card;
pub mod tasks;
pub mod tools;

mod directory;
pub mod fair_scheduler;
pub mod http;
pub mod registry;

pub mod auth;
pub mod limit;
pub mod permission;
pub mod tls;

pub mod egress;
pub mod outbox;

pub mod memory;
pub mod metrics;
pub mod refusals;
pub mod signed_text;
#[cfg(feature = "test-suite")]
pub mod store_tests;
pub mod traces;

pub mod background;
pub mod clock;
pub mod fault;
pub mod health;
mod panics;
pub mod private_file;
mod questions;

/// The types that an agent usually needs.
pub mod prelude {
    pub use std::future::pending;

    pub use crate::a2a::{Artifact, Content, Message, Part, TaskState};
    pub use crate::agent::{
        Agent, AgentBuilder, AgentOutcome, AgentRequest, BoxFuture, MessageCall, PageTokens,
    };
    pub use crate::auth::{Authenticator, Principal};
    pub use crate::card::{self, PublishedCard};
    pub use crate::clock::Clock;
    pub use crate::http;
    pub use crate::permission::{Permission, Scopes};
    pub use crate::registry::AgentRegistry;
    pub use crate::tasks::{MessagePlan, TaskService};
}
