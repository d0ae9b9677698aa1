//! Property lists, as stored.

use std::collections::BTreeSet;

use tradepost_document::json::{Value, json};
use tradepost_document::kept_whole;
use tradepost_document::typed::{LenientList, Typed as _};
use tradepost_document::typed_struct;

use crate::reply::object;
use crate::store::{Stored, kept};

kept! {
    /// A property list. Its id is that of its record.
    pub struct PropertyList: PropertyList {
        /// Its id.
        list_id: String,
        /// Name, description, sources, filters and so on, as given.
        given: GivenPropertyList,
        /// Number of its properties when it was made or last changed.
        property_count: u64,
    }
}

typed_struct! {
    /// A property list as given, as far as it is parsed.
    #[derive(Default)]
    pub struct GivenPropertyList {
        /// Its name for people.
        name: Option<String>,
        /// Sources of its properties.
        base_properties: LenientList<PropertySource>,
        /// Exclusions.
        filters: Option<PropertyFilters>;
        /// As it was given.
        whole members
    }

    /// Properties of a publisher, or named one by one.
    pub struct PropertySource {
        /// The domain of the publisher.
        publisher_domain: Option<String>,
        /// Properties that are named.
        identifiers: LenientList<Value>,
    }

    /// Exclusions from a property list.
    pub struct PropertyFilters {
        /// Excluded properties.
        exclude_identifiers: LenientList<Value>,
    }

    /// Identifier of a property (`core/identifier.json`).
    pub(crate) struct Identifier {
        kind: Option<String> = "type",
        value: Option<String>,
    }
}

kept_whole!(GivenPropertyList.members);

impl PropertyList {
    /// Returns its name for people.
    #[must_use]
    pub fn name(&self) -> &str {
        self.given.name.as_deref().unwrap_or_default()
    }

    /// Returns the properties that it stands for, each once (`core/identifier.json`): those that are named
    /// themselves, and the domain of each publisher that is named. Tags and ids within a publisher are the
    /// publisher's to resolve.
    #[must_use]
    pub fn resolve(&self) -> Vec<Value> {
        let filters = self.given.filters.as_ref();
        let excluded =
            |one: &Value| filters.is_some_and(|filters| filters.exclude_identifiers.contains(one));
        let mut found = Vec::new();
        for source in self.given.base_properties.iter() {
            let domain = source.publisher_domain.as_ref();
            let domain = domain.map(|domain| json!({"type": "domain", "value": domain}));
            for one in source.identifiers.iter().cloned().chain(domain) {
                if !excluded(&one) && !found.contains(&one) {
                    found.push(one);
                }
            }
        }
        found
    }
}

/// Relation of an identifier to a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Membership {
    /// In the list.
    Within,
    /// Not in the list.
    Outside,
    /// Excluded by the list.
    Excluded,
    /// Not known: the list is made of all properties, which are not known here.
    Unknown,
}

/// A list, resolved for the check of many identifiers.
pub(crate) struct ResolvedProperties {
    within: BTreeSet<String>,
    excluded: BTreeSet<String>,
    /// True when it is made of all properties.
    all: bool,
}

impl ResolvedProperties {
    /// Returns the relation of an identifier to the list.
    pub(crate) fn membership_of(&self, identifier: &Identifier) -> Membership {
        let name = identifier.canonical();
        // Checked first: an identifier that is both named and excluded is excluded.
        if self.excluded.contains(&name) {
            Membership::Excluded
        } else if self.within.contains(&name) {
            Membership::Within
        } else if self.all {
            Membership::Unknown
        } else {
            Membership::Outside
        }
    }
}

impl PropertyList {
    /// Resolves the list for the check of identifiers.
    pub(crate) fn membership(&self) -> ResolvedProperties {
        let names = |values: &[Value]| {
            let identifiers = values.iter().filter_map(Identifier::read);
            identifiers.map(|identifier| identifier.canonical()).collect()
        };
        let filters = self.given.filters.as_ref();
        ResolvedProperties {
            within: names(&self.resolve()),
            excluded: filters
                .map(|filters| names(&filters.exclude_identifiers))
                .unwrap_or_default(),
            all: !self.given.members.contains_key("base_properties"),
        }
    }
}

impl Identifier {
    /// Returns the form that all identifiers of a property share: domains are compared without case, and a
    /// domain stands for its `www.` and `m.` as well (adagents.json, "Domain matching").
    fn canonical(&self) -> String {
        let kind = self.kind.as_deref().unwrap_or_default();
        let value = self.value.as_deref().unwrap_or_default();
        if kind != "domain" {
            return format!("{kind} {value}");
        }
        let value = value.to_ascii_lowercase();
        let bare =
            value.strip_prefix("www.").or_else(|| value.strip_prefix("m.")).unwrap_or(&value);
        format!("{kind} {bare}")
    }
}

/// Returns the public view of a list (`property/property-list.json`).
#[must_use]
pub fn published(stored: &Stored<PropertyList>) -> Value {
    let list = &stored.thing;
    let account = stored.record.account.as_ref();
    let mut shown = list.given.members.clone();
    shown.extend(object([
        ("list_id", Some(json!(list.list_id))),
        ("property_count", Some(json!(list.property_count))),
        ("created_at", Some(json!(stored.record.created_at))),
        ("updated_at", Some(json!(stored.record.updated_at))),
        ("account", account.map(|account| json!({"account_id": account}))),
    ]));
    Value::Object(shown)
}
