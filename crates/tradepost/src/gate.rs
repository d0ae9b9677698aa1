//! What callers can be permitted to do here, and what a dealer's operations and skills require.

use std::fmt;

pub use tradepost_server::permission::Scopes;
use tradepost_server::permission::{self, Permission};
use tradepost_wire::a2a::Operation;
use tradepost_wire::aap::Skill;
use tradepost_wire::catalog::Vocabulary;

/// A permission, as keys and tokens name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Reading what the dealer says about itself.
    DealerRead,
    /// Searching and reading what is on offer.
    InventoryRead,
    /// Submitting leads.
    LeadWrite,
    /// Reading and following one's own tasks, and their webhooks.
    TasksRead,
    /// Canceling one's own tasks, and changing their webhooks.
    TasksWrite,
}

impl Vocabulary for Scope {
    const ALL: &'static [Self] = &[
        Self::DealerRead,
        Self::InventoryRead,
        Self::LeadWrite,
        Self::TasksRead,
        Self::TasksWrite,
    ];
    const NAMES: &'static [&'static str] =
        &["dealer:read", "inventory:read", "lead:write", "tasks:read", "tasks:write"];

    fn name(self) -> &'static str {
        match self {
            Self::DealerRead => "dealer:read",
            Self::InventoryRead => "inventory:read",
            Self::LeadWrite => "lead:write",
            Self::TasksRead => "tasks:read",
            Self::TasksWrite => "tasks:write",
        }
    }

    fn docs(self) -> &'static str {
        match self {
            Self::DealerRead => "Read what the dealer says about itself.",
            Self::InventoryRead => "Search and read what is on offer.",
            Self::LeadWrite => "Submit leads.",
            Self::TasksRead => "Read and follow one's own tasks.",
            Self::TasksWrite => "Cancel one's own tasks, and change their webhooks.",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<Scope> for Permission {
    fn from(scope: Scope) -> Self {
        Self::new(scope.name())
    }
}

/// The scope that a skill requires.
#[must_use]
pub const fn of_skill(skill: Skill) -> Scope {
    match skill {
        Skill::DealerInformation => Scope::DealerRead,
        Skill::InventoryFacets | Skill::InventorySearch | Skill::InventoryVehicle => {
            Scope::InventoryRead
        }
        Skill::LeadSubmit => Scope::LeadWrite,
    }
}

/// The permission that an operation requires before its message is read: the card for callers who
/// say who they are is something that the agent says about itself.
#[must_use]
pub fn of_operation(operation: Operation) -> Permission {
    if operation == Operation::GetExtendedAgentCard {
        Scope::DealerRead.into()
    } else {
        permission::required(operation)
    }
}

#[cfg(test)]
mod tests {
    use tradepost_server::auth::Principal;

    use super::*;

    #[test]
    fn names_are_unique_and_lead_back() {
        assert_eq!(Scope::ALL.len(), Scope::NAMES.len());
        for (scope, name) in Scope::ALL.iter().zip(Scope::NAMES) {
            assert_eq!((scope.name(), Scope::from_name(name)), (*name, Some(*scope)));
        }
    }

    #[test]
    fn whoever_has_one_scope_passes_only_where_it_is_required() {
        for held in Scope::ALL {
            let principal = Principal { name: "k".to_owned(), scopes: Scopes::only([*held]) };
            let check =
                |operation, needed| permission::check(&principal, operation, Some(needed)).is_ok();
            for skill in Skill::ALL {
                let passes = check(Operation::SendMessage, of_skill(*skill).into());
                assert_eq!(passes, of_skill(*skill) == *held, "{held} {skill}");
            }
            for operation in Operation::ALL {
                let needed = of_operation(*operation);
                let known = Scope::from_name(needed.name());
                assert!(known.is_some(), "{operation} requires what no key can hold");
                assert_eq!(check(*operation, needed), known == Some(*held), "{held} {operation}");
            }
        }
    }
}
