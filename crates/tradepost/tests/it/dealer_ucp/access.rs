//! Who may read a dealer's catalog, and where it is.

use expect_test::expect;
use jiff::SignedDuration;
use tradepost_aap::Skill;
use tradepost_document::json::{Value, json};
use tradepost_runtime::config::RateLimitConfig;
use tradepost_runtime::gate::KeyScope;

use super::{arguments, ask, call, get, path, post, post_rpc};
use crate::auth;
use crate::support::{client, start, start_with, two_dealers};

#[test]
fn every_dealer_has_a_catalog_at_its_own_host() {
    let server = start_with(|config| {
        two_dealers(config);
        for dealer in &mut config.dealers {
            dealer.public_url = None;
        }
    });
    let profile = |host: &str| {
        client::request(server.address, "GET", "/.well-known/ucp", &[("Host", host)], b"")
    };
    for host in ["one.example", "two.example"] {
        let services = &profile(host).json()["ucp"]["services"]["dev.ucp.shopping"];
        assert_eq!(services[0]["endpoint"], format!("https://{host}/ucp"));
        assert_eq!(services[1]["endpoint"], format!("https://{host}/ucp/mcp"));
        let body = json!({"ids": ["DT-2451"]}).to_string();
        let found = post(&server, path("lookup_catalog"), &[("Host", host)], &body).json();
        assert_eq!(found["products"][0]["id"], "veh_dt_2451", "{found}");
    }
    assert_eq!(profile("three.example").status, 404);
    let there = [("Host", "three.example")];
    assert_eq!(post(&server, path("lookup_catalog"), &there, "{}").status, 404);
    assert_eq!(post_rpc(&server, &there, "tools/list", &json!({})).status, 404);
}

