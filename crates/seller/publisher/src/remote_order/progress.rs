//! What follows from the outcome of a step, in the record of a media buy at the ad server.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::wanted::{WantedOrder, WantedState};
use super::{
    APPROVAL_POLL, BegunStep, ProblemKind, RemoteCreative, RemoteLineItem, RemoteOrder,
    RemoteOrderObject, RemotePhase, RemoteProblem, RemoteStep,
};
use crate::ad_server::{ExternalId, RemoteId, RemoteLineItemView, RemoteObject, RemoteState};

/// Number of times that objects may vanish before a person is asked.
const MAX_VANISHED: u32 = 3;

/// Number of failures in a row after which people are told that the ad server does not answer.
pub const TOLD_FAILURES: u32 = 8;

/// Maximum length of a text of the ad server that is stored, in characters.
const MAX_DETAIL: usize = 500;

/// Usual time between two requests for the delivery of a flight.
pub const REPORT_EVERY: SignedDuration = SignedDuration::from_hours(1);

/// Time after a flight for which its delivery is asked for, because ad servers correct it.
pub const REPORTED_AFTER: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Result of a step that succeeded.
#[derive(Debug, Clone, PartialEq)]
pub enum StepResult {
    /// An object was made, found or changed.
    Object(RemoteObject),
    /// A state was changed or read.
    State(RemoteState),
    /// Something was done that has no result.
    Done,
    /// What there is was read.
    Seen(Box<SeenOrder>),
}

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

/// Reason for which a step did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepError {
    /// It had no effect and can be repeated after a pause.
    Repeat {
        /// Time to wait, where the ad server said one.
        retry_after: Option<Duration>,
        /// True if the ad server was not reached, and not only busy.
        is_failure: bool,
    },
    /// It may have had its effect.
    InDoubt,
    /// An object that it names is not there.
    Missing {
        /// Text of the ad server.
        detail: String,
    },
    /// Refused for good.
    Refused {
        /// Kind of the problem.
        kind: ProblemKind,
        /// Text of the ad server.
        detail: String,
    },
}

impl RemoteOrder {
    /// Stores that a step is begun. Returns false when another one is in progress.
    pub fn begin(&mut self, step: &RemoteStep, now: Timestamp) -> bool {
        if self.begun.is_some() {
            return false;
        }
        // What ends with its flight is begun in any phase, and repeated like everything else.
        self.phase = RemotePhase::Due;
        self.begun = Some(BegunStep { step: step.clone(), at: now, ended: false });
        true
    }

    /// Returns true if this very step was begun at that time and has no outcome yet.
    #[must_use]
    pub fn has_begun(&self, step: &RemoteStep, at: Timestamp) -> bool {
        !step.acts()
            || self.begun.as_ref().is_some_and(|begun| begun.step == *step && begun.at == at)
    }

    /// Stores the result of a step.
    pub fn finish(&mut self, step: &RemoteStep, result: StepResult, now: Timestamp) {
        self.begun = None;
        self.failures = 0;
        self.due_at = Some(now);
        if step.acts() {
            self.note(step, now);
            // A receiver of deals cannot be asked what it has.
            self.unverified |= !step.is_of_deal();
        }
        match (step, result) {
            (_, StepResult::Seen(seen)) => self.compare(*seen, now),
            (RemoteStep::CreateOrder { order }, StepResult::Object(object)) => {
                let sent = order.clone();
                let RemoteObject { id, state, .. } = object;
                self.order = Some(RemoteOrderObject { id, state, sent, approved: false });
                self.line_items.clear();
            }
            (RemoteStep::CreateLineItem { line_item }, StepResult::Object(object)) => {
                let made = RemoteLineItem {
                    id: object.id,
                    state: object.state,
                    sent: line_item.clone(),
                    approved: false,
                    canceled: false,
                    creatives: BTreeSet::new(),
                    refused: BTreeSet::new(),
                };
                self.line_items.insert(line_item.package_id.clone(), made);
            }
            (RemoteStep::CreateCreative { creative }, StepResult::Object(object)) => {
                let made = RemoteCreative { id: Some(object.id), seen: false, refusal: None };
                self.creatives.insert(creative.external_id.0.clone(), made);
            }
            (RemoteStep::ChangeOrder { order }, _) => {
                if let Some(known) = &mut self.order {
                    known.sent = order.clone();
                }
            }
            (RemoteStep::ChangeLineItem { line_item }, result) => {
                if let Some(known) = self.line_items.get_mut(&line_item.package_id) {
                    known.sent = line_item.clone();
                    if let StepResult::Object(object) = result {
                        known.id = object.id;
                        known.state = object.state.or(known.state);
                    }
                }
            }
            (RemoteStep::ApproveOrder, StepResult::State(state)) => self.approved(state, now),
            (RemoteStep::ReadState, StepResult::State(state)) => {
                self.read_state(state, now);
            }
            (RemoteStep::PutDeal { package_id, deal }, StepResult::Object(object)) => {
                self.sent_deal(package_id, deal, object, now);
            }
            (RemoteStep::CloseDeal { package_id }, _) => self.closed_deal(package_id),
            (RemoteStep::CancelOrder, _) => {
                if let Some(order) = &mut self.order {
                    order.state = Some(RemoteState::Canceled);
                }
            }
            (step, result) => self.finish_part(step, &result),
        }
    }

