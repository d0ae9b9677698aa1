//! The adapters against servers that do wrong: a decision table over all of them, and what they send.

mod faults;
mod kevel;
mod sent;
mod server;
mod settings;
mod specs;
