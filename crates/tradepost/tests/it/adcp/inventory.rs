//! Counted inventory beside a running server: what people see of it, the check of its books, and what is
//! left of it when the process is killed.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use tradepost_document::json::{Value, json};

use super::staff::catalogue;
use crate::process::{Process, data, pause};
use crate::support::client;
use crate::support::postgres::Scratch;

/// A publisher that has `per_day` impressions of product `front` on each day, in this pool.
fn configure(folder: &Path, database: Option<&str>, pool: &str, per_day: u64) {
    let mut sold = catalogue();
    sold["products"][0]["terms"] = json!({"capacity": {"pool": pool, "per_day": per_day}});
    std::fs::write(folder.join("catalogue.json"), sold.to_string()).unwrap();
    let file = folder.join("catalogue.json");
    let database = database.map(|url| format!("database = {url:?}")).unwrap_or_default();
    let config = format!(
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

        [[publishers.agents]]
        id = "acme"
        credentials = ["acme"]
        "#
    );
    std::fs::write(folder.join("tradepost.toml"), config).unwrap();
}

fn tradepost(folder: &Path, is_shared: bool, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradepost"));
    command.args(arguments).current_dir(folder);
    if !is_shared {
        command.arg("--data").arg(data(folder));
    }
    command.output().unwrap()
}

/// What a command writes, and its exit code.
fn said(folder: &Path, is_shared: bool, arguments: &[&str]) -> String {
    let output = tradepost(folder, is_shared, &[&["publisher", "inventory"], arguments].concat());
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    let lines = text.lines().map(|line| line.trim_end().replace('\r', ""));
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    format!("{}\n{text}", output.status.code().unwrap())
}

fn key(folder: &Path, is_shared: bool) -> String {
    let made = tradepost(
        folder,
        is_shared,
        &["keys", "create", "--publisher", "gazette", "--name", "acme"],
    );
    assert!(made.status.success(), "{made:?}");
    format!("Bearer {}", String::from_utf8(made.stdout).unwrap().trim())
}

/// Calls a tool; `None` when there is no answer.
fn call(address: SocketAddr, bearer: &str, tool: &str, arguments: &Value) -> Option<Value> {
    let params = json!({"name": tool, "arguments": arguments});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let body = body.to_string();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Authorization: {bearer}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = client::raw(address, request.as_bytes()).ok()?;
    let answer: Value = tradepost_document::json::from_slice(&answer.body).ok()?;
    Some(answer["result"]["structuredContent"].clone())
}

fn open_account(address: SocketAddr, bearer: &str) {
    let arguments = json!({"idempotency_key": "open-the-account-1", "accounts": [
        {"brand": {"domain": "acme.example"}, "operator": "acme.example", "billing": "operator"},
    ]});
    let opened = call(address, bearer, "sync_accounts", &arguments).unwrap();
    assert_eq!(opened["accounts"][0]["status"], "active", "{opened}");
}

/// A buy of 1,000 impressions for each 8 USD.
fn order(key: &str, budget: u32) -> Value {
    json!({
        "idempotency_key": format!("buy-something-{key}"), "brand": {"domain": "acme.example"},
        "account": {"brand": {"domain": "acme.example"}, "operator": "acme.example"},
        "start_time": "2099-01-30T00:00:00Z", "end_time": "2099-01-31T00:00:00Z",
        "packages": [{"product_id": "front", "pricing_option_id": "cpm", "budget": budget}],
    })
}

