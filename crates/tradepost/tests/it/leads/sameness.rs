//! Who is the same caller (C-17, C-19): attacks by people who know a customer's e-mail address, the
//! car, the agent, and whatever else can be known or guessed.

use expect_test::expect;
use tradepost_dealer::record::AppointmentState;
use tradepost_document::json::{Value, json};
use tradepost_runtime::config::AuthSettings;

use crate::support::dealer::LISTED_VIN;
use crate::support::{
    Response, TestServer, compare, envelope_in, lead, start_with, two_dealers, with,
};

const VICTIM: &str = "198.51.100.7";
const STRANGER: &str = "203.0.113.9";
const ELEVEN: &str = "2026-05-01T18:00:00Z";
const LATER: &str = "2026-05-02T18:00:00Z";

/// A dealer behind a proxy, who can book one drive at a time.
fn dealer() -> TestServer {
    start_with(|config| {
        config.server.trust_forwarded_for = true;
        config.dealers[0].terms.rooftops[0].appointments.capacity = 1;
        config.dealers[0].auth = AuthSettings { api_keys: true, ..AuthSettings::default() };
    })
}

/// Sends a lead from an address, in a conversation or in none.
fn send(server: &TestServer, from: &str, conversation: Option<&str>, lead: &Value) -> Response {
    let headers = [("Content-Type", "application/json"), ("X-Forwarded-For", from)];
    server.post_with(&headers, envelope_in(conversation, lead).to_string())
}

fn drive(at: &str) -> Value {
    let appointment = json!({"appointment_type": "test_drive", "appointment_at": at});
    let vehicle = json!({"vin": LISTED_VIN});
    with(lead(), &[("/vehicle_of_interest", vehicle), ("/appointment", appointment)])
}

fn keyed(lead: Value, key: &str) -> Value {
    with(lead, &[("/idempotency_key", json!(key))])
}

/// What the dealer has of a lead: its current appointment's state and start.
fn booked(server: &TestServer, lead_id: &Value) -> (AppointmentState, String) {
    let appointment = server.history(lead_id).lead.appointment.unwrap();
    (appointment.state, appointment.starts_at.map(|at| at.to_string()).unwrap_or_default())
}

#[test]
fn a_stranger_neither_learns_of_nor_moves_a_booking() {
    let server = dealer();
    let victim = send(&server, VICTIM, None, &keyed(drive(ELEVEN), "f4b0c1d2"));
    let of_victim = victim.payload()["data"]["lead_id"].clone();
    assert_eq!(victim.payload()["data"]["appointment"]["status"], "confirmed");
    // The attack: the same customer, car and purpose, another time.
    compare(
        "C-19",
        &send(&server, STRANGER, Some("c-1"), &drive(LATER)),
        &expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "result":{"message":{"messageId":"<id>","contextId":"c-1","role":"ROLE_AGENT",
              "parts":[
                {"data":{"type":"lead.submit.response",
                    "data":{"lead_id":"lead_<id>","status":"received",
                      "appointment":{"appointment_id":"appt_<id>","status":"confirmed","confirmed_at":"2026-05-02T18:00:00Z"},
                      "dealer":{"name":"Demo Toyota San Francisco","phone":"+14155550100"}},
                    "message":"Demo Toyota San Francisco received the lead and will follow up on a permitted channel. The appointment is booked for Saturday May 2, 11:00 AM PDT."},
                  "mediaType":"application/vnd.autoagent.lead-submit-response+json"}],"extensions":["https://autoagentprotocol.org/extensions/aap/v1.1"]}}}
    "#]],
    );
    let guesses = [
        // Addresses and agents are shared by millions.
        (VICTIM, None, drive(LATER)),
        (VICTIM, Some("c-1"), drive(LATER)),
        (STRANGER, None, keyed(drive(LATER), "another")),
        (STRANGER, Some("f4b0c1d2"), drive(LATER)),
        (STRANGER, Some(of_victim.as_str().unwrap()), drive(LATER)),
    ];
    for (from, conversation, payload) in guesses {
        let data = send(&server, from, conversation, &payload).payload()["data"].clone();
        assert_eq!(data["status"], "received", "{conversation:?}");
        assert_ne!(data["lead_id"], of_victim, "{conversation:?}");
    }
    let stands = (AppointmentState::Confirmed, ELEVEN.to_owned());
    assert_eq!(booked(&server, &of_victim), stands);
    let history = server.history(&of_victim);
    assert_eq!((history.submissions.len(), history.events.len()), (1, 1));
    // The dealer sees that they are probably one person.
    assert_eq!(history.same_person.len(), 6);
    let other = server.history(&json!(history.same_person[0]));
    assert_eq!(other.same_person[0], history.lead.lead_id);
    assert_eq!(other.lead.submission.address.as_deref(), Some(STRANGER));
    // And the customer still can move it.
    let moved = send(&server, VICTIM, Some(&victim.context_id()), &drive("2026-05-03T18:00:00Z"));
    assert_eq!(moved.payload()["data"]["lead_id"], of_victim);
    assert_eq!(moved.payload()["data"]["status"], "duplicate");
}

