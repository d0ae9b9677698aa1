//! Person who performs an operation.

use tradepost_dealer::staff::{EVERYBODY, StaffRole};
use tradepost_store::staff::StaffMember;

use crate::permission::StaffPermission;

/// Person who performs an operation: a staff member, or the operator of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    name: String,
    authority: ActorAuthority,
}

/// Source of an actor's permissions.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ActorAuthority {
    /// A role, at one dealer or publisher, or at all dealers when `None`.
    Member { member: String, role: StaffRole, seller_id: Option<String> },
    /// The server's own command line, which may do everything.
    Operator,
}

impl Actor {
    /// Creates the actor of a staff member who has signed in.
    #[must_use]
    pub fn from_member(member: &StaffMember) -> Self {
        Self {
            name: member.name.clone(),
            authority: ActorAuthority::Member {
                member: member.name.clone(),
                role: member.role,
                seller_id: member.dealer_id.clone(),
            },
        }
    }

    /// Creates the actor of a staff member for whom the operator of the server acts. They did not sign
    /// in, so the audit log also says who named them.
    #[must_use]
    pub fn from_member_and_operator(member: &StaffMember, operator: &str) -> Self {
        let actor = Self::from_member(member);
        Self { name: format!("{} by {operator}", member.name), ..actor }
    }

    /// Creates the actor of the server's operator, by the name for the audit log, such as `cli:dora`.
    #[must_use]
    pub fn operator(name: impl Into<String>) -> Self {
        Self { name: name.into(), authority: ActorAuthority::Operator }
    }

    /// Returns the name for the audit log.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the member's own name and role; the operator of the server has none.
    pub(crate) fn member(&self) -> Option<(&str, StaffRole)> {
        match &self.authority {
            ActorAuthority::Member { member, role, .. } => Some((member, *role)),
            ActorAuthority::Operator => None,
        }
    }

    /// Returns the role; the operator has none.
    #[must_use]
    pub const fn role(&self) -> Option<StaffRole> {
        match &self.authority {
            ActorAuthority::Member { role, .. } => Some(*role),
            ActorAuthority::Operator => None,
        }
    }

    /// Returns the id of the dealer or publisher whose staff the actor is; `None` for actors who see
    /// all dealers.
    #[must_use]
    pub fn seller_id(&self) -> Option<&str> {
        match &self.authority {
            ActorAuthority::Member { seller_id, .. } => seller_id.as_deref(),
            ActorAuthority::Operator => None,
        }
    }

    /// Returns true when the actor may see what belongs to a dealer.
    #[must_use]
    pub fn sees_dealer(&self, dealer_id: &str) -> bool {
        self.seller_id().is_none_or(|own| own == dealer_id)
    }

    /// Returns true when the actor is the member of this name.
    pub(crate) fn is_member(&self, name: &str) -> bool {
        self.member().is_some_and(|(own, _)| own == name)
    }

    /// Returns true when the actor has a permission. The operator of the server has all.
    #[must_use]
    pub fn has(&self, permission: StaffPermission) -> bool {
        self.role().is_none_or(|role| permission.is_of(role))
    }

    /// Returns true when a member is among the staff that the actor manages, if the role permits it.
    /// Staff of one dealer do not manage staff of all dealers, and staff of dealers do not manage those
    /// of a publisher.
    #[must_use]
    pub fn manages(&self, member: &StaffMember) -> bool {
        match &self.authority {
            ActorAuthority::Member { seller_id: Some(own), .. } => {
                member.dealer_id.as_ref() == Some(own)
            }
            ActorAuthority::Member { seller_id: None, .. } => !member.role.is_of_publisher(),
            ActorAuthority::Operator => true,
        }
    }

    /// Returns true when the actor may act for a publisher: as one of its staff, or as the operator.
    pub(crate) fn works_for_publisher(&self, publisher_id: &str) -> bool {
        match &self.authority {
            ActorAuthority::Member { role, seller_id, .. } => {
                role.is_of_publisher() && seller_id.as_deref() == Some(publisher_id)
            }
            ActorAuthority::Operator => true,
        }
    }

    /// Returns the chain of the audit log that records what the actor was refused.
    pub(crate) fn chain(&self) -> &str {
        self.seller_id().unwrap_or(EVERYBODY)
    }
}
