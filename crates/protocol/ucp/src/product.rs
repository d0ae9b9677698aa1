//! Products as answers show them. Optional members are left out where there is nothing to say.

use serde::Serialize;
use tradepost_document::json::Map;

/// A product.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Product {
    /// Identifier.
    pub id: String,
    /// Title.
    pub title: String,
    /// Description.
    pub description: Description,
    /// Address of its page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Categories.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<Category>,
    /// Lowest and highest price of its variants.
    pub price_range: PriceRange,
    /// Pictures, the featured one first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Medium>,
    /// Variants, the featured one first; there is at least one.
    pub variants: Vec<Variant>,
    /// Key words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Data of the business.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub metadata: Map,
}

/// What can be bought of a product.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Variant {
    /// Identifier.
    pub id: String,
    /// Identifier of the business for its stock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sku: Option<String>,
    /// Identifiers of a standard.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub barcodes: Vec<Barcode>,
    /// Title.
    pub title: String,
    /// Description.
    pub description: Description,
    /// Address of its page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Price.
    pub price: Price,
    /// Price before a discount.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_price: Option<Price>,
    /// Availability.
    pub availability: Availability,
    /// Seller.
    pub seller: Seller,
    /// Identifiers of a lookup that led to it; empty in other answers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<LookupInput>,
}

/// A description, as plain text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Description {
    /// Plain text.
    pub plain: String,
}

/// A category.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Category {
    /// Value, which filters name.
    pub value: String,
    /// Taxonomy of the value.
    pub taxonomy: &'static str,
}

/// An amount of money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Price {
    /// Amount in minor units, such as cents.
    pub amount: u64,
    /// Currency (ISO 4217).
    pub currency: &'static str,
}

/// Lowest and highest price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PriceRange {
    /// Lowest price.
    pub min: Price,
    /// Highest price.
    pub max: Price,
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Medium {
    /// Type, such as `image`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Address.
    pub url: String,
    /// Text for those who do not see it.
    pub alt_text: String,
}

/// An identifier of a standard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Barcode {
    /// Standard.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Identifier.
    pub value: String,
}

/// Availability of a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Availability {
    /// True when it can be bought.
    pub available: bool,
    /// State of the stock.
    pub status: &'static str,
}

/// Seller of a variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Seller {
    /// Name.
    pub name: String,
}

/// An identifier of a lookup, with how it led to a variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LookupInput {
    /// Identifier, as sent.
    pub id: String,
    /// `exact` for identifiers of the variant itself.
    #[serde(rename = "match")]
    pub resolution: &'static str,
}
