//! Leads that are valid in themselves, against the dealer's own data and rules: rows E-097 to
//! E-108.

use expect_test::{Expect, expect};
use jiff::SignedDuration;
use tradepost_document::json::{Value, json};
use tradepost_runtime::config::RateLimitConfig;

use crate::support::dealer::{LISTED_VIN, SOLD_VIN, UNKNOWN_VIN};
use crate::support::{TestServer, compare, lead, start, start_with, with};

fn check(server: &TestServer, row: &str, changes: &[(&str, Value)], expected: Expect) {
    server.check(row, &with(lead(), changes), &expected);
}

fn interest(vin: &str) -> (&'static str, Value) {
    ("/vehicle_of_interest", json!({"vin": vin}))
}

fn test_drive(at: &str) -> (&'static str, Value) {
    ("/appointment", json!({"appointment_type": "test_drive", "appointment_at": at}))
}

/// A Friday, 11:00 in San Francisco.
const OPEN: &str = "2026-05-01T18:00:00Z";

#[test]
fn a_test_drive_needs_a_vehicle_that_is_there() {
    let server = start();
    check(
        &server,
        "E-097",
        &[test_drive(OPEN)],
        expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32602,"message":"MISSING_REQUIRED_FIELD: a test drive needs a vehicle_of_interest",
            "data":{"type":"aap.error","error_id":"err_<id>","code":"MISSING_REQUIRED_FIELD","message":"a test drive needs a vehicle_of_interest",
              "retryable":false,
              "details":{"policy":true,
                "errors":[
                  {"instanceLocation":"","keyword":"required","error":"missing required property \"vehicle_of_interest\"","property":"vehicle_of_interest"}]},
              "created_at":"2026-04-30T12:00:00Z"}}}
    "#]],
    );
    check(
        &server,
        "E-098",
        &[test_drive(OPEN), interest(UNKNOWN_VIN)],
        expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32000,"message":"VEHICLE_NOT_FOUND: no listing of this dealer matches",
            "data":{"type":"aap.error","error_id":"err_<id>","code":"VEHICLE_NOT_FOUND","message":"no listing of this dealer matches","retryable":false,
              "details":{"vin":"1M8GDM9AXKP042788","dealer_id":"demo-auto-group","suggestion":"inventory.search"},"created_at":"2026-04-30T12:00:00Z"}}}
    "#]],
    );
    check(
        &server,
        "E-099",
        &[test_drive(OPEN), interest(SOLD_VIN)],
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32000,"message":"VEHICLE_UNAVAILABLE: the vehicle is no longer on offer",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"VEHICLE_UNAVAILABLE","message":"the vehicle is no longer on offer","retryable":false,
                  "details":{"vin":"5YJ3E1EA7KF000316","stock":"DT-0316","last_status":"available","unavailable_since":"2026-04-30T09:00:00Z",
                    "similar_vehicle_ids":["veh_dt_2611","veh_dt_2451"],"suggestion":"inventory.search"},"created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    assert!(server.store.leads(None).unwrap().is_empty(), "a refused lead is not stored");
    // Without a test drive no lead is lost over a vehicle (C-22).
    check(
        &server,
        "E-100",
        &[interest(UNKNOWN_VIN)],
        expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "result":{"message":{"messageId":"<id>","contextId":"c-1","role":"ROLE_AGENT",
              "parts":[
                {"data":{"type":"lead.submit.response",
                    "data":{"lead_id":"lead_<id>","status":"received","dealer":{"name":"Demo Toyota San Francisco","phone":"+14155550100"}},
                    "message":"Demo Toyota San Francisco received the lead and will follow up on a permitted channel. The vehicle was not found in our inventory; an advisor will look into it."},
                  "mediaType":"application/vnd.autoagent.lead-submit-response+json"}],"extensions":["https://autoagentprotocol.org/extensions/aap/v1.1"]}}}
    "#]],
    );
    check(
        &server,
        "E-100",
        &[interest(SOLD_VIN)],
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "result":{"message":{"messageId":"<id>","contextId":"c-1","role":"ROLE_AGENT",
                  "parts":[
                    {"data":{"type":"lead.submit.response",
                        "data":{"lead_id":"lead_<id>","status":"received","dealer":{"name":"Demo Toyota San Francisco","phone":"+14155550100"}},
                        "message":"Demo Toyota San Francisco received the lead and will follow up on a permitted channel. The vehicle is no longer on offer; an advisor will suggest alternatives."},
                      "mediaType":"application/vnd.autoagent.lead-submit-response+json"}],"extensions":["https://autoagentprotocol.org/extensions/aap/v1.1"]}}}
        "#]],
    );
    let relaxed =
        start_with(|config| config.dealers[0].terms.leads.test_drive_needs_vehicle = false);
    let answer = relaxed.call(&with(lead(), &[test_drive(OPEN)])).json();
    assert!(answer.get("result").is_some(), "R-LD-25");
}

