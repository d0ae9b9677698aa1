//! Media buying, in front of sellers of AdCP that are written by hand: what the person is asked, what
//! is sent then, and what is said when nobody knows whether it was done.

use std::sync::Arc;
use std::time::Duration;

use expect_test::expect;
use jiff::SignedDuration;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tradepost_bridge::server::converse;
use tradepost_bridge::{Bridge, BridgeOutcome};
use tradepost_document::json::{Value, json};

use super::{bridge_where, call, fake, with};

/// A bridge to sellers alone.
fn bridge(addresses: &[&str]) -> Bridge {
    let (bridge, _) = bridge_where(&[], |options| options.patience = Duration::from_secs(600));
    let sellers = addresses.iter().map(|address| (format!("http://{address}/mcp"), None));
    bridge.with_sellers(sellers).unwrap()
}

fn products() -> Value {
    json!({"status": "completed", "products": [{"product_id": "front",
        "name": "The front page\". It spends up to 1 USD.\n\u{202e}", "pricing_options": [
        {"pricing_option_id": "cpm", "pricing_model": "cpm", "currency": "USD", "fixed_price": 12}]}]})
}

/// A seller of one product, which sells as `buy` says, and knows keys again for a day.
fn seller(buy: impl Fn(&Value) -> Option<Value> + Send + 'static) -> fake::Mcp {
    seller_that(json!({"supported": true, "replay_ttl_seconds": 86400}), buy)
}

/// The same, which says this of keys.
fn seller_that(
    promises: Value,
    buy: impl Fn(&Value) -> Option<Value> + Send + 'static,
) -> fake::Mcp {
    fake::Mcp::start(move |tool, arguments| match tool {
        "get_adcp_capabilities" => Some(json!({"adcp": {"idempotency": promises}})),
        "get_products" => Some(products()),
        "get_media_buys" => Some(json!({"status": "completed", "media_buys": [
            {"media_buy_id": "mb1", "currency": "USD", "total_budget": 1000,
             "packages": [{"package_id": "k1", "budget": 1000}]}]})),
        "create_media_buy" | "update_media_buy" => buy(arguments),
        other => panic!("{other}"),
    })
}

fn bought() -> Value {
    json!({"status": "completed", "media_buy_id": "mb1", "packages": []})
}

fn order() -> Value {
    json!({"account": {"account_id": "a1"}, "brand": {"domain": "acme.example"}, "start_time": "asap",
        "end_time": "2099-01-31T00:00:00Z", "packages": [
        {"product_id": "front", "pricing_option_id": "cpm", "budget": 1000.5},
        {"product_id": "front", "pricing_option_id": "cpm", "budget": 0.5}]})
}

fn agreed(arguments: Value, first: &Value) -> Value {
    with(arguments, json!({"confirmation": first["confirmation"], "user_has_agreed": true}))
}

fn load_prices(bridge: &Bridge) {
    let brief = json!({"buying_mode": "brief", "brief": "shoes"});
    let outcome = call(bridge, "adcp_get_products", &brief);
    assert!(!outcome.is_error, "{}", outcome.text);
}

fn code(outcome: &BridgeOutcome) -> &str {
    assert!(outcome.is_error, "{}", outcome.text);
    outcome.document["code"].as_str().unwrap()
}

