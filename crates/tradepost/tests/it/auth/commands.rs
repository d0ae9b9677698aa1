//! `tradepost keys`, beside a running server whose log is read afterwards.

use std::path::Path;
use std::process::{Command, Output};

use tradepost_document::json::{Value, json};
use tradepost_server::auth::key::NewApiKey;

use crate::process::{Process, data, fresh_lead};
use crate::support::{client, envelope};

const DEALER: &str = r#"
    [server]
    listen = "127.0.0.1:0"
    log_filter = "trace"

    [[dealers]]
    id = "bare"
    name = "Bare Motors"
    auth = { required = true, api_keys = true }

    [[dealers.rooftops]]
    name = "Bare Motors Downtown"
"#;

fn tradepost(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tradepost"))
        .args(arguments)
        .current_dir(folder)
        .arg("--data")
        .arg(data(folder))
        .output()
        .unwrap()
}

fn json_of(folder: &Path, arguments: &[&str]) -> Value {
    let output = tradepost(folder, &[&["--json", "keys"], arguments].concat());
    assert!(output.status.success(), "{output:?}");
    tradepost_document::json::from_slice(&output.stdout).unwrap()
}

fn refusal(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = tradepost(folder, &[&["keys"], arguments].concat());
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn keys_are_managed_beside_a_server_and_leave_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("tradepost.toml"), DEALER).unwrap();
    let config = folder.join("tradepost.toml");
    let process = Process::start(folder, &["--config", config.to_str().unwrap()]);
    let ask = |key: &str, payload: &Value| {
        let authorization = format!("Bearer {key}");
        let headers = [("Content-Type", "application/json"), ("Authorization", &authorization)];
        let body = envelope(payload).to_string();
        client::request(process.address, "POST", "/a2a", &headers, body.as_bytes())
    };
    let question = json!({"type": "dealer.information.request"});

    // People get the key alone on standard output.
    let output = tradepost(folder, &["keys", "create", "--dealer", "bare", "--name", "acme"]);
    let key = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    assert!(key.starts_with("tp_") && key.len() == 84, "{:?}", String::from_utf8(output.stderr));
    assert_eq!(ask(&key, &question).status, 200, "it holds at once");
    let made = json_of(
        folder,
        &["create", "--name", "reader", "--scope", "dealer:read", "--expires", "30d"],
    );
    let reader = made["key"].as_str().unwrap();
    assert_eq!((&made["scopes"], &made["state"]), (&json!(["dealer:read"]), &json!("valid")));
    assert_eq!((ask(reader, &question).status, ask(reader, &fresh_lead(&[])).status), (200, 403));

    let listed = json_of(folder, &["list", "--dealer", "bare"]);
    let names: Vec<_> = listed.as_array().unwrap().iter().map(|key| &key["name"]).collect();
    assert_eq!(names, ["acme", "reader"]);
    assert_eq!(listed[0]["scopes"], Value::Null);
    assert!(listed[0]["last_used_on"].is_string(), "{listed}");
    assert!(listed[1]["expires_at"].is_string());
    assert_eq!(refusal(folder, &["list", "--dealer", "other"]).0, Some(2), "nobody knows it");
    let table = tradepost(folder, &["keys", "list"]);
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(table.contains("reader") && table.contains("dealer:read"), "{table}");

    let id = &key[3..19];
    assert_eq!(json_of(folder, &["revoke", id])["state"], "revoked");
    let revoked = ask(&key, &question);
    assert_eq!(revoked.status, 401, "it ends at once");
    let unknown = NewApiKey::generate().unwrap().text;
    assert_eq!(ask(&unknown, &question).body, revoked.body);
    assert_eq!(json_of(folder, &["revoke", id])["state"], "revoked", "again is no mistake");

    // Nothing keeps a secret: not the answers, the log, the list or the database.
    let log = process.log();
    assert!(log.contains("authentication failed") && log.contains("revoked key"), "{log}");
    assert!(log.contains("UNAUTHENTICATED") && log.contains("PERMISSION_DENIED"), "{log}");
    let mut kept = log.into_bytes();
    kept.extend(revoked.body);
    kept.extend(listed.to_string().into_bytes());
    kept.extend(table.into_bytes());
    for entry in std::fs::read_dir(data(folder)).unwrap() {
        kept.extend(std::fs::read(entry.unwrap().path()).unwrap());
    }
    let kept = String::from_utf8_lossy(&kept);
    for key in [key.as_str(), reader, &unknown] {
        assert!(!kept.contains(&key[20..]), "a secret was kept");
    }
}

#[test]
fn the_help_names_the_scope_that_no_key_has_by_default() {
    let folder = tempfile::tempdir().unwrap();
    let output = tradepost(folder.path(), &["keys", "create", "--help"]);
    assert!(output.status.success(), "{output:?}");
    let help = String::from_utf8(output.stdout).unwrap();
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let default = "the default is all scopes except feed:write, which has to be named";
    assert!(help.contains(default), "{help}");
}

#[test]
fn an_impossible_key_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let config = DEALER.replace("auth =", "# auth =");
    std::fs::write(folder.join("tradepost.toml"), config).unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&["list"], "contains no data of tradepost"),
        (&["create", "--name", "anonymous"], "is not anonymous"),
        (&["create", "--name", "a b"], "a name has 1 to 64"),
        (&["create", "--name", "a", "--scope", "all"], "use one of: dealer:read"),
        (&["create", "--name", "a", "--expires", "soon"], "write a duration such as 90d"),
        (&["create", "--name", "a", "--expires", "2020-01-01"], "would have expired already"),
        (&["create", "--name", "a", "--dealer", "other"], "there is no dealer \"other\""),
    ];
    for (arguments, expected) in cases {
        let (exit, text) = refusal(folder, arguments);
        // clap wraps what it says.
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(exit == Some(2) && text.contains(expected), "{arguments:?}: {exit:?} {text}");
    }
    assert!(!data(folder).exists(), "nothing was made");
    let (exit, text) = refusal(folder, &["create", "--name", "acme"]);
    assert!(exit == Some(0) && text.contains("does not accept keys yet"), "{text}");
    let (exit, text) = refusal(folder, &["create", "--name", "acme"]);
    assert!(exit == Some(2) && text.contains("--same-caller"), "{text}");
    assert_eq!(refusal(folder, &["create", "--name", "acme", "--same-caller"]).0, Some(0));
    let (exit, text) = refusal(folder, &["revoke", "0123456789abcdef"]);
    assert!(exit == Some(2) && text.contains("keys list"), "{text}");
}
