//! How the time of a call is shared among the dealers that it asks.

use std::time::Duration;

/// Maximum number of dealers that are asked at the same time.
pub const CONCURRENT_CALLS: usize = 16;

/// Minimum number of shares into which the time is divided when several are asked.
const MIN_SHARES: u32 = 2;

/// Maximum number of shares: a smaller one would be too short for a healthy dealer.
const MAX_SHARES: u32 = 4;

/// Returns the time for each of `count` dealers when the whole call may take `time`. A single one has all of it; of
/// several each has half, or less when they need more than two rounds.
#[must_use]
pub fn share_of(time: Duration, count: usize) -> Duration {
    if count <= 1 {
        return time;
    }
    let rounds = u32::try_from(count.div_ceil(CONCURRENT_CALLS)).unwrap_or(u32::MAX);
    time / rounds.clamp(MIN_SHARES, MAX_SHARES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_shorter_than_the_call_unless_there_is_one() {
        let seconds = |count| share_of(Duration::from_secs(20), count).as_millis();
        let shares = [1, 2, 16, 32, 33, 48, 49, 200].map(seconds);
        assert_eq!(shares, [20_000, 10_000, 10_000, 10_000, 6_666, 6_666, 5_000, 5_000]);
    }
}
