//! A publisher of advertising over its bindings: real servers, whole answers.

mod ad_server;
mod ad_server_commands;
mod bindings;
mod card;
mod client;
mod codes;
mod deals;
mod exchanges;
mod inventory;
mod mcp;
mod menu;
mod notices;
mod offered;
mod order_check;
mod order_races;
mod people;
mod pushed;
mod races;
mod reporting;
mod sales;
mod signatures;
pub mod staff;
pub mod store;
mod twins;
mod vectors;
