//! Vendors of metrics, as requests and products name them.

use tradepost_document::typed_struct;

typed_struct! {
    /// `core/brand-ref.json`.
    pub(crate) struct BrandRef {
        domain: Option<String>,
        brand_id: Option<String>,
    }

    /// Metric of one vendor; without `metric_id`, any metric of that vendor; without `vendor`, of
    /// any vendor.
    pub(crate) struct VendorMetric {
        vendor: Option<BrandRef>,
        metric_id: Option<String>,
    }
}
