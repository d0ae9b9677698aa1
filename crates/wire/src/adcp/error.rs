//! The error object of AdCP, both ways: written by sellers, read by buyers. It stands alone as
//! `adcp_error` in the envelope of a failed task and in lists as `errors[]` in the payload.

use std::fmt::Write as _;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::once;
use crate::catalog::{Open, catalog, words};
use crate::json::{Map, Value, json, put};

mod code;

pub use code::Code;

/// The longest code, in characters.
// O-1
pub const MAX_CODE: usize = 64;

/// The largest error object that a client may accept, in bytes of JSON.
// T-6
pub const MAX_BYTES: usize = 4096;

/// The bounds of `retry_after`, in seconds.
// E-2
pub const RETRY_AFTER: std::ops::RangeInclusive<u32> = 1..=3600;

/// How many errors of one list are read.
pub const MAX_LISTED: usize = 100;

words! {
    /// How one recovers from an error.
    pub enum Recovery {
        /// The same request may succeed later.
        Transient = "transient",
        /// Another request may succeed.
        Correctable = "correctable",
        /// A person has to act.
        Terminal = "terminal",
    }
}

words! {
    /// A release of AdCP that brought codes.
    pub enum Release {
        /// 3.0
        V3_0 = "3.0",
        /// 3.1
        V3_1 = "3.1",
        /// 3.2
        V3_2 = "3.2",
    }
}

words! {
    /// Who wrote an error into an answer.
    pub enum Source {
        /// The agent that answers.
        Producer = "producer",
        /// A library on the way, which noticed something; `sdk_id` names it.
        // D-8
        Sdk = "sdk",
    }
}

catalog! {
    /// What a buyer has to know about a code besides its recovery class.
    pub enum Rule {
        /// Whether the same request may ever be sent again, when the error states the class for it.
        permits_repeating: bool,
    }
    /// Nothing: the class says it all.
    Class = "class" { permits_repeating: true }
    /// A note beside a result rather than a failure; not to be retried.
    Advisory = "advisory" { permits_repeating: false }
    /// Give a credential once where none was sent; never present a rejected one again.
    //
    Credentials = "credentials" { permits_repeating: true }
    /// An expired token may be renewed once.
    //
    Renewal = "renewal" { permits_repeating: true }
    /// A conversation that the seller has forgotten may be left behind once.
    //
    Context = "context" { permits_repeating: true }
    /// The rules of throttling hold.
    // H-1 to H-5
    Throttled = "throttled" { permits_repeating: true }
    /// Read the resource again before sending.
    // Y-6
    Reread = "reread" { permits_repeating: false }
    /// The same key until there is an answer.
    // E-4
    InFlight = "in_flight" { permits_repeating: true }
    /// The key belongs to another request.
    NewKey = "new_key" { permits_repeating: true }
    /// Look for the effect of the first request before making another.
    Reconcile = "reconcile" { permits_repeating: true }
    /// A few retries tell a missing scope from a replica that lags.
    //
    Scope = "scope" { permits_repeating: true }
    /// Leave the field out; never the same request again.
    //
    Strip = "strip" { permits_repeating: false }
    /// A governance token may be missing; the gate of agents hides here too.
    // G-1
    Permission = "permission" { permits_repeating: true }
    /// The seller's relationship with the agent: a person, and no retry whatever the answer
    /// says.
    // G-8
    Gate = "gate" { permits_repeating: false }
    /// The seller's own fault; repeated, it is an outage.
    // Y-3, Y-4
    Misconfigured = "misconfigured" { permits_repeating: false }
    /// A credential leaked into the arguments: no retry, and replace it.
    //
    Leak = "leak" { permits_repeating: false }
    /// Another way of billing may be accepted.
    // B-6
    Billing = "billing" { permits_repeating: true }
    /// The way of billing that the seller suggests, once.
    // B-5
    AgentBilling = "agent_billing" { permits_repeating: false }
    /// A person completes a setup at an address.
    // Z-3
    Setup = "setup" { permits_repeating: true }
    /// A person has to agree or connect something before the request can be corrected.
    Person = "person" { permits_repeating: true }
    /// The reason in the details decides.
    Action = "action" { permits_repeating: true }
    /// The account to use is in the details.
    Moved = "moved" { permits_repeating: true }
    /// The seller has to mend its data.
    Seller = "seller" { permits_repeating: false }
    /// The write has happened: never send it again.
    Never = "never" { permits_repeating: false }
    /// There is nothing to be done about it.
    Final = "final" { permits_repeating: false }
}

