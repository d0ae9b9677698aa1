//! Everything that runs: server, storage and command line. Knows the wire and the buyer, and is
//! known by none.

pub mod aap;
pub mod adcp;
pub mod auth;
pub mod bridge;
pub mod cli;
pub mod clock;
pub mod config;
pub mod conformance;
pub mod desk;
pub mod egress;
pub mod fault;
pub mod gate;
pub mod http;
pub mod limit;
pub mod outbox;
pub mod sandbox;
pub mod signing;
pub mod store;
pub mod tasks;
pub mod tls;
