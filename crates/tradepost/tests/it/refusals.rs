//! What is remembered of refusals: on both databases, and by a server as a process.

use std::process::Command;
use std::sync::Arc;

use expect_test::expect;
use jiff::SignedDuration;
use tradepost_document::json::json;
use tradepost_runtime::refusals::RefusalRecorder;
use tradepost_server::clock::Clock;
use tradepost_server::metrics::CallerKind;
use tradepost_server::refusals::{FieldError, RefusalSink as _, RefusedRequest};
use tradepost_store::Store;

use crate::process::{Process, data, fresh_lead};
use crate::support::postgres::Scratch;
use crate::support::{NOW, at, envelope};

fn refused(number: usize, code: &'static str) -> RefusedRequest {
    let field_error = FieldError { pointer: "/customer/email".to_owned(), keyword: "format" };
    RefusedRequest {
        agent: "acme".to_owned(),
        at: at(NOW),
        code,
        error_id: (number < 600).then(|| format!("err_{number:04}")),
        operation: Some("lead.submit"),
        caller: CallerKind::Anonymous,
        misfits: vec![field_error; 30],
    }
}

fn remembers(store: Store) {
    let store = Arc::new(store);
    let (clock, hand) = Clock::manual(at(NOW));
    let refusals = RefusalRecorder::new(Arc::clone(&store), clock);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let write = || runtime.block_on(refusals.write()).unwrap();
    for number in 0..700 {
        refusals.note(refused(number, "INVALID_CONSENT"));
    }
    write();
    let kept = store.refusals(Some("acme"), None, 1_000).unwrap();
    assert_eq!((kept.len(), kept[0].error_id.as_str()), (500, "err_0499"), "a flood is bounded");
    assert_eq!((kept[0].misfits.len(), kept[0].caller.as_str()), (20, "anonymous"));
    let counted = || {
        let counts = store.refusal_counts(None, jiff::Timestamp::MIN).unwrap();
        counts.into_iter().map(|count| (count.code, count.refused)).collect::<Vec<_>>()
    };
    assert_eq!(counted(), [("INVALID_CONSENT".to_owned(), 700)], "and counted whole");
    refusals.note(refused(500, "VEHICLE_NOT_FOUND"));
    refusals.note(refused(501, "INVALID_CONSENT"));
    write();
    let both = [("INVALID_CONSENT".to_owned(), 701), ("VEHICLE_NOT_FOUND".to_owned(), 1)];
    assert_eq!(counted(), both);
    let found = store.refusals(None, Some("VEHICLE_NOT_FOUND"), 9).unwrap();
    assert_eq!(store.refusal("err_0500").unwrap().as_ref(), found.first());
    assert_eq!(store.refusal("err_9999").unwrap(), None);
    assert!(store.refusals(Some("another"), None, 9).unwrap().is_empty());

    hand.advance(SignedDuration::from_hours(24 * 30 - 1));
    write();
    assert_eq!(counted(), both, "it is not that old yet");
    hand.advance(SignedDuration::from_hours(2));
    write();
    assert!(counted().is_empty() && store.refusal("err_0500").unwrap().is_none());
}

#[test]
fn a_flood_of_refusals_is_counted_and_kept_awhile() {
    let folder = tempfile::tempdir().unwrap();
    remembers(Store::open(folder.path()).unwrap());
}

#[test]
fn a_flood_of_refusals_is_counted_and_kept_on_postgresql() {
    let Some(scratch) = Scratch::new() else { return };
    remembers(scratch.store());
}

#[test]
fn only_the_latest_refusals_of_an_agent_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(Store::open(folder.path()).unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (clock, _hand) = Clock::manual(at(NOW));
    let refusals = RefusalRecorder::new(Arc::clone(&store), clock);
    for number in 0..10 {
        let mut one = refused(number, "INVALID_CONSENT");
        one.at += SignedDuration::from_secs(i64::try_from(number).unwrap());
        refusals.note(one);
    }
    runtime.block_on(refusals.write()).unwrap();
    store.write_blocking(|tx| tx.forget_refusals(at(NOW), 3)).unwrap();
    let kept = store.refusals(None, None, 99).unwrap();
    let kept: Vec<_> = kept.iter().map(|refusal| refusal.error_id.as_str()).collect();
    assert_eq!(kept, ["err_0009", "err_0008", "err_0007"]);
}

fn tradepost(folder: &std::path::Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradepost"));
    let output = command.args(arguments).arg("--data").arg(data(folder)).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn an_error_id_is_found_without_the_callers_words() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::bare(folder.path());
    let lead = fresh_lead(&[
        ("/customer/email", json!("planted address")),
        ("/customer/planted.name@mail.example", json!("planted")),
        ("/consent/allowed_channels", json!(["email", "planted"])),
    ]);
    let answer = process.post("/a2a", &[], &envelope(&lead).to_string());
    let error = &answer["error"]["data"];
    let id = error["error_id"].as_str().unwrap_or_else(|| panic!("{answer}"));
    // What waits is written before it ends.
    process.signal("TERM");
    assert!(process.end().success());
    let (code, shown, _) = tradepost(folder.path(), &["--json", "refusals", "show", id]);
    assert_eq!(code, Some(0), "{shown}");
    let mut shown: tradepost_document::json::Value =
        tradepost_document::json::from_str(&shown).unwrap();
    assert_eq!(shown["error_id"], error["error_id"]);
    assert_eq!(shown["code"], error["code"]);
    shown["error_id"] = json!("err_…");
    shown["at"] = json!("…");
    expect![[r#"
        {
          "error_id": "err_…",
          "agent": "bare",
          "at": "…",
          "code": "INVALID_CONSENT",
          "operation": "lead.submit",
          "caller": "anonymous",
          "problems": [
            {
              "pointer": "/consent/allowed_channels/1",
              "keyword": "enum"
            },
            {
              "pointer": "/customer/email",
              "keyword": "format"
            },
            {
              "pointer": "/customer/*",
              "keyword": "additionalProperties"
            }
          ]
        }"#]]
    .assert_eq(&format!("{shown:#}"));
    let (code, listed, _) = tradepost(folder.path(), &["refusals", "list", "--agent", "bare"]);
    assert_eq!((code, listed.lines().count(), listed.contains(id)), (Some(0), 2, true), "{listed}");
    let (code, _, said) = tradepost(folder.path(), &["refusals", "show", "err_0"]);
    assert_eq!(code, Some(2));
    expect![[r#"
        error: no refusal with this id is stored
        hint: refusals are stored for 30 days; in a flood of refusals, not all are stored
    "#]]
    .assert_eq(&said);
    for file in std::fs::read_dir(data(folder.path())).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(7).any(|part| part == b"planted"));
    }
}
