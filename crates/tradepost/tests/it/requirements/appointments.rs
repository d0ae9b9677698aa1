//! Bookings under pressure and at their edges (R-LD-21 to R-LD-24, R-LD-26, C-20).

use tradepost_aap::lead::AppointmentType;
use tradepost_dealer::record::AppointmentState;
use tradepost_document::json::{Value, json};

use crate::support::dealer::LISTED_VIN;
use crate::support::{lead, restart, start, start_with, with};

const OPEN: &str = "2026-05-01T18:00:00Z";

fn drive(customer: usize, at: &str) -> Value {
    let appointment = json!({"appointment_type": "test_drive", "appointment_at": at});
    with(
        lead(),
        &[
            ("/customer/email", json!(format!("customer{customer}@example.com"))),
            ("/vehicle_of_interest", json!({"vin": LISTED_VIN})),
            ("/appointment", appointment),
        ],
    )
}

#[test]
fn r_ld_21_twenty_at_once_never_overbook_two_places() {
    let server = start();
    let answers: Vec<Value> = std::thread::scope(|scope| {
        let server = &server;
        let threads: Vec<_> =
            (0..20).map(|n| scope.spawn(move || server.payload(&drive(n, OPEN)))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()["data"].clone()).collect()
    });
    let of = |status: &str| {
        let is = |data: &&Value| data["appointment"]["status"] == status;
        answers.iter().filter(is).count()
    };
    assert_eq!((of("confirmed"), of("proposed")), (2, 18));
    for data in &answers {
        assert_eq!(data["status"], "received");
        assert_eq!(data["dealer"]["phone"], "+14155550100", "R-LD-26");
        let appointment = data["appointment"].as_object().unwrap();
        let confirmed = appointment["status"] == "confirmed";
        assert_eq!(appointment.contains_key("confirmed_at"), confirmed, "R-LD-23");
        assert_eq!(appointment.contains_key("proposed_times"), !confirmed, "R-LD-23");
        let times = appointment.get("proposed_times").and_then(Value::as_array);
        assert!(times.is_none_or(|times| !times.contains(&json!(OPEN))), "it is taken");
    }
    // Nor after a restart: bookings are in the store.
    let server = restart(server);
    let late = server.payload(&drive(99, OPEN))["data"]["appointment"].clone();
    assert_eq!(late["status"], "proposed");
}

/// Covers R-LD-24 too.
#[test]
fn r_ld_22_what_cannot_be_booked_is_no_error() {
    let server = start();
    let status = |appointment: Value| {
        let changes =
            [("/appointment", appointment), ("/vehicle_of_interest", json!({"vin": LISTED_VIN}))];
        server.payload(&with(lead(), &changes))["data"]["appointment"].clone()
    };
    let at = |at: &str, minutes: Value| {
        let appointment = json!({"appointment_type": "sales", "appointment_at": at});
        with(appointment, &[("/duration_minutes", minutes)])
    };
    for (appointment, expected) in [
        (json!({"appointment_type": "sales"}), "requested"),
        // As long as the day is open, and a minute longer.
        (at("2026-05-01T16:00:00Z", json!(600)), "confirmed"),
        (at("2026-05-01T16:00:00Z", json!(601)), "requested"),
        (at(OPEN, json!(1441)), "requested"),
        (at(OPEN, json!(1e300)), "requested"),
        (at("9999-12-31T23:59:59Z", Value::Null), "proposed"),
        (at("0000-01-01T00:00:00Z", Value::Null), "proposed"),
        // The notice of two hours from 12:00 is over before the rooftop opens.
        (at("2026-04-30T13:59:59Z", Value::Null), "proposed"),
    ] {
        let answer = status(appointment.clone());
        assert_eq!(answer["status"], expected, "{appointment} {answer}");
    }
}

#[test]
fn c_20_every_status_has_its_members_in_both_versions() {
    let server = start_with(|config| {
        config.dealers[0].terms.rooftops[1].appointments.types = vec![AppointmentType::Service];
        config.dealers[0].terms.rooftops[1].profile.phones.clear();
    });
    let oakland = ("/vehicle_of_interest", json!({"vehicle_id": "veh_ho_1001"}));
    let here = ("/vehicle_of_interest", json!({"vin": LISTED_VIN}));
    for old in [false, true] {
        for (vehicle, at, expected) in [
            (&here, json!(OPEN), "confirmed"),
            (&here, json!("2026-05-01T08:00:00Z"), "proposed"),
            (&here, Value::Null, "requested"),
            (&oakland, json!(OPEN), "rejected"),
        ] {
            let appointment =
                with(json!({"appointment_type": "test_drive"}), &[("/appointment_at", at)]);
            let mut payload = with(lead(), &[vehicle.clone(), ("/appointment", appointment)]);
            if old {
                payload["source_agent"] = json!("agent");
                payload["consent"]["source_agent"] = json!("agent");
            }
            // The client checks the answer against the schema of its version.
            let response = server.call(&payload);
            let version = if old { "/v1.0" } else { "/v1.1" };
            assert!(response.header("a2a-extensions").unwrap().ends_with(version));
            let data = response.json()["result"]["message"]["parts"][0]["data"]["data"].clone();
            assert_eq!(data["appointment"]["status"], expected, "{data}");
            assert!(matches!(data["status"].as_str(), Some("received" | "duplicate")), "R-LD-20");
        }
    }
}

#[test]
fn r_ld_29_a_moved_booking_is_superseded_yet_replays() {
    let server = start_with(|config| config.dealers[0].terms.rooftops[0].appointments.capacity = 1);
    let conversation = server.conversation();
    let send = |lead: &Value| server.payload_in(&conversation, lead);
    let first = with(drive(1, OPEN), &[("/idempotency_key", json!("one"))]);
    let answer = send(&first);
    let moved = with(drive(1, "2026-05-01T20:00:00Z"), &[("/idempotency_key", json!("two"))]);
    assert_eq!(send(&moved)["data"]["appointment"]["status"], "confirmed");
    // Somebody else takes the time that became free.
    assert_eq!(server.payload(&drive(2, OPEN))["data"]["appointment"]["status"], "confirmed");
    assert_eq!(send(&first), answer, "C-16: a replay books nothing");
    let id = &answer["data"]["lead_id"];
    let asked = || server.history(id).submissions.into_iter().filter_map(|s| s.appointment);
    let states: Vec<_> = asked().map(|appointment| appointment.state).collect();
    assert_eq!(states, [AppointmentState::Superseded, AppointmentState::Confirmed]);
    // A request that cannot be booked leaves what is booked, and says so.
    let full = send(&drive(1, OPEN));
    assert_eq!(full["data"]["appointment"]["status"], "proposed");
    let message = full["message"].as_str().unwrap();
    let stands = "What was booked before stands: Friday May 1, 1:00 PM PDT.";
    assert!(message.ends_with(stands), "{message}");
    let lead = server.history(id).lead;
    assert_eq!(lead.appointment.as_ref(), asked().nth(1).as_ref());
    assert_eq!(lead.asked_besides().unwrap().state, AppointmentState::Proposed);
}
