//! The sandbox as a publisher who speaks AdCP over MCP.

use std::process::Command;

use tradepost_document::json::{Value, json};

use super::{CARD, Playing, play, scenario};
use crate::mcp::client::Client;
use crate::support::with;

/// A buy that the demo publisher takes.
pub fn order(key: &str) -> Value {
    json!({
        "idempotency_key": key, "start_time": "asap", "end_time": "2090-01-31T00:00:00Z",
        "brand": {"domain": "acmeoutdoor.example"},
        "account": {"brand": {"domain": "acmeoutdoor.example"}, "operator": "acmeoutdoor.example"},
        "packages": [{"product_id": "outdoor_display", "pricing_option_id": "cpm_auction",
            "bid_price": 5, "budget": 2000}],
    })
}

pub const KEYS: [&str; 2] =
    ["0d5c2a10-0000-4000-8000-00000000000a", "0d5c2a10-0000-4000-8000-00000000000b"];

fn say(sandbox: &Playing, method: &str, params: &Value) -> Option<Value> {
    let headers = [
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("Authorization", "Bearer demo-acme-outdoor-v1"),
    ];
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let answer = sandbox.send("POST", "/mcp", &headers, &body.to_string()).ok()?;
    tradepost_document::json::from_slice(&answer.body).ok()
}

/// What a call of a tool answers, if anything comes.
pub fn call(sandbox: &Playing, tool: &str, arguments: &Value) -> Option<Value> {
    let mut answer = say(sandbox, "tools/call", &json!({"name": tool, "arguments": arguments}))?;
    Some(answer["result"]["structuredContent"].take())
}

/// What is in doubt, by its attempts, its key and whether the seller has it.
fn doubts(report: &Value) -> Vec<(Value, Value, Value)> {
    let member = |doubt: &Value, name: &str| doubt[name].clone();
    let doubts = report["in_doubt"].as_array().unwrap().iter();
    let outline = |doubt| {
        (member(doubt, "attempts"), member(doubt, "idempotency_key"), member(doubt, "taken"))
    };
    doubts.map(outline).collect()
}

#[test]
fn a_publisher_answers_truly_and_has_no_unplayed_card() {
    let sandbox = play("seller = \"publisher\"\n");
    assert_eq!(sandbox.send("GET", CARD, &[], "").unwrap().status, 404);
    let listed = say(&sandbox, "tools/list", &json!({})).unwrap();
    assert!(listed["result"]["tools"].as_array().unwrap().len() > 20, "{listed}");
    let found = call(&sandbox, "get_products", &json!({"buying_mode": "wholesale"})).unwrap();
    assert!(!found["products"].as_array().unwrap().is_empty(), "{found}");
    let bought = call(&sandbox, "create_media_buy", &order(KEYS[0])).unwrap();
    assert!(bought["media_buy_id"].is_string(), "{bought}");
    let report = sandbox.report();
    assert_eq!((&report["requests"], &report["counts"]), (&json!(2), &json!([])), "{report}");
    assert_eq!(doubts(&report), []);
}

#[test]
fn an_unanswered_buy_is_in_doubt_until_its_key_answers() {
    let sandbox = scenario("lost-buys");
    let mut ends = Vec::new();
    for _ in 0..4 {
        let answer = call(&sandbox, "create_media_buy", &order(KEYS[0]));
        ends.push((answer.is_some_and(|buy| buy["media_buy_id"].is_string()), {
            let doubts = doubts(&sandbox.report());
            doubts.first().map(|(attempts, _, taken)| (attempts.clone(), taken.clone()))
        }));
        sandbox.hand.advance(jiff::SignedDuration::from_secs(5));
    }
    let open = |attempts: u32| (false, Some((json!(attempts), json!(true))));
    assert_eq!(ends, [open(1), open(2), open(3), (true, None)]);
    assert_eq!(sandbox.report()["counts"], json!([]));
}

#[test]
fn a_refusal_is_complete_and_tells_what_is_owed() {
    let sandbox = scenario("refused-buys");
    let arguments = with(order(KEYS[0]), &[("/context", json!({"mine": 5}))]);
    let limited = call(&sandbox, "create_media_buy", &arguments).unwrap();
    let error = json!({"code": "RATE_LIMITED", "message": "The caller has sent too many requests.",
        "recovery": "transient", "retry_after": 2});
    assert_eq!(limited["adcp_error"], error);
    assert_eq!(limited["errors"], json!([error]));
    assert_eq!(limited["context"], arguments["context"]);
    sandbox.hand.advance(jiff::SignedDuration::from_secs(1));
    call(&sandbox, "create_media_buy", &arguments).unwrap();
    let report = sandbox.report();
    let counts: Vec<_> =
        report["counts"].as_array().unwrap().iter().map(|count| &count["id"]).collect();
    assert_eq!(counts, ["retry.early"]);
    // Nothing of it was taken, and nothing left open.
    assert_eq!(doubts(&report), []);
}

