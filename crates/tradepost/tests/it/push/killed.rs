//! The real binary: `kill -9` with notifications that are not delivered, SIGTERM, the commands,
//! and what the log and the answers give away.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use expect_test::expect;
use tradepost_document::json::{Value, json};

use crate::process::{Process, data};
use crate::support::conformance::{ask, at_once};
use crate::support::webhook::{Webhook, answer, yes};
use crate::support::with;

const ARGUMENTS: [&str; 2] = ["push", "--push-allow-loopback"];

/// Runs a command on the folder; its exit code and what it writes.
fn tradepost(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_tradepost"))
        .args(arguments)
        .arg("--data")
        .arg(data(folder))
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Begins a task that brings a webhook with secrets along.
fn begin(process: &Process, id: &str, url: &str) -> Value {
    let config = json!({
        "id": "hook", "url": format!("{url}?key=seekrit-query"), "token": "seekrit-token",
        "authentication": {"scheme": "Bearer", "credentials": "seekrit-credential"},
    });
    let params = with(at_once(id), &[("/configuration/taskPushNotificationConfig", config)]);
    let sent = ask(process.address, &[], "SendMessage", &params).json();
    sent["result"]["task"]["id"].clone()
}

#[test]
fn a_killed_server_delivers_afterwards_what_it_could_not_before() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::agent(folder.path(), &ARGUMENTS);
    let back = Arc::new(AtomicBool::new(false));
    let is_back = Arc::clone(&back);
    let mut webhook = Webhook::answering(move |number| {
        if number < 100 || is_back.load(Ordering::SeqCst) { yes() } else { String::new() }
    });
    let id = begin(&process, "tradepost-flood-500", &webhook.url());
    webhook.wait(101);
    process.signal("KILL");
    process.end();

    back.store(true, Ordering::SeqCst);
    let process = Process::agent(folder.path(), &ARGUMENTS);
    let task = ask(process.address, &[], "GetTask", &json!({"id": id})).json()["result"].clone();
    let state = task["status"]["state"].as_str().unwrap();
    let mut posts = webhook.wait_for(state).to_vec();
    assert_eq!(posts[100].body, posts[101].body, "what was not taken comes again");
    // Twice comes at most what was taken or under way when the server died.
    posts.dedup_by(|next, last| next.header("idempotency-key") == last.header("idempotency-key"));
    let number =
        |event: &Value| event.pointer("/artifactUpdate/artifact/parts/0/data/number").cloned();
    let numbers: Vec<_> = posts.iter().filter_map(|notified| number(&notified.json())).collect();
    let stored = task["artifacts"][0]["parts"].as_array().unwrap().len();
    assert!(stored >= 98, "the task and a state are told before them");
    assert!(numbers.into_iter().eq((0..stored).map(|n| json!(n))), "all {stored}, in order");
    assert_eq!(posts.len(), stored + 3, "the task, and a state before and after");
}

#[test]
fn a_stopping_server_does_not_wait_for_receivers_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let arguments_with_timeout = [&ARGUMENTS[..], &["--push-timeout", "1s"]].concat();
    let process = Process::agent(folder.path(), &arguments_with_timeout);
    let mut webhook = Webhook::answering(|_| String::new());
    begin(&process, "tck-complete-task", &webhook.url());
    webhook.wait(1);
    process.signal("TERM");
    assert_eq!(process.end().code(), Some(0));
}

/// The listing without what differs from run to run.
fn redacted(text: &str, id: &str) -> String {
    let mut rows: Value = tradepost_document::json::from_str(text).unwrap();
    for row in rows.as_array_mut().unwrap() {
        assert!(row["last_seq"].as_i64() >= Some(2), "the task may have gone on");
        row["last_seq"] = json!("<seq>");
        for name in ["given_up_at", "next_attempt_at"] {
            if row[name].is_string() {
                row[name] = json!("<moment>");
            }
        }
    }
    let text = tradepost_document::json::to_string_pretty(&rows).unwrap();
    text.replace(id, "<id>")
}

