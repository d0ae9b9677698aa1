//! `tradepost mcp`: the real binary on standard input and output and over HTTP, in front of the
//! demo dealer and of dealers that are away, broken or hostile.

use client::Client;
use tradepost_document::json::{Value, json};

use crate::process::Process;
use crate::support::models;

pub mod client;
mod http;

/// That of the fictional publisher for one of its buyer agents, which is no secret.
const DEMO_CREDENTIAL: &str = "demo-acme-outdoor-v1";

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
fn a_client_completes_search_detail_and_a_consented_lead() {
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
    for (arguments, count) in [
        (&["one.example"][..], 5),
        (&["one.example", "two.example"][..], 5),
        (&["--adcp", "one.example"][..], 12),
        (&["one.example", "--adcp", "two.example", "--adcp", "three.example"][..], 17),
    ] {
        let listed = Client::start(arguments).rpc("tools/list", None);
        let tools = listed["result"]["tools"].as_array().unwrap();
        assert_eq!(tools.len(), count);
        assert_eq!(tools.iter().map(models::unsupported_constructs).collect::<String>(), "");
    }
}

#[test]
fn a_media_buyer_buys_what_the_person_agreed_to() {
    let folder = tempfile::tempdir().unwrap();
    let publisher = Process::start(folder.path(), &["--demo-publisher", "--listen", "127.0.0.1:0"]);
    let address = publisher.address.to_string();
    let mut client = Client::start_with(&["--adcp", &address], DEMO_CREDENTIAL);
    let agreed = |arguments: &Value, first: &Value| {
        let confirmation = &first["confirmation"];
        with(arguments.clone(), json!({"confirmation": confirmation, "user_has_agreed": true}))
    };
    let brief = json!({"buying_mode": "brief", "brief": "banners beside hiking stories"});
    let found = client.ok("adcp_get_products", brief);
    let product = &found["results"][0]["data"]["products"][0];
    let price = &product["pricing_options"][0];
    let product = &product["product_id"];
    let accounts = json!({"accounts": [{"brand": {"domain": "acme-outdoor.example"},
        "operator": "acme-outdoor.example", "billing": "operator"}]});
    let first = client.ok("adcp_sync_accounts", accounts.clone());
    let opened = client.ok("adcp_sync_accounts", agreed(&accounts, &first));
    let account = &opened["data"]["accounts"][0]["account_id"];
    let order = json!({"account": {"account_id": account},
        "brand": {"domain": "acme-outdoor.example"}, "start_time": "asap",
        "end_time": "2099-01-31T00:00:00Z", "packages": [{"product_id": product, "budget": 2500,
        "bid_price": 9, "pricing_option_id": price["pricing_option_id"]}]});
    let first = client.ok("adcp_create_media_buy", order.clone());
    assert_eq!(first["status"], "confirmation_required");
    let spends = format!("It spends up to 2,500 {}.", price["currency"].as_str().unwrap());
    assert!(first["question"].as_str().unwrap().contains(&spends), "{first}");
    let bought = client.ok("adcp_create_media_buy", agreed(&order, &first));
    let again = client.ok("adcp_create_media_buy", agreed(&order, &first));
    assert_eq!(bought["data"]["media_buy_id"], again["data"]["media_buy_id"]);
    let mine = json!({"account": {"account_id": account},
        "media_buy_ids": [bought["data"]["media_buy_id"]]});
    let buys = client.ok("adcp_get_media_buys", mine);
    assert_eq!(buys["data"]["media_buys"][0]["total_budget"], 2500);
    let (_, log) = client.end();
    assert!(!log.contains(DEMO_CREDENTIAL), "{log}");
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
fn empty_answers_and_queries_come_with_the_dealers_words() {
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
fn a_search_says_how_each_dealer_read_the_query() {
    let demo = Demo::start();
    let mut client = Client::start(&[&demo.name()]);
    let filters = json!({"query": "cheapest white toyota under 40k"});
    let page = client.ok("aap_inventory_search", json!({"filters": filters}));
    let reading = &page["dealers"][0]["query_reading"];
    assert_eq!(reading["filters"]["make"], json!(["Toyota"]), "{reading}");
    assert_eq!(reading["sort"]["order"], "asc", "{reading}");
    let again = client.ok("aap_inventory_search", reading.clone());
    assert_eq!(again["data"]["vehicles"], page["data"]["vehicles"], "{reading}");
}

#[test]
fn a_directory_down_ends_neither_start_nor_search() {
    let demo = Demo::start();
    let down = "http://127.0.0.1:1/.well-known/api-catalog";
    let mut client = Client::start(&[&demo.name(), down]);
    let page = client.ok("aap_inventory_search", json!({"pagination": {"limit": 1}}));
    assert_eq!(page["data"]["vehicles"].as_array().unwrap().len(), 1);
    let error = &page["errors"][0];
    assert_eq!(
        (&error["code"], &error["directory"]),
        (&json!("DIRECTORY_UNREADABLE"), &json!("127.0.0.1:1/.well-known/api-catalog"))
    );
    let (status, log) = client.end();
    assert!(status.success() && log.contains("DIRECTORY_UNREADABLE"), "{log}");
}

#[test]
fn by_form_alone_nothing_is_sent_without_forms() {
    let demo = Demo::start();
    for form in [&["--ask", "form"][..], &["--require-elicitation"]] {
        let name = demo.name();
        let mut client = Client::start(&[&[name.as_str()], form].concat());
        let refused = client.tool("aap_lead_submit", lead());
        assert_eq!(refused["structuredContent"]["code"], "ELICITATION_REQUIRED", "{refused}");
    }
    let name = demo.name();
    let mut client = Client::start(&[&name, "--ask", "confirm"]);
    let first = client.ok("aap_lead_submit", lead());
    assert_eq!(first["status"], "confirmation_required");
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
        (&["https://one.example/.well-known/api-catalog"], "secret", "there is a directory"),
        (&["one.example", "--person-timeout", "1800"], "", "--person-timeout"),
        (&["one.example", "--ask", "never"], "", "form, confirm, auto"),
        (&["one.example", "--ask", "auto", "--require-elicitation"], "", "--require-elicitation"),
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
