//! States of orders and line items. Google computes them; they are changed by actions and never written.

use jiff::Timestamp;
use tradepost_document::text;
use tradepost_publisher::ad_server::RemoteState;

use crate::client::{garbled, refused};
use crate::port::{AdServerError, RefusalReason, RemoteStateChange};

/// Status of an order that was deleted, and is listed all the same.
pub(super) const DELETED: &str = "DELETED";

/// Status of a line item that was approved and does not deliver.
pub(super) const INACTIVE: &str = "INACTIVE";

/// Returns the state of an order.
pub(super) fn of_order(
    status: &str,
    is_archived: bool,
    start: Option<Timestamp>,
    end: Option<Timestamp>,
    now: Timestamp,
) -> Result<RemoteState, AdServerError> {
    if is_archived {
        return Ok(RemoteState::Canceled);
    }
    Ok(match status {
        "DRAFT" => RemoteState::Draft,
        "PENDING_APPROVAL" => RemoteState::PendingApproval,
        "APPROVED" if start.is_some_and(|start| now < start) => RemoteState::Ready,
        "APPROVED" if end.is_some_and(|end| now >= end) => RemoteState::Completed,
        "APPROVED" => RemoteState::Delivering,
        "DISAPPROVED" => RemoteState::Rejected,
        "PAUSED" => RemoteState::Paused,
        "CANCELED" | DELETED => RemoteState::Canceled,
        other => return Err(unknown("order", other)),
    })
}

/// Returns the state of a line item. One that is ready counts as delivering, so that a line item that has to be
/// paused and is not gets paused before its flight begins.
pub(super) fn of_line_item(status: &str, is_archived: bool) -> Result<RemoteState, AdServerError> {
    if is_archived {
        return Ok(RemoteState::Canceled);
    }
    Ok(match status {
        "DRAFT" => RemoteState::Draft,
        "PENDING_APPROVAL" => RemoteState::PendingApproval,
        // It has no creative yet, or waits to be activated.
        INACTIVE => RemoteState::Ready,
        "READY" | "DELIVERING" | "DELIVERY_EXTENDED" => RemoteState::Delivering,
        "PAUSED" | "PAUSED_INVENTORY_RELEASED" => RemoteState::Paused,
        "COMPLETED" => RemoteState::Completed,
        "DISAPPROVED" => RemoteState::Rejected,
        "CANCELED" => RemoteState::Canceled,
        other => return Err(unknown("line item", other)),
    })
}

fn unknown(what: &str, status: &str) -> AdServerError {
    garbled(format!("the status {} of the {what} is unknown", text::plain(status, text::WORD)))
}

/// An action of `orders` or `lineItems`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BatchAction {
    /// Approves; inventory is checked and reserved, and never overbooked.
    Approve,
    /// Pauses.
    Pause,
    /// Resumes; inventory is checked as well.
    Resume,
    /// Archives for good.
    Archive,
    /// Reserves the inventory of a line item.
    Reserve,
    /// Activates a line item.
    Activate,
}

impl BatchAction {
    /// Returns the end of the action's path.
    pub(super) const fn verb(self) -> &'static str {
        match self {
            Self::Approve => ":batchApprove",
            Self::Pause => ":batchPause",
            Self::Resume => ":batchResume",
            Self::Archive => ":batchArchive",
            Self::Reserve => ":batchReserve",
            Self::Activate => ":batchActivate",
        }
    }
}

/// Returns the actions that lead from a state to what is asked; none when it is reached already.
pub(super) fn actions(
    now: RemoteState,
    change: RemoteStateChange,
) -> Result<Vec<BatchAction>, AdServerError> {
    let is_running = matches!(now, RemoteState::Ready | RemoteState::Delivering);
    let is_unapproved = matches!(now, RemoteState::Draft | RemoteState::PendingApproval);
    let impossible = || {
        let detail = match now {
            RemoteState::Canceled => "it is archived at Google, and stays it",
            RemoteState::Rejected => "it was disapproved at Google",
            RemoteState::Draft
            | RemoteState::PendingApproval
            | RemoteState::Ready
            | RemoteState::Delivering
            | RemoteState::Paused
            | RemoteState::Completed => "its state does not allow it",
        };
        Err(refused(RefusalReason::Invalid, detail))
    };
    match change {
        RemoteStateChange::Approve => match now {
            RemoteState::Draft | RemoteState::PendingApproval => Ok(vec![BatchAction::Approve]),
            RemoteState::Canceled => impossible(),
            // People have declined it, or it was approved before.
            RemoteState::Rejected
            | RemoteState::Ready
            | RemoteState::Delivering
            | RemoteState::Paused
            | RemoteState::Completed => Ok(Vec::new()),
        },
        RemoteStateChange::Pause if is_running => Ok(vec![BatchAction::Pause]),
        RemoteStateChange::Resume if now == RemoteState::Paused => Ok(vec![BatchAction::Resume]),
        RemoteStateChange::Pause if matches!(now, RemoteState::Paused | RemoteState::Completed) => {
            Ok(Vec::new())
        }
        RemoteStateChange::Resume if is_running || now == RemoteState::Completed => Ok(Vec::new()),
        // Nothing delivers before the approval; what has to be paused then is paused after it.
        RemoteStateChange::Pause | RemoteStateChange::Resume if is_unapproved => Ok(Vec::new()),
        RemoteStateChange::Pause | RemoteStateChange::Resume => impossible(),
        RemoteStateChange::Cancel if now == RemoteState::Canceled => Ok(Vec::new()),
        // What delivers is stopped before it is put away.
        RemoteStateChange::Cancel if is_running => {
            Ok(vec![BatchAction::Pause, BatchAction::Archive])
        }
        RemoteStateChange::Cancel => Ok(vec![BatchAction::Archive]),
    }
}

/// Returns the state, if an answer shows that a change was done.
pub(super) fn reached(
    state: RemoteState,
    change: RemoteStateChange,
) -> Result<RemoteState, AdServerError> {
    let is_done = match change {
        RemoteStateChange::Approve => state != RemoteState::Draft,
        RemoteStateChange::Pause => matches!(state, RemoteState::Paused | RemoteState::Completed),
        RemoteStateChange::Resume => state != RemoteState::Paused,
        RemoteStateChange::Cancel => state == RemoteState::Canceled,
    };
    if is_done { Ok(state) } else { Err(garbled("it shows the state from before the change")) }
}
