//! What HTTP permits and forbids, by the byte (R-ENV-09, R-ENV-11, R-CARD-01, E-004 to E-012, E-111).

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use jiff::SignedDuration;
use tradepost_document::json::{Value, json};
use tradepost_runtime::config::RateLimitConfig;

use crate::support::{TestServer, client, envelope, start, start_with, two_dealers};

const CARD: &str = "/.well-known/agent-card.json";

fn info() -> String {
    envelope(&json!({"type": "dealer.information.request"})).to_string()
}

/// Everything that the server sends to these bytes until it closes, or for a second.
fn talk(server: &TestServer, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

fn post(line: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{line}\r\n{headers}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or("none")
}

#[test]
fn r_env_11_a_request_names_one_host() {
    let server = start();
    let close = "Connection: close\r\n";
    let line = "POST /a2a HTTP/1.1";
    for (line, headers, expected) in [
        (line, format!("Host: x\r\n{close}"), "200"),
        (line, close.to_owned(), "400"),
        (line, format!("Host: x\r\nHost: y\r\n{close}"), "400"),
        (line, format!("Host: x\r\nHost: x\r\n{close}"), "400"),
        // Before HTTP/1.1 nobody had to.
        ("POST /a2a HTTP/1.0", String::new(), "200"),
        ("POST http://x/a2a HTTP/1.1", format!("Host: y\r\n{close}"), "200"),
        ("POST /a2a HTTP/2.0", format!("Host: x\r\n{close}"), "400"),
        ("POST /a2a HTTP/9.9", format!("Host: x\r\n{close}"), "400"),
        ("POST /a2a?x=%ff HTTP/1.1", format!("Host: x\r\n{close}"), "200"),
        ("POST //a2a HTTP/1.1", format!("Host: x\r\n{close}"), "404"),
        ("POST /a2a%2f HTTP/1.1", format!("Host: x\r\n{close}"), "404"),
        ("CONNECT x:80 HTTP/1.1", format!("Host: x\r\n{close}"), "404"),
        ("OPTIONS * HTTP/1.1", format!("Host: x\r\n{close}"), "404"),
    ] {
        let answer = talk(&server, post(line, &headers, &info()).as_bytes());
        assert_eq!(status(&answer), expected, "{line} {headers} {answer}");
    }
}

#[test]
fn e_111_the_target_wins_and_tenants_look_alike() {
    let server = start_with(two_dealers);
    let get = |target: &str, host: &str| {
        let head = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        talk(&server, head.as_bytes())
    };
    let dealer = |answer: &str| {
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        tradepost_document::json::from_str::<Value>(body).unwrap()["capabilities"]["extensions"][0]
            ["params"]["id"]
            .clone()
    };
    let one = dealer(&get(CARD, "one.example"));
    let two = dealer(&get(CARD, "two.example"));
    assert_ne!(one, two);
    assert_eq!(dealer(&get(&format!("http://two.example:80{CARD}"), "one.example")), two);
    for host in ["three.example", "", "one.example.evil.example", "[::1]:80"] {
        assert_eq!(status(&get(CARD, host)), "404", "{host}");
        assert_eq!(status(&get("/a2a", host)), "404", "{host}");
    }
    assert_eq!(status(&get("/a2a", "one.example")), "405");
}

#[test]
fn r_card_01_only_reading_methods_read() {
    let server = start();
    for (method, path, expected, allow) in [
        ("HEAD", CARD, 200, None),
        ("OPTIONS", CARD, 405, Some("GET,HEAD")),
        ("DELETE", CARD, 405, Some("GET,HEAD")),
        ("HEAD", "/a2a", 405, Some("POST")),
        ("OPTIONS", "/a2a", 405, Some("POST")),
        ("PATCH", "/a2a", 405, Some("POST")),
        ("BREW", "/a2a", 405, Some("POST")),
        ("GET", "/nothing", 404, None),
        ("POST", "/nothing", 404, None),
        ("GET", "/.well-known/agent.json", 404, None),
    ] {
        let response = client::request(server.address, method, path, &[], b"");
        assert_eq!(
            (response.status, response.header("allow")),
            (expected, allow),
            "{method} {path}"
        );
        if method != "HEAD" {
            let error = response.json()["error"].clone();
            assert_eq!(error["code"], expected, "R-ER-03: JSON here too");
        }
    }
    // C-36: pages may read what is for everybody, and never with what a browser adds by itself.
    let origin = [("Origin", "https://evil.example"), ("Content-Type", "application/json")];
    let response = server.post_with(&origin, info());
    assert_eq!(response.status, 200);
    assert_eq!(response.header("access-control-allow-origin"), Some("*"));
    assert_eq!(response.header("access-control-allow-credentials"), None);
}

#[test]
fn e_005_content_types_are_compared_by_their_essence() {
    let server = start();
    for (value, expected) in [
        ("application/json", 200),
        ("Application/JSON ; charset=\"utf-8\"", 200),
        ("application/vnd.autoagent.lead-submit-request+json", 200),
        ("application/json, text/plain", 415),
        ("text/json", 415),
        ("application/jsonp", 415),
        ("application/json-seq", 415),
        ("multipart/form-data; boundary=application/json", 415),
        ("", 415),
        ("application/x-www-form-urlencoded", 415),
    ] {
        let response = server.post_with(&[("Content-Type", value)], info());
        assert_eq!(response.status, expected, "{value}");
        if expected == 415 {
            assert_eq!(response.json()["error"]["code"], -32600);
            assert_eq!(response.header("connection"), Some("close"));
        }
    }
}

#[test]
fn e_004_nobody_is_asked_for_a_body_to_refuse() {
    let server = start();
    let head = |headers: &str| {
        format!(
            "POST /a2a HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\n{headers}\r\n"
        )
    };
    let large = talk(
        &server,
        head("Content-Type: application/json\r\nContent-Length: 999999\r\n").as_bytes(),
    );
    assert_eq!(status(&large), "413", "{large}");
    let text = talk(&server, head("Content-Type: text/plain\r\nContent-Length: 2\r\n").as_bytes());
    assert_eq!(status(&text), "415", "{text}");
    let body = info();
    let good =
        head(&format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len()));
    let answer = talk(&server, format!("{good}{body}").as_bytes());
    let (first, rest) = answer.split_once("\r\n\r\n").unwrap();
    assert_eq!((status(first), status(rest)), ("100", "200"), "{answer}");
}

