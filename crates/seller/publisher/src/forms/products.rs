//! Capabilities and products of a seller: `get_adcp_capabilities`, `get_products`.

use tradepost_document::json::{Map, Value};
use tradepost_document::typed::{Typed, ValueKind};
use tradepost_document::typed_struct;

use super::Pagination;
use super::buys::ListReference;
pub(crate) use super::vendors::{BrandRef, VendorMetric};
use crate::catalogue::FormatId;
use crate::money::MoneyAmount;

typed_struct! {
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
        /// Filters on data that this seller's products do not have.
        undecided: [
            "geo_proximity", "keywords", "metros", "postal_areas", "regions",
            "required_axe_integrations", "required_geo_targeting", "signal_targeting",
            "standard_formats_only", "trusted_match",
        ]
    }

    /// Intended budget.
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

    /// Entry of `refine` with the members of all its scopes.
    struct AnyEntry {
        scope: RefineScope,
        product_id: Option<String>,
        proposal_id: Option<String>,
        action: Option<RefineAction>,
        ask: Option<String>,
    }

    /// Readable part of `refine` before validation.
    pub(crate) struct UncheckedRefine {
        refine: Vec<Option<UncheckedEntry>>,
    }

    /// Feed versions that the caller knows, before validation.
    pub(crate) struct UncheckedVersions {
        if_wholesale_feed_version: Option<Value>,
        if_pricing_version: Option<Value>,
    }

    /// Readable part of an entry of `refine` before validation.
    pub(crate) struct UncheckedEntry {
        scope: Option<RefineScope>,
        action: Option<RefineAction>,
    }
}

tradepost_document::words! {
    /// Buying mode of a product search.
    pub(crate) enum BuyingMode {
        /// Products that fit a brief.
        Brief = "brief",
        /// All products.
        Wholesale = "wholesale",
        /// Changes to an earlier result.
        Refine = "refine",
    }

    /// Subject of an entry of `refine`.
    pub(crate) enum RefineScope {
        /// The whole result.
        Request = "request",
        /// A product.
        Product = "product",
        /// A proposal.
        Proposal = "proposal",
    }

    /// Action on a product or proposal; the schema says which actions a scope has.
    pub(crate) enum RefineAction {
        /// Keep it.
        Include = "include",
        /// Leave it out.
        Omit = "omit",
        /// Show others like it.
        MoreLikeThis = "more_like_this",
        /// Commit the proposal.
        Finalize = "finalize",
    }
}

/// An entry of `refine`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RefineEntry {
    /// About the whole result.
    Request {
        /// The buyer's request in plain text.
        ask: String,
    },
    /// About a product.
    Product {
        /// Id of the product.
        product_id: String,
        /// The action.
        action: RefineAction,
        /// The buyer's request in plain text.
        ask: Option<String>,
    },
    /// About a proposal.
    Proposal {
        /// Id of the proposal.
        proposal_id: String,
        /// The action.
        action: RefineAction,
        /// The buyer's request in plain text.
        ask: Option<String>,
    },
}

impl RefineEntry {
    /// Returns the buyer's request in plain text.
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