#[test]
fn an_appointment_is_confirmed_or_others_are_proposed() {
    let server = start();
    let vehicle = interest(LISTED_VIN);
    check(
        &server,
        "E-101",
        &[test_drive("2026-04-29T18:00:00Z"), vehicle.clone()],
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "result":{"message":{"messageId":"<id>","contextId":"c-1","role":"ROLE_AGENT",
                  "parts":[
                    {"data":{"type":"lead.submit.response",
                        "data":{"lead_id":"lead_<id>","status":"received",
                          "appointment":{"appointment_id":"appt_<id>","status":"proposed",
                            "proposed_times":["2026-04-30T16:00:00Z","2026-04-30T16:30:00Z","2026-04-30T17:00:00Z"]},
                          "dealer":{"name":"Demo Toyota San Francisco","phone":"+14155550100"}},
                        "message":"Demo Toyota San Francisco received the lead and will follow up on a permitted channel. That time is not available. Choose one of these and submit the lead again with it: Thursday April 30, 9:00 AM PDT; Thursday April 30, 9:30 AM PDT; Thursday April 30, 10:00 AM PDT."},
                      "mediaType":"application/vnd.autoagent.lead-submit-response+json"}],"extensions":["https://autoagentprotocol.org/extensions/aap/v1.1"]}}}
        "#]],
    );
    check(
        &server,
        "E-102",
        &[test_drive("2026-05-01T09:00:00Z"), vehicle.clone()],
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "result":{"message":{"messageId":"<id>","contextId":"c-1","role":"ROLE_AGENT",
                  "parts":[
                    {"data":{"type":"lead.submit.response",
                        "data":{"lead_id":"lead_<id>","status":"received",
                          "appointment":{"appointment_id":"appt_<id>","status":"proposed",
                            "proposed_times":["2026-05-01T01:30:00Z","2026-05-01T16:00:00Z","2026-05-01T16:30:00Z"]},
                          "dealer":{"name":"Demo Toyota San Francisco","phone":"+14155550100"}},
                        "message":"Demo Toyota San Francisco received the lead and will follow up on a permitted channel. That time is not available. Choose one of these and submit the lead again with it: Thursday April 30, 6:30 PM PDT; Friday May 1, 9:00 AM PDT; Friday May 1, 9:30 AM PDT."},
                      "mediaType":"application/vnd.autoagent.lead-submit-response+json"}],"extensions":["https://autoagentprotocol.org/extensions/aap/v1.1"]}}}
        "#]],
    );
    check(
        &server,
        "E-102",
        &[test_drive("2026-05-25T18:00:00Z"), vehicle.clone()],
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "result":{"message":{"messageId":"<id>","contextId":"c-1","role":"ROLE_AGENT",
                  "parts":[
                    {"data":{"type":"lead.submit.response",
                        "data":{"lead_id":"lead_<id>","status":"received",
                          "appointment":{"appointment_id":"appt_<id>","status":"proposed",
                            "proposed_times":["2026-05-15T00:30:00Z","2026-05-15T01:00:00Z","2026-05-15T01:30:00Z"]},
                          "dealer":{"name":"Demo Toyota San Francisco","phone":"+14155550100"}},
                        "message":"Demo Toyota San Francisco received the lead and will follow up on a permitted channel. That time is not available. Choose one of these and submit the lead again with it: Thursday May 14, 5:30 PM PDT; Thursday May 14, 6:00 PM PDT; Thursday May 14, 6:30 PM PDT."},
                      "mediaType":"application/vnd.autoagent.lead-submit-response+json"}],"extensions":["https://autoagentprotocol.org/extensions/aap/v1.1"]}}}
        "#]],
    );
    check(
        &server,
        "E-102",
        &[test_drive(OPEN), vehicle],
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "result":{"message":{"messageId":"<id>","contextId":"c-1","role":"ROLE_AGENT",
                  "parts":[
                    {"data":{"type":"lead.submit.response",
                        "data":{"lead_id":"lead_<id>","status":"received",
                          "appointment":{"appointment_id":"appt_<id>","status":"confirmed","confirmed_at":"2026-05-01T18:00:00Z"},
                          "dealer":{"name":"Demo Toyota San Francisco","phone":"+14155550100"}},
                        "message":"Demo Toyota San Francisco received the lead and will follow up on a permitted channel. The appointment is booked for Friday May 1, 11:00 AM PDT."},
                      "mediaType":"application/vnd.autoagent.lead-submit-response+json"}],"extensions":["https://autoagentprotocol.org/extensions/aap/v1.1"]}}}
        "#]],
    );
}