/// An error object.
#[derive(Debug, Clone, PartialEq)]
pub struct Error {
    /// The code; an unknown one is kept.
    // D-1
    pub code: Open<Code>,
    /// For people, as sent.
    pub message: String,
    /// How to recover, as sent; `None` when absent. A value that is no word at all is kept as its
    /// JSON.
    pub recovery: Option<Open<Recovery>>,
    /// The field at fault, in AdCP's path notation (`packages[0].budget`). For display: never a
    /// path by which to change a request.
    pub field: Option<String>,
    /// What the seller suggests.
    pub suggestion: Option<String>,
    /// How many seconds to wait: rounded up, then brought into [`RETRY_AFTER`]; `None` when absent
    /// or no finite number.
    pub retry_after: Option<u32>,
    /// Every violated constraint.
    pub issues: Vec<Issue>,
    /// Whatever else the code's shape has, as sent.
    pub details: Map,
    /// Who wrote it; absent means the agent that answers.
    pub source: Option<Open<Source>>,
    /// Which library, when one did.
    pub sdk_id: Option<String>,
    /// `warning` for what is no failure.
    // T-2
    pub severity: Option<String>,
}

/// A violated constraint.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Issue {
    /// A JSON Pointer into the request.
    pub pointer: String,
    /// What is wrong, for people.
    pub message: String,
    /// The JSON Schema keyword.
    pub keyword: String,
    /// The published `$id` of the schema that refused.
    pub schema_id: Option<String>,
    /// The place within that schema.
    pub schema_path: Option<String>,
    /// The variant that was taken for meant, by property and value.
    pub discriminator: Vec<(String, Value)>,
}

/// Why something is no error object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// It is not an object.
    NotAnObject,
    /// It has no `code`, or one that is no text.
    NoCode,
    /// The code is empty or longer than [`MAX_CODE`].
    CodeLength,
    /// It is larger than [`MAX_BYTES`].
    TooLarge,
}

impl Malformed {
    /// In words, to follow "the error object".
    #[must_use]
    pub const fn why(self) -> &'static str {
        match self {
            Self::NotAnObject => "is not an object",
            Self::NoCode => "has no code",
            Self::CodeLength => "has a code that is empty or longer than 64 characters",
            Self::TooLarge => "is larger than 4096 bytes",
        }
    }
}

impl Error {
    /// An error of this code, with the recovery class of its row.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code: Open::Known(code),
            message: message.into(),
            recovery: Some(Open::Known(code.recovery())),
            field: None,
            suggestion: None,
            retry_after: None,
            issues: Vec::new(),
            details: Map::new(),
            source: None,
            sdk_id: None,
            severity: None,
        }
    }

    /// The same with a member of `details`.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }

    /// How to recover: what the error says, an unknown word being terminal; else
    /// the row's class; else transient, which every budget bounds.
    // D-2, D-4, D-3
    #[must_use]
    pub fn class(&self) -> Recovery {
        match (&self.recovery, &self.code) {
            (Some(Open::Known(recovery)), _) => *recovery,
            (Some(Open::Other(_)), _) => Recovery::Terminal,
            (None, Open::Known(code)) => code.recovery(),
            (None, Open::Other(_)) => Recovery::Transient,
        }
    }

    /// What the code's row says besides; nothing for an unknown code.
    #[must_use]
    pub fn rule(&self) -> Rule {
        self.code.known().map_or(Rule::Class, Code::rule)
    }

    /// Names it by the equivalent that a release has, when it does not have the code itself. The
    /// recovery class stays as it is: it is the class of what happened.
    // D-6
    pub fn pin(&mut self, release: Release) {
        let Open::Known(code) = self.code else {
            return;
        };
        if code.since() > release
            && let Some(older) = code.before()
        {
            self.code = Open::Known(older);
        }
    }

    /// Reads an error object.
    ///
    /// # Errors
    /// What makes it none; the caller then goes on as if there were no structured error.
    // T-6
    pub fn read(value: &Value) -> Result<Self, Malformed> {
        let members = value.as_object().ok_or(Malformed::NotAnObject)?;
        let text = |name: &str| members.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
        let code = members.get("code").and_then(Value::as_str).ok_or(Malformed::NoCode)?;
        if code.is_empty() || code.chars().count() > MAX_CODE {
            return Err(Malformed::CodeLength);
        }
        if !fits(value) {
            return Err(Malformed::TooLarge);
        }
        let issues = members.get("issues").and_then(Value::as_array);
        Ok(Self {
            code: Open::parse(code),
            message: text("message").unwrap_or_default(),
            recovery: members.get("recovery").filter(|value| !value.is_null()).map(|value| {
                value.as_str().map_or_else(|| Open::Other(value.to_string().into()), Open::parse)
            }),
            field: text("field"),
            suggestion: text("suggestion"),
            retry_after: members.get("retry_after").and_then(seconds),
            issues: issues.into_iter().flatten().filter_map(Issue::read).collect(),
            details: members.get("details").and_then(Value::as_object).cloned().unwrap_or_default(),
            source: text("source").map(|name| Open::parse(&name)),
            sdk_id: text("sdk_id"),
            severity: text("severity"),
        })
    }

    /// Reads a list of errors: what is no error object is left out, and so is what comes after the
    /// first [`MAX_LISTED`].
    #[must_use]
    pub fn read_list(value: &Value) -> Vec<Self> {
        let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
        items.iter().take(MAX_LISTED).filter_map(|item| Self::read(item).ok()).collect()
    }

    /// The fields at fault, each once: those of the issues, `field`, and `details.fields`.
    #[must_use]
    pub fn fields(&self) -> Vec<String> {
        let listed = self.details.get("fields").and_then(Value::as_array);
        let listed = listed.into_iter().flatten().filter_map(|field| field.as_str());
        let issues = self.issues.iter().map(|issue| path(&issue.pointer));
        let all = issues.chain(self.field.clone()).chain(listed.map(ToOwned::to_owned));
        once(all.filter(|field| !field.is_empty()))
    }
}

