//! `tradepost publisher buys`, `packages` and the rest, beside a running server: what was sold is listed,
//! shown and exported.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use tradepost_document::json::{Value, json};

use super::staff::catalogue;
use crate::process::{Process, data};
use crate::support::client;
use crate::support::postgres::Scratch;

const SUBJECTS: [&str; 7] =
    ["buys", "packages", "creatives", "proposals", "accounts", "tasks", "delivery"];

/// A publisher whose product `front` has to be approved and whose product `side` has not.
fn configure(folder: &Path, database: Option<&str>) -> String {
    let config = folder.join("tradepost.toml");
    let file = folder.join("catalogue.json");
    let mut sold = catalogue();
    let mut side = sold["products"][0].clone();
    side["product_id"] = json!("side");
    side["terms"] = json!({});
    sold["products"].as_array_mut().unwrap().push(side);
    sold["creatives"]["review"] = json!("none");
    std::fs::write(&file, sold.to_string()).unwrap();
    let database = database.map(|url| format!("database = {url:?}")).unwrap_or_default();
    let text = format!(
        r#"
        [server]
        listen = "127.0.0.1:0"
        {database}

        [[publishers]]
        id = "gazette"
        name = "The Gazette"
        domain = "gazette.example"
        catalogue = {file:?}
        billing = ["operator"]
        sandbox = true
        call_loopback = true

        [[publishers.agents]]
        id = "acme"
        credentials = ["acme"]
        "#
    );
    std::fs::write(&config, text).unwrap();
    config.to_str().unwrap().to_owned()
}

/// A running publisher with a buyer.
struct Sale {
    folder: tempfile::TempDir,
    process: Process,
    bearer: String,
    is_shared: bool,
}

