//! Sources of conversion events and the events that came of them, as they are kept. Of an event only
//! what is counted is kept, nothing about the person.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tradepost_wire::json::Map;

use crate::money::Amount;
use crate::shelf::{Kind, Thing};

/// A source of events. The id of its record is made of tenant, account and the id that the caller
/// chose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventSource {
    /// The id that the caller chose.
    pub event_source_id: String,
    /// Its name, event types, domains and so on, as they were given.
    pub given: Map,
}

/// An event. The id of its record is made of its source, its type and its own id, so that one event
/// is counted once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Its type (`event-type`).
    pub event_type: String,
    /// When it happened.
    pub event_time: Timestamp,
    /// What it was worth, when it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Amount>,
    /// ISO 4217.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
}

impl Thing for EventSource {
    const KIND: Kind = Kind::EventSource;
}

impl Thing for Event {
    const KIND: Kind = Kind::Event;
}
