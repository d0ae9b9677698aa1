//! A publisher that sells advertising (AdCP), at work in this process. What it does is in
//! `tradepost-publisher`; here is what it stands on: the store and the world outside.

pub mod outside;
pub mod vault;
