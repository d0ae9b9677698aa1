//! `tradepost publisher`, beside a running server: what people decide holds at the next request, and
//! the server announces it.

use std::path::Path;
use std::process::{Command, Output};

use tradepost_document::json::{Value, json};

use crate::process::{Process, data};
use crate::support::client;
use crate::support::webhook::Webhook;

const PUBLISHER: &str = r#"
    [server]
    listen = "127.0.0.1:0"

    [[publishers]]
    id = "gazette"
    name = "The Gazette"
    domain = "gazette.example"
    catalogue = "catalogue.json"
    billing = ["operator"]
    onboarding = { review = { message = "Sign the contract." } }
    call_loopback = true

    [[publishers.agents]]
    id = "acme"
    credentials = ["acme"]

    [[publishers.agents]]
    id = "nova"
    credentials = ["nova"]
"#;

pub fn catalogue() -> Value {
    json!({
        "agent_url": "https://ads.gazette.example",
        "creatives": {"review": "person"},
        "formats": [{
            "format_id": {"id": "display_300x250"}, "name": "Banner",
            "renders": [{"role": "primary", "dimensions": {"width": 300, "height": 250, "unit": "px"}}],
            "assets": [{
                "item_type": "individual", "asset_id": "image", "asset_type": "image",
                "required": true,
            }],
        }],
        "products": [{
            "product_id": "front", "name": "Front page", "description": "The front page.",
            "publisher_properties": [
                {"publisher_domain": "gazette.example", "selection_type": "all"},
            ],
            "channels": ["display"], "delivery_type": "non_guaranteed",
            "format_ids": [{"id": "display_300x250"}],
            "pricing_options": [{
                "pricing_option_id": "cpm", "pricing_model": "cpm", "currency": "USD",
                "fixed_price": 8,
            }],
            "reporting_capabilities": {
                "available_reporting_frequencies": ["daily"], "expected_delay_minutes": 60,
                "timezone": "UTC", "supports_webhooks": false, "available_metrics": ["impressions"],
                "date_range_support": "date_range",
            },
            "terms": {"approval": true},
        }],
    })
}

/// Writes configuration and catalogue; the path of the configuration.
fn configure(folder: &Path) -> String {
    let config = folder.join("tradepost.toml");
    let sold = folder.join("catalogue.json");
    std::fs::write(&sold, catalogue().to_string()).unwrap();
    let text = PUBLISHER.replace("\"catalogue.json\"", &format!("{sold:?}"));
    std::fs::write(&config, text).unwrap();
    config.to_str().unwrap().to_owned()
}

fn tradepost(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tradepost"))
        .args(arguments)
        .current_dir(folder)
        .arg("--data")
        .arg(data(folder))
        .output()
        .unwrap()
}

fn decide(folder: &Path, arguments: &[&str]) -> Value {
    let output = tradepost(folder, &[&["--json", "publisher"], arguments].concat());
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    tradepost_document::json::from_slice(&output.stdout).unwrap()
}

