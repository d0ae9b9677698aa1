//! Creatives and their formats: `sync_creatives`, `list_creatives`, `list_creative_formats`.

use jiff::Timestamp;
use tradepost_document::json::Value;
use tradepost_document::typed_struct;

use super::{Direction, Pagination};
use crate::catalogue::FormatId;
use crate::creative::CreativeStatus;
use crate::money::MoneyAmount;
use crate::resolve::Reference;

typed_struct! {
    /// `creative/sync-creatives-request.json`.
    pub(crate) struct SyncCreatives {
        creatives: Vec<CreativeAsset>,
        creative_ids: Option<Vec<String>>,
        assignments: Vec<CreativeAssignment>,
        delete_missing: bool,
        dry_run: bool,
        validation_mode: Option<ValidationMode>,
    }

    /// `core/creative-asset.json`.
    pub(crate) struct CreativeAsset {
        creative_id: String,
        format_id: Option<Value>,
        format_kind: Option<String>,
        status: Option<CreativeStatus>;
        whole sent
    }

    /// Assignment of a creative to a package.
    pub(crate) struct CreativeAssignment {
        creative_id: String,
        package_id: String;
        keep terms: ["weight", "placement_ids"]
    }

    /// `creative/list-creatives-request.json`.
    pub(crate) struct ListCreatives {
        filters: Option<CreativeFilters>,
        sort: Option<CreativeSort>,
        pagination: Option<Pagination>,
        include_assignments: Option<bool>,
        include_snapshot: bool,
        include_items: bool,
        include_variables: bool,
        include_webhook_activity: bool,
        webhook_activity_limit: Option<u64>,
        fields: Option<Vec<String>>,
    }

    /// `core/creative-filters.json`.
    pub(crate) struct CreativeFilters {
        accounts: Option<Vec<Reference>>,
        statuses: Option<Vec<CreativeStatus>>,
        tags: Vec<String>,
        tags_any: Option<Vec<String>>,
        name_contains: Option<String>,
        creative_ids: Option<Vec<String>>,
        created_after: Option<Timestamp>,
        created_before: Option<Timestamp>,
        updated_after: Option<Timestamp>,
        updated_before: Option<Timestamp>,
        assigned_to_packages: Option<Vec<String>>,
        media_buy_ids: Option<Vec<String>>,
        unassigned: Option<bool>,
        has_served: Option<bool>,
        concept_ids: Option<Vec<String>>,
        format_ids: Option<Vec<FormatId>>,
        has_variables: Option<bool>;
        whole sent
    }

    /// Sort order of a list of creatives.
    pub(crate) struct CreativeSort {
        field: Option<CreativeSortField>,
        direction: Option<Direction>,
    }

    /// `media-buy/list-creative-formats-request.json`.
    pub(crate) struct ListCreativeFormats {
        format_ids: Option<Vec<FormatId>>,
        asset_types: Option<Vec<String>>,
        min_width: Option<MoneyAmount>,
        max_width: Option<MoneyAmount>,
        min_height: Option<MoneyAmount>,
        max_height: Option<MoneyAmount>,
        is_responsive: Option<bool>,
        name_search: Option<String>,
        publisher_domain: Option<String>,
        property_id: Option<String>,
        wcag_level: Option<WcagLevel>,
        disclosure_positions: Vec<String>,
        disclosure_persistence: Vec<String>,
        output_format_ids: Option<Vec<FormatId>>,
        input_format_ids: Option<Vec<FormatId>>,
        pagination: Option<Pagination>,
    }
}

tradepost_document::words! {
    /// Handling of a sync in which some creatives fail (`enums/validation-mode.json`).
    pub(crate) enum ValidationMode {
        /// No creative is stored.
        Strict = "strict",
        /// Creatives without errors are stored.
        Lenient = "lenient",
    }

    /// Sort key of creatives (`enums/creative-sort-field.json`).
    pub(crate) enum CreativeSortField {
        /// Creation time.
        CreatedDate = "created_date",
        /// Time of the last change.
        UpdatedDate = "updated_date",
        /// Name.
        Name = "name",
        /// Status.
        Status = "status",
        /// Number of packages that the creative is assigned to.
        AssignmentCount = "assignment_count",
    }

    /// Accessibility level (`enums/wcag-level.json`), lowest first.
    pub(crate) enum WcagLevel {
        /// Lowest.
        A = "A",
        /// Middle.
        Aa = "AA",
        /// Highest.
        Aaa = "AAA",
    }
}

impl CreativeAsset {
    /// Returns true when the stored member of this name has to be removed: a creative has either
    /// `format_id` or `format_kind`, and this one sends the other.
    pub(crate) fn replaces(&self, name: &str) -> bool {
        match name {
            "format_id" => self.format_kind.is_some(),
            "format_kind" => self.format_id.is_some(),
            _ => false,
        }
    }
}
