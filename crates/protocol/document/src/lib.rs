#![doc = include_str!("../README.md")]

pub mod algorithm;
pub mod backoff;
pub mod cache;
pub mod canonical;
pub mod catalog;
pub mod decimal;
pub mod fault;
pub mod format;
pub mod http;
pub mod json;
pub mod parse;
pub mod problem;
#[cfg(feature = "toml")]
pub mod toml;
pub mod typed;
