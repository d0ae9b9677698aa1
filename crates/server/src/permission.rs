//! What callers may do: the permissions that credentials hold and operations require.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use tradepost_wire::a2a::Operation;

/// What ends the name of a permission by which nothing can be changed.
const READING: &str = ":read";

/// A permission, as keys and tokens name it: what it is about and `read` or `write`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Permission(Cow<'static, str>);

impl Permission {
    /// Reading the card that is for callers who say who they are.
    pub const CARD_READ: Self = Self::new("card:read");
    /// Reading and following one's own tasks, and their webhooks.
    pub const TASKS_READ: Self = Self::new("tasks:read");
    /// Sending messages, canceling one's own tasks, and changing their webhooks.
    pub const TASKS_WRITE: Self = Self::new("tasks:write");

    /// The permission of this name.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl From<String> for Permission {
    fn from(name: String) -> Self {
        Self(Cow::Owned(name))
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a caller is permitted to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scopes {
    /// Everything that callers can do.
    All,
    /// Whatever changes nothing.
    Reading,
    /// This, and nothing else.
    Only(BTreeSet<Permission>),
}

impl Scopes {
    /// These, and nothing else.
    pub fn only<P: Into<Permission>>(permissions: impl IntoIterator<Item = P>) -> Self {
        Self::Only(permissions.into_iter().map(Into::into).collect())
    }

    /// Whether a permission is among them.
    pub fn permit(&self, permission: impl Into<Permission>) -> bool {
        let permission = permission.into();
        match self {
            Self::All => true,
            Self::Reading => permission.name().ends_with(READING),
            Self::Only(held) => held.contains(&permission),
        }
    }
}

/// The permission that an operation requires of agents that make tasks of messages.
#[must_use]
pub fn required(operation: Operation) -> Permission {
    match operation {
        Operation::GetExtendedAgentCard => Permission::CARD_READ,
        Operation::GetTask
        | Operation::ListTasks
        | Operation::SubscribeToTask
        | Operation::GetTaskPushNotificationConfig
        | Operation::ListTaskPushNotificationConfigs => Permission::TASKS_READ,
        Operation::SendMessage
        | Operation::SendStreamingMessage
        | Operation::CancelTask
        | Operation::CreateTaskPushNotificationConfig
        | Operation::DeleteTaskPushNotificationConfig => Permission::TASKS_WRITE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_read_may_do_nothing_that_changes_something() {
        assert!(Scopes::Reading.permit(Permission::TASKS_READ));
        assert!(Scopes::Reading.permit(Permission::new("inventory:read")));
        assert!(!Scopes::Reading.permit(Permission::TASKS_WRITE));
        assert!(!Scopes::Reading.permit(Permission::new("lead:write")));
    }
}
