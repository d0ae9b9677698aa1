//! What leads a buyer to agents: a card and a directory are read or are none, and neither leads from TLS
//! to where there is none, to a user's name or beyond what may be listed.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tradepost_client::Url;
use tradepost_client::card::SellerCard;
use tradepost_client::directory::{AgentDirectory, MOST};
use tradepost_client::discover::{endpoint, is_local};
use tradepost_client::{grpc, text};

/// An address that a stranger chose may be used.
fn is_safe(url: &Url) -> bool {
    url.scheme() == "https"
        && !is_local(url)
        && url.username().is_empty()
        && url.password().is_none()
}

fuzz_target!(|body: &[u8]| {
    let from = Url::parse("https://all.example/.well-known/agent-card.json").expect("an address");
    if let Some(card) = text::decoded(body).and_then(|text| SellerCard::read(text).ok()) {
        for interface in &card.interfaces {
            assert!(endpoint(&from, interface).as_ref().map_or(true, is_safe), "{interface:?}");
            assert!(
                grpc::address(&from, interface).as_ref().map_or(true, is_safe),
                "{interface:?}"
            );
        }
        match card.choose(None) {
            Ok(choice) => assert!(card.versions().contains(&choice.version)),
            Err(no) => assert!(!no.to_string().is_empty()),
        }
    }
    if let Ok(directory) = AgentDirectory::read(from, body) {
        assert!(directory.entries.len() <= MOST);
        assert!(directory.entries.iter().all(|entry| is_safe(&entry.url)));
    }
});