impl Sale {
    fn start(scratch: Option<&Scratch>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let address = scratch.map(Scratch::address);
        let config = configure(folder.path(), address.as_deref());
        let process = Process::start(folder.path(), &["--config", &config]);
        let mut sale =
            Self { folder, process, bearer: String::new(), is_shared: scratch.is_some() };
        let made = sale.run(&["keys", "create", "--publisher", "gazette", "--name", "acme"]);
        assert!(made.status.success(), "{made:?}");
        sale.bearer = format!("Bearer {}", String::from_utf8(made.stdout).unwrap().trim());
        sale
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let folder = self.folder.path();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tradepost"));
        command.args(arguments).current_dir(folder);
        if !self.is_shared {
            command.arg("--data").arg(data(folder));
        }
        command.output().unwrap()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[&["--json", "publisher"], arguments].concat());
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        tradepost_document::json::from_slice(&output.stdout).unwrap()
    }

    /// What people read.
    fn text(&self, arguments: &[&str]) -> String {
        let output = self.run(&[&["publisher"], arguments].concat());
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    }

    fn refusal(&self, arguments: &[&str]) -> String {
        let output = self.run(&[&["publisher"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn ids(&self, arguments: &[&str]) -> Vec<String> {
        let listed = self.json(arguments);
        let ids = listed.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap());
        ids.map(ToOwned::to_owned).collect()
    }

    fn call(&self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let headers =
            [("Content-Type", "application/json"), ("Authorization", self.bearer.as_str())];
        let body = body.to_string();
        let answer =
            client::request(self.process.address, "POST", "/mcp", &headers, body.as_bytes());
        answer.json()["result"]["structuredContent"].clone()
    }

    fn open_account(&self, brand: &str) -> String {
        let opened = self.call(
            "sync_accounts",
            json!({"idempotency_key": format!("open-{brand}-000001"), "accounts": [
                {"brand": {"domain": brand}, "operator": brand, "billing": "operator", "sandbox": true},
            ]}),
        );
        let id = opened["accounts"][0]["account_id"].as_str();
        id.unwrap_or_else(|| panic!("{opened}")).to_owned()
    }

    /// A buy of a product; the id of the media buy, or of the task in which it waits.
    fn buy(&self, account: &str, number: u32, product: &str) -> String {
        let answer = self.call(
            "create_media_buy",
            json!({
                "idempotency_key": format!("buy-something-{number:04}"),
                "account": {"account_id": account}, "brand": {"domain": "acme.example"},
                "start_time": "asap", "end_time": "2099-01-31T00:00:00Z", "po_number": "PO-7",
                "packages": [
                    {
                        "product_id": product, "pricing_option_id": "cpm",
                        "budget": 1000 + number,
                    },
                    {"product_id": product, "pricing_option_id": "cpm", "budget": 2000},
                ],
            }),
        );
        let id = answer["media_buy_id"].as_str().or(answer["task_id"].as_str());
        id.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    fn send_creative(&self, account: &str, name: &str) {
        let sent = self.call(
            "sync_creatives",
            json!({
                "idempotency_key": format!("send-{account}-banner"),
                "account": {"account_id": account},
                "creatives": [{
                    "creative_id": "banner", "name": name,
                    "format_id": {"agent_url": "https://ads.gazette.example", "id": "display_300x250"},
                    "assets": {"image": {
                        "asset_type": "image", "url": "https://cdn.acme.example/a.png",
                        "width": 300, "height": 250,
                    }},
                }],
            }),
        );
        assert_eq!(sent["creatives"][0]["action"], "created", "{sent}");
    }

    fn report_delivery(&self, account: &str, buy: &str) {
        let reported = self.call(
            "comply_test_controller",
            json!({
                "scenario": "simulate_delivery",
                "account": {"account_id": account, "sandbox": true},
                "params": {"media_buy_id": buy, "impressions": 5000, "clicks": 7},
            }),
        );
        assert_eq!(reported["success"], true, "{reported}");
    }
}

fn check_a_sale(scratch: Option<&Scratch>) {
    let sale = Sale::start(scratch);
    let acme = sale.open_account("acme.example");
    let other = sale.open_account("other.example");
    let sold: Vec<String> = (1..=4).map(|number| sale.buy(&acme, number, "side")).collect();
    let foreign = sale.buy(&other, 5, "side");
    let task = sale.buy(&acme, 6, "front");
    let declined = sale.buy(&acme, 7, "front");
    sale.json(&["approve", "task", &task]);
    sale.json(&["decline", "task", &declined, "--reason", "the page is full"]);
    sale.send_creative(&acme, "=1+1");
    sale.send_creative(&other, "Banner");
    sale.report_delivery(&acme, &sold[0]);

    // A list, its filters and its pages.
    let approved = sale.json(&["tasks", "show", &task]);
    let approved = approved["media_buy"].as_str().unwrap().to_owned();
    let mut newest_first = vec![approved.clone(), foreign.clone()];
    newest_first.extend(sold.iter().rev().cloned());
    assert_eq!(sale.ids(&["buys", "list"]), newest_first);
    assert_eq!(sale.ids(&["buys", "list", "--account", &other]), [foreign.as_str()]);
    assert_eq!(sale.ids(&["buys", "list", "--product", "front"]), [approved.as_str()]);
    assert_eq!(sale.ids(&["buys", "list", "--agent", "nobody"]), Vec::<String>::new());
    assert_eq!(sale.ids(&["buys", "list", "--state", "pending_creatives"]), newest_first);
    assert_eq!(sale.ids(&["buys", "list", "--until", "2020-01-01"]), Vec::<String>::new());
    assert_eq!(sale.ids(&["buys", "list", "--from", "2020-01-01"]), newest_first);
    assert_eq!(sale.ids(&["packages", "list"]).len(), 12);
    for limit in ["1", "4", "5"] {
        let mut paged = Vec::new();
        // A moment before which everything was created.
        let mut after = "200000000000000000.1".to_owned();
        loop {
            let page =
                sale.json(&["packages", "list", "--limit", limit, "--after", after.as_str()]);
            let Some(last) = page.as_array().unwrap().last() else { break };
            last["cursor"].as_str().unwrap().clone_into(&mut after);
            paged.extend(page.as_array().unwrap().iter().map(|row| row["id"].clone()));
        }
        assert_eq!(
            paged.iter().map(Value::to_string).collect::<BTreeSet<_>>().len(),
            12,
            "by {limit}"
        );
        assert_eq!(paged.len(), 12, "by {limit}");
    }
    let table = sale.text(&["buys", "list", "--limit", "2"]);
    assert!(
        table.contains(&approved) && table.contains("there are more records: add --after "),
        "{table}"
    );

    // One thing, for programs and for people.
    let shown = sale.json(&["buys", "show", &approved]);
    assert_eq!((&shown["budget"], &shown["terms"]["po_number"]), (&json!(3006), &json!("PO-7")));
    let history = shown["history"].as_array().unwrap();
    let steps: Vec<&str> = history.iter().map(|step| step["what"].as_str().unwrap()).collect();
    assert_eq!(steps, ["asked", "approved", "created"]);
    let people = sale.text(&["buys", "show", &approved]);
    let words = people.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("terms po number PO-7") && words.contains("packages 2:"), "{people}");
    let refused = sale.json(&["tasks", "show", &declined]);
    assert_eq!(refused["decided"], "declined");
    assert_eq!(
        (&refused["reason"], &refused["decider"]),
        (&json!("the page is full"), &json!("person"))
    );
    assert_eq!(refused["packages"][1]["budget"], 2000);
    let package = shown["packages"][0]["id"].as_str().unwrap();
    assert_eq!(sale.json(&["packages", "show", package])["buy"], json!(approved));
    assert_eq!(sale.json(&["delivery", "show", &sold[0]])["impressions"], 5000);
    assert_eq!(sale.json(&["accounts", "show", &acme])["operator"], "acme.example");
    let text = sale.refusal(&["creatives", "show", "banner"]);
    assert!(text.contains("several accounts have a creative") && text.contains(&other), "{text}");
    let banner = sale.json(&["creatives", "show", "banner", "--account", &acme]);
    assert_eq!(banner["name"], "=1+1");
    let text = sale.refusal(&["packages", "show", "none"]);
    assert!(text.contains("`tradepost publisher packages list` lists them"), "{text}");

    // Files for others: everything, only for their owner, and nothing that calculates.
    let file = sale.folder.path().join("creatives.csv");
    let path = file.to_str().unwrap();
    let export = ["creatives", "export", "--format", "csv", "--out", path];
    assert_eq!(sale.text(&export), "");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(
        text.starts_with("publisher,id,state,account,agent,name,") && text.contains(",'=1+1,"),
        "{text}"
    );
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(sale.refusal(&export).contains("it exists already"));
    let lines = sale.text(&["packages", "export", "--account", &acme]);
    assert_eq!(lines.lines().count(), 10, "{lines}");
    for subject in SUBJECTS {
        let listed = sale.json(&[subject, "list"]);
        let exported = sale.text(&[subject, "export"]);
        let exported: Vec<Value> = exported
            .lines()
            .map(|line| tradepost_document::json::from_slice(line.as_bytes()).unwrap())
            .collect();
        let mut listed = listed.as_array().unwrap().clone();
        for row in &mut listed {
            row.as_object_mut().unwrap().shift_remove("cursor");
        }
        assert_eq!(exported, listed, "{subject}");
    }

    // What was there before answers as it did, and says what was decided.
    let before = sale.json(&["list", "tasks", "--state", "completed"]);
    assert_eq!((&before[0]["id"], &before[0]["budget"]), (&json!(task), &json!(3006)));
    assert!(before[0]["decided"].as_str().unwrap().starts_with("approved by "), "{before}");
    assert_eq!(
        sale.ids(&["list", "accounts"]),
        [acme.as_str(), other.as_str()],
        "the oldest first"
    );
}

#[test]
fn a_seller_lists_shows_and_exports_what_it_sold() {
    check_a_sale(None);
}

#[test]
fn a_seller_on_postgresql_lists_shows_and_exports_too() {
    let Some(scratch) = Scratch::new() else { return };
    check_a_sale(Some(&scratch));
}

#[test]
fn what_cannot_be_listed_is_refused_before_opening_the_store() {
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), None);
    let refusal = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_tradepost"))
            .arg("publisher")
            .args(arguments)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let rows: [(&[&str], &str); 8] = [
        (
            &["buys", "list", "--state", "asleep"],
            "no media buy is ever asleep; use one of: pending_creatives",
        ),
        (
            &["tasks", "export", "--state", "active"],
            "no task is ever active; use one of: submitted",
        ),
        (&["accounts", "list", "--product", "front"], "accounts are of no product"),
        (
            &["buys", "list", "--from", "2026-02-01", "--until", "2026-01-01"],
            "the period ends before it begins",
        ),
        (&["buys", "list", "--after", "x"], "is no cursor of a list"),
        (&["buys", "list", "--limit", "0"], "0 is not in 1..=1000"),
        (&["buys", "list", "--from", "soon"], "write a date such as"),
        (&["buys", "list", "--publisher", "other"], "its publishers are: gazette"),
    ];
    for (arguments, expected) in rows {
        let text = refusal(arguments);
        assert!(text.contains(expected), "{arguments:?}: {text}");
    }
    assert!(!data(folder.path()).exists(), "nothing was made");
    let text = refusal(&["buys", "list"]);
    assert!(text.contains("name the folder of `serve` with --data"), "{text}");
}
