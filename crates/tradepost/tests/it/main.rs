//! The integration tests: one binary, real servers on the loopback address, whole answers.

#![expect(
    unreachable_pub,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that meets what it does not expect has to fail, and nobody imports it"
)]

mod adcp;
mod adf;
mod agent;
mod agents;
mod appointments;
mod auth;
mod backup;
#[path = "../../../protocol/tests/tests/it/beside.rs"]
mod beside;
mod bindings;
mod buyer;
mod calendar;
mod call;
mod cards;
mod check_config;
mod config;
#[expect(dead_code, reason = "a process of the tests keeps everything in a store, unlike `main`")]
#[path = "../../../seller/server/examples/conformance/main.rs"]
mod conformance;
mod console;
mod dealer_mcp;
mod dealer_ucp;
mod decisions;
mod delivery;
mod doctor;
#[expect(dead_code, reason = "a test serves on a listener of its own, and not where `main` does")]
#[path = "../../../seller/server/examples/echo.rs"]
mod echo;
mod empty_searches;
mod examples;
mod explain;
mod fairness;
mod feeds;
mod grpc;
mod hostile;
mod hosting;
mod http2;
mod import;
mod leads;
mod mcp;
mod metrics;
mod operating;
mod paths;
mod postgres;
mod privacy;
mod probe;
mod process;
mod publisher_start;
mod push;
mod receive;
mod refusals;
mod requirements;
mod rest;
mod sandbox;
mod server;
mod signing;
mod store_options;
mod support;
mod tasks;
mod tls;
mod traces;
mod web;
mod week;
mod wizard;
