//! Wrong requests: what each is answered, over REST and MCP.

use expect_test::expect;
use tradepost_document::json::{Value, json};

use super::{arguments, call, path, post, post_rpc, schemas};
use crate::support::{client, start, start_with};

/// Wrong requests by operation, with what is wrong.
fn wrong() -> Vec<(&'static str, &'static str, Value)> {
    let many: Vec<_> = (0..51).map(|id| format!("id{id}")).collect();
    vec![
        ("search_catalog", "no input", json!({})),
        ("search_catalog", "empty filters", json!({"filters": {}})),
        ("search_catalog", "an empty query", json!({"query": ""})),
        ("search_catalog", "a long query", json!({"query": "x".repeat(201)})),
        (
            "search_catalog",
            "everything of another type",
            json!({"query": 1, "filters": [], "pagination": "all", "context": 2, "signals": [], "attribution": 3}),
        ),
        (
            "search_catalog",
            "every filter",
            json!({"filters": {"categories": ["suv", 1], "price": {"min": -1, "max": "cheap"}, "make": "Honda",
                "year_min": 1, "condition": ["old"], "vin": "short"}}),
        ),
        (
            "search_catalog",
            "a page",
            json!({"query": "a", "pagination": {"limit": 0, "cursor": 7}}),
        ),
        (
            "search_catalog",
            "names",
            json!({"query": "a", "signals": {"ip": "1", "it's": 2}, "attribution": {"gclid": 1}}),
        ),
        ("lookup_catalog", "no identifiers", json!({})),
        ("lookup_catalog", "an empty list", json!({"ids": []})),
        ("lookup_catalog", "a text", json!({"ids": "DT-2451"})),
        ("lookup_catalog", "wrong items", json!({"ids": ["a", 7, "", null]})),
        ("lookup_catalog", "too many", json!({"ids": many, "context": []})),
        ("get_product", "no identifier", json!({"ids": ["a"]})),
        ("get_product", "a number", json!({"id": 7})),
        (
            "get_product",
            "options",
            json!({"id": "a", "selected": [{"name": "Color"}, {"name": "Color", "label": "Red"}, 3], "preferences": [1]}),
        ),
    ]
}

