#![doc = include_str!("../README.md")]

pub mod adcp;
pub mod agent;
pub mod answer;
mod binding;
pub mod cache;
pub mod card;
pub mod card_reader;
pub mod challenge;
pub mod client;
pub mod directory;
pub mod discover;
pub mod events;
pub mod failure;
pub mod grpc;
pub mod lead;
pub mod outcome;
#[cfg(feature = "receiver")]
pub mod receiver;
pub mod record;
pub mod recovery;
pub mod refusal;
pub mod replies;
pub mod response;
pub mod retry;
#[cfg(feature = "receiver")]
pub mod signed;
pub mod token;
pub mod transport;
pub mod trust;

pub use adcp::AdcpClient;
pub use agent::AgentClient;
pub use answer::SkillAnswer;
pub use cache::CardCache;
pub use card::SellerCard;
pub use card_reader::CardReader;
pub use client::SkillClient;
pub use discover::{Discovered, discover};
pub use failure::CallFailure;
pub use lead::{Lead, LeadConsent};
pub use recovery::advise;
pub use reqwest::Url;
pub use token::{BearerToken, Origin};
pub use tradepost_document::text;
pub use transport::HttpTransport;
pub use trust::Trust;

/// Text of answers for people.
pub mod display {
    pub use tradepost_aap::display::*;
    pub use tradepost_document::display::*;
}

#[cfg(test)]
mod fake;