#[test]
fn a_guessed_conversation_proves_nothing() {
    let server = dealer();
    let ids = |conversation: Option<&str>| {
        let first = send(&server, VICTIM, conversation, &drive(ELEVEN));
        let named = first.context_id();
        let again = send(&server, STRANGER, Some(&named), &drive(LATER)).payload()["data"].clone();
        (named, first.payload()["data"]["lead_id"].clone(), again)
    };
    let (named, first, again) = ids(Some("chat-1"));
    assert_eq!(named, "chat-1", "A2A 3.4.1: it is kept");
    assert_eq!(again["status"], "received");
    assert_ne!(again["lead_id"], first);
    assert_eq!(booked(&server, &first).0, AppointmentState::Confirmed);
    // One that we gave is the customer's, wherever the customer is, and no two are alike.
    let server = dealer();
    let other = server.conversation();
    let first = send(&server, VICTIM, None, &drive(ELEVEN));
    assert!(first.context_id() != other && first.context_id().len() > 60);
    for forged in [other.clone(), first.context_id().replace('.', ".0"), first.context_id() + "0"] {
        let data = send(&server, VICTIM, Some(&forged), &drive(LATER)).payload()["data"].clone();
        assert_eq!(data["status"], "received", "{forged}");
    }
    let again = send(&server, STRANGER, Some(&first.context_id()), &drive(LATER));
    assert_eq!(again.payload()["data"]["status"], "duplicate");
    // It also binds what began with a search, and nothing of another customer.
    let drive = drive("2026-05-05T18:00:00Z");
    let own = with(drive, &[("/customer/email", json!("grace@example.com"))]);
    let mut ids = Vec::new();
    for status in ["received", "duplicate"] {
        let data = send(&server, VICTIM, Some(&other), &own).payload()["data"].clone();
        assert_eq!(data["status"], status);
        ids.push(data["lead_id"].clone());
    }
    assert_eq!(ids[0], ids[1]);
}

#[test]
fn a_conversation_with_one_dealer_is_none_with_another() {
    let server = start_with(two_dealers);
    let send = |host: &str, conversation: Option<&str>| {
        let headers = [("Content-Type", "application/json"), ("Host", host)];
        server.post_with(&headers, envelope_in(conversation, &lead()).to_string())
    };
    let conversation = send("one.example", None).context_id();
    let at = |host: &str| send(host, Some(&conversation)).payload()["data"]["status"].clone();
    assert_eq!([at("one.example"), at("two.example")], ["duplicate", "received"]);
    assert_eq!(at("two.example"), "received");
}

