//! A publisher of advertising over its bindings: real servers, whole answers.

mod bindings;
mod card;
mod codes;
mod exchanges;
mod mcp;
mod notices;
mod signatures;
mod staff;
mod twins;
