//! Fetches the file of a domain, as buyers do: from public addresses only, without redirects, and bounded.

use tradepost_client::signed::signers::{DocumentUnread, MAX_DOCUMENT, PublishedKeys};
use tradepost_document::json::{self, Value};

use super::PATH;

/// A file that was fetched.
#[derive(Debug, Clone)]
pub struct FetchedFile {
    /// Address at which it was found, also when the domain's own file refers to it.
    pub url: String,
    /// The file.
    pub file: Value,
}

/// Reason why a file could not be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileUnread {
    /// Description with the address: a lower-case fragment without a full stop.
    pub message: String,
    /// What to do about it.
    pub hint: &'static str,
}

/// Returns the address of a domain's file. An address with http or https is taken as it is.
#[must_use]
pub fn address(domain: &str) -> String {
    let is_whole = domain.starts_with("https://") || domain.starts_with("http://");
    if !is_whole {
        return format!("https://{domain}{PATH}");
    }
    let has_path =
        domain.split_once("://").is_some_and(|(_, rest)| rest.trim_end_matches('/').contains('/'));
    if has_path { domain.to_owned() } else { format!("{}{PATH}", domain.trim_end_matches('/')) }
}

/// Fetches a file, and the one that it refers to.
///
/// # Errors
/// Fails when one of them is not there, cannot be read, or is no JSON.
pub async fn fetch(web: &dyn PublishedKeys, url: &str) -> Result<FetchedFile, FileUnread> {
    let file = one(web, url).await?;
    let Some(other) = file.get("authoritative_location").and_then(Value::as_str) else {
        return Ok(FetchedFile { url: url.to_owned(), file });
    };
    if !other.starts_with("https://") {
        // The check of its form says so.
        return Ok(FetchedFile { url: url.to_owned(), file });
    }
    let other = other.to_owned();
    let file = one(web, &other).await?;
    Ok(FetchedFile { url: other, file })
}

async fn one(web: &dyn PublishedKeys, url: &str) -> Result<Value, FileUnread> {
    let unread =
        |what: &str, hint: &'static str| FileUnread { message: format!("{url} {what}"), hint };
    let bytes = web.get(url).await.map_err(|why| match why {
        DocumentUnread::Absent => unread(
            "does not exist",
            "write it with `tradepost publisher adagents write`, and publish it there",
        ),
        DocumentUnread::Forbidden => unread(
            "is at no public address",
            "the file has to be at a public https address of the domain",
        ),
        DocumentUnread::Unreached | DocumentUnread::Malformed => unread(
            "cannot be read",
            "it has to answer within five seconds, without a redirect, with at most 256 KiB",
        ),
    })?;
    debug_assert!(bytes.len() <= MAX_DOCUMENT, "the client reads no more");
    json::from_slice(&bytes).map_err(|_| {
        unread("is no JSON", "publish what `tradepost publisher adagents write` prints")
    })
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn a_domain_and_an_address_lead_to_the_file() {
        for (given, expected) in [
            ("gazette.example", "https://gazette.example/.well-known/adagents.json"),
            ("http://127.0.0.1:8000", "http://127.0.0.1:8000/.well-known/adagents.json"),
            ("https://cdn.example/", "https://cdn.example/.well-known/adagents.json"),
            ("https://cdn.example/a.json", "https://cdn.example/a.json"),
        ] {
            assert_eq!(address(given), expected, "{given}");
        }
    }
}