    /// Stores the result of a step that concerns one line item.
    fn finish_part(&mut self, step: &RemoteStep, result: &StepResult) {
        let item = step.package_id().and_then(|package_id| self.line_items.get_mut(package_id));
        let Some(item) = item else { return };
        match step {
            RemoteStep::Associate { creative, .. } => {
                item.creatives.insert(creative.clone());
            }
            RemoteStep::Dissociate { creative, .. } => {
                item.creatives.remove(creative);
            }
            RemoteStep::ApproveLineItem { .. } => item.approved = true,
            RemoteStep::PauseLineItem { .. } => item.sent.is_paused = true,
            RemoteStep::ResumeLineItem { .. } => item.sent.is_paused = false,
            RemoteStep::CancelLineItem { .. } => item.canceled = true,
            RemoteStep::CreateOrder { .. }
            | RemoteStep::ChangeOrder { .. }
            | RemoteStep::CreateLineItem { .. }
            | RemoteStep::ChangeLineItem { .. }
            | RemoteStep::CreateCreative { .. }
            | RemoteStep::ApproveOrder
            | RemoteStep::CancelOrder
            | RemoteStep::PutDeal { .. }
            | RemoteStep::CloseDeal { .. }
            | RemoteStep::ReadState
            | RemoteStep::Verify => {}
        }
        if let StepResult::State(state) = result {
            item.state = Some(*state);
        }
    }

    fn approved(&mut self, state: RemoteState, now: Timestamp) {
        if let Some(order) = &mut self.order {
            order.approved = true;
            order.state = Some(state);
        }
        for item in self.line_items.values_mut() {
            item.approved = true;
        }
        self.read_state(state, now);
        // The first report as soon as the flight has begun; the settings say when the next ones follow.
        let first = self.order.as_ref().map_or(now, |order| order.sent.start_time.max(now));
        self.report_due_at = self.report_due_at.or(Some(first));
    }

    /// Has it looked at again in a while: a person elsewhere has to approve it.
    fn wait_for_approval(&mut self, now: Timestamp) {
        self.phase = RemotePhase::Waits;
        self.due_at = now.checked_add(APPROVAL_POLL).ok();
    }

    fn read_state(&mut self, state: RemoteState, now: Timestamp) {
        if let Some(order) = &mut self.order {
            order.state = Some(state);
        }
        match state {
            RemoteState::PendingApproval => self.wait_for_approval(now),
            RemoteState::Rejected => {
                let detail = "the order was declined at the ad server".to_owned();
                self.stop(ProblemKind::Declined, "read_state", detail, now);
            }
            RemoteState::Canceled if !self.undoing => {
                let detail = "the order was canceled at the ad server".to_owned();
                self.stop(ProblemKind::Declined, "read_state", detail, now);
            }
            RemoteState::Draft => {
                // It has confirmed the approval and did not do it.
                self.unverified = true;
            }
            RemoteState::Ready
            | RemoteState::Delivering
            | RemoteState::Paused
            | RemoteState::Completed
            | RemoteState::Canceled => self.phase = RemotePhase::Due,
        }
    }

