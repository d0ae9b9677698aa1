//! Who may call a dealer's endpoint, what the others hear, and how it is found.

use expect_test::expect;
use jiff::SignedDuration;
use tradepost_document::json::{Value, json};
use tradepost_runtime::config::RateLimitConfig;
use tradepost_runtime::gate::KeyScope;

use super::{call_of, post, rpc};
use crate::auth;
use crate::support::{Response, TestServer, client, start, start_with, two_dealers};

fn get(server: &TestServer, path: &str) -> Response {
    client::request(server.address, "GET", path, &[], b"")
}

#[test]
fn only_the_dealers_own_pages_may_call() {
    let server = start();
    let list = rpc("tools/list", &json!({}));
    for (origin, status) in [
        (None, 200),
        (Some("https://demo-toyota.example.com"), 200),
        (Some("https://evil.example"), 403),
        (Some("http://demo-toyota.example.com"), 403),
        (Some("https://demo-toyota.example.com.evil.example"), 403),
        (Some("null"), 403),
    ] {
        let headers: Vec<_> = origin.map(|origin| ("Origin", origin)).into_iter().collect();
        assert_eq!(post(&server, &headers, &list).status, status, "{origin:?}");
    }
}

#[test]
fn a_name_that_leads_here_by_rebinding_calls_no_dealer() {
    let server = start_with(two_dealers);
    let list = rpc("tools/list", &json!({}));
    let headers = [("Host", "evil.example"), ("Origin", "http://evil.example")];
    assert_eq!(post(&server, &headers, &list).status, 404);
    let headers = [("Host", "one.example"), ("Origin", "http://evil.example")];
    assert_eq!(post(&server, &headers, &list).status, 403);
    let headers = [("Host", "one.example"), ("Origin", "https://one.example")];
    assert_eq!(post(&server, &headers, &list).status, 200);
}

#[test]
fn sessions_of_others_are_unknown() {
    let server = start_with(two_dealers);
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "a", "version": "1"}});
    let greeted = post(&server, &[("Host", "one.example")], &rpc("initialize", &hello));
    let session = greeted.header("mcp-session-id").unwrap();
    let list = rpc("tools/list", &json!({}));
    for (host, session, status) in [
        ("one.example", session, 200),
        ("two.example", session, 404),
        ("one.example", "made-up", 404),
        ("one.example", "", 404),
    ] {
        let answer = post(&server, &[("Host", host), ("Mcp-Session-Id", session)], &list);
        assert_eq!(answer.status, status, "{host} {session}");
    }
}

