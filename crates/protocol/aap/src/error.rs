//! Refusals of AAP: the details of each error code, and reading and writing of the `aap.error`
//! object. The codes are a catalog in `code`.
// The rules are those of AAP 1.1 errors (R-ER-01 to R-ER-09).

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::schema::known_pointer;
use crate::vehicle::{TradeInCondition, VehicleCondition};
use crate::{Skill, Version};
use tradepost_document::catalog::{Vocabulary, WireName};
use tradepost_document::format::rfc3339;
use tradepost_document::http::RetryAfter;
use tradepost_document::json::{Map, Value, json, present, put};
use tradepost_document::problem::{DocumentPlace, Keyword, Problem, ProblemDetail, Problems, clip};

mod code;

pub use code::{AapCode, Remedy, SampleRequest};

/// Payload type of an error.
pub const TYPE: &str = "aap.error";

/// Domain of the `ErrorInfo` in the HTTP+JSON binding of AAP 1.0.
pub const DOMAIN: &str = "autoagentprotocol.org";

/// A refused request.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AapRefusal {
    /// Error code.
    pub code: AapCode,
    /// Message for people; may be shown to the user.
    pub message: String,
    /// Details for programs. The content of `problems` is added during serialisation.
    pub details: Map,
    /// Every problem found.
    pub problems: Problems,
    /// Retry-after, where retrying helps. The details contain it in numbers.
    pub wait: Option<Duration>,
}

impl fmt::Display for AapRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for AapRefusal {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.problems.as_cause()
    }
}

impl AapRefusal {
    /// Creates a refusal with a code and a message only.
    #[must_use]
    pub fn from_code(code: AapCode, message: impl Into<String>) -> Self {
        Self::new(code, message, Value::Null, Problems::new())
    }

    fn new(code: AapCode, message: impl Into<String>, details: Value, problems: Problems) -> Self {
        let details = if let Value::Object(members) = details { members } else { Map::new() };
        Self { code, message: message.into(), details, problems, wait: None }
    }

    /// Creates a refusal with a retry-after. `details` describe the limit.
    fn with_retry_after(
        code: AapCode,
        message: &str,
        wait: Duration,
        details: &[(&str, u64)],
    ) -> Self {
        let pause = RetryAfter::new(wait);
        let milliseconds = ("retry_after_ms", pause.milliseconds());
        let members = [milliseconds, ("retry_after_seconds", pause.seconds())];
        let members = members.iter().chain(details);
        let members = members.map(|(name, value)| ((*name).to_owned(), (*value).into()));
        let details = Value::Object(members.collect());
        Self { wait: Some(wait), ..Self::new(code, message, details, Problems::new()) }
    }

    /// Selects the code for some problems: missing members, the wrong vocabulary, or anything else.
    // The rule is deterministic where AAP permits several codes (C-06, C-07).
    #[must_use]
    pub fn from_problems(problems: Problems) -> Self {
        if problems.all_absences() {
            Self::missing_required_field(problems)
        } else if problems.all_other_vocabulary() {
            Self::invalid_condition(problems)
        } else {
            Self::schema_validation_failed(problems)
        }
    }

    /// Creates `SCHEMA_VALIDATION_FAILED`.
    #[must_use]
    pub fn schema_validation_failed(problems: Problems) -> Self {
        let message = format!("the request failed validation: {}", summary(&problems));
        Self::new(AapCode::SchemaValidationFailed, message, Value::Null, problems)
    }

    /// Creates a refusal with a code and, for programs, its reason in the details.
    #[must_use]
    pub fn from_reason(code: AapCode, message: impl Into<String>, reason: &str) -> Self {
        let mut refusal = Self::from_code(code, message);
        refusal.details.insert("reason".to_owned(), reason.into());
        refusal
    }

    /// Creates `MISSING_REQUIRED_FIELD`.
    #[must_use]
    pub fn missing_required_field(problems: Problems) -> Self {
        let message = summary(&problems);
        Self::new(AapCode::MissingRequiredField, message, Value::Null, problems)
    }

    /// Creates `MISSING_REQUIRED_FIELD` for a test drive without a vehicle, where the dealer
    /// requires one.
    // The dealer's policy is marked in the details (E-097).
    #[must_use]
    pub fn test_drive_without_vehicle() -> Self {
        let mut problems = Problems::new();
        tradepost_document::parse::missing(
            &DocumentPlace::Root,
            &mut problems,
            "vehicle_of_interest",
        );
        let message = "a test drive needs a vehicle_of_interest";
        Self::new(AapCode::MissingRequiredField, message, json!({"policy": true}), problems)
    }

