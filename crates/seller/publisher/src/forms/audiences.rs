//! Audiences and conversion events: `sync_audiences`, `sync_event_sources`, `log_event`.

use jiff::Timestamp;
use tradepost_document::typed_struct;

use crate::money::MoneyAmount;

typed_struct! {
    /// `media-buy/sync-audiences-request.json`.
    pub(crate) struct SyncAudiences {
        audiences: Option<Vec<AudienceRequest>>,
        delete_missing: bool,
    }

    /// Audience with the members to add and to remove.
    pub(crate) struct AudienceRequest {
        audience_id: String,
        delete: bool,
        add: Vec<AudienceMember>,
        remove: Vec<AudienceMember>;
        keep given: ["name", "description", "audience_type", "tags", "consent_basis"]
    }

    /// `core/audience-member.json`.
    pub(crate) struct AudienceMember {
        external_id: String,
    }

    /// `media-buy/sync-event-sources-request.json`.
    pub(crate) struct SyncEventSources {
        event_sources: Option<Vec<EventSourceRequest>>,
        delete_missing: bool,
    }

    /// Source of conversion events.
    pub(crate) struct EventSourceRequest {
        event_source_id: String;
        keep given: ["name", "event_types", "action_source", "allowed_domains", "surface"]
    }

    /// `media-buy/log-event-request.json`.
    pub(crate) struct LogEvent {
        event_source_id: String,
        test_event_code: Option<String>,
        events: Vec<EventRequest>,
    }

    /// `core/event.json`.
    pub(crate) struct EventRequest {
        event_id: String,
        event_type: String,
        event_time: Timestamp,
        event_source_url: Option<String>,
        custom_data: Option<CustomData>,
    }

    /// Value of an event (`core/event-custom-data.json`).
    pub(crate) struct CustomData {
        value: Option<MoneyAmount>,
        /// Older name of `value`; not in the schema.
        order_total: Option<MoneyAmount>,
        currency: Option<String>,
    }
}
