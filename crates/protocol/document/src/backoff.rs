//! Computes pauses between attempts with pure functions; the caller brings the clock, the wait and
//! the random numbers.

use std::time::Duration;

/// A pause that doubles with each attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The first pause.
    pub first: Duration,
    /// The longest pause.
    pub longest: Duration,
}

impl Backoff {
    /// Returns pauses that are all of this length.
    #[must_use]
    pub const fn constant(pause: Duration) -> Self {
        Self { first: pause, longest: pause }
    }

    /// Returns the pause that follows `others` earlier pauses.
    #[must_use]
    pub fn pause(self, others: u32) -> Duration {
        self.first.saturating_mul(2_u32.saturating_pow(others)).min(self.longest)
    }

    /// Returns the pause that follows `last`, or the first pause.
    #[must_use]
    pub fn after(self, last: Option<Duration>) -> Duration {
        last.map_or(self.first, |last| last.saturating_mul(2)).min(self.longest)
    }
}

/// Returns a time between `least` and `most`, by `draw` from 0 to 1, so that callers that failed
/// together do not retry together. A draw outside that range counts as the nearer end.
#[must_use]
pub fn drawn(least: Duration, most: Duration, draw: f64) -> Duration {
    let draw = if draw.is_nan() { 0.0 } else { draw.clamp(0.0, 1.0) };
    least.saturating_add(most.saturating_sub(least).mul_f64(draw))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKOFF: Backoff =
        Backoff { first: Duration::from_secs(3), longest: Duration::from_secs(20) };

    #[test]
    fn pauses_double_up_to_the_longest() {
        for (others, seconds) in [(0, 3), (1, 6), (2, 12), (3, 20), (4, 20), (u32::MAX, 20)] {
            assert_eq!(BACKOFF.pause(others).as_secs(), seconds);
        }
        let mut last = None;
        for others in 0..6 {
            let next = BACKOFF.after(last);
            assert_eq!(next, BACKOFF.pause(others));
            last = Some(next);
        }
        let constant = Backoff::constant(BACKOFF.first);
        assert_eq!([0, 1, u32::MAX].map(|others| constant.pause(others)), [BACKOFF.first; 3]);
    }

    #[test]
    fn a_draw_stays_between_its_ends() {
        let seconds = Duration::from_secs;
        for (draw, expected) in [(0.0, 4), (0.5, 6), (1.0, 8), (-7.0, 4), (7.0, 8), (f64::NAN, 4)] {
            assert_eq!(drawn(seconds(4), seconds(8), draw), seconds(expected), "{draw}");
        }
        assert_eq!(drawn(seconds(8), seconds(4), 1.0), seconds(8));
    }
}
