//! The ad server behind a publisher, which knows what is sold out. It is asked over HTTP, at most
//! as often as its answers age; while it does not answer it is left alone for a while, longer each
//! time, and what it said before is served as what it is. None of its own words go further.

use std::time::Duration;

use jiff::SignedDuration;
use reqwest::{Client, StatusCode, header};
use serde::Deserialize;
use tokio::sync::Mutex;
use tradepost_publisher::world::{Stale, Supply, Unavailable};
use tradepost_server::clock::Clock;
use tradepost_server::egress::client;
use tradepost_server::fault::InternalError;
use tradepost_server::traces;
use tradepost_wire::backoff::Backoff;
use tradepost_wire::http::trace::TRACEPARENT;

use crate::config;

/// What buyers are told it is called.
const NAME: &str = "ad-server";

/// What an operator has to look at when the ad server refuses the request itself.
const SETTING: &str = "publishers.upstream.url";

/// The largest answer, in bytes.
const MAX_ANSWER: usize = 1024 * 1024;

/// For how long it is left alone.
const PAUSES: Backoff = Backoff { first: Duration::from_secs(1), longest: Duration::from_mins(1) };

/// An ad server.
#[derive(Debug)]
pub struct AdServer {
    settings: config::UpstreamConfig,
    client: Client,
    clock: Clock,
    // Whoever comes while it is being asked waits, and has the same answer.
    state: Mutex<AdServerState>,
}

/// What is known of it. When is by the clock's running.
#[derive(Debug, Default)]
struct AdServerState {
    /// What it said last, and when.
    known: Option<(Vec<String>, Duration)>,
    /// How often in a row it was asked in vain.
    failures: u32,
    /// Until when it is left alone.
    paused_until: Option<Duration>,
    /// Why it was asked in vain the last time.
    trouble: Option<AdServerError>,
}

/// Why it was asked in vain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AdServerError {
    /// It does not answer, or not in time, or with something that is no answer.
    Silent,
    /// It refuses the request itself: what is set up here does not fit it.
    Refused,
}

/// What it answers: `{"sold_out": ["product_id", …]}`; other members are its own.
#[derive(Debug, Deserialize)]
struct AdServerAnswer {
    sold_out: Vec<String>,
}

impl AdServer {
    /// The ad server of these settings.
    ///
    /// # Errors
    /// When this machine has no certificates to trust.
    pub fn new(settings: config::UpstreamConfig, clock: &Clock) -> Result<Self, InternalError> {
        let timeout = Duration::try_from(settings.timeout).unwrap_or(Duration::from_secs(1));
        let client = client::unguarded(timeout, settings.url.starts_with("https://"))?;
        Ok(Self { settings, client, clock: clock.clone(), state: Mutex::default() })
    }

    /// What is on offer.
    ///
    /// # Errors
    /// When it cannot be asked and nothing that it said before can still be used.
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

    /// What it said before, when that can still be used.
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
                // Never early: a part of a second counts as a whole one.
                let left = until.saturating_sub(now) + Duration::from_millis(999);
                let seconds = u32::try_from(left.as_secs()).unwrap_or(1).max(1);
                Err(Unavailable::Down { retry_after: Some(seconds) })
            }
        }
    }

    /// Asks it. The cause of a failure is for the log.
    async fn ask(&self) -> Result<Vec<String>, (AdServerError, String)> {
        // Without the address, in which there may be a secret.
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
        let answer: AdServerAnswer = tradepost_wire::json::from_slice(&body).map_err(|_| {
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

/// For how long it is left alone after so many failures in a row: a second, then twice as long each
/// time.
fn pause(failures: u32) -> Duration {
    PAUSES.pause(failures.saturating_sub(1))
}

#[cfg(test)]
mod tests;
