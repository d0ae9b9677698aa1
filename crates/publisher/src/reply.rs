//! What a tool replies, and how it is remembered under an idempotency key.

use jiff::Timestamp;
use tradepost_wire::adcp::error::AdcpError;
use tradepost_wire::adcp::{AdcpTaskStatus, answer};
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::fault::InternalError;
use tradepost_wire::json::{JsonPieces, Map, Value, json};

/// What a tool replies when it does not refuse.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolReply {
    /// How far the task is: completed, or one of those that wait.
    pub standing: AdcpTaskStatus,
    /// One sentence for people.
    pub message: String,
    /// Members of the payload that were written before.
    pub written: Vec<(&'static str, JsonPieces)>,
    /// The other members of the payload.
    pub body: Map,
    /// What the caller should know besides (`T-2`).
    pub warnings: Vec<AdcpError>,
    /// Whether an earlier reply is repeated.
    pub replayed: bool,
    /// For how long it stays the same; `None` when that was not found out.
    pub(crate) lasts: Option<Lasts>,
}

/// For how long a reply stays the same, as long as nothing changes of what is kept and sold.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Lasts {
    /// Up to this moment.
    pub until: Timestamp,
    /// While this is sold out at the ad server.
    pub sold_out: Vec<String>,
}

/// An object of the members that there are, in this order.
pub(crate) fn object<const N: usize>(members: [(&str, Option<Value>); N]) -> Map {
    let there = |(name, value): (&str, Option<Value>)| Some((name.to_owned(), value?));
    members.into_iter().filter_map(there).collect()
}

impl ToolReply {
    /// A completed task with a payload, which must be an object.
    #[must_use]
    pub fn completed(message: impl Into<String>, body: Value) -> Self {
        Self::new(AdcpTaskStatus::Completed, message, body)
    }

    /// The same of a task that is so far.
    pub(crate) fn new(standing: AdcpTaskStatus, message: impl Into<String>, body: Value) -> Self {
        let Value::Object(body) = body else {
            unreachable!("the payload of every tool is an object");
        };
        let (message, written, warnings) = (message.into(), Vec::new(), Vec::new());
        Self { standing, message, written, body, warnings, replayed: false, lasts: None }
    }

    /// The reply as it is remembered under a key.
    pub(crate) fn store(&self) -> Value {
        json!({
            "standing": self.standing.name(),
            "message": self.message,
            "body": answer::whole(self.written.clone(), self.body.clone()),
            "warnings": self.warnings,
        })
    }

    /// The reply that was remembered.
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
            lasts: None,
        })
    }
}

/// A value without what must not be shown again: tokens of lists, and bank accounts.
pub(crate) fn scrubbed(value: &Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(scrubbed_members(members)),
        Value::Array(items) => items.iter().map(scrubbed).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// The same of the members of an object.
pub(crate) fn scrubbed_members(members: &Map) -> Map {
    const HIDDEN: [&str; 3] = ["auth_token", "bank", "credentials"];
    let kept = members.iter().filter(|(name, _)| !HIDDEN.contains(&name.as_str()));
    kept.map(|(name, value)| (name.clone(), scrubbed(value))).collect()
}