#[test]
fn requests_that_can_be_read_in_two_ways_are_refused() {
    let server = start();
    let body = info();
    let length = body.len();
    let send = |headers: &str, body: &str| {
        let head = "POST /a2a HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n";
        talk(&server, format!("{head}{headers}\r\n{body}").as_bytes())
    };
    let chunked = format!("{length:x}\r\n{body}\r\n0\r\n\r\n");
    for (headers, body, expected) in [
        (format!("Content-Length: {length}\r\nContent-Length: 5\r\n"), &body, "400"),
        (format!("Content-Length: {length}, 5\r\n"), &body, "400"),
        (format!("Content-Length: +{length}\r\n"), &body, "400"),
        (format!("Content-Length: -{length}\r\n"), &body, "400"),
        ("Content-Length: 99999999999999999999999\r\n".to_owned(), &body, "400"),
        ("Transfer-Encoding: chunked\r\n".to_owned(), &chunked, "200"),
        ("Transfer-Encoding: gzip\r\n".to_owned(), &body, "400"),
        ("Transfer-Encoding: chunked\r\n".to_owned(), &"zz\r\n".to_owned(), "400"),
        ("Bad Header: x\r\n".to_owned(), &body, "400"),
        (" folded: x\r\n".to_owned(), &body, "400"),
    ] {
        let answer = send(&headers, body);
        assert_eq!(status(&answer), expected, "{headers:?} {answer}");
    }
    // With both, one of them has to be ignored, and nothing after it may be read as a request.
    let both = format!("Transfer-Encoding: chunked\r\nContent-Length: {length}\r\n");
    let smuggled = format!("{chunked}GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    let answer = send(&both, &smuggled);
    assert!(!answer.contains("\"live\""), "{answer}");
}

#[test]
fn r_env_09_pipelined_requests_are_answered_in_order() {
    let server = start();
    let mut bytes = String::new();
    for id in ["\"a\"", "2", "-3.50e+1"] {
        let body = info().replace("\"id\":1", &format!("\"id\":{id}"));
        bytes.push_str(&post("POST /a2a HTTP/1.1", "Host: x\r\n", &body));
    }
    // A refusal of the protocol leaves the connection as it was.
    bytes.push_str(&post("POST /a2a HTTP/1.1", "Host: x\r\n", "{"));
    bytes.push_str(&post("POST /a2a HTTP/1.1", "Host: x\r\nConnection: close\r\n", "[]"));
    let answer = talk(&server, bytes.as_bytes());
    let found: Vec<_> = answer
        .match_indices("{\"jsonrpc\":\"2.0\",\"id\":")
        .map(|(start, name)| answer[start + name.len()..].split(',').next().unwrap())
        .collect();
    assert_eq!(found, ["\"a\"", "2", "-3.50e+1", "null", "null"], "{answer}");
}

#[test]
fn r_env_09_all_ids_come_back_as_they_were() {
    let server = start();
    let long = format!("\"{}\"", "é".repeat(40_000));
    let digits = "9".repeat(5_000);
    for id in [
        long.as_str(),
        digits.as_str(),
        "-0.0",
        "1E+400",
        r#""\"\\\/\b\f\n\r\t\u0000\ud83d\ude97""#,
        r#""},{\"id\":2""#,
        "\"\u{2028}\"",
    ] {
        for body in [info(), info().replace("SendMessage", "x"), info().replace("2.0", "1.0")] {
            let response = server.post(body.replace("\"id\":1", &format!("\"id\":{id}")));
            let text = String::from_utf8(response.body).unwrap();
            assert!(text.starts_with(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},")), "{text}");
        }
    }
    for id in ["\"\\ud800\"", "\"\\x\"", "01", "+1", ".5", "\"\u{1}\"", "1 2"] {
        let response = server.post(info().replace("\"id\":1", &format!("\"id\":{id}")));
        let answer = response.json();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&Value::Null, &json!(-32700)),
            "{id}"
        );
    }
}