    /// Stores that a step did not succeed. `pause` is the time to wait after a number of failures.
    pub fn fail(
        &mut self,
        step: &RemoteStep,
        error: StepError,
        pause: impl Fn(u32) -> Duration,
        now: Timestamp,
    ) {
        let wait = |pause: Duration| {
            let pause = SignedDuration::try_from(pause).unwrap_or(SignedDuration::MAX);
            now.checked_add(pause.max(SignedDuration::from_millis(1))).unwrap_or(Timestamp::MAX)
        };
        match error {
            StepError::Repeat { retry_after, is_failure } => {
                self.begun = None;
                self.failures = self.failures.saturating_add(1);
                let pause = pause(self.failures).max(retry_after.unwrap_or_default());
                self.due_at = Some(wait(pause));
                if !is_failure {
                    // Busy is no outage of which people have to be told.
                    self.failures = self.failures.min(TOLD_FAILURES - 1);
                }
            }
            StepError::InDoubt => {
                // What was begun stays so, until it was looked up.
                if let Some(begun) = &mut self.begun {
                    begun.ended = true;
                }
                self.failures = self.failures.saturating_add(1);
                self.due_at = Some(wait(pause(self.failures)));
            }
            StepError::Missing { .. } if matches!(step, RemoteStep::CancelOrder) => {
                self.finish(step, StepResult::State(RemoteState::Canceled), now);
            }
            StepError::Missing { .. }
                if matches!(
                    step,
                    RemoteStep::CancelLineItem { .. } | RemoteStep::CloseDeal { .. }
                ) =>
            {
                self.finish(step, StepResult::Done, now);
            }
            // Something that was confirmed before may be gone: it is looked for, and made again.
            StepError::Missing { .. }
                if self.order.is_some() && self.vanished < MAX_VANISHED && !step.is_of_deal() =>
            {
                self.begun = None;
                self.lost = true;
                self.due_at = Some(now);
            }
            StepError::Missing { detail } => self.refuse(step, ProblemKind::Refused, detail, now),
            StepError::Refused { kind, detail } => self.refuse(step, kind, detail, now),
        }
    }

    /// Stores a refusal that repeating does not help.
    fn refuse(&mut self, step: &RemoteStep, kind: ProblemKind, detail: String, now: Timestamp) {
        self.begun = None;
        let is_access = matches!(kind, ProblemKind::Credential | ProblemKind::Permission);
        if step.is_of_creative() && kind != ProblemKind::Credential {
            self.refuse_creative(step, &detail);
            self.raise(kind, step.name(), detail, now);
            self.due_at = Some(now);
            return;
        }
        // Deals are independent of each other: the others are made, or changed.
        if let RemoteStep::PutDeal { package_id, deal } = step
            && !is_access
        {
            self.refuse_deal(package_id, deal, &detail);
            self.raise(kind, step.name(), detail, now);
            self.due_at = Some(now);
            return;
        }
        // A part was refused and nothing of it may run: the rest does not stay behind as a draft.
        if !is_access && self.is_draft() && !self.undoing {
            self.raise(kind, step.name(), detail, now);
            self.undoing = true;
            self.phase = RemotePhase::Due;
            self.due_at = Some(now);
            return;
        }
        self.stop(kind, step.name(), detail, now);
    }

    fn refuse_creative(&mut self, step: &RemoteStep, detail: &str) {
        if let RemoteStep::CreateCreative { creative } = step {
            let refusal = Some(detail.chars().take(MAX_DETAIL).collect());
            let refused = RemoteCreative { id: None, seen: false, refusal };
            self.creatives.insert(creative.external_id.0.clone(), refused);
        }
        let item = step.package_id().and_then(|package_id| self.line_items.get_mut(package_id));
        let Some(item) = item else { return };
        if let RemoteStep::Associate { creative, .. } = step {
            item.refused.insert(creative.clone());
        } else if let RemoteStep::Dissociate { creative, .. } = step {
            item.creatives.remove(creative);
        }
    }

    /// Stops the work until a person has acted.
    pub fn stop(&mut self, kind: ProblemKind, step: &str, detail: String, now: Timestamp) {
        self.raise(kind, step, detail, now);
        self.phase = RemotePhase::Stopped;
        self.due_at = None;
    }

