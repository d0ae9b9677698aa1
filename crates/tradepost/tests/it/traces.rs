//! Traces as a collector gets them: requests in their caller's trace, and deliveries in traces of their own.

use tradepost_document::json::Value;

use crate::process::{DEALER, Process, fresh_lead};
use crate::support::envelope;
use crate::support::webhook::Webhook;

const CALLER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// Waits for a span of this name.
fn span(collector: &mut Webhook, name: &str) -> Value {
    for count in 1.. {
        let batch = collector.wait(count)[count - 1].clone();
        assert_eq!(batch.line, "POST /v1/traces HTTP/1.1");
        assert_eq!(batch.header("authorization"), Some("Bearer seekrit-token"));
        let spans = batch.json()["resourceSpans"][0]["scopeSpans"][0]["spans"].clone();
        let named = spans.as_array().unwrap().iter().find(|span| span["name"] == name).cloned();
        if let Some(span) = named {
            return span;
        }
    }
    unreachable!("it waits until there is one")
}

fn attribute(span: &Value, key: &str) -> Option<String> {
    let listed = span["attributes"].as_array().unwrap();
    let found = listed.iter().find(|attribute| attribute["key"] == key)?;
    Some(found["value"]["stringValue"].as_str().unwrap().to_owned())
}

#[test]
fn requests_join_their_callers_trace_and_deliveries_carry_it() {
    let mut collector = Webhook::start();
    let mut hub = Webhook::start();
    let folder = tempfile::tempdir().unwrap();
    let config = format!(
        r#"{DEALER}
        [[dealers.deliveries]]
        name = "hub"
        by = "webhook"
        url = "{}"
        hmac_key = "0123456789abcdef0123456789abcdef"

        [traces]
        endpoint = "http://{}/v1/traces"
        service = "bare"
        bearer = "seekrit-token"
        "#,
        hub.url(),
        collector.address
    );
    let process = Process::configured(folder.path(), &config);
    let lead = envelope(&fresh_lead(&[])).to_string();
    let answer = process.post("/a2a", &[("traceparent", CALLER)], &lead);
    assert_eq!(answer["error"], Value::Null, "{answer}");

    let asked = span(&mut collector, "lead.submit");
    assert_eq!(asked["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(asked["parentSpanId"], "00f067aa0ba902b7");
    assert_eq!((&asked["kind"], &asked["status"]["code"]), (&2.into(), &0.into()));
    for (key, value) in [
        ("tradepost.agent", "bare"),
        ("tradepost.code", "OK"),
        ("tradepost.binding", "jsonrpc"),
        ("http.response.status_code", "200"),
    ] {
        assert_eq!(attribute(&asked, key).as_deref(), Some(value), "{asked}");
    }
    let delivered = span(&mut collector, "deliver lead");
    assert_eq!(attribute(&delivered, "tradepost.destination").as_deref(), Some("hub"));
    let carried = hub.wait(1)[0].header("traceparent").unwrap().to_owned();
    let id = delivered["traceId"].as_str().unwrap();
    assert_eq!(carried, format!("00-{id}-{}-01", delivered["spanId"].as_str().unwrap()));

    // What a caller wrote is nowhere, and a trace that is not wanted is not written down.
    let unwanted = CALLER.replace("-01", "-00").replace("4bf9", "aaaa");
    process.post("/a2a", &[("traceparent", &unwanted)], &envelope(&fresh_lead(&[])).to_string());
    process.post("/a2a", &[("traceparent", "seekrit-nonsense")], "{");
    span(&mut collector, "POST /a2a");
    let all: Vec<_> = collector.quiet().iter().map(|batch| batch.body.clone()).collect();
    let all = all.concat();
    assert!(!all.contains("aaaa2f3577b34da6") && !all.contains("seekrit"), "{all}");
    assert!(!all.contains("example.com"), "{all}");
}
