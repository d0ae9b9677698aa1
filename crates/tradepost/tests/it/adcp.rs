//! A publisher of advertising over its bindings: real servers, whole answers.

mod bindings;
mod card;
mod client;
mod codes;
mod exchanges;
mod mcp;
mod notices;
mod signatures;
pub mod staff;
mod twins;
mod vectors;
