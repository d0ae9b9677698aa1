//! Delivery that a publisher's programs push and its people import, beside a running server on both stores: what is
//! stored and refused, who may do it, pushes at the same moment, and what is left when the process is killed.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Barrier;
use std::time::Duration;

use tradepost_document::json::{Value, json, to_string_pretty};

use super::staff::catalogue;
use crate::hosting::check_answer;
use crate::process::{Process, data, pause};
use crate::support::client::{self, Response};
use crate::support::postgres::Scratch;

/// Number of pushes at the same moment.
const PUSHERS: u64 = 8;

/// How often the process is killed while delivery is pushed.
const KILLS: usize = 6;

/// A server with two publishers, of which one has sold something.
struct PushFixture {
    folder: tempfile::TempDir,
    is_shared: bool,
    process: Process,
    operators: SocketAddr,
    key: String,
    bearer: String,
    sold: Value,
}

fn configure(folder: &Path, database: Option<&str>) {
    let mut sold = catalogue();
    sold["products"][0]["terms"] = json!({});
    std::fs::write(folder.join("catalogue.json"), sold.to_string()).unwrap();
    let file = folder.join("catalogue.json");
    let database = database.map(|url| format!("database = {url:?}")).unwrap_or_default();
    let publisher = |id: &str| {
        format!(
            r#"
            [[publishers]]
            id = "{id}"
            name = "{id}"
            domain = "{id}.example"
            hosts = ["{id}.example"]
            catalogue = {file:?}
            billing = ["operator"]

            [[publishers.agents]]
            id = "acme"
            credentials = ["acme"]
            "#
        )
    };
    let config = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\noperator_listen = \"127.0.0.1:0\"\nlog_filter = \"info\"\n{database}\n{}{}",
        publisher("gazette"),
        publisher("herald"),
    );
    std::fs::write(folder.join("tradepost.toml"), config).unwrap();
}

fn start(folder: &Path) -> Process {
    Process::start(folder, &["--config", folder.join("tradepost.toml").to_str().unwrap()])
}