fn refusal(folder: &Path, arguments: &[&str]) -> String {
    let output = tradepost(folder, &[&["publisher"], arguments].concat());
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    // clap wraps what it says.
    let text = String::from_utf8(output.stderr).unwrap();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn decisions_beside_a_running_server_hold_and_are_announced() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let process = Process::start(folder, &["--config", &configure(folder)]);
    let key = |name: &str| {
        let output =
            tradepost(folder, &["keys", "create", "--publisher", "gazette", "--name", name]);
        assert!(output.status.success(), "{output:?}");
        format!("Bearer {}", String::from_utf8(output.stdout).unwrap().trim())
    };
    let acme = key("acme");
    let nova = key("nova");
    let call = |bearer: &str, tool: &str, arguments: Value| {
        let params = json!({"name": tool, "arguments": arguments});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let headers = [("Content-Type", "application/json"), ("Authorization", bearer)];
        let body = body.to_string();
        let answer = client::request(process.address, "POST", "/mcp", &headers, body.as_bytes());
        answer.json()["result"]["structuredContent"].clone()
    };
    let code = |answer: &Value| {
        let code = answer.pointer("/adcp_error/code").and_then(Value::as_str);
        code.unwrap_or(answer["status"].as_str().unwrap()).to_owned()
    };

    let opening = json!({"idempotency_key": "open-the-account-1", "accounts": [
        {"brand": {"domain": "acme.example"}, "operator": "acme.example", "billing": "operator"},
    ]});
    let opened = call(&acme, "sync_accounts", opening);
    let id = opened["accounts"][0]["account_id"].as_str().unwrap_or_else(|| panic!("{opened}"));
    let account = json!({"account_id": id});
    let mut webhook = Webhook::start();
    let order = |number: u32| {
        json!({
            "idempotency_key": format!("buy-the-front-page-{number}"), "account": account,
            "brand": {"domain": "acme.example"}, "start_time": "asap",
            "end_time": "2099-01-31T00:00:00Z",
            "packages": [
                {"product_id": "front", "pricing_option_id": "cpm", "budget": 1000},
            ],
            "push_notification_config": {"url": webhook.url()},
        })
    };
    let first = order(1);
    let second = order(2);
    let third = order(3);
    assert_eq!(code(&call(&acme, "create_media_buy", first.clone())), "ACCOUNT_SETUP_REQUIRED");
    let listed = decide(folder, &["list", "accounts", "--state", "pending_approval"]);
    assert_eq!((&listed[0]["id"], &listed[0]["publisher"]), (&json!(id), &json!("gazette")));
    let approved =
        json!({"kind": "account", "id": id, "before": "pending_approval", "after": "active"});
    assert_eq!(decide(folder, &["approve", "account", id]), approved);

    // A buy waits for a person, and the server tells what the person decided.
    let bought = call(&acme, "create_media_buy", first);
    let task = bought["task_id"].as_str().unwrap_or_else(|| panic!("{bought}"));
    let waiting = decide(folder, &["list", "tasks", "--state", "submitted"]);
    assert_eq!((&waiting[0]["id"], &waiting[0]["decided"]), (&json!(task), &json!("by a person")));
    assert_eq!((&waiting[0]["budget"], &waiting[0]["currency"]), (&json!(1000), &json!("USD")));
    assert_eq!(decide(folder, &["approve", "task", task])["after"], "completed");
    let notified = webhook.wait(1)[0].json();
    assert_eq!(notified["status"], "completed");
    let booked = json!({"account": account, "media_buy_ids": [notified["result"]["media_buy_id"]]});
    let buys = call(&acme, "get_media_buys", booked);
    assert_eq!(buys["media_buys"].as_array().unwrap().len(), 1, "{buys}");
    let bought = call(&acme, "create_media_buy", second);
    let declined = bought["task_id"].as_str().unwrap();
    let reason = "the front page is not for shoes";
    decide(folder, &["decline", "task", declined, "--reason", reason]);
    let notified = webhook.wait(2)[1].json();
    assert_eq!(notified["status"], "failed");
    assert!(
        notified["result"]["adcp_error"]["message"].as_str().unwrap().ends_with(reason),
        "{notified}"
    );
    let text = refusal(folder, &["approve", "task", declined]);
    assert!(text.contains("approve is not possible: the task is failed"), "{text}");

    let sent = json!({"idempotency_key": "send-the-banner-01", "account": account, "creatives": [{
        "creative_id": "banner", "name": "Banner",
        "format_id": {"agent_url": "https://ads.gazette.example", "id": "display_300x250"},
        "assets": {"image": {
            "asset_type": "image", "url": "https://cdn.acme.example/a.png", "width": 300,
            "height": 250,
        }},
    }]});
    let sent = call(&acme, "sync_creatives", sent);
    assert_eq!(sent["creatives"][0]["status"], "pending_review", "{sent}");
    let text = refusal(folder, &["decline", "creative", "banner"]);
    assert!(text.contains("a creative is declined with a reason"), "{text}");
    decide(folder, &["approve", "creative", "banner"]);
    let library = call(&acme, "list_creatives", json!({"account": account}));
    assert_eq!(library["creatives"][0]["status"], "approved", "{library}");

    // An account is lent, and not for everything.
    let look = || code(&call(&nova, "get_media_buys", json!({"account": account})));
    assert_eq!(look(), "ACCOUNT_NOT_FOUND");
    let narrow =
        ["--tasks", "get_media_buys,update_media_buy", "--fields", "update_media_buy=paused"];
    decide(folder, &[&["grant", id, "nova"], &narrow[..]].concat());
    assert_eq!(look(), "completed");
    let buy = &buys["media_buys"][0];
    let change = json!({
        "idempotency_key": "change-the-buy-001", "account": account,
        "media_buy_id": buy["media_buy_id"], "revision": buy["revision"],
        "end_time": "2099-02-01T00:00:00Z",
    });
    assert_eq!(code(&call(&nova, "update_media_buy", change)), "FIELD_NOT_PERMITTED");
    assert_eq!(code(&call(&nova, "create_media_buy", third.clone())), "SCOPE_INSUFFICIENT");
    let grants = decide(folder, &["list", "grants"]);
    assert_eq!(grants[0]["fields"], json!({"update_media_buy": ["paused"]}));
    decide(folder, &["grant", id, "nova", "--revoke"]);
    assert_eq!(look(), "ACCOUNT_NOT_FOUND");

    for (step, expected) in [
        ("payment-due", "ACCOUNT_PAYMENT_REQUIRED"),
        ("payment-settled", "submitted"),
        ("suspend", "ACCOUNT_SUSPENDED"),
        ("close", "ACCOUNT_NOT_FOUND"),
    ] {
        decide(folder, &[step, "account", id]);
        let mut order = third.clone();
        order["idempotency_key"] = json!(format!("buy-the-front-page-{step}"));
        assert_eq!(code(&call(&acme, "create_media_buy", order)), expected, "{step}");
    }
    let text = refusal(folder, &["resume", "account", id]);
    assert!(text.contains("no further decision is possible"), "{text}");
    let table = tradepost(folder, &["publisher", "list", "accounts"]);
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(table.starts_with("PUBLISHER") && table.contains(id), "{table}");
}

#[test]
fn what_cannot_be_meant_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    configure(folder);
    let before: &[(&[&str], &str)] = &[
        (&["list", "accounts"], "hint: name the folder of `serve` with --data"),
        (&["list", "accounts", "--state", "asleep"], "use one of: pending_approval, active"),
        (&["list", "grants", "--state", "active"], "omit --state"),
        (&["list", "accounts", "--publisher", "other"], "its publishers are: gazette"),
        (&["close", "creative", "cr"], "[possible values: account]"),
        (&["grant", "acc", "nova", "--fields", "paused"], "write a task and its fields"),
        (&["grant", "acc", "nova", "--revoke", "--read-only"], "cannot be used with"),
    ];
    for (arguments, expected) in before {
        let text = refusal(folder, arguments);
        assert!(text.contains(expected), "{arguments:?}: {text}");
    }
    assert!(!data(folder).exists(), "nothing was made");
    let made = tradepost(folder, &["keys", "create", "--publisher", "gazette", "--name", "acme"]);
    assert!(made.status.success());
    let text = refusal(folder, &["approve", "account", "acc_none"]);
    assert!(text.contains("`tradepost publisher accounts list` lists them"), "{text}");
    assert_eq!(decide(folder, &["list", "creatives"]), json!([]));
}
