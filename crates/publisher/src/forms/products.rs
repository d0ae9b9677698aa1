//! What a seller can do and has to sell: `get_adcp_capabilities`, `get_products`.

use tradepost_wire::adcp::rules::typed::{Typed, ValueKind};
use tradepost_wire::form;
use tradepost_wire::json::{Map, Value};

use super::Pagination;
use super::buys::ListReference;
use crate::catalogue::FormatId;
use crate::money::MoneyAmount;

form! {
    /// `protocol/get-adcp-capabilities-request.json`.
    pub(crate) struct GetCapabilities {
        protocols: Option<Vec<String>>,
    }

    /// `media-buy/get-products-request.json`.
    pub(crate) struct GetProducts {
        buying_mode: BuyingMode,
        brief: Option<String>,
        refine: Option<Vec<RefineEntry>>,
        brand: Option<BrandRef>,
        filters: Option<ProductFilters>,
        preferred_delivery_types: Vec<String>,
        required_policies: Vec<String>,
        property_list: Option<ListReference>,
        fields: Option<Vec<String>>,
        if_wholesale_feed_version: Option<String>,
        pagination: Option<Pagination>,
        push_notification_config: Option<Value>,
        catalog: Option<Value>,
    }

    /// `core/brand-ref.json`.
    pub(crate) struct BrandRef {
        domain: Option<String>,
        brand_id: Option<String>,
    }

    /// `core/product-filters.json`.
    pub(crate) struct ProductFilters {
        delivery_type: Option<String>,
        exclusivity: Option<String>,
        is_fixed_price: Option<bool>,
        pricing_currencies: Option<Vec<String>>,
        format_ids: Option<Vec<FormatId>>,
        min_exposures: Option<MoneyAmount>,
        start_date: Option<String>,
        end_date: Option<String>,
        budget_range: Option<BudgetRange>,
        countries: Option<Vec<String>>,
        channels: Option<Vec<String>>,
        video_placement_types: Option<Vec<String>>,
        audio_distribution_types: Option<Vec<String>>,
        sponsored_placement_types: Option<Vec<String>>,
        social_placement_surfaces: Option<Vec<String>>,
        required_features: Option<Map>,
        required_metrics: Option<Vec<String>>,
        required_performance_standards: Option<Vec<RequiredStandard>>,
        required_vendor_metrics: Option<Vec<VendorMetric>>;
        keep
        /// What takes data that products of this seller do not have.
        undecided: [
            "geo_proximity", "keywords", "metros", "postal_areas", "regions",
            "required_axe_integrations", "required_geo_targeting", "signal_targeting",
            "standard_formats_only", "trusted_match",
        ]
    }

    /// How much is to be spent.
    pub(crate) struct BudgetRange {
        min: Option<MoneyAmount>,
        max: Option<MoneyAmount>,
        currency: String,
    }

    /// `core/performance-standard.json`.
    pub(crate) struct RequiredStandard {
        metric: Option<String>,
        threshold: Option<MoneyAmount>,
        standard: Option<String>,
        vendor: Option<BrandRef>,
    }

    /// A metric of a vendor, or any of a vendor's, or that of any vendor.
    pub(crate) struct VendorMetric {
        vendor: Option<BrandRef>,
        metric_id: Option<String>,
    }

    /// An entry of `refine` with the members of all kinds of it.
    struct AnyEntry {
        scope: RefineScope,
        product_id: Option<String>,
        proposal_id: Option<String>,
        action: Option<RefineAction>,
        ask: Option<String>,
    }

    /// What can be seen of `refine` before anybody has checked it.
    pub(crate) struct UncheckedRefine {
        refine: Vec<Option<UncheckedEntry>>,
    }

    /// The versions that a caller knows, before anybody has checked them.
    pub(crate) struct UncheckedVersions {
        if_wholesale_feed_version: Option<Value>,
        if_pricing_version: Option<Value>,
    }

    /// What can be seen of one of its entries.
    pub(crate) struct UncheckedEntry {
        scope: Option<RefineScope>,
        action: Option<RefineAction>,
    }
}

tradepost_wire::words! {
    /// How products are looked for.
    pub(crate) enum BuyingMode {
        /// What fits a text.
        Brief = "brief",
        /// All.
        Wholesale = "wholesale",
        /// What was found before, changed.
        Refine = "refine",
    }

    /// What an entry of `refine` is about.
    pub(crate) enum RefineScope {
        /// The whole.
        Request = "request",
        /// A product.
        Product = "product",
        /// A proposal.
        Proposal = "proposal",
    }

    /// What to do; the schema says which of them a scope has.
    pub(crate) enum RefineAction {
        /// Keep it.
        Include = "include",
        /// Leave it out.
        Omit = "omit",
        /// Show others like it.
        MoreLikeThis = "more_like_this",
        /// Make it firm.
        Finalize = "finalize",
    }
}

/// An entry of `refine`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RefineEntry {
    /// About the whole.
    Request {
        /// What is asked.
        ask: String,
    },
    /// About a product.
    Product {
        /// Which.
        product_id: String,
        /// What to do with it.
        action: RefineAction,
        /// What is asked of it.
        ask: Option<String>,
    },
    /// About a proposal.
    Proposal {
        /// Which.
        proposal_id: String,
        /// What to do with it.
        action: RefineAction,
        /// What is asked of it.
        ask: Option<String>,
    },
}

impl RefineEntry {
    /// What is asked, if anything is.
    pub(crate) fn ask(&self) -> Option<&str> {
        match self {
            Self::Request { ask } => Some(ask),
            Self::Product { ask, .. } | Self::Proposal { ask, .. } => ask.as_deref(),
        }
    }
}

impl Typed for RefineEntry {
    fn kind() -> ValueKind {
        AnyEntry::kind()
    }

    fn read(value: &Value) -> Option<Self> {
        let AnyEntry { scope, product_id, proposal_id, action, ask } = AnyEntry::read(value)?;
        let action = action.unwrap_or(RefineAction::Include);
        Some(match scope {
            RefineScope::Request => Self::Request { ask: ask? },
            RefineScope::Product => Self::Product { product_id: product_id?, action, ask },
            RefineScope::Proposal => Self::Proposal { proposal_id: proposal_id?, action, ask },
        })
    }
}
