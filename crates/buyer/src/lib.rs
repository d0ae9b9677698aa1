//! A client of seller agents: [`mod@discover`] reads a seller's card and chooses how to speak to it,
//! [`client`] calls a skill, [`came`] reads whatever comes back, and [`failure`] says what went wrong
//! and whether the request left. [`recovery`] says what to do about it and [`retry`] does it.
//! [`mod@probe`] finds out how well an agent keeps to what it should.
//! [`receiver`] takes what sellers push.
//!
//! This crate has never heard of our own server. Whatever a seller sends is data: it is kept as it
//! came, bounded in size, and goes through [`text`] before a person sees it.

pub mod adcp;
pub mod answer;
pub mod answered;
pub mod cache;
pub mod came;
pub mod card;
pub mod client;
pub mod discover;
pub mod failure;
pub mod lead;
pub mod outcome;
pub mod probe;
pub mod receiver;
pub mod recovery;
pub mod refusal;
pub mod retry;
pub mod shown;
pub mod text;
pub mod transport;
pub mod trust;

pub use adcp::AdcpClient;
pub use answer::Answer;
pub use cache::CardCache;
pub use card::Card;
pub use client::Client;
pub use discover::{Discovered, discover};
pub use failure::Failure;
pub use lead::{Consent, Lead};
pub use recovery::advise;
pub use reqwest::Url;
pub use transport::Transport;
pub use trust::Trust;

#[cfg(test)]
mod fake;
