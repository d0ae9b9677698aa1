//! Reports that an ad server makes in its own time. Nobody waits here for one: the caller is told to come again, and the
//! next call looks at the same report.

use std::sync::{Mutex, PoisonError};

use jiff::civil::Date;
use tradepost_document::cache::BoundedCache;

use crate::port::AdServerError;

/// Maximum number of reports that are remembered.
const MAX_PENDING: usize = 1000;

/// An order and days, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReportPeriod {
    /// Number of the order at the ad server.
    pub(crate) order: u64,
    pub(crate) from: Date,
    pub(crate) to: Date,
}

/// Reports that an ad server is making, by the number of the order.
#[derive(Debug)]
pub(crate) struct PendingReports(Mutex<BoundedCache<u64, PendingReport>>);

#[derive(Debug)]
struct PendingReport {
    period: ReportPeriod,
    id: String,
}

impl Default for PendingReports {
    fn default() -> Self {
        Self(Mutex::new(BoundedCache::new(MAX_PENDING)))
    }
}

impl PendingReports {
    /// Returns the id of the report about a period, which `start` asks for if nobody has.
    pub(crate) async fn id_or(
        &self,
        period: ReportPeriod,
        start: impl Future<Output = Result<String, AdServerError>>,
    ) -> Result<String, AdServerError> {
        if let Some(id) = self.get(period) {
            return Ok(id);
        }
        let id = start.await?;
        self.insert(period, id.clone());
        Ok(id)
    }

    /// Forgets the report about a period unless it has to be looked at again, and returns what was read of it.
    pub(crate) fn ended<T>(
        &self,
        period: ReportPeriod,
        read: Result<T, AdServerError>,
    ) -> Result<T, AdServerError> {
        let is_pending = matches!(
            read,
            Err(AdServerError::NotYet { .. } | AdServerError::Unanswered | AdServerError::Unsent)
        );
        if !is_pending {
            let mut reports = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if reports.peek(&period.order).is_some_and(|report| report.period == period) {
                reports.remove(&period.order);
            }
        }
        read
    }

    fn get(&self, period: ReportPeriod) -> Option<String> {
        let mut reports = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let report = reports.get(&period.order).filter(|report| report.period == period);
        report.map(|report| report.id.clone())
    }

    /// Remembers a report in place of an earlier one of the order: Google has one report of an order, which is made anew
    /// for another period.
    fn insert(&self, period: ReportPeriod, id: String) {
        let mut reports = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reports.insert(period.order, PendingReport { period, id });
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    async fn id(reports: &PendingReports, last: i8, new: &str) -> String {
        let first = date(2026, 12, 1);
        let period = ReportPeriod { order: 5, from: first, to: date(2026, 12, last) };
        reports.id_or(period, std::future::ready(Ok(new.to_owned()))).await.unwrap()
    }

    #[tokio::test]
    async fn a_report_is_asked_for_once_until_it_was_read() {
        let reports = PendingReports::default();
        assert_eq!(id(&reports, 2, "a").await, "a");
        assert_eq!(id(&reports, 2, "b").await, "a");
        let period = ReportPeriod { order: 5, from: date(2026, 12, 1), to: date(2026, 12, 2) };
        let not_yet = Err::<(), _>(AdServerError::NotYet { retry_after: None });
        assert_eq!(reports.ended(period, not_yet.clone()), not_yet);
        assert_eq!(id(&reports, 2, "c").await, "a");
        assert_eq!(reports.ended(period, Ok(1)), Ok(1));
        assert_eq!(id(&reports, 2, "d").await, "d");
        // An order has one report.
        assert_eq!(id(&reports, 3, "e").await, "e");
        assert_eq!(id(&reports, 2, "f").await, "f");
    }

    #[test]
    fn a_report_that_is_read_again_and_again_stays() {
        let reports = PendingReports::default();
        let day = date(2026, 12, 1);
        let of = |order| ReportPeriod { order, from: day, to: day };
        reports.insert(of(0), "kept".to_owned());
        for order in 1..2 * MAX_PENDING as u64 {
            reports.insert(of(order), order.to_string());
            assert_eq!(reports.get(of(0)).as_deref(), Some("kept"));
        }
        assert_eq!(reports.get(of(1)), None);
    }
}