#[test]
fn section_6_1_row_13_a_conversation_has_an_id() {
    let server = start();
    let ask = |context: Value| {
        let mut body = envelope(&json!({"type": "dealer.information.request"}));
        body["params"]["message"]["contextId"] = context;
        server.post(body.to_string()).json()
    };
    for absent in [json!(""), Value::Null] {
        let id = ask(absent)["result"]["message"]["contextId"].clone();
        let (signature, fresh) = id.as_str().unwrap().split_once('.').unwrap();
        assert_eq!(signature.len(), 32, "{id}");
        assert!(uuid::Uuid::parse_str(fresh).is_ok(), "{id}");
    }
    assert_eq!(ask(json!(" "))["result"]["message"]["contextId"], " ");
    assert_eq!(ask(json!(5))["error"]["code"], -32602);
}

#[test]
fn c_33_every_version_that_is_named_is_looked_at() {
    let server = start();
    let ask = |versions: &[&str]| {
        let mut headers = vec![("Content-Type", "application/json")];
        headers.extend(versions.iter().map(|version| ("A2A-Version", *version)));
        server.post_with(&headers, info()).json()["error"]["code"].clone()
    };
    assert_eq!(ask(&["1.0", "1.0.1"]), Value::Null);
    for versions in [["1.0", "0.3"], ["0.3", "1.0"]] {
        assert_eq!(ask(&versions), -32009);
    }
    assert_eq!(ask(&["1.0, 0.3"]), -32009);
}

#[test]
fn r_er_07_waits_are_rounded_up_and_forgery_ignored() {
    let window = SignedDuration::from_millis(2_500);
    let limit = RateLimitConfig { requests: 1, window, http_429: true };
    let ask = |server: &TestServer, forwarded: &[&str]| {
        let mut headers = vec![("Content-Type", "application/json")];
        headers.extend(forwarded.iter().map(|value| ("X-Forwarded-For", *value)));
        server.post_with(&headers, info())
    };
    let server = start_with(|config| config.dealers[0].rate_limit = limit);
    assert_eq!(ask(&server, &["192.0.2.1"]).status, 200);
    let refused = ask(&server, &["192.0.2.2"]);
    assert_eq!(refused.status, 429, "nobody vouches for the header");
    let details = refused.json()["error"]["data"]["details"].clone();
    assert_eq!(
        (&details["retry_after_ms"], &details["retry_after_seconds"]),
        (&json!(2500), &json!(3))
    );
    assert_eq!(refused.header("retry-after"), Some("3"));
    server.advance(SignedDuration::from_millis(2_499));
    assert_eq!(ask(&server, &[]).header("retry-after"), Some("1"), "never 0");
    server.advance(SignedDuration::from_millis(1));
    assert_eq!(ask(&server, &[]).status, 200);
    // Behind a proxy only what it has added itself counts: the last entry of the last header.
    let server = start_with(|config| {
        config.dealers[0].rate_limit = limit;
        config.server.trust_forwarded_for = true;
    });
    assert_eq!(ask(&server, &["192.0.2.1, 198.51.100.1"]).status, 200);
    assert_eq!(ask(&server, &["192.0.2.9, 198.51.100.1"]).status, 429);
    assert_eq!(ask(&server, &["192.0.2.9", "192.0.2.8, 198.51.100.1"]).status, 429);
    assert_eq!(ask(&server, &["198.51.100.2"]).status, 200);
    assert_eq!(ask(&server, &["nonsense"]).status, 200, "the proxy's own address");
    assert_eq!(ask(&server, &["", "198.51.100.3:"]).status, 429, "the proxy's again");
}
