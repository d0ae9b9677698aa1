//! Puts the products of a table into a catalogue. What a table does not say stays as it is: other products, members
//! that no column holds, and everything beside the products.

use std::collections::BTreeMap;

use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value};

use super::{ProductField, ProductTable, TableProduct, words};

/// Catalogue with the products of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct MergedCatalogue {
    /// The catalogue.
    pub document: Value,
    /// Ids of the products that are new in it.
    pub added: Vec<String>,
    /// Ids of the products that changed.
    pub changed: Vec<String>,
    /// Ids of the products that are the same as before.
    pub unchanged: Vec<String>,
    /// Ids of the products that the table does not name, and that stay.
    pub kept: Vec<String>,
    /// Ids of the products that were removed, because the table does not name them.
    pub removed: Vec<String>,
    /// Ids of the formats that are new.
    pub formats: Vec<String>,
}

impl MergedCatalogue {
    /// Returns the id of the product at a JSON Pointer.
    #[must_use]
    pub fn product_at(&self, pointer: &str) -> Option<&str> {
        let index: usize = pointer.strip_prefix("/products/")?.split('/').next()?.parse().ok()?;
        self.document.get("products")?.as_array()?.get(index)?.get("product_id")?.as_str()
    }
}

/// What happens to products that the table does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unnamed {
    /// They stay.
    Stay,
    /// They are removed.
    Go,
}

