//! What was seen at the ad server, and what the record of an order takes from it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::progress::MAX_VANISHED;
use super::{ProblemKind, RemoteOrder, RemotePhase};
use crate::ad_server::{ExternalId, RemoteId, RemoteLineItemView, RemoteObject, RemoteState};

/// What the ad server has of an order.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenOrder {
    /// The order; `None` when it has none.
    pub order: Option<RemoteObject>,
    /// State of the order, where it is there.
    pub state: Option<RemoteState>,
    /// Its line items.
    pub line_items: Vec<RemoteLineItemView>,
    /// Our ids of creatives that it does not have.
    pub missing_creatives: BTreeSet<String>,
}

impl RemoteOrder {
    /// Stores what the ad server has: what is not there is made again, and what differs is changed again.
    pub(super) fn compare(&mut self, seen: SeenOrder, now: Timestamp) {
        if self.order.is_none() {
            return;
        }
        self.unverified = false;
        let was_lost = std::mem::take(&mut self.lost);
        let mut differs = !seen.missing_creatives.is_empty();
        for creative in &seen.missing_creatives {
            self.creatives.remove(creative);
            let id = ExternalId(creative.clone());
            for item in self.line_items.values_mut() {
                item.creatives.remove(&id);
            }
        }
        for creative in self.creatives.values_mut() {
            creative.seen = true;
        }
        match seen.order {
            None => {
                self.order = None;
                self.line_items.clear();
                differs = true;
            }
            Some(object) => {
                differs |= self.compare_order(object.id, seen.state, now);
                differs |= self.compare_line_items(&seen.line_items);
            }
        }
        self.unverified |= differs;
        if !differs && !was_lost {
            self.vanished = 0;
            return;
        }
        // Each round counts once, however much was gone.
        self.vanished += 1;
        if self.vanished > MAX_VANISHED && self.phase != RemotePhase::Stopped {
            let detail =
                "the ad server confirms objects and changes that it does not have".to_owned();
            self.stop(ProblemKind::Vanished, "verify", detail, now);
        }
    }

    /// Stores the state of the order. Returns true if a change that was confirmed was not done.
    fn compare_order(&mut self, id: RemoteId, state: Option<RemoteState>, now: Timestamp) -> bool {
        let Some(order) = &mut self.order else { return false };
        order.id = id;
        let Some(state) = state else { return false };
        let is_still_draft = state == RemoteState::Draft && order.approved;
        order.approved &= !is_still_draft;
        if order.state == Some(RemoteState::Canceled) && state != RemoteState::Canceled {
            order.state = Some(state);
            return true;
        }
        if order.state != Some(state) {
            self.read_state(state, now);
        }
        is_still_draft
    }

    /// Stores what there is of the line items. Returns true if something that was confirmed was not done.
    fn compare_line_items(&mut self, seen: &[RemoteLineItemView]) -> bool {
        let mut differs = false;
        let made = self.creatives.iter();
        let made: BTreeMap<&str, &RemoteId> =
            made.filter_map(|(id, one)| Some((id.as_str(), one.id.as_ref()?))).collect();
        self.line_items.retain(|_, item| {
            let named = |view: &&RemoteLineItemView| {
                view.object.external_id.as_ref() == Some(&item.sent.external_id)
            };
            let numbered = |view: &&RemoteLineItemView| view.object.id == item.id;
            let Some(view) = seen.iter().find(numbered).or_else(|| seen.iter().find(named)) else {
                differs = true;
                return false;
            };
            item.id = view.object.id.clone();
            if item.canceled {
                return true;
            }
            let mut is_other = false;
            if let Some(state) = view.object.state {
                item.state = Some(state);
                let is_paused = state == RemoteState::Paused;
                if is_paused != item.sent.is_paused
                    && matches!(state, RemoteState::Paused | RemoteState::Delivering)
                {
                    item.sent.is_paused = is_paused;
                    is_other = true;
                }
            }
            let sent = &mut item.sent;
            let start = other_second(view.start_time, sent.start_time);
            is_other |= update(&mut sent.start_time, start);
            let end = other_second(view.end_time, sent.end_time);
            is_other |= update(&mut sent.end_time, end);
            is_other |= update(&mut sent.budget, view.budget);
            if let Some(shown) = &view.creatives {
                let before = item.creatives.len();
                let is_there =
                    |id: &ExternalId| made.get(id.0.as_str()).is_some_and(|id| shown.contains(*id));
                item.creatives.retain(is_there);
                is_other |= item.creatives.len() != before;
            }
            differs |= is_other;
            true
        });
        differs
    }
}

/// Returns the time that an ad server shows if it is of another second than the one that was sent: some keep whole
/// seconds only.
pub(super) fn other_second(seen: Option<Timestamp>, sent: Timestamp) -> Option<Timestamp> {
    seen.filter(|seen| seen.as_second() != sent.as_second())
}

/// Sets what is there in place of what was sent. Returns true if it differs.
fn update<T: PartialEq>(sent: &mut T, seen: Option<T>) -> bool {
    match seen {
        Some(seen) if seen != *sent => {
            *sent = seen;
            true
        }
        Some(_) | None => false,
    }
}
