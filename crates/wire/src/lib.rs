//! What sellers and buyers must agree on, with no I/O, no clock and no async: protocol types, the
//! error catalogs, parsing that reports every problem, and the envelopes both ways.
//!
//! Read [`problem`] and [`parse`] first: every request, configuration file and feed goes through
//! them. [`jsonrpc`] and [`a2a`] are the envelope, [`protobuf`] is the same in bytes, [`aap`] is the
//! car dealer's profile and [`adcp`] what buying advertising adds to the errors.

pub mod a2a;
pub mod aap;
pub mod adcp;
pub mod algorithm;
pub mod canonical;
pub mod catalog;
mod decimal;
pub mod fault;
pub mod format;
pub mod http_date;
pub mod http_signature;
pub mod json;
pub mod jsonrpc;
pub mod parse;
pub mod problem;
pub mod protobuf;
