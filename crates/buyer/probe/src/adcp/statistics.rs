//! Comparison of two samples of latencies by the rank test of Mann and Whitney, which assumes no distribution.

use std::time::Duration;

/// Result of the test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Compared {
    /// Deviation of the ranks from chance, in standard deviations; positive when the first sample is slower.
    pub(super) z: f64,
    /// Medians, in microseconds.
    pub(super) medians: (u64, u64),
}

impl Compared {
    /// Returns true when chance does not explain the difference (1 in 15,000), and it is large enough to be used
    /// across a network: a quarter of the smaller median and a millisecond.
    pub(super) fn differs(&self) -> bool {
        let (first, second) = self.medians;
        let gap = first.abs_diff(second);
        self.z.abs() > 4.0 && gap >= 1000 && gap * 4 >= first.min(second)
    }
}

/// Compares two samples; `None` when one is empty.
pub(super) fn compare(first: &[Duration], second: &[Duration]) -> Option<Compared> {
    let n = first.len() as f64;
    let m = second.len() as f64;
    let medians = (median(first)?, median(second)?);
    // Counts pairs in which the first is slower than the second; ties count half.
    let mut slower = 0.0;
    for a in first {
        for b in second {
            slower += match a.cmp(b) {
                std::cmp::Ordering::Greater => 1.0,
                std::cmp::Ordering::Equal => 0.5,
                std::cmp::Ordering::Less => 0.0,
            };
        }
    }
    let spread = (n * m * (n + m + 1.0) / 12.0 * (1.0 - ties(first, second))).sqrt();
    let z = if spread > 0.0 { (slower - n * m / 2.0) / spread } else { 0.0 };
    Some(Compared { z, medians })
}

/// Returns the reduction of the variance due to ties, as a fraction.
fn ties(first: &[Duration], second: &[Duration]) -> f64 {
    let mut all: Vec<_> = first.iter().chain(second).collect();
    all.sort_unstable();
    let count = all.len() as f64;
    let cubes: f64 = all
        .chunk_by(|a, b| a == b)
        .map(|tied| {
            let tied = tied.len() as f64;
            tied.powi(3) - tied
        })
        .sum();
    let whole = count.powi(3) - count;
    if whole > 0.0 { cubes / whole } else { 0.0 }
}

/// Returns the median in microseconds; the lower one of two.
fn median(sample: &[Duration]) -> Option<u64> {
    let mut sorted = sample.to_vec();
    sorted.sort_unstable();
    let middle = sorted.get(sorted.len().checked_sub(1)? / 2)?;
    Some(u64::try_from(middle.as_micros()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(micros: impl IntoIterator<Item = u64>) -> Vec<Duration> {
        micros.into_iter().map(Duration::from_micros).collect()
    }

    #[test]
    fn samples_are_compared_by_their_ranks() {
        let apart = compare(&sample(11_000..11_020), &sample(1000..1020)).unwrap();
        // U = 400, its mean 200 and its deviation √(400·41/12) = 36.97.
        assert!((apart.z - 5.41).abs() < 0.01, "{apart:?}");
        assert_eq!(apart.medians, (11_009, 1009));
        assert!(apart.differs());
        let same = compare(&sample(1000..1020), &sample(1000..1020)).unwrap();
        assert!(same.z.abs() < f64::EPSILON && !same.differs(), "{same:?}");
        let constant = compare(&sample([5; 9]), &sample([5; 9])).unwrap();
        assert!(constant.z.abs() < f64::EPSILON, "{constant:?}");
        assert_eq!(compare(&[], &sample([1])), None);
    }

    #[test]
    fn what_nobody_could_measure_from_outside_is_no_difference() {
        let tiny = compare(&sample(1500..1520), &sample(1000..1020)).unwrap();
        assert!(tiny.z > 4.0 && !tiny.differs(), "half a millisecond: {tiny:?}");
        let small = compare(&sample(102_000..102_020), &sample(100_000..100_020)).unwrap();
        assert!(small.z > 4.0 && !small.differs(), "two in a hundred: {small:?}");
    }

    #[test]
    fn one_slow_answer_proves_nothing() {
        let mut jittery = sample(1000..1019);
        jittery.push(Duration::from_secs(5));
        let compared = compare(&jittery, &sample(1000..1020)).unwrap();
        assert!(!compared.differs(), "{compared:?}");
    }
}
