//! The file in which a publisher's domain names the agents that sell its inventory
//! (`/.well-known/adagents.json`, AdCP `adagents.json`): written from the configuration, and checked as it is served.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use tradepost_document::json::{self, Map, Value, json};
use tradepost_publisher::catalogue::Catalogue;
use tradepost_publisher::profile::PublisherProfile;

mod check;
pub mod fetch;

pub use check::{AdagentsProblem, ExpectedAgent, problems};

/// Path of the file on a domain.
pub const PATH: &str = "/.well-known/adagents.json";

/// Media of a domain that the catalogue sells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SoldProperties {
    /// Tags by which products select properties.
    pub tags: BTreeSet<String>,
    /// Ids by which products select properties.
    pub ids: BTreeSet<String>,
    /// Channels of the products.
    pub channels: BTreeSet<String>,
}

/// Returns the media that a catalogue sells, by their domain.
#[must_use]
pub fn sold(catalogue: &Catalogue) -> BTreeMap<String, SoldProperties> {
    let mut domains: BTreeMap<String, SoldProperties> = BTreeMap::new();
    for product in &catalogue.products {
        let Ok(product) = json::to_value(product) else { continue };
        let Some(published) = product.get("published") else { continue };
        let channels: Vec<String> = texts(published.get("channels")).collect();
        let selectors = published.get("publisher_properties").and_then(Value::as_array);
        for selector in selectors.into_iter().flatten() {
            let one = selector.get("publisher_domain").and_then(Value::as_str).map(str::to_owned);
            for domain in one.into_iter().chain(texts(selector.get("publisher_domains"))) {
                let sold = domains.entry(domain).or_default();
                sold.tags.extend(texts(selector.get("property_tags")));
                sold.ids.extend(texts(selector.get("property_ids")));
                sold.channels.extend(channels.iter().cloned());
            }
        }
    }
    domains
}

/// What a file says beside what follows from the configuration.
#[derive(Debug, Clone)]
pub struct AdagentsInput<'a> {
    /// The publisher.
    pub profile: &'a PublisherProfile,
    /// Address of its agent.
    pub agent_url: &'a str,
    /// Domain that serves the file.
    pub domain: &'a str,
    /// Address for questions about the file.
    pub contact_email: Option<&'a str>,
    /// Time of writing.
    pub now: Timestamp,
}

/// Writes the file of a domain: one property, which has every tag and id that products select there, and one agent,
/// which may sell it.
#[must_use]
pub fn document(input: &AdagentsInput<'_>) -> Value {
    let AdagentsInput { profile, agent_url, domain, contact_email, now } = input;
    let sold = sold(&profile.catalogue).remove(*domain).unwrap_or_default();
    let mut contact = Map::new();
    contact.insert("name".to_owned(), profile.name.as_str().into());
    if let Some(email) = contact_email {
        contact.insert("email".to_owned(), (*email).into());
    }
    contact.insert("domain".to_owned(), profile.domain.as_str().into());
    // Products that select by id need a property with it.
    let ids: Vec<String> = match sold.ids.is_empty() {
        true => vec![property_id(domain)],
        false => sold.ids.iter().cloned().collect(),
    };
    let properties: Vec<Value> = ids.iter().map(|id| property(id, input, &sold)).collect();
    let tags: Map =
        sold.tags.iter().map(|tag| (tag.clone(), described(tag, &profile.name))).collect();
    let mut file = Map::new();
    file.insert("contact".to_owned(), Value::Object(contact));
    file.insert("properties".to_owned(), properties.into());
    if !tags.is_empty() {
        file.insert("tags".to_owned(), Value::Object(tags));
    }
    file.insert(
        "authorized_agents".to_owned(),
        json!([{
            "url": agent_url,
            "authorized_for": format!("Advertising on {domain}, sold by {}", profile.name),
            "authorization_type": "property_ids",
            "property_ids": ids,
            "delegation_type": if *domain == profile.domain { "direct" } else { "delegated" },
        }]),
    );
    file.insert("last_updated".to_owned(), tradepost_document::format::rfc3339(*now).into());
    Value::Object(file)
}

fn property(id: &str, input: &AdagentsInput<'_>, sold: &SoldProperties) -> Value {
    let mut property = Map::new();
    property.insert("property_id".to_owned(), id.into());
    property.insert("property_type".to_owned(), "website".into());
    let is_own = input.domain == input.profile.domain;
    let name = if is_own { input.profile.name.as_str() } else { input.domain };
    property.insert("name".to_owned(), name.into());
    property.insert("identifiers".to_owned(), json!([{"type": "domain", "value": input.domain}]));
    if !sold.tags.is_empty() {
        property.insert("tags".to_owned(), json!(sold.tags));
    }
    if !sold.channels.is_empty() {
        property.insert("supported_channels".to_owned(), json!(sold.channels));
    }
    property.insert("publisher_domain".to_owned(), input.domain.into());
    Value::Object(property)
}

fn described(tag: &str, publisher: &str) -> Value {
    let name = tag.replace('_', " ");
    json!({"name": name, "description": format!("Pages of {publisher} about {name}")})
}

/// Makes the id of a property from a domain.
fn property_id(domain: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    domain.chars().map(plain).collect()
}

fn texts(list: Option<&Value>) -> impl Iterator<Item = String> {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(|item| item.as_str().map(str::to_owned))
}
