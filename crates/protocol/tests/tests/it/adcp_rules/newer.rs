//! What 3.2 adds to requests against the table of what of that is refused.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use tradepost_adcp::error::AdcpRelease;
use tradepost_adcp::release::added;
use tradepost_adcp::tool::AdcpTool;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;

use crate::published;

/// What may be left unsaid: a key that makes no difference to a read, and facts about a brand.
const HARMLESS: &[&str] = &["idempotency_key", "brand.countries"];

/// What 3.2 adds and this seller does.
const DONE: &[&str] = &["governance_context", "target_agent"];

/// Members with a default that are new in a member which is otherwise as it was: parts of what is refused as a whole,
/// and the direction of rows that are not split.
const OF_OTHERS: &[&str] = &["daypart_targets[].timezone", "sort_direction"];

/// The members of a request of a release, down to those of its members' members.
fn members(release: &str, name: &str) -> Option<BTreeSet<String>> {
    let folder = published::path(&format!("spec/adcp/{release}"))?;
    let mut found = BTreeSet::new();
    gather(&folder, &read(&folder, &format!("{name}.json"))?, "", 0, 0, &mut found);
    Some(found)
}

/// A document; not every one that is referred to is published here.
fn read(folder: &Path, name: &str) -> Option<Value> {
    let text = fs::read_to_string(folder.join(name)).ok()?;
    Some(tradepost_document::json::from_str(&text).unwrap())
}

fn gather(
    folder: &Path,
    schema: &Value,
    place: &str,
    depth: u8,
    hops: u8,
    found: &mut BTreeSet<String>,
) {
    let reference = schema["$ref"].as_str().and_then(|text| text.split_once("/schemas/"));
    let name = reference.and_then(|(_, path)| path.split_once('/')).filter(|_| hops < 8);
    if let Some(known) = name.and_then(|(_, name)| read(folder, name)) {
        gather(folder, &known, place, depth, hops + 1, found);
    }
    for keyword in ["allOf", "oneOf", "anyOf"] {
        for part in schema[keyword].as_array().into_iter().flatten() {
            gather(folder, part, place, depth, hops + 1, found);
        }
    }
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let dot = if place.is_empty() { "" } else { "." };
        let place = format!("{place}{dot}{name}");
        found.insert(place.clone());
        if depth == 0 {
            gather(folder, member, &place, 1, hops, found);
        }
    }
    if depth == 1 && schema["items"].is_object() {
        gather(folder, &schema["items"], &format!("{place}[]"), 1, hops, found);
    }
}

#[test]
fn what_3_2_adds_to_requests_is_refused_or_harmless() {
    let mut checked = 0;
    for tool in AdcpTool::ALL.iter().copied().filter(|tool| *tool != AdcpTool::ComplyTestController)
    {
        let (Some(older), Some(newer)) =
            (members("3.1", tool.request()), members("3.2", tool.request()))
        else {
            return;
        };
        let added: BTreeSet<&str> = newer.difference(&older).map(String::as_str).collect();
        // Members of what is new itself say nothing more.
        let of_new = |place: &&str| {
            let parent = place.rsplit_once('.').map(|(parent, _)| parent.trim_end_matches("[]"));
            parent.is_some_and(|parent| added.contains(parent))
        };
        let expected: BTreeSet<&str> =
            added.iter().copied().filter(|place| !of_new(place)).collect();
        let mut ours: BTreeSet<&str> = added::places(tool).collect();
        ours.retain(|place| newer.contains(*place) && !of_new(place));
        ours.extend(HARMLESS.iter().chain(DONE).filter(|place| added.contains(**place)));
        assert_eq!(ours, expected, "{tool}");
        checked += expected.len();
    }
    assert!(checked > 100, "{checked}");
}

/// The members of a request of a release at any depth that matters, with their published defaults.
fn with_defaults(release: &str, name: &str) -> Option<BTreeMap<String, Option<Value>>> {
    let folder = published::path(&format!("spec/adcp/{release}"))?;
    let mut found = BTreeMap::new();
    descend(&folder, &read(&folder, &format!("{name}.json"))?, "", 0, &mut found);
    Some(found)
}

/// How many members and references deep requests are looked through.
const DEEPEST: u8 = 12;

