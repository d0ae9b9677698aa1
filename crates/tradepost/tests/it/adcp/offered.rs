//! What a publisher offers over MCP: tools as a model reads them, and their whole schemas.

use expect_test::expect;
use tradepost_adcp::AdcpTool;
use tradepost_adcp::rules::{self, Internals};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};

use crate::support::models;
use crate::support::publisher::{Publisher, start};

/// How many bytes of a model's room the tools may take.
const MAX_LIST: usize = 42 * 1024;

fn ask(publisher: &Publisher, method: &str, params: &Value) -> Value {
    publisher.mcp("nobody", method, params).json()
}

fn tools(publisher: &Publisher) -> Vec<Value> {
    let listed = ask(publisher, "tools/list", &json!({}));
    listed["result"]["tools"].as_array().unwrap().clone()
}

#[test]
fn every_provider_of_models_takes_the_tools() {
    let tools = tools(&start());
    assert_eq!(tools.len(), AdcpTool::ALL.len());
    assert_eq!(tools.iter().map(models::unsupported_constructs).collect::<String>(), "");
}

#[test]
fn the_list_of_tools_is_small() {
    let publisher = start();
    let list = publisher.mcp("nobody", "tools/list", &json!({})).body;
    assert!(list.len() <= MAX_LIST, "{} bytes", list.len());
}

/// What would be refused with `UNSUPPORTED_FEATURE` (docs/publisher.md), and what hosts send and not
/// models, is not offered.
#[test]
fn nothing_is_offered_that_would_be_refused() {
    let tools = tools(&start());
    for (tool, members) in [
        ("get_products", &["catalog", "filters.keywords", "filters.metros", "filters.regions"][..]),
        (
            "get_products",
            &["filters.geo_proximity", "filters.postal_areas", "filters.trusted_match"],
        ),
        ("get_products", &["filters.signal_targeting", "filters.required_geo_targeting"]),
        ("create_media_buy", &["reporting_webhook", "artifact_webhook", "invoice_recipient"]),
        ("create_media_buy", &["packages[].catalogs", "packages[].creatives"]),
        ("create_media_buy", &["packages[].targeting_overlay.geo_proximity"]),
        ("update_media_buy", &["reporting_webhook", "invoice_recipient", "packages[].creatives"]),
        ("update_media_buy", &["packages[].catalogs", "new_packages[].creatives"]),
        ("list_creatives", &["filters.has_served"]),
        ("create_property_list", &["filters.countries_all", "filters.channels_any"]),
        ("update_property_list", &["webhook_url", "filters"]),
    ] {
        let schema = &tools.iter().find(|offered| offered["name"] == tool).unwrap()["inputSchema"];
        for path in members {
            let (parents, name) =
                path.rsplit_once('.').map_or((None, *path), |(p, n)| (Some(p), n));
            let mut at = schema;
            for parent in parents.into_iter().flat_map(|path| path.split('.')) {
                at = &at["properties"][parent.trim_end_matches("[]")];
                at = if parent.ends_with("[]") { &at["items"] } else { at };
            }
            let offered = at["properties"].as_object().unwrap();
            assert!(!offered.contains_key(name), "{tool} {path}");
        }
    }
    for tool in &tools {
        let offered = tool["inputSchema"]["properties"].as_object().unwrap();
        for name in ["context", "ext", "adcp_version", "push_notification_config"] {
            assert!(!offered.contains_key(name), "{tool} {name}");
        }
    }
}

/// A value that an outline permits: every member with something of its type.
fn filled(schema: &Value, name: &str) -> Value {
    match schema["type"].as_str().unwrap() {
        "object" => {
            let members = schema["properties"].as_object().unwrap();
            members.iter().map(|(name, schema)| (name.clone(), filled(schema, name))).collect()
        }
        "array" => json!([filled(&schema["items"], name)]),
        "boolean" => json!(true),
        "integer" => json!(20),
        "number" => json!(0.5),
        _ if schema["format"] == "date-time" => json!("2026-05-01T00:00:00Z"),
        _ => schema["enum"].get(0).cloned().unwrap_or_else(|| json!(name)),
    }
}

