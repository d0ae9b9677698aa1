//! The directory of a process (RFC 9727): addresses of the cards of all its agents, as a link set
//! (RFC 9264 §4.2).

use axum::http::HeaderValue;
use sha2::{Digest as _, Sha256};
use tradepost_a2a::card::{DIRECTORY_PATH, WELL_KNOWN_PATH};
use tradepost_document::format::hex;
use tradepost_document::json::{Value, json};

use crate::agent::SharedAgent;
use crate::card::{ENDPOINT_PATH, PublishedCard};

/// The directory document.
#[derive(Debug)]
pub(crate) struct Directory {
    pub(crate) body: bytes::Bytes,
    pub(crate) etag: HeaderValue,
}

impl Directory {
    /// Builds the directory of these agents. The bytes are the same on every host, because the
    /// anchor is relative.
    pub(crate) fn new(agents: &[SharedAgent]) -> Self {
        let listed = agents.iter().filter(|agent| agent.is_listed());
        let items: Vec<Value> = listed.filter_map(|agent| item(agent.card())).collect();
        let set = json!({"linkset": [{"anchor": DIRECTORY_PATH, "item": items}]});
        let body = set.to_string();
        let etag = format!("\"{}\"", hex(&Sha256::digest(&body)));
        let etag = HeaderValue::from_str(&etag);
        let etag = etag.unwrap_or_else(|_| unreachable!("digits and quotes are a header's value"));
        Self { body: body.into(), etag }
    }
}

/// Maximum number of agents that a page shows.
const MAX_SHOWN: usize = 200;

/// An agent of the directory, for people.
#[derive(Debug)]
pub(crate) struct DirectoryEntry {
    pub(crate) name: String,
    /// Address of its page.
    pub(crate) address: String,
}

impl Directory {
    /// Returns the first agents for a page.
    pub(crate) fn entries(&self) -> Vec<DirectoryEntry> {
        let set: Value = tradepost_document::json::from_slice(&self.body).unwrap_or_default();
        let items = set.pointer("/linkset/0/item").and_then(Value::as_array);
        let entry = |item: &Value| {
            let member = |name: &str| item.get(name).and_then(Value::as_str);
            let base = member("href")?.strip_suffix(WELL_KNOWN_PATH)?;
            let name = member("title").unwrap_or_default().to_owned();
            Some(DirectoryEntry { name, address: format!("{base}/") })
        };
        items.into_iter().flatten().filter_map(entry).take(MAX_SHOWN).collect()
    }
}

/// Returns the link to an agent's card, with the agent's name.
fn item(card: &PublishedCard) -> Option<Value> {
    let card: Value = tradepost_document::json::from_slice(&card.body).ok()?;
    let interfaces = card.get("supportedInterfaces").and_then(Value::as_array);
    let urls = interfaces.into_iter().flatten().filter_map(|one| one.get("url")?.as_str());
    // Interfaces of MCP and gRPC have other paths, or none.
    let base = urls.filter_map(|url| url.strip_suffix(ENDPOINT_PATH)).next()?;
    let name = card.get("name").and_then(Value::as_str).unwrap_or_default();
    let href = format!("{base}{WELL_KNOWN_PATH}");
    Some(json!({"href": href, "type": "application/json", "title": name}))
}