fn descend(
    folder: &Path,
    schema: &Value,
    place: &str,
    depth: u8,
    found: &mut BTreeMap<String, Option<Value>>,
) {
    if depth > DEEPEST || place.matches('.').count() > 4 {
        return;
    }
    let reference = schema["$ref"].as_str().and_then(|text| text.split_once("/schemas/"));
    let name = reference.and_then(|(_, path)| path.split_once('/'));
    if let Some(known) = name.and_then(|(_, name)| read(folder, name)) {
        descend(folder, &known, place, depth + 1, found);
    }
    for keyword in ["allOf", "oneOf", "anyOf"] {
        for part in schema[keyword].as_array().into_iter().flatten() {
            descend(folder, part, place, depth + 1, found);
        }
    }
    if schema["items"].is_object() {
        descend(folder, &schema["items"], &format!("{place}[]"), depth + 1, found);
    }
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let dot = if place.is_empty() { "" } else { "." };
        let place = format!("{place}{dot}{name}");
        let default = found.entry(place.clone()).or_default();
        if let Some(said) = member.get("default") {
            *default = Some(said.clone());
        }
        descend(folder, member, &place, depth + 1, found);
    }
}

#[test]
fn defaults_that_3_2_adds_are_those_of_the_table() {
    let mut checked = 0;
    for tool in AdcpTool::ALL.iter().copied().filter(|tool| *tool != AdcpTool::ComplyTestController)
    {
        let (Some(older), Some(newer)) =
            (with_defaults("3.1", tool.request()), with_defaults("3.2", tool.request()))
        else {
            return;
        };
        let is_new = |place: &str| {
            let parent = place.rsplit_once('.').map(|(parent, _)| parent.trim_end_matches("[]"));
            !older.contains_key(place) && parent.is_none_or(|parent| older.contains_key(parent))
        };
        let published: BTreeMap<&str, &Value> = newer
            .iter()
            .filter_map(|(place, default)| Some((place.as_str(), default.as_ref()?)))
            .filter(|(place, _)| {
                is_new(place) && !OF_OTHERS.iter().any(|name| place.ends_with(name))
            })
            .collect();
        let ours: Vec<(&str, Value)> = added::defaults(tool).collect();
        let ours: BTreeMap<&str, &Value> =
            ours.iter().map(|(place, value)| (*place, value)).collect();
        assert_eq!(ours, published, "{tool}");
        checked += ours.len();
    }
    assert!(checked >= 7, "{checked}");
}

/// A request with a value at a place.
fn request_with(place: &str, value: &Value) -> Value {
    let Some((first, rest)) = place.split_once('.') else {
        return [(place, value.clone())].into_iter().collect();
    };
    let inner = request_with(rest, value);
    match first.strip_suffix("[]") {
        Some(list) => [(list, Value::from(vec![inner]))].into_iter().collect(),
        None => [(first, inner)].into_iter().collect(),
    }
}

#[test]
fn a_default_is_no_request_and_anything_else_is_one() {
    let other = Value::from("something else");
    for tool in AdcpTool::ALL.iter().copied() {
        let defaults: BTreeMap<&str, Value> = added::defaults(tool).collect();
        for place in added::places(tool) {
            let pointer = format!("/{}", place.replace("[]", "/0").replace('.', "/"));
            let asks = request_with(place, &other);
            // What is in a member that is refused as a whole may be named as well.
            let refused = added::remove_defaults(tool, AdcpRelease::V3_2, &asks);
            assert!(refused.unsupported.contains(&pointer), "{tool} {place}: {refused:?}");
            let kept = refused.request.pointer(&pointer).is_some();
            assert!(kept, "{tool} {place}: what is refused is not taken out");
            let older = added::remove_defaults(tool, AdcpRelease::V3_1, &asks);
            assert_eq!(older.unsupported, Vec::<String>::new());
            assert!(
                matches!(older.request, Cow::Borrowed(same) if *same == asks),
                "{tool} {place}: an older request stays as it is, and is not copied"
            );
            if let Some(default) = defaults.get(place) {
                let says_default = request_with(place, default);
                let settled = added::remove_defaults(tool, AdcpRelease::V3_2, &says_default);
                assert_eq!(settled.unsupported, Vec::<String>::new(), "{tool} {place}");
                assert!(settled.request.pointer(&pointer).is_none(), "{tool} {place} stays");
            }
        }
    }
    let brand = request_with("brand.countries", &other);
    let settled = added::remove_defaults(AdcpTool::GetProducts, AdcpRelease::V3_2, &brand);
    assert_eq!(settled.unsupported, Vec::<String>::new());
    assert_eq!(settled.request.to_string(), r#"{"brand":{}}"#);
}
