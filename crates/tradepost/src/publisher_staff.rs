//! What the people of a publisher may do, for the console and the command line alike: the one place where
//! it is decided.

use tradepost_dealer::staff::StaffRole;
use tradepost_publisher::decision::Step;
use tradepost_store::staff::StaffMember;
use tradepost_wire::catalog::Vocabulary as _;

use crate::console::route::Right;

/// An operation of a publisher's people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublisherOperation {
    /// Looks at what was sold and what waits.
    Look,
    /// Decides about an account, a creative or a task.
    Decide(Step),
    /// Says what an agent may do with an account, or takes that back.
    Grant,
}

impl PublisherOperation {
    /// Right that somebody needs for it. What binds the publisher, or cannot be undone, is for whoever
    /// answers for them; what only holds something back for a while is daily work.
    #[must_use]
    pub const fn right(self) -> Right {
        match self {
            Self::Look => Right::ViewPublisher,
            Self::Decide(
                Step::Suspend | Step::Resume | Step::PaymentDue | Step::PaymentSettled,
            ) => Right::OperatePublisher,
            Self::Decide(Step::Approve | Step::Decline | Step::Close) | Self::Grant => {
                Right::ApprovePublisher
            }
        }
    }

    /// The name of its command.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Look => "list",
            Self::Decide(step) => step.name(),
            Self::Grant => "grant",
        }
    }
}

/// Why somebody may not do something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotPermitted {
    /// They are not of this publisher's people; to others this is the same as that there is nobody.
    Stranger,
    /// Their role does not permit it.
    Role {
        /// The role.
        role: StaffRole,
        /// The roles that do.
        needed: Vec<StaffRole>,
    },
}

/// Checks that a member of the staff may do something with a publisher.
///
/// # Errors
/// Why they may not.
pub fn check(
    member: &StaffMember,
    publisher_id: &str,
    operation: PublisherOperation,
) -> Result<(), NotPermitted> {
    let right = operation.right();
    // People of a dealer, also those of all dealers, have nothing to say about a publisher.
    let is_of_publisher = member.dealer_id.as_deref() == Some(publisher_id);
    if !is_of_publisher || !member.role.is_of_publisher() {
        return Err(NotPermitted::Stranger);
    }
    if right.is_of(member.role) {
        return Ok(());
    }
    let needed = StaffRole::ALL.iter().copied().filter(|role| right.is_of(*role)).collect();
    Err(NotPermitted::Role { role: member.role, needed })
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
            let may = all.iter().filter(|it| check(&member, "gazette", **it).is_ok());
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
