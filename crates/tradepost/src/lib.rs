//! Everything that runs: configuration, wiring and command line. Knows all other crates, and is known
//! by none.

pub mod aap;
pub mod adcp;
pub mod cli;
pub mod config;
pub mod console;
pub mod delivery;
pub mod feeds;
pub mod gate;
pub mod hosting;
pub mod log;
pub mod wiring;
