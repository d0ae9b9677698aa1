//! A2A v1.0: the operations, what they take ([`request`]) and what they tell ([`model`]). Names are
//! accepted in camelCase and, as ProtoJSON parsers do, in snake_case; we write camelCase.

use crate::a2a::error::{Code, Refusal};
use crate::catalog::catalog;

pub mod card;
pub mod error;
pub mod model;
pub mod request;

pub use model::{
    Artifact, ArtifactUpdate, Content, Event, Message, Part, Role, StatusUpdate, Task, TaskState,
    TaskStatus,
};
pub use request::{ListTasks, PushConfig, Request, SendMessage, send_message};

/// The header, query parameter and metadata key of the protocol version.
pub const VERSION_HEADER: &str = "a2a-version";

/// The header that lists the extensions a request activates.
pub const EXTENSIONS_HEADER: &str = "a2a-extensions";

/// The protocol version spoken (`Major.Minor`).
pub const VERSION: &str = "1.0";

catalog! {
    /// The eleven operations of A2A v1.0, by JSON-RPC method name (A2A §5.3).
    pub enum Operation {
        /// What an agent answers that has neither tasks, streams, push nor an extended card
        /// (A2A §3.3.4); `None` for the one operation that every agent has.
        without_capability: Option<Code>,
    }
    /// Sends a message and waits for the answer.
    SendMessage = "SendMessage" { without_capability: None }
    /// Sends a message and streams the answer.
    SendStreamingMessage = "SendStreamingMessage" { without_capability: Some(Code::UnsupportedOperation) }
    /// Reads a task.
    GetTask = "GetTask" { without_capability: Some(Code::TaskNotFound) }
    /// Lists the caller's tasks.
    ListTasks = "ListTasks" { without_capability: Some(Code::UnsupportedOperation) }
    /// Cancels a task.
    CancelTask = "CancelTask" { without_capability: Some(Code::TaskNotFound) }
    /// Streams a task's further events.
    SubscribeToTask = "SubscribeToTask" { without_capability: Some(Code::UnsupportedOperation) }
    /// Adds a webhook to a task.
    CreateTaskPushNotificationConfig = "CreateTaskPushNotificationConfig" {
        without_capability: Some(Code::PushNotificationNotSupported),
    }
    /// Reads a webhook of a task.
    GetTaskPushNotificationConfig = "GetTaskPushNotificationConfig" {
        without_capability: Some(Code::PushNotificationNotSupported),
    }
    /// Lists the webhooks of a task.
    ListTaskPushNotificationConfigs = "ListTaskPushNotificationConfigs" {
        without_capability: Some(Code::PushNotificationNotSupported),
    }
    /// Removes a webhook from a task.
    DeleteTaskPushNotificationConfig = "DeleteTaskPushNotificationConfig" {
        without_capability: Some(Code::PushNotificationNotSupported),
    }
    /// Reads the card for authenticated callers.
    GetExtendedAgentCard = "GetExtendedAgentCard" { without_capability: Some(Code::UnsupportedOperation) }
}

/// The protocol version that a request asks for, `1.0.x` being `1.0` (A2A §3.6).
///
/// # Errors
/// `VERSION_NOT_SUPPORTED`, when it is another one.
pub fn check_version(requested: &str) -> Result<(), Refusal> {
    let mut numbers = requested.trim().split('.');
    let is = |part: Option<&str>, wanted| part == Some(wanted);
    let patch = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if is(numbers.next(), "1")
        && is(numbers.next(), "0")
        && numbers.next().is_none_or(patch)
        && numbers.next().is_none()
    {
        return Ok(());
    }
    let message = "this agent speaks A2A 1.0 only; send A2A-Version: 1.0";
    Err(Refusal::new(Code::VersionNotSupported, message).with("supportedVersions", VERSION))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_without_their_patch_number() {
        for good in ["1.0", "1.0.3", " 1.0"] {
            assert!(check_version(good).is_ok(), "{good}");
        }
        for bad in ["0.3", "2.0", "1.1", "1", "abc", "", "1.0.x", "1.0.3.4"] {
            assert!(check_version(bad).is_err(), "{bad}");
        }
    }
}
