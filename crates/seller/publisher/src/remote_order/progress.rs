//! What follows from the outcome of a step, in the record of a media buy at the ad server.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::seen::SeenOrder;
use super::wanted::{Untranslatable, WantedOrder, WantedState};
use super::{
    APPROVAL_POLL, BegunStep, ProblemKind, RemoteCreative, RemoteDeal, RemoteLineItem, RemoteOrder,
    RemoteOrderObject, RemotePhase, RemoteProblem, RemoteStep,
};
use crate::ad_server::{RemoteObject, RemoteState};

/// Number of times that objects may vanish before a person is asked.
pub(super) const MAX_VANISHED: u32 = 3;

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
pub enum RemoteStepResult {
    /// An object was made, found or changed.
    Object(RemoteObject),
    /// A state was changed or read.
    State(RemoteState),
    /// Something was done that has no result.
    Done,
    /// What there is was read.
    Seen(Box<SeenOrder>),
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
    /// The object is in a state in which it cannot be done.
    Conflict {
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
        // A process that takes over finds it by this time.
        self.due_at = Some(self.due_at.unwrap_or(now));
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
    pub fn finish(&mut self, step: &RemoteStep, result: RemoteStepResult, now: Timestamp) {
        self.begun = None;
        self.failures = 0;
        self.due_at = Some(now);
        if step.acts() {
            if !self.is_question(step, &result) {
                self.note(step, now);
            }
            // A receiver of deals cannot be asked what it has.
            self.unverified |= !step.is_of_deal();
        }
        match (step, result) {
            (_, RemoteStepResult::Seen(seen)) => self.compare(*seen, now),
            (RemoteStep::CreateOrder { order }, RemoteStepResult::Object(object)) => {
                let sent = order.clone();
                let RemoteObject { id, state, .. } = object;
                self.order = Some(RemoteOrderObject { id, state, sent, approved: false });
                self.line_items.clear();
            }
            (RemoteStep::CreateLineItem { line_item }, RemoteStepResult::Object(object)) => {
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
            (RemoteStep::CreateCreative { creative }, RemoteStepResult::Object(object)) => {
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
                    if let RemoteStepResult::Object(object) = result {
                        known.id = object.id;
                        known.state = object.state.or(known.state);
                    }
                }
            }
            (RemoteStep::ApproveOrder, RemoteStepResult::State(state)) => self.approved(state, now),
            (RemoteStep::ReadState, RemoteStepResult::State(state)) => {
                self.read_state(state, now);
            }
            (RemoteStep::PutDeal { package_id, deal }, RemoteStepResult::Object(object)) => {
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
    fn finish_part(&mut self, step: &RemoteStep, result: &RemoteStepResult) {
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
        if let RemoteStepResult::State(state) = result {
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

    /// Has it looked at again in a while: a person elsewhere has to approve it, or a deal of it.
    fn wait_for_approval(&mut self, now: Timestamp) {
        self.deals.values_mut().for_each(RemoteDeal::ask_state);
        self.phase = RemotePhase::Waits;
        self.due_at = now.checked_add(APPROVAL_POLL).ok();
    }

    pub(super) fn read_state(&mut self, state: RemoteState, now: Timestamp) {
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
                self.repeat_at(wait(pause));
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
                self.repeat_at(wait(pause(self.failures)));
            }
            StepError::Missing { .. } if matches!(step, RemoteStep::CancelOrder) => {
                self.finish(step, RemoteStepResult::State(RemoteState::Canceled), now);
            }
            StepError::Missing { .. }
                if matches!(
                    step,
                    RemoteStep::CancelLineItem { .. } | RemoteStep::CloseDeal { .. }
                ) =>
            {
                self.finish(step, RemoteStepResult::Done, now);
            }
            // It was closed by a request whose answer was lost.
            StepError::Conflict { .. } if matches!(step, RemoteStep::CloseDeal { .. }) => {
                self.finish(step, RemoteStepResult::Done, now);
            }
            // Something that was confirmed before may be gone: it is looked for, and made again.
            StepError::Missing { .. }
                if self.order.is_some() && self.vanished < MAX_VANISHED && !step.is_of_deal() =>
            {
                self.begun = None;
                self.lost = true;
                self.due_at = Some(now);
            }
            StepError::Missing { detail } | StepError::Conflict { detail } => {
                self.refuse(step, ProblemKind::Refused, detail, now);
            }
            StepError::Refused { kind, detail } => self.refuse(step, kind, detail, now),
        }
    }

    /// Has a step repeated at a time, in any phase.
    fn repeat_at(&mut self, at: Timestamp) {
        if matches!(self.phase, RemotePhase::Stopped | RemotePhase::Settled) {
            self.phase = RemotePhase::Due;
        }
        self.due_at = Some(at);
    }

    /// Stores a refusal that repeating does not help.
    fn refuse(&mut self, step: &RemoteStep, kind: ProblemKind, detail: String, now: Timestamp) {
        let begun = self.begun.take();
        let is_access = matches!(kind, ProblemKind::Credential | ProblemKind::Permission);
        if step.is_of_creative() && kind != ProblemKind::Credential {
            self.refuse_creative(step, &detail);
            self.raise(kind, step.name(), detail, now);
            self.due_at = Some(now);
            return;
        }
        // Deals are independent of each other: the others are made, changed or closed.
        if step.is_of_deal() && !is_access {
            self.refuse_deal(step, &detail);
            self.raise(kind, step.name(), detail, now);
            self.due_at = Some(now);
            return;
        }
        // A part was refused and nothing of it may run: the rest does not stay behind as a draft.
        // A cancellation that is refused would be refused again.
        let is_cancellation = matches!(step, RemoteStep::CancelOrder);
        if !is_access && self.is_draft() && !self.undoing && !is_cancellation {
            self.raise(kind, step.name(), detail, now);
            self.undoing = true;
            self.phase = RemotePhase::Due;
            self.due_at = Some(now);
            return;
        }
        // A step that was begun before an end and is refused after it was no try to end anything.
        self.note_ends(begun.map_or(now, |begun| begun.at));
        self.stop(kind, step.name(), detail, now);
    }

    /// Stores that what had ended at a moment was handled. Another process, whose clock is behind, takes nothing of it back.
    pub fn note_ends(&mut self, at: Timestamp) {
        self.ends_handled_at = self.ends_handled_at.max(Some(at));
    }

    fn refuse_creative(&mut self, step: &RemoteStep, detail: &str) {
        if let RemoteStep::CreateCreative { creative } = step {
            let refusal = Some(cut(detail));
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
        let detail = cut(&detail);
        self.problem = Some(RemoteProblem { at: now, kind, step: step.to_owned(), detail });
    }

    /// Stores what was looked up of a step in doubt: the object that it has made, or that it did nothing.
    pub fn resolve(&mut self, step: &RemoteStep, found: Option<RemoteStepResult>, now: Timestamp) {
        match found {
            Some(result) => self.finish(step, result, now),
            None => {
                self.begun = None;
                self.due_at = Some(now);
                self.doubt_deal(step);
            }
        }
    }

    /// Stores that no step is left for what is wanted; `None` when the buy is gone. `now` is the moment for which that
    /// was decided. Returns false when there was a change since the work began.
    pub fn rest(&mut self, marks: u64, wanted: Option<&WantedOrder>, now: Timestamp) -> bool {
        if self.marks != marks {
            return false;
        }
        self.note_ends(now);
        if let Some(Untranslatable(why)) = wanted.and_then(|wanted| wanted.untranslatable.as_ref())
        {
            self.stop(ProblemKind::Untranslatable, "create_line_item", why.clone(), now);
            return true;
        }
        let deals = wanted.map(|wanted| self.rest_deals(wanted, now)).unwrap_or_default();
        if deals.is_stopped {
            self.phase = RemotePhase::Stopped;
            self.due_at = None;
        } else {
            self.rest_order(wanted, now);
        }
        // A deal that is pending is asked about, whatever has stopped the others.
        if deals.is_pending {
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
}

/// Returns as much of a text of the ad server as is stored.
pub(super) fn cut(detail: &str) -> String {
    detail.chars().take(MAX_DETAIL).collect()
}
