//! The difference between what was sold and what the ad server has.

use std::collections::BTreeSet;

use tradepost_document::catalog::Vocabulary as _;

use super::RemoteOrder;
use super::deals;
use super::seen::{SeenOrder, other_second};
use super::wanted::{WantedOrder, WantedState};
use crate::ad_server::{ExternalId, RemoteLineItemView, RemoteState};

tradepost_document::words! {
    /// Kind of a difference.
    pub enum DifferenceKind {
        /// It was sold, and the ad server does not have it.
        Missing = "missing",
        /// The ad server has it, and it was not sold.
        Extra = "extra",
        /// The ad server has it under another id than before.
        ChangedId = "changed_id",
        /// Its state is another one.
        State = "state",
        /// Its dates are other ones.
        Dates = "dates",
        /// Its budget is another one.
        Budget = "budget",
        /// Its price is another one.
        Price = "price",
    }
}

/// A difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Kind.
    pub kind: DifferenceKind,
    /// Kind of object: `order`, `line_item`, `creative` or `deal`.
    pub object: &'static str,
    /// Our id, or that of the ad server where it has none of ours.
    pub id: String,
    /// What was sold.
    pub sold: Option<String>,
    /// What the ad server has.
    pub found: Option<String>,
}

/// Returns the differences between what is wanted and what was seen at the ad server. Deals are compared with what
/// their receiver has confirmed last, because it cannot be asked.
#[must_use]
pub fn differences(
    wanted: &WantedOrder,
    remote: &RemoteOrder,
    seen: &SeenOrder,
) -> Vec<Difference> {
    let mut found = Vec::new();
    if wanted.state == WantedState::None {
        return found;
    }
    deals::differences(wanted, remote, &mut found);
    if !wanted.needs_order {
        return found;
    }
    let id = wanted.order.external_id.0.clone();
    let of_order = |kind, sold: Option<String>, seen: Option<String>| Difference {
        kind,
        object: "order",
        id: id.clone(),
        sold,
        found: seen,
    };
    let Some(order) = &seen.order else {
        if wanted.state == WantedState::Live {
            found.push(of_order(DifferenceKind::Missing, Some("an order".to_owned()), None));
        }
        return found;
    };
    if let Some(known) = remote.order.as_ref().filter(|known| known.id != order.id) {
        let known = Some(known.id.0.clone());
        found.push(of_order(DifferenceKind::ChangedId, known, Some(order.id.0.clone())));
    }
    if let Some(state) = seen.state
        && let Some(expected) = unexpected(wanted.state, state)
    {
        let state = Some(state.name().to_owned());
        found.push(of_order(DifferenceKind::State, Some(expected.to_owned()), state));
    }
    if wanted.state == WantedState::Live {
        line_items(wanted, remote, &seen.line_items, &mut found);
    }
    for creative in &seen.missing_creatives {
        found.push(Difference {
            kind: DifferenceKind::Missing,
            object: "creative",
            id: creative.clone(),
            sold: Some("a creative".to_owned()),
            found: None,
        });
    }
    found
}

/// Returns the state that an order should have, if it has another one.
const fn unexpected(wanted: WantedState, state: RemoteState) -> Option<&'static str> {
    match (wanted, state) {
        (WantedState::Live, RemoteState::Draft | RemoteState::Canceled | RemoteState::Rejected) => {
            Some("approved")
        }
        (WantedState::Canceled, RemoteState::Canceled | RemoteState::Rejected) => None,
        (WantedState::Canceled, _) => Some("canceled"),
        (WantedState::Over, RemoteState::Draft) => Some("canceled"),
        (WantedState::Live | WantedState::Over | WantedState::None, _) => None,
    }
}

/// Compares the line items of an order with those that were sold, and adds the differences.
fn line_items(
    wanted: &WantedOrder,
    remote: &RemoteOrder,
    seen: &[RemoteLineItemView],
    found: &mut Vec<Difference>,
) {
    let mut matched = BTreeSet::new();
    for item in &wanted.line_items {
        let spec = &item.spec;
        let of_item = |kind, sold: String, there: Option<String>| Difference {
            kind,
            object: "line_item",
            id: spec.external_id.0.clone(),
            sold: Some(sold),
            found: there,
        };
        let known = remote.line_items.get(&spec.package_id);
        let is_ours = |view: &&RemoteLineItemView| {
            view.object.external_id.as_ref() == Some(&spec.external_id)
                || known.is_some_and(|known| known.id == view.object.id)
        };
        let Some(view) = seen.iter().find(is_ours) else {
            if !item.is_canceled {
                found.push(of_item(DifferenceKind::Missing, "a line item".to_owned(), None));
            }
            continue;
        };
        matched.insert(view.object.id.clone());
        if let Some(known) = known.filter(|known| known.id != view.object.id) {
            let actual = Some(view.object.id.0.clone());
            found.push(of_item(DifferenceKind::ChangedId, known.id.0.clone(), actual));
        }
        if let Some(state) = view.object.state {
            let is_over = matches!(state, RemoteState::Canceled | RemoteState::Completed);
            let expected = match (item.is_canceled, spec.is_paused) {
                (true, _) if !is_over => Some("canceled"),
                (false, true) if state == RemoteState::Delivering => Some("paused"),
                (false, false) if state == RemoteState::Paused => Some("running"),
                (false, _) if matches!(state, RemoteState::Canceled | RemoteState::Rejected) => {
                    Some("running")
                }
                (true | false, _) => None,
            };
            if let Some(expected) = expected {
                let actual = Some(state.name().to_owned());
                found.push(of_item(DifferenceKind::State, expected.to_owned(), actual));
            }
        }
        if item.is_canceled {
            continue;
        }
        let dates = |start: &dyn std::fmt::Display, end: &dyn std::fmt::Display| {
            format!("{start} to {end}")
        };
        let start = other_second(view.start_time, spec.start_time).unwrap_or(spec.start_time);
        let end = other_second(view.end_time, spec.end_time).unwrap_or(spec.end_time);
        if start != spec.start_time || end != spec.end_time {
            let sold = dates(&spec.start_time, &spec.end_time);
            found.push(of_item(DifferenceKind::Dates, sold, Some(dates(&start, &end))));
        }
        if let Some(budget) = view.budget.filter(|budget| *budget != spec.budget) {
            let sold = spec.budget.to_string();
            found.push(of_item(DifferenceKind::Budget, sold, Some(budget.to_string())));
        }
    }
    let extra = seen.iter().filter(|view| !matched.contains(&view.object.id));
    for view in extra {
        if view.object.state == Some(RemoteState::Canceled) {
            continue;
        }
        let name = |id: &ExternalId| id.0.clone();
        let id = view.object.external_id.as_ref().map_or_else(|| view.object.id.0.clone(), name);
        found.push(Difference {
            kind: DifferenceKind::Extra,
            object: "line_item",
            id,
            sold: None,
            found: Some(view.object.id.0.clone()),
        });
    }
}
