//! Whether campaigns and flights are active or archived: Kevel's way to have states.

use tradepost_publisher::ad_server::RemoteState;

use crate::client::{garbled, refused};
use crate::port::{AdServerError, RefusalReason, RemoteStateChange};

/// What is to become of a campaign or a flight.
#[derive(Debug, Clone, Copy)]
pub(super) struct Activity {
    pub(super) is_active: bool,
    pub(super) is_archived: bool,
}

impl Activity {
    /// Returns what a change leads to.
    pub(super) const fn from_change(change: RemoteStateChange) -> Self {
        match change {
            RemoteStateChange::Approve | RemoteStateChange::Resume => {
                Self { is_active: true, is_archived: false }
            }
            RemoteStateChange::Pause => Self { is_active: false, is_archived: false },
            RemoteStateChange::Cancel => Self { is_active: false, is_archived: true },
        }
    }

    /// Returns the state that this is.
    pub(super) const fn state(self) -> RemoteState {
        match self {
            Self { is_archived: true, .. } => RemoteState::Canceled,
            Self { is_active: true, .. } => RemoteState::Delivering,
            Self { .. } => RemoteState::Paused,
        }
    }

    /// Checks that something may change: what is archived stays it.
    pub(super) fn check_change(self, change: RemoteStateChange) -> Result<(), AdServerError> {
        if self.is_archived && change != RemoteStateChange::Cancel {
            return Err(refused(RefusalReason::Invalid, "it is archived at Kevel, and stays it"));
        }
        Ok(())
    }

    /// Returns the state, if an answer shows that it was reached.
    pub(super) fn reached(self, wanted: Self) -> Result<RemoteState, AdServerError> {
        if self.state() == wanted.state() {
            Ok(wanted.state())
        } else {
            Err(garbled("it shows the state from before the change"))
        }
    }
}
