//! Permissions of a publisher's staff, decided in this one place for the console and the command
//! line alike.

use tradepost_admin::StaffPermission;
use tradepost_dealer::staff::StaffRole;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_publisher::decision::Step;
use tradepost_store::staff::StaffMember;

/// Operation of a publisher's staff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublisherOperation {
    /// Reads what was sold and what is pending.
    Look,
    /// Decides about an account, a creative or a task.
    Decide(Step),
    /// Grants an agent permissions on an account, or revokes them.
    Grant,
}

impl PublisherOperation {
    /// Returns the required permission. What binds the publisher or cannot be undone needs an
    /// approver; what only holds something back for a while is daily work.
    #[must_use]
    pub const fn permission(self) -> StaffPermission {
        match self {
            Self::Look => StaffPermission::ViewPublisher,
            Self::Decide(
                Step::Suspend | Step::Resume | Step::PaymentDue | Step::PaymentSettled,
            ) => StaffPermission::OperatePublisher,
            Self::Decide(Step::Approve | Step::Decline | Step::Close) | Self::Grant => {
                StaffPermission::ApprovePublisher
            }
        }
    }

    /// Returns the name of its command.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Look => "list",
            Self::Decide(step) => step.name(),
            Self::Grant => "grant",
        }
    }
}

/// Reason why a person may not do something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotPermitted {
    /// Not on this publisher's staff; the answer is the same as for an unknown person.
    Stranger,
    /// Role that lacks the permission.
    Role {
        /// Role of the person.
        role: StaffRole,
        /// Roles that have the permission.
        needed: Vec<StaffRole>,
    },
}

/// Checks that a staff member may do something with a publisher.
///
/// # Errors
/// Returns the reason why they may not.
pub fn check(
    member: &StaffMember,
    publisher_id: &str,
    operation: PublisherOperation,
) -> Result<(), NotPermitted> {
    let permission = operation.permission();
    // Staff of a dealer, also of all dealers, have no permission for a publisher.
    let is_of_publisher = member.dealer_id.as_deref() == Some(publisher_id);
    if !is_of_publisher || !member.role.is_of_publisher() {
        return Err(NotPermitted::Stranger);
    }
    if permission.is_of(member.role) {
        return Ok(());
    }
    Err(NotPermitted::Role { role: member.role, needed: permission.roles() })
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn member(role: StaffRole, of: Option<&str>) -> StaffMember {
        StaffMember {
            name: "dora".to_owned(),
            dealer_id: of.map(ToOwned::to_owned),
            role,
            password: String::new(),
            created_at: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn each_role_may_do_exactly_what_the_table_says() {
        let steps = Step::ALL.iter().copied().map(PublisherOperation::Decide);
        let all = [PublisherOperation::Look, PublisherOperation::Grant].into_iter().chain(steps);
        let all: Vec<_> = all.collect();
        for (role, expected) in [
            (StaffRole::Viewer, vec!["list"]),
            (
                StaffRole::Seller,
                vec!["list", "suspend", "resume", "payment-due", "payment-settled"],
            ),
            (
                StaffRole::Approver,
                vec![
                    "list",
                    "grant",
                    "approve",
                    "decline",
                    "suspend",
                    "resume",
                    "close",
                    "payment-due",
                    "payment-settled",
                ],
            ),
            (StaffRole::Manager, vec![]),
            (StaffRole::Engineer, vec![]),
            (StaffRole::Desk, vec![]),
        ] {
            let member = member(role, Some("gazette"));
            let may = all.iter().filter(|operation| check(&member, "gazette", **operation).is_ok());
            let may: Vec<_> = may.map(|operation| operation.name()).collect();
            assert_eq!(may, expected, "{role}");
        }
    }

    #[test]
    fn people_of_others_are_strangers() {
        for of in [Some("herald"), None] {
            let member = member(StaffRole::Approver, of);
            let refused = check(&member, "gazette", PublisherOperation::Look);
            assert_eq!(refused, Err(NotPermitted::Stranger), "{of:?}");
        }
    }
}
