#![doc = include_str!("../README.md")]

pub mod program;

pub mod adcp;
pub mod call;
pub mod card;
pub mod discover;
pub mod explain;
pub mod manual;
pub mod mcp;
pub mod probe;
pub mod receive;

mod attempts;
pub mod context;
pub mod data_folder;
pub mod listening;
pub mod log;
pub mod nearest;
pub mod network;
pub mod output;
pub mod published;
pub mod report_file;
pub mod token;
pub mod toml_file;

pub use context::{Context, Outcome};