    fn invalid_condition(problems: Problems) -> Self {
        let first = problems.listed().first().map(|problem| problem.pointer.as_str());
        let (field, vocabulary, allowed): (_, _, &[&str]) = match first {
            Some("/trade_in/condition") => ("trade_in.condition", "sale", TradeInCondition::NAMES),
            _ => ("vehicle_of_interest.condition", "trade_in", VehicleCondition::NAMES),
        };
        let message = format!(
            "{field} is from the {vocabulary} vocabulary; use one of {}",
            allowed.join(", ")
        );
        let details = json!({"field": field, "value_vocabulary": vocabulary, "allowed": allowed});
        Self::new(AapCode::InvalidCondition, message, details, problems)
    }

    /// Creates `UNSUPPORTED_SKILL`. `requested` is a well-formed payload type.
    #[must_use]
    pub fn unsupported_skill(requested: &str, offered: &[Skill]) -> Self {
        let supported: Vec<_> = offered.iter().map(|skill| skill.request_type()).collect();
        let message = format!("this agent does not implement {requested}");
        let details = json!({"requested_type": requested, "supported_types": supported});
        Self::new(AapCode::UnsupportedSkill, message, details, Problems::new())
    }

    /// Creates `CONTACT_CONSENT_REQUIRED` for a lead without any consent.
    // This code wins over all other problems of the lead (AAP 1.1 behavior-rules, C-01).
    #[must_use]
    pub fn consent_missing(problems: Problems) -> Self {
        let message = "no consent: add a consent grant with scope [\"lead_submission\"]";
        let details = json!({"missing": "consent", "expected_scope": "lead_submission"});
        Self::new(AapCode::ContactConsentRequired, message, details, problems)
    }

    /// Creates `CONTACT_CONSENT_REQUIRED` for a lead without a usable permitted channel. `channel`
    /// is the requested one, if there is one.
    // The channel rule has this code and not `INVALID_CONSENT` (AAP 1.1 behavior-rules, C-05).
    #[must_use]
    pub fn channel_not_permitted(channel: Option<&str>, allowed: &[&str]) -> Self {
        let listed = allowed.join(", ");
        let message = match channel {
            Some(channel) => {
                format!("the consent does not permit contact by {channel}; it permits {listed}")
            }
            None => format!("the consent permits {listed}, and the customer has no such address"),
        };
        let details = present([
            ("channel", channel.map(Value::from)),
            ("allowed_channels", Some(json!(allowed))),
            ("reason", Some("channel_not_permitted".into())),
        ]);
        Self::new(AapCode::ContactConsentRequired, message, details, Problems::new())
    }

    /// Creates `INVALID_CONSENT` for a malformed grant, whose problems come first.
    // Schema problems inside the consent get this code (C-04).
    #[must_use]
    pub fn malformed_consent(problems: Problems) -> Self {
        let message = format!("the consent grant is malformed: {}", summary(&problems));
        Self::new(AapCode::InvalidConsent, message, json!({"reason": "malformed"}), problems)
    }

    /// Creates `INVALID_CONSENT` for a grant that is not valid now.
    // Grants in the future and expired ones are refused (E-071, E-072).
    #[must_use]
    pub fn unusable_consent(reason: ConsentDefect, problems: Problems) -> Self {
        let (name, message) = reason.facts();
        let expired = if let ConsentDefect::Expired(at) = reason { Some(at) } else { None };
        let details = present([
            ("reason", Some(name.into())),
            ("expires_at", expired.map(|at| rfc3339(at).into())),
        ]);
        Self::new(AapCode::InvalidConsent, message, details, problems)
    }