fn tradepost(folder: &Path, is_shared: bool, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradepost"));
    command.args(arguments).current_dir(folder);
    if !is_shared {
        command.arg("--data").arg(data(folder));
    }
    command.output().unwrap()
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Calls a tool of the first publisher.
fn call(address: SocketAddr, bearer: &str, tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let headers = [("Content-Type", "application/json"), ("Authorization", bearer)];
    let bytes =
        client::bytes("gazette.example", "POST", "/mcp", &headers, body.to_string().as_bytes());
    client::raw(address, &bytes).unwrap().json()["result"]["structuredContent"].clone()
}

impl PushFixture {
    fn new(scratch: Option<&Scratch>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let is_shared = scratch.is_some();
        configure(folder.path(), scratch.map(Scratch::address).as_deref());
        let process = start(folder.path());
        let created = |more: &[&str]| {
            let made = tradepost(folder.path(), is_shared, &[&["keys", "create"], more].concat());
            stdout(&made).trim().to_owned()
        };
        let key = created(&["--admin", "--name", "adops", "--scope", "delivery:write"]);
        let bearer = format!("Bearer {}", created(&["--publisher", "gazette", "--name", "acme"]));
        let account = json!({"brand": {"domain": "acme.example"}, "operator": "acme.example"});
        let opened = call(
            process.address,
            &bearer,
            "sync_accounts",
            &json!({"idempotency_key": "open-the-account-1", "accounts": [
                {"brand": {"domain": "acme.example"}, "operator": "acme.example", "billing": "operator"},
            ]}),
        );
        assert_eq!(opened["accounts"][0]["status"], "active", "{opened}");
        let package =
            json!({"product_id": "front", "pricing_option_id": "cpm", "budget": 1_000_000});
        let sold = call(
            process.address,
            &bearer,
            "create_media_buy",
            &json!({
                "idempotency_key": "buy-something-to-deliver", "brand": {"domain": "acme.example"},
                "account": account, "start_time": "asap", "end_time": "2099-01-31T00:00:00Z",
                "packages": [package, package],
            }),
        );
        assert_eq!(sold["status"], "completed", "{sold}");
        let operators = process.operators();
        Self { folder, is_shared, process, operators, key, bearer, sold }
    }

    fn buy(&self) -> &str {
        self.sold["media_buy_id"].as_str().unwrap()
    }

    fn package(&self, place: usize) -> &str {
        self.sold["packages"][place]["package_id"].as_str().unwrap()
    }

    /// The day on which the flight begins.
    fn day(&self) -> String {
        let package = &self.sold["packages"][0];
        package["start_time"].as_str().unwrap()[..10].to_owned()
    }

    /// Pushes a body for a publisher, and compares the answer with the OpenAPI document.
    fn push(&self, publisher: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        push(self.operators, publisher, headers, body)
    }

    /// Pushes rows for the first publisher.
    fn rows(&self, rows: &Value) -> Response {
        let bearer = format!("Bearer {}", self.key);
        let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        self.push("gazette", &headers, json!({"rows": rows}).to_string().as_bytes())
    }

    /// Rows that say the same number of both packages.
    fn same(&self, impressions: u64) -> Value {
        let row = |place: usize| {
            json!({
                "media_buy_id": self.buy(), "package_id": self.package(place), "date": self.day(),
                "impressions": impressions, "spend": impressions,
            })
        };
        json!([row(0), row(1)])
    }

    /// Impressions of both packages as the buyer sees them, and in all.
    fn delivered(&self) -> [u64; 3] {
        let asked = json!({"media_buy_ids": [self.buy()]});
        let shown = call(self.process.address, &self.bearer, "get_media_buy_delivery", &asked);
        let row = &shown["media_buy_deliveries"][0];
        let of = |row: &Value| row["impressions"].as_u64().unwrap_or_else(|| panic!("{shown}"));
        [of(&row["by_package"][0]), of(&row["by_package"][1]), of(&row["totals"])]
    }

    /// An answer with what differs from run to run replaced.
    fn shown(&self, answer: &Response) -> String {
        let text = format!("{} {}\n", answer.status, to_string_pretty(&answer.json()).unwrap());
        text.replace(self.buy(), "BUY")
            .replace(self.package(0), "PACKAGE")
            .replace(&self.day(), "DAY")
    }

    /// What a command of delivery writes, and its exit code.
    fn said(&self, arguments: &[&str]) -> String {
        let more = ["--publisher", "gazette"];
        let arguments = [&["publisher", "delivery"], arguments, &more].concat();
        let output = tradepost(self.folder.path(), self.is_shared, &arguments);
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        let text = text.replace(self.buy(), "BUY").replace(self.package(0), "PACKAGE");
        format!("{}\n{}", output.status.code().unwrap(), text.replace(&self.day(), "DAY"))
    }
}

fn push(operators: SocketAddr, publisher: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
    let path = format!("/publishers/{publisher}/delivery");
    let answer = client::request(operators, "POST", &format!("/admin/v1{path}"), headers, body);
    check_answer("POST", &path, &answer);
    answer
}

fn is_pushed_and_imported(scratch: Option<&Scratch>) {
    let fixture = PushFixture::new(scratch);
    let day = fixture.day();
    let good = json!([
        {"media_buy_id": fixture.buy(), "package_id": fixture.package(0), "date": day,
         "impressions": 1000, "clicks": 3, "completed_views": 1, "spend": 8.5, "currency": "USD"},
        {"package_id": fixture.package(1), "date": day, "impressions": 20, "spend": 0},
    ]);
    let stored = fixture.rows(&good);
    expect_test::expect![[r#"
        200 {
          "rows": 2,
          "changed": 2,
          "media_buys": [
            {
              "media_buy_id": "BUY",
              "rows": 2,
              "changed": 2,
              "added": 2,
              "finalized": 0,
              "corrected": 0,
              "impressions": 1020,
              "spend": 8.5,
              "currency": "USD"
            }
          ]
        }
    "#]]
    .assert_eq(&fixture.shown(&stored));
    assert_eq!(fixture.delivered(), [1000, 20, 1020]);
    let again = fixture.rows(&good);
    assert_eq!((again.status, &again.json()["changed"]), (200, &json!(0)));
    let bad = json!([
        {"media_buy_id": fixture.buy(), "package_id": fixture.package(0), "date": day,
         "impressions": 7, "spend": 1},
        {"media_buy_id": fixture.buy(), "date": "2020-01-01", "impressions": -1, "spend": "1"},
        {"media_buy_id": fixture.buy(), "package_id": fixture.package(1), "date": "2020-01-01",
         "impressions": 1, "spend": 3_000_000, "currency": "EUR"},
        {"media_buy_id": "mb_nothing", "date": day, "impressions": 1, "spend": 1},
    ]);
    expect_test::expect![[r#"
        422 {
          "error": {
            "code": "INVALID_DELIVERY",
            "message": "the rows have 5 problems; nothing was stored",
            "hint": "correct every problem, and send all rows again",
            "problems": [
              {
                "row": 2,
                "column": "impressions",
                "error": "must be >= 0",
                "hint": "correct the row, and send all of them again"
              },
              {
                "row": 2,
                "column": "spend",
                "error": "must be number",
                "hint": "correct the row, and send all of them again"
              },
              {
                "row": 3,
                "column": "currency",
                "error": "the media buy is in USD",
                "hint": "write the spend in the currency of the media buy"
              },
              {
                "row": 3,
                "column": "date",
                "error": "the flight begins on DAY",
                "hint": "check the date, or the media buy"
              },
              {
                "row": 4,
                "column": "media_buy_id",
                "error": "there is no such media buy",
                "hint": "`tradepost publisher buys list` lists them"
              }
            ]
          }
        }
    "#]]
    .assert_eq(&fixture.shown(&fixture.rows(&bad)));
    assert_eq!(fixture.delivered(), [1000, 20, 1020], "nothing is stored");

    // A table, with less than before.
    let bearer = format!("Bearer {}", fixture.key);
    let table = format!(
        "Day;Package;Impressions;Revenue (USD);Site\n{day};{};900;7,20;home\nTotal;;900;7,20;\n",
        fixture.package(0)
    );
    let headers = [("Authorization", bearer.as_str()), ("Content-Type", "text/csv; charset=utf-8")];
    let stored = fixture.push("gazette", &headers, table.as_bytes());
    assert_eq!((stored.status, &stored.json()["changed"]), (200, &json!(1)));
    let left_out = |name: &str| stored.json()[name].clone();
    assert_eq!([left_out("ignored_columns"), left_out("total_rows")], [json!(["Site"]), json!(1)]);
    assert_eq!(fixture.delivered(), [900, 20, 920]);

    // By hand, with every problem of the file.
    let file = fixture.folder.path().join("export.csv");
    std::fs::write(
        &file,
        format!("date,package,imps,cost\n{day},x,1,-1\n2020-01-01,{},1,1\n", fixture.package(0)),
    )
    .unwrap();
    expect_test::expect![[r#"
        2
        error: the rows have 2 problems; nothing was stored
          row 2, column "cost": "-1" is below zero; write an amount that is not negative
          row 3, column "date": the flight begins on DAY; check the date, or the media buy
        hint: correct them, and import the whole file again
    "#]]
    .assert_eq(&fixture.said(&["import", "export.csv"]));
    std::fs::write(
        &file,
        format!(
            "date,package,imps,cost,site\n{day},{},950,7.6,home\nTotal,,950,7.6,\n",
            fixture.package(0)
        ),
    )
    .unwrap();
    expect_test::expect![[r#"
        0
        BUY: 1 rows, 1 days changed (0 new), 0 made final; 950 impressions and 7.6 USD in all
        columns without a meaning: site
        rows with totals, left out: 1
    "#]]
    .assert_eq(&fixture.said(&["import", "export.csv"]));
    let many = format!("date,package,imps,cost\n{}", "x,p,1,1\n".repeat(1_001));
    std::fs::write(&file, many).unwrap();
    let said = fixture.said(&["import", "export.csv", "--json"]);
    let end: String = said.chars().rev().take(400).collect();
    let end: String = end.chars().rev().filter(|c| !c.is_whitespace()).collect();
    assert!(said.contains("\"problems_not_listed\""), "{end}");
    assert_eq!(fixture.delivered(), [950, 20, 970]);
    let exported = fixture.said(&["export", "--format", "csv"]);
    assert!(exported.contains("gazette,BUY,pending_creatives,"), "{exported}");
    assert!(
        exported.lines().nth(1).unwrap().ends_with("final_reports,pushed_reports"),
        "{exported}"
    );
    assert!(exported.lines().nth(2).unwrap().ends_with(",0,2"), "{exported}");

    let audit = ["audit", "list", "--publisher", "gazette", "--json"];
    let audit = stdout(&tradepost(fixture.folder.path(), fixture.is_shared, &audit));
    let entries = audit.matches("delivery_reported").count();
    assert_eq!(entries, 3, "two pushes and an import that changed something: {audit}");
    assert!(audit.contains("key:adops"), "{audit}");
}

#[test]
fn delivery_is_pushed_and_imported() {
    is_pushed_and_imported(None);
}

#[test]
fn delivery_is_pushed_and_imported_on_postgresql_too() {
    if let Some(scratch) = Scratch::new() {
        is_pushed_and_imported(Some(&scratch));
    }
}

#[test]
fn pushed_delivery_needs_its_scope_and_its_own_publisher() {
    let fixture = PushFixture::new(None);
    let created = |more: &[&str]| {
        let made = tradepost(fixture.folder.path(), false, &[&["keys", "create"], more].concat());
        format!("Bearer {}", stdout(&made).trim())
    };
    let reads = created(&["--admin", "--name", "reader", "--scope", "dealers:write"]);
    let own = format!("Bearer {}", fixture.key);
    let row = |buy: &str| {
        let row = json!({"media_buy_id": buy, "date": fixture.day(), "impressions": 1, "spend": 1});
        json!({"rows": [row]}).to_string()
    };
    let body = row(fixture.buy());
    let ask = |publisher: &str, bearer: &str, kind: &str, body: &[u8]| {
        let headers = [("Authorization", bearer), ("Content-Type", kind)];
        let answer = fixture.push(publisher, &headers, body);
        format!("{} {}", answer.status, answer.json()["error"]["code"])
    };
    let json_body = "application/json";
    let anonymous = fixture.push("gazette", &[("Content-Type", json_body)], body.as_bytes());
    assert_eq!(anonymous.status, 401);
    let nobody = fixture.push("nobody", &[("Content-Type", json_body)], body.as_bytes());
    assert_eq!((nobody.status, &nobody.body), (401, &anonymous.body));
    let of_reader = [("Authorization", reads.as_str()), ("Content-Type", json_body)];
    let lacking = fixture.push("gazette", &of_reader, body.as_bytes());
    assert_eq!(lacking.json()["error"]["message"], "the key lacks the scope delivery:write");
    let large = vec![b' '; 4 * 1024 * 1024 + 1];
    for (asked, expected) in [
        (ask("gazette", &reads, json_body, body.as_bytes()), r#"403 "PERMISSION_DENIED""#),
        (ask("gazette", &fixture.bearer, json_body, body.as_bytes()), r#"401 "UNAUTHENTICATED""#),
        (ask("nobody", &own, json_body, body.as_bytes()), r#"404 "NOT_FOUND""#),
        (ask("gazette", &own, "text/plain", body.as_bytes()), r#"415 "UNSUPPORTED_MEDIA_TYPE""#),
        (ask("gazette", &own, json_body, b"{"), r#"400 "INVALID_JSON""#),
        (ask("gazette", &own, json_body, b"[]"), r#"422 "INVALID_DELIVERY""#),
        (ask("gazette", &own, "text/csv", b"a,b\n"), r#"422 "INVALID_DELIVERY""#),
        (ask("gazette", &own, json_body, &large), r#"413 "TOO_LARGE""#),
    ] {
        assert_eq!(asked, expected);
    }
    let got = client::request(
        fixture.operators,
        "GET",
        "/admin/v1/publishers/gazette/delivery",
        &[("Authorization", &own)],
        b"",
    );
    assert_eq!(got.status, 405);
    // Another publisher's media buy is answered like one that there is not.
    let headers = [("Authorization", own.as_str()), ("Content-Type", json_body)];
    let foreign = fixture.push("herald", &headers, body.as_bytes());
    let absent = fixture.push("herald", &headers, row("mb_nothing").as_bytes());
    assert_eq!((foreign.status, &foreign.body), (422, &absent.body));
    assert_eq!(fixture.delivered(), [0, 0, 0]);
}

fn are_taken_one_after_the_other(scratch: Option<&Scratch>) {
    let fixture = PushFixture::new(scratch);
    let barrier = Barrier::new(usize::try_from(PUSHERS).unwrap());
    std::thread::scope(|scope| {
        for number in 1..=PUSHERS {
            let fixture = &fixture;
            let barrier = &barrier;
            scope.spawn(move || {
                let rows = fixture.same(number * 100);
                barrier.wait();
                for _ in 0..5 {
                    let answer = fixture.rows(&rows);
                    assert_eq!(answer.status, 200, "{}", answer.snapshot());
                }
            });
        }
    });
    let [first, second, all] = fixture.delivered();
    assert_eq!((first, first + second), (second, all), "both rows of one push");
    assert!(first % 100 == 0 && (1..=PUSHERS).contains(&(first / 100)), "{first}");
}

#[test]
fn pushes_at_one_moment_are_whole() {
    are_taken_one_after_the_other(None);
}

#[test]
fn pushes_at_one_moment_are_whole_on_postgresql_too() {
    if let Some(scratch) = Scratch::new() {
        are_taken_one_after_the_other(Some(&scratch));
    }
}

#[test]
fn an_acknowledged_push_is_stored_whole_despite_kills() {
    let mut fixture = PushFixture::new(None);
    let folder = fixture.folder.path().to_owned();
    let mut rng = fastrand::Rng::with_seed(0xde11);
    let mut pushed = 0;
    let mut kept = 0;
    for _ in 0..KILLS {
        let operators = fixture.process.operators();
        let bodies = |number: u64| json!({"rows": fixture.same(number)}).to_string();
        let bearer = format!("Bearer {}", fixture.key);
        let acknowledged = std::thread::scope(|scope| {
            let pusher = scope.spawn(|| {
                let mut last = pushed;
                loop {
                    let body = bodies(last + 1);
                    let headers =
                        [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
                    let path = "/admin/v1/publishers/gazette/delivery";
                    let bytes = client::bytes("localhost", "POST", path, &headers, body.as_bytes());
                    match client::raw(operators, &bytes) {
                        Ok(answer) if answer.status == 200 => last += 1,
                        Ok(_) | Err(_) => return last,
                    }
                }
            });
            pause(Duration::from_micros(rng.u64(20_000..150_000)));
            fixture.process.signal("KILL");
            pusher.join().unwrap()
        });
        fixture.process.kill();
        // The next process says anew where operators ask.
        std::fs::remove_file(folder.join("log")).unwrap();
        fixture.process = start(&folder);
        let [first, second, all] = fixture.delivered();
        assert_eq!((first, first + second), (second, all), "all rows of a push or none");
        assert!([acknowledged, acknowledged + 1].contains(&first), "{acknowledged}: {first}");
        kept += acknowledged - pushed;
        pushed = first;
    }
    assert!(kept > 0, "something was acknowledged");
}
