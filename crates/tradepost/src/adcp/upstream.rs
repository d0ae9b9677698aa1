//! Ad server behind a publisher, which knows what is sold out. It is requested over HTTP at most as
//! often as its responses expire. After a failure it is left alone with exponential backoff, and
//! the last response is served as stale. Its own texts are never passed on.

use std::time::Duration;

use jiff::SignedDuration;
use reqwest::{Client, StatusCode, header};
use serde::Deserialize;
use tokio::sync::Mutex;
use tradepost_document::backoff::Backoff;
use tradepost_document::http::trace::TRACEPARENT;
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

/// Backoff after failures.
const PAUSES: Backoff = Backoff { first: Duration::from_secs(1), longest: Duration::from_mins(1) };

/// Client of an ad server.
#[derive(Debug)]
pub struct AdServer {
    settings: config::UpstreamConfig,
    client: Client,
    clock: Clock,
    // Callers during a request wait, and get its response.
    state: Mutex<AdServerState>,
}

/// Last response and failures. Times are of the monotonic clock.
#[derive(Debug, Default)]
struct AdServerState {
    /// Last response and its time.
    known: Option<(Vec<String>, Duration)>,
    /// Number of consecutive failures.
    failures: u32,
    /// End of the backoff.
    paused_until: Option<Duration>,
    /// Last failure.
    trouble: Option<AdServerError>,
}

/// Kind of a failed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AdServerError {
    /// No response, or none in time, or an unreadable one.
    Silent,
    /// Request refused: the settings here do not match the ad server.
    Refused,
}

/// Response: `{"sold_out": ["product_id", …]}`; other members are ignored.
#[derive(Debug, Deserialize)]
struct AdServerAnswer {
    sold_out: Vec<String>,
}

impl AdServer {
    /// Creates a client with these settings.
    ///
    /// # Errors
    /// Fails when this machine has no root certificates.
    pub fn new(settings: config::UpstreamConfig, clock: &Clock) -> Result<Self, InternalError> {
        let timeout = Duration::try_from(settings.timeout).unwrap_or(Duration::from_secs(1));
        let client = client::unguarded(timeout, settings.url.starts_with("https://"))?;
        Ok(Self { settings, client, clock: clock.clone(), state: Mutex::default() })
    }

    /// Returns the sold-out products.
    ///
    /// # Errors
    /// Fails when it cannot be reached and no earlier response is usable.
    pub async fn supply(&self) -> Result<Supply, Unavailable> {
        let mut state = self.state.lock().await;
        let now = self.clock.elapsed();
        if let Some((sold_out, at)) = &state.known
            && now.saturating_sub(*at) < span(self.settings.freshness)
        {
            return Ok(supply(sold_out, age(*at, now), None));
        }
        if state.paused_until.is_none_or(|until| until <= now) {
            match self.ask().await {
                Ok(sold_out) => {
                    let fresh = supply(&sold_out, 0, None);
                    let known = Some((sold_out, self.clock.elapsed()));
                    *state = AdServerState { known, ..AdServerState::default() };
                    return Ok(fresh);
                }
                Err((trouble, cause)) => {
                    tracing::warn!(cause, "the ad server could not be asked");
                    state.failures = state.failures.saturating_add(1);
                    state.trouble = Some(trouble);
                    let pause = pause(state.failures);
                    state.paused_until = Some(self.clock.elapsed().saturating_add(pause));
                }
            }
        }
        self.earlier(&state)
    }

    /// Returns the last response, when it is still usable.
    fn earlier(&self, state: &AdServerState) -> Result<Supply, Unavailable> {
        let now = self.clock.elapsed();
        if let Some((sold_out, at)) = &state.known
            && now.saturating_sub(*at) < span(self.settings.keep)
        {
            let target = self.settings.freshness.as_secs().unsigned_abs();
            let stale = Stale { upstream: NAME.to_owned(), freshness_target_seconds: target };
            return Ok(supply(sold_out, age(*at, now), Some(stale)));
        }
        match state.trouble {
            Some(AdServerError::Refused) => Err(Unavailable::Misconfigured { setting: SETTING }),
            Some(AdServerError::Silent) | None => {
                let until = state.paused_until.unwrap_or(now);
                Err(Unavailable::Down { retry_after: Some(until.saturating_sub(now)) })
            }
        }
    }

    /// Requests the sold-out products. The cause of a failure is for the log.
    async fn ask(&self) -> Result<Vec<String>, (AdServerError, String)> {
        // Without the address, which may contain a secret.
        let silent =
            |error: reqwest::Error| (AdServerError::Silent, error.without_url().to_string());
        let mut request =
            self.client.get(&self.settings.url).header(header::ACCEPT, "application/json");
        if let Some(trace) = traces::current() {
            request = request.header(TRACEPARENT, trace.to_string());
        }
        let mut response = request.send().await.map_err(silent)?;
        match response.status() {
            StatusCode::OK => {}
            status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::NOT_FOUND) => {
                return Err((AdServerError::Refused, format!("it answered {status}")));
            }
            status => return Err((AdServerError::Silent, format!("it answered {status}"))),
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(silent)? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_ANSWER {
                return Err((AdServerError::Silent, "its answer is too large".to_owned()));
            }
        }
        let answer: AdServerAnswer = tradepost_document::json::from_slice(&body).map_err(|_| {
            (AdServerError::Silent, "its answer is not in the agreed form".to_owned())
        })?;
        Ok(answer.sold_out)
    }
}

fn supply(sold_out: &[String], age_seconds: u64, stale: Option<Stale>) -> Supply {
    Supply { sold_out: sold_out.to_vec(), age_seconds, stale }
}

fn age(at: Duration, now: Duration) -> u64 {
    now.saturating_sub(at).as_secs()
}

fn span(setting: SignedDuration) -> Duration {
    Duration::try_from(setting).unwrap_or_default()
}

/// Returns the backoff after so many consecutive failures: a second, then twice as long each time.
fn pause(failures: u32) -> Duration {
    PAUSES.pause(failures.saturating_sub(1))
}

#[cfg(test)]
mod tests;
