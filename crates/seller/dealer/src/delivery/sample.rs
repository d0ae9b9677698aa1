//! Leads that are tests: a sample for testing a destination, which contains no customer, and the lead with which
//! an operator tests the whole way from the public address to the destinations. Both are marked as tests everywhere.

use jiff::Timestamp;
use tradepost_aap::Version;
use tradepost_document::format::rfc3339;
use tradepost_document::json::{Value, json};

use crate::adf::view::LeadView;
use crate::record::{LeadEvent, LeadEventKind, LeadRecord, LeadState, SubmissionRecord};
use crate::settings::DealerSettings;

const TEXT: &str =
    "This is a test of the delivery of leads. There is no customer and nothing to do.";

/// Name of the source agent of a lead with which the operator tests the server. A lead that names it is marked as a
/// test wherever it goes, whoever has sent it.
pub const SELF_TEST_AGENT: &str = "tradepost self-test";

const SELF_TEST_TEXT: &str =
    "This is a test of the server by its operator. There is no customer and nothing to do.";

const SELF_TEST_CONSENT: &str = "I operate this server and send this lead to myself as a test. It may be delivered to \
                                 the configured destinations, and is erased at once.";

/// Returns true when the operator has sent the lead to test the server.
#[must_use]
pub fn is_self_test(lead: &LeadRecord) -> bool {
    LeadView::new(lead).agent().is_some_and(|name| name.trim() == SELF_TEST_AGENT)
}

/// Creates the payload of the lead with which the operator tests the server, from the operator's own address.
#[must_use]
pub fn self_test(email: &str, key: &str, now: Timestamp) -> Value {
    json!({
        "type": "lead.submit.request",
        "customer": {"first_name": "TEST", "last_name": "No Customer", "email": email},
        "consent": {
            "granted_at": rfc3339(now),
            "allowed_channels": ["email"],
            "scope": ["lead_submission"],
            "consent_text": SELF_TEST_CONSENT,
        },
        "message": SELF_TEST_TEXT,
        "source_agent": {"name": SELF_TEST_AGENT},
        "idempotency_key": key,
    })
}

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