#[test]
fn every_problem_of_a_request_is_listed() {
    let server = start();
    let mut out = String::new();
    for (operation, name, request) in wrong() {
        let rest = post(&server, path(operation), &[], &request.to_string());
        let over_mcp = call(&server, operation, &arguments(&request));
        let body = rest.json();
        let error = &over_mcp.json()["error"];
        assert_eq!(body["ucp"]["status"], "error", "{body}");
        schemas::check(operation, &body);
        let messages = body["messages"].as_array().unwrap();
        let of_mcp = error["data"]["messages"].as_array().unwrap();
        assert_eq!(messages.len(), of_mcp.len());
        out.push_str(&format!(
            "{operation}, {name}: {}, {} {}\n",
            rest.status, over_mcp.status, error["code"]
        ));
        for (message, same) in messages.iter().zip(of_mcp) {
            let place = message["path"].as_str().unwrap();
            assert_eq!(same["path"], place.replacen('$', "$.catalog", 1), "{same}");
            assert_eq!(same["content"], message["content"]);
            assert_eq!(message["type"], "error");
            assert_eq!(message["severity"], "recoverable");
            let code = message["code"].as_str().unwrap();
            out.push_str(&format!(
                "    {code} {place}: {}\n",
                message["content"].as_str().unwrap()
            ));
        }
    }
    expect![[r#"
        search_catalog, no input: 400, 200 -32602
            invalid_request $: at least one of query, filters is required
        search_catalog, empty filters: 400, 200 -32602
            invalid_request $: at least one of query, filters is required
        search_catalog, an empty query: 400, 200 -32602
            invalid_request $.query: must not be empty
        search_catalog, a long query: 400, 200 -32602
            invalid_request $.query: must have at most 200 characters
        search_catalog, everything of another type: 400, 200 -32602
            invalid_request $.query: must be string
            invalid_request $.filters: must be object
            invalid_request $.pagination: must be object
            invalid_request $.context: must be object
            invalid_request $.signals: must be object
            invalid_request $.attribution: must be object
        search_catalog, every filter: 400, 200 -32602
            invalid_request $.filters.categories[1]: must be string
            invalid_request $.filters.price.min: must be >= 0
            invalid_request $.filters.price.max: must be integer
            invalid_request $.filters.make: must be array
            invalid_request $.filters.year_min: must be >= 1900
            invalid_request $.filters.condition[0]: must be one of new, used, cpo
            invalid_request $.filters.vin: must be 17 characters A-Z and 0-9 without I, O and Q; use upper case
        search_catalog, a page: 400, 200 -32602
            invalid_request $.pagination.limit: must be >= 1
            invalid_request $.pagination.cursor: must be string
        search_catalog, names: 400, 200 -32602
            invalid_request $.signals.ip: must have a name such as com.example.device_id
            invalid_request $.signals['it\'s']: must have a name such as com.example.device_id
            invalid_request $.attribution.gclid: must be string
        lookup_catalog, no identifiers: 400, 200 -32602
            invalid_request $: missing required property "ids"
        lookup_catalog, an empty list: 400, 200 -32602
            invalid_request $.ids: must have at least 1 item
        lookup_catalog, a text: 400, 200 -32602
            invalid_request $.ids: must be array
        lookup_catalog, wrong items: 400, 200 -32602
            invalid_request $.ids[1]: must be string
            invalid_request $.ids[2]: must not be empty
            invalid_request $.ids[3]: must be string
        lookup_catalog, too many: 400, 200 -32602
            request_too_large $.ids: must have at most 50 items
            request_too_large $.context: must be object
        get_product, no identifier: 400, 200 -32602
            invalid_request $: missing required property "id"
        get_product, a number: 400, 200 -32602
            invalid_request $.id: must be string
        get_product, options: 400, 200 -32602
            invalid_request $.selected[0]: missing required property "label"
            invalid_request $.selected[1]: must not name an option twice
            invalid_request $.selected[2]: must be object
            invalid_request $.preferences[0]: must be string
    "#]].assert_eq(&out);
}

#[test]
fn a_platform_has_to_name_its_profile_and_our_version() {
    let server = start();
    let mut out = String::new();
    for header in [
        "",
        "profile=https://platform.example",
        "profile=\"http://platform.example\"",
        "version=\"2026-04-08\"",
        "profile=\"https://platform.example\", version=\"2026-01-11\"",
        "profile=\"https://platform.example\"; version=\"2026-04-08\"",
    ] {
        let answer = post(
            &server,
            path("search_catalog"),
            &[("UCP-Agent", header)],
            r#"{"query": "ferrari"}"#,
        );
        out.push_str(&format!("{header}\n    {} {}\n", answer.status, answer.json()));
    }
    for meta in [
        json!({}),
        json!({"ucp-agent": {"profile": "http://platform.example"}}),
        json!({"ucp-agent": {"profile": "https://platform.example", "version": "2026-01-11"}}),
    ] {
        let arguments = json!({"meta": meta, "catalog": {"query": "ferrari"}});
        let answer = call(&server, "search_catalog", &arguments);
        out.push_str(&format!("{meta}\n    {} {}\n", answer.status, answer.json()));
    }
    expect![[r#"

            400 {"code":"invalid_profile_url","content":"name your profile in the header UCP-Agent: profile=\"https://…\""}
        profile=https://platform.example
            400 {"code":"invalid_profile_url","content":"the header UCP-Agent must have profile, a text in quotation marks"}
        profile="http://platform.example"
            400 {"code":"invalid_profile_url","content":"the profile must be an https address, of at most 2048 characters"}
        version="2026-04-08"
            400 {"code":"invalid_profile_url","content":"the header UCP-Agent must have profile, a text in quotation marks"}
        profile="https://platform.example", version="2026-01-11"
            422 {"code":"version_unsupported","content":"this version is not spoken here; this business speaks 2026-04-08"}
        profile="https://platform.example"; version="2026-04-08"
            200 {"ucp":{"version":"2026-04-08","status":"success","capabilities":{"dev.ucp.shopping.catalog.search":[{"version":"2026-04-08"}]}},"products":[],"pagination":{"has_next_page":false,"total_count":0}}
        {}
            400 {"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"name your profile in meta[\"ucp-agent\"].profile, an https address","data":{"code":"invalid_profile_url","content":"name your profile in meta[\"ucp-agent\"].profile, an https address"}}}
        {"ucp-agent":{"profile":"http://platform.example"}}
            400 {"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"the profile must be an https address, of at most 2048 characters","data":{"code":"invalid_profile_url","content":"the profile must be an https address, of at most 2048 characters"}}}
        {"ucp-agent":{"profile":"https://platform.example","version":"2026-01-11"}}
            422 {"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"this version is not spoken here; this business speaks 2026-04-08","data":{"code":"version_unsupported","content":"this version is not spoken here; this business speaks 2026-04-08"}}}
    "#]].assert_eq(&out);
}

#[test]
fn hostile_bodies_and_methods_are_refused_in_kind() {
    let server = start_with(|config| config.server.max_body_bytes = 10_000);
    let mut out = String::new();
    let large = json!({"query": "x".repeat(20_000)}).to_string();
    for (name, headers, body) in [
        ("too large", vec![], large.as_str()),
        ("no JSON", vec![], "{"),
        ("nothing", vec![], ""),
        ("no UTF-8 text", vec![], "\u{0}"),
        ("a list", vec![], "[]"),
        ("too deep", vec![], &"[".repeat(5_000)),
        ("twice", vec![], r#"{"query": "a", "query": "b"}"#),
        ("a reserved name", vec![], r#"{"$serde_json::private::Number": "1"}"#),
        ("another type", vec![("Content-Type", "text/plain")], "{}"),
        ("compressed", vec![("Content-Encoding", "gzip")], "{}"),
    ] {
        let answer = post(&server, path("search_catalog"), &headers, body);
        let json = answer.json();
        schemas::check("search_catalog", &json);
        let messages = &json["messages"];
        assert_eq!(messages.as_array().unwrap().len(), 1, "{json}");
        out.push_str(&format!("{name}: {} {}\n", answer.status, messages[0]));
    }
    let got = client::request(server.address, "GET", path("search_catalog"), &[], b"");
    assert_eq!(got.header("allow"), Some("POST"));
    out.push_str(&format!("GET: {} {}\n", got.status, got.json()["messages"][0]));
    let unknown = post(&server, "/ucp/catalog/buy", &[], "{}");
    out.push_str(&format!("an unknown path: {} {}\n", unknown.status, unknown.json()));
    expect![[r#"
        too large: 413 {"type":"error","code":"invalid_request","content":"the body is larger than the 10000 bytes that this agent accepts","severity":"recoverable"}
        no JSON: 400 {"type":"error","code":"invalid_request","path":"$","content":"must be JSON","severity":"recoverable"}
        nothing: 400 {"type":"error","code":"invalid_request","path":"$","content":"must be JSON","severity":"recoverable"}
        no UTF-8 text: 400 {"type":"error","code":"invalid_request","path":"$","content":"must be JSON","severity":"recoverable"}
        a list: 400 {"type":"error","code":"invalid_request","path":"$","content":"must be object","severity":"recoverable"}
        too deep: 400 {"type":"error","code":"invalid_request","path":"$","content":"nests too deep","severity":"recoverable"}
        twice: 400 {"type":"error","code":"invalid_request","path":"$.query","content":"is there twice; readers differ in which they take","severity":"recoverable"}
        a reserved name: 400 {"type":"error","code":"invalid_request","path":"$","content":"has a member with a reserved name","severity":"recoverable"}
        another type: 415 {"type":"error","code":"invalid_request","content":"the Content-Type must be application/json","severity":"recoverable"}
        compressed: 415 {"type":"error","code":"invalid_request","content":"encoded bodies are not read here; leave Content-Encoding out","severity":"recoverable"}
        GET: 405 {"type":"error","code":"invalid_request","content":"send requests with POST","severity":"recoverable"}
        an unknown path: 404 {"error":{"code":404,"status":"NOT_FOUND","message":"nothing is here"}}
    "#]].assert_eq(&out);
}

#[test]
fn calls_without_a_request_are_refused() {
    let server = start();
    let mut out = String::new();
    let meta = arguments(&Value::Null)["meta"].clone();
    for arguments in [
        json!({"meta": meta}),
        json!({"meta": meta, "catalog": "honda"}),
        json!({"meta": meta, "catalog": null}),
    ] {
        let answer = call(&server, "search_catalog", &arguments).json();
        out.push_str(&format!("{}\n", answer["error"]));
    }
    let list =
        post_rpc(&server, &[], "tools/call", &json!({"name": "search_catalog", "arguments": []}))
            .json();
    out.push_str(&format!("{}\n", list["error"]));
    let unknown = call(&server, "create_checkout", &json!({})).json();
    out.push_str(&format!("{}\n", unknown["error"]));
    expect![[r#"
        {"code":-32602,"message":"$: missing required property \"catalog\"","data":{"code":"invalid_request","content":"$: missing required property \"catalog\"","messages":[{"type":"error","code":"invalid_request","path":"$","content":"missing required property \"catalog\"","severity":"recoverable"}]}}
        {"code":-32602,"message":"$.catalog: must be object","data":{"code":"invalid_request","content":"$.catalog: must be object","messages":[{"type":"error","code":"invalid_request","path":"$.catalog","content":"must be object","severity":"recoverable"}]}}
        {"code":-32602,"message":"$.catalog: must be object","data":{"code":"invalid_request","content":"$.catalog: must be object","messages":[{"type":"error","code":"invalid_request","path":"$.catalog","content":"must be object","severity":"recoverable"}]}}
        {"code":-32602,"message":"arguments must be an object"}
        {"code":-32602,"message":"there is no tool of this name; tools/list names those there are"}
    "#]].assert_eq(&out);
}

#[test]
fn refusals_repeat_nothing_that_a_customer_wrote() {
    const SECRET: &str = "ada.lovelace@example.com";
    let server = start();
    for (operation, request) in [
        ("search_catalog", json!({"query": {"a": SECRET}, "filters": {"make": SECRET}})),
        ("search_catalog", json!({"query": "a", "context": {"intent": [SECRET], "currency": 1}})),
        ("search_catalog", json!({"query": "a", "pagination": {"cursor": SECRET}})),
        ("search_catalog", json!({"query": "a", "signals": {"dev.ucp.buyer_ip": [SECRET]}})),
        ("lookup_catalog", json!({"ids": [{"a": SECRET}]})),
    ] {
        let answer = post(&server, path(operation), &[], &request.to_string());
        assert_eq!(answer.status, 400);
        let body = String::from_utf8(answer.body).unwrap();
        assert!(!body.contains("lovelace"), "{body}");
    }
}
