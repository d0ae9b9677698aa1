//! Client of the endpoint that says which products are sold out (`publishers.upstream`). Answers are
//! cached; after a failure it waits with exponential backoff and serves the last answer as stale.
//! The endpoint's own texts never reach a buyer.

use std::time::Duration;

use jiff::SignedDuration;
use reqwest::{Client, StatusCode, header};
use serde::Deserialize;
use tokio::sync::Mutex;
use tradepost_document::backoff::Backoff;
use tradepost_document::http::trace::TRACEPARENT;
use tradepost_document::stale::{StaleTerms, StaleValue};
use tradepost_publisher::services::{Stale, Supply, Unavailable};
use tradepost_server::clock::Clock;
use tradepost_server::egress::client;
use tradepost_server::fault::InternalError;
use tradepost_server::traces;

use crate::config;

/// Name of the ad server towards buyers.
const NAME: &str = "ad-server";

/// Setting that the operator has to check when the ad server refuses the request itself.
const SETTING: &str = "publishers.upstream.url";

/// Maximum response size in bytes.
const MAX_ANSWER: usize = 1024 * 1024;

/// Backoff after failures: a second, then twice as long each time.
const FAILURE_BACKOFF: Backoff =
    Backoff { first: Duration::from_secs(1), longest: Duration::from_mins(1) };

/// Client of an ad server.
#[derive(Debug)]
pub struct SoldOutClient {
    settings: config::UpstreamConfig,
    client: Client,
    clock: Clock,
    // Callers during a request wait, and get its response.
    known: Mutex<SoldOut>,
}

/// Last response and failures. Times are of the monotonic clock.
type SoldOut = StaleValue<Vec<String>, SoldOutError>;

/// Kind of a failed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SoldOutError {
    /// No usable response: none in time, an unexpected status, or an unreadable one.
    NoAnswer,
    /// Request refused: the settings here do not match the ad server.
    Refused,
}

/// Response: `{"sold_out": ["product_id", …]}`; other members are ignored.
#[derive(Debug, Deserialize)]
struct SoldOutAnswer {
    sold_out: Vec<String>,
}

impl SoldOutClient {
    /// Creates a client with these settings.
    ///
    /// # Errors
    /// Fails when the machine's certificates cannot be read.
    pub fn new(settings: config::UpstreamConfig, clock: &Clock) -> Result<Self, InternalError> {
        let timeout = Duration::try_from(settings.timeout).unwrap_or(Duration::from_secs(1));
        let client = client::without_guard(timeout, settings.url.starts_with("https://"))?;
        let terms = StaleTerms {
            fresh_for: span(settings.freshness),
            usable_for: span(settings.keep),
            pace: Duration::ZERO,
            waits: FAILURE_BACKOFF,
        };
        let known = Mutex::new(StaleValue::new(terms));
        Ok(Self { settings, client, clock: clock.clone(), known })
    }

    /// Returns the sold-out products.
    ///
    /// # Errors
    /// Fails when it cannot be reached and no earlier response is usable.
    pub async fn supply(&self) -> Result<Supply, Unavailable> {
        let mut known = self.known.lock().await;
        let now = self.clock.elapsed();
        if let Some(sold_out) = known.fresh(now) {
            return Ok(supply(sold_out, age(&known, now), None));
        }
        if known.may_ask(now) {
            match self.ask().await {
                Ok(sold_out) => {
                    let fresh = supply(&sold_out, 0, None);
                    known.succeeded(self.clock.elapsed(), sold_out);
                    return Ok(fresh);
                }
                Err((error, cause)) => {
                    tracing::warn!(cause, "the ad server could not be asked");
                    known.failed(self.clock.elapsed(), error);
                }
            }
        }
        self.earlier(&known)
    }

    /// Returns the last response, when it is still usable.
    fn earlier(&self, known: &SoldOut) -> Result<Supply, Unavailable> {
        let now = self.clock.elapsed();
        if let Some(sold_out) = known.usable(now) {
            let target = self.settings.freshness.as_secs().unsigned_abs();
            let stale = Stale { upstream: NAME.to_owned(), freshness_target_seconds: target };
            return Ok(supply(sold_out, age(known, now), Some(stale)));
        }
        match known.breaker().error() {
            Some(SoldOutError::Refused) => Err(Unavailable::Misconfigured { setting: SETTING }),
            Some(SoldOutError::NoAnswer) | None => {
                let wait = known.breaker().wait(now).unwrap_or_default();
                Err(Unavailable::Down { retry_after: Some(wait) })
            }
        }
    }

    /// Requests the sold-out products. The cause of a failure is for the log.
    async fn ask(&self) -> Result<Vec<String>, (SoldOutError, String)> {
        // Without the address, which may contain a secret.
        let no_answer =
            |error: reqwest::Error| (SoldOutError::NoAnswer, error.without_url().to_string());
        let mut request =
            self.client.get(&self.settings.url).header(header::ACCEPT, "application/json");
        if let Some(trace) = traces::current() {
            request = request.header(TRACEPARENT, trace.to_string());
        }
        let mut response = request.send().await.map_err(no_answer)?;
        match response.status() {
            StatusCode::OK => {}
            status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::NOT_FOUND) => {
                return Err((SoldOutError::Refused, format!("it answered {status}")));
            }
            status => return Err((SoldOutError::NoAnswer, format!("it answered {status}"))),
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(no_answer)? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_ANSWER {
                return Err((SoldOutError::NoAnswer, "its answer is too large".to_owned()));
            }
        }
        let answer: SoldOutAnswer = tradepost_document::json::from_slice(&body).map_err(|_| {
            (SoldOutError::NoAnswer, "its answer is not in the agreed form".to_owned())
        })?;
        Ok(answer.sold_out)
    }
}

fn supply(sold_out: &[String], age_seconds: u64, stale: Option<Stale>) -> Supply {
    Supply { sold_out: sold_out.to_vec(), age_seconds, stale }
}

/// Returns the age of the last response in seconds.
fn age(known: &SoldOut, now: Duration) -> u64 {
    known.age(now).unwrap_or_default().as_secs()
}

fn span(setting: SignedDuration) -> Duration {
    Duration::try_from(setting).unwrap_or_default()
}

#[cfg(test)]
mod tests;