    pub(super) fn raise(&mut self, kind: ProblemKind, step: &str, detail: String, now: Timestamp) {
        let detail = detail.chars().take(MAX_DETAIL).collect();
        self.problem = Some(RemoteProblem { at: now, kind, step: step.to_owned(), detail });
    }

    /// Stores what was looked up of a step in doubt: the object that it has made, or that it did nothing.
    pub fn resolve(&mut self, step: &RemoteStep, found: Option<StepResult>, now: Timestamp) {
        match found {
            Some(result) => self.finish(step, result, now),
            None => {
                self.begun = None;
                self.due_at = Some(now);
                self.doubt_deal(step);
            }
        }
    }

    /// Stores that no step is left for what is wanted; `None` when the buy is gone. Returns false when there was a
    /// change since the work began.
    pub fn rest(&mut self, marks: u64, wanted: Option<&WantedOrder>, now: Timestamp) -> bool {
        if self.marks != marks {
            return false;
        }
        self.rested_at = Some(now);
        let of_deals = wanted.and_then(|wanted| self.rest_deals(wanted, now));
        if of_deals == Some(RemotePhase::Stopped) {
            self.phase = RemotePhase::Stopped;
            self.due_at = None;
            return true;
        }
        self.rest_order(wanted, now);
        if of_deals == Some(RemotePhase::Waits) && self.phase == RemotePhase::Settled {
            self.wait_for_approval(now);
        }
        true
    }

    /// Stores that no step is left for the order.
    fn rest_order(&mut self, wanted: Option<&WantedOrder>, now: Timestamp) {
        let state = wanted.map_or(WantedState::None, |wanted| wanted.state);
        let unusable = wanted.map(|wanted| wanted.unusable.as_slice()).unwrap_or_default();
        let is_pending = self
            .order
            .as_ref()
            .is_some_and(|order| order.state == Some(RemoteState::PendingApproval));
        let is_missing = self.order.is_none() && wanted.is_some_and(|wanted| wanted.needs_order);
        let is_over = self.order.as_ref().is_some_and(RemoteOrderObject::is_over);
        if state == WantedState::Live && (self.undoing || is_over) {
            self.phase = RemotePhase::Stopped;
        } else if state == WantedState::Live && is_pending {
            self.wait_for_approval(now);
            return;
        } else if state == WantedState::Over && is_missing && self.problem.is_none() {
            let detail = "the ad server has no order for it".to_owned();
            self.stop(ProblemKind::TooLate, "create_order", detail, now);
            return;
        } else {
            self.phase = RemotePhase::Settled;
            let is_live = state == WantedState::Live;
            if is_live && !unusable.is_empty() {
                let detail = format!(
                    "has nothing that an ad server delivers in the creatives {}",
                    unusable.join(", ")
                );
                if self.problem.as_ref().is_none_or(|known| known.detail != detail) {
                    self.raise(ProblemKind::Untranslatable, "create_creative", detail, now);
                }
            } else if !is_live || !self.has_refused_creatives() {
                self.problem = None;
            }
        }
        self.due_at = None;
    }

    fn has_refused_creatives(&self) -> bool {
        self.creatives.values().any(|creative| creative.refusal.is_some())
            || self.line_items.values().any(|item| !item.refused.is_empty())
    }

    /// Returns the time of the next report after one at a moment; `None` once the flight is long over.
    #[must_use]
    pub fn report_after(&self, now: Timestamp, every: SignedDuration) -> Option<Timestamp> {
        let last = self.ends_at.checked_add(REPORTED_AFTER).unwrap_or(Timestamp::MAX);
        now.checked_add(every).ok().filter(|next| *next <= last)
    }

    /// Stores what the ad server has: what is not there is made again, and what differs is changed again.
    fn compare(&mut self, seen: SeenOrder, now: Timestamp) {
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
            is_other |= adopt(&mut sent.start_time, start);
            let end = other_second(view.end_time, sent.end_time);
            is_other |= adopt(&mut sent.end_time, end);
            is_other |= adopt(&mut sent.budget, view.budget);
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
fn adopt<T: PartialEq>(sent: &mut T, seen: Option<T>) -> bool {
    match seen {
        Some(seen) if seen != *sent => {
            *sent = seen;
            true
        }
        Some(_) | None => false,
    }
}
