//! The schemas of the tools: what they look like, that they accept what the bridge accepts, and that they say nothing in
//! words that some provider of models does not know.

use std::fmt::Write as _;

use expect_test::expect;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};
use tradepost_document::json::{Value, json};

use crate::{CLOSED_ADDRESS, bridge};

#[path = "../../../../protocol/tests/tests/it/mutate.rs"]
#[expect(clippy::wildcard_enum_match_arm, reason = "it looks at JSON of any kind")]
mod mutate;

/// Arguments of each tool with every member, for two dealers.
fn rich() -> Vec<(&'static str, Value)> {
    let filters = json!({
        "make": ["Honda"], "model": ["CR-V"], "condition": ["new", "used"], "year_min": 2019,
        "year_max": 2025.0, "price_max": 40000, "vin": "1HGCV1F30NA123456", "query": "hybrid",
    });
    let vehicle = |condition: &str| {
        json!({"vin": "1HGCV1F30NA123456", "stock": "S", "year": 2024, "make": "Honda",
               "condition": condition, "mileage": 12, "rooftop": null,
               "updated_at": "2026-04-30T11:05:00Z", "anything": [{"else": true}]})
    };
    vec![
        (
            "aap_dealer_information",
            json!({"type": "dealer.information.request", "dealers": [CLOSED_ADDRESS]}),
        ),
        ("aap_inventory_facets", json!({"dealers": [CLOSED_ADDRESS], "filters": filters})),
        (
            "aap_inventory_search",
            json!({"dealers": [CLOSED_ADDRESS], "filters": filters,
                   "pagination": {"skip": 0, "limit": 50},
                   "sort": {"field": "price", "order": "asc"}}),
        ),
        (
            "aap_inventory_vehicle",
            json!({"dealer": CLOSED_ADDRESS, "vin": "1HGCV1F30NA123456", "stock": "S",
                   "vehicle_id": "v"}),
        ),
        (
            "aap_lead_submit",
            json!({
                "dealer": CLOSED_ADDRESS,
                "customer": {"first_name": "Ada", "last_name": "L", "email": "ada@example.com",
                    "phone": "+14155550123", "preferred_contact": "any",
                    "address": {"city": "San Francisco", "zip": "94103"}},
                "consent": {"allowed_channels": ["email", "phone", "sms"]},
                "vehicle_of_interest": vehicle("cpo"), "trade_in": vehicle("fair"),
                "appointment": {"appointment_type": "test_drive", "duration_minutes": 15,
                    "appointment_at": "2026-05-03T11:00:00-07:00", "notes": ""},
                "message": "hello", "confirmation": "x", "consent_shown_to_user": true,
            }),
        ),
    ]
}

