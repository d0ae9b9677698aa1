//! `tradepost mcp`: the real binary on standard input and output and over HTTP, in front of the
//! demo dealer and of dealers that are away, broken or hostile.

use client::Client;
use tradepost_wire::json::{Value, json};

use crate::process::Process;
use crate::support::models;

mod client;
mod http;

struct Demo {
    process: Process,
    _folder: tempfile::TempDir,
}

impl Demo {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let demo = ["--demo", "--demo-size", "30", "--listen", "127.0.0.1:0"];
        Self { process: Process::start(folder.path(), &demo), _folder: folder }
    }

    fn name(&self) -> String {
        self.process.address.to_string()
    }
}

fn lead() -> Value {
    json!({
        "customer": {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@buyer.example"},
        "consent": {"allowed_channels": ["email"]}, "message": "Is it still there?",
    })
}

fn with(mut arguments: Value, more: Value) -> Value {
    let Value::Object(more) = more else { panic!("{more}") };
    arguments.as_object_mut().unwrap().extend(more);
    arguments
}

fn confirmed(arguments: Value, first: &Value) -> Value {
    let confirmation = first["confirmation"].clone();
    with(arguments, json!({"confirmation": confirmation, "consent_shown_to_user": true}))
}

#[test]
fn a_client_lists_the_tools_and_completes_search_detail_and_a_consented_lead() {
    let demo = Demo::start();
    let mut client = Client::start(&[&demo.name()]);
    let names: Vec<_> = client.rpc("tools/list", None)["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        names,
        [
            "aap_dealer_information",
            "aap_inventory_facets",
            "aap_inventory_search",
            "aap_inventory_vehicle",
            "aap_lead_submit"
        ]
    );

    let about = client.ok("aap_dealer_information", json!({}));
    assert_eq!(about["dealers"][0]["data"]["name"], "Larkspur Motors");
    assert_eq!(about["dealers"][0]["aap_versions"], json!(["1.1", "1.0"]));
    let facets = client.ok("aap_inventory_facets", json!({"filters": {"condition": ["new"]}}));
    assert_eq!(facets["data"]["conditions"][0]["value"], "new");

    let search = json!({"sort": {"field": "price", "order": "asc"}, "pagination": {"limit": 3}});
    let page = client.ok("aap_inventory_search", search);
    assert_eq!((&page["data"]["total"], &page["next_skip"]), (&json!(30), &json!(3)));
    let vehicles = page["data"]["vehicles"].as_array().unwrap();
    let prices: Vec<_> = vehicles.iter().map(|vehicle| vehicle["price"].as_u64()).collect();
    assert!(prices.len() == 3 && prices.is_sorted(), "{prices:?}");
    let chosen = &vehicles[0];
    assert_eq!(chosen["dealer"], json!(demo.name()));

    let detail = client.ok("aap_inventory_vehicle", json!({"vin": chosen["vin"]}));
    assert_eq!(detail["data"]["stock"], chosen["stock"]);
    assert_eq!(detail["type"], "inventory.vehicle.response");

    let lead = with(lead(), json!({"vehicle_of_interest": {"vin": chosen["vin"]}}));
    let first = client.ok("aap_lead_submit", lead.clone());
    assert_eq!(first["status"], "confirmation_required");
    let text = first["consent_text"].as_str().unwrap();
    let expected = format!(
        "I agree that the car dealer \"Larkspur Motors\" at {} receives my name, my e-mail address \
         ada@buyer.example and my message and may contact me by e-mail about my request (VIN {}). \
         I permit nothing else.",
        demo.name(),
        chosen["vin"].as_str().unwrap()
    );
    assert_eq!(text, expected);
    let second = client.ok("aap_lead_submit", confirmed(lead.clone(), &first));
    assert_eq!(
        (&second["status"], &second["data"]["status"]),
        (&json!("sent"), &json!("received"))
    );
    assert_eq!(second["consent"]["consent_text"], text);
    // Once more: the dealer replays the first answer (`R-LD-14`).
    let same = lead.clone();
    let third = client.ok("aap_lead_submit", confirmed(lead, &first));
    assert_eq!(third["data"]["lead_id"], second["data"]["lead_id"]);
    assert_eq!(third["consent"]["granted_at"], second["consent"]["granted_at"]);
    // In the conversation of the receipt it is the same customer, and otherwise anybody (C-19).
    for (more, status) in [
        (json!({"message": "And again.", "conversation": second["conversation"]}), "duplicate"),
        (json!({"message": "And once more."}), "received"),
    ] {
        let lead = with(same.clone(), more);
        let first = client.ok("aap_lead_submit", lead.clone());
        let second = client.ok("aap_lead_submit", confirmed(lead, &first));
        assert_eq!(second["data"]["status"], status);
    }
    let (status, log) = client.end();
    assert_eq!(status.code(), Some(0));
    assert!(!log.contains("buyer.example") && !log.contains("Lovelace"), "{log}");
}

#[test]
fn every_provider_of_models_takes_the_tools() {
    for dealers in [&["one.example"][..], &["one.example", "two.example"]] {
        let listed = Client::start(dealers).rpc("tools/list", None);
        let tools = listed["result"]["tools"].as_array().unwrap();
        assert_eq!(tools.len(), 5);
        assert_eq!(tools.iter().map(models::misfits).collect::<String>(), "");
    }
}

#[test]
fn the_words_of_a_dealer_keep_their_code() {
    let demo = Demo::start();
    let name = demo.name();
    let mut client = Client::start(&[&name]);
    let gone = json!({"vin": "1ZZZZZZZZZZZZZZZZ"});
    let result = client.tool("aap_inventory_vehicle", gone);
    assert_eq!(result["isError"], true);
    let error = &result["structuredContent"];
    assert_eq!(
        (&error["code"], &error["from"], &error["dealer"], &error["retryable"]),
        (&json!("VEHICLE_NOT_FOUND"), &json!("dealer"), &json!(name), &json!(false))
    );
    assert!(error["error_id"].as_str().is_some_and(|id| !id.is_empty()));
}

#[test]
fn an_empty_answer_and_a_query_come_with_what_the_dealer_says() {
    let demo = Demo::start();
    let mut client = Client::start(&[&demo.name()]);
    for tool in ["aap_inventory_search", "aap_inventory_facets"] {
        for (filters, expected) in [
            (json!({"make": ["Hundai"]}), "nearest: Hyundai ("),
            (json!({"query": "toyta"}), "\"toyta\" was read as Toyota"),
        ] {
            let result = client.tool(tool, json!({"filters": filters}));
            let message = result["structuredContent"]["dealers"][0]["message"].as_str().unwrap();
            let text = result["content"][0]["text"].as_str().unwrap();
            assert!(message.contains(expected), "{tool}: {message}");
            assert!(text.contains(expected), "{tool}: {text}");
        }
        let result = client.tool(tool, json!({}));
        assert!(result["structuredContent"]["dealers"][0].get("message").is_none(), "{result}");
    }
}

#[test]
fn requests_that_are_none_have_the_errors_of_mcp() {
    let mut client = Client::start(&["one.example"]);
    let mut code = |method: &str, params: Value| {
        client.rpc(method, Some(params))["error"]["code"].as_i64().unwrap()
    };
    assert_eq!(code("tools/call", json!({"name": "aap_buy", "arguments": {}})), -32602);
    assert_eq!(code("tools/call", json!({"name": 5})), -32602);
    assert_eq!(
        code("tools/call", json!({"name": "aap_inventory_search", "arguments": []})),
        -32602
    );
    assert_eq!(code("tools/sell", json!({})), -32601);
    // What is no JSON is passed over, and the conversation goes on.
    client.send("{\"jsonrpc\":");
    assert_eq!(client.rpc("ping", None)["result"], json!({}));
}

#[test]
fn a_command_line_that_makes_no_bridge_is_refused() {
    let run = |arguments: &[&str], token: &str| {
        std::process::Command::new(env!("CARGO_BIN_EXE_tradepost"))
            .arg("mcp")
            .args(arguments)
            .env("TRADEPOST_TOKEN", token)
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap()
    };
    for (arguments, token, said) in [
        (&[][..], "", "DEALER_URL"),
        (&["ftp://one.example"], "", "neither http nor https"),
        (&["one.example", "two.example"], "secret", "there are several dealers"),
        (&["one.example", "--allow-origin", "https://x.example"], "", "--http"),
        (&["one.example", "--http", "192.0.2.1:80"], "", "cannot listen on 192.0.2.1:80"),
        (&["one.example", "--log", "a=b=c"], "", "--log: "),
    ] {
        let output = run(arguments, token);
        let talk = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{arguments:?}");
        assert!(talk.contains(said) && !talk.contains("secret"), "{arguments:?}: {talk}");
        assert!(output.stdout.is_empty());
    }
    // A client that says nothing and leaves has had its wish.
    assert!(run(&["one.example"], "secret").status.success());
}