impl Issue {
    fn read(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
        let pairs = value.get("discriminator").and_then(Value::as_array);
        let pair = |pair: &Value| {
            let name = pair.get("property_name")?.as_str()?.to_owned();
            let value = pair.get("value")?;
            (!value.is_object() && !value.is_array()).then(|| (name, value.clone()))
        };
        Some(Self {
            pointer: text("pointer")?,
            message: text("message").unwrap_or_default(),
            keyword: text("keyword").unwrap_or_default(),
            schema_id: text("schema_id"),
            schema_path: text("schemaPath"),
            discriminator: pairs.into_iter().flatten().filter_map(pair).collect(),
        })
    }
}

/// Whether the JSON of a value is at most [`MAX_BYTES`] long; stops writing as soon as it is not.
fn fits(value: &Value) -> bool {
    struct Room(usize);
    impl std::io::Write for Room {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::WriteZero)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    crate::json::to_writer(Room(MAX_BYTES), value).is_ok()
}

/// A delay, never shorter than written.
// E-2, O-3
fn seconds(value: &Value) -> Option<u32> {
    let seconds = value.as_number()?.as_f64().filter(|seconds| seconds.is_finite())?;
    let (least, most) = (*RETRY_AFTER.start(), *RETRY_AFTER.end());
    // The conversion saturates.
    Some((seconds.ceil() as u32).clamp(least, most))
}

/// A JSON Pointer in AdCP's path notation: `/packages/0/a~1b` is `packages[0].a/b`.
// O-4
#[must_use]
pub fn path(pointer: &str) -> String {
    let mut path = String::new();
    for segment in pointer.split('/').skip(1) {
        let is_index = !segment.is_empty() && segment.bytes().all(|b| b.is_ascii_digit());
        if is_index {
            // Writing to a String cannot fail.
            let _ = write!(path, "[{segment}]");
            continue;
        }
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(&segment.replace("~1", "/").replace("~0", "~"));
    }
    path
}

impl Serialize for Error {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let first = self.issues.first().map(|issue| path(&issue.pointer));
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("code", self.code.name())?;
        object.serialize_entry("message", &self.message)?;
        put(&mut object, "recovery", self.recovery.as_ref().map(Open::name))?;
        put(&mut object, "field", first.as_ref().or(self.field.as_ref()))?;
        put(&mut object, "suggestion", self.suggestion.as_ref())?;
        put(&mut object, "retry_after", self.retry_after)?;
        put(&mut object, "issues", (!self.issues.is_empty()).then_some(&self.issues))?;
        put(&mut object, "details", (!self.details.is_empty()).then_some(&self.details))?;
        put(&mut object, "source", self.source.as_ref().map(Open::name))?;
        put(&mut object, "sdk_id", self.sdk_id.as_ref())?;
        put(&mut object, "severity", self.severity.as_ref())?;
        object.end()
    }
}

impl Serialize for Issue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let pairs = self.discriminator.iter();
        let pairs: Vec<_> =
            pairs.map(|(name, value)| json!({"property_name": name, "value": value})).collect();
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("pointer", &self.pointer)?;
        object.serialize_entry("message", &self.message)?;
        object.serialize_entry("keyword", &self.keyword)?;
        put(&mut object, "schema_id", self.schema_id.as_ref())?;
        put(&mut object, "schemaPath", self.schema_path.as_ref())?;
        put(&mut object, "discriminator", (!pairs.is_empty()).then_some(pairs))?;
        object.end()
    }
}

#[cfg(test)]
mod tests;
