#![doc = include_str!("../README.md")]

pub mod adcp;
pub mod agent;
pub mod answer;
mod binding;
pub mod cache;
pub mod card;
pub mod card_reader;
pub mod client;
pub mod directory;
pub mod discover;
pub mod events;
pub mod grpc;
pub mod lead;
pub mod outcome;
#[cfg(feature = "receiver")]
pub mod receiver;
pub mod record;
pub mod replies;
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
pub use lead::{Lead, LeadConsent};
pub use reqwest::Url;
pub use token::{BearerToken, Origin};
pub use tradepost_document::text;
/// Advice on a failure, of `tradepost-recovery`, as are the failures, the refusals and the reader of answers.
pub use tradepost_recovery::advice as recovery;
pub use tradepost_recovery::{CallFailure, advise, challenge, failure, refusal, response};
pub use transport::HttpTransport;
pub use trust::Trust;

/// Text of answers for people.
pub mod display {
    pub use tradepost_aap::display::*;
    pub use tradepost_document::display::*;
}

#[cfg(test)]
mod fake;