/// A request that has everything of an outline may break rules that it does not say, such as patterns
/// and which members exclude each other. It lacks nothing, and nothing in it has another type.
#[test]
fn outlines_say_of_types_and_names_what_rules_say() {
    for (tool, listed) in AdcpTool::ALL.iter().zip(tools(&start())) {
        let request = filled(&listed["inputSchema"], "");
        let Err(issues) = rules::check(*tool, &request, Internals::Off) else { continue };
        let wrong: Vec<_> = issues
            .listed()
            .iter()
            .filter(|issue| matches!(issue.keyword.as_str(), "type" | "required"))
            .map(|issue| format!("{tool} {} {}", issue.pointer, issue.message))
            .collect();
        assert_eq!(wrong, Vec::<String>::new());
    }
}

#[test]
fn the_whole_schema_of_a_tool_is_a_resource() {
    let publisher = start();
    let listed = ask(&publisher, "resources/list", &json!({}));
    let resources = listed["result"]["resources"].as_array().unwrap();
    let mut first = resources[0].clone();
    assert!(first["size"].as_u64().is_some_and(|size| size > 500), "{first}");
    first.as_object_mut().unwrap().shift_remove("size");
    expect![[r#"{"uri":"tradepost://schemas/get_adcp_capabilities","name":"get_adcp_capabilities","title":"Capabilities: what it takes","description":"The JSON Schema of everything that get_adcp_capabilities takes.","mimeType":"application/schema+json"}"#]]
    .assert_eq(&first.to_string());
    let names: Vec<_> =
        resources.iter().map(|resource| resource["name"].as_str().unwrap()).collect();
    assert_eq!(names, AdcpTool::NAMES);
    for (tool, resource) in AdcpTool::ALL.iter().zip(resources) {
        let read = ask(&publisher, "resources/read", &json!({"uri": resource["uri"]}));
        let contents = &read["result"]["contents"];
        assert_eq!(contents.as_array().map(Vec::len), Some(1), "{read}");
        assert_eq!(contents[0]["uri"], resource["uri"]);
        let text = contents[0]["text"].as_str().unwrap();
        assert_eq!(resource["size"], text.len());
        let schema: Value = tradepost_document::json::from_str(text).unwrap();
        assert_eq!(schema, rules::json_schema(*tool));
        assert!(jsonschema::validator_for(&(&schema).into()).is_ok(), "{tool}");
    }
    let templates = ask(&publisher, "resources/templates/list", &json!({}));
    assert_eq!(templates["result"], json!({"resourceTemplates": []}));
}

#[test]
fn a_resource_that_is_not_there_is_refused() {
    let publisher = start();
    let read = |params: &Value| publisher.mcp("nobody", "resources/read", params).snapshot();
    expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"there is no such resource; resources/list names those there are"}}
    "#]].assert_eq(&read(&json!({"uri": "tradepost://schemas/nothing"})));
    expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"uri must be the address of a resource"}}
    "#]].assert_eq(&read(&json!({"uri": 5})));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let later = |uri: &str, named: &str| {
        let params = json!({"uri": uri, "_meta": meta});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params});
        let version = ("MCP-Protocol-Version", "2026-07-28");
        let headers = [version, ("Mcp-Method", "resources/read"), ("Mcp-Name", named)];
        publisher.post("nobody", "/mcp", &headers, &body.to_string())
    };
    let nothing = "tradepost://schemas/nothing";
    expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"there is no such resource; resources/list names those there are"}}
    "#]].assert_eq(&later(nothing, nothing).snapshot());
    expect![[r#"
        400
        {"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"the Mcp-Name header must be the uri in the body"}}
    "#]].assert_eq(&later(nothing, "tradepost://schemas/else").snapshot());
    let there = "tradepost://schemas/list_accounts";
    let read = later(there, there).json();
    assert_eq!(read["result"]["resultType"], "complete", "{read}");
    assert_eq!(read["result"]["ttlMs"], 300_000);
}
