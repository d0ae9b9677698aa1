//! A publisher that sells advertising to agents (AdCP 3.1). It knows no transport, database or clock: a binding
//! gives it an [`AdcpToolCall`](tool_call::AdcpToolCall) and gets an [`AdcpAnswer`](tradepost_adcp::AdcpAnswer), it
//! stores records through [`StoreTx`](store::StoreTx), and reaches everything else through
//! [`Services`](services::Services).

// Interfaces to the bindings, the store and everything else outside.
pub mod services;
pub mod store;
pub mod tool_call;

// The publisher.
pub mod ad_server;
pub mod agent;
pub mod availability;
pub mod catalogue;
pub mod decision;
pub mod profile;
pub mod publisher;
pub mod refusals;
pub mod reply;
pub mod spending;
pub mod staff;

// Stored entities.
pub mod account;
pub mod audience;
pub mod buy;
pub mod creative;
pub mod event;
pub mod exclusive;
pub mod inventory;
pub mod money;
pub mod plan;
pub mod property;
pub mod proposal;
pub mod remote_order;
pub mod reporting;
pub mod session;
pub mod staff_event;
pub mod task;

// Order of the checks of a request, its steps, and the tools.
pub mod order;

mod admit;
mod forms;
mod idempotency;
mod notifications;
mod resolve;
mod response_cache;
mod tool_context;
mod tools;
mod version;

// The tool by which test suites put a sandbox into states.
pub mod test_controller;
