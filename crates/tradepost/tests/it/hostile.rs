//! Bytes that mean harm: they get a typed answer, and leave no panic, no hang and nothing half
//! done behind.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use proptest::prelude::*;
use tradepost_document::json::{Value, json};

use crate::support::{TestServer, client, envelope, lead, start, with};

/// Every answer is JSON-RPC with a result or a coded error, or a plain HTTP refusal.
fn is_typed(server: &TestServer, body: &[u8]) -> Value {
    let response = server.post(body);
    let answer = response.json();
    let code = answer.pointer("/error/code").and_then(Value::as_i64);
    assert!(answer.get("result").is_some() || code.is_some(), "{answer}");
    assert_ne!(code, Some(-32603), "a fault: {answer}");
    answer
}

#[test]
fn hostile_bodies_get_a_typed_answer() {
    let server = start();
    let in_payload =
        |json: &str| envelope(&json!("?")).to_string().replace("\"?\"", json).into_bytes();
    let search = |filters: &str| {
        in_payload(&format!(r#"{{"type":"inventory.search.request","filters":{filters}}}"#))
    };
    let key = "k".repeat(64 * 1024);
    let many: String = (0..8_000).map(|n| format!(r#""x{n}":1,"#)).collect();
    let rows: &[(&str, Vec<u8>, i64)] = &[
        ("a NUL byte", b"{\"jsonrpc\":\"2.0\",\0}".to_vec(), -32700),
        (
            "invalid UTF-8 in a text",
            search(r#"{"query":"?"}"#).iter().map(|b| if *b == b'?' { 0xff } else { *b }).collect(),
            -32700,
        ),
        ("a lone surrogate", search(r#"{"query":"\ud800"}"#), -32700),
        ("a surrogate pair", search(r#"{"query":"\ud83d\ude97"}"#), 0),
        ("a key of 64 KiB", search(&format!(r#"{{"{key}":1}}"#)), -32602),
        ("8,000 unknown keys", search(&format!("{{{many}\"y\":1}}")), -32602),
        ("a depth bomb", in_payload(&format!("{}{}", "[".repeat(5000), "]".repeat(5000))), -32700),
        ("a depth bomb that never ends", vec![b'['; 200_000], -32700),
        ("an object bomb", in_payload(&r#"{"a":"#.repeat(10_000)), -32700),
        ("a repeated key", search(r#"{"year_min":"x","year_min":2020}"#), -32600),
        ("a huge integer", search(r#"{"price_max":1e400}"#), 0),
        ("a huge year", search(r#"{"year_min":99999999999999999999999999}"#), -32602),
        ("a tiny number", search(r#"{"price_min":1e-999999999}"#), -32602),
        ("an exponent out of range", search(r#"{"price_max":1e99999999999999999999}"#), 0),
        (
            "a body that takes a hundred times its size when it is read",
            search(&format!(r#"[{}0]"#, r#"{"a":0},"#.repeat(30_000))),
            -32600,
        ),
        ("NaN", search(r#"{"price_max":NaN}"#), -32700),
        ("20,000 makes", search(&format!(r#"{{"make":[{}"z"]}}"#, r#""x","#.repeat(20_000))), 0),
        (
            "20,000 wrong makes",
            search(&format!(r#"{{"make":[{}1]}}"#, "1,".repeat(20_000))),
            -32602,
        ),
        ("a byte order mark", [b"\xef\xbb\xbf".to_vec(), search("{}")].concat(), -32700),
        ("JSON5", in_payload("{type: 'x'}"), -32700),
        ("two documents", [search("{}"), search("{}")].concat(), -32700),
    ];
    for (what, body, expected) in rows {
        let answer = is_typed(&server, body);
        let code = answer.pointer("/error/code").and_then(Value::as_i64).unwrap_or_default();
        assert_eq!(code, *expected, "{what}: {answer}");
        assert!(
            answer.to_string().len() < 64 * 1024,
            "{what}: the answer is as large as the attack"
        );
    }
    assert!(server.store.leads(None).unwrap().is_empty());
}

#[test]
fn a_refusal_lists_fifty_problems_and_their_number() {
    let server = start();
    let wrong: Vec<_> = (0..300).collect();
    let payload = json!({"type": "inventory.search.request", "filters": {"make": wrong}});
    let details = server.error(&payload)["details"].clone();
    assert_eq!(details["errors"].as_array().unwrap().len(), 50);
    assert_eq!((&details["truncated"], &details["total"]), (&json!(true), &json!(300)));
}

#[test]
fn a_personal_value_is_never_echoed() {
    let server = start();
    let secret = "Zq7-secret-marker";
    for pointer in [
        "/customer/first_name",
        "/customer/last_name",
        "/customer/email",
        "/customer/phone",
        "/customer/preferred_contact",
        "/customer/address",
        "/consent/granted_at",
        "/consent/allowed_channels",
        "/consent/consent_text",
        "/consent/scope",
        "/source_agent",
        "/message",
        "/submitted_at",
        "/appointment",
        "/vehicle_of_interest",
        "/trade_in",
    ] {
        let changes = [(pointer, json!(secret)), ("/idempotency_key", json!(""))];
        let response = server.call(&with(lead(), &changes));
        let text = String::from_utf8(response.body).unwrap();
        assert!(!text.contains(secret), "{pointer}: {text}");
    }
}

/// Sends `bytes` and then waits, without ending the request.
fn half_a_request(server: &TestServer, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8(answer).unwrap()
}

#[test]
fn slow_and_truncated_requests_end() {
    let server = start();
    // A head that never ends: the connection is closed.
    let answer = half_a_request(&server, b"POST /a2a HTTP/1.1\r\nHost: x\r\n");
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer}");
    // A body that never comes: a typed answer.
    let head = b"POST /a2a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
                 Content-Length: 100\r\n\r\n{\"jsonrpc\"";
    let answer = half_a_request(&server, head);
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.contains("-32600"), "{answer}");
    // A body that is cut off.
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.write_all(head).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{answer}");
    // Chunks larger than the limit, without a declared length.
    let chunk = "f".repeat(0x8000);
    let mut chunked = "POST /a2a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
                       Transfer-Encoding: chunked\r\n\r\n"
        .to_owned();
    for _ in 0..12 {
        chunked.push_str(&format!("8000\r\n{chunk}\r\n"));
    }
    let response = client::raw(server.address, chunked.as_bytes()).unwrap();
    assert_eq!(response.status, 413);
    // Too many and too large headers.
    let many: String = (0..200).map(|n| format!("X-{n}: y\r\n")).collect();
    let head = format!("GET /healthz HTTP/1.1\r\nHost: x\r\n{many}\r\n");
    assert_eq!(client::raw(server.address, head.as_bytes()).unwrap().status, 431);
    let long = format!("GET /healthz HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "y".repeat(70_000));
    assert_eq!(client::raw(server.address, long.as_bytes()).unwrap().status, 431);
    // And the server is well.
    assert_eq!(client::request(server.address, "GET", "/readyz", &[], b"").status, 200);
}

#[test]
fn connections_beyond_the_room_wait_and_are_answered() {
    let server = crate::support::start_with(|config| config.server.max_connections = 2);
    // Two that are open and silent fill the room until their heads are overdue.
    let held: Vec<_> = (0..2).map(|_| TcpStream::connect(server.address).unwrap()).collect();
    let answer = client::request(server.address, "GET", "/healthz", &[], b"");
    assert_eq!(answer.status, 200);
    drop(held);
}

/// A JSON value of some depth.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        ".{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 6, |inner| {
        let names = prop_oneof![
            Just("type".to_owned()),
            Just("filters".to_owned()),
            Just("make".to_owned()),
            Just("consent".to_owned()),
            Just("customer".to_owned()),
            ".{0,8}",
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((names, inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

#[test]
fn random_bytes_and_random_payloads_get_a_typed_answer() {
    let server = start();
    let types = [
        "dealer.information",
        "inventory.facets",
        "inventory.search",
        "inventory.vehicle",
        "lead.submit",
    ];
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    runner
        .run(&prop::collection::vec(any::<u8>(), 0..300), |bytes| {
            is_typed(&server, &bytes);
            Ok(())
        })
        .unwrap();
    runner
        .run(&(0..types.len(), json_value()), |(skill, mut payload)| {
            if let Some(members) = payload.as_object_mut() {
                members.insert("type".into(), json!(format!("{}.request", types[skill])));
            }
            is_typed(&server, envelope(&payload).to_string().as_bytes());
            Ok(())
        })
        .unwrap();
    assert!(server.store.leads(None).unwrap().is_empty());
}
