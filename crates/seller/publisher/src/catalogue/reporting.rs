//! Reporting of a product, as far as the publisher uses it.

use tradepost_document::json::Value;
use tradepost_document::typed::LenientList;
use tradepost_document::typed_struct;

use crate::forms::vendors::VendorMetric;

typed_struct! {
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
