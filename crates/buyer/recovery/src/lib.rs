#![doc = include_str!("../README.md")]

pub mod advice;
pub mod challenge;
pub mod document;
pub mod envelope;
pub mod failure;
pub mod grpc_status;
pub mod refusal;
pub mod response;
pub mod sentence;

pub use advice::advise;
pub use document::advise_document;
pub use failure::CallFailure;
pub use tradepost_document::text;
