//! The schemas of the tools: what they look like, and that they accept what the bridge accepts.

use std::fmt::Write as _;

use expect_test::expect;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};
use tradepost_wire::json::{Value, json};

use crate::{AWAY, bridge};

#[path = "../../../wire/tests/it/mutate.rs"]
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
            json!({"type": "dealer.information.request", "dealers": [AWAY]}),
        ),
        ("aap_inventory_facets", json!({"dealers": [AWAY], "filters": filters})),
        (
            "aap_inventory_search",
            json!({"dealers": [AWAY], "filters": filters, "pagination": {"skip": 0, "limit": 50},
                   "sort": {"field": "price", "order": "asc"}}),
        ),
        (
            "aap_inventory_vehicle",
            json!({"dealer": AWAY, "vin": "1HGCV1F30NA123456", "stock": "S", "vehicle_id": "v"}),
        ),
        (
            "aap_lead_submit",
            json!({
                "dealer": AWAY,
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

/// What the schema cannot say: see `docs/mcp.md`.
fn is_beyond_the_schema(problems: &[Value], arguments: &Value) -> bool {
    problems.iter().all(|problem| {
        let field = problem["field"].as_str().unwrap();
        match problem["keyword"].as_str().unwrap() {
            // One of three identifiers: some model providers take no alternatives at the top.
            "anyOf" => field.is_empty(),
            // Channels and contacts, confirmation and consent.
            "const" => field != "/type",
            // What the schema permits may still be too large to be kept (C-51).
            "maxLength" | "maxItems" => {
                let size = match arguments.pointer(field).unwrap() {
                    Value::String(text) => text.chars().count(),
                    Value::Array(items) => items.len(),
                    Value::Object(members) => members.len(),
                    other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => {
                        other.to_string().len()
                    }
                };
                problem["limit"].as_u64().is_some_and(|limit| size as u64 > limit)
            }
            _ => false,
        }
    })
}

#[test]
fn the_schemas_accept_what_the_bridge_accepts() {
    let (bridge, _) = bridge(&[AWAY, "127.0.0.1:2"]);
    let tools = bridge.tools();
    let validators: Vec<_> = tools
        .iter()
        .map(|tool| {
            let schema = &tool.input_schema;
            let options = jsonschema::options().should_validate_formats(true);
            // What is an e-mail address is compared in the wire's own tests.
            let email = |text: &str| tradepost_wire::format::is_email(text);
            options.with_format("email", email).build(&schema.into()).unwrap()
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
        let problems = outcome.document["problems"].as_array().unwrap();
        if accepted == refused && !(accepted && is_beyond_the_schema(problems, arguments)) {
            return Err(format!("the schema says {accepted}, the bridge {}", outcome.text));
        }
        Ok(())
    };
    let rich = rich();
    for (index, (name, arguments)) in rich.iter().enumerate() {
        assert_eq!(tools[index].name, *name);
        assert_eq!(compare(index, arguments), Ok(()), "{name}");
        assert!(validators[index].is_valid(&arguments.into()), "{name}");
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
        assert_eq!(schema["additionalProperties"], false);
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
        aap_dealer_information (reads): dealers, type 
        aap_inventory_facets (reads): dealers, type, filters 
        aap_inventory_search (reads): dealers, type, filters, pagination, sort 
        aap_inventory_vehicle (reads): dealer, type, vin, stock, vehicle_id ["dealer"]
        aap_lead_submit (writes): dealer, type, customer, consent, vehicle_of_interest, trade_in, appointment, message, confirmation, conversation, consent_shown_to_user ["dealer","customer","consent"]
    "#]].assert_eq(&out);
}
