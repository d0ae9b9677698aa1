use std::sync::{Arc, Mutex as StdMutex};

use expect_test::expect;
use reqwest::Method;
use tradepost_document::json::json;

use super::*;

fn shown(act: impl FnOnce(&TrafficLog)) -> String {
    let text = Arc::new(StdMutex::new(String::new()));
    let sink = Arc::clone(&text);
    let log = TrafficLog::new(move |block| {
        let mut text = sink.lock().unwrap();
        text.push_str(block);
        text.push('\n');
    });
    act(&log);
    let text = text.lock().unwrap();
    text.clone()
}

fn headers(list: &[(&'static str, &'static str)]) -> HeaderMap {
    let pair = |(name, value): &(&'static str, &'static str)| {
        (HeaderName::from_static(name), HeaderValue::from_static(value))
    };
    list.iter().map(pair).collect()
}

#[test]
fn requests_and_answers_are_shown_without_their_secrets() {
    let text = shown(|log| {
        let url = "https://a.example/a2a?key=1&api_key=qs3cret&page_token=2&access_token=qs3cret";
        let mut request = Request::new(Method::POST, Url::parse(url).unwrap());
        *request.headers_mut() = headers(&[
            ("authorization", "Bearer hs3cret-token"),
            ("x-api-key", "hs3cret-key"),
            ("x-a2a-notification-token", "hs3cret-note"),
            ("mcp-session-id", "hs3cret-session"),
            ("content-type", "application/json"),
            ("idempotency-key", "k1"),
        ]);
        let body = r#"{"a":1.0,"pushNotificationConfig":{"url":"https://b.example","token":"bs3cret"},
            "authentication":{"schemes":["Bearer"],"credentials":"bs3cret"},"api_keys":[],"webhookSecret":"bs3cret","secret":{"x":["bs3cret",7]},
            "pageToken":"p1","governance_context":"bs3cret","text":"I am hs3cret-token, ok?",
            "jws":"see eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJtZSJ9.c2ln."}"#;
        *request.body_mut() = Some(body.to_owned().into());
        let number = log.request(&request, Some("proxy.example:3128"));
        let answer = headers(&[
            ("www-authenticate", "Bearer realm=\"x\""),
            ("set-cookie", "session=cs3cret"),
        ]);
        log.head(number, 401, &answer);
        log.body(number, Some("text/html"), "<b>\u{1b}[2J hs3cret-token</b>\nline".as_bytes());
        log.failed(number, "hs3cret-key broke");
    });
    assert!(!text.contains("s3cret"), "{text}");
    expect![[r#"
        > #1 POST https://a.example/a2a?key=1&api_key=(hidden)&page_token=2&access_token=(hidden) by the proxy proxy.example:3128
        > authorization: Bearer (hidden)
        > x-api-key: (hidden)
        > x-a2a-notification-token: (hidden)
        > mcp-session-id: (hidden)
        > content-type: application/json
        > idempotency-key: k1
        > {"a":1.0,"pushNotificationConfig":{"url":"https://b.example","token":"(hidden)"},"authentication":{"schemes":["Bearer"],"credentials":"(hidden)"},"api_keys":[],"webhookSecret":"(hidden)","secret":{"x":["(hidden)","(hidden)"]},"pageToken":"p1","governance_context":"(hidden)","text":"I am (hidden), ok?","jws":"see (hidden)"}
        < #1 HTTP 401
        < www-authenticate: Bearer realm="x"
        < set-cookie: (hidden)
        < #1 30 bytes
        < <b>\u001b[2J (hidden)</b>
        < line
        < #1 no answer: (hidden) broke
    "#]]
    .assert_eq(&text);
}

#[test]
fn forms_and_grpc_messages_are_shown_where_possible() {
    let text = shown(|log| {
        let mut request =
            Request::new(Method::POST, Url::parse("https://a.example/token").unwrap());
        *request.headers_mut() = headers(&[("content-type", "application/x-www-form-urlencoded")]);
        *request.body_mut() = Some("grant_type=code&client_secret=fs3cret".into());
        let number = log.request(&request, None);
        log.body(number, Some("application/grpc"), b"hello");
        log.body(number, None, &[0xff, 0xfe]);
        let long = "x".repeat(MAX_SHOWN + 10);
        log.body(number, None, long.as_bytes());
    });
    assert!(!text.contains("s3cret"), "{text}");
    let lines: Vec<_> = text.lines().filter(|line| line.len() < 200).collect();
    assert_eq!(
        lines,
        [
            "> #1 POST https://a.example/token",
            "> content-type: application/x-www-form-urlencoded",
            "> grant_type=code&client_secret=(hidden)",
            "< #1 5 bytes",
            "< (5 bytes that are no text)",
            "< #1 2 bytes",
            "< (2 bytes that are no text)",
            "< #1 65546 bytes",
            "< … (65546 bytes in all)",
        ]
    );
}

#[test]
fn events_are_shown_without_secrets_and_cannot_write_over_lines() {
    let text = shown(|log| {
        let url = Url::parse("https://a.example/mcp").unwrap();
        let number = log.request(&Request::new(Method::GET, url), None);
        let stream =
            b"event: message\ndata: {\"clientSecret\":\"bs3cret\",\"n\":1}\n\nrest\r> #2 forged";
        log.body(number, Some("text/event-stream"), stream);
    });
    expect![[r#"
        > #1 GET https://a.example/mcp
        < #1 71 bytes
        < event: message
        < data: {"clientSecret":"(hidden)","n":1}
        < 
        < rest > #2 forged
    "#]]
    .assert_eq(&text);
}

#[test]
fn documents_within_texts_are_shown_without_their_secrets() {
    let within = |text: String| json!({"content": [{"type": "text", "text": text}]}).to_string();
    let secret = r#"{"access_token":"js3cret","n":1}"#;
    let texts = [
        secret.to_owned(),
        format!("[1, {secret}]"),
        format!("Signed in [1]:\n```json\n{secret}\n```\n"),
        format!("{{1}} and\n{secret}\n{secret}"),
        within(secret.to_owned()),
        within(within(secret.to_owned())),
    ];
    let text = shown(|log| {
        let url = Url::parse("https://a.example/mcp").unwrap();
        let number = log.request(&Request::new(Method::GET, url), None);
        for text in &texts {
            log.body(number, None, within(text.clone()).as_bytes());
        }
        let event = format!("data: {}", within(secret.to_owned()));
        log.body(number, Some("text/event-stream"), event.as_bytes());
        // Text without secrets is shown as it came.
        for text in [r#"{ "n" : [ 1 ] }"#, "} no {", "{", "[ü]"] {
            log.body(number, None, within(text.to_owned()).as_bytes());
        }
    });
    assert!(!text.contains("s3cret"), "{text}");
    expect![[r#"
        > #1 GET https://a.example/mcp
        < #1 77 bytes
        < {"content":[{"type":"text","text":"{\"access_token\":\"(hidden)\",\"n\":1}"}]}
        < #1 82 bytes
        < {"content":[{"type":"text","text":"[1, {\"access_token\":\"(hidden)\",\"n\":1}]"}]}
        < #1 109 bytes
        < {"content":[{"type":"text","text":"Signed in [1]:\n```json\n{\"access_token\":\"(hidden)\",\"n\":1}\n```\n"}]}
        < #1 126 bytes
        < {"content":[{"type":"text","text":"{1} and\n{\"access_token\":\"(hidden)\",\"n\":1}\n{\"access_token\":\"(hidden)\",\"n\":1}"}]}
        < #1 138 bytes
        < {"content":[{"type":"text","text":"{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"access_token\\\":\\\"(hidden)\\\",\\\"n\\\":1}\"}]}"}]}
        < #1 231 bytes
        < {"content":[{"type":"text","text":"{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"content\\\":[{\\\"type\\\":\\\"text\\\",\\\"text\\\":\\\"{\\\\\\\"access_token\\\\\\\":\\\\\\\"(hidden)\\\\\\\",\\\\\\\"n\\\\\\\":1}\\\"}]}\"}]}"}]}
        < #1 83 bytes
        < data: {"content":[{"type":"text","text":"{\"access_token\":\"(hidden)\",\"n\":1}"}]}
        < #1 56 bytes
        < {"content":[{"type":"text","text":"{ \"n\" : [ 1 ] }"}]}
        < #1 45 bytes
        < {"content":[{"type":"text","text":"} no {"}]}
        < #1 40 bytes
        < {"content":[{"type":"text","text":"{"}]}
        < #1 43 bytes
        < {"content":[{"type":"text","text":"[ü]"}]}
    "#]].assert_eq(&text);
}
