//! Evidence of consent: what is kept of a lead, what shows that it is as it was, and what ends it.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use jiff::SignedDuration;
use rusqlite::Connection;
use tradepost_dealer::consent::ConsentFault;
use tradepost_dealer::record::LeadState;
use tradepost_document::json::{Value, json};
use tradepost_runtime::wiring::Wiring;
use tradepost_server::clock::Clock;

use crate::support::dealer::LISTED_VIN;
use crate::support::{NOW, TestServer, at, envelope, envelope_in, lead, start, start_with, with};

/// Runs `tradepost leads` on a folder.
fn leads(data: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tradepost"))
        .arg("leads")
        .args(arguments)
        .arg("--data")
        .arg(data)
        .output()
        .unwrap()
}

fn said(server: &TestServer, arguments: &[&str]) -> String {
    let output = leads(server.directory.path(), arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn database(server: &TestServer) -> Connection {
    Connection::open(server.directory.path().join("tradepost.sqlite")).unwrap()
}

/// A lead of a customer.
fn customer_lead(email: &str, phone: &str) -> Value {
    let changes = [
        ("/customer/first_name", json!("Adelheid")),
        ("/customer/last_name", json!("Winterberg")),
        ("/customer/email", json!(email)),
        ("/customer/phone", json!(phone)),
        ("/vehicle_of_interest", json!({"vin": LISTED_VIN})),
        ("/message", json!("Call me at my sister's in Quarzhausen.")),
        ("/idempotency_key", json!(email)),
    ];
    with(lead(), &changes)
}

fn send(server: &TestServer, payload: &Value) -> String {
    let answer = server.payload(payload);
    answer["data"]["lead_id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

#[test]
fn sent_bytes_and_sender_are_kept_and_changes_found() {
    let server = start_with(|_| {});
    let body = format!("\n {}\n", envelope(&customer_lead("ada@example.com", "+14155550123")));
    let headers = [("Content-Type", "application/json"), ("User-Agent", "Shopper/1.2 (test)")];
    let answer = server.post_with(&headers, &body).payload();
    let first = answer["data"]["lead_id"].as_str().unwrap();
    send(&server, &customer_lead("bob@example.com", "+14155550124"));
    let connection = database(&server);
    let kept: Vec<u8> = connection
        .query_row("SELECT body FROM consent_evidence WHERE seq = 1", [], |row| row.get(0))
        .unwrap();
    assert_eq!(kept, body.as_bytes());
    let exported: Value =
        tradepost_document::json::from_str(&said(&server, &["export", first])).unwrap();
    let record = &exported[0]["consent_log"][0];
    assert_eq!((&record["seq"], &record["event"]), (&json!(1), &json!("granted")));
    assert_eq!(record["user_agent"], "Shopper/1.2 (test)");
    assert_eq!(exported[0]["address"], "127.0.0.1");
    let show = said(&server, &["show", first]);
    assert!(show.contains(record["body_sha256"].as_str().unwrap()), "{show}");

    let verified = said(&server, &["verify"]);
    assert!(verified.contains("2 records, head "), "{verified}");
    let head = verified.trim().rsplit(' ').next().unwrap();
    assert!(said(&server, &["verify", "--head", head]).contains(head));

    // Each is a change that somebody with the file could make, and what is then found.
    for (change, undo, record, fault) in [
        (
            "UPDATE consent_evidence SET body = CAST(body || ' ' AS BLOB) WHERE seq = 1",
            "UPDATE consent_evidence SET body = substr(body, 1, length(body) - 1) WHERE seq = 1",
            1,
            ConsentFault::BodyChanged,
        ),
        (
            "UPDATE consent_evidence SET user_agent = 'Other' WHERE seq = 1",
            "UPDATE consent_evidence SET user_agent = 'Shopper/1.2 (test)' WHERE seq = 1",
            1,
            ConsentFault::CallerChanged,
        ),
        (
            "UPDATE lead_submissions SET address = '192.0.2.9'",
            "UPDATE lead_submissions SET address = '127.0.0.1'",
            1,
            ConsentFault::CallerChanged,
        ),
        (
            "UPDATE lead_submissions SET payload = replace(payload, '\"scope\"', '\"scopes\"') WHERE seq = 2",
            "UPDATE lead_submissions SET payload = replace(payload, '\"scopes\"', '\"scope\"') WHERE seq = 2",
            2,
            ConsentFault::ConsentChanged,
        ),
        (
            "UPDATE consent_log SET at = at + 1 WHERE seq = 1",
            "UPDATE consent_log SET at = at - 1 WHERE seq = 1",
            1,
            ConsentFault::Changed,
        ),
        ("DELETE FROM consent_evidence WHERE seq = 2", "", 2, ConsentFault::EvidenceMissing),
        ("DELETE FROM consent_log WHERE seq = 1", "", 2, ConsentFault::Gap),
    ] {
        connection.execute_batch(change).unwrap();
        let checks = server.store.check_consents(None, None).unwrap();
        assert!(checks[0].faults.contains(&(record, fault)), "{change}: {checks:?}");
        let output = leads(server.directory.path(), &["verify"]);
        assert_eq!(output.status.code(), Some(1), "{change}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(fault.summary()), "{said}");
        connection.execute_batch(undo).unwrap();
    }
}

#[test]
fn records_cut_off_at_the_end_are_missed_by_hash() {
    let server = start();
    send(&server, &customer_lead("ada@example.com", "+14155550123"));
    send(&server, &customer_lead("bob@example.com", "+14155550124"));
    let verified = said(&server, &["verify"]);
    let head = verified.trim().rsplit(' ').next().unwrap();
    database(&server).execute_batch("DELETE FROM consent_log WHERE seq = 2").unwrap();
    assert!(said(&server, &["verify"]).contains("1 record, head "));
    let output = leads(server.directory.path(), &["verify", "--head", head]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn who_is_erased_is_in_no_file_and_chains_hold() {
    let server = start();
    let ada = send(&server, &customer_lead("Ada@Example.com", "+14155550123"));
    let bob = send(&server, &customer_lead("bob@example.com", "+14155550199"));
    let before = server.store.check_consents(None, None).unwrap();
    let erased = said(&server, &["erase", "--email", "ada@example.COM"]);
    assert_eq!(erased, format!("erased {ada}\n"));
    for word in ["ada@example", "14155550123"] {
        for file in std::fs::read_dir(server.directory.path()).unwrap() {
            let path = file.unwrap().path();
            let bytes = std::fs::read(&path).unwrap_or_default().to_ascii_lowercase();
            let is_there = bytes.windows(word.len()).any(|part| part == word.as_bytes());
            assert!(!is_there, "{word} in {}", path.display());
        }
    }
    let history = server.history(&json!(ada));
    assert_eq!(history.lead.state, LeadState::Erased);
    assert_eq!(history.lead.submission.address, None);
    let payload = history.lead.submission.payload.to_string();
    for word in ["Winterberg", "Quarzhausen", "consent_text"] {
        assert!(!payload.contains(word), "{payload}");
    }
    assert_eq!(server.history(&json!(bob)).lead.state, LeadState::Received);

    // The hash of the consent is as it was, and so is the whole chain, with one record more.
    let after = server.store.check_consents(None, Some(before[0].head)).unwrap();
    assert_eq!((after[0].records, after[0].faults.as_slice()), (3, [].as_slice()));
    assert_eq!(after[0].has_expected, Some(true));
    let first = &history.consents[0];
    assert!(first.record.consent.is_some() && first.user_agent.is_none());

    let list = said(&server, &["list"]);
    assert!(list.contains(&bob) && !list.contains(&ada), "{list}");
    let adf = said(&server, &["export", "--format=adf", "--changes", &ada]);
    assert!(adf.contains("none on record; do not contact"), "{adf}");
    let again = leads(server.directory.path(), &["erase", "--email", "ada@example.com"]);
    assert!(again.status.success() && again.stdout.is_empty());
    let phone = said(&server, &["erase", "--phone", "+1 (415) 555-0199"]);
    assert_eq!(phone, format!("erased {bob}\n"));
    let not_selected = leads(server.directory.path(), &["erase"]);
    assert_eq!(not_selected.status.code(), Some(2));
}

#[test]
fn a_consent_that_was_withdrawn_is_withdrawn_in_every_export() {
    let server = start();
    let conversation = server.conversation();
    let payload =
        with(customer_lead("ada@example.com", "+14155550123"), &[("/idempotency_key", json!("1"))]);
    let answer = server.post(envelope_in(Some(&conversation), &payload).to_string()).payload();
    let id = answer["data"]["lead_id"].as_str().unwrap();
    assert_eq!(said(&server, &["revoke", id]), format!("revoked {id}\n"));
    assert!(said(&server, &["list"]).is_empty());
    assert!(said(&server, &["list", "--state=revoked"]).contains(id));
    for arguments in
        [&["export", "--format=adf", id][..], &["export", "--format=adf", "--changes", id]]
    {
        let adf = said(&server, arguments);
        assert!(adf.contains("none on record; do not contact"), "{adf}");
        assert!(!adf.contains("ada@example.com") && !adf.contains("+14155550123"), "{adf}");
    }
    let csv = said(&server, &["export", "--format=csv", id]);
    assert!(csv.contains(",revoked,") && !csv.contains("email phone"), "{csv}");
    let twice = leads(server.directory.path(), &["revoke", id]);
    assert_eq!(twice.status.code(), Some(2));
    // A consent that is given again belongs to a lead of its own.
    let payload = with(payload, &[("/idempotency_key", json!("2"))]);
    let fresh = server.payload_in(&conversation, &payload);
    assert_eq!(fresh["data"]["status"], "received");
    assert_ne!(fresh["data"]["lead_id"], id);
    assert!(server.store.check_consents(None, None).unwrap()[0].faults.is_empty());
}

#[test]
fn the_running_server_erases_what_is_too_old() {
    let server = start_with(|config| {
        config.dealers[0].terms.leads.retention = Some(SignedDuration::from_hours(24 * 30));
    });
    let old = send(&server, &customer_lead("ada@example.com", "+14155550123"));
    server.advance(SignedDuration::from_hours(24 * 20));
    let changes = [
        ("/consent/granted_at", json!("2026-05-20T11:00:00Z")),
        ("/consent/expires_at", json!("2027-05-20T11:00:00Z")),
    ];
    let fresh = send(&server, &with(customer_lead("bob@example.com", "+14155550124"), &changes));
    let (clock, hand) = Clock::manual(at(NOW) + SignedDuration::from_hours(24 * 20));
    let config = server.config().clone();
    let opened = Wiring::open(config, Arc::clone(&server.store), clock, server.address);
    let registry = opened.unwrap().registry;
    registry.refresh().unwrap();
    assert_eq!(server.history(&json!(old)).lead.state, LeadState::Received);
    hand.advance(SignedDuration::from_hours(24 * 11));
    registry.refresh().unwrap();
    assert_eq!(server.history(&json!(old)).lead.state, LeadState::Erased);
    assert_eq!(server.history(&json!(fresh)).lead.state, LeadState::Received);
}

#[test]
fn texts_without_a_schema_limit_have_a_stated_one() {
    let server = start();
    let long = |length: usize| json!("é".repeat(length));
    for (pointer, value, place, keyword, limit) in [
        ("/customer/last_name", long(240 << 10 >> 2), "/customer/last_name", "maxLength", 200),
        ("/customer/last_name", long(201), "/customer/last_name", "maxLength", 200),
        (
            "/customer/address",
            json!({"city": "x".repeat(201)}),
            "/customer/address/city",
            "maxLength",
            200,
        ),
        ("/source_agent/name", long(201), "/source_agent/name", "maxLength", 200),
        (
            "/vehicle_of_interest",
            json!({"trim": "x".repeat(2_001)}),
            "/vehicle_of_interest/trim",
            "maxLength",
            2_000,
        ),
        (
            "/vehicle_of_interest",
            json!({"anything": ["x".repeat(2_001)]}),
            "/vehicle_of_interest/anything/0",
            "maxLength",
            2_000,
        ),
        (
            "/vehicle_of_interest",
            json!({"features": vec!["x"; 201]}),
            "/vehicle_of_interest/features",
            "maxItems",
            200,
        ),
        (
            "/trade_in",
            json!({"description": "x".repeat(10_001)}),
            "/trade_in/description",
            "maxLength",
            10_000,
        ),
        ("/consent/consent_text", long(10_001), "/consent/consent_text", "maxLength", 10_000),
    ] {
        let error = server.error(&with(lead(), &[(pointer, value)]));
        let unit = &error["details"]["errors"][0];
        assert_eq!(unit["instanceLocation"], place, "{error}");
        assert_eq!((&unit["keyword"], &unit["limit"]), (&json!(keyword), &json!(limit)), "{error}");
        let code = if pointer.starts_with("/consent") {
            "INVALID_CONSENT"
        } else {
            "SCHEMA_VALIDATION_FAILED"
        };
        assert_eq!(error["code"], code);
    }
    for (pointer, value) in [
        ("/customer/last_name", long(200)),
        ("/consent/consent_text", long(10_000)),
        ("/vehicle_of_interest", json!({"features": vec!["x".repeat(300); 200]})),
    ] {
        let answer = server.payload(&with(lead(), &[(pointer, value)]));
        assert_eq!(answer["data"]["status"], "received", "{pointer}");
    }
}

#[test]
fn one_address_cannot_fill_the_disk_and_hears_when() {
    let server = start_with(|config| {
        config.server.trust_forwarded_for = true;
        config.dealers[0].terms.leads.daily_bytes_per_address = 200_000;
    });
    let send = |from: &str, number: usize| {
        let features = json!({"features": vec!["x".repeat(300); 100]});
        let changes = [
            ("/vehicle_of_interest", features),
            ("/customer/email", json!(format!("customer{number}@example.com"))),
        ];
        let body = envelope_in(None, &with(lead(), &changes)).to_string();
        let headers = [("Content-Type", "application/json"), ("X-Forwarded-For", from)];
        server.post_with(&headers, body).json()
    };
    let answers: Vec<Value> = (0..8).map(|number| send("192.0.2.1", number)).collect();
    let taken = answers.iter().take_while(|answer| answer.get("result").is_some()).count();
    assert!((1..5).contains(&taken), "{taken}");
    let error = &answers[taken]["error"]["data"];
    assert_eq!((&error["code"], &error["retryable"]), (&json!("RATE_LIMITED"), &json!(true)));
    assert_eq!(error["details"]["limit_bytes"], 200_000);
    assert_eq!(error["details"]["retry_after_ms"], 86_400_000);
    assert_eq!(server.store.leads(None).unwrap().len(), taken, "what is refused is not kept");
    assert!(send("192.0.2.2", 9).get("result").is_some(), "others have room");
    server.advance(SignedDuration::from_hours(24));
    assert!(send("192.0.2.1", 10).get("result").is_some(), "and so has it, a day later");
}