    /// Creates `VEHICLE_NOT_FOUND`. `identifiers` are the well-formed ones of the request.
    #[must_use]
    pub fn vehicle_not_found(identifiers: &[(&'static str, &str)], dealer_id: &str) -> Self {
        // Identifiers have at most 64 characters.
        let named = identifiers.iter().map(|(name, value)| (*name, Value::from(clip(value))));
        let suggestion = Skill::InventorySearch.name().into();
        let besides = [("dealer_id", dealer_id.into()), ("suggestion", suggestion)];
        let message = "no listing of this dealer matches";
        let details = named.chain(besides).collect();
        Self::new(AapCode::VehicleNotFound, message, details, Problems::new())
    }

    /// Creates `VEHICLE_UNAVAILABLE`. `similar` are vehicle ids of similar listings.
    #[must_use]
    pub fn vehicle_unavailable(gone: &RemovedUnit<'_>, similar: &[String]) -> Self {
        let details = present([
            ("vin", gone.vin.map(Value::from)),
            ("stock", gone.stock.map(Value::from)),
            ("last_status", Some(gone.last_status.into())),
            ("unavailable_since", Some(rfc3339(gone.since).into())),
            ("similar_vehicle_ids", (!similar.is_empty()).then(|| json!(similar))),
            ("suggestion", Some(Skill::InventorySearch.name().into())),
        ]);
        let message = "the vehicle is no longer on offer";
        Self::new(AapCode::VehicleUnavailable, message, details, Problems::new())
    }

    /// Creates `APPOINTMENT_TIME_UNAVAILABLE`; the lead was received all the same.
    // Used only by dealers with strict appointments (C-20).
    #[must_use]
    pub fn appointment_time_unavailable(lead_id: &str, requested_at: Option<Timestamp>) -> Self {
        let details = present([
            ("lead_id", Some(lead_id.into())),
            ("lead_status", Some("received".into())),
            ("requested_at", requested_at.map(|at| rfc3339(at).into())),
        ]);
        let message = "the lead was received; the requested time is not available and there is \
                       none to propose";
        Self::new(AapCode::AppointmentTimeUnavailable, message, details, Problems::new())
    }

    /// Creates `IDEMPOTENCY_CONFLICT`.
    #[must_use]
    pub fn idempotency_conflict(key: &str, first_seen_at: Timestamp) -> Self {
        let details = json!({"idempotency_key": key, "first_seen_at": rfc3339(first_seen_at)});
        let message = "the idempotency key was used before with a different payload";
        Self::new(AapCode::IdempotencyConflict, message, details, Problems::new())
    }

    /// Creates `RATE_LIMITED`: `limit` requests in `window` are permitted.
    #[must_use]
    pub fn rate_limited(wait: Duration, limit: u32, window: Duration) -> Self {
        let message = "the request rate is above the dealer's limit";
        let details = [("limit", limit.into()), ("window_ms", whole_millis(window))];
        Self::with_retry_after(AapCode::RateLimited, message, wait, &details)
    }

    /// Creates `RATE_LIMITED` for a lead that would exceed the bytes per network address in a
    /// window.
    #[must_use]
    pub fn storage_quota_exceeded(wait: Duration, limit_bytes: u64, window: Duration) -> Self {
        let message = "the leads from this network address are more than the dealer keeps in a \
                       day; try again later, or use a credential";
        let details = [("limit_bytes", limit_bytes), ("window_ms", whole_millis(window))];
        Self::with_retry_after(AapCode::RateLimited, message, wait, &details)
    }

    /// Creates `INTERNAL_ERROR` with a retry-after, and without the cause.
    #[must_use]
    pub fn internal_error(wait: Duration) -> Self {
        let message = "the dealer's agent failed to answer; try again later";
        Self::with_retry_after(AapCode::InternalError, message, wait, &[])
    }

    /// Returns location and keyword of each problem, without text of the caller.
    #[must_use]
    pub fn field_errors(&self) -> Vec<(String, Keyword)> {
        let listed = self.problems.listed().iter();
        let field_errors = listed.map(|problem| {
            let place = known_pointer(&problem.pointer);
            if let ProblemDetail::Property(absent) = problem.extra {
                (format!("{place}/{absent}"), problem.keyword)
            } else {
                (place, problem.keyword)
            }
        });
        field_errors.collect()
    }

    /// Adds version, error id and time, for serialisation.
    #[must_use]
    pub fn stamp(self, version: Version, error_id: String, created_at: Timestamp) -> ErrorObject {
        ErrorObject { version, error_id, created_at, refusal: self }
    }
}

fn whole_millis(window: Duration) -> u64 {
    u64::try_from(window.as_millis()).unwrap_or(u64::MAX)
}

/// Summarises the first problems, for SDKs that drop the details.
// Some SDKs show the message only (C-11).
fn summary(problems: &Problems) -> String {
    const MAX_IN_MESSAGE: usize = 10;
    let first_problems = || problems.listed().iter().take(MAX_IN_MESSAGE);
    let size = |problem: &Problem| problem.pointer.len() + problem.message.len() + ": ; ".len();
    let mut text = String::with_capacity(first_problems().map(size).sum());
    for problem in first_problems() {
        if !text.is_empty() {
            text.push_str("; ");
        }
        if !problem.pointer.is_empty() {
            text.push_str(&problem.pointer);
            text.push_str(": ");
        }
        text.push_str(&problem.message);
    }
    let more = problems.total().saturating_sub(MAX_IN_MESSAGE);
    if more > 0 {
        text.push_str(&format!("; and {more} more"));
    }
    text
}

/// Reason why a well-formed grant is not valid now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsentDefect {
    /// Granted in the future.
    GrantedInFuture,
    /// Expired at this time.
    Expired(Timestamp),
    /// Expires before it was granted.
    ExpiresBeforeGrant,
    /// Its text is white space only.
    BlankText,
}

impl ConsentDefect {
    /// Returns the name in the details, and the message.
    fn facts(self) -> (&'static str, &'static str) {
        match self {
            Self::GrantedInFuture => ("granted_in_future", "consent.granted_at is in the future"),
            Self::Expired(_) => ("expired", "the consent has expired"),
            Self::ExpiresBeforeGrant => {
                ("expires_before_grant", "consent.expires_at is not after consent.granted_at")
            }
            Self::BlankText => (
                "blank_consent_text",
                "consent.consent_text is blank; send the text that the user saw",
            ),
        }
    }
}

/// A unit that was on offer.
#[derive(Debug, Clone, Copy)]
pub struct RemovedUnit<'a> {
    /// VIN, when known.
    pub vin: Option<&'a str>,
    /// Stock number, when known.
    pub stock: Option<&'a str>,
    /// Last status: `available`, `intransit`, `pending`, or `sold`.
    pub last_status: &'a str,
    /// Time at which it left the offer.
    pub since: Timestamp,
}

