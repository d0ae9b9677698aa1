//! Readers for the destinations of messages to a publisher's staff.

use tradepost_document::json::{Map, Value};
use tradepost_document::problem::{DocumentPlace, Problems};
use tradepost_publisher::staff_event::StaffEventKind;

use super::super::delivery::delivery;
use super::super::values::{self, reject};
use crate::config::delivery::PublisherDestination;

/// Keys that only destinations of leads have.
const LEAD_ONLY_KEYS: [&str; 6] =
    ["rooftops", "kinds", "contact", "adf", "media_type", "handles_leads"];

/// Key that only these destinations have.
const EVENTS_KEY: &str = "events";

/// Reads `[[publishers.deliveries]]`.
pub(super) fn destination(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<PublisherDestination> {
    for key in LEAD_ONLY_KEYS {
        if value.get(key).is_some() {
            reject(&at.key(key), problems, "is for destinations of leads");
        }
    }
    if value.get("by").and_then(Value::as_str) == Some("https") {
        reject(&at.key("by"), problems, "must be smtp, webhook or chat: https carries ADF");
    }
    let events = value.get(EVENTS_KEY);
    let events =
        events.map(|events| values::words::<StaffEventKind>(events, &at.key(EVENTS_KEY), problems));
    let delivery = delivery(&without_own_keys(value), at, problems)?;
    Some(PublisherDestination { delivery, events: events.unwrap_or(Some(Vec::new()))? })
}

/// Returns the table with the keys that every destination has.
fn without_own_keys(value: &Value) -> Value {
    let Some(members) = value.as_object() else { return value.clone() };
    let kept = members.iter().filter(|(name, _)| !LEAD_ONLY_KEYS.contains(&name.as_str()));
    let kept = kept.filter(|(name, _)| name.as_str() != EVENTS_KEY);
    Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect::<Map>())
}
