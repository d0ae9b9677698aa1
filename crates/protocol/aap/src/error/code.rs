//! Catalog of the AAP error codes. Every fact about a code is a column of its row; CONTRIBUTING.md lists what
//! else a new code needs.
// The rows are those of AAP 1.1 errors (R-ER-01 to R-ER-09).

use std::time::Duration;

use jiff::Timestamp;

use super::{AapRefusal, ConsentDefect, RemovedUnit};
use crate::Skill;
use crate::vehicle::TradeInCondition;
use tradepost_document::catalog::{Vocabulary as _, catalog};
use tradepost_document::parse;
use tradepost_document::problem::{DocumentPlace, Keyword, ProblemDetail, Problems};

/// Reaction of a buyer agent to a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// Goes without, because the dealer does not offer this.
    NotOffered,
    /// Corrects the request.
    Correct,
    /// Searches for another vehicle.
    SearchAgain,
    /// Asks its user for consent.
    AskConsent,
    /// Asks its user for another time.
    AskTime,
    /// Uses another idempotency key.
    NewKey,
    /// Waits before it sends anything.
    SlowDown,
    /// Retries the same request later.
    TryAgain,
}

/// Facts about a request, for sample refusals.
#[derive(Debug, Clone, Copy)]
pub struct SampleRequest<'a> {
    /// Called skill.
    pub skill: Option<Skill>,
    /// Identifiers of its vehicle.
    pub vehicle: &'a [(&'static str, &'a str)],
    /// Requested time of an appointment.
    pub appointment_at: Option<Timestamp>,
    /// Idempotency key.
    pub key: &'a str,
    /// Id that its lead would have.
    pub lead_id: &'a str,
    /// Id of the dealer.
    pub dealer_id: &'a str,
    /// Retry-after, where retrying helps.
    pub wait: Duration,
    /// Current time.
    pub now: Timestamp,
}

