//! When to try again, as a pure function: the clock, the wait and the dice are somebody else's.

use std::time::Duration;

use tradepost_wire::backoff::{Backoff, drawn};

/// When attempts are repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// How many attempts in a row may fail before the webhook is given up; at least one.
    pub attempts: u32,
    /// The longest pause after the first failure. It doubles with each one.
    pub first: Duration,
    /// The longest pause at all, also when the receiver asks for a longer one.
    pub longest: Duration,
}

impl Default for Schedule {
    /// Twelve attempts within some two hours.
    fn default() -> Self {
        Self { attempts: 12, first: Duration::from_secs(2), longest: Duration::from_secs(60 * 60) }
    }
}

/// What to do after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// Try again after this pause.
    Again(Duration),
    /// Leave it.
    GiveUp,
}

impl Schedule {
    /// What to do after the `failures`th failure in a row. The pause is anything up to twice the
    /// one before (full jitter, by `random` from 0 to 1), so that receivers that come back are not
    /// met by everybody at once; at least what the receiver asks for.
    #[must_use]
    pub fn advise(self, failures: u32, retry_after: Option<Duration>, random: f64) -> Advice {
        if failures >= self.attempts {
            return Advice::GiveUp;
        }
        let backoff = Backoff { first: self.first, longest: self.longest };
        let most = backoff.pause(failures.saturating_sub(1));
        let pause = drawn(Duration::ZERO, most, random);
        Advice::Again(pause.max(retry_after.unwrap_or_default()).min(self.longest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_03_pauses_double_up_to_a_bound_and_end() {
        let schedule = Schedule { attempts: 8, ..Schedule::default() };
        let pauses = |random: f64, retry_after: Option<u64>| -> Vec<Option<u64>> {
            let retry_after = retry_after.map(Duration::from_secs);
            (1..=8)
                .map(|failures| match schedule.advise(failures, retry_after, random) {
                    Advice::Again(pause) => Some(u64::try_from(pause.as_millis()).unwrap()),
                    Advice::GiveUp => None,
                })
                .collect()
        };
        let seconds = |all: [u64; 7]| all.map(|n| Some(n * 1000)).into_iter().chain([None]);
        assert!(pauses(1.0, None).into_iter().eq(seconds([2, 4, 8, 16, 32, 64, 128])));
        assert!(pauses(0.5, None).into_iter().eq(seconds([1, 2, 4, 8, 16, 32, 64])));
        assert!(pauses(0.0, None).into_iter().eq(seconds([0; 7])));
        assert!(pauses(1.0, Some(20)).into_iter().eq(seconds([20, 20, 20, 20, 32, 64, 128])));
        assert!(pauses(0.0, Some(1_000_000)).into_iter().eq(seconds([3600; 7])), "clamped");
        let endless = Schedule { attempts: u32::MAX, ..schedule };
        let longest = Advice::Again(Duration::from_secs(3600));
        assert_eq!(endless.advise(4_000_000_000, None, 1.0), longest);
    }
}
