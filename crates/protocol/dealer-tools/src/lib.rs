#![doc = include_str!("../README.md")]

pub mod arguments;
pub mod doubtful;
pub mod join;
pub mod listing;
pub mod search;
pub mod show;
pub mod time;