/// Whether a key that one lead was sent with is known again with another: a decision table.
#[test]
fn strangers_keys_never_collide_and_ones_own_are_known() {
    let rows = [
        // From, e-mail, telephone, agent, changed; and what becomes of it.
        (VICTIM, "ada@example.com", "+14155550101", "helper", false, "replay"),
        (VICTIM, "ada@example.com", "+14155550101", "helper", true, "conflict"),
        (VICTIM, "eve@example.com", "+14155550109", "other", true, "conflict"),
        (STRANGER, "ada@example.com", "+14155550101", "helper", false, "replay"),
        (STRANGER, "ADA@example.com", "+14155550109", "helper", true, "conflict"),
        (STRANGER, "eve@example.com", "+14155550101", "helper", true, "conflict"),
        (STRANGER, "ada@example.com", "+14155550101", "other", true, "received"),
        (STRANGER, "eve@example.com", "+14155550109", "helper", true, "received"),
        (STRANGER, "eve@example.com", "+14155550109", "other", true, "received"),
    ];
    for row in rows {
        let (from, email, phone, agent, is_changed, expected) = row;
        let server = dealer();
        let of = |email: &str, phone: &str, agent: &str, message: &str| {
            let changes = [
                ("/customer/email", json!(email)),
                ("/customer/phone", json!(phone)),
                ("/source_agent/name", json!(agent)),
                ("/message", json!(message)),
                ("/idempotency_key", json!("1")),
            ];
            with(lead(), &changes)
        };
        let first = of("ada@example.com", "+14155550101", "helper", "Hello.");
        let first = send(&server, VICTIM, None, &first).payload();
        let message = if is_changed { "Something else." } else { "Hello." };
        let answer = send(&server, from, None, &of(email, phone, agent, message)).json();
        let became = match answer.pointer("/error/data/code") {
            Some(code) => {
                assert_eq!(code, "IDEMPOTENCY_CONFLICT");
                assert!(!answer.to_string().contains("lead_"), "no lead is named: {answer}");
                "conflict"
            }
            None if answer["result"]["message"]["parts"][0]["data"] == first => "replay",
            None => "received",
        };
        assert_eq!(became, expected, "{row:?}");
        let kept = server.store.leads(None).unwrap().len();
        assert_eq!(kept, if expected == "received" { 2 } else { 1 }, "{row:?}");
    }
}

#[test]
fn a_key_proves_who_when_its_answer_is_forgotten() {
    let server = start_with(|config| {
        config.server.trust_forwarded_for = true;
        config.dealers[0].terms.leads.duplicate_window = jiff::SignedDuration::from_hours(24 * 7);
    });
    let payload = keyed(drive("2026-05-07T18:00:00Z"), "f4b0c1d2");
    let first = send(&server, VICTIM, None, &payload).payload();
    server.advance(jiff::SignedDuration::from_hours(49));
    let others = with(payload.clone(), &[("/source_agent/name", json!("other"))]);
    assert_eq!(send(&server, VICTIM, None, &others).payload()["data"]["status"], "received");
    let again = send(&server, STRANGER, None, &payload).payload();
    assert_eq!(again["data"]["status"], "duplicate");
    assert_eq!(again["data"]["lead_id"], first["data"]["lead_id"]);
}

#[test]
fn a_person_is_shown_by_contact_never_made_of_two() {
    let server = dealer();
    let of = |email: &str, phone: &str| {
        let changes = [
            (
                "/customer/email",
                Some(email).filter(|email| !email.is_empty()).map_or(Value::Null, Value::from),
            ),
            ("/customer/phone", json!(phone)),
            ("/consent/allowed_channels", json!(["email", "phone"])),
        ];
        let data = server.payload(&with(lead(), &changes))["data"].clone();
        server.history(&data["lead_id"]).lead
    };
    let ada = of("ada@example.com", "+14155550101");
    let grace = of("grace@example.com", "+14155550102");
    assert_eq!((&ada.person, &grace.person), (&ada.lead_id, &grace.lead_id));
    assert_eq!(of("ADA@example.com", "+14155550103").person, ada.person, "the e-mail address");
    assert_eq!(of("", "+14155550102").person, grace.person, "the telephone");
    assert_eq!(of("", "+14155550103").person, ada.person, "what came with a lead of that person");
    // Whoever writes down both does not make them one.
    assert_eq!(of("ada@example.com", "+14155550102").person, ada.person);
    assert_eq!(of("", "+14155550102").person, grace.person);
}
