//! Downloads of a feed from an address that the operator has configured. The request is conditional, so
//! that an unchanged feed is not sent again. When the last stored feed is half a day old, it is fetched
//! unconditionally, because a listing has to be confirmed once in a business day (AAP 1.1
//! `inventory.search`, `R-IS-04`).

use std::fs::File;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use reqwest::StatusCode;
use reqwest::header::{ETAG, HeaderMap, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED};
use tradepost_document::json::{Value, json};
use tradepost_server::egress::client;
use tradepost_store::FeedState;

use super::sftp;
use super::spool::{FeedNotKept, Spool};
use crate::config::feeds::{FeedAddress, FeedLocation, Pull};

/// Time during which the answer "not changed" is accepted in place of a full download.
const NOT_MODIFIED_PERIOD: SignedDuration = SignedDuration::from_hours(12);

/// Answer of an address.
#[derive(Debug)]
pub enum PullAnswer {
    /// The feed has not changed since the last download.
    Unchanged,
    /// A feed, and the mark for the next conditional request.
    Feed(File, String),
}

/// Downloads the feed.
///
/// # Errors
/// The reason why there is no answer, without the address.
pub async fn fetch(pull: &Pull, state: &FeedState, now: Timestamp) -> Result<PullAnswer, String> {
    let is_confirmed =
        state.taken_at.is_some_and(|at| now.duration_since(at) < NOT_MODIFIED_PERIOD);
    let known = state.mark.as_deref().filter(|_| is_confirmed);
    let known = known.and_then(|mark| tradepost_document::json::from_str::<Value>(mark).ok());
    let known = known.as_ref();
    match &pull.place {
        FeedLocation::Web(web) => ask(web, pull.timeout, pull.max_bytes, known).await,
        FeedLocation::Sftp(place) => sftp::fetch(place, pull.timeout, pull.max_bytes, known).await,
    }
}

async fn ask(
    web: &FeedAddress,
    timeout: Duration,
    most: u64,
    known: Option<&Value>,
) -> Result<PullAnswer, String> {
    let secure = web.url.starts_with("https://");
    let client = client::without_guard(timeout, secure).map_err(|fault| fault.chain())?;
    let mut request = client.get(&web.url);
    if let Some(secret) = &web.bearer {
        request = request.bearer_auth(secret.read().map_err(|why| format!("bearer: {why}"))?);
    }
    if let Some((user, password)) = &web.login {
        let password = password.read().map_err(|why| format!("password: {why}"))?;
        request = request.basic_auth(user, Some(password));
    }
    for (name, key) in [(IF_NONE_MATCH, "etag"), (IF_MODIFIED_SINCE, "last_modified")] {
        let value = known.and_then(|known| known.get(key)?.as_str());
        if let Some(value) = value {
            request = request.header(name, value);
        }
    }
    // The message omits the address, which may contain a secret.
    let failed = |error: reqwest::Error| format!("it cannot be fetched: {}", error.without_url());
    let mut response = request.send().await.map_err(failed)?;
    match response.status() {
        StatusCode::NOT_MODIFIED => return Ok(PullAnswer::Unchanged),
        // A redirect would take the secret of this request to an address that is not configured.
        status if status.is_redirection() => {
            return Err(format!("the answer has the status {status}; redirects are not followed"));
        }
        status if !status.is_success() => {
            return Err(format!("the answer has the status {status}"));
        }
        _ => {}
    }
    let mark = mark(response.headers());
    let unkept = |unkept: FeedNotKept| match unkept {
        FeedNotKept::TooLarge(most) => format!("it has more than the {most} bytes of max_bytes"),
        FeedNotKept::Disk(error) => format!("it cannot be kept: {error}"),
    };
    let mut spool = Spool::new(most).map_err(unkept)?;
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        spool.take(&chunk).map_err(unkept)?;
    }
    Ok(PullAnswer::Feed(spool.finish().map_err(unkept)?, mark))
}

fn mark(headers: &HeaderMap) -> String {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    json!({"etag": text(ETAG), "last_modified": text(LAST_MODIFIED)}).to_string()
}
