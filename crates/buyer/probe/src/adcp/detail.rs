//! Details of errors: codes with closed details, and their contents (the published `error-details`).
// Covers B-4, G-1, R-1 and Y-2.

use tradepost_adcp::error::AdcpCode;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value};

use super::capability::releases;
use super::error::each_error;
use crate::check::{Check, CheckResult, checks};
use crate::run::ProbeRun;
use crate::shape::{ShapeProblems, member, text};

const WHY_CLOSED: &str = "Each of these tells somebody what the seller thinks of somebody else.";

pub(super) const CHECKS: &[Check] = checks![
    "adcp.details.none", End, Must, ["G-1", "Y-2"], "AdCP errors, per-agent rejections; system errors",
    "AGENT_SUSPENDED, AGENT_BLOCKED and CONFIGURATION_ERROR have no details", WHY_CLOSED,
    "leave details out" => none();
    "adcp.details.closed", End, Must, ["B-4", "G-1", "G-6"], "AdCP error details",
    "The closed details have no member but the published ones", WHY_CLOSED,
    "drop every other member before sending" => closed();
    "adcp.details.conflict", End, Must, ["E-4"], "AdCP security, idempotency",
    "IDEMPOTENCY_CONFLICT tells nothing of the first request", "The key may be somebody else's.",
    "send code, message and recovery alone" => conflict();
    "adcp.details.shape", End, Must, ["L-2"], "AdCP error details",
    "The details have what is published for the code, in its form", "A buyer acts on their members.",
    "fill details in by the schema of the code" => shape();
    "adcp.details.object", End, Must, ["O-1"], "AdCP error object, details",
    "details are an object", "A buyer looks for members.", "send an object" => object();
    "adcp.details.permission", End, Must, ["R-1"], "AdCP errors, RBAC",
    "FIELD_NOT_PERMITTED names the field", "The buyer strips it and sends again.",
    "set field to the one that is not permitted" => permission();
];

fn details(error: &Value) -> Option<&Map> {
    error.get("details")?.as_object()
}

fn code(error: &Value) -> Option<AdcpCode> {
    AdcpCode::from_name(member(error, "code"))
}

async fn none(run: &mut ProbeRun) -> CheckResult {
    each_error(run, |error, place, wrong| {
        let bare = [AdcpCode::AgentSuspended, AdcpCode::AgentBlocked, AdcpCode::ConfigurationError];
        let applies = code(error).is_some_and(|code| bare.contains(&code));
        wrong.unless(!applies || error.get("details").is_none(), format!("{place} has details"));
    })
}

async fn closed(run: &mut ProbeRun) -> CheckResult {
    each_error(run, |error, place, wrong| {
        let Some(held) = details(error) else { return };
        let place = format!("the details of {place}");
        let value = Value::Object(held.clone());
        match code(error) {
            Some(AdcpCode::PermissionDenied) if text(&value, "scope") == Some("agent") => {
                wrong.closed(&value, &["scope", "reason"], &place);
                let only = text(&value, "reason") == Some("sandbox_only");
                wrong.unless(only, format!("{place} have another reason than sandbox_only"));
            }
            Some(AdcpCode::BillingNotPermittedForAgent) => {
                wrong.closed(&value, &["rejected_billing", "suggested_billing"], &place);
                wrong.text(&value, "rejected_billing", &place);
            }
            Some(_) | None => {}
        }
    })
}

async fn conflict(run: &mut ProbeRun) -> CheckResult {
    each_error(run, |error, place, wrong| {
        if code(error) == Some(AdcpCode::IdempotencyConflict) {
            let known =
                // In addition to the three, ids of the request itself tell its sender nothing new.
                ["code", "message", "recovery", "correlation_id", "request_id", "operation_id"];
            wrong.closed(error, &known, place);
        }
    })
}

/// Checks that a member, if present, is one of these words.
fn word(held: &Map, name: &str, words: &[&str], place: &str, wrong: &mut ShapeProblems) {
    let Some(given) = held.get(name) else { return };
    let fine = given.as_str().is_some_and(|given| words.contains(&given));
    wrong.unless(fine, format!("details of {place} have the {name} {given}"));
}

async fn shape(run: &mut ProbeRun) -> CheckResult {
    each_error(run, |error, place, wrong| {
        let Some(code) = code(error) else { return };
        let empty = Map::new();
        let held = details(error).unwrap_or(&empty);
        let has = |name: &str, of: fn(&Value) -> bool| held.get(name).is_some_and(of);
        let optional = |name: &str, of: fn(&Value) -> bool| held.get(name).is_none_or(of);
        let mut need = |holds: bool, what: &str| {
            wrong.unless(holds, format!("details of {place} have no proper {what}"));
        };
        if code == AdcpCode::ActionNotAllowed {
            need(has("attempted_action", Value::is_string), "attempted_action");
            need(has("reason", Value::is_string), "reason");
        } else if code == AdcpCode::StaleResponse {
            need(
                has("served_from_cache", |value| *value == Value::Bool(true)),
                "served_from_cache",
            );
            need(has("cache_age_seconds", Value::is_number), "cache_age_seconds");
        } else if code == AdcpCode::AccountSetupRequired {
            let https =
                |value: &Value| value.as_str().is_some_and(|url| url.starts_with("https://"));
            need(optional("setup_url", https), "setup_url");
            need(optional("setup_steps", Value::is_array), "setup_steps");
        } else if code == AdcpCode::RateLimited {
            for name in ["limit", "remaining", "window_seconds"] {
                need(optional(name, Value::is_number), name);
            }
            word(held, "scope", &["account", "tool", "global"], place, wrong);
        } else if code == AdcpCode::BillingNotSupported {
            let listed = |value: &Value| value.as_array().is_some_and(|all| !all.is_empty());
            need(optional("supported_billing", listed), "supported_billing");
            word(held, "scope", &["capability", "account"], place, wrong);
        } else if code == AdcpCode::VersionUnsupported {
            let listed = held.get("supported_versions").unwrap_or(&Value::Null);
            releases(listed, "details.supported_versions", wrong);
        } else if code == AdcpCode::PolicyViolation || code == AdcpCode::CreativeRejected {
            let name = if code == AdcpCode::PolicyViolation { "violated_rules" } else { "reasons" };
            need(optional(name, Value::is_array), name);
        } else if code == AdcpCode::AudienceTooSmall {
            need(optional("minimum_size", Value::is_number), "minimum_size");
            need(optional("current_size", Value::is_number), "current_size");
        } else if code == AdcpCode::BudgetTooLow {
            need(optional("minimum_budget", Value::is_number), "minimum_budget");
            need(optional("currency", Value::is_string), "currency");
        }
    })
}

async fn object(run: &mut ProbeRun) -> CheckResult {
    each_error(run, |error, place, wrong| {
        let fine = error.get("details").is_none_or(Value::is_object);
        wrong.unless(fine, format!("the details of {place} are no object"));
    })
}

async fn permission(run: &mut ProbeRun) -> CheckResult {
    each_error(run, |error, place, wrong| {
        let applies = code(error) == Some(AdcpCode::FieldNotPermitted);
        let holds = !applies || !member(error, "field").is_empty();
        wrong.unless(holds, format!("{place} has no field"));
    })
}
