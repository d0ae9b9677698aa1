//! The decision table of docs/requirements/aap.md: each row a request and the whole answer.

use std::collections::BTreeSet;

use crate::beside;

mod inventory;
mod lead;
mod lead_rules;
mod protocol;
mod transport;

/// Rows that a later change owns. The list may only shrink.
const DEFERRED: &[(&str, &str)] = &[("E-024", "the 2.0 profile, which AAP has not published")];

#[test]
fn every_decision_row_is_tested_or_deferred_with_a_reason() {
    let sources = concat!(
        include_str!("auth.rs"),
        include_str!("decisions/inventory.rs"),
        include_str!("decisions/lead.rs"),
        include_str!("decisions/lead_rules.rs"),
        include_str!("decisions/protocol.rs"),
        include_str!("decisions/transport.rs"),
        include_str!("delivery/leads.rs"),
    );
    let tested: BTreeSet<_> = sources
        .match_indices("\"E-")
        .map(|(start, _)| sources[start + 1..start + 6].to_owned())
        .collect();
    let deferred: BTreeSet<_> = DEFERRED.iter().map(|(row, _)| (*row).to_owned()).collect();
    let page = beside::workspace().join("docs/requirements/aap.md");
    let all: BTreeSet<_> = std::fs::read_to_string(page)
        .unwrap()
        .lines()
        .filter_map(|line| Some(format!("E-{}", line.strip_prefix("| E-")?.get(..3)?)))
        .collect();
    assert!(all.len() > 100, "the table was not found");
    let missing: Vec<_> =
        all.iter().filter(|row| !tested.contains(*row) && !deferred.contains(*row)).collect();
    assert!(missing.is_empty(), "not tested: {missing:?}");
    assert!(tested.is_disjoint(&deferred), "tested by now: {:?}", tested.intersection(&deferred));
    assert!(tested.is_subset(&all), "no such row: {:?}", tested.difference(&all));
}
