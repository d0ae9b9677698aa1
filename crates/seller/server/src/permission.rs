//! Permissions, which credentials have and operations require.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use tradepost_a2a::Operation;

/// Suffix of read-only permissions.
const READING: &str = ":read";

/// A permission, by its name in keys and tokens: a subject and `read` or `write`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Permission(Cow<'static, str>);

impl Permission {
    /// Reading the extended card, which is for authenticated callers.
    pub const CARD_READ: Self = Self::new("card:read");
    /// Reading and following one's own tasks, and reading their webhooks.
    pub const TASKS_READ: Self = Self::new("tasks:read");
    /// Sending messages, canceling one's own tasks, and changing their webhooks.
    pub const TASKS_WRITE: Self = Self::new("tasks:write");

    /// Creates the permission with this name.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// Returns the name.
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

/// Permissions of a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scopes {
    /// All permissions.
    All,
    /// All read-only permissions.
    Reading,
    /// Only these permissions.
    Only(BTreeSet<Permission>),
}

impl Scopes {
    /// Creates a set of permissions.
    pub fn only<P: Into<Permission>>(permissions: impl IntoIterator<Item = P>) -> Self {
        Self::Only(permissions.into_iter().map(Into::into).collect())
    }

    /// Returns true when a permission is included.
    pub fn permit(&self, permission: impl Into<Permission>) -> bool {
        let permission = permission.into();
        match self {
            Self::All => true,
            Self::Reading => permission.name().ends_with(READING),
            Self::Only(held) => held.contains(&permission),
        }
    }
}

/// Returns the permission that an operation requires by default.
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
