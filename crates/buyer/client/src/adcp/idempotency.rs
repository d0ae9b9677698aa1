//! Seller's promise about requests repeated with the same key (`adcp.idempotency` of its capabilities). A
//! seller that promises nothing may carry out a request twice.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tradepost_document::json::{Map, Value};

use super::AdcpClient;
use super::authorization::REFRESH;
use crate::failure::CallFailure;
use crate::retry::RetryClock;

/// Longest time for which a request may be under way; the seller's window counts as over that much earlier.
const MARGIN: Duration = Duration::from_secs(60);

/// Seller's promise about repeated keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idempotency {
    /// Time for which a key is remembered: a request repeated with it is not carried out twice.
    Within(Duration),
    /// No promise: the seller does not support keys, or does not say.
    Unpromised,
}

impl Idempotency {
    /// Reads the promise in the capabilities of a seller.
    #[must_use]
    pub fn read(capabilities: &Value) -> Self {
        let member = |name: &str| capabilities.get("adcp")?.get("idempotency")?.get(name);
        match (member("supported"), member("replay_ttl_seconds").and_then(Value::as_u64)) {
            (Some(Value::Bool(true)), Some(seconds)) => Self::Within(Duration::from_secs(seconds)),
            _ => Self::Unpromised,
        }
    }

    /// Returns the time left in which a request may be sent again, given the time since it was first sent.
    #[must_use]
    pub fn left(self, age: Duration) -> Option<Duration> {
        match self {
            Self::Within(window) => window.checked_sub(age.saturating_add(MARGIN)),
            Self::Unpromised => None,
        }
    }

    /// Returns true when a request first sent this long ago may be sent again.
    #[must_use]
    pub fn permits(self, age: Duration) -> bool {
        self.left(age).is_some()
    }
}

/// Promise that was read last, with the moment.
#[derive(Debug, Default)]
pub(super) struct KnownPromise(Mutex<Option<(Duration, Idempotency)>>);

impl AdcpClient {
    /// Returns the seller's promise: the one read less than [`REFRESH`] ago by this clock, else read again.
    ///
    /// # Errors
    /// When the seller cannot be asked at the moment.
    pub async fn idempotency<W: RetryClock>(&self, clock: &W) -> Result<Idempotency, CallFailure> {
        // The moment before the request, so that the promise is never taken for newer than it is.
        let now = clock.now();
        // Copied, so that the lock is not held during the request. Two concurrent callers may both ask.
        let known = *self.idempotency.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((read, promise)) = known
            && now.saturating_sub(read) < REFRESH
        {
            return Ok(promise);
        }
        let promise = match self.send("get_adcp_capabilities", Map::new()).await {
            Ok(answered) => Idempotency::read(&answered.payload),
            // A seller that refuses to send its capabilities has promised nothing.
            Err(CallFailure::Refused(refused)) if !refused.is_retryable() => {
                Idempotency::Unpromised
            }
            Err(failure) => return Err(failure),
        };
        *self.idempotency.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, promise));
        Ok(promise)
    }
}

#[cfg(test)]
mod tests {
    use tradepost_document::json::json;

    use super::*;

    #[test]
    fn nothing_is_assumed_and_a_window_ends_early() {
        let read = |terms: Value| Idempotency::read(&json!({"adcp": {"idempotency": terms}}));
        let hour = read(json!({"supported": true, "replay_ttl_seconds": 3600}));
        assert_eq!(hour, Idempotency::Within(Duration::from_secs(3600)));
        assert!(hour.permits(Duration::from_secs(3540)));
        assert!(!hour.permits(Duration::from_secs(3541)) && !hour.permits(Duration::MAX));
        for silent in [
            json!({"supported": false, "replay_ttl_seconds": 3600}),
            json!({"supported": "true", "replay_ttl_seconds": 3600}),
            json!({"supported": true}),
            json!({"supported": true, "replay_ttl_seconds": -1}),
            json!({"supported": true, "replay_ttl_seconds": "3600"}),
            json!(null),
        ] {
            assert_eq!(read(silent.clone()), Idempotency::Unpromised, "{silent}");
        }
        assert_eq!(Idempotency::read(&json!([])), Idempotency::Unpromised);
        assert!(!Idempotency::Unpromised.permits(Duration::ZERO));
    }
}
