//! Retry schedule as a pure function, without clock, sleep or random source.

use std::time::Duration;

use tradepost_document::backoff::{Backoff, drawn};

/// Schedule of retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetrySchedule {
    /// Number of consecutive failures after which the webhook is given up; at least one.
    pub attempts: u32,
    /// Maximum pause after the first failure. It doubles with each one.
    pub first: Duration,
    /// Maximum pause, also when the receiver asks for a longer one.
    pub longest: Duration,
}

impl Default for RetrySchedule {
    /// Twelve attempts within about two hours.
    fn default() -> Self {
        Self { attempts: 12, first: Duration::from_secs(2), longest: Duration::from_secs(60 * 60) }
    }
}

/// Decision after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryDecision {
    /// Retry after this pause.
    Again(Duration),
    /// Give up.
    GiveUp,
}

impl RetrySchedule {
    /// Decides after the `failures`th consecutive failure. The pause is random between zero and a
    /// maximum that doubles with each failure (full jitter, with `random` from 0 to 1), so that a
    /// recovering receiver does not get all retries at once; at least what the receiver asks for.
    #[must_use]
    pub fn advise(
        self,
        failures: u32,
        retry_after: Option<Duration>,
        random: f64,
    ) -> RetryDecision {
        if failures >= self.attempts {
            return RetryDecision::GiveUp;
        }
        let backoff = Backoff { first: self.first, longest: self.longest };
        let most = backoff.pause(failures.saturating_sub(1));
        let pause = drawn(Duration::ZERO, most, random);
        RetryDecision::Again(pause.max(retry_after.unwrap_or_default()).min(self.longest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_03_pauses_double_up_to_a_bound_and_end() {
        let schedule = RetrySchedule { attempts: 8, ..RetrySchedule::default() };
        let pauses = |random: f64, retry_after: Option<u64>| -> Vec<Option<u64>> {
            let retry_after = retry_after.map(Duration::from_secs);
            (1..=8)
                .map(|failures| match schedule.advise(failures, retry_after, random) {
                    RetryDecision::Again(pause) => Some(u64::try_from(pause.as_millis()).unwrap()),
                    RetryDecision::GiveUp => None,
                })
                .collect()
        };
        let seconds = |all: [u64; 7]| all.map(|n| Some(n * 1000)).into_iter().chain([None]);
        assert!(pauses(1.0, None).into_iter().eq(seconds([2, 4, 8, 16, 32, 64, 128])));
        assert!(pauses(0.5, None).into_iter().eq(seconds([1, 2, 4, 8, 16, 32, 64])));
        assert!(pauses(0.0, None).into_iter().eq(seconds([0; 7])));
        assert!(pauses(1.0, Some(20)).into_iter().eq(seconds([20, 20, 20, 20, 32, 64, 128])));
        assert!(pauses(0.0, Some(1_000_000)).into_iter().eq(seconds([3600; 7])), "clamped");
        let endless = RetrySchedule { attempts: u32::MAX, ..schedule };
        let longest = RetryDecision::Again(Duration::from_secs(3600));
        assert_eq!(endless.advise(4_000_000_000, None, 1.0), longest);
    }
}
