//! Inventories that arrive by themselves: at a server that runs, and from one that answers as it is told.

use std::fs;
use std::path::Path;
use std::process::Command;

use tradepost_document::json::{Value, json};

use crate::process::{Process, data};
use crate::support::client::{self, Response};

mod pull;
mod sftp;
mod store;

const CONFIG: &str = r#"
    [server]
    listen = "127.0.0.1:0"
    operator_listen = "127.0.0.1:0"
    [[dealers]]
    id = "bare"
    name = "Bare Motors"
    rate_limit = { requests = 0 }
    auth = { api_keys = true }
    price_truth = "block"
    [[dealers.feeds]]
    name = "nightly"
    from = "folder"
    folder = "DROP"
    files = "*.csv*"
    quiet = "100ms"
    [[dealers.feeds]]
    name = "changes"
    from = "upload"
    mode = "delta"
    max_drop = 40
    preset = "homenet"
    max_bytes = 100000
    [[dealers.rooftops]]
    name = "Bare Motors Downtown"
    fees = [{ name = "Documentation", amount = 100 }]
"#;

const HEADING: &str =
    "Type,Stock,VIN,Year,Make,Model,Miles,SellingPrice,DateInStock,Status,ImageList\n";

/// A row of HomeNet's with a number of its own.
fn row(number: usize, price: u32, status: &str) -> String {
    let vin = format!("1HGCV1F30NA{number:06}");
    let photo = "https://cars.example/1.jpg";
    format!("Used,A{number},{vin},2022,Honda,Accord,1000,{price},2026-01-01,{status},{photo}\n")
}

fn feed(count: usize) -> String {
    let rows: String = (0..count).map(|number| row(number, 20_000, "")).collect();
    format!("{}{rows}", HEADING)
}

/// A server with an empty folder for feeds.
fn start(folder: &Path) -> Process {
    let drop = folder.join("drop");
    fs::create_dir(&drop).unwrap();
    Process::configured(folder, &CONFIG.replace("DROP", drop.to_str().unwrap()))
}

fn tradepost(folder: &Path, arguments: &[&str]) -> (Option<i32>, Value, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_tradepost"))
        .arg("--json")
        .args(arguments)
        .current_dir(folder)
        .arg("--data")
        .arg(data(folder))
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let document = tradepost_document::json::from_slice(&output.stdout).unwrap_or_default();
    (output.status.code(), document, stderr)
}

/// The prices of what is on offer, by stock number.
fn offered(server: &Process) -> Vec<(String, u64)> {
    let answer =
        server.call(&json!({"type": "inventory.search.request", "pagination": {"limit": 100}}));
    let vehicles = answer.pointer("/result/message/parts/0/data/data/vehicles");
    let vehicles = vehicles.and_then(Value::as_array).unwrap_or_else(|| panic!("{answer}"));
    let of = |v: &Value| {
        (
            v["stock"].as_str().unwrap_or_default().to_owned(),
            v["price"].as_u64().unwrap_or_default(),
        )
    };
    let mut all: Vec<_> = vehicles.iter().map(of).collect();
    all.sort();
    all
}

fn last_outcome(folder: &Path, feed: &str) -> Value {
    tradepost(folder, &["feeds", "show", feed]).1["run"]["outcome"].clone()
}

