//! Sources of conversion events, and their events, as stored. Of an event only what is counted is stored,
//! nothing about the person.

use jiff::Timestamp;
use tradepost_document::json::Map;

use crate::money::MoneyAmount;
use crate::store::{FoundBy, IndexField, IndexTerm, kept};

kept! {
    /// A source of conversion events. Its record id is made of tenant, account and the id chosen by the caller.
    pub struct StoredEventSource: EventSource by found_by {
        /// Id chosen by the caller.
        event_source_id: String,
        /// Name, event types, domains and so on, as given.
        given: Map,
    }

    /// A conversion event. Its record id is made of its source, its type and its own id, so that each event
    /// is counted once.
    pub struct StoredEvent: Event {
        /// Event type (`event-type`).
        event_type: String,
        /// Time at which it happened.
        event_time: Timestamp,
        /// Value, if it has one.
        value?: Option<MoneyAmount>,
        /// Currency of the value (ISO 4217).
        currency?: Option<String>,
    }
}

/// Returns the index term of an event source: the id chosen by its buyer.
fn found_by(source: &StoredEventSource, _: Timestamp) -> FoundBy {
    let term = IndexTerm::new(IndexField::ChosenId, &source.event_source_id);
    FoundBy { terms: vec![term], ..FoundBy::default() }
}