#[test]
fn hostile_bodies_and_methods_are_refused_in_kind() {
    let server = start_with(|config| config.server.max_body_bytes = 10_000);
    let mut out = String::new();
    let large = call_of("aap_inventory_search", &json!({"filters": {"query": "x".repeat(20_000)}}));
    for (name, headers, body) in [
        ("too large", vec![], large.as_str()),
        ("no JSON", vec![], "{"),
        ("a batch", vec![], "[]"),
        ("too deep", vec![], &"[".repeat(5_000)),
        ("no request of ours", vec![], r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage"}"#),
        ("an unknown tool", vec![], &call_of("aap_vehicle_reserve", &json!({}))),
        ("a list as arguments", vec![], &call_of("aap_inventory_search", &json!([1]))),
        ("another type", vec![("Content-Type", "text/plain")], "{}"),
        ("an answer that it cannot read", vec![("Accept", "text/html")], "{}"),
        (
            "an unknown release",
            vec![("MCP-Protocol-Version", "2031-01-01")],
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        ),
    ] {
        let answer = post(&server, &headers, body);
        out.push_str(&format!("{name}: {} {}\n", answer.status, answer.json()));
    }
    let answer = get(&server, "/mcp");
    out.push_str(&format!("GET: {} {}\n", answer.status, answer.json()));
    expect![[r#"
        too large: 413 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the body is larger than the 10000 bytes that this agent accepts"}}
        no JSON: 400 {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the body is not valid JSON"}}
        a batch: 400 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not supported; send one JSON-RPC request object"}}
        too deep: 400 {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the body nests deeper than 64 levels"}}
        no request of ours: 200 {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not found; there are tools/list, tools/call, resources/list and resources/read"}}
        an unknown tool: 200 {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"there is no tool of this name; tools/list names those there are"}}
        a list as arguments: 200 {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"arguments must be an object"}}
        another type: 415 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the Content-Type must be application/json"}}
        an answer that it cannot read: 406 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the Accept header must permit application/json"}}
        an unknown release: 400 {"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"the MCP-Protocol-Version header names a version unknown here","data":{"supported":["2024-11-05","2025-03-26","2025-06-18","2025-11-25","2026-07-28"],"requested":"2031-01-01"}}}
        GET: 405 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"send messages with POST; there are no sessions and no streams here"}}
    "#]].assert_eq(&out);
}

#[test]
fn a_flood_is_limited_as_over_a2a() {
    let server = start_with(|config| {
        let window = SignedDuration::from_mins(1);
        config.dealers[0].rate_limit = RateLimitConfig { requests: 3, window, http_429: false };
    });
    let ask = || {
        let answer = post(&server, &[], &call_of("aap_dealer_information", &json!({}))).json();
        answer["result"]["structuredContent"]["code"].clone()
    };
    let codes: Vec<_> = (0..4).map(|_| ask()).collect();
    assert_eq!(codes, [Value::Null, Value::Null, Value::Null, json!("RATE_LIMITED")]);
    // The limit counts both bindings together.
    let over_a2a = server.error(&json!({"type": "dealer.information.request"}));
    assert_eq!(over_a2a["code"], "RATE_LIMITED");
}

#[test]
fn keys_and_their_scopes_hold_here_too() {
    let server = start_with(auth::keys(true));
    let search = call_of("aap_inventory_search", &json!({}));
    let missing = post(&server, &[], &search);
    assert_eq!(missing.status, 401);
    assert_eq!(
        missing.header("www-authenticate"),
        Some(
            "Bearer realm=\"demo-auto-group\", \
             resource_metadata=\"https://demo-toyota.example.com/.well-known/oauth-protected-resource/mcp\""
        )
    );
    let all = auth::issue(&server, "all", |_| {});
    let own = auth::issue(&server, "own", |key| {
        key.scopes = Some([KeyScope::DealerRead.into()].into());
    });
    let send = |key: &str, body: &str| {
        let bearer = format!("Bearer {key}");
        post(&server, &[("Authorization", &bearer)], body)
    };
    assert_eq!(send(&all, &search).status, 200);
    let denied = send(&own, &search);
    assert_eq!((denied.status, &denied.json()["error"]["code"]), (403, &json!(-32000)));
    assert_eq!(send(&own, &call_of("aap_dealer_information", &json!({}))).status, 200);
}

#[test]
fn a_protected_resource_describes_itself() {
    let open = start();
    let server = start_with(auth::keys(true));
    for path in
        ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"]
    {
        assert_eq!(get(&open, path).status, 404, "everybody may call");
        let expected = expect![[r#"
            200
            {"resource":"https://demo-toyota.example.com/mcp","resource_name":"Demo Auto Group","scopes_supported":["dealer:read","inventory:read","lead:write"],
              "bearer_methods_supported":["header"]}
        "#]];
        expected.assert_eq(&get(&server, path).snapshot());
    }
}

#[test]
fn metadata_of_a_base_path_come_between_host_and_path() {
    let server = start_with(|config| {
        auth::keys(true)(config);
        config.dealers[0].public_url = Some("https://shared.example/d/acme".to_owned());
    });
    let missing = post(&server, &[], &call_of("aap_inventory_search", &json!({})));
    let challenge = missing.header("www-authenticate").unwrap();
    let path = "/.well-known/oauth-protected-resource/d/acme/mcp";
    let named = format!("resource_metadata=\"https://shared.example{path}\"");
    assert!(challenge.contains(&named), "{challenge}");
    assert_eq!(get(&server, path).json()["resource"], "https://shared.example/d/acme/mcp");
    let other = get(&server, "/.well-known/oauth-protected-resource/d/other/mcp");
    assert_eq!(other.status, 404);
}

#[test]
fn assistants_and_registries_find_the_endpoint() {
    let server = start();
    expect![[r#"
        200
        # Demo Auto Group

        > A dealer group that exists only in tests.

        This address is for AI agents and assistants that ask on behalf of people. Everybody may read. No key is needed. A contact request is sent only after the person has read a consent text and agreed.

        - [MCP](https://demo-toyota.example.com/mcp): streamable HTTP; the tools are aap_dealer_information, aap_inventory_facets, aap_inventory_search, aap_inventory_vehicle, aap_lead_submit
        - [Agent card](https://demo-toyota.example.com/.well-known/agent-card.json): A2A with the Auto Agent Protocol
        - [UCP profile](https://demo-toyota.example.com/.well-known/ucp): the catalog, without a checkout

    "#]].assert_eq(&get(&server, "/llms.txt").snapshot());
    expect![[r#"
        200
        {"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json","name":"com.example.demo-toyota/dealer",
          "title":"Demo Auto Group","description":"A dealer group that exists only in tests.","version":"1.0.0",
          "remotes":[{"type":"streamable-http","url":"https://demo-toyota.example.com/mcp"}]}
    "#]].assert_eq(&get(&server, "/server.json").snapshot());
    let home = get(&server, "/").json();
    assert_eq!(home["mcp"], "https://demo-toyota.example.com/mcp");
    let page = client::request(server.address, "GET", "/", &[("Accept", "text/html")], b"");
    let page = String::from_utf8(page.body).unwrap();
    assert!(page.contains("href=\"https://demo-toyota.example.com/mcp\""), "{page}");
}

#[test]
fn a_dealer_without_a_domain_has_no_registry_entry() {
    let server = start_with(|config| config.dealers[0].public_url = None);
    assert_eq!(get(&server, "/server.json").status, 404);
    assert_eq!(get(&server, "/llms.txt").status, 200);
}
