//! Table of all operations, each with the permission that it requires.

use tradepost_dealer::appointment::change::ChangeKind;
use tradepost_document::catalog;

use crate::permission::StaffPermission;

catalog! {
    /// An operation. Its name stands in the audit log when it was refused.
    pub enum AdminOperation {
        /// Permission that it requires. The operator of the server has all of them.
        permission: StaffPermission,
    }
    /// Confirms a time for an appointment.
    ConfirmAppointment = "confirm-appointment" { permission: StaffPermission::Customers }
    /// Moves an appointment to another time.
    MoveAppointment = "move-appointment" { permission: StaffPermission::Customers }
    /// Cancels an appointment.
    CancelAppointment = "cancel-appointment" { permission: StaffPermission::Customers }
    /// Records that the customer did not come.
    MissAppointment = "miss-appointment" { permission: StaffPermission::Customers }
    /// Blocks a time of a department, which is a manager's decision.
    BlockTime = "block-time" { permission: StaffPermission::Decide }
    /// Removes a block.
    UnblockTime = "unblock-time" { permission: StaffPermission::Decide }
}

impl AdminOperation {
    /// Returns the operation that makes a change of an appointment.
    #[must_use]
    pub const fn from_change(kind: ChangeKind) -> Self {
        match kind {
            ChangeKind::Confirm => Self::ConfirmAppointment,
            ChangeKind::Move => Self::MoveAppointment,
            ChangeKind::Cancel => Self::CancelAppointment,
            ChangeKind::NoShow => Self::MissAppointment,
        }
    }
}
