//! A dealer's catalog by the Universal Commerce Protocol: the profile, and the answers over REST and MCP.

use expect_test::{Expect, expect};
use tradepost_document::json::{Value, json};

use crate::support::dealer::SOLD_VIN;
use crate::support::{Response, TestServer, client, start, start_with};

mod access;
mod errors;
mod schemas;

/// The header of a platform.
const PLATFORM: &str = r#"profile="https://platform.example/.well-known/ucp""#;

fn get(server: &TestServer, path: &str) -> Response {
    client::request(server.address, "GET", path, &[], b"")
}

/// Posts a request to the REST binding, by default as a platform.
fn post(server: &TestServer, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
    let usual = [("Content-Type", "application/json"), ("UCP-Agent", PLATFORM)];
    let given = |name: &str| headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
    let headers: Vec<_> = usual
        .into_iter()
        .filter(|(name, _)| !given(name))
        .chain(headers.to_vec())
        .filter(|(_, value)| !value.is_empty())
        .collect();
    client::request(server.address, "POST", path, &headers, body.as_bytes())
}

/// The path of an operation.
fn path(operation: &str) -> &'static str {
    match operation {
        "search_catalog" => "/ucp/catalog/search",
        "lookup_catalog" => "/ucp/catalog/lookup",
        "get_product" => "/ucp/catalog/product",
        other => panic!("no operation {other}"),
    }
}

/// The answer to a right request over REST.
#[track_caller]
fn ask(server: &TestServer, operation: &str, body: &Value) -> Value {
    let answer = post(server, path(operation), &[], &body.to_string());
    assert_eq!(answer.status, 200, "{}", answer.snapshot());
    schemas::check(operation, &answer.json());
    answer.json()
}

/// Posts a message of MCP.
fn post_rpc(
    server: &TestServer,
    headers: &[(&str, &str)],
    method: &str,
    params: &Value,
) -> Response {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let headers: Vec<_> =
        [("Accept", "application/json")].into_iter().chain(headers.to_vec()).collect();
    post(server, "/ucp/mcp", &headers, &body.to_string())
}

/// The arguments of a tool.
fn arguments(catalog: &Value) -> Value {
    let agent = json!({"profile": "https://platform.example/.well-known/ucp"});
    json!({"meta": {"ucp-agent": agent}, "catalog": catalog})
}

fn call(server: &TestServer, tool: &str, arguments: &Value) -> Response {
    post_rpc(server, &[], "tools/call", &json!({"name": tool, "arguments": arguments}))
}

/// Compares the answer to a right request, which is the same over REST and MCP.
#[track_caller]
fn check(operation: &str, request: &Value, expected: Expect) {
    let server = start();
    let answer = post(&server, path(operation), &[], &request.to_string());
    schemas::check(operation, &answer.json());
    let over_mcp = call(&server, operation, &arguments(request)).json();
    let result = &over_mcp["result"];
    assert_eq!(result["structuredContent"], answer.json(), "{over_mcp}");
    assert_eq!(result["isError"], false);
    let shown: Value =
        tradepost_document::json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(shown, result["structuredContent"]);
    // The key of the signature is random.
    let cursor = answer.json()["pagination"]["cursor"].as_str().unwrap_or("(no cursor)").to_owned();
    expected.assert_eq(&answer.snapshot().replace(&cursor, "…"));
}

