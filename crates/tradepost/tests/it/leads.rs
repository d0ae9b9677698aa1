//! What becomes of leads over time: duplicates, bookings that move, and both versions' records.

mod command;
mod consent;
mod policy;
mod sameness;
mod work;

use jiff::SignedDuration;
use tradepost_document::json::{Value, json};

use crate::support::dealer::LISTED_VIN;
use crate::support::{lead, start, start_with, two_dealers, with};

fn appointment(at: &str) -> Value {
    json!({"appointment_type": "test_drive", "appointment_at": at})
}

#[test]
fn an_equivalent_lead_is_a_duplicate_whose_consent_is_kept() {
    let server = start();
    let conversation = server.conversation();
    let first = server.payload_in(&conversation, &lead());
    assert_eq!(first["data"]["status"], "received");
    // The same customer by another spelling of the address; the words do not matter (R-LD-17).
    let again = with(
        lead(),
        &[("/customer/email", json!("ADA@example.com")), ("/message", json!("Hello again."))],
    );
    let second = server.payload_in(&conversation, &again);
    assert_eq!(second["data"]["status"], "duplicate");
    assert_eq!(second["data"]["lead_id"], first["data"]["lead_id"]);
    let submissions = server.history(&first["data"]["lead_id"]).submissions;
    assert_eq!(submissions.len(), 2, "every consent is kept (R-LD-19)");
    assert_eq!(submissions[1].payload, again);
    assert_eq!(server.store.leads(None).unwrap().len(), 1);
    // Another vehicle, another customer, or another day make another lead.
    let others = [
        with(lead(), &[("/vehicle_of_interest", json!({"vin": LISTED_VIN}))]),
        with(lead(), &[("/customer/email", json!("grace@example.com"))]),
    ];
    for other in &others {
        assert_eq!(server.payload_in(&conversation, other)["data"]["status"], "received");
    }
    server.advance(SignedDuration::from_hours(25));
    assert_eq!(server.payload_in(&conversation, &lead())["data"]["status"], "received");
}

#[test]
fn identifiers_of_one_listing_name_one_vehicle() {
    let server = start();
    let conversation = server.conversation();
    let about = |vehicle: Value| {
        let lead = with(lead(), &[("/vehicle_of_interest", vehicle)]);
        server.payload_in(&conversation, &lead)["data"]["status"].clone()
    };
    assert_eq!(about(json!({"vin": LISTED_VIN})), "received");
    for same in [json!({"stock": "DT-2611"}), json!({"vehicle_id": "veh_dt_2611"})] {
        assert_eq!(about(same), "duplicate", "C-19");
    }
}

#[test]
fn a_chosen_proposal_is_booked_and_a_move_frees_time() {
    let server = start_with(|config| {
        config.dealers[0].terms.rooftops[0].appointments.capacity = 1;
    });
    let conversation = server.conversation();
    let of = |customer: &str, at: &str| {
        let changes = [
            ("/customer/email", json!(customer)),
            ("/vehicle_of_interest", json!({"vin": LISTED_VIN})),
            ("/appointment", appointment(at)),
        ];
        server.payload_in(&conversation, &with(lead(), &changes))["data"].clone()
    };
    let eleven = "2026-05-01T18:00:00Z";
    assert_eq!(of("ada@example.com", eleven)["appointment"]["status"], "confirmed");
    let refused = of("grace@example.com", eleven);
    assert_eq!(refused["appointment"]["status"], "proposed");
    // The buyer sends a fresh lead with one of the proposed times (R-LD-29).
    let time = refused["appointment"]["proposed_times"][0].as_str().unwrap();
    let chosen = of("grace@example.com", time);
    assert_eq!(chosen["status"], "duplicate");
    assert_eq!(chosen["lead_id"], refused["lead_id"]);
    assert_eq!(chosen["appointment"]["confirmed_at"], time);
    // The first customer sends the same again: the same time, once.
    assert_eq!(of("ada@example.com", eleven)["appointment"]["status"], "confirmed");
    // And moves: the old time is free for others.
    assert_eq!(of("ada@example.com", "2026-05-02T18:00:00Z")["appointment"]["status"], "confirmed");
    assert_eq!(of("joan@example.com", eleven)["appointment"]["status"], "confirmed");
}

#[test]
fn keys_belong_to_one_dealer() {
    let server = start_with(two_dealers);
    let send = |host: &str, message: &str| {
        let changes = [("/idempotency_key", json!("k")), ("/message", json!(message))];
        let body = crate::support::envelope(&with(lead(), &changes)).to_string();
        let headers = [("Host", host), ("Content-Type", "application/json")];
        server.post_with(&headers, body).json()
    };
    assert!(send("one.example", "a").get("result").is_some());
    assert!(send("two.example", "b").get("result").is_some());
    assert_eq!(send("one.example", "b")["error"]["data"]["code"], "IDEMPOTENCY_CONFLICT");
    assert_eq!(server.store.leads(Some("second")).unwrap().len(), 1);
}

#[test]
fn a_rooftop_without_a_telephone_names_that_of_another_one() {
    let server = start_with(|config| config.dealers[0].terms.rooftops[0].profile.phones.clear());
    let receipt = server.payload(&lead());
    assert_eq!(receipt["data"]["dealer"]["phone"], "+15105550100", "R-LD-26");
}
