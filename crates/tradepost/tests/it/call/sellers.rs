//! `tradepost adcp` as a process, before the demo publisher as a process.

use std::process::{Child, Command, Stdio};

use expect_test::{Expect, expect};
use tradepost_document::json::{Value, json};

use super::ended;
use crate::process::Process;

const TOKEN: &str = "demo-acme-outdoor-v1";

fn adcp(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_tradepost"))
        .arg("adcp")
        .args(arguments)
        .env("TRADEPOST_TOKEN", TOKEN)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn publisher(folder: &tempfile::TempDir) -> Process {
    Process::start(folder.path(), &["--demo-publisher", "--listen", "127.0.0.1:0"])
}

/// What is said of a call that fails: the same on both bindings.
fn check(process: &Process, arguments: &[&str], expected: &Expect) {
    let shown = ["", "/mcp"].map(|path| {
        let url = format!("http://{}{path}", process.address);
        let (exit, shown, said) = ended(adcp(&[&["call", &url][..], arguments].concat()));
        format!("{exit}\n{shown}--\n{said}")
    });
    assert_eq!(shown[0], shown[1]);
    expected.assert_eq(&shown[0]);
}

#[test]
fn a_sellers_tasks_are_listed_and_done_on_both_bindings() {
    let folder = tempfile::tempdir().unwrap();
    let process = publisher(&folder);
    let base = format!("http://{}", process.address);
    let mcp = format!("{base}/mcp");
    let mut lists = Vec::new();
    for (url, via) in [(&base, "A2A 1.0"), (&mcp, "MCP")] {
        let (exit, shown, said) = ended(adcp(&["tools", url, "--json"]));
        assert_eq!(exit, 0, "{said}");
        let listed: Value = tradepost_document::json::from_str(&shown).unwrap();
        assert_eq!(listed["via"], via);
        let names = listed["tools"].as_array().unwrap().iter();
        let mut names: Vec<_> =
            names.map(|tool| (tool["name"].to_string(), tool["effect"].to_string())).collect();
        names.sort();
        lists.push(names);
    }
    assert!(lists[0].len() > 20 && lists[0] == lists[1], "{lists:?}");

    let buy = json!({"idempotency_key": "try-the-gazette-1", "start_time": "asap",
        "end_time": "2090-01-31T00:00:00Z", "brand": {"domain": "acmeoutdoor.example"},
        "account": {"brand": {"domain": "acmeoutdoor.example"},
            "operator": "acmeoutdoor.example"},
        "packages": [{"product_id": "outdoor_display", "pricing_option_id": "cpm_auction",
            "bid_price": 5, "budget": 2000}]});
    let path = folder.path().join("buy.json");
    std::fs::write(&path, buy.to_string()).unwrap();
    let file = format!("@{}", path.display());
    let mut bought = Vec::new();
    for url in [&base, &mcp] {
        let call = ["call", url, "create_media_buy", "--args", &file, "--json", "--retry"];
        let (exit, shown, said) = ended(adcp(&call));
        assert_eq!(exit, 0, "{shown}{said}");
        let answered: Value = tradepost_document::json::from_str(&shown).unwrap();
        assert_eq!(answered["idempotency_key"], "try-the-gazette-1");
        bought.push(answered["payload"]["media_buy_id"].as_str().unwrap().to_owned());
    }
    assert_eq!(bought[0], bought[1], "the same key is the same buy");
}

#[test]
fn a_sellers_refusal_has_code_sentence_and_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let process = publisher(&folder);
    check(
        &process,
        &["get_products", "--args", r#"{"buying_mode": "guess", "brief": 5}"#],
        &expect![[r#"
            2
            --
            error: not sent: VALIDATION_ERROR: The arguments have 2 problems; correct them and send the request again.
              /buying_mode: must be one of brief, wholesale, refine (enum)
              /brief: must be a string (type)
            hint: correct every problem listed, or send anyway with --no-check
        "#]],
    );
    check(
        &process,
        &["get_products", "--no-check", "--args", r#"{"buying_mode": "guess", "brief": 5}"#],
        &expect![[r#"
            3
            --
            error: VALIDATION_ERROR: The arguments have 2 problems; correct them and send the request again.
              Values of the request are wrong, or violate a business rule.
              /buying_mode: must be one of brief, wholesale, refine (enum)
              /brief: must be a string (type)
              the seller suggests: correct every entry of issues and send again
              retry: no, the same request would be refused again
            hint: correct every entry of issues and send again
        "#]],
    );
    check(
        &process,
        &[
            "get_products",
            "--args",
            r#"{"buying_mode": "wholesale", "ext": {"api_key": "s3cret"}}"#,
        ],
        &expect![[r#"
            2
            --
            error: not sent: a credential stands at /ext/api_key
            hint: give the credential with --token, never as an argument
        "#]],
    );
    check(
        &process,
        &["get_products", "--args", "s3cret"],
        &expect![[r#"
            2
            --
            error: --args is not valid JSON: expected value at line 1 column 1
        "#]],
    );
    check(
        &process,
        &[
            "get_products",
            "--token",
            "nobody-has-this",
            "--args",
            r#"{"buying_mode": "wholesale"}"#,
        ],
        &expect![[r#"
            9
            --
            error: AUTH_INVALID: the credential is not accepted; ask the seller for a valid one
              The presented credential was rejected: it is revoked, has expired, or has a wrong signature.
              the seller suggests: renew an expired token once; otherwise have the credential replaced by a person
              required authentication: Bearer; realm: gazette; error: invalid_token
              retry: no, the same request would be refused again
            hint: renew an expired token once; otherwise have the credential replaced by a person
        "#]],
    );
}

#[test]
fn failed_rows_are_listed_and_each_failure_is_logged() {
    let folder = tempfile::tempdir().unwrap();
    let process = publisher(&folder);
    let log = folder.path().join("failures");
    let url = format!("http://{}/mcp", process.address);
    let path = log.display().to_string();
    let accounts = json!({"accounts": [{"brand": {"domain": "acmeoutdoor.example"},
        "operator": "acmeoutdoor.example", "billing": "advertiser"}]});
    let accounts = accounts.to_string();
    let call = ["call", &url, "sync_accounts", "--args", &accounts, "--log", &path, "--json"];
    let (exit, shown, said) = ended(adcp(&call));
    assert_eq!(exit, 9, "{shown}{said}");
    let error = &tradepost_document::json::from_str::<Value>(&shown).unwrap()["error"];
    let rows = error["failed_rows"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["pointer"]), (1, &json!("/accounts/0")));
    let logged = std::fs::read_to_string(&log).unwrap();
    let line: Value = tradepost_document::json::from_str(logged.trim()).unwrap();
    assert_eq!(line["code"], rows[0]["errors"][0]["code"]);
    assert!(!logged.contains(TOKEN) && line["timestamp"].is_string(), "{logged}");
}

#[test]
fn a_suggested_way_of_billing_is_taken_by_the_loop() {
    let folder = tempfile::tempdir().unwrap();
    let process = publisher(&folder);
    let url = format!("http://{}", process.address);
    let accounts = json!({"accounts": [{"brand": {"domain": "acmeoutdoor.example"},
        "operator": "acmeoutdoor.example", "billing": "agent"}]});
    let accounts = accounts.to_string();
    let token = "demo-billing-passthrough-v1";
    let call = ["call", &url, "sync_accounts", "--args", &accounts, "--token", token, "--json"];
    let (exit, shown, _) = ended(adcp(&call));
    let error = &tradepost_document::json::from_str::<Value>(&shown).unwrap()["error"];
    let advice = error["failed_rows"][0]["advice"].as_str().unwrap();
    assert_eq!(exit, 9);
    assert!(advice.starts_with("set billing to operator"), "{advice}");
    let (exit, shown, said) = ended(adcp(&[&call[..], &["--retry"]].concat()));
    assert_eq!(exit, 0, "{said}");
    let answered: Value = tradepost_document::json::from_str(&shown).unwrap();
    assert_eq!(answered["again"][0]["accounts"][0]["billing"], "operator");
    assert_eq!(answered["failed_rows"], json!([]));
}

#[test]
fn a_misspelt_task_is_answered_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let process = publisher(&folder);
    for path in ["", "/mcp"] {
        let url = format!("http://{}{path}", process.address);
        for (task, meant) in [("get_product", Some("get_products")), ("horoscope", None)] {
            let (exit, _, said) = ended(adcp(&["call", &url, task]));
            assert_ne!(exit, 0, "{said}");
            let hint = meant.map(|name| format!("\nhint: did you mean {name}? "));
            let is_there =
                hint.as_ref().map_or(said.contains("did you mean "), |hint| said.contains(hint));
            assert_eq!(is_there, meant.is_some(), "{task} {said}");
        }
    }
}
