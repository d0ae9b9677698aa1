//! Permissions that callers can have, and those that a dealer's operations and skills require.

use tradepost_a2a::Operation;
use tradepost_aap::Skill;
use tradepost_document::catalog;
use tradepost_document::catalog::Vocabulary as _;
pub use tradepost_server::permission::Scopes;
use tradepost_server::permission::{self, Permission};

catalog! {
    /// Permission as keys and tokens name it.
    pub enum KeyScope {}
    /// Read what the dealer says about itself.
    DealerRead = "dealer:read" {}
    /// Search and read what is on offer.
    InventoryRead = "inventory:read" {}
    /// Submit leads.
    LeadWrite = "lead:write" {}
    /// Replace the inventory by uploading a feed.
    FeedWrite = "feed:write" {}
    /// Read and follow one's own tasks, and their webhooks.
    TasksRead = "tasks:read" {}
    /// Cancel one's own tasks, and change their webhooks.
    TasksWrite = "tasks:write" {}
}

impl From<KeyScope> for Permission {
    fn from(scope: KeyScope) -> Self {
        Self::new(scope.name())
    }
}

/// Returns the scope that a skill requires.
#[must_use]
pub const fn of_skill(skill: Skill) -> KeyScope {
    match skill {
        Skill::DealerInformation => KeyScope::DealerRead,
        Skill::InventoryFacets | Skill::InventorySearch | Skill::InventoryVehicle => {
            KeyScope::InventoryRead
        }
        Skill::LeadSubmit => KeyScope::LeadWrite,
    }
}

/// Returns the permission that an operation requires before its message is read. The extended card
/// counts as dealer information.
#[must_use]
pub fn of_operation(operation: Operation) -> Permission {
    if operation == Operation::GetExtendedAgentCard {
        KeyScope::DealerRead.into()
    } else {
        permission::required(operation)
    }
}

#[cfg(test)]
mod tests {
    use tradepost_server::auth::{Principal, permit};

    use super::*;

    #[test]
    fn whoever_has_one_scope_passes_only_where_it_is_required() {
        for held in KeyScope::ALL {
            let principal = Principal { name: "k".to_owned(), scopes: Scopes::only([*held]) };
            let check =
                |operation, needed| permit::check(&principal, operation, Some(needed)).is_ok();
            for skill in Skill::ALL {
                let passes = check(Operation::SendMessage, of_skill(*skill).into());
                assert_eq!(passes, of_skill(*skill) == *held, "{held} {skill}");
            }
            for operation in Operation::ALL {
                let needed = of_operation(*operation);
                let known = KeyScope::from_name(needed.name());
                assert!(known.is_some(), "{operation} requires what no key can hold");
                assert_eq!(check(*operation, needed), known == Some(*held), "{held} {operation}");
            }
        }
    }
}
