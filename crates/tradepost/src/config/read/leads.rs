//! Readers for the rules for leads, and for what becomes of personal data.

use std::path::PathBuf;

use jiff::SignedDuration;
use tradepost_dealer::settings::{Agents, Confirmations, LeadPolicy, Velocity};
use tradepost_wire::json::Value;
use tradepost_wire::parse::{self, read_object};
use tradepost_wire::problem::{At, Problems};

use super::values::{duration, line, list, whole};
use crate::config::Privacy;

const DAY: i64 = 24;
const NOTHING: (SignedDuration, &str) = (SignedDuration::ZERO, "0s");
const MINUTE: (SignedDuration, &str) = (SignedDuration::from_mins(1), "1m");
const HOUR: (SignedDuration, &str) = (SignedDuration::from_hours(1), "1h");
const ONE_DAY: (SignedDuration, &str) = (SignedDuration::from_hours(DAY), "24h");
const TEN_YEARS: (SignedDuration, &str) = (SignedDuration::from_hours(3650 * DAY), "3650d");

/// More than anybody has of anything here.
const MANY: i64 = 1_000_000;

/// `[dealers.leads]`
pub(super) fn leads(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<LeadPolicy> {
    read_object!(value, at, problems, closed {
        optional "clock_skew" => clock_skew: duration(NOTHING, HOUR),
        optional "consent_lifetime" => consent_lifetime: lifetime,
        optional "test_drive_needs_vehicle" => test_drive_needs_vehicle: parse::boolean,
        optional "duplicate_window" => duplicate_window: duration(NOTHING, TEN_YEARS),
        optional "idempotency_lifetime" => idempotency_lifetime: duration(ONE_DAY, TEN_YEARS),
        optional "strict_appointments" => strict_appointments: parse::boolean,
        optional "proposed_times" => proposed_times: whole(1, 20),
        optional "retention" => retention: lifetime,
        optional "erase_undelivered" => erase_undelivered: parse::boolean,
        optional "daily_bytes_per_address" => daily_bytes: whole(64 << 10, 1 << 40),
        optional "confirmations" => confirmations: read_confirmations,
        optional "velocity" => velocity: read_velocity,
        optional "agents" => agents: read_agents,
    });
    let default = LeadPolicy::default();
    Some(LeadPolicy {
        clock_skew: clock_skew.unwrap_or(default.clock_skew),
        consent_lifetime: consent_lifetime.unwrap_or(default.consent_lifetime),
        test_drive_needs_vehicle: test_drive_needs_vehicle
            .unwrap_or(default.test_drive_needs_vehicle),
        duplicate_window: duplicate_window.unwrap_or(default.duplicate_window),
        idempotency_lifetime: idempotency_lifetime.unwrap_or(default.idempotency_lifetime),
        strict_appointments: strict_appointments.unwrap_or(default.strict_appointments),
        proposed_times: proposed_times.unwrap_or(default.proposed_times),
        retention: retention.unwrap_or(default.retention),
        erase_undelivered: erase_undelivered.unwrap_or(default.erase_undelivered),
        daily_bytes_per_address: daily_bytes.unwrap_or(default.daily_bytes_per_address),
        confirmations: confirmations.unwrap_or_default(),
        velocity: velocity.unwrap_or_default(),
        agents: agents.unwrap_or_default(),
    })
}

/// `[privacy]`
pub(super) fn privacy(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<Privacy> {
    read_object!(value, at, problems, closed {
        optional "key_file" => key_file: line(4_096),
        optional "retention" => retention: lifetime,
    });
    Some(Privacy { key_file: key_file.map(PathBuf::from), retention: retention.flatten() })
}

/// A duration, or `never` for no end.
fn lifetime(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<Option<SignedDuration>> {
    if value.as_str() == Some("never") {
        return Some(None);
    }
    duration(HOUR, TEN_YEARS)(value, at, problems).map(Some)
}

fn read_confirmations(
    value: &Value,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Confirmations> {
    read_object!(value, at, problems, closed {
        optional "per_address" => per_address: whole(0, MANY),
        optional "per_contact" => per_contact: whole(0, MANY),
        optional "per_vehicle" => per_vehicle: whole(0, MANY),
        optional "all" => all: whole(0, MANY),
    });
    let default = Confirmations::default();
    Some(Confirmations {
        per_address: per_address.unwrap_or(default.per_address),
        per_contact: per_contact.unwrap_or(default.per_contact),
        per_vehicle: per_vehicle.unwrap_or(default.per_vehicle),
        all: all.unwrap_or(default.all),
    })
}

fn read_velocity(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<Velocity> {
    read_object!(value, at, problems, closed {
        optional "window" => window: duration(MINUTE, ONE_DAY),
        optional "per_address" => per_address: whole(0, MANY),
        optional "per_contact" => per_contact: whole(0, MANY),
        optional "all" => all: whole(0, MANY),
    });
    let default = Velocity::default();
    Some(Velocity {
        window: window.unwrap_or(default.window),
        per_address: per_address.unwrap_or(default.per_address),
        per_contact: per_contact.unwrap_or(default.per_contact),
        all: all.unwrap_or(default.all),
    })
}

fn read_agents(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<Agents> {
    let names = list((0, None), line(200));
    read_object!(value, at, problems, closed {
        optional "allow" => allow: &names,
        optional "deny" => deny: &names,
        optional "quota" => quota: whole(0, MANY),
    });
    Some(Agents { allow: allow.unwrap_or_default(), deny: deny.unwrap_or_default(), quota })
}
