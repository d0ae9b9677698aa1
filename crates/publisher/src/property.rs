//! Lists of properties, as they are kept.

use serde::{Deserialize, Serialize};
use tradepost_wire::json::{Map, Value, json};

use crate::shelf::{Kept, Kind, Thing};

/// A list of properties. Its id is that of its record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PropertyList {
    /// Its id.
    pub list_id: String,
    /// Name, description, sources, filters and so on, as they were given.
    pub given: Map,
    /// How many properties it came to when it was made or changed.
    pub property_count: u64,
}

impl Thing for PropertyList {
    const KIND: Kind = Kind::PropertyList;
}

impl PropertyList {
    /// Its name for people.
    #[must_use]
    pub fn name(&self) -> &str {
        self.given.get("name").and_then(Value::as_str).unwrap_or_default()
    }

    /// The properties that it stands for, each once (`core/identifier.json`): those that are named
    /// themselves, and of a publisher that is named the domain. Tags and ids within a publisher are
    /// the publisher's to read.
    #[must_use]
    pub fn resolve(&self) -> Vec<Value> {
        let list = |of: Option<&Value>, name: &str| -> Vec<Value> {
            let found = of.and_then(|of| of.get(name)).and_then(Value::as_array);
            found.cloned().unwrap_or_default()
        };
        let excluded = list(self.given.get("filters"), "exclude_identifiers");
        let mut found = Vec::new();
        let sources = self.given.get("base_properties").and_then(Value::as_array);
        for source in sources.into_iter().flatten() {
            let mut named = list(Some(source), "identifiers");
            let domain = source.get("publisher_domain");
            named.extend(domain.map(|domain| json!({"type": "domain", "value": domain})));
            for one in named {
                if !excluded.contains(&one) && !found.contains(&one) {
                    found.push(one);
                }
            }
        }
        found
    }
}

/// What others may see of it (`property/property-list.json`).
#[must_use]
pub fn published(kept: &Kept<PropertyList>) -> Value {
    let list = &kept.thing;
    let mut shown = list.given.clone();
    shown.insert("list_id".to_owned(), json!(list.list_id));
    shown.insert("property_count".to_owned(), json!(list.property_count));
    shown.insert("created_at".to_owned(), json!(kept.record.created_at));
    shown.insert("updated_at".to_owned(), json!(kept.record.updated_at));
    if let Some(account) = &kept.record.account {
        shown.insert("account".to_owned(), json!({"account_id": account}));
    }
    Value::Object(shown)
}
