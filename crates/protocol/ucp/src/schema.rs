//! JSON Schemas of the arguments over MCP, for models. The readers check everything all the same.

use tradepost_document::json::{Map, Value, json};

use crate::CatalogOperation;
use crate::request::{DEFAULT_LIMIT, MAX_IDS};

/// Returns the schema of the arguments of an operation: the platform in `meta`, the request in `catalog`. `filters` are
/// the schemas of the business's own filters.
#[must_use]
pub fn arguments(operation: CatalogOperation, filters: &Map) -> Map {
    let meta = json!({
        "type": "object",
        "properties": {"ucp-agent": {
            "type": "object",
            "properties": {"profile": {
                "type": "string", "format": "uri",
                "description": "The https address of the UCP profile of the platform that calls.",
            }},
            "required": ["profile"],
        }},
        "required": ["ucp-agent"],
    });
    let schema = json!({
        "type": "object",
        "properties": {"meta": meta, "catalog": request(operation, filters)},
        "required": ["meta", "catalog"],
    });
    schema.as_object().cloned().unwrap_or_default()
}

/// Returns the schema of a request.
fn request(operation: CatalogOperation, filters: &Map) -> Value {
    let filters = json!(filter_schema(filters));
    let context = json!({
        "type": "object",
        "properties": {"currency": {
            "type": "string", "description": "Currency of the price filter (ISO 4217).",
        }},
    });
    match operation {
        CatalogOperation::SearchCatalog => json!({
            "type": "object",
            "description": "At least one of query and filters is required.",
            "properties": {
                "query": {
                    "type": "string", "minLength": 1, "maxLength": 200,
                    "description": "What is wanted, in words.",
                },
                "filters": filters,
                "pagination": {
                    "type": "object",
                    "properties": {
                        "cursor": {
                            "type": "string",
                            "description": "The cursor of the page before, with the same query and filters.",
                        },
                        "limit": {
                            "type": "integer", "minimum": 1,
                            "description": format!("Products on a page; {DEFAULT_LIMIT} without it."),
                        },
                    },
                },
                "context": context,
            },
            "required": [],
        }),
        CatalogOperation::LookupCatalog => json!({
            "type": "object",
            "properties": {
                "ids": {
                    "type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MAX_IDS,
                    "description": "Identifiers of products.",
                },
                "filters": filters,
                "context": context,
            },
            "required": ["ids"],
        }),
        CatalogOperation::GetProduct => json!({
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "Identifier of a product."},
                "filters": filters,
                "context": context,
            },
            "required": ["id"],
        }),
    }
}

fn filter_schema(own: &Map) -> Value {
    let amount =
        |description: &str| json!({"type": "integer", "minimum": 0, "description": description});
    let categories = json!({
        "type": "array", "items": {"type": "string"},
        "description": "One of them has to match; products show their categories.",
    });
    let price = json!({
        "type": "object",
        "properties": {
            "min": amount("Lowest price in minor units, such as cents."),
            "max": amount("Highest price in minor units, such as cents."),
        },
    });
    let of_ucp = [("categories".to_owned(), categories), ("price".to_owned(), price)];
    let own = own.iter().map(|(name, schema)| (name.clone(), schema.clone()));
    let properties: Map = of_ucp.into_iter().chain(own).collect();
    json!({
        "type": "object", "properties": properties, "description": "All of them have to match.",
    })
}
