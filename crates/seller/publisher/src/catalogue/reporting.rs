//! Reporting of a product, as far as the publisher uses it.

use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::form;
use tradepost_document::json::Value;
use tradepost_document::typed::LenientList;

use super::Product;
use crate::forms::products::VendorMetric;
use crate::reporting::ReportCadence;

form! {
    /// Reporting of a product (`core/reporting-capabilities.json`). Words are repeated as they were given.
    pub(crate) struct Reporting {
        available_reporting_frequencies: LenientList<String>,
        expected_delay_minutes: Option<u64>,
        supports_webhooks: Option<bool>,
        available_metrics: LenientList<Value>,
        measurement_windows: LenientList<Window>,
        windowed_pull_granularities: LenientList<Value>,
        vendor_metrics: LenientList<VendorMetric>,
        date_range_support: Option<String>,
    }

    /// Window over which a product is measured.
    pub(crate) struct Window {
        window_id: Option<String>,
    }
}

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
