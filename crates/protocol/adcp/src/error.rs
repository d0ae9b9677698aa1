//! The error object of AdCP, for sellers and buyers. It is `adcp_error` in the envelope of a failed
//! task, and an item of `errors[]` in the payload.

use std::fmt::Write as _;
use std::time::Duration;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::once;
use tradepost_document::catalog::{WireName, catalog, words};
use tradepost_document::http::RetryAfter;
use tradepost_document::json::{Map, Value, json, put};

mod code;

pub use code::AdcpCode;

/// Maximum length of a code in characters.
// A code has 1 to 64 characters (AdCP 3.1, "Error handling"; O-1).
pub const MAX_CODE: usize = 64;

/// Maximum size of an error object that clients accept, in bytes of JSON.
// A larger object counts as no structured error (AdCP 3.1, "Transport errors"; T-6).
pub const MAX_BYTES: usize = 4096;

/// Bounds of `retry_after` in seconds.
// Values are clamped to these bounds (AdCP 3.1, "Transport errors"; E-2).
pub const RETRY_AFTER: std::ops::RangeInclusive<u32> = 1..=3600;

/// Maximum number of errors that are read from a list.
pub const MAX_LISTED: usize = 100;

words! {
    /// Recovery classes.
    pub enum Recovery {
        /// The same request may succeed later.
        Transient = "transient",
        /// A corrected request may succeed.
        Correctable = "correctable",
        /// A person has to act.
        Terminal = "terminal",
    }
}

words! {
    /// Releases of AdCP that added error codes.
    pub enum AdcpRelease {
        /// 3.0
        V3_0 = "3.0",
        /// 3.1
        V3_1 = "3.1",
        /// 3.2
        V3_2 = "3.2",
    }
}

words! {
    /// Authors of an error in an answer.
    pub enum ErrorSource {
        /// The agent that answers.
        Producer = "producer",
        /// A library between agent and caller; `sdk_id` names it.
        // Only libraries set `sdk_id` (AdCP 3.1, "Error handling"; D-8).
        Sdk = "sdk",
    }
}

catalog! {
    /// Rules for a buyer beyond the recovery class of a code.
    pub enum RecoveryRule {
        /// True when the same request may be repeated at all, if the error's class permits it.
        permits_repeating: bool,
    }
    /// No additional rule.
    Class = "class" { permits_repeating: true }
    /// A note beside a result; not to be retried.
    Advisory = "advisory" { permits_repeating: false }
    /// Send a credential once where none was sent; never repeat a rejected one.
    // See AdCP 3.1, "Error handling", for missing and rejected credentials.
    Credentials = "credentials" { permits_repeating: true }
    /// Renew an expired token once.
    // An expired token may be refreshed silently (AdCP 3.1, "Error handling"; A-5).
    Renewal = "renewal" { permits_repeating: true }
    /// Drop a context that the seller no longer knows, once.
    // The retry leaves out `context_id` (AdCP 3.1, "Error handling"; X-1).
    Context = "context" { permits_repeating: true }
    /// The rules for rate limits apply.
    // See AdCP 3.1, "Rate limiting" (H-1 to H-5).
    Throttled = "throttled" { permits_repeating: true }
    /// Read the resource again before sending.
    // The change is sent against the present state (AdCP 3.1, "Error handling"; Y-6).
    Reread = "reread" { permits_repeating: false }
    /// Use the same key until there is an answer.
    // A retry never uses a new key (AdCP 3.1, "Security"; E-4).
    InFlight = "in_flight" { permits_repeating: true }
    /// Use a new key, because this one belongs to another request.
    NewKey = "new_key" { permits_repeating: true }
    /// Check for the effect of the first request before sending another.
    Reconcile = "reconcile" { permits_repeating: true }
    /// Retry a few times, because a replica may lag behind a new scope.
    // At most three attempts within 15 seconds (AdCP 3.1, "Accounts"; R-8).
    Scope = "scope" { permits_repeating: true }
    /// Leave out the field; never repeat the same request.
    // The field is removed and the request sent again (AdCP 3.1, "Error handling"; R-9).
    Strip = "strip" { permits_repeating: false }
    /// Get a governance token; the code also stands for a blocked agent.
    // Sandbox-only agents get this code too (AdCP 3.1, "Error handling"; G-1).
    Permission = "permission" { permits_repeating: true }
    /// Involve a person, because the seller has restricted the agent; never retry, whatever the
    /// answer permits.
    // These codes always go to a person (AdCP 3.1, "Error handling"; G-8).
    Gate = "gate" { permits_repeating: false }
    /// An error of the seller's configuration; repeated, it is an outage.
    // A person is told, and repetitions count as an outage (AdCP 3.1, "Error handling"; Y-3, Y-4).
    Misconfigured = "misconfigured" { permits_repeating: false }
    /// Replace the credential that was in the arguments; never retry.
    // The credential counts as leaked (AdCP 3.1, "Error handling"; A-9).
    Leak = "leak" { permits_repeating: false }
    /// Choose another billing model.
    // Supported models are in the details (AdCP 3.1, "Error handling"; B-6).
    Billing = "billing" { permits_repeating: true }
    /// Use the billing model that the seller suggests, once.
    // A second rejection goes to a person (AdCP 3.1, "Error handling"; B-5).
    AgentBilling = "agent_billing" { permits_repeating: false }
    /// Have a person complete a setup at an address.
    // The address is checked before it is shown (AdCP 3.1, "Transport errors"; Z-3).
    Setup = "setup" { permits_repeating: true }
    /// Have a person agree to or connect something before the request can be corrected.
    Person = "person" { permits_repeating: true }
    /// Follow the reason in the details.
    Action = "action" { permits_repeating: true }
    /// Use the account in the details.
    Moved = "moved" { permits_repeating: true }
    /// Tell the seller, which has to correct its data.
    Seller = "seller" { permits_repeating: false }
    /// Never repeat the request, because the write has happened.
    Never = "never" { permits_repeating: false }
    /// Stop; nothing can be done.
    Final = "final" { permits_repeating: false }
}