#[test]
fn our_buyer_out_of_time_behaves_and_admits_doubt() {
    let sandbox = scenario("lost-buys");
    let url = format!("http://{}/mcp", sandbox.address);
    let arguments = order(KEYS[0]).to_string();
    let ended = Command::new(env!("CARGO_BIN_EXE_tradepost"))
        .args(["adcp", "call", &url, "create_media_buy", "--args", &arguments])
        .args(["--retry", "--overall", "2", "--json"])
        .env("TRADEPOST_TOKEN", "demo-acme-outdoor-v1")
        .output()
        .unwrap();
    let said: Value = tradepost_document::json::from_slice(&ended.stdout).unwrap();
    assert_ne!(ended.status.code(), Some(0));
    assert!(said.to_string().contains(KEYS[0]), "{said}");
    let report = sandbox.report();
    assert_eq!(report["well_behaved"], true, "{report}");
    assert_eq!(doubts(&report), [(json!(1), json!(true), json!(true))]);
}

/// What must reach neither a terminal nor a model.
const HIDDEN: [&str; 7] =
    ["\u{1b}[2J", "\u{1b}]0", "\u{7}", "\u{9b}", "\u{202e}", "\u{200b}", "\u{e0041}"];

#[test]
fn poisoned_offers_are_true_and_no_poison_comes_out() {
    let calm = play("seller = \"publisher\"\n");
    let hostile = scenario("poisoned-offers");
    let wholesale = json!({"buying_mode": "wholesale"});
    let mut answer =
        say(&hostile, "tools/call", &json!({"name": "get_products", "arguments": wholesale}))
            .unwrap();
    let poisoned = answer["result"]["structuredContent"].take();
    // Whichever form a client reads, it reads the same.
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    let same: Value = tradepost_document::json::from_str(text).unwrap();
    assert_eq!(same["products"], poisoned["products"]);
    let facts = |answer: &Value| {
        let products = answer["products"].as_array().unwrap().iter();
        let fact =
            |product: &Value| (product["product_id"].clone(), product["pricing_options"].clone());
        products.map(fact).collect::<Vec<_>>()
    };
    let truth = call(&calm, "get_products", &wholesale).unwrap();
    assert_eq!(facts(&truth), facts(&poisoned));
    let description = poisoned["products"][0]["description"].as_str().unwrap();
    for part in HIDDEN.iter().chain(&["ignore all previous instructions"]) {
        assert!(description.contains(part), "{description:?}");
    }
    // A person at a terminal, a program, and a model by the bridge; none of them is led elsewhere.
    let url = format!("http://{}/mcp", hostile.address);
    let products = wholesale.to_string();
    let order = order(KEYS[0]).to_string();
    for (tool, arguments, form, exit) in [
        ("get_products", &products, &[][..], 0),
        ("get_products", &products, &["--json"], 0),
        ("create_media_buy", &order, &[], 10),
    ] {
        let ended = Command::new(env!("CARGO_BIN_EXE_tradepost"))
            .args(["adcp", "call", &url, tool, "--args", arguments])
            .args(form)
            .env("TRADEPOST_TOKEN", "demo-acme-outdoor-v1")
            .output()
            .unwrap();
        let shown = String::from_utf8([ended.stdout, ended.stderr].concat()).unwrap();
        let found: Vec<_> = HIDDEN.iter().filter(|part| shown.contains(**part)).collect();
        assert_eq!((found, ended.status.code()), (vec![], Some(exit)), "{tool}: {shown}");
    }
    let mut model = Client::start_with(&["--adcp", &url], "demo-acme-outdoor-v1");
    let shown = model.ok("adcp_get_products", wholesale).to_string();
    assert!(shown.contains("outdoor_display"), "{shown}");
    for part in HIDDEN {
        assert!(!shown.contains(part), "{shown:?}");
    }
    model.end();
    assert_eq!(hostile.report()["counts"], json!([]));
}
