//! What 3.2 adds to requests against the table of what of that is refused.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use tradepost_wire::adcp::release;
use tradepost_wire::adcp::tool::Tool;
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::Value;

use crate::published;

/// What may be left unsaid: a key that makes no difference to a read, and facts about a brand.
const HARMLESS: &[&str] = &["idempotency_key", "brand.countries"];

/// The members of a request of a release, down to those of its members' members.
fn members(release: &str, name: &str) -> Option<BTreeSet<String>> {
    let folder = published::path(&format!("spec/adcp/{release}"))?;
    let mut found = BTreeSet::new();
    gather(&folder, &read(&folder, &format!("{name}.json"))?, "", (0, 0), &mut found);
    Some(found)
}

/// A document; not every one that is referred to is published here.
fn read(folder: &Path, name: &str) -> Option<Value> {
    let text = fs::read_to_string(folder.join(name)).ok()?;
    Some(tradepost_wire::json::from_str(&text).unwrap())
}

fn gather(
    folder: &Path,
    schema: &Value,
    place: &str,
    (depth, hops): (u8, u8),
    found: &mut BTreeSet<String>,
) {
    let reference = schema["$ref"].as_str().and_then(|text| text.split_once("/schemas/"));
    let name = reference.and_then(|(_, path)| path.split_once('/')).filter(|_| hops < 8);
    if let Some(known) = name.and_then(|(_, name)| read(folder, name)) {
        gather(folder, &known, place, (depth, hops + 1), found);
    }
    for keyword in ["allOf", "oneOf", "anyOf"] {
        for part in schema[keyword].as_array().into_iter().flatten() {
            gather(folder, part, place, (depth, hops + 1), found);
        }
    }
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let dot = if place.is_empty() { "" } else { "." };
        let place = format!("{place}{dot}{name}");
        found.insert(place.clone());
        if depth == 0 {
            gather(folder, member, &place, (1, hops), found);
        }
    }
    if depth == 1 && schema["items"].is_object() {
        gather(folder, &schema["items"], &format!("{place}[]"), (1, hops), found);
    }
}

#[test]
fn whatever_3_2_adds_to_a_request_is_refused_or_harmless() {
    let mut judged = 0;
    for tool in Tool::ALL.iter().copied().filter(|tool| *tool != Tool::ComplyTestController) {
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
        let expected: BTreeSet<&str> = added.iter().copied().filter(|it| !of_new(it)).collect();
        let mut ours: BTreeSet<&str> = release::places(tool).collect();
        ours.retain(|place| newer.contains(*place) && !of_new(place));
        ours.extend(HARMLESS.iter().filter(|place| added.contains(**place)));
        assert_eq!(ours, expected, "{tool}");
        judged += expected.len();
    }
    assert!(judged > 100, "{judged}");
}