/// Member of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProductMember {
    /// Of the published product.
    Published(&'static str),
    /// Of its terms.
    Terms(&'static str),
}

impl ProductMember {
    /// Returns true when one of the documents has it.
    pub(super) fn is_in(self, published: &Map, terms: &Map) -> bool {
        match self {
            Self::Published(name) => published.contains_key(name),
            Self::Terms(name) => terms.contains_key(name),
        }
    }
}

/// Returns the member that an optional field sets; `None` for the others, which are never empty.
pub(super) fn member(field: ProductField) -> Option<ProductMember> {
    match field {
        ProductField::Exclusive => Some(ProductMember::Published("exclusivity")),
        ProductField::Available => Some(ProductMember::Published("forecast")),
        ProductField::PerDay => Some(ProductMember::Terms("capacity")),
        ProductField::Countries => Some(ProductMember::Terms("countries")),
        ProductField::Keywords => Some(ProductMember::Terms("keywords")),
        ProductField::Approval => Some(ProductMember::Terms("approval")),
        ProductField::SoldOut => Some(ProductMember::Terms("sold_out")),
        ProductField::ExpiresAt => Some(ProductMember::Terms("expires_at")),
        ProductField::AdServer => Some(ProductMember::Terms("ad_server")),
        ProductField::Id
        | ProductField::Name
        | ProductField::Description
        | ProductField::Formats
        | ProductField::Property
        | ProductField::Channel
        | ProductField::Delivery
        | ProductField::Model
        | ProductField::Rate
        | ProductField::Floor
        | ProductField::Currency
        | ProductField::MinimumSpend
        | ProductField::PriceId => None,
    }
}

/// Puts the products of a table into a catalogue. `agent_url` is for a catalogue that names none.
#[must_use]
pub fn merge(
    catalogue: Map,
    table: &ProductTable,
    agent_url: &str,
    unnamed: Unnamed,
) -> MergedCatalogue {
    let mut document = Map::new();
    let url = catalogue.get("agent_url").and_then(Value::as_str).filter(|url| !url.is_empty());
    document.insert("agent_url".to_owned(), url.unwrap_or(agent_url).into());
    for (name, value) in catalogue {
        if name != "agent_url" {
            document.insert(name, value);
        }
    }
    let mut merged = MergedCatalogue {
        document: Value::Null,
        added: Vec::new(),
        changed: Vec::new(),
        unchanged: Vec::new(),
        kept: Vec::new(),
        removed: Vec::new(),
        formats: Vec::new(),
    };
    let minimum = ProductField::MinimumSpend.name();
    let says_minimum = table.columns.iter().any(|column| column.field == minimum);
    let mut fresh: BTreeMap<&str, &TableProduct> =
        table.products.iter().map(|read| (read.id.as_str(), read)).collect();
    let mut products = Vec::new();
    for product in listed(&document, "products") {
        let id = product.get("product_id").and_then(Value::as_str).unwrap_or_default().to_owned();
        if let Some(read) = fresh.remove(id.as_str()) {
            let changed = changed(&product, read, says_minimum);
            let into = if changed == product { &mut merged.unchanged } else { &mut merged.changed };
            into.push(id);
            products.push(changed);
        } else if unnamed == Unnamed::Go {
            merged.removed.push(id);
        } else {
            merged.kept.push(id);
            products.push(product);
        }
    }
    for read in &table.products {
        if !fresh.contains_key(read.id.as_str()) {
            continue;
        }
        merged.added.push(read.id.clone());
        products.push(created(read));
    }
    let mut formats = listed(&document, "formats");
    for format in &table.formats {
        let id = format.get("format_id").and_then(|id| id.get("id")).and_then(Value::as_str);
        merged.formats.push(id.unwrap_or_default().to_owned());
        formats.push(Value::Object(format.clone()));
    }
    document.insert("products".to_owned(), products.into());
    document.insert("formats".to_owned(), formats.into());
    merged.document = Value::Object(document);
    merged
}

/// Minimum cost, as a price has it.
const MIN_SPEND_MEMBER: &str = "min_spend_per_package";

fn listed(document: &Map, name: &str) -> Vec<Value> {
    document.get(name).and_then(Value::as_array).cloned().unwrap_or_default()
}

/// Returns a product that the catalogue does not have yet.
fn created(read: &TableProduct) -> Value {
    let mut product = read.published.clone();
    for (name, value) in &read.initial {
        product.insert(name.clone(), value.clone());
    }
    if !read.terms.is_empty() {
        product.insert("terms".to_owned(), Value::Object(read.terms.clone()));
    }
    Value::Object(product)
}

/// Returns a product of the catalogue with what the table says. `says_minimum` is true when the table has a column with
/// minimum costs.
fn changed(before: &Value, read: &TableProduct, says_minimum: bool) -> Value {
    let Some(mut product) = before.as_object().cloned() else { return before.clone() };
    let mut terms = product.get("terms").and_then(Value::as_object).cloned().unwrap_or_default();
    for field in &read.cleared {
        match member(*field) {
            Some(ProductMember::Published(name)) => drop(product.shift_remove(name)),
            Some(ProductMember::Terms("ad_server")) => clear_inventory(&mut terms),
            Some(ProductMember::Terms(name)) => drop(terms.shift_remove(name)),
            None => {}
        }
    }
    for (name, value) in &read.published {
        let value = match name.as_str() {
            "pricing_options" => prices(product.get(name), value, says_minimum),
            // The bounds of a forecast are the author's; the table has the middle.
            "forecast" => forecast(product.get(name), value),
            _ => value.clone(),
        };
        product.insert(name.clone(), value);
    }
    for (name, value) in &read.terms {
        let value = match (terms.get(name).and_then(Value::as_object), value.as_object()) {
            // A pool, weekdays and dates of a capacity stay.
            (Some(before), Some(members)) => {
                let mut both = before.clone();
                both.extend(members.clone());
                Value::Object(both)
            }
            _ => value.clone(),
        };
        terms.insert(name.clone(), value);
    }
    match terms.is_empty() {
        true => drop(product.shift_remove("terms")),
        false => drop(product.insert("terms".to_owned(), Value::Object(terms))),
    }
    Value::Object(product)
}

/// Removes the inventory at the ad server. A product that is sold as a deal needs none and stays one.
fn clear_inventory(terms: &mut Map) {
    let known = terms.get_mut("ad_server").and_then(Value::as_object_mut);
    match known.filter(|known| known.contains_key("deal")) {
        Some(known) => drop(known.shift_remove("inventory")),
        None => drop(terms.shift_remove("ad_server")),
    }
}

/// Returns the prices of a table, with what the catalogue says beside the amounts, such as a price guidance. Prices of
/// models that a table cannot say stay where they are.
fn prices(before: Option<&Value>, read: &Value, says_minimum: bool) -> Value {
    let id =
        |price: &Value| price.get("pricing_option_id").and_then(Value::as_str).map(str::to_owned);
    let before = before.and_then(Value::as_array);
    let price = |read: &Value| {
        let known = before.into_iter().flatten().find(|known| id(known) == id(read));
        let Some(Value::Object(known)) = known else { return read.clone() };
        let mut price = known.clone();
        for name in ["fixed_price", "floor_price", MIN_SPEND_MEMBER] {
            if read.get(name).is_none() && (name != MIN_SPEND_MEMBER || says_minimum) {
                price.shift_remove(name);
            }
        }
        price.extend(read.as_object().cloned().unwrap_or_default());
        Value::Object(price)
    };
    let read = read.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut prices: Vec<Value> = read.iter().map(price).collect();
    for (index, known) in before.into_iter().flatten().enumerate() {
        let model = known.get("pricing_model").and_then(Value::as_str).unwrap_or_default();
        let is_by_hand = !words::PRICING_MODELS.contains(&model);
        if is_by_hand && !read.iter().any(|read| id(read) == id(known)) {
            prices.insert(index.min(prices.len()), known.clone());
        }
    }
    prices.into()
}

/// Returns the forecast of a table, or the one before when it has the same middle.
fn forecast(before: Option<&Value>, read: &Value) -> Value {
    let middle = |forecast: &Value| forecast.pointer("/points/0/metrics/impressions/mid").cloned();
    match before {
        Some(before) if middle(before) == middle(read) => before.clone(),
        _ => read.clone(),
    }
}
