//! Every pair of neighbours in the order of precedence (§2.1, C-50): one request breaks both
//! rules, and the earlier one decides.

use jiff::SignedDuration;
use tradepost_aap::Skill;
use tradepost_document::json::{Value, json};
use tradepost_runtime::config::RateLimitConfig;

use crate::support::dealer::{LISTED_VIN, SOLD_VIN, UNKNOWN_VIN};
use crate::support::{TestServer, client, envelope, lead, start, start_with, with};

const OPEN: &str = "2026-05-01T18:00:00Z";

fn code(answer: &Value) -> &str {
    let data = answer.pointer("/error/data");
    let name = data.and_then(|data| data.get("code").or_else(|| data.pointer("/0/reason")));
    name.and_then(Value::as_str).unwrap_or_else(|| panic!("{answer}"))
}

fn test_drive(vin: &str) -> [(&'static str, Value); 2] {
    let appointment = json!({"appointment_type": "test_drive", "appointment_at": OPEN});
    [("/appointment", appointment), ("/vehicle_of_interest", json!({"vin": vin}))]
}

fn refused(server: &TestServer, changes: &[(&str, Value)]) -> String {
    server.error(&with(lead(), changes))["code"].as_str().unwrap().to_owned()
}

#[test]
fn row_1_host_method_size_content_type() {
    let server = start_with(|config| {
        config.dealers[0].hosts = vec!["one.example".to_owned()];
        config.server.max_body_bytes = 1_000;
    });
    let send = |method: &str, host: &str, kind: &str, body: &[u8]| {
        let headers = [("Host", host), ("Content-Type", kind)];
        client::request(server.address, method, "/a2a", &headers, body).status
    };
    let large = vec![b' '; 1_001];
    assert_eq!(send("GET", "unknown.example", "text/plain", &large), 404, "host before method");
    assert_eq!(send("GET", "one.example", "text/plain", &large), 405, "method before size");
    assert_eq!(send("POST", "one.example", "text/plain", &large), 413, "size before type");
    assert_eq!(send("POST", "one.example", "text/plain", b"{"), 415, "type before JSON");
}

#[test]
fn row_2_json_shape_version_method_params_content_type() {
    let server = start();
    let send = |version: &str, body: &str| {
        let headers = [("Content-Type", "application/json"), ("A2A-Version", version)];
        server.post_with(&headers, body).json()["error"]["code"].as_i64().unwrap()
    };
    assert_eq!(send("0.3", r#"{"jsonrpc":"1.0","#), -32700, "JSON before shape");
    assert_eq!(send("0.3", r#"{"jsonrpc":"1.0","id":1,"method":"foo"}"#), -32600, "then version");
    assert_eq!(send("0.3", r#"{"jsonrpc":"2.0","id":1,"method":"foo"}"#), -32009, "then method");
    assert_eq!(send("1.0", r#"{"jsonrpc":"2.0","id":1,"method":"foo"}"#), -32601, "then params");
    let part = json!({"data": {}, "mediaType": "image/png"});
    let mut body = envelope(&json!({}));
    body["params"]["message"]["parts"] = json!([part]);
    body["params"]["message"]["messageId"] = json!("");
    assert_eq!(send("1.0", &body.to_string()), -32602, "params before content type");
    body["params"]["message"]["messageId"] = json!("m");
    assert_eq!(send("1.0", &body.to_string()), -32005);
}

#[test]
fn rows_2_3_and_4_protocol_before_rate_before_profile() {
    let limit =
        RateLimitConfig { requests: 1, window: SignedDuration::from_mins(1), http_429: false };
    let server = start_with(|config| {
        config.dealers[0].rate_limit = limit;
        config.dealers[0].terms.skills.retain(|skill| *skill != Skill::LeadSubmit);
    });
    let mut image = envelope(&json!({}));
    image["params"]["message"]["parts"][0]["mediaType"] = json!("image/png");
    // What the protocol refuses does not count.
    for _ in 0..3 {
        assert_eq!(code(&server.post(image.to_string()).json()), "CONTENT_TYPE_NOT_SUPPORTED");
    }
    // Rate 3 before skill 4, before the data part (E-035) and before validation.
    assert_eq!(refused(&server, &[]), "UNSUPPORTED_SKILL");
    let text = with(envelope(&json!({})), &[("/params/message/parts", json!([{"text": "hi"}]))]);
    for body in [envelope(&lead()), envelope(&json!({"type": 5})), text] {
        assert_eq!(code(&server.post(body.to_string()).json()), "RATE_LIMITED");
    }
}

#[test]
fn rows_4_and_5_skill_before_consent_before_schema() {
    let without = start_with(|config| {
        config.dealers[0].terms.skills.retain(|skill| *skill != Skill::LeadSubmit);
    });
    let nothing = [("/consent", Value::Null), ("/customer", Value::Null), ("/x", json!(1))];
    assert_eq!(refused(&without, &nothing), "UNSUPPORTED_SKILL");
    let server = start();
    assert_eq!(refused(&server, &nothing), "CONTACT_CONSENT_REQUIRED", "C-01");
    let error = server.error(&with(lead(), &nothing));
    let listed = error["details"]["errors"].as_array().unwrap().len();
    assert_eq!(listed, 3, "every problem is listed all the same: {error}");
    for grant in [
        json!({"granted_at": "2026-04-30T11:00:00Z"}),
        with(lead()["consent"].clone(), &[("/expires_at", json!("2026-04-30T11:30:00Z"))]),
        with(lead()["consent"].clone(), &[("/granted_at", json!("2026-05-30T11:30:00Z"))]),
    ] {
        let changes = [("/consent", grant), ("/customer/phone", json!("555")), ("/x", json!(1))];
        let error = server.error(&with(lead(), &changes));
        assert_eq!(error["code"], "INVALID_CONSENT");
        let pointers: Vec<_> = error["details"]["errors"]
            .as_array()
            .unwrap()
            .iter()
            .map(|unit| unit["instanceLocation"].as_str().unwrap())
            .collect();
        assert!(pointers.ends_with(&["/customer/phone", "/x"]), "C-04: {pointers:?}");
    }
}

#[test]
fn rows_6_to_8_schema_channel_key_vehicle_in_order() {
    let server = start();
    let key = ("/idempotency_key", json!("k"));
    server.payload(&with(lead(), std::slice::from_ref(&key)));
    let channel = ("/customer/preferred_contact", json!("sms"));
    let phone = ("/customer/phone", json!("555"));
    let [drive, sold] = test_drive(SOLD_VIN);
    let changes = [phone, channel.clone(), key.clone(), drive.clone(), sold.clone()];
    assert_eq!(refused(&server, &changes), "SCHEMA_VALIDATION_FAILED", "6 before 7");
    let changes = [channel, key.clone(), drive.clone(), sold.clone()];
    assert_eq!(refused(&server, &changes), "CONTACT_CONSENT_REQUIRED", "7 before 8");
    let changes = [key, drive.clone(), sold.clone()];
    assert_eq!(refused(&server, &changes), "IDEMPOTENCY_CONFLICT", "8 before 9");
    assert_eq!(refused(&server, &[drive.clone(), sold]), "VEHICLE_UNAVAILABLE");
    assert_eq!(refused(&server, &[drive]), "MISSING_REQUIRED_FIELD", "E-097");
}

#[test]
fn rows_8_and_9_replay_before_vehicle_before_time() {
    let server = start_with(|config| {
        config.dealers[0].terms.leads.strict_appointments = true;
        config.dealers[0].terms.rooftops[0].appointments.capacity = 1;
    });
    let payload = with(lead(), &test_drive(LISTED_VIN));
    let payload = with(payload, &[("/idempotency_key", json!("k"))]);
    let first = server.payload(&payload);
    assert_eq!(first["data"]["appointment"]["status"], "confirmed");
    // Everything is sold; a retry is not about that (C-16, R-LD-15).
    let listings: Vec<_> = Vec::new();
    let now = crate::support::at("2026-04-30T12:00:00Z");
    server.store.replace_inventory(crate::support::dealer::ID, &listings, now, false).unwrap();
    let server = crate::support::restart(server);
    let gone = json!({"type": "inventory.vehicle.request", "vin": LISTED_VIN});
    assert_eq!(server.error(&gone)["code"], "VEHICLE_UNAVAILABLE");
    assert_eq!(server.payload(&payload), first);
    // R-LD-27 before E-103: no time is looked for in vain.
    let past = json!({"appointment_type": "test_drive", "appointment_at": "2020-01-01T00:00:00Z"});
    let changes = [("/appointment", past), ("/vehicle_of_interest", json!({"vin": UNKNOWN_VIN}))];
    assert_eq!(refused(&server, &changes), "VEHICLE_NOT_FOUND");
    assert_eq!(server.store.leads(None).unwrap().len(), 1);
}
