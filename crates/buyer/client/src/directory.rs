//! Directory of agents: a host's API catalog (RFC 9727), which is a set of links (RFC 9264) to agent cards.

use reqwest::Url;
use tradepost_a2a::card::DIRECTORY_PATH;
use tradepost_document::json::{MAX_DEPTH, ReadLimits, Value, document};

use crate::discover::{based, check_link};
use crate::failure::{CallFailure, Defect};
use crate::text::decoded;
use crate::transport::{HttpTransport, Response};

/// Maximum number of agents that are read of one directory.
pub const MOST: usize = 20_000;

/// Directory of agents, and where it came from.
#[derive(Debug, Clone)]
pub struct AgentDirectory {
    /// Address of the document.
    pub url: Url,
    /// Agents, in the order of the document, each address once.
    pub entries: Vec<DirectoryEntry>,
    /// Number of links that were left out: invalid addresses, links from TLS to clear text or into a private
    /// network, and those beyond [`MOST`].
    pub left_out: usize,
}

/// Agent in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// Address of the agent's card.
    pub url: Url,
    /// Title in the directory, as sent: not safe for display.
    pub title: Option<String>,
}

/// Returns true for the address of a directory.
#[must_use]
pub fn is_directory(address: &str) -> bool {
    based(address).is_ok_and(|url| url.path().ends_with(DIRECTORY_PATH))
}

/// Fetches the directory at `address`: a base address, or that of the document itself.
///
/// # Errors
/// The failure to get a directory.
pub async fn fetch(
    transport: &HttpTransport,
    address: &str,
) -> Result<AgentDirectory, CallFailure> {
    let mut url = based(address)?;
    if !url.path().ends_with(DIRECTORY_PATH) {
        let path = format!("{}{DIRECTORY_PATH}", url.path().trim_end_matches('/'));
        url.set_path(&path);
        url.set_query(None);
    }
    let response = transport.get(&url, None).await?;
    read(url, response)
}

/// Reads the directory in an answer.
fn read(url: Url, response: Response) -> Result<AgentDirectory, CallFailure> {
    if !response.is_success() {
        return Err(response.refused());
    }
    let read = AgentDirectory::read(url, &response.body);
    read.map_err(|defect| CallFailure::garbled(defect, response.kept()))
}

impl AgentDirectory {
    /// Reads a directory that was fetched from this address.
    ///
    /// # Errors
    /// The reason why it is no directory.
    pub fn read(url: Url, body: &[u8]) -> Result<Self, Defect> {
        let bounds = ReadLimits { depth: MAX_DEPTH, containers: 4 * MOST, reserved: true };
        let text = decoded(body).ok_or(Defect::NotUtf8)?;
        let (value, _) = document(text, bounds).map_err(|_| Defect::NotJson)?;
        let (entries, left_out) = entries(&url, &value).map_err(Defect::NotADirectory)?;
        Ok(Self { url, entries, left_out })
    }
}

fn entries(url: &Url, value: &Value) -> Result<(Vec<DirectoryEntry>, usize), &'static str> {
    let sets = value.get("linkset").and_then(Value::as_array);
    let sets = sets.ok_or("it has no list linkset")?;
    let items = sets.iter().filter_map(|set| set.get("item")?.as_array()).flatten();
    let mut found = Vec::new();
    let mut seen = std::collections::HashSet::new();
    let mut left_out = 0;
    for item in items {
        let href = item.get("href").and_then(Value::as_str).unwrap_or_default();
        // Links may lead to other kinds of descriptions than cards.
        let link = url.join(href).ok().and_then(|to| check_link(url, to.as_str()).ok());
        match link.filter(|_| found.len() < MOST && !href.is_empty()) {
            Some(to) => {
                // A repeated address is neither another agent nor a link that was left out.
                if seen.insert(to.clone()) {
                    let title = item.get("title").and_then(Value::as_str).map(str::to_owned);
                    found.push(DirectoryEntry { url: to, title });
                }
            }
            None => left_out += 1,
        }
    }
    Ok((found, left_out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{CannedReply, Fake, transport};

    #[test]
    fn only_links_that_may_be_followed_are_taken_once() {
        let from = Url::parse("https://all.example/.well-known/api-catalog").unwrap();
        let set = r#"{"linkset": [{"anchor": "/", "item": [
            {"href": "https://a.example/.well-known/agent-card.json", "title": "A"},
            {"href": "https://a.example/.well-known/agent-card.json"},
            {"href": "/b/.well-known/agent-card.json"},
            {"href": "http://c.example/.well-known/agent-card.json"},
            {"href": "https://10.0.0.1/.well-known/agent-card.json"},
            {"href": "file:///etc/passwd"}, {"href": 1}, {}, 7]},
            {"anchor": "/other", "service-desc": [{"href": "https://d.example"}]}, "x"]}"#;
        let value = tradepost_document::json::from_str(set).unwrap();
        let (found, left_out) = entries(&from, &value).unwrap();
        let found: Vec<_> =
            found.iter().map(|entry| (entry.url.as_str(), entry.title.as_deref())).collect();
        assert_eq!(
            found,
            [
                ("https://a.example/.well-known/agent-card.json", Some("A")),
                ("https://all.example/b/.well-known/agent-card.json", None),
            ]
        );
        assert_eq!(left_out, 6);
    }

    #[test]
    fn what_is_no_directory_is_said_to_be_none() {
        for (body, expected) in [
            ("", "the answer is not valid JSON"),
            ("[]", "the answer is no directory of agents: it has no list linkset"),
            ("{\"linkset\": 1}", "the answer is no directory of agents: it has no list linkset"),
        ] {
            let fake = Fake::start(vec![CannedReply::http(200, &[], body)]);
            let failure = fake.run(fetch(&transport(), &fake.url)).unwrap_err();
            assert_eq!(failure.to_string(), expected);
            assert!(fake.requests()[0].starts_with("GET /.well-known/api-catalog HTTP/1.1"));
        }
        assert!(is_directory("https://a.example/.well-known/api-catalog"));
        assert!(!is_directory("https://a.example") && !is_directory("https://"));
    }
}
