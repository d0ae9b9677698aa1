//! Readers for the destinations of alerts.

use jiff::SignedDuration;
use tradepost_document::json::Value;
use tradepost_document::problem::{DocumentPlace, Problems};

use super::delivery::delivery;
use super::values::{duration, named, read_over, read_table, reject, whole};
use crate::config::delivery::DeliveryConfig;
use crate::config::{AccessThresholds, AlertConfig};

/// Keys that only destinations of leads have.
const LEAD_ONLY_KEYS: [&str; 8] = [
    "rooftops",
    "kinds",
    "attempts",
    "give_up_after",
    "contact",
    "adf",
    "media_type",
    "handles_leads",
];

/// Reads `[alerts]`.
pub(super) fn alerts(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<AlertConfig> {
    read_table!(value, at, problems, AlertConfig {
        optional "every" => every: duration("1m", "24h") => SignedDuration::from_mins(15),
        optional "remind" => remind: duration("1m", "30d") => SignedDuration::from_hours(24),
        required "destinations" => destinations: named(1, Some(20), destination, str::to_owned,
            "another destination of alerts has this name already"),
        optional "access" => access: read_access => AccessThresholds::default(),
    })
}

/// Reads `[alerts.access]`.
fn read_access(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<AccessThresholds> {
    const MOST: i64 = 1_000_000;
    Some(read_over!(value, at, problems, AccessThresholds::default(), {
        "failed_sign_ins" => failed_sign_ins: whole(0, MOST),
        "locked_sign_ins" => locked_sign_ins: whole(0, MOST),
        "refused_actions" => refused_actions: whole(0, MOST),
    }))
}

/// Reads `[[alerts.destinations]]`.
fn destination(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<DeliveryConfig> {
    for key in LEAD_ONLY_KEYS {
        if value.get(key).is_some() {
            reject(&at.key(key), problems, "is for destinations of leads");
        }
    }
    if value.get("by").and_then(Value::as_str) == Some("https") {
        reject(&at.key("by"), problems, "must be smtp, webhook or chat: https carries ADF");
    }
    delivery(value, at, problems)
}
