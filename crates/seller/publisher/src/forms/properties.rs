//! Lists of properties: `create_property_list`, `get_property_list`, `list_property_lists`,
//! `update_property_list`, `delete_property_list`, `validate_property_delivery`.

use tradepost_document::json::Map;
use tradepost_document::typed_struct;

use super::Pagination;
use crate::property::Identifier;

typed_struct! {
    /// `property/create-property-list-request.json`.
    pub(crate) struct CreatePropertyList {
        filters: Map,
        /// Not in the schema of the creation or of the update.
        webhook_url: Option<String>;
        keep given: ["name", "description", "base_properties", "filters", "brand"]
    }

    /// `property/update-property-list-request.json`.
    pub(crate) struct UpdatePropertyList {
        list_id: String,
        filters: Map,
        webhook_url: Option<String>;
        keep given: ["name", "description", "base_properties", "filters", "brand"]
    }

    /// `property/get-property-list-request.json`.
    pub(crate) struct GetPropertyList {
        list_id: String,
        resolve: Option<bool>,
        pagination: Option<Pagination>,
    }

    /// `property/list-property-lists-request.json`.
    pub(crate) struct ListPropertyLists {
        name_contains: Option<String>,
        pagination: Option<Pagination>,
    }

    /// `property/delete-property-list-request.json`.
    pub(crate) struct DeletePropertyList {
        list_id: String,
    }

    /// `property/validate-property-delivery-request.json`.
    pub(crate) struct ValidatePropertyDelivery {
        list_id: String,
        records: Vec<PropertyDelivery>,
        include_compliant: bool,
    }

    /// Impressions delivered on one property (`property/delivery-record.json`).
    pub(crate) struct PropertyDelivery {
        identifier: Identifier,
        impressions: u64,
        record_id: Option<String>,
        sales_agent_url: Option<String>;
        keep given: ["identifier"]
    }
}
