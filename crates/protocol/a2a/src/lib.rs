#![doc = include_str!("../README.md")]

use crate::error::{A2aCode, A2aRefusal};
use tradepost_document::catalog::{Vocabulary as _, catalog};

pub mod card;
pub mod error;
pub mod http_json;
pub mod jsonrpc;
pub mod model;
pub mod older;
pub mod protobuf;
pub mod request;
pub mod response_check;
pub mod status;

mod suggestion;

pub use model::{
    AgentMessage, Artifact, ArtifactUpdate, Content, DataPart, Event, Message, MessageResult, Part,
    Role, StatusUpdate, Task, TaskState, TaskStatus,
};
pub use request::{
    A2aRequest, AuthenticationInfo, ListTasks, PushConfig, SendMessage, send_message,
};

/// Header, query parameter and metadata key of the protocol version.
pub const VERSION_HEADER: &str = "a2a-version";

/// Header that lists the extensions that a request activates.
pub const EXTENSIONS_HEADER: &str = "a2a-extensions";

/// Current protocol version (`Major.Minor`).
pub const VERSION: &str = "1.0";

/// Previous protocol version, which many clients still use.
pub const OLDER_VERSION: &str = "0.3";

/// A release of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum A2aRelease {
    /// 1.0.
    V1_0,
    /// 0.3, as far as [`older`] supports it.
    V0_3,
}

impl A2aRelease {
    /// Returns the version (`Major.Minor`).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V1_0 => VERSION,
            Self::V0_3 => OLDER_VERSION,
        }
    }

    /// Returns the header that lists the extensions that a request activates.
    #[must_use]
    pub const fn extensions_header(self) -> &'static str {
        match self {
            Self::V1_0 => EXTENSIONS_HEADER,
            Self::V0_3 => "x-a2a-extensions",
        }
    }

    /// Returns the JSON-RPC method of an operation; `None` where the release has no such operation.
    #[must_use]
    pub fn method(self, operation: Operation) -> Option<&'static str> {
        match self {
            Self::V1_0 => Some(operation.name()),
            Self::V0_3 => operation.older(),
        }
    }

    /// Returns the operation of a JSON-RPC method.
    #[must_use]
    pub fn operation(self, method: &str) -> Option<Operation> {
        Operation::ALL.iter().copied().find(|operation| self.method(*operation) == Some(method))
    }
}

const STREAMING: Option<(Capability, A2aCode)> =
    Some((Capability::Streaming, A2aCode::UnsupportedOperation));
const PUSH: Option<(Capability, A2aCode)> =
    Some((Capability::Push, A2aCode::PushNotificationNotSupported));

catalog! {
    /// The eleven operations of A2A 1.0, by JSON-RPC method name (A2A 1.0 §5.3).
    pub enum Operation {
        /// Capability that it requires of an agent, and the error code of an agent without it (A2A
        /// 1.0 §3.3.4).
        needs: Option<(Capability, A2aCode)>,
        /// JSON-RPC method in A2A 0.3, where it exists there (A2A 0.3 §7).
        older: Option<&'static str>;
        /// True when the answer is a stream.
        streams: bool = false,
    }
    /// Sends a message and waits for the answer.
    SendMessage = "SendMessage" { needs: None, older: Some("message/send") }
    /// Sends a message and streams the answer.
    SendStreamingMessage = "SendStreamingMessage" {
        needs: STREAMING, older: Some("message/stream"); streams: true,
    }
    /// Reads a task.
    GetTask = "GetTask" {
        needs: Some((Capability::Tasks, A2aCode::TaskNotFound)), older: Some("tasks/get"),
    }
    /// Lists the caller's tasks.
    ListTasks = "ListTasks" {
        needs: Some((Capability::Tasks, A2aCode::UnsupportedOperation)), older: None,
    }
    /// Cancels a task.
    CancelTask = "CancelTask" {
        needs: Some((Capability::Tasks, A2aCode::TaskNotFound)), older: Some("tasks/cancel"),
    }
    /// Streams a task's further events.
    SubscribeToTask = "SubscribeToTask" {
        needs: STREAMING, older: Some("tasks/resubscribe"); streams: true,
    }
    /// Adds a webhook to a task.
    CreateTaskPushNotificationConfig = "CreateTaskPushNotificationConfig" {
        needs: PUSH, older: Some("tasks/pushNotificationConfig/set"),
    }
    /// Reads a webhook of a task.
    GetTaskPushNotificationConfig = "GetTaskPushNotificationConfig" {
        needs: PUSH, older: Some("tasks/pushNotificationConfig/get"),
    }
    /// Lists the webhooks of a task.
    ListTaskPushNotificationConfigs = "ListTaskPushNotificationConfigs" {
        needs: PUSH, older: Some("tasks/pushNotificationConfig/list"),
    }
    /// Removes a webhook from a task.
    DeleteTaskPushNotificationConfig = "DeleteTaskPushNotificationConfig" {
        needs: PUSH, older: Some("tasks/pushNotificationConfig/delete"),
    }
    /// Reads the card for authenticated callers.
    GetExtendedAgentCard = "GetExtendedAgentCard" {
        needs: Some((Capability::ExtendedCard, A2aCode::UnsupportedOperation)),
        older: Some("agent/getAuthenticatedExtendedCard"),
    }
}

/// An optional capability of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    /// Stores tasks.
    Tasks,
    /// Supports streaming.
    Streaming,
    /// Supports push notifications.
    Push,
    /// Has an extended card for authenticated callers.
    ExtendedCard,
}

/// Returns true when a requested version belongs to a release; `1.0.x` belongs to `1.0` (A2A 1.0
/// §3.6).
#[must_use]
pub fn is_release(requested: &str, release: &str) -> bool {
    match requested.trim().strip_prefix(release) {
        Some("") => true,
        Some(rest) => rest.strip_prefix('.').is_some_and(|patch| {
            !patch.is_empty() && patch.bytes().all(|byte| byte.is_ascii_digit())
        }),
        None => false,
    }
}

/// Checks the protocol version of a request.
///
/// # Errors
/// `VERSION_NOT_SUPPORTED`, when it is not [`VERSION`].
pub fn check_version(requested: &str) -> Result<(), A2aRefusal> {
    if is_release(requested, VERSION) { Ok(()) } else { Err(other_version(&[VERSION])) }
}

/// Returns the refusal of an unsupported version, with the supported ones.
#[must_use]
pub fn other_version(spoken: &[&str]) -> A2aRefusal {
    let message = match spoken {
        [only] => format!("this agent speaks A2A {only} only; send A2A-Version: {only}"),
        _ => {
            let these = spoken.join(" and ");
            let one = spoken.join(" or ");
            format!("this agent speaks A2A {these}; send A2A-Version: {one}")
        }
    };
    A2aRefusal::new(A2aCode::VersionNotSupported, message)
        .with("supportedVersions", spoken.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_without_their_patch_number() {
        for good in ["1.0", "1.0.3", " 1.0"] {
            assert!(check_version(good).is_ok(), "{good}");
        }
        for bad in ["0.3", "2.0", "1.1", "1", "abc", "", "1.0.x", "1.0.", "1.0.3.4", "1.01"] {
            assert!(check_version(bad).is_err(), "{bad}");
        }
    }
}