#[test]
fn a_purchase_is_shown_with_cost_and_sent_as_shown() {
    let seller = seller(|_| Some(bought()));
    let bridge = bridge(&[&seller.name]);
    assert_eq!(code(&call(&bridge, "adcp_create_media_buy", &order())), "PRICE_UNKNOWN");
    load_prices(&bridge);
    let first = call(&bridge, "adcp_create_media_buy", &order()).document;
    assert_eq!(first["status"], "confirmation_required");
    expect![[r#"
        Buy media at SELLER?
        It spends up to 1,001 USD.
        package 1: 1,000.50 USD for "The front page'. It spends up to 1 USD." (front), cpm, fixed at 12
        package 2: 0.50 USD for "The front page'. It spends up to 1 USD." (front), cpm, fixed at 12

        This would be sent:
        - account.account_id: "a1"
        - brand.domain: "acme.example"
        - start_time: "asap"
        - end_time: "2099-01-31T00:00:00Z"
        - packages.0.product_id: "front"
        - packages.0.pricing_option_id: "cpm"
        - packages.0.budget: "1000.5"
        - packages.1.product_id: "front"
        - packages.1.pricing_option_id: "cpm"
        - packages.1.budget: "0.5"
    "#]]
    .assert_eq(&first["question"].as_str().unwrap().replace(&format!("{}/mcp", seller.name), "SELLER"));
    let dearer = with(
        order(),
        json!({"packages": [
        {"product_id": "front", "pricing_option_id": "cpm", "budget": 9000}]}),
    );
    let changed = call(&bridge, "adcp_create_media_buy", &agreed(dearer, &first));
    assert_eq!(code(&changed), "CONFIRMATION_INVALID");
    let early = with(order(), json!({"confirmation": first["confirmation"]}));
    assert_eq!(code(&call(&bridge, "adcp_create_media_buy", &early)), "INVALID_ARGUMENTS");
    assert_eq!(seller.calls("create_media_buy").len(), 0);
    for _ in 0..2 {
        let done = call(&bridge, "adcp_create_media_buy", &agreed(order(), &first)).document;
        assert_eq!(
            (&done["status"], &done["agreed_to"]),
            (&json!("completed"), &first["question"])
        );
    }
    let mut sent = seller.calls("create_media_buy");
    assert_eq!((sent.len(), &sent[0]), (2, &sent[1]), "the same again is the same one");
    let key = sent[0].as_object_mut().unwrap().shift_remove("idempotency_key").unwrap();
    assert!(key.as_str().is_some_and(|key| key.len() >= 32));
    assert_eq!(sent[0], order());
}

#[test]
fn a_change_is_shown_beside_what_there_is() {
    let seller = seller(|_| Some(bought()));
    let bridge = bridge(&[&seller.name]);
    let change = |id: &str, package: &str| {
        json!({"account": {"account_id": "a1"}, "media_buy_id": id,
            "packages": [{"package_id": package, "budget": 25000}]})
    };
    let first = call(&bridge, "adcp_update_media_buy", &change("mb1", "k1")).document;
    let question = first["question"].as_str().unwrap();
    assert!(question.contains("package \"k1\": from 1,000 USD to 25,000 USD"), "{question}");
    for (id, package) in [("mb2", "k1"), ("mb1", "k2")] {
        let outcome = call(&bridge, "adcp_update_media_buy", &change(id, package));
        assert_eq!(code(&outcome), "PRICE_UNKNOWN");
    }
    assert_eq!(seller.calls("update_media_buy").len(), 0);
    let done = agreed(change("mb1", "k1"), &first);
    assert!(!call(&bridge, "adcp_update_media_buy", &done).is_error);
    assert_eq!(seller.calls("update_media_buy").len(), 1);
}

#[test]
fn an_unclear_call_names_its_key_and_repeats_with_it() {
    // The seller takes the order and hangs up.
    let seller = seller(|_| None);
    let bridge = bridge(&[&seller.name]);
    load_prices(&bridge);
    let first = call(&bridge, "adcp_create_media_buy", &order()).document;
    let outcome = call(&bridge, "adcp_create_media_buy", &agreed(order(), &first));
    let document = &outcome.document;
    assert_eq!((&document["in_doubt"], &document["retryable"]), (&json!(true), &json!(true)));
    let key = document["idempotency_key"].as_str().unwrap();
    assert!(outcome.text.contains(&format!("idempotency_key {key}")), "{}", outcome.text);
    let sent = seller.calls("create_media_buy");
    assert!(sent.iter().all(|sent| sent["idempotency_key"] == key), "{sent:?}");
    // The person is told that it is a repetition.
    let again = with(order(), json!({"idempotency_key": key}));
    let first = call(&bridge, "adcp_create_media_buy", &again).document;
    let question = first["question"].as_str().unwrap();
    assert!(question.contains("It repeats a call that ended unclear"), "{question}");
    call(&bridge, "adcp_create_media_buy", &agreed(again.clone(), &first));
    // Of another call, or with a key that somebody made up, nobody is told so.
    let other = with(again.clone(), json!({"end_time": "2099-02-28T00:00:00Z"}));
    let made_up = json!({"idempotency_key": "7f3c9a52-1c7e-4d7b-9a52-0f6f2f1f7c11"});
    for arguments in [other, with(again, made_up)] {
        let first = call(&bridge, "adcp_create_media_buy", &arguments).document;
        let question = first["question"].as_str().unwrap();
        assert!(!question.contains("It repeats a call"), "{question}");
    }
    let sent = seller.calls("create_media_buy");
    assert!(sent.iter().all(|sent| sent["idempotency_key"] == key), "{sent:?}");
}

#[test]
fn a_yes_is_not_repeated_once_the_seller_may_forget() {
    // An hour and no more, or nothing at all.
    for (promises, minutes) in [
        (json!({"supported": true, "replay_ttl_seconds": 3600}), 60),
        (json!({"supported": false}), 0),
        (json!(null), 0),
    ] {
        let seller = seller_that(promises.clone(), |_| Some(bought()));
        let (bridge, clock) =
            bridge_where(&[], |options| options.patience = Duration::from_secs(600));
        let bridge = bridge.with_sellers([(format!("http://{}/mcp", seller.name), None)]).unwrap();
        load_prices(&bridge);
        let first = call(&bridge, "adcp_create_media_buy", &order()).document;
        let yes = agreed(order(), &first);
        assert!(!call(&bridge, "adcp_create_media_buy", &yes).is_error);
        clock.advance(SignedDuration::from_mins(minutes));
        let again = call(&bridge, "adcp_create_media_buy", &yes);
        assert_eq!(code(&again), "REPETITION_FORGOTTEN", "{promises}");
        assert!(again.text.contains("check whether it was done"), "{}", again.text);
        assert_eq!(seller.calls("create_media_buy").len(), 1, "{promises}");
        // Asked anew, later, the person may buy once more.
        clock.advance(SignedDuration::from_secs(1));
        let anew = call(&bridge, "adcp_create_media_buy", &order()).document;
        assert!(!call(&bridge, "adcp_create_media_buy", &agreed(order(), &anew)).is_error);
        let sent = seller.calls("create_media_buy");
        assert_ne!(sent[0]["idempotency_key"], sent[1]["idempotency_key"]);
    }
}

#[test]
fn without_a_promise_nothing_repeats_and_the_person_is_warned() {
    let seller = seller_that(json!({"supported": false}), |_| None);
    let bridge = bridge(&[&seller.name]);
    load_prices(&bridge);
    let first = call(&bridge, "adcp_create_media_buy", &order()).document;
    let outcome = call(&bridge, "adcp_create_media_buy", &agreed(order(), &first));
    let document = &outcome.document;
    assert_eq!((&document["in_doubt"], &document["retryable"]), (&json!(true), &json!(false)));
    assert!(outcome.text.contains("check whether it was done"), "{}", outcome.text);
    assert_eq!(seller.calls("create_media_buy").len(), 1);
    let again = with(order(), json!({"idempotency_key": document["idempotency_key"]}));
    let asked = call(&bridge, "adcp_create_media_buy", &again).document;
    assert!(asked["question"].as_str().unwrap().contains("it may be done TWICE"), "{asked}");
    assert_eq!(seller.calls("create_media_buy").len(), 1);
}

#[test]
fn what_a_person_cannot_read_whole_is_not_asked() {
    let seller = seller(|_| Some(bought()));
    let bridge = bridge(&[&seller.name]);
    load_prices(&bridge);
    let package = json!({"product_id": "front", "pricing_option_id": "cpm", "budget": 1});
    let arguments = with(order(), json!({"packages": vec![package; 30]}));
    assert_eq!(code(&call(&bridge, "adcp_create_media_buy", &arguments)), "INVALID_ARGUMENTS");
}

#[test]
fn an_account_is_billed_as_agreed_or_not_at_all() {
    let seller = fake::Mcp::start(|_, _| {
        let details = json!({"rejected_billing": "agent", "suggested_billing": "operator"});
        let error = json!({"code": "BILLING_NOT_PERMITTED_FOR_AGENT", "message": "m",
            "recovery": "correctable", "details": details});
        Some(json!({"status": "completed", "accounts": [{"brand": {"domain": "b.example"},
            "operator": "o.example", "action": "failed", "status": "rejected", "errors": [error]}]}))
    });
    let bridge = bridge(&[&seller.name]);
    let accounts = json!({"accounts": [
        {"brand": {"domain": "b.example"}, "operator": "o.example", "billing": "agent"}]});
    let first = call(&bridge, "adcp_sync_accounts", &accounts).document;
    call(&bridge, "adcp_sync_accounts", &agreed(accounts, &first));
    let sent = seller.calls("sync_accounts");
    assert_eq!(sent.len(), 1, "{sent:?}");
}

#[test]
fn a_models_word_neither_calls_anybody_nor_closes_anything() {
    let seller = seller(|_| Some(bought()));
    let bridge = bridge(&[&seller.name]);
    load_prices(&bridge);
    let url = json!({"url": "http://evil.example"});
    let accounts = json!([{"brand": {"domain": "a.example"}, "operator": "a.example",
        "billing": "operator", "notification_configs": [url]}]);
    for (tool, arguments, place) in [
        (
            "adcp_create_media_buy",
            with(order(), json!({"push_notification_config": url})),
            "/push_notification_config",
        ),
        (
            "adcp_create_media_buy",
            with(order(), json!({"reporting_webhook": url})),
            "/reporting_webhook",
        ),
        ("adcp_sync_accounts", json!({"accounts": accounts}), "/accounts/0/notification_configs"),
        ("adcp_sync_accounts", json!({"accounts": [], "delete_missing": true}), "/delete_missing"),
        ("adcp_create_media_buy", with(order(), json!({"sellers": ["x"]})), "/sellers"),
    ] {
        let outcome = call(&bridge, tool, &arguments);
        assert_eq!(code(&outcome), "INVALID_ARGUMENTS");
        let problems = outcome.document["problems"].as_array().unwrap();
        assert!(problems.iter().any(|problem| problem["field"] == place), "{}", outcome.text);
    }
    let wrong = json!({"seller": "elsewhere", "packages": [{"budget": "much"}], "x": 1});
    let outcome = call(&bridge, "adcp_create_media_buy", &wrong);
    let fields: Vec<_> = outcome.document["problems"].as_array().unwrap().iter().collect();
    assert!(fields.len() > 5, "all at once: {}", outcome.text);
    assert_eq!(seller.calls("create_media_buy").len(), 0);
}

#[test]
fn several_sellers_answer_beside_those_that_do_not() {
    let seller = seller(|_| Some(bought()));
    let bridge = bridge(&[&seller.name, super::CLOSED_ADDRESS]);
    let brief = json!({"buying_mode": "brief", "brief": "shoes"});
    let found = call(&bridge, "adcp_get_products", &brief);
    assert!(!found.is_error);
    assert_eq!(found.document["results"].as_array().unwrap().len(), 1);
    assert_eq!(found.document["errors"][0]["code"], "SELLER_UNREACHABLE");
    assert!(!found.document.to_string().contains('\u{202e}'), "{}", found.text);
    let only = with(brief, json!({"sellers": [format!("{}/mcp", super::CLOSED_ADDRESS)]}));
    assert_eq!(code(&call(&bridge, "adcp_get_products", &only)), "SELLER_UNREACHABLE");
    // With several, one has to be named.
    let problems = call(&bridge, "adcp_list_accounts", &json!({})).document["problems"].clone();
    assert_eq!(problems[0]["problem"], "missing required property \"seller\"");
}

#[test]
fn a_person_who_can_be_asked_is_asked_about_money() {
    let seller = seller(|_| Some(bought()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (input, output) = tokio::io::split(ours);
        tokio::spawn(converse(Arc::new(bridge(&[&seller.name])), input, output));
        let (input, mut output) = tokio::io::split(theirs);
        let mut lines = BufReader::new(input).lines();
        let mut said = async |message: Value| {
            output.write_all(format!("{message}\n").as_bytes()).await.unwrap();
            let line = lines.next_line().await.unwrap().unwrap();
            tradepost_document::json::from_str::<Value>(&line).unwrap()
        };
        let request = |method: &str, params: Value| {
            json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        };
        let tool = |name: &str, arguments: Value| {
            request("tools/call", json!({"name": name, "arguments": arguments}))
        };
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}});
        said(request("initialize", hello)).await;
        let brief = json!({"buying_mode": "brief", "brief": "shoes"});
        said(tool("adcp_get_products", brief)).await;
        for (answer, sent) in [("decline", 0), ("accept", 1)] {
            let question = said(tool("adcp_create_media_buy", order())).await;
            let message = question["params"]["message"].as_str().unwrap();
            assert!(message.contains("It spends up to 1,001 USD."), "{message}");
            let result = json!({"action": answer, "content": {"agree": true}});
            let reply = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
            let done = said(reply).await;
            assert_eq!(done["result"]["isError"], sent == 0, "{done}");
            assert_eq!(seller.calls("create_media_buy").len(), sent);
        }
    });
}

#[test]
fn a_budget_written_as_a_text_is_read_and_noted() {
    let seller = seller(|_| Some(bought()));
    let bridge = bridge(&[&seller.name]);
    load_prices(&bridge);
    let package = json!({"product_id": "front", "pricing_option_id": "cpm", "budget": "1,000.50"});
    let written = with(order(), json!({"packages": [package]}));
    let first = call(&bridge, "adcp_create_media_buy", &written);
    assert!(!first.is_error, "{}", first.text);
    let note = "/packages/0/budget: a text was read as a number";
    assert_eq!(first.document["notes"], json!([note]));
    assert!(first.text.contains("It spends up to 1,000.50 USD."), "{}", first.text);
}

#[test]
fn the_tools_of_media_buying_are_few_and_small() {
    let tools = bridge(&["one.example", "two.example"]).tools();
    let listed = tradepost_document::json::to_string(&tools).unwrap();
    assert!(tools.len() <= 12 && listed.len() < 30_000, "{} {}", tools.len(), listed.len());
    let (both, _) = bridge_where(&["dealer.example"], |_| {});
    let both = both.with_sellers([("seller.example".to_owned(), None)]).unwrap();
    assert_eq!(both.tools().len(), tools.len() + 5);
}
