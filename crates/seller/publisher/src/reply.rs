//! Replies of tools, and how they are stored under an idempotency key.

use jiff::Timestamp;
use tradepost_adcp::error::AdcpError;
use tradepost_adcp::{AdcpTaskStatus, answer};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_document::json::{JsonPieces, Map, Value, json};

/// Reply of a tool that does not refuse.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolReply {
    /// Status of the task: completed, or one of those that wait.
    pub standing: AdcpTaskStatus,
    /// One sentence for people.
    pub message: String,
    /// Members of the payload that are serialised already.
    pub written: Vec<(&'static str, JsonPieces)>,
    /// The other members of the payload.
    pub body: Map,
    /// Warnings beside a successful answer (AdCP 3.1 `error-handling`, `T-2`).
    pub warnings: Vec<AdcpError>,
    /// True when an earlier reply is repeated.
    pub replayed: bool,
    /// Time for which it stays the same; `None` when that was not determined.
    pub(crate) lifetime: Option<ReplyLifetime>,
}

/// Time for which a reply stays the same, while store and catalogue do not change.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReplyLifetime {
    /// End of that time, exclusive.
    pub until: Timestamp,
    /// Products that are sold out at the ad server, by id; the reply holds only while they are the same.
    pub sold_out: Vec<String>,
}

/// Builds an object of the members that have a value, in this order.
pub(crate) fn object<const N: usize>(members: [(&str, Option<Value>); N]) -> Map {
    let with_value = |(name, value): (&str, Option<Value>)| Some((name.to_owned(), value?));
    members.into_iter().filter_map(with_value).collect()
}

impl ToolReply {
    /// Creates the reply of a completed task with a payload, which must be an object.
    #[must_use]
    pub fn completed(message: impl Into<String>, body: Value) -> Self {
        Self::new(AdcpTaskStatus::Completed, message, body)
    }

    /// Creates the reply of a task with this status and a payload, which must be an object.
    pub(crate) fn new(standing: AdcpTaskStatus, message: impl Into<String>, body: Value) -> Self {
        let Value::Object(body) = body else {
            unreachable!("the payload of every tool is an object");
        };
        let message = message.into();
        let written = Vec::new();
        let warnings = Vec::new();
        Self { standing, message, written, body, warnings, replayed: false, lifetime: None }
    }

    /// Returns the reply as it is stored under an idempotency key.
    pub(crate) fn store(&self) -> Value {
        json!({
            "standing": self.standing.name(),
            "message": self.message,
            "body": answer::members(self.written.clone(), self.body.clone()),
            "warnings": self.warnings,
        })
    }

    /// Reads a stored reply.
    pub(crate) fn restore(stored: &Value) -> Result<Self, InternalError> {
        let bad = || {
            InternalError::new("reading a remembered reply", "it is not in the form that it has")
        };
        let standing = stored.get("standing").and_then(Value::as_str);
        let text = |name: &str| stored.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
        Ok(Self {
            standing: standing.and_then(AdcpTaskStatus::from_name).ok_or_else(bad)?,
            message: text("message").ok_or_else(bad)?,
            written: Vec::new(),
            body: stored.get("body").and_then(Value::as_object).cloned().ok_or_else(bad)?,
            warnings: stored.get("warnings").map(AdcpError::read_list).unwrap_or_default(),
            replayed: true,
            lifetime: None,
        })
    }
}

/// Returns a value without what must not be shown again: tokens of lists, credentials and bank accounts.
pub(crate) fn scrubbed(value: &Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(scrubbed_members(members)),
        Value::Array(items) => items.iter().map(scrubbed).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// Returns the members of an object without what must not be shown again.
pub(crate) fn scrubbed_members(members: &Map) -> Map {
    const HIDDEN: [&str; 3] = ["auth_token", "bank", "credentials"];
    let kept = members.iter().filter(|(name, _)| !HIDDEN.contains(&name.as_str()));
    kept.map(|(name, value)| (name.clone(), scrubbed(value))).collect()
}
