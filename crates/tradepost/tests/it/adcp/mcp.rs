//! MCP over HTTP: the protocol itself, and who is turned away before a tool is reached.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::support::client;
use crate::support::publisher::{Binding, Publisher, start, start_with};

/// The status, the headers that matter, and the whole body.
fn whole(response: &crate::support::Response) -> String {
    let named = ["www-authenticate", "retry-after", "allow", "connection"];
    let headers = named.iter().filter_map(|name| {
        let value =
            response.header(name).filter(|value| *name != "connection" || *value != "close");
        value.map(|value| format!("{name}: {value}\n"))
    });
    let headers: String = headers.collect();
    format!("{headers}{}", response.snapshot())
}

#[track_caller]
fn check(publisher: &Publisher, who: &str, headers: &[(&str, &str)], body: &str, expected: Expect) {
    expected.assert_eq(&whole(&publisher.post(who, "/mcp", headers, body)));
}

fn rpc(method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": "r-1", "method": method, "params": params}).to_string()
}

fn hello(version: &str) -> String {
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
    rpc("initialize", params)
}

const LATER: [(&str, &str); 1] = [("MCP-Protocol-Version", "2026-07-28")];

/// A request of the release without a greeting.
fn later(method: &str, mut params: Value) -> String {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    rpc(method, params)
}

#[test]
fn every_release_is_greeted_in_kind_and_others_with_the_newest() {
    let publisher = start();
    for (asked, spoken) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let answer = publisher.post("nobody", "/mcp", &[], &hello(asked)).json();
        assert_eq!(answer["result"]["protocolVersion"], spoken, "{asked}");
    }
    check(&publisher, "nobody", &[], &hello("2025-06-18"), expect![[]]);
    check(&publisher, "nobody", &[], &rpc("initialize", json!({})), expect![[]]);
    check(&publisher, "nobody", &[], &rpc("ping", json!({})), expect![[]]);
    let note = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    check(&publisher, "nobody", &[], note, expect![[]]);
}

#[test]
fn a_client_that_does_not_say_hello_discovers_the_server() {
    let publisher = start();
    let with = |more: &[(&'static str, &'static str)]| [&LATER, more].concat();
    let discover = later("server/discover", json!({}));
    check(&publisher, "acme", &with(&[("Mcp-Method", "server/discover")]), &discover, expect![[]]);
    let call = later("tools/call", json!({"name": "get_products", "arguments": {}}));
    let headers = with(&[("Mcp-Method", "tools/call"), ("Mcp-Name", "get_products")]);
    let answer = publisher.post("acme", "/mcp", &headers, &call).json();
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    assert_eq!(answer["result"]["isError"], true);
    // What the headers say and the body does not is refused.
    check(&publisher, "acme", &with(&[]), &discover, expect![[]]);
    let headers = with(&[("Mcp-Method", "tools/call"), ("Mcp-Name", "get_signals")]);
    check(&publisher, "acme", &headers, &call, expect![[]]);
    let headers = with(&[("Mcp-Method", "ping")]);
    check(&publisher, "acme", &headers, &rpc("ping", json!({})), expect![[]]);
    check(
        &publisher,
        "acme",
        &with(&[("Mcp-Method", "a/b")]),
        &later("a/b", json!({})),
        expect![[]],
    );
    // Without the header it is a method that nobody has.
    check(&publisher, "acme", &[], &discover, expect![[]]);
    check(&publisher, "acme", &[("MCP-Protocol-Version", "2020-01-01")], &discover, expect![[]]);
}

#[test]
fn the_list_of_tools_is_the_same_bytes_for_every_caller() {
    let publisher = start();
    let list = rpc("tools/list", json!({}));
    let bodies: Vec<_> = ["acme", "nova", "paused", "banned", "stranger", "nobody"]
        .map(|who| publisher.post(who, "/mcp", &[], &list))
        .into_iter()
        .map(|response| (response.status, response.headers.len(), response.body))
        .collect();
    assert!(bodies.iter().all(|body| *body == bodies[0]), "N-4");
    let body: Value = serde_json::from_slice(&bodies[0].2).unwrap();
    let tools = body["result"]["tools"].as_array().unwrap();
    let summary: String = tools
        .iter()
        .map(|tool| {
            let hint = |name: &str| tool["annotations"][name].as_bool().unwrap();
            assert_eq!(tool["inputSchema"]["type"], "object");
            assert!(jsonschema::validator_for(&tool["inputSchema"]).is_ok(), "{tool}");
            let (read_only, idempotent) = (hint("readOnlyHint"), hint("idempotentHint"));
            format!("{} {read_only} {idempotent}\n", tool["name"].as_str().unwrap())
        })
        .collect();
    expect![[]].assert_eq(&summary);
    let production = start_with(&|config| config.publishers[0].profile.sandbox = false);
    let listed = String::from_utf8(production.post("acme", "/mcp", &[], &list).body).unwrap();
    assert!(!listed.contains("comply_test_controller"));
    let unknown = |publisher: &Publisher, name: &str| {
        publisher.mcp("acme", "tools/call", &json!({"name": name, "arguments": {}})).snapshot()
    };
    let controller = unknown(&production, "comply_test_controller");
    assert_eq!(controller, unknown(&production, "no_such_tool"));
    expect![[]].assert_eq(&controller);
    let next = rpc("tools/list", json!({"cursor": "x"}));
    check(&publisher, "acme", &[], &next, expect![[]]);
}

