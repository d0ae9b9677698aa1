//! The commands of deliveries, beside a server that runs, and what the configuration says of them.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use expect_test::expect;

use super::*;
use crate::process::{Process, data};
use crate::support::client;

/// Runs a command in a folder with a configuration; its exit code and what it writes.
fn tradepost(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_tradepost"))
        .args(arguments)
        .current_dir(folder)
        .env("TRADEPOST_DEALERS__0__DELIVERIES__1__HMAC_KEY", KEY)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn config(url: &str) -> String {
    format!(
        r#"
        [server]
        listen = "127.0.0.1:0"
        operator_listen = "127.0.0.1:0"
        [[dealers]]
        id = "bare"
        name = "Bare Motors"
        rate_limit = {{ requests = 0 }}
        [[dealers.deliveries]]
        name = "crm"
        by = "https"
        url = "{url}"
        [[dealers.deliveries]]
        name = "hub"
        by = "webhook"
        url = "{url}"
        kinds = ["service"]
        hmac_key = "{KEY}"
        [[dealers.rooftops]]
        name = "Bare Motors Downtown"
        "#
    )
}

/// Without what differs from run to run.
fn redacted(text: &str) -> String {
    let mut rows: Value = tradepost_document::json::from_str(text).unwrap();
    for row in rows.as_array_mut().unwrap() {
        for name in ["id", "lead_id", "created_at", "ended_at"] {
            if row[name].is_string() {
                row[name] = json!(format!("<{name}>"));
            }
        }
    }
    format!("{rows:#}\n")
}

#[test]
fn what_was_given_up_is_seen_and_sent_again() {
    let folder = tempfile::tempdir().unwrap();
    let back = Arc::new(AtomicBool::new(false));
    let is_back = Arc::clone(&back);
    let mut receiver = Webhook::answering(move |_| {
        if is_back.load(Ordering::SeqCst) { yes() } else { answer("404 Seekrit") }
    });
    let url = format!("{}?key=seekrit", receiver.url());
    let process = Process::configured(folder.path(), &config(&url));
    let granted_at = format!("{:.0}", Clock::system().now());
    let lead = with(lead(), &[("/consent/granted_at", json!(granted_at))]);
    let answer = process.call(&lead);
    let lead_id = answer.pointer("/result/message/parts/0/data/data/lead_id").unwrap();
    let lead_id = lead_id.as_str().unwrap().to_owned();
    process.until("it is given up", || process.log().contains("a lead was not delivered"));

    let place = data(folder.path());
    let place = ["--data", place.to_str().unwrap()];
    let run = |arguments: &[&str]| tradepost(folder.path(), &[arguments, &place].concat());
    let (code, listed, _) = run(&["--json", "leads", "deliveries", "--dead"]);
    assert_eq!(code, Some(0));
    let expected = expect![[r#"
        [
          {
            "id": "<id>",
            "lead_id": "<lead_id>",
            "dealer_id": "bare",
            "destination": "crm",
            "event": 1,
            "state": "dead",
            "attempts": 1,
            "may_have_arrived": false,
            "last_answer": "HTTP 404",
            "created_at": "<created_at>",
            "next_attempt_at": null,
            "ended_at": "<ended_at>"
          }
        ]
    "#]];
    expected.assert_eq(&redacted(&listed));
    let (_, table, _) = run(&["leads", "deliveries"]);
    for word in [lead_id.as_str(), "crm", "dead", "HTTP 404"] {
        assert!(table.contains(word), "{word}: {table}");
    }
    let ready = client::request(process.address, "GET", "/readyz", &[], b"");
    assert_eq!(ready.json(), json!({"status": "ready", "dead_deliveries": 1}));
    let operators = process.operators();
    let numbers = client::request(operators, "GET", "/metrics", &[], b"");
    let numbers = String::from_utf8(numbers.body).unwrap();
    for line in [
        "tradepost_deliveries_pending{agent=\"bare\"} 0\n",
        "tradepost_deliveries_dead{agent=\"bare\"} 1\n",
    ] {
        assert!(numbers.contains(line), "{line}{numbers}");
    }
    let log = process.log();
    assert!(log.contains(&lead_id) && log.contains("destination=crm"), "{log}");
    for secret in ["seekrit", "Seekrit", "Lovelace", "ada@example.com"] {
        for (place, text) in [("log", &log), ("list", &listed), ("table", &table)] {
            assert!(!text.contains(secret), "{secret} is in the {place}");
        }
    }

    let (code, _, said) = run(&["leads", "resend", &lead_id, "--to", "nobody"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("hint: the destinations are crm, hub"), "{said}");
    assert_eq!(run(&["leads", "resend", "lead_of_nobody"]).0, Some(2));
    back.store(true, Ordering::SeqCst);
    let (code, said, _) = run(&["leads", "resend", &lead_id]);
    assert_eq!((code, said), (Some(0), format!("{lead_id} will be delivered to crm\n")));
    receiver.wait(2);
    let first = || {
        let (_, leads, _) = run(&["--json", "leads", "list"]);
        let leads: Value = tradepost_document::json::from_str(&leads).unwrap();
        leads[0]["first_delivered_at"].as_str().map(str::to_owned)
    };
    process.until("it is delivered", || first().is_some());
    assert!(run(&["leads", "list"]).1.contains("DELIVERED"));
    assert_eq!(run(&["--json", "leads", "deliveries", "--dead"]).1.trim(), "[]");
    let ready = client::request(process.address, "GET", "/readyz", &[], b"");
    assert_eq!(ready.json(), json!({"status": "ready"}));
    // One that it is not for gets it when it is named, and is told what everybody else was.
    let (code, ..) = run(&["leads", "resend", &lead_id, "--to", "hub", "--json"]);
    assert_eq!(code, Some(0));
    assert_eq!(receiver.wait(3)[2].json()["entity_id"], lead_id.as_str());
}

#[test]
fn a_destination_is_tried_with_what_is_no_lead() {
    let folder = tempfile::tempdir().unwrap();
    let mut receiver =
        Webhook::answering(|number| if number < 2 { yes() } else { answer("500 No") });
    std::fs::write(folder.path().join("tradepost.toml"), config(&receiver.url())).unwrap();
    let test = |name: &str| tradepost(folder.path(), &["leads", "test-delivery", name]);
    assert_eq!(test("crm"), (Some(0), "crm: taken\n".into(), String::new()));
    assert_eq!(test("hub").0, Some(0));
    let (code, _, said) = test("crm");
    assert_eq!(code, Some(1));
    assert!(said.contains("the test was not accepted: HTTP 500"), "{said}");
    let (code, _, said) = test("fax");
    assert_eq!(code, Some(2));
    assert!(said.contains("hint: the destinations are crm, hub"), "{said}");
    let seen = receiver.wait(3);
    for text in ["TEST No Customer", "This is a test", "<phone>unknown</phone>", "do not contact"] {
        assert!(seen[0].body.contains(text), "{text}: {}", seen[0].body);
    }
    assert_eq!(seen[1].json().pointer("/payload/delivery/test"), Some(&json!(true)));
}

#[test]
fn check_config_names_everything_that_is_wrong_with_destinations() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"
[[dealers]]
id = "bare"
name = "Bare Motors"
[[dealers.deliveries]]
name = "crm"
by = "smtp"
url = "https://crm.example.com"
tls = "none"
host = "mail.example.com"
user = "leads"
to = ["nobody"]
[[dealers.deliveries]]
name = "crm"
by = "https"
url = "http://crm.example.com"
bearer = "a"
bearer_file = "b"
rooftops = ["Downtown", "bare motors downtown"]
kinds = ["test-drive"]
[[dealers.deliveries]]
name = "hub"
by = "webhook"
attempts = 0
give_up_after = "1s"
[[dealers.deliveries]]
by = "fax"
adf = { prolog = "sgml" }
[[dealers.deliveries]]
name = "room"
by = "chat"
url = "https://hooks.example.com/x"
hmac_key = "short"
[[dealers.rooftops]]
name = "Bare Motors Downtown"
"#;
    std::fs::write(folder.path().join("tradepost.toml"), text).unwrap();
    let (code, _, said) = tradepost_alone(folder.path(), &["check-config"]);
    assert_eq!(code, Some(2));
    let expected = expect![[r#"
        error: tradepost.toml has 20 mistakes
          tradepost.toml:5: dealers[0].deliveries[0].from: is missing; a destination by smtp needs it
          tradepost.toml:5: dealers[0].deliveries[0].password_file: is missing beside user
          tradepost.toml:8: dealers[0].deliveries[0].url: belongs to destinations by https or webhook or chat, not by smtp
          tradepost.toml:9: dealers[0].deliveries[0].tls: none is for this machine: leads would cross the network in the clear; with allow_plain = true they do
          tradepost.toml:12: dealers[0].deliveries[0].to[0]: must be an e-mail address such as leads@crm.example.com
          tradepost.toml:14: dealers[0].deliveries[1].name: another destination of this dealer has this name already
          tradepost.toml:16: dealers[0].deliveries[1].url: must be an address with https, such as https://www.example.com/page; http only on 127.0.0.1 or [::1]
          tradepost.toml:17: dealers[0].deliveries[1].bearer: is here twice; keep this or bearer_file
          tradepost.toml:19: dealers[0].deliveries[1].rooftops[0]: no rooftop of this dealer has this name
          tradepost.toml:20: dealers[0].deliveries[1].kinds[0]: must be one of sales, service, test_drive, trade_in, inquiry
          tradepost.toml:21: dealers[0].deliveries[2].url: is missing; a destination by webhook needs it
          tradepost.toml:21: dealers[0].deliveries[2].hmac_key_file: is missing; a destination by webhook needs a key with which it can tell who sends
          tradepost.toml:24: dealers[0].deliveries[2].attempts: must be >= 1
          tradepost.toml:25: dealers[0].deliveries[2].give_up_after: must be from 1m to 30d
          tradepost.toml:26: dealers[0].deliveries[3].name: is missing; it has no default
          tradepost.toml:27: dealers[0].deliveries[3].by: must be one of smtp, https, webhook, chat
          tradepost.toml:28: dealers[0].deliveries[3].adf.prolog: must be one of xml, legacy
          tradepost.toml:29: dealers[0].deliveries[4].style: is missing; a destination by chat needs it
          tradepost.toml:33: dealers[0].deliveries[4].hmac_key: belongs to destinations by webhook, not by chat
          tradepost.toml:33: dealers[0].deliveries[4].hmac_key: must have 32 characters or more
        hint: correct each line; `tradepost init` writes a file that explains every key
    "#]];
    expected.assert_eq(&said);

    // What only the files can tell is told together, too.
    let text = config("https://crm.example.com").replace("hmac_key =", "hmac_key_file =");
    let text = text.replace("by = \"https\"", "by = \"https\"\nbearer_file = \"no/such/token\"");
    std::fs::write(folder.path().join("tradepost.toml"), text).unwrap();
    let (code, _, said) = tradepost_alone(folder.path(), &["check-config"]);
    assert_eq!(code, Some(2));
    let expected = expect![[r#"
        error: a secret, or a destination of leads, staff messages or alerts, cannot be used
          dealer bare, destination crm: bearer: cannot read no/such/token: entity not found
          dealer bare, destination hub: hmac_key: cannot read 0123456789abcdef0123456789abcdef: entity not found
        hint: correct the listed settings; paths are relative to the working directory
    "#]];
    expected.assert_eq(&said);

    std::fs::write(folder.path().join("tradepost.toml"), config("https://crm.example.com"))
        .unwrap();
    let (code, out, _) = tradepost_alone(folder.path(), &["check-config"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("dealer bare: leads are delivered to crm, hub"), "{out}");
}

#[test]
fn destinations_are_read_again_while_the_server_runs() {
    let folder = tempfile::tempdir().unwrap();
    let mut receiver = Webhook::start();
    let full = config(&receiver.url());
    let (head, rest) = full.split_once("[[dealers.deliveries]]").unwrap();
    let rooftops = rest.split_once("[[dealers.rooftops]]").unwrap().1;
    let without = format!("{head}[[dealers.rooftops]]{rooftops}");
    let process = Process::configured(folder.path(), &without);
    let send = |email: &str| {
        let granted_at = format!("{:.0}", Clock::system().now());
        let changes =
            [("/consent/granted_at", json!(granted_at)), ("/customer/email", json!(email))];
        let answer = process.call(&with(lead(), &changes));
        assert!(answer.pointer("/result/message").is_some(), "{answer}");
    };
    send("early@example.com");
    std::fs::write(folder.path().join("tradepost.toml"), &full).unwrap();
    process.signal("HUP");
    process.until("it is read", || process.log().contains("configuration read again"));
    send("late@example.com");
    assert!(receiver.wait(1)[0].body.contains("late@example.com"));
    assert_eq!(receiver.quiet().len(), 1, "who is named today is not told of the past");
}

/// Without anything in the environment.
fn tradepost_alone(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradepost"));
    let output = command.args(arguments).current_dir(folder).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}