/// An error object.
#[derive(Debug, Clone, PartialEq)]
pub struct AdcpError {
    /// Error code; an unknown one is kept.
    // Any code is accepted (AdCP 3.1, "Error handling"; D-1).
    pub code: WireName<AdcpCode>,
    /// Message for people, as sent.
    pub message: String,
    /// Recovery class, as sent; `None` when absent. A value that is not a string is kept as JSON.
    pub recovery: Option<WireName<Recovery>>,
    /// Field at fault, in AdCP's path notation (`packages[0].budget`). For display only: never
    /// change a request by it.
    pub field: Option<String>,
    /// Suggestion of the seller.
    pub suggestion: Option<String>,
    /// Retry-after in seconds: rounded up, then clamped to [`RETRY_AFTER`]; `None` when absent or
    /// not a finite number.
    pub retry_after: Option<u32>,
    /// Every violated constraint.
    pub issues: Vec<Issue>,
    /// Other members of the code's details, as sent.
    pub details: Map,
    /// Author; absent for the agent that answers.
    pub source: Option<WireName<ErrorSource>>,
    /// Library that wrote it, if one did.
    pub sdk_id: Option<String>,
    /// `warning` for errors that are no failure.
    // A warning is in `errors[]` only (AdCP 3.1, "Error handling"; T-2).
    pub severity: Option<String>,
}

/// A violated constraint.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Issue {
    /// JSON Pointer into the request.
    pub pointer: String,
    /// Message for people.
    pub message: String,
    /// JSON Schema keyword.
    pub keyword: String,
    /// Published `$id` of the violated schema.
    pub schema_id: Option<String>,
    /// Location within that schema.
    pub schema_path: Option<String>,
    /// Variant of the union that was assumed, by property and value.
    pub discriminator: Vec<(String, Value)>,
}

/// Reason why a value is not an error object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorFormatError {
    /// Not an object.
    NotAnObject,
    /// No `code`, or one that is not a string.
    NoCode,
    /// The code is empty or longer than [`MAX_CODE`].
    CodeLength,
    /// Larger than [`MAX_BYTES`].
    TooLarge,
}