catalog! {
    /// AAP error codes.
    pub enum AapCode {
        /// JSON-RPC error code.
        jsonrpc: i32,
        /// True when the same request may succeed later, unless the dealer says otherwise.
        retryable: bool,
        /// HTTP status in the optional HTTP+JSON binding of AAP 1.0.
        http: u16,
        /// Status name (google.rpc.Code).
        grpc: &'static str,
        /// Automatic reaction of a buyer agent.
        remedy: Remedy,
        /// Advice for the buyer agent.
        hint: &'static str,
        /// Creates a plausible refusal of a request, for tests of buyers.
        sample: fn(&SampleRequest<'_>) -> AapRefusal,
    }
    /// The agent does not implement this skill. The details list the payload types that it accepts;
    /// the card's `skills` list the same skills.
    UnsupportedSkill = "UNSUPPORTED_SKILL" {
        jsonrpc: -32601, retryable: false, http: 404, grpc: "UNIMPLEMENTED",
        remedy: Remedy::NotOffered, hint: "call one of the skills that the agent card lists",
        sample: |asked| {
            let requested = asked.skill.map_or("inventory.search.request", Skill::request_type);
            let others = Skill::ALL.iter().copied().filter(|known| Some(*known) != asked.skill);
            AapRefusal::unsupported_skill(requested, &others.collect::<Vec<_>>())
        },
    }
    /// The request does not satisfy the skill's schema. `details.errors` lists every problem at
    /// once: the failing location, the violated keyword and what to do.
    SchemaValidationFailed = "SCHEMA_VALIDATION_FAILED" {
        jsonrpc: -32602, retryable: false, http: 422, grpc: "INVALID_ARGUMENT",
        remedy: Remedy::Correct, hint: "correct every entry of details.errors and send again",
        sample: |_| {
            let mut problems = Problems::new();
            parse::wrong_type(&DocumentPlace::Root.key("type"), &mut problems, "string");
            parse::unknown(&DocumentPlace::Root, &mut problems, "sandbox", &["type"]);
            AapRefusal::schema_validation_failed(problems)
        },
    }
    /// A required property is absent, and the request has no other problem. `details.errors` lists
    /// everything that is missing. A test drive without `vehicle_of_interest` gets it, too, where the
    /// dealer requires a vehicle (`details.policy`).
    MissingRequiredField = "MISSING_REQUIRED_FIELD" {
        jsonrpc: -32602, retryable: false, http: 422, grpc: "INVALID_ARGUMENT",
        remedy: Remedy::Correct, hint: "add what details.errors lists and send again",
        sample: |_| AapRefusal::missing_required_field(lacking("type")),
    }
    /// A condition comes from the wrong vocabulary: a vehicle of interest is `new`, `used` or
    /// `cpo`, a trade-in is `excellent`, `good`, `fair` or `poor`.
    InvalidCondition = "INVALID_CONDITION" {
        jsonrpc: -32602, retryable: false, http: 422, grpc: "INVALID_ARGUMENT",
        remedy: Remedy::Correct, hint: "use the vocabulary that details.allowed lists",
        sample: |_| {
            let mut problems = Problems::new();
            let message = "must be one of excellent, good, fair, poor";
            let extra = ProblemDetail::OtherVocabulary(TradeInCondition::NAMES);
            let trade_in = DocumentPlace::Root.key("trade_in");
            parse::push(&trade_in.key("condition"), &mut problems, Keyword::Enum, message, extra);
            AapRefusal::from_problems(problems)
        },
    }
    /// None of the identifiers matches a listing of this dealer.
    VehicleNotFound = "VEHICLE_NOT_FOUND" {
        jsonrpc: -32000, retryable: false, http: 404, grpc: "NOT_FOUND",
        remedy: Remedy::SearchAgain, hint: "search again; the identifier is not this dealer's",
        sample: |asked| AapRefusal::vehicle_not_found(asked.vehicle, asked.dealer_id),
    }
    /// The vehicle was listed and is no longer on offer.
    VehicleUnavailable = "VEHICLE_UNAVAILABLE" {
        jsonrpc: -32000, retryable: false, http: 409, grpc: "FAILED_PRECONDITION",
        remedy: Remedy::SearchAgain,
        hint: "search again and tell the user that the vehicle is no longer on offer",
        sample: |asked| {
            let named = |name| {
                let found = asked.vehicle.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| *value)
            };
            let vin = named("vin");
            let stock = named("stock");
            let removed_unit = RemovedUnit { vin, stock, last_status: "available", since: asked.now };
            AapRefusal::vehicle_unavailable(&removed_unit, &[])
        },
    }
    /// The request has personal data without consent, or the consent does not cover the channel on
    /// which the dealer would answer.
    ContactConsentRequired = "CONTACT_CONSENT_REQUIRED" {
        jsonrpc: -32000, retryable: false, http: 403, grpc: "PERMISSION_DENIED",
        remedy: Remedy::AskConsent,
        hint: "ask the user for consent to a channel that the request supplies, and send the consent with it",
        sample: |_| AapRefusal::consent_missing(lacking("consent")),
    }
    /// The consent cannot be used: it is malformed, has expired, lies in the future, or has another
    /// scope.
    InvalidConsent = "INVALID_CONSENT" {
        jsonrpc: -32000, retryable: false, http: 403, grpc: "PERMISSION_DENIED",
        remedy: Remedy::AskConsent,
        hint: "create a new consent grant with the user and send again",
        sample: |asked| {
            AapRefusal::unusable_consent(ConsentDefect::Expired(asked.now), Problems::new())
        },
    }
    /// The requested time is not available, and there is no other time to propose. The lead itself
    /// may have been received: see `details.lead_id`.
    AppointmentTimeUnavailable = "APPOINTMENT_TIME_UNAVAILABLE" {
        jsonrpc: -32000, retryable: false, http: 409, grpc: "FAILED_PRECONDITION",
        remedy: Remedy::AskTime,
        hint: "ask the user for another time, or call the dealer; the lead itself may have been received",
        sample: |asked| {
            AapRefusal::appointment_time_unavailable(asked.lead_id, asked.appointment_at)
        },
    }
    /// The idempotency key was used before with a different payload.
    IdempotencyConflict = "IDEMPOTENCY_CONFLICT" {
        jsonrpc: -32000, retryable: false, http: 409, grpc: "ALREADY_EXISTS",
        remedy: Remedy::NewKey, hint: "use a fresh idempotency key for a new request",
        sample: |asked| AapRefusal::idempotency_conflict(asked.key, asked.now),
    }
    /// The caller has sent too many requests. The details say how long to wait before a retry.
    RateLimited = "RATE_LIMITED" {
        jsonrpc: -32002, retryable: true, http: 429, grpc: "RESOURCE_EXHAUSTED",
        remedy: Remedy::SlowDown,
        hint: "wait for details.retry_after_ms and send the same request again",
        sample: |asked| AapRefusal::rate_limited(asked.wait, 1, asked.wait),
    }
    /// The dealer's agent failed. Its log has the cause under the error id.
    InternalError = "INTERNAL_ERROR" {
        jsonrpc: -32603, retryable: true, http: 500, grpc: "INTERNAL",
        remedy: Remedy::TryAgain,
        hint: "wait for details.retry_after_ms and retry with exponential backoff; quote the error id to the dealer",
        sample: |asked| AapRefusal::internal_error(asked.wait),
    }
}

/// Returns the problem of a missing member.
fn lacking(name: &'static str) -> Problems {
    let mut problems = Problems::new();
    parse::missing(&DocumentPlace::Root, &mut problems, name);
    problems
}