#[test]
fn the_profile_names_the_bindings_and_claims_no_checkout() {
    let server = start();
    let answer = get(&server, "/.well-known/ucp");
    schemas::check("profile", &answer.json());
    assert_eq!(answer.header("cache-control"), Some("public, max-age=300"));
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    expect![[r#"
        200
        {"ucp":{"version":"2026-04-08",
            "services":{"dev.ucp.shopping":[
                {"version":"2026-04-08","spec":"https://ucp.dev/2026-04-08/specification/overview","transport":"rest",
                  "schema":"https://ucp.dev/2026-04-08/services/shopping/rest.openapi.json","endpoint":"https://demo-toyota.example.com/ucp"},
                {"version":"2026-04-08","spec":"https://ucp.dev/2026-04-08/specification/overview","transport":"mcp",
                  "schema":"https://ucp.dev/2026-04-08/services/shopping/mcp.openrpc.json","endpoint":"https://demo-toyota.example.com/ucp/mcp"}]},
            "capabilities":{"dev.ucp.shopping.catalog.search":[
                {"version":"2026-04-08","spec":"https://ucp.dev/2026-04-08/specification/catalog/search",
                  "schema":"https://ucp.dev/2026-04-08/schemas/shopping/catalog_search.json"}],
              "dev.ucp.shopping.catalog.lookup":[
                {"version":"2026-04-08","spec":"https://ucp.dev/2026-04-08/specification/catalog/lookup",
                  "schema":"https://ucp.dev/2026-04-08/schemas/shopping/catalog_lookup.json"}]},"payment_handlers":{}},
          "org.autoagentprotocol.lead":{"content":"Nothing is sold by UCP here; there is no checkout. To contact the dealer, call the tool aap_lead_submit at https://demo-toyota.example.com/mcp (MCP), or send lead.submit of the Auto Agent Protocol to the agent of https://demo-toyota.example.com/.well-known/agent-card.json (A2A).",
            "agent_card":"https://demo-toyota.example.com/.well-known/agent-card.json","mcp":"https://demo-toyota.example.com/mcp"}}
    "#]].assert_eq(&answer.snapshot());
}

#[test]
fn a_search_finds_products_with_a_price() {
    check(
        "search_catalog",
        &json!({"query": "honda", "pagination": {"limit": 1}}),
        expect![[r#"
            200
            {"ucp":{"version":"2026-04-08","status":"success","capabilities":{"dev.ucp.shopping.catalog.search":[{"version":"2026-04-08"}]}},
              "products":[
                {"id":"veh_dt_2611","title":"2024 Honda CR-V EX-L","description":{"plain":"2024 Honda CR-V EX-L, used, 14820 miles"},
                  "categories":[{"value":"suv","taxonomy":"merchant"}],
                  "price_range":{"min":{"amount":3299500,"currency":"USD"},"max":{"amount":3299500,"currency":"USD"}},
                  "variants":[
                    {"id":"veh_dt_2611","sku":"DT-2611","barcodes":[{"type":"VIN","value":"1HGCY2F57RA000001"}],"title":"2024 Honda CR-V EX-L",
                      "description":{"plain":"2024 Honda CR-V EX-L, used, 14820 miles"},"price":{"amount":3299500,"currency":"USD"},
                      "availability":{"available":true,"status":"in_stock"},"seller":{"name":"Demo Toyota San Francisco"}}],
                  "metadata":{"rooftop":"Demo Toyota San Francisco","year":2024,"make":"Honda","model":"CR-V","trim":"EX-L","condition":"used",
                    "status":"available","mileage":14820,"transmission":"automatic","driveline":"awd","fuel":"gas"}}],
              "pagination":{"cursor":"…","has_next_page":true,"total_count":2},
              "messages":[{"type":"info","code":"search_note","content":"2 vehicles match; the query was read as: make Honda."}]}
        "#]],
    );
}

#[test]
fn a_search_that_finds_nothing_says_nothing() {
    check(
        "search_catalog",
        &json!({"query": "ferrari", "filters": {"price": {"max": 100}}}),
        expect![[r#"
            200
            {"ucp":{"version":"2026-04-08","status":"success","capabilities":{"dev.ucp.shopping.catalog.search":[{"version":"2026-04-08"}]}},"products":[],
              "pagination":{"has_next_page":false,"total_count":0}}
        "#]],
    );
}

#[test]
fn what_was_not_applied_is_a_warning() {
    check(
        "search_catalog",
        &json!({"filters": {"maek": ["Honda"], "price": {"max": 1}}, "context": {"currency": "EUR"},
            "pagination": {"limit": 0x7fff_ffff}, "signals": {"com.example.x": {"a": 1}}, "extra": 1}),
        expect![[r#"
            200
            {"ucp":{"version":"2026-04-08","status":"success","capabilities":{"dev.ucp.shopping.catalog.search":[{"version":"2026-04-08"}]}},
              "products":[
                {"id":"veh_dt_2611","title":"2024 Honda CR-V EX-L","description":{"plain":"2024 Honda CR-V EX-L, used, 14820 miles"},
                  "categories":[{"value":"suv","taxonomy":"merchant"}],
                  "price_range":{"min":{"amount":3299500,"currency":"USD"},"max":{"amount":3299500,"currency":"USD"}},
                  "variants":[
                    {"id":"veh_dt_2611","sku":"DT-2611","barcodes":[{"type":"VIN","value":"1HGCY2F57RA000001"}],"title":"2024 Honda CR-V EX-L",
                      "description":{"plain":"2024 Honda CR-V EX-L, used, 14820 miles"},"price":{"amount":3299500,"currency":"USD"},
                      "availability":{"available":true,"status":"in_stock"},"seller":{"name":"Demo Toyota San Francisco"}}],
                  "metadata":{"rooftop":"Demo Toyota San Francisco","year":2024,"make":"Honda","model":"CR-V","trim":"EX-L","condition":"used",
                    "status":"available","mileage":14820,"transmission":"automatic","driveline":"awd","fuel":"gas"}},
                {"id":"veh_ho_1002","title":"2022 Chevrolet Bolt EV","description":{"plain":"2022 Chevrolet Bolt EV, cpo"},
                  "categories":[{"value":"hatchback","taxonomy":"merchant"}],
                  "price_range":{"min":{"amount":1899000,"currency":"USD"},"max":{"amount":1899000,"currency":"USD"}},
                  "variants":[
                    {"id":"veh_ho_1002","sku":"HO-1002","barcodes":[{"type":"VIN","value":"1G1FY6S07N4100001"}],"title":"2022 Chevrolet Bolt EV",
                      "description":{"plain":"2022 Chevrolet Bolt EV, cpo"},"price":{"amount":1899000,"currency":"USD"},
                      "availability":{"available":false,"status":"out_of_stock"},"seller":{"name":"Demo Honda Oakland"}}],
                  "metadata":{"rooftop":"Demo Honda Oakland","year":2022,"make":"Chevrolet","model":"Bolt EV","condition":"cpo","status":"pending","fuel":"bev"}},
                {"id":"veh_dt_2451","title":"2023 Honda CR-V EX","description":{"plain":"2023 Honda CR-V EX, used, 28450 miles"},
                  "categories":[{"value":"suv","taxonomy":"merchant"}],
                  "price_range":{"min":{"amount":2949500,"currency":"USD"},"max":{"amount":2949500,"currency":"USD"}},
                  "variants":[
                    {"id":"veh_dt_2451","sku":"DT-2451","barcodes":[{"type":"VIN","value":"2HKRW2H89PH123456"}],"title":"2023 Honda CR-V EX",
                      "description":{"plain":"2023 Honda CR-V EX, used, 28450 miles"},"price":{"amount":2949500,"currency":"USD"},
                      "availability":{"available":true,"status":"in_stock"},"seller":{"name":"Demo Toyota San Francisco"}}],
                  "metadata":{"rooftop":"Demo Toyota San Francisco","year":2023,"make":"Honda","model":"CR-V","trim":"EX","condition":"used","status":"available",
                    "mileage":28450,"transmission":"automatic","driveline":"awd","fuel":"gas"}}],"pagination":{"has_next_page":false,"total_count":3},
              "messages":[
                {"type":"warning","code":"filter_ignored","path":"$.filters.maek",
                  "content":"this filter is not known here, and was not applied; did you mean \"make\"?"},
                {"type":"warning","code":"filter_ignored","path":"$.filters.price",
                  "content":"the price filter was not applied: all prices here are in USD, and no other currency is converted"}]}
        "#]],
    );
}

#[test]
fn a_lookup_says_which_identifier_led_where() {
    check(
        "lookup_catalog",
        &json!({"ids": ["DT-2451", "veh_dt_2451", "2hkrw2h89ph123456", "DT-2451", "nothing", SOLD_VIN, "veh_ho_1001"]}),
        expect![[r#"
            200
            {"ucp":{"version":"2026-04-08","status":"success","capabilities":{"dev.ucp.shopping.catalog.lookup":[{"version":"2026-04-08"}]}},
              "products":[
                {"id":"veh_dt_2451","title":"2023 Honda CR-V EX","description":{"plain":"2023 Honda CR-V EX, used, 28450 miles"},
                  "categories":[{"value":"suv","taxonomy":"merchant"}],
                  "price_range":{"min":{"amount":2949500,"currency":"USD"},"max":{"amount":2949500,"currency":"USD"}},
                  "variants":[
                    {"id":"veh_dt_2451","sku":"DT-2451","barcodes":[{"type":"VIN","value":"2HKRW2H89PH123456"}],"title":"2023 Honda CR-V EX",
                      "description":{"plain":"2023 Honda CR-V EX, used, 28450 miles"},"price":{"amount":2949500,"currency":"USD"},
                      "availability":{"available":true,"status":"in_stock"},"seller":{"name":"Demo Toyota San Francisco"},
                      "inputs":[{"id":"DT-2451","match":"exact"},{"id":"veh_dt_2451","match":"exact"},{"id":"2hkrw2h89ph123456","match":"exact"}]}],
                  "metadata":{"rooftop":"Demo Toyota San Francisco","year":2023,"make":"Honda","model":"CR-V","trim":"EX","condition":"used","status":"available",
                    "mileage":28450,"transmission":"automatic","driveline":"awd","fuel":"gas"}}],
              "messages":[
                {"type":"info","code":"not_found","content":"nothing"},
                {"type":"info","code":"item_unavailable","content":"5YJ3E1EA7KF000316: this vehicle is no longer on offer"},
                {"type":"info","code":"item_unavailable",
                  "content":"veh_ho_1001: the dealer names no price for this vehicle, and a product needs one; ask the dealer"}]}
        "#]],
    );
}

#[test]
fn a_product_has_everything_and_a_way_to_the_dealer() {
    check(
        "get_product",
        &json!({"id": "veh_dt_2611", "selected": [{"name": "Color", "label": "Red"}], "preferences": ["Color"]}),
        expect![[r#"
            200
            {"ucp":{"version":"2026-04-08","status":"success","capabilities":{"dev.ucp.shopping.catalog.lookup":[{"version":"2026-04-08"}]}},
              "product":{"id":"veh_dt_2611","title":"2024 Honda CR-V EX-L","description":{"plain":"2024 Honda CR-V EX-L, used, 14820 miles"},
                "categories":[{"value":"suv","taxonomy":"merchant"}],
                "price_range":{"min":{"amount":3299500,"currency":"USD"},"max":{"amount":3299500,"currency":"USD"}},
                "variants":[
                  {"id":"veh_dt_2611","sku":"DT-2611","barcodes":[{"type":"VIN","value":"1HGCY2F57RA000001"}],"title":"2024 Honda CR-V EX-L",
                    "description":{"plain":"2024 Honda CR-V EX-L, used, 14820 miles"},"price":{"amount":3299500,"currency":"USD"},
                    "availability":{"available":true,"status":"in_stock"},"seller":{"name":"Demo Toyota San Francisco"}}],
                "metadata":{"dealer_id":"demo-auto-group","vin":"1HGCY2F57RA000001","stock":"DT-2611","rooftop":"Demo Toyota San Francisco","year":2024,
                  "make":"Honda","model":"CR-V","trim":"EX-L","condition":"used","status":"available","msrp":35450,"list_price":31495,"price":32995,
                  "mileage":14820,"transmission":"automatic","driveline":"awd","fuel":"gas","updated_at":"2026-04-30T08:42:00Z"}},
              "messages":[
                {"type":"info","code":"contact_dealer",
                  "content":"Nothing is sold by UCP here; there is no checkout. To contact the dealer, call the tool aap_lead_submit at https://demo-toyota.example.com/mcp (MCP), or send lead.submit of the Auto Agent Protocol to the agent of https://demo-toyota.example.com/.well-known/agent-card.json (A2A)."}]}
        "#]],
    );
}

#[test]
fn a_product_that_cannot_be_shown_is_an_outcome() {
    let server = start();
    let mut out = String::new();
    for (name, request) in [
        ("unknown", json!({"id": "veh_none"})),
        ("sold", json!({"id": SOLD_VIN})),
        ("without a price", json!({"id": "HO-1001"})),
        ("filtered", json!({"id": "DT-2451", "filters": {"price": {"max": 1_000_000}}})),
    ] {
        let answer = post(&server, path("get_product"), &[], &request.to_string());
        schemas::check("get_product", &answer.json());
        let over_mcp = call(&server, "get_product", &arguments(&request)).json();
        assert_eq!(over_mcp["result"]["structuredContent"], answer.json());
        out.push_str(&format!("{name}: {} {}\n", answer.status, answer.json()));
    }
    expect![[r#"
        unknown: 200 {"ucp":{"version":"2026-04-08","status":"error","capabilities":{"dev.ucp.shopping.catalog.lookup":[{"version":"2026-04-08"}]}},"messages":[{"type":"error","code":"not_found","content":"no vehicle has this identifier: veh_none","severity":"unrecoverable"}]}
        sold: 200 {"ucp":{"version":"2026-04-08","status":"error","capabilities":{"dev.ucp.shopping.catalog.lookup":[{"version":"2026-04-08"}]}},"messages":[{"type":"error","code":"item_unavailable","content":"this vehicle is no longer on offer","severity":"unrecoverable"}]}
        without a price: 200 {"ucp":{"version":"2026-04-08","status":"error","capabilities":{"dev.ucp.shopping.catalog.lookup":[{"version":"2026-04-08"}]}},"messages":[{"type":"error","code":"item_unavailable","content":"the dealer names no price for this vehicle, and a product needs one; ask the dealer","severity":"unrecoverable"}]}
        filtered: 200 {"ucp":{"version":"2026-04-08","status":"error","capabilities":{"dev.ucp.shopping.catalog.lookup":[{"version":"2026-04-08"}]}},"messages":[{"type":"error","code":"not_found","content":"the product does not match the filters","severity":"unrecoverable"}]}
    "#]].assert_eq(&out);
}

/// The ids of an answer's products.
fn ids(answer: &Value) -> Vec<&str> {
    let products = answer["products"].as_array().unwrap();
    products.iter().map(|product| product["id"].as_str().unwrap()).collect()
}

#[test]
fn filters_narrow_searches_and_lookups_alike() {
    let server = start();
    let all = ["veh_dt_2451", "veh_dt_2611", "veh_ho_1002", "veh_ho_1001"];
    for (filters, expected) in [
        (json!({"categories": ["SUV"]}), vec!["veh_dt_2451", "veh_dt_2611"]),
        (json!({"categories": ["boat"]}), vec![]),
        (json!({"categories": ["boat", "hatchback"]}), vec!["veh_ho_1002"]),
        (json!({"price": {"min": 2_949_501}}), vec!["veh_dt_2611"]),
        (json!({"price": {"max": 2_949_500}}), vec!["veh_dt_2451", "veh_ho_1002"]),
        (json!({"price": {"max": 2_949_499}}), vec!["veh_ho_1002"]),
        (json!({"price": {"min": 5, "max": 1}}), vec![]),
        (json!({"condition": ["used"], "mileage_max": 20_000}), vec!["veh_dt_2611"]),
        (json!({"stock": "HO-1002"}), vec!["veh_ho_1002"]),
    ] {
        let found = ask(&server, "search_catalog", &json!({"filters": filters}));
        let mut found = ids(&found);
        found.sort_unstable();
        assert_eq!(found, expected, "{filters}");
        let found = ask(&server, "lookup_catalog", &json!({"ids": all, "filters": filters}));
        assert_eq!(ids(&found), expected, "{filters}");
        for id in all {
            let found = ask(&server, "get_product", &json!({"id": id, "filters": filters}));
            assert_eq!(found["product"]["id"] == id, expected.contains(&id), "{id} {filters}");
        }
    }
}

#[test]
fn a_cursor_leads_through_one_search_alone() {
    let server = start();
    let search = |filters: &Value, cursor: Option<&Value>| {
        let mut page = json!({"limit": 2});
        if let Some(cursor) = cursor {
            page["cursor"] = cursor.clone();
        }
        json!({"filters": filters, "pagination": page})
    };
    let every = json!({"price": {"min": 0}});
    let first = ask(&server, "search_catalog", &search(&every, None));
    let cursor = &first["pagination"]["cursor"];
    assert_eq!(first["pagination"]["total_count"], 3, "vehicles without a price are no products");
    assert_eq!(first["pagination"]["has_next_page"], true);
    let second = ask(&server, "search_catalog", &search(&every, Some(cursor)));
    assert_eq!(second["pagination"], json!({"has_next_page": false, "total_count": 3}));
    let mut all = [ids(&first), ids(&second)].concat();
    all.sort_unstable();
    assert_eq!(all, ["veh_dt_2451", "veh_dt_2611", "veh_ho_1002"]);
    let other = json!({"price": {"min": 1}});
    for (filters, cursor) in
        [(&other, cursor), (&every, &json!("2")), (&every, &json!("")), (&every, &json!("é.9"))]
    {
        let refused =
            post(&server, path("search_catalog"), &[], &search(filters, Some(cursor)).to_string());
        assert_eq!(refused.status, 400, "{cursor}");
        assert_eq!(refused.json()["messages"][0]["path"], "$.pagination.cursor");
    }
}

#[test]
fn pages_are_no_longer_than_the_dealer_permits() {
    let server = start_with(|config| config.dealers[0].terms.search.max_limit = 2);
    for (limit, expected) in [(json!({}), 2), (json!({"limit": 1}), 1), (json!({"limit": 50}), 2)] {
        let found = ask(
            &server,
            "search_catalog",
            &json!({"filters": {"price": {"min": 0}}, "pagination": limit}),
        );
        assert_eq!(ids(&found).len(), expected, "{limit}");
    }
}

#[test]
fn a_catalog_never_shows_a_dealers_own_vehicle_twice() {
    let server = start();
    let found =
        ask(&server, "lookup_catalog", &json!({"ids": ["veh_dt_2611", "veh_dt_2451", "DT-2611"]}));
    assert_eq!(ids(&found), ["veh_dt_2611", "veh_dt_2451"]);
    let inputs = &found["products"][0]["variants"][0]["inputs"];
    let expected =
        json!([{"id": "veh_dt_2611", "match": "exact"}, {"id": "DT-2611", "match": "exact"}]);
    assert_eq!(*inputs, expected);
}
