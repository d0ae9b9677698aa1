//! Readers for the rules for leads and for personal data.

use jiff::SignedDuration;
use tradepost_dealer::settings::{AgentPolicy, ConfirmationLimit, LeadPolicy, LeadRateLimit};
use tradepost_dealer::staff::lead_work::LeadAssignment;
use tradepost_document::json::Value;
use tradepost_document::parse;
use tradepost_document::problem::{DocumentPlace, Problems};

use super::values::{duration, line, list, path, read_over, some, whole};
use crate::config::Privacy;

/// Upper bound of the counts, beyond any real use.
const MAX_COUNT: i64 = 1_000_000;

/// Reads `[dealers.leads]`.
pub(super) fn leads(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<LeadPolicy> {
    Some(read_over!(value, at, problems, LeadPolicy::default(), {
        "clock_skew" => clock_skew: duration("0s", "1h"),
        "consent_lifetime" => consent_lifetime: lifetime,
        "test_drive_needs_vehicle" => test_drive_needs_vehicle: parse::boolean,
        "duplicate_window" => duplicate_window: duration("0s", "3650d"),
        "idempotency_lifetime" => idempotency_lifetime: duration("24h", "3650d"),
        "strict_appointments" => strict_appointments: parse::boolean,
        "proposed_times" => proposed_times: whole(1, 20),
        "retention" => retention: lifetime,
        "erase_undelivered" => erase_undelivered: parse::boolean,
        "daily_bytes_per_address" => daily_bytes_per_address: whole(64 << 10, 1 << 40),
        "confirmations" => confirmations: read_confirmations,
        "velocity" => velocity: read_velocity,
        "agents" => agents: read_agents,
        "assignment" => assignment: parse::word::<LeadAssignment>,
        "answer_within" => answer_within: answer_time,
    }))
}

/// Reads `[privacy]`.
pub(super) fn privacy(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<Privacy> {
    Some(read_over!(value, at, problems, Privacy::default(), {
        "key_file" => key_file: some(path(4_096)),
        "retention" => retention: lifetime,
    }))
}

/// Reads a duration, or `never` for no end.
fn lifetime(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<Option<SignedDuration>> {
    or_never(value, || duration("1h", "3650d")(value, at, problems))
}

/// Reads the time for an answer, or `never` for no alert.
fn answer_time(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<Option<SignedDuration>> {
    or_never(value, || duration("1m", "30d")(value, at, problems))
}

/// Reads `never` as no duration, and anything else with `read`.
fn or_never(
    value: &Value,
    read: impl FnOnce() -> Option<SignedDuration>,
) -> Option<Option<SignedDuration>> {
    if value.as_str() == Some("never") { Some(None) } else { read().map(Some) }
}

fn read_confirmations(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<ConfirmationLimit> {
    Some(read_over!(value, at, problems, ConfirmationLimit::default(), {
        "per_address" => per_address: whole(0, MAX_COUNT),
        "per_contact" => per_contact: whole(0, MAX_COUNT),
        "per_vehicle" => per_vehicle: whole(0, MAX_COUNT),
        "all" => all: whole(0, MAX_COUNT),
    }))
}

fn read_velocity(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<LeadRateLimit> {
    Some(read_over!(value, at, problems, LeadRateLimit::default(), {
        "window" => window: duration("1m", "24h"),
        "per_address" => per_address: whole(0, MAX_COUNT),
        "per_contact" => per_contact: whole(0, MAX_COUNT),
        "all" => all: whole(0, MAX_COUNT),
    }))
}

fn read_agents(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<AgentPolicy> {
    let names = list(0, None, line(200));
    Some(read_over!(value, at, problems, AgentPolicy::default(), {
        "allow" => allow: &names,
        "deny" => deny: &names,
        "quota" => quota: some(whole(0, MAX_COUNT)),
    }))
}
