//! `tradepost sandbox` as a process.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use tradepost_aap::Version;
use tradepost_document::json::{Value, json};

use super::{CARD, headers};
use crate::support::{client, envelope, lead, with};

pub fn start(arguments: &[&str]) -> (Child, BufReader<std::process::ChildStdout>, SocketAddr) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tradepost"))
        .args(["sandbox", "--listen", "127.0.0.1:0", "--size", "3"])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let address = line.strip_prefix("listening on http://").map(str::trim);
    let address = address.and_then(|address| address.parse().ok());
    (child, out, address.unwrap_or_else(|| panic!("{line:?} instead of the address")))
}

pub fn end(mut child: Child, mut out: impl std::io::Read) -> (Option<i32>, String) {
    let mut text = String::new();
    out.read_to_string(&mut text).unwrap();
    (child.wait().unwrap().code(), text)
}

fn post(address: SocketAddr, payload: &Value) {
    post_to(address, "/a2a", payload);
}

pub fn post_to(address: SocketAddr, target: &str, payload: &Value) {
    let body = envelope(payload).to_string();
    client::request(address, "POST", target, &headers(Version::V1_1), body.as_bytes());
}

#[test]
fn it_ends_after_n_requests_with_the_buyers_exit_code() {
    let search = json!({"type": "inventory.search.request"});
    let doubled = |key: &str| with(lead(), &[("/idempotency_key", json!(key))]);
    for (payloads, code, word) in [
        ([search.clone(), search], Some(0), "well-behaved"),
        ([doubled("a"), doubled("b")], Some(3), "lead.doubled"),
    ] {
        let (child, out, address) = start(&["--until", "3"]);
        client::request(address, "GET", CARD, &[], b"");
        for payload in &payloads {
            post(address, payload);
        }
        let (exit, text) = end(child, out);
        assert_eq!(exit, code, "{text}");
        assert!(text.contains(word), "{text}");
        assert!(text.starts_with("scenario calm: 3 requests"), "{text}");
    }
}

#[test]
fn it_prints_the_report_when_it_is_interrupted() {
    let (child, out, address) = start(&["--scenario", "throttling"]);
    client::request(address, "GET", CARD, &[], b"");
    let pid = child.id().to_string();
    let script = ["-c", "kill -s INT \"$1\"", "sh", &pid];
    assert!(Command::new("sh").args(script).status().unwrap().success());
    let (exit, text) = end(child, out);
    assert_eq!(exit, Some(0));
    assert_eq!(text, "scenario throttling: 1 requests\n\nwell-behaved: nothing found\n");
}

fn run(arguments: &[&str]) -> (Option<i32>, Value) {
    let output = Command::new(env!("CARGO_BIN_EXE_tradepost"))
        .args(["sandbox", "--json"])
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    (output.status.code(), tradepost_document::json::from_slice(&output.stdout).unwrap())
}

#[test]
fn scenarios_are_listed_and_wrong_names_or_scripts_explained() {
    let (exit, document) = run(&["--scenario", "list"]);
    assert_eq!((exit, &document["scenarios"][0]["name"]), (Some(0), &json!("calm")));
    let (exit, document) = run(&["--scenario", "nothing"]);
    assert_eq!(exit, Some(2));
    assert!(document["error"]["hint"].as_str().unwrap().contains("flaky"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.toml");
    std::fs::write(&path, "name = \"x\"\n[[rules]]\nrefuse = 5\n[[rules]]\nhttp = 200\n").unwrap();
    let (exit, document) = run(&["--script", path.to_str().unwrap()]);
    assert_eq!(exit, Some(2));
    let mistakes = document["error"]["mistakes"].as_array().unwrap();
    let lines: Vec<_> = mistakes.iter().map(|mistake| &mistake["line"]).collect();
    assert_eq!(lines, [3, 3, 5], "{document}");
}
