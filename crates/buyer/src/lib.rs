//! A client of seller agents: [`mod@discover`] reads a seller's card and chooses how to speak to it,
//! [`cache`] keeps cards, and [`trust`] says whether one is to be believed. [`client`] calls a skill
//! of AAP, [`adcp`] a task of AdCP, [`agent`] speaks with any agent of A2A, [`came`] reads whatever comes back, and [`failure`] says what went
//! wrong and whether the request left, of which [`record`] is what is logged. [`recovery`] says what to do about it and [`retry`] does it.
//! [`receiver`] takes what sellers push, and [`signed`] finds out whose signature of AdCP a message
//! has.
//!
//! This crate has never heard of our own server. Whatever a seller sends is data: it is kept as it
//! came, bounded in size, and goes through [`text`] before a person sees it.
//!
//! ```no_run
//! use jiff::Timestamp;
//! use tradepost_buyer::{CardCache, Client, Consent, Lead, Transport, Trust};
//! use tradepost_wire::aap::lead::{Channel, SourceAgent};
//! use tradepost_wire::aap::{Filters, Search};
//!
//! # async fn buy(cache: CardCache, trust: Trust, now: Timestamp)
//! # -> Result<(), Box<dyn std::error::Error>> {
//! let transport = Transport::new(Default::default());
//! let found = cache.discover(&transport, "https://dealer.example").await?;
//! trust.check(&transport, &found.discovered.card, now).await?;
//! let choice = found.discovered.card.choose(None).map_err(|why| why.to_string())?;
//! let ids = tradepost_buyer::client::random_ids();
//! let client = Client::new(transport, &found.discovered, choice, ids)?;
//!
//! let filters = Filters { make: vec!["Honda".into()], ..Filters::default() };
//! let page = client.search(&Search { filters, ..Search::default() }).await?;
//! let Some(car) = page.listings().first().copied() else { return Ok(()) };
//!
//! let agent = SourceAgent { name: "my-agent".into(), url: None, agent_card_url: None };
//! let consent = Consent::new(now, "The dealer may e-mail me about this car.", [Channel::Email]);
//! let lead = Lead::new(client.new_key(), agent, consent, now)
//!     .name("Ada", "Lovelace")
//!     .email("ada@example.com")?
//!     .about(car.0.clone());
//! assert!(lead.clone().phone("+14155550100").is_err(), "no call was granted");
//! let receipt = client.submit_lead(&lead).await?;
//! println!("{}", receipt.is_taken());
//! # Ok(())
//! # }
//! ```

pub mod adcp;
pub mod agent;
pub mod answer;
pub mod answered;
mod binding;
pub mod cache;
pub mod came;
pub mod card;
pub mod client;
pub mod discover;
pub mod events;
pub mod failure;
pub mod lead;
pub mod outcome;
pub mod receiver;
pub mod record;
pub mod recovery;
pub mod refusal;
pub mod retry;
pub mod shown;
pub mod signed;
pub mod text;
pub mod transport;
pub mod trust;

pub use adcp::AdcpClient;
pub use agent::AgentClient;
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