#[test]
fn what_is_switched_off_is_not_there() {
    for (name, change, found) in [
        ("all", None, [200, 200, 200]),
        ("no search", Some(Skill::InventorySearch), [200, 404, 200]),
        ("no vehicle", Some(Skill::InventoryVehicle), [200, 200, 404]),
    ] {
        let server = start_with(|config| {
            config.dealers[0].terms.skills.retain(|skill| Some(*skill) != change);
        });
        let search = post(&server, path("search_catalog"), &[], r#"{"query": "honda"}"#).status;
        let lookup = post(&server, path("lookup_catalog"), &[], r#"{"ids": ["a"]}"#).status;
        let product = post(&server, path("get_product"), &[], r#"{"id": "a"}"#).status;
        assert_eq!(lookup, product);
        assert_eq!([get(&server, "/.well-known/ucp").status, search, lookup], found, "{name}");
        let tools = post_rpc(&server, &[], "tools/list", &json!({})).json();
        let tools = tools["result"]["tools"].as_array().unwrap().len();
        let capabilities = get(&server, "/.well-known/ucp").json();
        let capabilities = capabilities["ucp"]["capabilities"].as_object().unwrap().len();
        assert_eq!(
            (tools, capabilities),
            match found {
                [_, 404, _] => (2, 1),
                [_, _, 404] => (1, 1),
                _ => (3, 2),
            }
        );
    }
    let server = start_with(|config| config.dealers[0].ucp = false);
    assert_eq!(get(&server, "/.well-known/ucp").status, 404);
    assert_eq!(post(&server, path("search_catalog"), &[], "{}").status, 404);
    assert_eq!(post_rpc(&server, &[], "tools/list", &json!({})).status, 404);
    let llms = String::from_utf8(get(&server, "/llms.txt").body).unwrap();
    assert!(!llms.contains("ucp"), "{llms}");
}

#[test]
fn a_lead_goes_where_the_dealer_takes_one() {
    let note = |change: fn(&mut tradepost_runtime::config::DealerConfig)| {
        let server = start_with(|config| change(&mut config.dealers[0]));
        let found = ask(&server, "get_product", &json!({"id": "DT-2451"}));
        let profile = get(&server, "/.well-known/ucp").json();
        let content = &found["messages"][0]["content"];
        assert_eq!(*content, profile["org.autoagentprotocol.lead"]["content"]);
        content.as_str().unwrap().to_owned()
    };
    let notes = [
        note(|_| {}),
        note(|dealer| dealer.mcp = false),
        note(|dealer| dealer.terms.skills.retain(|skill| *skill != Skill::LeadSubmit)),
    ];
    expect![[r#"
        Nothing is sold by UCP here; there is no checkout. To contact the dealer, call the tool aap_lead_submit at https://demo-toyota.example.com/mcp (MCP), or send lead.submit of the Auto Agent Protocol to the agent of https://demo-toyota.example.com/.well-known/agent-card.json (A2A).
        Nothing is sold by UCP here; there is no checkout. To contact the dealer, send lead.submit of the Auto Agent Protocol to the agent of https://demo-toyota.example.com/.well-known/agent-card.json (A2A).
        Nothing is sold by UCP here; there is no checkout. The agent of https://demo-toyota.example.com/.well-known/agent-card.json (A2A) says how the dealer is reached."#]].assert_eq(&notes.join("\n"));
}

#[test]
fn the_tools_are_those_of_ucp() {
    let server = start();
    let listed = post_rpc(&server, &[], "tools/list", &json!({})).json();
    let tools = listed["result"]["tools"].as_array().unwrap();
    for tool in tools {
        assert_eq!(tool["annotations"]["readOnlyHint"], true);
        assert_eq!(tool["inputSchema"]["required"], json!(["meta", "catalog"]));
        assert!(tool["description"].as_str().unwrap().contains("Nothing can be bought"));
    }
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["search_catalog", "lookup_catalog", "get_product"]);
    // The dealer's other tools are at its other address, and these are not there.
    let unknown = call(&server, "aap_lead_submit", &json!({})).json();
    assert_eq!(unknown["error"]["code"], -32602);
}

#[test]
fn a_flood_is_limited_together_with_a2a() {
    let server = start_with(|config| {
        let window = SignedDuration::from_mins(1);
        config.dealers[0].rate_limit = RateLimitConfig { requests: 2, window, http_429: false };
    });
    ask(&server, "lookup_catalog", &json!({"ids": ["a"]}));
    assert_eq!(
        server.payload(&json!({"type": "dealer.information.request"}))["type"],
        "dealer.information.response"
    );
    let limited = post(&server, path("search_catalog"), &[], r#"{"query": "a"}"#);
    assert!(limited.header("retry-after").is_some_and(|wait| wait.parse::<u64>().unwrap() > 0));
    let over_mcp = call(&server, "get_product", &arguments(&json!({"id": "a"})));
    assert!(over_mcp.header("retry-after").is_some());
    assert!(over_mcp.json()["error"]["data"]["retry_after"].as_u64().unwrap() > 0);
    let of_mcp = over_mcp.json();
    let out = format!(
        "{} {}\n{} {} {}\n",
        limited.status,
        limited.json(),
        over_mcp.status,
        of_mcp["error"]["code"],
        of_mcp["error"]["data"]["code"],
    );
    expect![[r#"
        429 {"ucp":{"version":"2026-04-08","status":"error","capabilities":{"dev.ucp.shopping.catalog.search":[{"version":"2026-04-08"}]}},"messages":[{"type":"error","code":"rate_limited","content":"the request rate is above the dealer's limit","severity":"recoverable"}]}
        429 -32000 "rate_limited"
    "#]].assert_eq(&out);
}

#[test]
fn keys_and_their_scopes_hold_here_too() {
    let server = start_with(auth::keys(true));
    let body = r#"{"query": "honda"}"#;
    let missing = post(&server, path("search_catalog"), &[], body);
    assert_eq!(missing.header("www-authenticate"), Some("Bearer realm=\"demo-auto-group\""));
    let tool =
        json!({"name": "search_catalog", "arguments": arguments(&json!({"query": "honda"}))});
    let missing_mcp = post_rpc(&server, &[], "tools/call", &tool);
    assert_eq!(missing_mcp.header("www-authenticate"), Some("Bearer realm=\"demo-auto-group\""));
    let all = auth::issue(&server, "all", |_| {});
    let other = auth::issue(&server, "other", |key| {
        key.scopes = Some([KeyScope::DealerRead.into()].into());
    });
    let mut out = format!("none: {} {}\n", missing.status, missing.json());
    out.push_str(&format!("none: {} {}\n", missing_mcp.status, missing_mcp.json()));
    for (name, key) in [("all", all.as_str()), ("other", &other), ("wrong", "tp_nothing")] {
        let bearer = format!("Bearer {key}");
        let headers = [("Authorization", bearer.as_str())];
        let rest = post(&server, path("search_catalog"), &headers, body);
        let over_mcp = post_rpc(&server, &headers, "tools/call", &tool);
        if name == "all" {
            assert_eq!((rest.status, over_mcp.status), (200, 200));
            continue;
        }
        out.push_str(&format!("{name}: {} {}\n", rest.status, rest.json()));
        out.push_str(&format!("{name}: {} {}\n", over_mcp.status, over_mcp.json()));
    }
    expect![[r#"
        none: 401 {"ucp":{"version":"2026-04-08","status":"error","capabilities":{"dev.ucp.shopping.catalog.search":[{"version":"2026-04-08"}]}},"messages":[{"type":"error","code":"unauthorized","content":"this agent requires a credential; send one of a scheme that its card declares, in the header Authorization","severity":"recoverable"}]}
        none: 401 {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"this agent requires a credential; send one of a scheme that its card declares, in the header Authorization","data":{"code":"unauthorized","content":"this agent requires a credential; send one of a scheme that its card declares, in the header Authorization"}}}
        other: 403 {"ucp":{"version":"2026-04-08","status":"error","capabilities":{"dev.ucp.shopping.catalog.search":[{"version":"2026-04-08"}]}},"messages":[{"type":"error","code":"insufficient_scope","content":"the credential lacks the scope inventory:read","severity":"unrecoverable"}]}
        other: 403 {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"the credential lacks the scope inventory:read","data":{"code":"insufficient_scope","content":"the credential lacks the scope inventory:read"}}}
        wrong: 401 {"ucp":{"version":"2026-04-08","status":"error","capabilities":{"dev.ucp.shopping.catalog.search":[{"version":"2026-04-08"}]}},"messages":[{"type":"error","code":"unauthorized","content":"the credential is not valid","severity":"recoverable"}]}
        wrong: 401 {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"the credential is not valid","data":{"code":"unauthorized","content":"the credential is not valid"}}}
    "#]].assert_eq(&out);
    // The profile is how a platform learns where to ask for a key.
    assert_eq!(get(&server, "/.well-known/ucp").status, 200);
}

#[test]
fn only_the_dealers_own_pages_call_over_mcp() {
    let server = start();
    for (origin, status) in
        [("https://demo-toyota.example.com", 200), ("https://evil.example", 403)]
    {
        let answer = post_rpc(&server, &[("Origin", origin)], "tools/list", &json!({}));
        assert_eq!(answer.status, status, "{origin}");
    }
}

#[test]
fn assistants_are_told_of_the_catalog() {
    let server = start();
    let llms = String::from_utf8(get(&server, "/llms.txt").body).unwrap();
    assert!(llms.contains("https://demo-toyota.example.com/.well-known/ucp"), "{llms}");
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    let greeted = post_rpc(&server, &[], "initialize", &hello);
    assert_eq!(greeted.header("mcp-session-id"), None);
    let instructions = greeted.json()["result"]["instructions"].clone();
    assert!(matches!(&instructions, Value::String(text) if text.contains("Nothing can be bought")));
}