fn check_commands(scratch: Option<&Scratch>) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let address = scratch.map(Scratch::address);
    let is_shared = scratch.is_some();
    configure(folder, address.as_deref(), "front", 10_000);
    let process =
        Process::start(folder, &["--config", folder.join("tradepost.toml").to_str().unwrap()]);
    let bearer = key(folder, is_shared);
    open_account(process.address, &bearer);
    let sold = call(process.address, &bearer, "create_media_buy", &order("0001", 40)).unwrap();
    assert_eq!(sold["status"], "completed", "{sold}");
    let refused = call(process.address, &bearer, "create_media_buy", &order("0002", 48)).unwrap();
    assert_eq!(refused["errors"][0]["details"]["days"][0]["available"], 5000, "{refused}");
    let days = ["--from", "2099-01-30", "--until", "2099-02-01"];
    expect_test::expect![[r#"
        0
        PRODUCT  POOL   UNIT         DATE        CAPACITY  BOOKED  HELD   LEFT  DELIVERED
        front    front  impressions  2099-01-30     10000    5000     0   5000
        front    front  impressions  2099-01-31     10000       0     0  10000
    "#]]
    .assert_eq(&said(folder, is_shared, &[&["list"], days.as_slice()].concat()));
    expect_test::expect![[r#"
        0
        publisher,product,pool,unit,date,capacity,booked,held,left,oversold,delivered,sandbox
        gazette,front,front,impressions,2099-01-30,10000,5000,0,5000,0,,false
        gazette,front,front,impressions,2099-01-31,10000,0,0,10000,0,,false
    "#]]
    .assert_eq(&said(folder, is_shared, &[&["export"], days.as_slice()].concat()));
    let unknown = said(folder, is_shared, &["list", "--product", "back"]);
    assert!(unknown.starts_with("2\n"), "{unknown}");
    let backwards =
        said(folder, is_shared, &["list", "--from", "2099-01-30", "--until", "2099-01-30"]);
    assert!(backwards.starts_with("2\n"), "{backwards}");
    assert_eq!(said(folder, is_shared, &["check"]), "0\nthe books are right\n");
    // In another pool, what is sold is not counted before the books are written anew.
    configure(folder, address.as_deref(), "pages", 10_000);
    let id = sold["media_buy_id"].as_str().unwrap();
    let wrong = said(folder, is_shared, &["check"]).replace(id, "mb_1");
    expect_test::expect![[r#"
        15
        error: the books differ from the media buys in 3 places
          media_buy mb_1: 5000 in the books, 5000 expected
          booked front on 2099-01-30: 5000 in the books, 0 expected
          booked pages on 2099-01-30: 0 in the books, 5000 expected
        hint: `tradepost publisher inventory repair` writes them anew
    "#]]
    .assert_eq(&wrong);
    let doctor = tradepost(folder, is_shared, &["doctor", "--timeout", "2"]);
    let doctor = String::from_utf8(doctor.stdout).unwrap();
    assert!(doctor.contains("the books differ"), "{doctor}");
    assert!(said(folder, is_shared, &["repair"]).starts_with("0\nthe books differed in"));
    assert_eq!(said(folder, is_shared, &["repair"]), "0\nthe books were right\n");
    assert_eq!(said(folder, is_shared, &["check"]), "0\nthe books are right\n");
    let audit =
        tradepost(folder, is_shared, &["audit", "list", "--publisher", "gazette", "--json"]);
    let audit = String::from_utf8(audit.stdout).unwrap();
    assert!(audit.contains("inventory_repaired"), "{audit}");
}

#[test]
fn inventory_is_listed_and_its_books_are_repaired() {
    check_commands(None);
}

#[test]
fn inventory_is_listed_from_postgresql_too() {
    if let Some(scratch) = Scratch::new() {
        check_commands(Some(&scratch));
    }
}

/// How often the process is killed while buys are on their way.
const KILLS: usize = 8;

/// Number of buyers that buy at the same time.
const BUYERS: usize = 3;

/// Impressions that there are, and those of each buy.
const CAPACITY: u64 = 60_000;
const EACH: u64 = 1_000;

#[test]
fn an_acknowledged_buy_is_booked_exactly_once_despite_kills() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    configure(folder, None, "front", CAPACITY);
    let process =
        Process::start(folder, &["--config", folder.join("tradepost.toml").to_str().unwrap()]);
    let bearer = key(folder, false);
    open_account(process.address, &bearer);
    drop(process);
    let mut rng = fastrand::Rng::with_seed(0xb00c);
    let mut bought: BTreeMap<String, Option<String>> = BTreeMap::new();
    let buy = |address: SocketAddr, key: &str| {
        let answer = call(address, &bearer, "create_media_buy", &order(key, 8))?;
        answer["media_buy_id"].as_str().map(ToOwned::to_owned)
    };
    for round in 0..KILLS {
        let mut process =
            Process::start(folder, &["--config", folder.join("tradepost.toml").to_str().unwrap()]);
        let address = process.address;
        let outcomes: Vec<_> = std::thread::scope(|scope| {
            let buyers: Vec<_> = (0..BUYERS)
                .map(|buyer| {
                    let buy = &buy;
                    scope.spawn(move || {
                        let mut outcomes = Vec::new();
                        loop {
                            let key = format!("{round:04}-{buyer}-{:04}", outcomes.len());
                            let id = buy(address, &key);
                            let has_ended = id.is_none();
                            outcomes.push((key, id));
                            if has_ended {
                                return outcomes;
                            }
                        }
                    })
                })
                .collect();
            pause(Duration::from_micros(rng.u64(2_000..60_000)));
            process.kill();
            buyers.into_iter().flat_map(|buyer| buyer.join().unwrap()).collect()
        });
        bought.extend(outcomes);
        assert_eq!(said(folder, false, &["check"]), "0\nthe books are right\n");
    }
    // Every buyer asks once more: whoever had an answer gets the same.
    let process =
        Process::start(folder, &["--config", folder.join("tradepost.toml").to_str().unwrap()]);
    for (key, id) in &mut bought {
        let again = buy(process.address, key);
        assert!(id.is_none() || *id == again, "{key}: {id:?} and {again:?}");
        *id = again;
    }
    let sold = u64::try_from(bought.values().flatten().count()).unwrap();
    assert!(sold > 0 && sold * EACH <= CAPACITY, "{sold} buys");
    assert_eq!(said(folder, false, &["check"]), "0\nthe books are right\n");
    let days = ["export", "--from", "2099-01-30", "--until", "2099-01-31", "--format", "jsonl"];
    let listed = said(folder, false, &days);
    assert!(listed.contains(&format!("\"booked\":{}", sold * EACH)), "{sold}: {listed}");
}
