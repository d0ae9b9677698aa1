//! Leads that are odd and still welcome (R-LD-09, R-LD-12, R-LD-18, C-15, C-27, C-41, C-42, C-48),
//! and what an envelope may hold besides (R-ENV-05, R-ENV-06).

use tradepost_document::json::{Value, json};

use crate::support::dealer::LISTED_VIN;
use crate::support::{envelope, lead, start, start_with, with};

/// Covers C-41 and C-42 too.
#[test]
fn c_15_what_was_not_said_costs_no_lead() {
    let server = start();
    for (n, changes) in [
        vec![("/vehicle_of_interest", json!({}))],
        vec![("/trade_in", json!({}))],
        vec![("/trade_in", json!({"condition": "poor"}))],
        vec![("/customer/first_name", json!("")), ("/customer/last_name", json!(" \u{7}\n"))],
        vec![("/customer/address", json!({}))],
        vec![("/message", json!("x".repeat(4_000)))],
        vec![("/vehicle_of_interest", json!({"year": 2024, "rooftop": null, "x": [null]}))],
        // Whatever channel is left is one that is permitted (C-05).
        vec![
            ("/customer/preferred_contact", json!("email")),
            ("/customer/email", Value::Null),
            ("/customer/phone", json!("+14155550177")),
            ("/consent/allowed_channels", json!(["email", "sms"])),
        ],
    ]
    .into_iter()
    .enumerate()
    {
        let own = with(lead(), &[("/customer/email", json!(format!("c{n}@example.com")))]);
        let payload = with(own, &changes);
        let answer = server.payload(&payload);
        assert_eq!(answer["data"]["status"], "received", "{changes:?}");
        assert!(!answer["message"].as_str().unwrap().is_empty(), "R-LD-18");
        let kept = server.history(&answer["data"]["lead_id"]).lead.submission;
        assert_eq!(kept.payload, payload, "R-LD-19");
    }
}

#[test]
fn c_48_our_sentence_has_room_for_proposals_and_names() {
    let server = start_with(|config| {
        config.dealers[0].terms.leads.proposed_times = 20;
        config.dealers[0].terms.name = "é".repeat(200);
        config.dealers[0].terms.rooftops[0].profile.name = "é".repeat(200);
    });
    let appointment =
        json!({"appointment_type": "sales", "appointment_at": "2026-05-25T18:00:00Z"});
    // The client checks the length against the schema.
    let answer = server.payload(&with(lead(), &[("/appointment", appointment)]));
    assert_eq!(answer["data"]["appointment"]["proposed_times"].as_array().unwrap().len(), 20);
    server.payload(&json!({"type": "dealer.information.request"}));
}

/// Covers R-ENV-06 and C-27 too.
#[test]
fn r_env_05_other_parts_say_nothing() {
    let server = start();
    let search = json!({"type": "inventory.search.request"});
    let other = json!({"type": "dealer.information.request"}).to_string();
    let ask = |parts: Value| {
        let mut body = envelope(&search);
        body["params"]["message"]["parts"] = parts;
        server.post(body.to_string()).json()
    };
    let text = json!({"text": other, "mediaType": "application/json"});
    let url = json!({"url": "https://example.com/x.json", "mediaType": "application/json"});
    let raw = json!({"raw": "e30=", "mediaType": "application/json", "filename": "x.json"});
    for parts in [
        json!([text, {"data": search}]),
        json!([{"data": search}, text]),
        json!([url, raw, {"data": search}, text]),
    ] {
        let payload = &ask(parts)["result"]["message"]["parts"][0]["data"];
        assert_eq!(payload["type"], "inventory.search.response");
    }
    for parts in [json!([text]), json!([url, raw]), json!([{"data": search}, {"data": {}}])] {
        let answer = ask(parts);
        assert_eq!(answer["error"]["data"]["code"], "SCHEMA_VALIDATION_FAILED", "{answer}");
    }
}

/// Covers R-LD-26 and R-ER-03 too.
#[test]
fn r_ld_03_refusals_name_no_customer_and_no_machinery() {
    let server = start();
    let secret = "planted.secret@example.com";
    let own = with(lead(), &[("/customer/email", json!(secret)), ("/message", json!(secret))]);
    for changes in [
        vec![("/consent", Value::Null)],
        vec![("/consent/expires_at", json!("2026-04-30T11:30:00Z"))],
        vec![("/customer/preferred_contact", json!("sms"))],
        vec![("/customer/phone", json!(secret))],
        vec![("/trade_in", json!({"condition": "used", "notes": secret}))],
        vec![("/vehicle_of_interest", json!({"condition": secret, "vin": secret}))],
        vec![("/appointment", json!({"appointment_type": secret}))],
        vec![
            ("/appointment", json!({"appointment_type": "test_drive"})),
            ("/vehicle_of_interest", json!({"vin": "1M8GDM9AXKP042788", "notes": secret})),
        ],
        vec![("/source_agent", json!({"name": secret, "url": secret}))],
    ] {
        let response = server.call(&with(own.clone(), &changes));
        let text = String::from_utf8(response.body).unwrap();
        assert!(text.contains("\"aap.error\""), "{text}");
        for word in [secret, "planted", "panick", "src/", ".rs"] {
            assert!(!text.contains(word), "{word}: {text}");
        }
    }
    assert_eq!(
        server.payload(&with(own, &[("/vehicle_of_interest", json!({"vin": LISTED_VIN}))]))["data"]
            ["dealer"]["phone"],
        "+14155550100"
    );
}
