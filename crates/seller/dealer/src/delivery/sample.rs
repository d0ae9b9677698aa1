//! A sample lead for testing a destination. It is marked as a test everywhere and contains no
//! customer.

use jiff::Timestamp;
use tradepost_aap::Version;
use tradepost_document::json::json;

use crate::record::{LeadEvent, LeadEventKind, LeadRecord, LeadState, SubmissionRecord};
use crate::settings::DealerSettings;

const TEXT: &str =
    "This is a test of the delivery of leads. There is no customer and nothing to do.";

/// Creates the sample lead and its only event, for the dealer's first rooftop.
#[must_use]
pub fn lead(dealer: &DealerSettings, lead_id: String, now: Timestamp) -> (LeadRecord, LeadEvent) {
    let rooftop = dealer.rooftops.first();
    let payload = json!({
        "type": "lead.submit.request",
        "customer": {"first_name": "TEST", "last_name": "No Customer"},
        "message": TEXT,
        "source_agent": {"name": "tradepost leads test-delivery"},
    });
    let lead = LeadRecord {
        person: lead_id.clone(),
        lead_id,
        dealer_id: dealer.id.clone(),
        received_at: now,
        changed_at: now,
        state: LeadState::Received,
        held_for: None,
        time_zone: rooftop.and_then(|rooftop| rooftop.profile.timezone.clone()),
        appointment: None,
        submission: SubmissionRecord {
            received_at: now,
            version: Version::V1_1,
            principal: "tradepost".to_owned(),
            address: None,
            payload,
            unreadable: None,
            rooftop: rooftop.map(|rooftop| rooftop.profile.name.clone()),
            listing: None,
            appointment: None,
        },
    };
    let event = LeadEvent {
        seq: 0,
        at: now,
        kind: LeadEventKind::Received,
        state: LeadState::Received,
        appointment: None,
        submission: 0,
    };
    (lead, event)
}
