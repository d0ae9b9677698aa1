//! The same lead again: keys (C-16 to C-18, R-LD-14 to R-LD-16) and duplicates (C-19, R-LD-17).

use jiff::SignedDuration;
use tradepost_document::json::{Value, json};

use crate::support::dealer::{self, LISTED_VIN};
use crate::support::{at, envelope, lead, restart, start, start_with, with};

fn keyed(key: &str) -> Value {
    with(lead(), &[("/idempotency_key", json!(key))])
}

/// Covers R-LD-15 too.
#[test]
fn c_16_a_key_is_remembered_by_the_next_process() {
    let server = start();
    let first = server.payload(&keyed("k"));
    let server = restart(server);
    assert_eq!(server.payload(&keyed("k")), first);
    let other = with(keyed("k"), &[("/message", json!("Another."))]);
    assert_eq!(server.error(&other)["code"], "IDEMPOTENCY_CONFLICT");
    assert_eq!(server.store.leads(None).unwrap().len(), 1);
}

#[test]
fn c_17_a_key_is_used_up_in_both_versions() {
    let server = start();
    let old = with(
        keyed("k"),
        &[("/source_agent", json!("agent")), ("/consent/source_agent", json!("agent"))],
    );
    let first = server.payload(&old);
    assert_eq!(server.error(&keyed("k"))["code"], "IDEMPOTENCY_CONFLICT");
    assert_eq!(server.payload(&old), first, "C-18");
    // Keys are compared as they are written.
    for other in ["K", "k ", "\u{212a}"] {
        assert!(server.call(&keyed(other)).json().get("result").is_some(), "{other}");
    }
}

#[test]
fn c_17_what_a_retry_may_change_and_what_not() {
    let server = start();
    let payload = with(keyed("k"), &[("/trade_in", json!({"year": 2020, "a": [1, {"b": 2}]}))]);
    let first = server.payload(&payload);
    let reordered = r#"{"b": 2.0}"#;
    let text = payload.to_string().replace(r#"{"b":2}"#, reordered);
    let body = envelope(&json!("?")).to_string().replace("\"?\"", &text);
    let answer = server.post(body).json();
    assert_eq!(answer["result"]["message"]["parts"][0]["data"], first);
    assert_ne!(answer["result"]["message"]["messageId"], "m-1", "R-ENV-03");
    for (pointer, change) in [
        ("/trade_in", json!({"year": 2020, "a": [{"b": 2}, 1]})),
        ("/customer/first_name", json!("ada")),
        ("/consent/granted_at", json!("2026-04-30T11:00:00+00:00")),
    ] {
        let changed = with(payload.clone(), &[(pointer, change)]);
        assert_eq!(server.error(&changed)["code"], "IDEMPOTENCY_CONFLICT", "{pointer}");
    }
}

#[test]
fn r_ld_15_a_short_memory_keeps_other_dealers_keys() {
    let server = start_with(|config| {
        let mut second = config.dealers[0].clone();
        config.dealers[0].hosts = vec!["short.example".to_owned()];
        config.dealers[0].terms.leads.idempotency_lifetime = SignedDuration::from_hours(24);
        second.terms.id = "second".to_owned();
        second.hosts = vec!["long.example".to_owned()];
        second.terms.leads.idempotency_lifetime = SignedDuration::from_hours(24 * 30);
        config.dealers.push(second);
    });
    let send = |host: &str, key: &str| {
        let headers = [("Host", host), ("Content-Type", "application/json")];
        let answer = server.post_with(&headers, envelope(&keyed(key)).to_string()).json();
        answer.pointer("/result/message/parts/0/data").unwrap_or_else(|| panic!("{answer}")).clone()
    };
    let first = send("long.example", "k");
    server.advance(SignedDuration::from_hours(25));
    send("short.example", "other");
    assert_eq!(send("long.example", "k"), first);
}

#[test]
fn c_19_equal_leads_at_once_are_one_lead() {
    let server = start();
    let conversation = server.conversation();
    let submit = || server.payload_in(&conversation, &lead());
    let answers: Vec<Value> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..10).map(|_| scope.spawn(submit)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let received = answers.iter().filter(|answer| answer["data"]["status"] == "received").count();
    assert_eq!(received, 1);
    assert!(answers.iter().all(|a| a["data"]["lead_id"] == answers[0]["data"]["lead_id"]));
    let kept = server.history(&answers[0]["data"]["lead_id"]).submissions;
    assert_eq!(kept.len(), 10, "R-LD-19: every consent is kept");
}

#[test]
fn c_19_one_common_address_is_the_same_customer() {
    let server = start();
    let conversation = server.conversation();
    let send = |email: Option<&str>, phone: Option<&str>| {
        let changes = [
            ("/customer/email", email.map_or(Value::Null, Value::from)),
            ("/customer/phone", phone.map_or(Value::Null, Value::from)),
            ("/consent/allowed_channels", json!(["email", "phone"])),
        ];
        let data = server.payload_in(&conversation, &with(lead(), &changes))["data"].clone();
        (data["status"].as_str().unwrap().to_owned(), data["lead_id"].clone())
    };
    let ada = Some("ada@example.com");
    let grace = Some("grace@example.com");
    let one = Some("+14155550101");
    let two = Some("+14155550102");
    let (status, id) = send(ada, one);
    assert_eq!(status, "received");
    assert_eq!(send(ada, two), ("duplicate".to_owned(), id.clone()), "same e-mail");
    assert_eq!(send(grace, one), ("duplicate".to_owned(), id.clone()), "same phone");
    // What the duplicates brought along is this customer's too.
    assert_eq!(send(grace, None), ("duplicate".to_owned(), id.clone()));
    assert_eq!(send(None, two), ("duplicate".to_owned(), id.clone()));
    // For as long as the first submission counts, and not longer.
    server.advance(SignedDuration::from_hours(23));
    assert_eq!(send(grace, two), ("duplicate".to_owned(), id));
    server.advance(SignedDuration::from_hours(2));
    assert_eq!(send(grace, two).0, "received");
    assert_eq!(server.store.leads(None).unwrap().len(), 2);
}

#[test]
fn c_19_a_vehicle_sold_in_between_is_the_same() {
    let server = start();
    let about = with(lead(), &[("/vehicle_of_interest", json!({"vin": LISTED_VIN}))]);
    let conversation = server.conversation();
    let first = server.payload_in(&conversation, &about);
    server.store.replace_inventory(dealer::ID, &[], at("2026-04-30T12:00:00Z"), false).unwrap();
    let server = restart(server);
    let again = server.payload_in(&conversation, &about);
    assert_eq!(again["data"]["status"], "duplicate");
    assert_eq!(again["data"]["lead_id"], first["data"]["lead_id"]);
}

#[test]
fn r_ld_14_keys_hold_anything_and_make_nothing_new() {
    let server = start();
    let conversation = server.conversation();
    let send = |key: &str| server.payload_in(&conversation, &keyed(key));
    let first = send("a\u{0}b");
    assert_eq!(send("a\u{0}b"), first);
    for key in ["a\u{0}c", "a", "' OR 1=1 --", &"\u{1f697}".repeat(128)] {
        let again = send(key);
        assert_eq!(again["data"]["status"], "duplicate", "C-19");
        assert_eq!(again["data"]["lead_id"], first["data"]["lead_id"]);
        assert_eq!(send(key), again, "C-16: what was answered, not what is so");
    }
    let long = keyed(&"\u{1f697}".repeat(129));
    assert_eq!(server.error(&long)["details"]["errors"][0]["instanceLocation"], "/idempotency_key");
}
