//! Permissions of staff, and the roles that have each.

use tradepost_dealer::staff::StaffRole;
use tradepost_document::catalog::Vocabulary as _;

/// A permission of staff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaffPermission {
    /// To be signed in.
    Enter,
    /// To see customers and work for them.
    Customers,
    /// To decide about leads and see the audit log.
    Decide,
    /// To see the audit log.
    ReadRecord,
    /// To see the state of the agent.
    Operate,
    /// To see what was refused.
    SeeRefusals,
    /// To see vehicles.
    SeeVehicles,
    /// To see figures of a dealer's work, which name no customer.
    SeeFigures,
    /// To see what a publisher has sold, and what waits for approval.
    ViewPublisher,
    /// To suspend and resume at a publisher, to report delivery, and to record demanded and settled payments.
    OperatePublisher,
    /// To decide what a publisher sells, and to whom.
    ApprovePublisher,
    /// To run the server, which its operator does and no role.
    RunServer,
}

impl StaffPermission {
    /// Returns true when a role has this permission.
    #[must_use]
    pub const fn is_of(self, role: StaffRole) -> bool {
        match self {
            Self::Enter => true,
            Self::Customers => matches!(role, StaffRole::Desk | StaffRole::Manager),
            Self::Decide => matches!(role, StaffRole::Manager),
            Self::ReadRecord => matches!(role, StaffRole::Manager | StaffRole::Approver),
            Self::Operate => matches!(role, StaffRole::Manager | StaffRole::Engineer),
            Self::SeeRefusals => !matches!(role, StaffRole::Desk),
            Self::SeeVehicles | Self::SeeFigures => !role.is_of_publisher(),
            Self::ViewPublisher => role.is_of_publisher(),
            Self::OperatePublisher => matches!(role, StaffRole::Seller | StaffRole::Approver),
            Self::ApprovePublisher => matches!(role, StaffRole::Approver),
            Self::RunServer => false,
        }
    }

    /// Returns the roles that have this permission.
    #[must_use]
    pub fn roles(self) -> Vec<StaffRole> {
        StaffRole::ALL.iter().copied().filter(|role| self.is_of(*role)).collect()
    }
}