#[test]
fn a_strict_dealer_refuses_what_cannot_be_booked_or_proposed() {
    let server = start_with(|config| {
        config.dealers[0].terms.leads.strict_appointments = true;
        for rooftop in &mut config.dealers[0].terms.rooftops {
            rooftop.appointments.capacity = 0;
        }
    });
    check(
        &server,
        "E-103",
        &[test_drive(OPEN), interest(LISTED_VIN)],
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32000,
                "message":"APPOINTMENT_TIME_UNAVAILABLE: the lead was received; the requested time is not available and there is none to propose",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"APPOINTMENT_TIME_UNAVAILABLE",
                  "message":"the lead was received; the requested time is not available and there is none to propose","retryable":false,
                  "details":{"lead_id":"lead_<id>","lead_status":"received","requested_at":"2026-05-01T18:00:00Z"},"created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    assert_eq!(server.store.leads(None).unwrap().len(), 1, "the lead is kept (R-LD-28)");
}

#[test]
fn a_key_replays_its_answer_and_refuses_another_payload() {
    let server = start();
    let first =
        with(lead(), &[("/idempotency_key", json!("k-1")), ("/trade_in", json!({"year": 2020}))]);
    let answer = server.payload(&first);
    let again = with(
        first.clone(),
        &[("/submitted_at", json!("2026-04-30T12:00:00Z")), ("/trade_in", json!({"year": 2020.0}))],
    );
    assert_eq!(server.payload(&again), answer, "E-104");
    let row = "E-104";
    assert_eq!(server.store.leads(None).unwrap().len(), 1, "{row}");
    check(
        &server,
        "E-105",
        &[("/idempotency_key", json!("k-1")), ("/message", json!("Another."))],
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32000,"message":"IDEMPOTENCY_CONFLICT: the idempotency key was used before with a different payload",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"IDEMPOTENCY_CONFLICT",
                  "message":"the idempotency key was used before with a different payload","retryable":false,
                  "details":{"idempotency_key":"k-1","first_seen_at":"2026-04-30T12:00:00Z"},"created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    server.advance(SignedDuration::from_hours(49));
    let later = with(first, &[("/consent/granted_at", json!("2026-05-02T11:00:00Z"))]);
    assert_eq!(server.payload(&later)["data"]["status"], "received", "keys are forgotten");
}

#[test]
fn a_refused_lead_does_not_use_its_key_up() {
    let server = start();
    let key = ("/idempotency_key", json!("k-2"));
    let refused = with(lead(), &[key.clone(), test_drive(OPEN), interest(SOLD_VIN)]);
    assert_eq!(server.error(&refused)["code"], "VEHICLE_UNAVAILABLE");
    let corrected = with(lead(), &[key, test_drive(OPEN), interest(LISTED_VIN)]);
    assert_eq!(server.payload(&corrected)["data"]["status"], "received", "C-18");
}

#[test]
fn one_key_at_once_is_taken_once_and_answered_alike() {
    let server = start();
    let payload = with(lead(), &[("/idempotency_key", json!("k-3"))]);
    let answers: Vec<Value> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16).map(|_| scope.spawn(|| server.payload(&payload))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let row = "E-106";
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{row}");
    assert_eq!(server.store.leads(None).unwrap().len(), 1, "{row}");
}

#[test]
fn a_caller_over_its_rate_hears_when_to_return() {
    let window = SignedDuration::from_secs(60);
    let limit = RateLimitConfig { requests: 2, window, http_429: false };
    let server = start_with(|config| config.dealers[0].rate_limit = limit);
    let dealer = json!({"type": "dealer.information.request"});
    server.payload(&dealer);
    // A payload that is no payload counts too, and is refused for the rate first.
    server.call(&json!({}));
    let response = server.call(&json!({}));
    assert_eq!(response.header("retry-after"), Some("30"), "R-ER-07");
    compare(
        "E-107",
        &response,
        &expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32002,"message":"RATE_LIMITED: the request rate is above the dealer's limit",
            "data":{"type":"aap.error","error_id":"err_<id>","code":"RATE_LIMITED","message":"the request rate is above the dealer's limit","retryable":true,
              "details":{"retry_after_ms":30000,"retry_after_seconds":30,"limit":2,"window_ms":60000},"created_at":"2026-04-30T12:00:00Z"}}}
    "#]],
    );
    server.advance(SignedDuration::from_millis(29_999));
    assert_eq!(server.error(&dealer)["code"], "RATE_LIMITED");
    server.advance(SignedDuration::from_millis(1));
    server.payload(&dealer);
    let strict = start_with(|config| {
        config.dealers[0].rate_limit = RateLimitConfig { requests: 1, http_429: true, ..limit };
    });
    assert_eq!((strict.call(&dealer).status, strict.call(&dealer).status), (200, 429), "C-30");
}

#[test]
fn a_failing_store_is_an_internal_error_telling_nothing() {
    let server = start();
    let database = rusqlite::Connection::open(server.directory.path().join("tradepost.sqlite"));
    database.unwrap().execute_batch("DROP TABLE lead_tallies").unwrap();
    check(
        &server,
        "E-108",
        &[("/message", json!("secret-marker"))],
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32603,"message":"INTERNAL_ERROR: the dealer's agent failed to answer; try again later",
                "data":{"type":"aap.error","error_id":"err_<id>","code":"INTERNAL_ERROR","message":"the dealer's agent failed to answer; try again later",
                  "retryable":true,"details":{"retry_after_ms":5000,"retry_after_seconds":5},"created_at":"2026-04-30T12:00:00Z"}}}
        "#]],
    );
    assert!(server.store.leads(None).unwrap().is_empty(), "nothing is half stored");
}
