#![doc = include_str!("../README.md")]

use tradepost_document::catalog::{Vocabulary as _, catalog};
use tradepost_document::json::{Value, json};

pub mod error;
pub mod message;
pub mod platform;
pub mod product;
pub mod profile;
pub mod request;
pub mod schema;

/// Version of the protocol and of its capabilities.
pub const VERSION: &str = "2026-04-08";

catalog! {
    /// Capabilities of a catalog, by their names in profiles.
    pub enum Capability {
        /// Path of its specification below that of the version.
        specification: &'static str,
        /// File name of its schema.
        schema: &'static str,
    }
    /// Search the catalog by words and filters.
    Search = "dev.ucp.shopping.catalog.search" {
        specification: "catalog/search", schema: "catalog_search.json",
    }
    /// Look up products by their identifiers.
    Lookup = "dev.ucp.shopping.catalog.lookup" {
        specification: "catalog/lookup", schema: "catalog_lookup.json",
    }
}

catalog! {
    /// Operations of a catalog, by the names of their tools.
    pub enum CatalogOperation {
        /// Capability that it belongs to.
        capability: Capability,
        /// Path below the REST endpoint.
        path: &'static str,
        /// Title for people.
        title: &'static str,
    }
    /// Finds products by words and filters, a page at a time.
    SearchCatalog = "search_catalog" {
        capability: Capability::Search, path: "/catalog/search", title: "Search the catalog",
    }
    /// Finds products by their identifiers, several at once.
    LookupCatalog = "lookup_catalog" {
        capability: Capability::Lookup, path: "/catalog/lookup", title: "Look up products",
    }
    /// Reads everything about one product.
    GetProduct = "get_product" {
        capability: Capability::Lookup, path: "/catalog/product", title: "Read a product",
    }
}

/// Returns the metadata of a response in which a capability is active.
#[must_use]
pub fn metadata(capability: Capability, status: &str) -> Value {
    let active = json!([{"version": VERSION}]);
    json!({
        "version": VERSION,
        "status": status,
        "capabilities": {(capability.name()): active},
    })
}
