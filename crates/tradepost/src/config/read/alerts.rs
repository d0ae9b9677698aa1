//! Readers for who is told what is amiss.

use jiff::SignedDuration;
use tradepost_wire::json::Value;
use tradepost_wire::parse::{self, read_object};
use tradepost_wire::problem::{At, Problems};

use super::delivery::{check_names, delivery};
use super::values::{duration, reject};
use crate::config::Alerts;
use crate::config::delivery::Delivery;

const MINUTE: (SignedDuration, &str) = (SignedDuration::from_mins(1), "1m");
const DAY: (SignedDuration, &str) = (SignedDuration::from_hours(24), "24h");
const MONTH: (SignedDuration, &str) = (SignedDuration::from_hours(30 * 24), "30d");

const EVERY: SignedDuration = SignedDuration::from_mins(15);
const REMIND: SignedDuration = SignedDuration::from_hours(24);

/// What only destinations of leads have.
const OF_LEADS: [&str; 7] =
    ["rooftops", "kinds", "attempts", "give_up_after", "contact", "adf", "media_type"];

/// `[alerts]`
pub(super) fn alerts(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<Alerts> {
    read_object!(value, at, problems, closed {
        optional "every" => every: duration(MINUTE, DAY),
        optional "remind" => remind: duration(MINUTE, MONTH),
        required "destinations" => destinations: read_destinations,
    });
    Some(Alerts {
        every: every.unwrap_or(EVERY),
        remind: remind.unwrap_or(REMIND),
        destinations: destinations?,
    })
}

/// `[[alerts.destinations]]`
fn read_destinations(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<Vec<Delivery>> {
    let destinations = parse::list(value, at, problems, (1, Some(20)), destination);
    check_names(value, at, problems, "another destination of alerts has this name already");
    destinations
}

fn destination(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<Delivery> {
    for key in OF_LEADS {
        if value.get(key).is_some() {
            reject(&at.key(key), problems, "is for destinations of leads");
        }
    }
    if value.get("by").and_then(Value::as_str) == Some("https") {
        reject(&at.key("by"), problems, "must be smtp, webhook or chat: https carries ADF");
    }
    delivery(value, at, problems)
}