#[test]
fn a_dropped_file_is_searchable_and_an_accident_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let server = start(folder);
    let put = |name: &str, text: &str| {
        let drop_folder = folder.join("drop");
        fs::write(drop_folder.join("upload.part"), text).unwrap();
        fs::rename(drop_folder.join("upload.part"), drop_folder.join(name)).unwrap();
    };
    put("one.csv", &format!("{}Used,B1,,2022,Honda,Civic,5,=1+1,2026-01-01,,\n", feed(8)));
    server.until("eight are on offer", || offered(&server).len() == 8);
    assert_eq!(offered(&server)[0], ("A0".to_owned(), 20_100));
    let (_, shown, _) = tradepost(folder, &["feeds", "show", "nightly"]);
    assert_eq!(shown["run"]["outcome"], "taken");
    assert_eq!(shown["run"]["report"]["skips"][0]["reason"], "formula");
    assert_eq!(shown["run"]["report"]["preset"]["name"], "homenet");
    assert_eq!(shown["run"]["inventory"]["added"], 8);

    let cut = &feed(8)[..HEADING.len() + 140];
    for (name, text, outcome, said) in [
        ("two.csv", feed(3).as_str(), "held", "5 of the 8 units on offer would vanish"),
        ("three.csv", cut, "held", "ends in the middle of line 3"),
        ("four.csv", "<!DOCTYPE html><p>Login</p>", "unreadable", "HTML"),
        ("five.csv", "Make,Model,Price\nHonda,Accord,1\n", "unreadable", "no column VIN"),
    ] {
        put(name, text);
        let is_noted = || {
            let (_, shown, _) = tradepost(folder, &["feeds", "show", "nightly"]);
            shown["run"]["source"] == name
        };
        server.until(name, is_noted);
        let (_, shown, _) = tradepost(folder, &["feeds", "show", "nightly"]);
        assert_eq!(shown["run"]["outcome"], outcome, "{name}");
        let message = shown["run"]["message"].as_str().unwrap();
        assert!(message.contains(said), "{message}");
        assert_eq!(offered(&server).len(), 8, "{name}");
    }

    // A person permits it.
    put("six.csv", &feed(3));
    server.until("six", || last_outcome(folder, "nightly") == "held");
    let (code, ..) = tradepost(folder, &["feeds", "run", "nightly"]);
    assert_eq!(code, Some(2));
    let (code, run, stderr) = tradepost(folder, &["feeds", "run", "nightly", "--max-drop", "90"]);
    assert_eq!((code, &run["outcome"]), (Some(0), &json!("taken")), "{stderr}");
    server.until("three are on offer", || offered(&server).len() == 3);
    let (_, listed, _) = tradepost(folder, &["feeds", "list"]);
    assert_eq!(listed[0]["feed"], "nightly");
    assert!(listed[0]["taken_at"].is_string(), "{listed}");
    let metrics = client::request(server.operators(), "GET", "/metrics", &[], b"");
    let metrics = String::from_utf8(metrics.body).unwrap();
    assert!(metrics.contains(r#"feed_stale{agent="bare",feed="nightly"} 0"#), "{metrics}");
}

#[test]
fn an_upload_needs_permission_and_changes_what_it_names() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let server = start(folder);
    let key = |name: &str, scope: &[&str]| {
        let base = ["keys", "create", "--dealer", "bare", "--name", name];
        let (_, made, stderr) = tradepost(folder, &[&base[..], scope].concat());
        made["key"].as_str().unwrap_or_else(|| panic!("{stderr}")).to_owned()
    };
    let all = key("buyer", &[]);
    let feeds = key("provider", &["--scope", "feed:write"]);
    let upload = |name: &str, key: Option<&str>, body: &str| -> Response {
        let bearer = key.map(|key| format!("Bearer {key}"));
        let headers: Vec<_> = bearer.iter().map(|b| ("Authorization", b.as_str())).collect();
        client::request(server.address, "PUT", &format!("/feeds/{name}"), &headers, body.as_bytes())
    };
    let denied = upload("changes", None, &feed(2));
    assert_eq!((denied.status, denied.header("connection")), (401, Some("close")));
    assert!(denied.header("www-authenticate").is_some_and(|said| said.starts_with("Bearer")));
    assert_eq!(denied.json()["error"]["status"], "UNAUTHENTICATED");
    assert_eq!(upload("changes", Some("tp_wrong"), &feed(2)).status, 401);
    let denied = upload("changes", Some(&all), &feed(2));
    let missing = json!("the credential lacks the scope feed:write");
    assert_eq!((denied.status, &denied.json()["error"]["message"]), (403, &missing));
    assert_eq!(upload("nightly", Some(&feeds), &feed(2)).status, 404);
    let get = client::request(server.address, "GET", "/feeds/changes", &[], b"");
    assert_eq!(get.status, 405);
    assert!(offered(&server).is_empty());

    let first = upload("changes", Some(&feeds), &feed(3));
    assert_eq!((first.status, &first.json()["outcome"]), (200, &json!("taken")));
    server.until("three are on offer", || offered(&server).len() == 3);
    // A part: one is sold, one costs less, one is new, and one is not named.
    let part = [HEADING, &row(0, 0, "Sold"), &row(1, 19_000, ""), &row(9, 30_000, "")].concat();
    let second = upload("changes", Some(&feeds), &part).json();
    let counts = json!({"before": 3, "added": 1, "changed": 1, "unchanged": 1, "removed": 1});
    assert_eq!(second["inventory"], counts);
    let expected = [("A1", 19_100), ("A2", 20_100), ("A9", 30_100)];
    let expected: Vec<_> =
        expected.iter().map(|(stock, price)| ((*stock).to_owned(), *price)).collect();
    server.until("the part is on offer", || offered(&server) == expected);

    let sold: String = [1, 2, 9].map(|number| row(number, 0, "Sold")).concat();
    assert_eq!(upload("changes", Some(&feeds), &format!("{HEADING}{sold}")).status, 409);
    assert_eq!(upload("changes", Some(&feeds), "PK\u{3}\u{4}").status, 422);
    assert_eq!(upload("changes", Some(&feeds), &"x".repeat(100_001)).status, 413);
    assert_eq!(offered(&server), expected);
}

#[test]
fn the_demo_inventory_is_imported_from_every_format_by_preset() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (format, preset) in [
        ("homenet", "homenet"),
        ("vauto", "vauto"),
        ("google-listings", "google-listings"),
        ("google-ads-xml", "google-ads"),
        ("meta", "meta"),
        ("meta-xml", "meta"),
        ("autotrader", "autotrader"),
        ("aap-json", "aap-json"),
    ] {
        let written = Command::new(env!("CARGO_BIN_EXE_tradepost"))
            .args(["feeds", "demo", "--size", "40", "--format", format])
            .output()
            .unwrap();
        fs::write(folder.join("feed"), &written.stdout).unwrap();
        let import = ["import", "feed", "--demo", "--dry-run", "--preset", preset];
        let (code, document, stderr) = tradepost(folder, &import);
        assert_eq!(code, Some(0), "{format}: {stderr}");
        assert_eq!(document["report"]["accepted"], 40, "{format}");
    }
    let misspelled = ["import", "feed", "--demo", "--dry-run", "--preset", "homnet"];
    let (code, document, stderr) = tradepost(folder, &misspelled);
    assert_eq!(code, Some(2), "{stderr}");
    assert!(document.to_string().contains("did you mean homenet?"), "{document}");
}
