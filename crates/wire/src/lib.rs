#![doc = include_str!("../README.md")]

pub mod a2a;
pub mod aap;
pub mod adcp;
pub mod algorithm;
pub mod backoff;
pub mod canonical;
pub mod catalog;
mod decimal;
pub mod fault;
pub mod format;
pub mod http;
pub mod json;
pub mod jsonrpc;
pub mod mcp;
pub mod parse;
pub mod problem;
pub mod protobuf;
#[cfg(feature = "toml")]
pub mod toml;
