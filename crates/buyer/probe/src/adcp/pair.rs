//! Measurements of pairs of requests: their differences and latencies.

use super::statistics::Compared;
use crate::exchange::RecordedExchange;
use crate::report::Measured;

/// Differences of a pair; `None` for parts that are equal.
#[derive(Debug, Clone, Default)]
pub(super) struct Difference {
    pub(super) error: Option<String>,
    pub(super) body: Option<String>,
    pub(super) status: Option<String>,
    pub(super) headers: Option<String>,
    pub(super) exchanges: Vec<RecordedExchange>,
}

/// Lookup with its pairs.
#[derive(Debug)]
pub(super) struct Paired {
    pub(super) tool: &'static str,
    pub(super) is_full: bool,
    pub(super) differences: Vec<Difference>,
    pub(super) compared: Option<Compared>,
}

impl Paired {
    /// Converts the measurements for the report.
    pub(super) fn measured(&self, on: &str) -> Measured {
        let same = |of: fn(&Difference) -> &Option<String>| {
            self.differences.iter().filter(|difference| of(difference).is_none()).count()
        };
        let (first, second) = self.compared.map_or((0, 0), |compared| compared.medians);
        Measured {
            tool: self.tool.to_owned(),
            on: on.to_owned(),
            callers: if self.is_full { 2 } else { 1 },
            pairs: self.differences.len(),
            same_error: same(|difference| &difference.error),
            same_body: same(|difference| &difference.body),
            same_status: same(|difference| &difference.status),
            same_headers: same(|difference| &difference.headers),
            median_micros: [first, second],
            z: self.compared.map_or(0.0, |compared| compared.z),
        }
    }
}
