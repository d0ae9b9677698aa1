//! A publisher that sells advertising (AdCP), at work in this process. What it does is in
//! `tradepost-publisher`; here is what it stands on, the store and the world outside, and what
//! stands on it: the agent that callers reach, and its card.

pub mod card;
pub mod exchanges;
pub mod invocation;
pub mod listing;
pub mod seller;
pub mod vault;
