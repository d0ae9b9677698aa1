//! A publisher that sells advertising to agents (AdCP 3.1). It knows no transport, database or clock: a binding
//! gives it a [`ToolCall`](ask::ToolCall) and gets an [`AdcpAnswer`](tradepost_wire::adcp::AdcpAnswer), it stores
//! records through [`StoreTx`](shelf::StoreTx), and reaches everything else through
//! [`Services`](world::Services).

// Interfaces to the bindings, the store and everything else outside.
pub mod ask;
pub mod shelf;
pub mod world;

// The publisher.
pub mod agent;
pub mod catalogue;
pub mod decision;
pub mod demo;
pub mod profile;
pub mod publisher;
pub mod refuse;
pub mod reply;
pub mod spending;
pub mod staff;
pub mod supply;

// Stored entities.
pub mod account;
pub mod arm;
pub mod audience;
pub mod buy;
pub mod creative;
pub mod event;
pub mod exclusive;
pub mod money;
pub mod plan;
pub mod property;
pub mod proposal;
pub mod session;
pub mod staff_event;
pub mod task;

// Order of the checks of a request, its steps, and the tools.
pub mod order;

mod admit;
mod announce;
mod fixture;
mod forms;
mod idempotency;
mod memo;
mod resolve;
mod tools;
mod version;
mod work;
