//! Media buys: `create_media_buy`, `update_media_buy`, `get_media_buys`, `get_media_buy_delivery`.

use jiff::Timestamp;
use tradepost_document::json::{Map, Value};
use tradepost_document::typed::{OneOrMore, Typed, ValueKind};
use tradepost_document::typed_struct;

use super::{Money, Pagination};
use crate::buy::MediaBuyStatus;
use crate::catalogue::FormatId;
use crate::money::MoneyAmount;
use crate::reporting::ReportingWebhook;

typed_struct! {
    /// `media-buy/create-media-buy-request.json`.
    pub(crate) struct CreateMediaBuy {
        plan_id: Option<String>,
        /// Not in the schema; the specification's text on governance has it in this request too.
        governance_context: Option<String>,
        proposal_id: Option<String>,
        total_budget: Option<Money>,
        packages: Option<Vec<PackageRequest>>,
        brand: Value,
        advertiser_industry: Option<String>,
        io_acceptance: Option<Acceptance>,
        start_time: Start,
        end_time: Timestamp,
        paused: bool,
        push_notification_config: Option<Value>,
        reporting_webhook: Option<ReportingWebhook>,
        context: Option<Value>;
        keep
        shown: ["context", "advertiser_industry", "po_number", "agency_estimate_number"],
        not_done: ["artifact_webhook", "invoice_recipient"];
        whole sent
    }

    /// Acceptance of a proposal's insertion order.
    pub(crate) struct Acceptance {
        io_id: String,
    }

    /// `media-buy/package-request.json`.
    pub(crate) struct PackageRequest {
        product_id: String,
        format_ids: Vec<FormatId>,
        format_option_refs: Vec<FormatOptionRef>,
        format_kind: Option<String>,
        params: Option<Map>,
        budget: MoneyAmount,
        pricing_option_id: String,
        bid_price: Option<MoneyAmount>,
        start_time: Option<Timestamp>,
        end_time: Option<Timestamp>,
        paused: bool,
        optimization_goals: Vec<OptimizationGoal>,
        targeting_overlay: Option<Targeting>,
        measurement_terms: Option<MeasurementTerms>,
        performance_standards: Vec<Standard>,
        committed_metrics: Vec<CommittedMetric>,
        creative_assignments: Vec<PackageCreative>,
        creatives: Option<Value>;
        keep
        shown: [
            "format_ids", "format_option_refs", "format_kind", "params", "pacing", "bid_price",
            "impressions", "optimization_goals", "targeting_overlay", "measurement_terms",
            "performance_standards", "agency_estimate_number", "context",
        ],
        promised: ["committed_metrics"],
        not_done: ["catalogs"]
    }

    /// `core/format-option-ref.json`.
    pub(crate) struct FormatOptionRef {
        format_option_id: String,
    }

    /// `core/optimization-goal.json`. Members whose values depend on the product are kept as JSON.
    pub(crate) struct OptimizationGoal {
        kind: GoalKind,
        metric: Option<Value>,
        view_duration_seconds: Option<Value>,
        reach_unit: Option<Value>,
        target: Option<GoalTarget>,
    }

    /// Target of an optimization goal.
    pub(crate) struct GoalTarget {
        kind: String,
    }

    /// `core/measurement-terms.json`.
    pub(crate) struct MeasurementTerms {
        billing_measurement: Option<BillingMeasurement>,
        makegood_policy: Option<MakegoodPolicy>,
    }

    /// Measurement that decides about billing.
    pub(crate) struct BillingMeasurement {
        max_variance_percent: Option<MoneyAmount>,
        measurement_window: Option<String>,
    }

    /// Remedies for under-delivery.
    pub(crate) struct MakegoodPolicy {
        available_remedies: Vec<String>,
    }

    /// `core/performance-standard.json`.
    pub(crate) struct Standard {
        metric: String,
        threshold: MoneyAmount,
    }

    /// Metric that the seller commits to report.
    pub(crate) struct CommittedMetric {
        scope: MetricScope,
        metric_id: String,
    }

    /// `core/creative-assignment.json`.
    pub(crate) struct PackageCreative {
        creative_id: String;
        whole sent
    }

    /// Targeting of a package (`core/targeting.json`).
    pub(crate) struct Targeting {
        geo_countries: Option<Vec<String>>,
        geo_countries_exclude: Option<Vec<String>>,
        audience_include: Vec<String>,
        audience_exclude: Vec<String>,
        signal_targeting_groups: Option<SignalGroups>,
        signal_targeting: Vec<AimedSignal>,
        property_list: Option<ListReference>;
        keep
        not_done: [
            "axe_include_segment", "axe_exclude_segment", "collection_list",
            "collection_list_exclude", "store_catchments", "geo_proximity",
        ];
        whole sent
    }

    /// A list of properties (`core/property-list-ref.json`).
    pub(crate) struct ListReference {
        list_id: String,
    }

    /// `core/package-signal-targeting-groups.json`.
    pub(crate) struct SignalGroups {
        groups: Vec<SignalGroup>,
    }

    /// `core/package-signal-targeting-group.json`.
    pub(crate) struct SignalGroup {
        signals: Vec<AimedSignal>,
    }

    /// Signal, named by its segment handle, by its reference or by the older `signal_id`.
    pub(crate) struct AimedSignal {
        signal_agent_segment_id: Option<String>,
        signal_ref: Option<SignalName>,
        signal_id: Option<SignalName>,
    }

    /// `media-buy/update-media-buy-request.json`.
    pub(crate) struct UpdateMediaBuy {
        media_buy_id: String,
        revision: Option<u64>,
        paused: Option<bool>,
        canceled: Option<bool>,
        cancellation_reason: Option<String>,
        start_time: Option<Start>,
        end_time: Option<Timestamp>,
        packages: Vec<PackageUpdate>,
        new_packages: Option<Vec<PackageRequest>>,
        reporting_webhook: Option<ReportingWebhook>,
        /// Not in the schema; the specification's text on governance has it in this request too.
        governance_context: Option<String>;
        keep
        changes: [
            "paused", "canceled", "start_time", "end_time", "packages", "new_packages",
            "reporting_webhook",
        ],
        not_done: ["invoice_recipient"];
        whole sent
    }

    /// `media-buy/package-update.json`.
    pub(crate) struct PackageUpdate {
        package_id: String,
        budget: Option<MoneyAmount>,
        bid_price: Option<MoneyAmount>,
        start_time: Option<Timestamp>,
        end_time: Option<Timestamp>,
        paused: Option<bool>,
        canceled: Option<bool>,
        cancellation_reason: Option<String>,
        optimization_goals: Vec<OptimizationGoal>,
        targeting_overlay: Option<Targeting>,
        keyword_targets_add: Option<Vec<KeywordTarget>>,
        keyword_targets_remove: Option<Vec<KeywordTarget>>,
        negative_keywords_add: Option<Vec<KeywordTarget>>,
        negative_keywords_remove: Option<Vec<KeywordTarget>>,
        creative_assignments: Option<Vec<PackageCreative>>;
        keep
        shown: ["bid_price", "impressions", "pacing", "optimization_goals", "context"],
        /// Terms are agreed on once; some of these members are not in the schema.
        not_done: [
            "catalogs", "creatives", "measurement_terms", "performance_standards",
            "committed_metrics",
        ]
    }

    /// Keyword that a package targets or excludes.
    pub(crate) struct KeywordTarget {
        keyword: String,
        match_type: String;
        whole sent
    }

    /// `media-buy/get-media-buys-request.json`.
    pub(crate) struct GetMediaBuys {
        media_buy_ids: Option<Vec<String>>,
        status_filter: Option<OneOrMore<MediaBuyStatus>>,
        include_snapshot: bool,
        include_history: Option<u64>,
        pagination: Option<Pagination>,
    }

    /// `media-buy/get-media-buy-delivery-request.json`.
    pub(crate) struct GetMediaBuyDelivery {
        media_buy_ids: Option<Vec<String>>,
        status_filter: Option<OneOrMore<MediaBuyStatus>>,
        start_date: Option<String>,
        end_date: Option<String>,
        include_package_daily_breakdown: bool,
        time_granularity: Option<String>,
        include_window_breakdown: bool,
    }
}

