//! Lists of properties, as they are kept.

use std::collections::BTreeSet;

use tradepost_wire::adcp::rules::typed::{LenientList, Typed as _};
use tradepost_wire::json::{Value, json};
use tradepost_wire::{form, kept_whole};

use crate::reply::object;
use crate::shelf::{Stored, kept};

kept! {
    /// A list of properties. Its id is that of its record.
    pub struct PropertyList: PropertyList {
        /// Its id.
        list_id: String,
        /// Name, description, sources, filters and so on, as they were given.
        given: GivenPropertyList,
        /// How many properties it came to when it was made or changed.
        property_count: u64,
    }
}

form! {
    /// A list as it is given, as far as it is read.
    #[derive(Default)]
    pub struct GivenPropertyList {
        /// Its name for people.
        name: Option<String>,
        /// What it is made of.
        base_properties: LenientList<PropertySource>,
        /// What is left out of it.
        filters: Option<PropertyFilters>;
        /// As it was given.
        whole members
    }

    /// Properties of a publisher, or named one by one.
    pub struct PropertySource {
        /// The domain of the publisher.
        publisher_domain: Option<String>,
        /// Those that are named.
        identifiers: LenientList<Value>,
    }

    /// What is left out.
    pub struct PropertyFilters {
        /// These.
        exclude_identifiers: LenientList<Value>,
    }

    /// What a property is known by (`core/identifier.json`).
    pub(crate) struct Identifier {
        kind: Option<String> = "type",
        value: Option<String>,
    }
}

kept_whole!(GivenPropertyList.members);

impl PropertyList {
    /// Its name for people.
    #[must_use]
    pub fn name(&self) -> &str {
        self.given.name.as_deref().unwrap_or_default()
    }

    /// The properties that it stands for, each once (`core/identifier.json`): those that are named
    /// themselves, and of a publisher that is named the domain. Tags and ids within a publisher are
    /// the publisher's to read.
    #[must_use]
    pub fn resolve(&self) -> Vec<Value> {
        let filters = self.given.filters.as_ref();
        let excluded = |one: &Value| filters.is_some_and(|it| it.exclude_identifiers.contains(one));
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

/// How an identifier stands to a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Membership {
    /// It is in the list.
    Within,
    /// It is not.
    Outside,
    /// The list excludes it.
    Excluded,
    /// The list is made of all properties, and nobody here knows all.
    Unknown,
}

/// A list, resolved to be asked about many identifiers.
pub(crate) struct ResolvedProperties {
    within: BTreeSet<String>,
    excluded: BTreeSet<String>,
    /// Whether it is made of all properties.
    all: bool,
}

impl ResolvedProperties {
    /// How an identifier stands to the list.
    pub(crate) fn of(&self, identifier: &Identifier) -> Membership {
        let name = identifier.canonical();
        // First: what is both named and excluded is excluded.
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
    /// What is in it.
    pub(crate) fn membership(&self) -> ResolvedProperties {
        let names = |values: &[Value]| {
            values.iter().filter_map(Identifier::read).map(|it| it.canonical()).collect()
        };
        let filters = self.given.filters.as_ref();
        ResolvedProperties {
            within: names(&self.resolve()),
            excluded: filters.map(|it| names(&it.exclude_identifiers)).unwrap_or_default(),
            all: !self.given.members.contains_key("base_properties"),
        }
    }
}

impl Identifier {
    /// What two identifiers of the same property have in common: domains do not tell capital letters
    /// apart, and a domain stands for its `www.` and `m.` as well (adagents.json, "Domain matching").
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

/// What others may see of it (`property/property-list.json`).
#[must_use]
pub fn published(kept: &Stored<PropertyList>) -> Value {
    let list = &kept.thing;
    let account = kept.record.account.as_ref();
    let mut shown = list.given.members.clone();
    shown.extend(object([
        ("list_id", Some(json!(list.list_id))),
        ("property_count", Some(json!(list.property_count))),
        ("created_at", Some(json!(kept.record.created_at))),
        ("updated_at", Some(json!(kept.record.updated_at))),
        ("account", account.map(|account| json!({"account_id": account}))),
    ]));
    Value::Object(shown)
}
