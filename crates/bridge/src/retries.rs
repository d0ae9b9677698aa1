//! Sends requests to dealers and sellers again where that helps, by the recovery of the buyer, and never for longer
//! than a call may take.

use std::time::Duration;

use tokio::time::Instant;
use tradepost_buyer::client::random_ids;
use tradepost_buyer::retry::{Machine, Recoverer, RetryLimits, Sizes};

/// How often one request is sent at most.
const ATTEMPTS: u32 = 3;

/// The recovery that all calls of a bridge share: a dealer or seller has one budget of retries over all of them.
pub(super) struct Retries(Recoverer<Machine>);

impl Retries {
    /// `patience` is how long a call may take that has no deadline of its own.
    pub(super) fn new(patience: Duration) -> Self {
        let limits = RetryLimits { attempts: ATTEMPTS, elapsed: patience };
        Self(Recoverer::new(Machine::new(random_ids()), limits, Sizes::default()))
    }

    /// The loop that sends.
    pub(super) fn recoverer(&self) -> &Recoverer<Machine> {
        &self.0
    }

    /// What a call may cost that has to end then.
    pub(super) fn limits_until(&self, end: Instant) -> RetryLimits {
        let elapsed = end.saturating_duration_since(Instant::now());
        RetryLimits { attempts: ATTEMPTS, elapsed }
    }
}
