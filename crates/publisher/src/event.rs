//! Sources of conversion events and the events that came of them, as they are kept. Of an event only
//! what is counted is kept, nothing about the person.

use jiff::Timestamp;
use tradepost_wire::json::Map;

use crate::money::MoneyAmount;
use crate::shelf::{FoundBy, IndexField, IndexTerm, kept};

kept! {
    /// A source of events. The id of its record is made of tenant, account and the id that the caller
    /// chose.
    pub struct StoredEventSource: EventSource by found_by {
        /// The id that the caller chose.
        event_source_id: String,
        /// Its name, event types, domains and so on, as they were given.
        given: Map,
    }

    /// An event. The id of its record is made of its source, its type and its own id, so that one event
    /// is counted once.
    pub struct StoredEvent: Event {
        /// Its type (`event-type`).
        event_type: String,
        /// When it happened.
        event_time: Timestamp,
        /// What it was worth, when it says so.
        value?: Option<MoneyAmount>,
        /// ISO 4217.
        currency?: Option<String>,
    }
}

/// By what a source of events is found: the id that its buyer chose.
fn found_by(source: &StoredEventSource, _: Timestamp) -> FoundBy {
    let term = IndexTerm::new(IndexField::ChosenId, &source.event_source_id);
    FoundBy { terms: vec![term], ..FoundBy::default() }
}
