//! Retries of requests to dealers and sellers, by the recovery of `tradepost_client`, and within the time of the call.

use std::time::Duration;

use tokio::time::Instant;
use tradepost_client::client::random_ids;
use tradepost_client::retry::{Recoverer, RetryLimits, Sizes, SystemClock};

/// Maximum number of attempts for one request.
const ATTEMPTS: u32 = 3;

/// Recovery that all calls of a bridge share: a dealer or seller has one retry budget for all of them.
pub(super) struct Retries(Recoverer<SystemClock>);

impl Retries {
    /// Creates the recovery; `timeout` is the limit for calls without a deadline of their own.
    pub(super) fn new(timeout: Duration) -> Self {
        let limits = RetryLimits { attempts: ATTEMPTS, elapsed: timeout };
        Self(Recoverer::new(SystemClock::new(random_ids()), limits, Sizes::default()))
    }

    /// Returns the retry loop.
    pub(super) fn recoverer(&self) -> &Recoverer<SystemClock> {
        &self.0
    }

    /// Returns the retry limits of a call with this deadline.
    pub(super) fn limits_until(&self, end: Instant) -> RetryLimits {
        let elapsed = end.saturating_duration_since(Instant::now());
        RetryLimits { attempts: ATTEMPTS, elapsed }
    }
}
