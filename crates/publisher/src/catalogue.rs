//! What the publisher has to sell: products with their prices, creative formats, signals and
//! sponsored offerings. The catalogue is read from a file when the publisher opens; a sandbox can
//! put more beside it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::audience;
use crate::creative::policy::Policy;
use crate::shelf::{Kind, Thing};

/// What is sold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Catalogue {
    /// The products; ids are unique.
    pub products: Vec<Product>,
    /// The creative formats (`core/format.json`), as they are published.
    pub formats: Vec<Map<String, Value>>,
    /// The signals (members of `get_signals`), as they are published.
    pub signals: Vec<Map<String, Value>>,
    /// The sponsored offerings, as they are published.
    pub offerings: Vec<Map<String, Value>>,
    /// What is demanded of creatives.
    pub creatives: Policy,
    /// On which terms audiences are taken.
    pub audiences: audience::Terms,
}

/// A product.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Product {
    /// As it is published (`core/product.json`).
    pub published: Map<String, Value>,
    /// What only the publisher knows.
    #[serde(default)]
    pub terms: Terms,
}

/// What only the publisher knows of a product.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Terms {
    /// Whether nothing is left of it.
    pub sold_out: bool,
    /// When it leaves the offer.
    pub expires_at: Option<Timestamp>,
    /// Whether a person has to approve each buy of it.
    pub approval: bool,
    /// The least that a package of it may cost, where its prices do not say.
    pub minimum_budget: Option<f64>,
}

impl Thing for Product {
    const KIND: Kind = Kind::Product;
}

impl Product {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        self.published.get("product_id").and_then(Value::as_str).unwrap_or_default()
    }

    /// The pricing option with this id (`core/pricing-option.json`).
    #[must_use]
    pub fn pricing(&self, id: &str) -> Option<&Map<String, Value>> {
        let options = self.published.get("pricing_options").and_then(Value::as_array);
        let is = |option: &&Map<String, Value>| {
            option.get("pricing_option_id").and_then(Value::as_str) == Some(id)
        };
        options.into_iter().flatten().filter_map(Value::as_object).find(is)
    }

    /// Whether delivery is guaranteed.
    #[must_use]
    pub fn is_guaranteed(&self) -> bool {
        self.published.get("delivery_type").and_then(Value::as_str) == Some("guaranteed")
    }
}