#[test]
fn webhooks_given_up_are_listed_and_retried_while_serving() {
    let folder = tempfile::tempdir().unwrap();
    let once = [&ARGUMENTS[..], &["--push-attempts", "1"]].concat();
    let process = Process::agent(folder.path(), &once);
    let back = Arc::new(AtomicBool::new(false));
    let is_back = Arc::clone(&back);
    let mut webhook = Webhook::answering(move |_| {
        if is_back.load(Ordering::SeqCst) { yes() } else { answer("503 Seekrit Unavailable") }
    });
    let id = begin(&process, "tck-artifact-text", &webhook.url());
    let id = id.as_str().unwrap().to_owned();
    webhook.wait(1);
    let listed = (0..500).find_map(|_| {
        let (code, out, _) = tradepost(folder.path(), &["--json", "push", "list"]);
        assert_eq!(code, Some(0));
        let (_sender, receiver) = std::sync::mpsc::channel::<()>();
        let _ = receiver.recv_timeout(Duration::from_millis(20));
        let is_done = process.log().contains("a webhook was given up");
        (out.trim() != "[]" && is_done).then_some(out)
    });
    let listed = listed.unwrap();
    let expected = expect![[r#"
        [
          {
            "task": "<id>",
            "webhook": "hook",
            "caller": "anonymous",
            "host": "127.0.0.1",
            "state": "given up",
            "failures": 1,
            "last_failure": "HTTP 503",
            "given_up_at": "<moment>",
            "next_attempt_at": null,
            "delivered_seq": null,
            "last_seq": "<seq>"
          }
        ]"#]];
    expected.assert_eq(&redacted(&listed, &id));
    let (code, table, _) = tradepost(folder.path(), &["push", "list"]);
    assert_eq!(code, Some(0));
    for word in [id.as_str(), "hook", "anonymous", "127.0.0.1", "given up", "HTTP 503"] {
        assert!(table.contains(word), "{word}: {table}");
    }

    let retry = |more: &[&str]| tradepost(folder.path(), &[&["push", "retry"], more].concat());
    let (code, _, said) = retry(&[&id, "other"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("there is no such webhook that was given up"), "{said}");
    assert!(said.contains("hint: `tradepost push list` lists them"), "{said}");
    assert_eq!(retry(&[]).0, Some(2), "which?");
    back.store(true, Ordering::SeqCst);
    let (code, _, said) = retry(&[&id, "hook"]);
    assert_eq!((code, said.as_str()), (Some(0), "1 webhook is tried again\n"));
    let posts = webhook.wait_for("TASK_STATE_COMPLETED");
    let states: Vec<_> = posts.iter().filter_map(|notified| notified.state()).collect();
    let first = "TASK_STATE_SUBMITTED";
    let last = "TASK_STATE_COMPLETED";
    assert_eq!(states, [first, first, last], "from where it was, in order");
    assert_eq!(tradepost(folder.path(), &["--json", "push", "list"]).1.trim(), "[]");
    let (code, out, _) = retry(&["--all", "--json"]);
    assert_eq!((code, out.replace(char::is_whitespace, "")), (Some(0), "{\"retried\":0}".into()));
    let (code, out, _) = tradepost(folder.path(), &["--json", "audit", "list", "--dealer", "*"]);
    assert_eq!(code, Some(0));
    let entries: Value = tradepost_document::json::from_str(&out).unwrap();
    assert_eq!(entries.as_array().map(Vec::len), Some(1), "only what was retried: {entries}");
    let entry = &entries[0];
    assert!(entry["actor"].as_str().unwrap().starts_with("cli:"), "{entry}");
    assert_eq!(entry["action"], "webhooks_retried", "{entry}");
    assert_eq!(entry["subject"], id.as_str(), "{entry}");
    assert_eq!(entry["detail"], "1 webhooks", "{entry}");
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(tradepost(empty.path(), &["push", "list"]).0, Some(2), "no such folder");

    let shown = ["GetTaskPushNotificationConfig", "ListTaskPushNotificationConfigs", "GetTask"]
        .map(|method| {
            let params =
                json!({"taskId": id, "id": if method == "GetTask" { &id } else { "hook" }});
            ask(process.address, &[], method, &params).json().to_string()
        })
        .concat();
    assert!(shown.contains("\"scheme\":\"Bearer\""), "{shown}");
    let posts = webhook.wait(1)[0].clone();
    assert_eq!(posts.header("authorization"), Some("Bearer seekrit-credential"));
    for (place, text) in [("answer", &shown), ("log", &process.log()), ("list", &listed)] {
        for secret in ["seekrit-credential", "seekrit-token", "Seekrit Unavailable"] {
            assert!(!text.contains(secret), "{secret} is in the {place}: {text}");
        }
    }
    for (place, text) in [("log", &process.log()), ("list", &listed), ("table", &table)] {
        assert!(!text.contains("seekrit-query"), "the address is in the {place}: {text}");
    }
}