impl ErrorFormatError {
    /// Returns the reason, to follow "the error object".
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

impl AdcpError {
    /// Creates an error with the recovery class of its code.
    #[must_use]
    pub fn new(code: AdcpCode, message: impl Into<String>) -> Self {
        Self {
            code: WireName::Known(code),
            message: message.into(),
            recovery: Some(WireName::Known(code.recovery())),
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

    /// Adds a member of `details`.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }

    /// Sets the retry-after, within the bounds that AdCP permits.
    #[must_use]
    pub fn with_wait(self, wait: Duration) -> Self {
        Self { retry_after: Some(bounded_seconds(RetryAfter::new(wait))), ..self }
    }

    /// Returns the recovery class: the error's, where an unknown value is terminal; else that of
    /// the code; else transient, which every budget limits.
    // The order is that of AdCP 3.1, "Error handling" and "Transport errors" (D-2, D-4, D-3).
    #[must_use]
    pub fn class(&self) -> Recovery {
        match (&self.recovery, &self.code) {
            (Some(WireName::Known(recovery)), _) => *recovery,
            (Some(WireName::Other(_)), _) => Recovery::Terminal,
            (None, WireName::Known(code)) => code.recovery(),
            (None, WireName::Other(_)) => Recovery::Transient,
        }
    }

    /// Returns the additional rule of the code; none for an unknown code.
    #[must_use]
    pub fn rule(&self) -> RecoveryRule {
        self.code.known().map_or(RecoveryRule::Class, AdcpCode::rule)
    }

    /// Replaces a code that a release does not have by its equivalent in that release. The recovery
    /// class is unchanged, because it describes what happened.
    // A code from the pinned release is preferred where an equivalent exists (AdCP 3.1, "Error
    // handling"; D-6).
    pub fn pin(&mut self, release: AdcpRelease) {
        let WireName::Known(code) = self.code else {
            return;
        };
        if code.since() > release
            && let Some(older) = code.before()
        {
            self.code = WireName::Known(older);
        }
    }

    /// Reads an error object.
    ///
    /// # Errors
    /// The reason why it is none; callers then treat the answer as one without a structured error.
    // The limits on code and size decide what counts as one (AdCP 3.1, "Transport errors"; T-6).
    pub fn read(value: &Value) -> Result<Self, ErrorFormatError> {
        let members = value.as_object().ok_or(ErrorFormatError::NotAnObject)?;
        let text = |name: &str| members.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
        let code = members.get("code").and_then(Value::as_str).ok_or(ErrorFormatError::NoCode)?;
        if code.is_empty() || code.chars().count() > MAX_CODE {
            return Err(ErrorFormatError::CodeLength);
        }
        if !fits(value) {
            return Err(ErrorFormatError::TooLarge);
        }
        let issues = members.get("issues").and_then(Value::as_array);
        Ok(Self {
            code: WireName::parse(code),
            message: text("message").unwrap_or_default(),
            recovery: members.get("recovery").filter(|value| !value.is_null()).map(|value| {
                value
                    .as_str()
                    .map_or_else(|| WireName::Other(value.to_string().into()), WireName::parse)
            }),
            field: text("field"),
            suggestion: text("suggestion"),
            retry_after: members.get("retry_after").and_then(seconds),
            issues: issues.into_iter().flatten().filter_map(Issue::read).collect(),
            details: members.get("details").and_then(Value::as_object).cloned().unwrap_or_default(),
            source: text("source").map(|name| WireName::parse(&name)),
            sdk_id: text("sdk_id"),
            severity: text("severity"),
        })
    }

    /// Reads a list of errors. Items that are no error objects are left out, and so are items after
    /// the first [`MAX_LISTED`].
    #[must_use]
    pub fn read_list(value: &Value) -> Vec<Self> {
        let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
        items.iter().take(MAX_LISTED).filter_map(|item| Self::read(item).ok()).collect()
    }

    /// Returns the fields at fault without duplicates: of the issues, of `field`, and of
    /// `details.fields`.
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

/// Returns true when the JSON of a value has at most [`MAX_BYTES`]; stops serialising beyond that.
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
    tradepost_document::json::to_writer(Room(MAX_BYTES), value).is_ok()
}

/// Reads a delay in seconds, rounded up.
// Fractions are rounded up and values clamped (AdCP 3.1, "Transport errors"; E-2, O-3).
fn seconds(value: &Value) -> Option<u32> {
    let seconds = value.as_number()?.as_f64().filter(|seconds| seconds.is_finite())?;
    RetryAfter::from_seconds(seconds.max(0.0)).map(bounded_seconds)
}

/// Converts a pause to whole seconds within the bounds of AdCP.
fn bounded_seconds(wait: RetryAfter) -> u32 {
    let seconds = u32::try_from(wait.seconds()).unwrap_or(u32::MAX);
    seconds.clamp(*RETRY_AFTER.start(), *RETRY_AFTER.end())
}

/// Converts a JSON Pointer to AdCP's path notation: `/packages/0/a~1b` becomes `packages[0].a/b`.
// `field` is the first issue's pointer in this notation (AdCP 3.1, "Error handling"; O-4).
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

impl Serialize for AdcpError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let first = self.issues.first().map(|issue| path(&issue.pointer));
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("code", self.code.name())?;
        object.serialize_entry("message", &self.message)?;
        put(&mut object, "recovery", self.recovery.as_ref().map(WireName::name))?;
        put(&mut object, "field", first.as_ref().or(self.field.as_ref()))?;
        put(&mut object, "suggestion", self.suggestion.as_ref())?;
        put(&mut object, "retry_after", self.retry_after)?;
        put(&mut object, "issues", (!self.issues.is_empty()).then_some(&self.issues))?;
        put(&mut object, "details", (!self.details.is_empty()).then_some(&self.details))?;
        put(&mut object, "source", self.source.as_ref().map(WireName::name))?;
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
