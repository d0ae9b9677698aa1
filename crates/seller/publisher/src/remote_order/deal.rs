//! A deal at its receiver: what it was sent, and how it stands.

use jiff::Timestamp;

use crate::ad_server::{DealSpec, RemoteId, RemoteState};
use crate::store::kept;

kept! {
    /// Deal at the receiver.
    pub struct RemoteDeal {
        /// Its id: the deal id.
        id: RemoteId,
        /// Its state, as the receiver last said it.
        state?: Option<RemoteState>,
        /// What the receiver has confirmed last; `None` when it has confirmed nothing.
        sent?: Option<DealSpec>,
        /// True if it has to be sent again although nothing has changed: the receiver may not have it as it
        /// was sent, or its state is asked for.
        unsure?: bool,
        /// True once it was closed for good.
        closed?: bool,
        /// What the receiver has refused; the same is not sent again by itself.
        refused?: Option<DealSpec>,
        /// Text of the receiver's last refusal, of what was sent or of the close.
        refusal?: Option<String>,
        /// True once the receiver has refused to close it; that is not tried again by itself.
        close_refused?: bool,
    }
}

tradepost_document::words! {
    /// State of a deal, for people.
    pub enum DealState {
        /// It was not sent yet, or not confirmed.
        Unsent = "unsent",
        /// The receiver has it, and said nothing of its state.
        Sent = "sent",
        /// A person of the buyer has to approve it.
        PendingApproval = "pending_approval",
        /// Approved by the buyer.
        Ready = "ready",
        /// Bids are made for it.
        Delivering = "delivering",
        /// Paused, by the seller or the buyer.
        Paused = "paused",
        /// Over at the buyer's.
        Completed = "completed",
        /// Declined by the buyer.
        Rejected = "rejected",
        /// Refused by the receiver.
        Refused = "refused",
        /// Closed for good.
        Closed = "closed",
    }
}

impl RemoteDeal {
    pub(super) fn new_unsent(id: RemoteId) -> Self {
        Self {
            id,
            state: None,
            sent: None,
            unsure: false,
            closed: false,
            refused: None,
            refusal: None,
            close_refused: false,
        }
    }

    /// Returns its state for people.
    #[must_use]
    pub fn shown_state(&self) -> DealState {
        if self.closed {
            return DealState::Closed;
        }
        if self.refused.is_some() {
            return DealState::Refused;
        }
        let Some(sent) = &self.sent else { return DealState::Unsent };
        match self.state {
            Some(RemoteState::Rejected | RemoteState::Canceled) => DealState::Rejected,
            Some(RemoteState::Completed) => DealState::Completed,
            Some(RemoteState::PendingApproval) => DealState::PendingApproval,
            Some(RemoteState::Paused) => DealState::Paused,
            Some(RemoteState::Delivering | RemoteState::Ready | RemoteState::Draft) | None
                if sent.is_paused =>
            {
                DealState::Paused
            }
            Some(RemoteState::Delivering) => DealState::Delivering,
            Some(RemoteState::Ready) => DealState::Ready,
            Some(RemoteState::Draft) | None => DealState::Sent,
        }
    }

    /// Returns true if the receiver may have it open.
    pub(super) fn may_be_open(&self) -> bool {
        !self.closed && (self.sent.is_some() || self.unsure)
    }

    /// Returns the times at which it may have to be closed by itself: the end that was sent, one that was refused
    /// and is wanted nevertheless, and that of the buy (`end`), which is the last.
    pub(super) fn ends(&self, end: Timestamp) -> impl Iterator<Item = Timestamp> {
        let known = [self.sent.as_ref(), self.refused.as_ref()].into_iter().flatten();
        let ends: Vec<Timestamp> = known.map(|deal| deal.end_time).chain([end]).collect();
        ends.into_iter().filter(|_| self.has_to_be_closed())
    }

    /// Returns true if the receiver may have it open and did not refuse to close it.
    pub(super) fn has_to_be_closed(&self) -> bool {
        self.may_be_open() && !self.close_refused
    }

    /// Has it sent again where its state is asked for, which is the only question that a receiver answers.
    pub(super) fn ask_state(&mut self) {
        self.unsure |= self.shown_state() == DealState::PendingApproval;
    }

    /// Forgets what the receiver has refused.
    pub(super) fn forget_refusal(&mut self) {
        self.refused = None;
        self.refusal = None;
        self.close_refused = false;
    }

    /// Has it sent again, on behalf of a person.
    pub(super) fn retry(&mut self) {
        self.forget_refusal();
        self.unsure |= self.sent.is_some() && !self.closed;
    }
}