#[test]
fn what_is_no_message_is_refused_in_json_rpc() {
    let publisher = start();
    for (body, expected) in [
        ("", expect![[]]),
        ("{", expect![[]]),
        ("\u{feff}{}", expect![[]]),
        ("[]", expect![[]]),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, expect![[]]),
        ("1", expect![[]]),
        (r#"{"id":1,"method":"ping"}"#, expect![[]]),
        (r#"{"jsonrpc":"2.0","id":1}"#, expect![[]]),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, expect![[]]),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, expect![[]]),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, expect![[]]),
        (r#"{"jsonrpc":"2.0","id":1,"method":"nothing"}"#, expect![[]]),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#, expect![[]]),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}"#, expect![[]]),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_products","arguments":[]}}"#,
            expect![[]],
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_products","arguments":"x"}}"#,
            expect![[]],
        ),
    ] {
        check(&publisher, "acme", &[], body, expected);
    }
    let deep = format!("{}{}", "[".repeat(70), "]".repeat(70));
    check(&publisher, "acme", &[], &deep, expect![[]]);
}

#[test]
fn the_transport_refuses_in_json_rpc_too() {
    let publisher = start();
    let list = rpc("ping", json!({}));
    check(&publisher, "acme", &[("Content-Type", "text/plain")], &list, expect![[]]);
    check(&publisher, "acme", &[("Accept", "text/event-stream")], &list, expect![[]]);
    check(&publisher, "acme", &[("Accept", "text/html, */*;q=0.1")], &list, expect![[]]);
    check(&publisher, "acme", &[("Origin", "https://evil.example")], &list, expect![[]]);
    let huge = rpc("ping", json!({"x": "y".repeat(300_000)}));
    check(&publisher, "acme", &[], &huge, expect![[]]);
    for method in ["GET", "DELETE", "PUT"] {
        let response = client::request(publisher.address, method, "/mcp", &[], b"");
        assert_eq!(response.status, 405);
        assert_eq!(response.header("allow"), Some("POST"));
        assert_eq!(response.json()["error"]["code"], -32600);
    }
    let friendly = start_with(&|config| {
        config.publishers[0].front.origins = vec!["https://app.example".to_owned()];
    });
    let origin = [("Origin", "https://APP.example")];
    assert_eq!(friendly.post("acme", "/mcp", &origin, &list).status, 200);
    let hosted = start_with(&|config| {
        config.publishers[0].front.hosts = vec!["ads.example".to_owned()];
    });
    assert_eq!(hosted.post("acme", "/mcp", &[], &list).status, 404);
    assert_eq!(hosted.post("acme", "/mcp", &[("Host", "ads.example:8080")], &list).status, 200);
}

#[test]
fn a_call_needs_a_credential_and_an_introduction_does_not() {
    let publisher = start();
    for (who, tool, status) in [
        ("acme", "list_creatives", 200),
        ("nobody", "list_creatives", 401),
        ("no-such-token", "list_creatives", 401),
        ("nobody", "get_adcp_capabilities", 200),
        ("no-such-token", "get_adcp_capabilities", 401),
        ("nobody", "no_such_tool", 401),
    ] {
        for binding in [Binding::Mcp, Binding::A2a, Binding::Older] {
            let response = publisher.call(binding, who, tool, &json!({}));
            assert_eq!(response.status, status, "{binding:?} {who} {tool}");
            assert_eq!(response.header("www-authenticate").is_some(), status == 401);
        }
    }
    let call = rpc("tools/call", json!({"name": "list_creatives", "arguments": {}}));
    check(&publisher, "nobody", &[], &call, expect![[]]);
    check(&publisher, "no-such-token", &[], &call, expect![[]]);
    // Whoever shows a bad credential hears it wherever it is shown.
    check(&publisher, "no-such-token", &[], &hello("2025-06-18"), expect![[]]);
}

#[test]
fn whoever_fails_too_often_is_put_off_and_good_credentials_still_pass() {
    let publisher = start();
    let call = rpc("tools/call", json!({"name": "list_creatives", "arguments": {}}));
    for _ in 0..10 {
        assert_eq!(publisher.post("no-such-token", "/mcp", &[], &call).status, 401);
    }
    check(&publisher, "no-such-token", &[], &call, expect![[]]);
    assert_eq!(publisher.post("acme", "/mcp", &[], &call).status, 200);
}

#[test]
fn whoever_asks_too_often_for_what_is_no_tool_is_told_before_any_is_reached() {
    let publisher = start_with(&|config| config.publishers[0].rates.read.requests = 2);
    for _ in 0..2 {
        assert_eq!(publisher.post("acme", "/mcp", &[], &rpc("ping", json!({}))).status, 200);
    }
    check(&publisher, "acme", &[], &rpc("tools/list", json!({})), expect![[]]);
    // A2A says it alike.
    let task = publisher.a2a("acme", "GetTask", &json!({"id": "x"}));
    expect![[]].assert_eq(&whole(&task));
    assert_eq!(publisher.post("nova", "/mcp", &[], &rpc("ping", json!({}))).status, 200);
}
