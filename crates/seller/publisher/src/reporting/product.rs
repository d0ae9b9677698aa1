//! What a product reports to webhooks.

use tradepost_document::catalog::Vocabulary as _;

use super::ReportCadence;
use crate::catalogue::Product;

impl Product {
    /// Returns the rhythms in which its delivery is reported to webhooks: those of its frequencies that follow
    /// from delivery by day.
    pub(crate) fn webhook_cadences(&self) -> Vec<ReportCadence> {
        let Some(reporting) = &self.published.reporting_capabilities else { return Vec::new() };
        if reporting.supports_webhooks != Some(true) {
            return Vec::new();
        }
        let frequencies = reporting.available_reporting_frequencies.iter();
        frequencies.filter_map(|frequency| ReportCadence::from_name(frequency)).collect()
    }

    /// Returns the delay of its reports in minutes.
    pub(crate) fn report_delay_minutes(&self) -> u64 {
        let reporting = self.published.reporting_capabilities.as_ref();
        reporting.and_then(|reporting| reporting.expected_delay_minutes).unwrap_or_default()
    }
}