#[test]
fn the_schemas_accept_what_the_bridge_accepts() {
    let (bridge, _) = bridge(&[CLOSED_ADDRESS, "127.0.0.1:2"]);
    let tools = bridge.tools();
    let validators: Vec<_> = tools
        .iter()
        .map(|tool| {
            let schema = &tool.input_schema;
            jsonschema::validator_for(&schema.into()).unwrap()
        })
        .collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let compare = |index: usize, arguments: &Value| {
        let accepted = validators[index].is_valid(&arguments.into());
        let outcome = runtime.block_on(bridge.call(&tools[index].name, arguments)).unwrap();
        let output = tools[index].output_schema.as_ref().unwrap();
        assert!(
            jsonschema::is_valid(&output.into(), &(&outcome.document).into()),
            "{}",
            outcome.document
        );
        let refused = outcome.document["code"] == "INVALID_ARGUMENTS";
        // The bridge is stricter than what models are shown, and never more than that: what it accepts as it was
        // written fits the schema. A rooftop that is null is shown as one that may be left out.
        let as_written = outcome.document.get("notes").is_none();
        let has_rooftop = arguments.to_string().contains(r#""rooftop":null"#);
        if !refused && as_written && !accepted && !has_rooftop {
            return Err(format!("the schema refuses, the bridge {}", outcome.text));
        }
        Ok(())
    };
    let rich = rich();
    for (index, (name, arguments)) in rich.iter().enumerate() {
        assert_eq!(tools[index].name, *name);
        assert_eq!(compare(index, arguments), Ok(()), "{name}");
    }
    let strategy = (0..rich.len(), mutate::mutations());
    let config = Config {
        cases: 1_000,
        rng_seed: RngSeed::Fixed(20_260_501),
        failure_persistence: None,
        ..Config::default()
    };
    let result = TestRunner::new(config).run(&strategy, |(index, mutations)| {
        let mut arguments = rich[index].1.clone();
        mutations.iter().for_each(|mutation| mutate::apply(&mut arguments, mutation));
        compare(index, &arguments)
            .map_err(|reason| TestCaseError::fail(format!("{reason}\n{arguments}")))
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
}

#[test]
fn the_tools_are_what_clients_expect_of_tools() {
    let (bridge, _) = bridge(&["one.example", "two.example"]);
    let mut out = String::new();
    for tool in bridge.tools() {
        let schema = &tool.input_schema;
        // `C-46`: everything inline, and nothing at the top that providers refuse.
        assert_eq!(schema["type"], "object");
        for keyword in ["anyOf", "oneOf", "allOf", "not", "$ref", "$defs"] {
            assert_eq!(schema.get(keyword), None, "{}", tool.name);
        }
        assert_eq!(tool.output_schema.as_ref().unwrap()["type"], "object");
        let access = if tool.annotations.read_only == Some(true) { "reads" } else { "writes" };
        let members: Vec<_> = schema["properties"].as_object().unwrap().keys().cloned().collect();
        let required = schema.get("required").map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(out, "{} ({access}): {} {required}", tool.name, members.join(", "));
    }
    expect![[r#"
        aap_dealer_information (reads): dealers, type, names_only []
        aap_inventory_facets (reads): dealers, type, filters []
        aap_inventory_search (reads): dealers, type, filters, pagination, sort []
        aap_inventory_vehicle (reads): dealer, type, vin, stock, vehicle_id ["dealer"]
        aap_lead_submit (writes): dealer, type, customer, consent, vehicle_of_interest, trade_in, appointment, message, confirmation, conversation, consent_shown_to_user ["dealer","customer","consent"]
    "#]].assert_eq(&out);
}

/// Keywords that every model provider accepts.
const COMMON_KEYWORDS: [&str; 8] =
    ["type", "properties", "required", "items", "enum", "description", "minimum", "maximum"];

/// Adds the problems of a schema to `found`; `level` is 1 for the schema of all arguments.
fn schema_problems(schema: &Value, at: &str, level: usize, found: &mut Vec<String>) {
    for (keyword, value) in schema.as_object().unwrap() {
        if !COMMON_KEYWORDS.contains(&keyword.as_str()) {
            found.push(format!("{at}: {keyword}"));
        }
        if keyword == "enum" && !value.as_array().unwrap().iter().all(Value::is_string) {
            found.push(format!("{at}: an enum of something else than texts"));
        }
    }
    if !schema["type"].is_string() {
        found.push(format!("{at}: no single type"));
    }
    if level > 5 {
        found.push(format!("{at}: level {level}"));
    }
    if schema["type"] == "array" && !schema["items"].is_object() {
        found.push(format!("{at}: a list without items"));
    }
    if !at.contains(" gives") && schema["type"] == "object" && !schema["properties"].is_object() {
        found.push(format!("{at}: an object without properties"));
    }
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        schema_problems(member, &format!("{at}.{name}"), level + 1, found);
    }
    if schema["items"].is_object() {
        schema_problems(&schema["items"], &format!("{at}[]"), level + 1, found);
    }
}

#[test]
fn both_tool_lists_are_in_words_that_every_provider_takes() {
    let (bridge, _) = bridge(&["one.example", "two.example"]);
    let sellers = ["https://one.example/mcp", "https://two.example/mcp"];
    let bridge = bridge.with_sellers(sellers.map(|address| (address.to_owned(), None))).unwrap();
    let tools = bridge.tools();
    assert_eq!(tools.len(), 17);
    let mut found = Vec::new();
    for tool in &tools {
        schema_problems(&tool.input_schema, &tool.name, 1, &mut found);
        if let Some(output) = &tool.output_schema {
            schema_problems(output, &format!("{} gives", tool.name), 1, &mut found);
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn each_tool_says_when_to_use_it_and_what_returns() {
    let (bridge, _) = bridge(&["one.example"]);
    let sellers = [("https://one.example/mcp".to_owned(), None)];
    for tool in bridge.with_sellers(sellers).unwrap().tools() {
        for part in ["Use it ", "Do not use it ", "Returns "] {
            assert!(tool.description.contains(part), "{}: no {part}", tool.name);
        }
    }
}

#[test]
fn what_no_schema_shows_is_checked_all_the_same() {
    let (bridge, _) = bridge(&["one.example", "two.example"]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let customer = |member: &str, value: &str| {
        let mut customer = json!({"first_name": "A", "last_name": "B", "email": "a@b.example"});
        customer[member] = value.into();
        json!({"dealer": "one.example", "customer": customer, "consent": {"allowed_channels": ["email"]}})
    };
    for (tool, arguments, keyword) in [
        ("aap_inventory_search", json!({"dealers": ["one.example", "one.example"]}), "uniqueItems"),
        ("aap_inventory_search", json!({"limit": 5}), "additionalProperties"),
        ("aap_inventory_search", json!({"filters": {"query": "x".repeat(201)}}), "maxLength"),
        ("aap_inventory_vehicle", json!({"dealer": "one.example", "vin": "short"}), "pattern"),
        ("aap_inventory_vehicle", json!({"dealer": "one.example"}), "anyOf"),
        ("aap_lead_submit", customer("email", "nobody"), "format"),
        ("aap_lead_submit", customer("country", "x"), "additionalProperties"),
    ] {
        let outcome = runtime.block_on(bridge.call(tool, &arguments)).unwrap();
        let problems = outcome.document["problems"].as_array().unwrap();
        assert!(
            problems.iter().any(|problem| problem["keyword"] == keyword),
            "{keyword}: {problems:?}"
        );
    }
}