/// An `aap.error` object: a refusal with its error id, serialised in the format of a version.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ErrorObject {
    version: Version,
    /// Unique error id, which the log has too.
    pub error_id: String,
    created_at: Timestamp,
    /// The refusal.
    pub refusal: AapRefusal,
}

impl ErrorObject {
    /// Returns the message of the JSON-RPC error, which begins with the code because one official
    /// SDK drops the data.
    // The message repeats the code for SDKs that drop the data (C-11).
    #[must_use]
    pub fn jsonrpc_message(&self) -> String {
        format!("{}: {}", self.refusal.code, self.refusal.message)
    }
}

impl Serialize for ErrorObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let AapRefusal { code, message, details, problems, wait: _ } = &self.refusal;
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("type", TYPE)?;
        object.serialize_entry("error_id", &self.error_id)?;
        object.serialize_entry("code", code.name())?;
        object.serialize_entry("message", message)?;
        object.serialize_entry("retryable", &code.retryable())?;
        let has_details = !details.is_empty() || !problems.is_empty();
        let details = Details { version: self.version, details, problems };
        put(&mut object, "details", has_details.then_some(details))?;
        object.serialize_entry("created_at", &rfc3339(self.created_at))?;
        object.end()
    }
}

struct Details<'a> {
    version: Version,
    details: &'a Map,
    problems: &'a Problems,
}

impl Serialize for Details<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_map(None)?;
        for (name, value) in self.details {
            out.serialize_entry(name, value)?;
        }
        let listed = self.problems.listed();
        if let Some(first) = listed.first() {
            if self.version == Version::V1_0 {
                // 1.0 has one problem, with this name; buyers of either version find theirs.
                out.serialize_entry("instancePath", &first.pointer)?;
            }
            out.serialize_entry("errors", listed)?;
            if self.problems.total() > listed.len() {
                out.serialize_entry("truncated", &true)?;
                out.serialize_entry("total", &self.problems.total())?;
            }
        }
        out.end()
    }
}

/// An `aap.error` object that a dealer sent, in any version.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedRefusal {
    /// Error code; an unknown one is kept.
    pub code: WireName<AapCode>,
    /// Message for people, as sent.
    pub message: String,
    /// True when the dealer permits a retry.
    // The buyer uses this value instead of the catalog's (AAP 1.1 errors, R-ER-05).
    pub retryable: bool,
    /// Error id, for support.
    pub error_id: String,
    /// Details, as sent.
    pub details: Value,
}

impl ReceivedRefusal {
    /// Reads the object; `None` when it is not an `aap.error` with a code.
    #[must_use]
    pub fn read(data: &Value) -> Option<Self> {
        let text = |name: &str| data.get(name).and_then(Value::as_str);
        if text("type") != Some(TYPE) {
            return None;
        }
        let code = WireName::<AapCode>::parse(text("code")?);
        let default = code.known().is_some_and(AapCode::retryable);
        Some(Self {
            message: text("message").unwrap_or_default().to_owned(),
            retryable: data.get("retryable").and_then(Value::as_bool).unwrap_or(default),
            error_id: text("error_id").unwrap_or_default().to_owned(),
            details: data.get("details").cloned().unwrap_or(Value::Null),
            code,
        })
    }

    /// Iterates over the listed problems: location, keyword and message.
    pub fn problems(&self) -> impl Iterator<Item = (&str, WireName<Keyword>, &str)> {
        let units = self.details.get("errors").and_then(Value::as_array);
        units.into_iter().flatten().map(|unit| {
            let text = |name: &str| unit.get(name).and_then(Value::as_str).unwrap_or_default();
            (text("instanceLocation"), WireName::parse(text("keyword")), text("error"))
        })
    }
}
