//! What a caller must be permitted to do for each operation: the only place that says so.

use std::collections::BTreeSet;
use std::fmt;

use tradepost_wire::a2a::Operation;
use tradepost_wire::aap::Skill;
use tradepost_wire::catalog::Vocabulary;

use crate::auth::{Denied, Principal};

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

/// What a caller is permitted to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scopes {
    /// Everything that callers can do.
    All,
    /// This, and nothing else.
    Only(BTreeSet<Scope>),
}

impl Scopes {
    /// Whether a scope is among them.
    #[must_use]
    pub fn permit(&self, scope: Scope) -> bool {
        match self {
            Self::All => true,
            Self::Only(scopes) => scopes.contains(&scope),
        }
    }
}

/// The scope that an operation requires; a message requires that of the skill it calls. `None`
/// for a message that calls no skill: it reaches nothing that needs protection.
#[must_use]
pub fn required(operation: Operation, skill: Option<Skill>) -> Option<Scope> {
    match operation {
        Operation::SendMessage | Operation::SendStreamingMessage => {
            skill.map(|skill| match skill {
                Skill::DealerInformation => Scope::DealerRead,
                Skill::InventoryFacets | Skill::InventorySearch | Skill::InventoryVehicle => {
                    Scope::InventoryRead
                }
                Skill::LeadSubmit => Scope::LeadWrite,
            })
        }
        Operation::GetExtendedAgentCard => Some(Scope::DealerRead),
        Operation::GetTask
        | Operation::ListTasks
        | Operation::SubscribeToTask
        | Operation::GetTaskPushNotificationConfig
        | Operation::ListTaskPushNotificationConfigs => Some(Scope::TasksRead),
        Operation::CancelTask
        | Operation::CreateTaskPushNotificationConfig
        | Operation::DeleteTaskPushNotificationConfig => Some(Scope::TasksWrite),
    }
}

/// Lets a caller pass or names the scope that it lacks. To be asked before anything is looked up
/// (A2A §13.1).
///
/// # Errors
/// [`Denied::Scope`], and for the extended card without a credential [`Denied::Missing`].
pub fn check(
    principal: &Principal,
    operation: Operation,
    skill: Option<Skill>,
) -> Result<(), Denied> {
    check_scope(principal, operation, required(operation, skill))
}

/// The same for an agent that makes tasks of messages, and has no skills that would tell more.
///
/// # Errors
/// As [`check`].
pub fn check_tasks(principal: &Principal, operation: Operation) -> Result<(), Denied> {
    let needed = required(operation, None).unwrap_or(Scope::TasksWrite);
    check_scope(principal, operation, Some(needed))
}

fn check_scope(
    principal: &Principal,
    operation: Operation,
    needed: Option<Scope>,
) -> Result<(), Denied> {
    // It is for those who say who they are, whoever else is let in (A2A §13.3).
    if operation == Operation::GetExtendedAgentCard && principal.is_anonymous() {
        return Err(Denied::Missing);
    }
    match needed {
        Some(missing) if !principal.scopes.permit(missing) => Err(Denied::Scope { missing }),
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
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
            let scopes = Scopes::Only([*held].into());
            let principal = Principal { name: "k".to_owned(), scopes };
            for operation in Operation::ALL {
                for skill in Skill::ALL {
                    let passes = check(&principal, *operation, Some(*skill)).is_ok();
                    let required = required(*operation, Some(*skill));
                    assert_eq!(passes, required == Some(*held), "{held} {operation} {skill}");
                    let anybody = check(&Principal::anonymous(), *operation, Some(*skill));
                    let closed = *operation == Operation::GetExtendedAgentCard;
                    assert_eq!(anybody.is_err(), closed, "A-08: {operation}");
                }
                let needed = required(*operation, None).unwrap_or(Scope::TasksWrite);
                assert_eq!(check_tasks(&principal, *operation).is_ok(), needed == *held);
            }
        }
    }
}