tradepost_document::words! {
    /// Kind of an optimization goal.
    pub(crate) enum GoalKind {
        /// Metric that the seller counts.
        Metric = "metric",
        /// Conversion events.
        Event = "event",
        /// Metric that a vendor counts.
        VendorMetric = "vendor_metric",
    }

    /// Definer of a metric.
    pub(crate) enum MetricScope {
        /// AdCP.
        Standard = "standard",
        /// A vendor.
        Vendor = "vendor",
    }
}

impl UpdateMediaBuy {
    /// Returns the index in `packages` of the update for this package.
    pub(crate) fn place_of(&self, package_id: &str) -> Option<usize> {
        self.packages.iter().position(|package| package.package_id == package_id)
    }
}

impl KeywordTarget {
    /// Returns true when a stored keyword (`core/targeting.json`) has the same text and match type;
    /// bids are not compared.
    pub(crate) fn is(&self, known: &Value) -> bool {
        Self::read(known).is_some_and(|known| {
            known.keyword == self.keyword && known.match_type == self.match_type
        })
    }
}

/// Start of a flight (`core/start-timing.json`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// Immediately.
    Asap,
    /// At this moment.
    At(Timestamp),
}

impl Start {
    /// Returns the start as a timestamp; `asap` is `now`.
    pub(crate) fn at(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Asap => now,
            Self::At(moment) => moment,
        }
    }
}

impl Typed for Start {
    fn kind() -> ValueKind {
        ValueKind::Either(vec![ValueKind::Words(&["asap"]), Timestamp::kind()])
    }

    fn read(value: &Value) -> Option<Self> {
        if value == "asap" { Some(Self::Asap) } else { Timestamp::read(value).map(Self::At) }
    }
}

/// Name of a signal: `signal_id` of a reference, `id` of an older reference, or the value itself where
/// a catalog has plain text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SignalName {
    /// The name; `None` when it is no string.
    pub name: Option<String>,
    /// True when the signal exists only as an option of one product.
    pub of_product: bool,
}

impl Typed for SignalName {
    fn kind() -> ValueKind {
        ValueKind::Any
    }

    fn read(value: &Value) -> Option<Self> {
        let name = value.get("signal_id").or_else(|| value.get("id")).unwrap_or(value);
        let of_product = value.get("scope").and_then(Value::as_str) == Some("product");
        Some(Self { name: name.as_str().map(ToOwned::to_owned), of_product })
    }
}

impl AimedSignal {
    /// Returns the name that the reference gives, if any.
    pub(crate) fn name(&self) -> Option<&str> {
        self.signal_ref.as_ref().or(self.signal_id.as_ref())?.name.as_deref()
    }
}
