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
    /// Returns a lead, with its customer.
    ShowLead = "show-lead" { permission: StaffPermission::Customers }
    /// Lists leads.
    ListLeads = "list-leads" { permission: StaffPermission::Customers }
    /// Takes leads to a file.
    ExportLeads = "export-leads" { permission: StaffPermission::Decide }
    /// Takes the evidence of a consent to a file.
    TakeEvidence = "take-evidence" { permission: StaffPermission::Decide }
    /// Adds a note to a lead.
    AddNote = "add-note" { permission: StaffPermission::Customers }
    /// Sets the stage of a lead.
    SetLeadStage = "set-lead-stage" { permission: StaffPermission::Customers }
    /// Delivers a lead again.
    ResendLead = "resend-lead" { permission: StaffPermission::Customers }
    /// Releases a lead that is held back.
    ReleaseLead = "release-lead" { permission: StaffPermission::Decide }
    /// Records that a customer has withdrawn the consent.
    RevokeConsent = "revoke-consent" { permission: StaffPermission::Decide }
    /// Erases what leads say about a customer.
    EraseCustomer = "erase-customer" { permission: StaffPermission::Decide }
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
