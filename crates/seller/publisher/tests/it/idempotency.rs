//! One key, one effect (SEC, "Idempotency", rules 1 to 9).

use std::sync::mpsc;
use std::sync::{Arc, Mutex};

use expect_test::expect;
use jiff::SignedDuration;
use tradepost_adcp::{AdcpAnswer, AdcpTool};
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Value, json};
use tradepost_publisher::services::{BoxFuture, RateClass};
use tradepost_publisher::store::memory::MemoryPublisherStore;
use tradepost_publisher::store::{Job, PublisherStore, ReadExtent, StoreRead};

use crate::products::gazette;
use crate::support::{Harness, profile};

const KEY: &str = "7b1c7e52-0000-4000-8000-000000000001";

fn opening(key: &str, domain: &str) -> Value {
    json!({"idempotency_key": key, "accounts": [
        {"brand": {"domain": domain}, "operator": "op.example", "billing": "operator"}]})
}

fn ask(harness: &Harness, request: Value) -> Value {
    harness.ask(AdcpTool::SyncAccounts, request).document()
}

/// The ids of all accounts of `acme`.
fn accounts(harness: &Harness) -> Vec<String> {
    let list = harness.ask(AdcpTool::ListAccounts, json!({})).document();
    let rows = list["accounts"].as_array().unwrap().clone();
    rows.iter().map(|row| row["account_id"].as_str().unwrap().to_owned()).collect()
}

/// How an answer ended, in a word.
fn word(answer: &Value) -> String {
    match answer["adcp_error"]["code"].as_str() {
        Some(code) => code.to_owned(),
        None if answer["replayed"] == true => "replayed".to_owned(),
        None => "done".to_owned(),
    }
}

#[test]
fn a_key_is_replayed_byte_for_byte_whatever_the_account() {
    let harness = Harness::new();
    let mut first = ask(&harness, opening(KEY, "a.example"));
    let closing = json!({"idempotency_key": "7b1c7e52-0000-4000-8000-000000000002",
        "accounts": [], "delete_missing": true});
    ask(&harness, closing);
    let again = ask(&harness, opening(KEY, "a.example"));
    assert_eq!(first["replayed"], false);
    first["replayed"] = json!(true);
    assert_eq!(again.to_string(), first.to_string());
    assert_eq!(accounts(&harness), ["acc_1"]);
}

#[test]
fn another_request_with_the_key_is_refused_and_shown_nothing() {
    let harness = Harness::new();
    ask(&harness, opening(KEY, "a.example"));
    let mut other = opening(KEY, "b.example");
    other["context"] = json!({"c": 1});
    harness.check(
        AdcpTool::SyncAccounts,
        other,
        &expect![[r#"
        {
          "status": "failed",
          "message": "this key has been used for another request; use a fresh key",
          "adcp_error": {
            "code": "IDEMPOTENCY_CONFLICT",
            "message": "this key has been used for another request; use a fresh key",
            "recovery": "correctable"
          },
          "errors": [
            {
              "code": "IDEMPOTENCY_CONFLICT",
              "message": "this key has been used for another request; use a fresh key",
              "recovery": "correctable"
            }
          ],
          "context": {
            "c": 1
          },
          "adcp_version": "3.1"
        }"#]],
    );
    // The same arguments for another tool are another request.
    let governance = json!({"idempotency_key": KEY, "accounts": [{"account": {"account_id": "acc_1"},
        "governance_agents": [{"url": "https://g.example", "authentication":
            {"schemes": ["Bearer"], "credentials": "0123456789abcdef0123456789abcdef"}}]}]});
    let answer = harness.ask(AdcpTool::SyncGovernance, governance).document();
    assert_eq!(word(&answer), "IDEMPOTENCY_CONFLICT");
}

#[test]
fn what_may_differ_on_a_retry_and_what_may_not() {
    let harness = Harness::new();
    let request = |members: Value| {
        let mut request = opening(KEY, "a.example");
        request["push_notification_config"] = json!({"url": "https://b.example/hook",
            "authentication": {"schemes": ["Bearer"], "credentials": "0123456789abcdef0123456789abcdef"}});
        request["ext"] = json!({"x": {"n": 20, "m": 1}});
        for (pointer, value) in members.as_object().unwrap() {
            match pointer.rsplit_once('/') {
                Some((parent, name)) => {
                    request.pointer_mut(parent).unwrap()[name] = value.clone();
                }
                None => unreachable!("pointers begin with a slash"),
            }
        }
        request
    };
    ask(&harness, request(json!({})));
    let table = [
        ("the same", json!({})),
        ("context", json!({"/context": {"trace": 2}})),
        ("governance_context", json!({"/governance_context": "token"})),
        (
            "credentials of the webhook",
            json!({"/push_notification_config/authentication/credentials": "f".repeat(32)}),
        ),
        (
            "address of the webhook",
            json!({"/push_notification_config/url": "https://b.example/other"}),
        ),
        (
            "scheme of the webhook",
            json!({"/push_notification_config/authentication/schemes": ["HMAC-SHA256"]}),
        ),
        ("another way to write a number", json!({"/ext/x/n": 20.0})),
        ("another order of members", json!({"/ext/x": {"m": 1, "n": 20}})),
        ("ext", json!({"/ext/x/n": 21})),
        ("null and absent", json!({"/ext/x/o": null})),
        ("dry_run said and not said", json!({"/dry_run": false})),
        ("the release", json!({"/adcp_version": "3.1"})),
    ];
    let lines = table
        .map(|(what, members)| format!("{what}: {}\n", word(&ask(&harness, request(members)))));
    expect![[r#"
        the same: replayed
        context: replayed
        governance_context: replayed
        credentials of the webhook: replayed
        address of the webhook: IDEMPOTENCY_CONFLICT
        scheme of the webhook: IDEMPOTENCY_CONFLICT
        another way to write a number: replayed
        another order of members: replayed
        ext: IDEMPOTENCY_CONFLICT
        null and absent: IDEMPOTENCY_CONFLICT
        dry_run said and not said: IDEMPOTENCY_CONFLICT
        the release: IDEMPOTENCY_CONFLICT
    "#]]
    .assert_eq(&lines.concat());
}

#[test]
fn a_key_means_something_to_its_tenant_alone() {
    let harness = Harness::new();
    ask(&harness, opening(KEY, "a.example"));
    for principal in ["nova", "stranger"] {
        let answer = harness.ask_as(
            &harness.caller(principal),
            AdcpTool::SyncAccounts,
            opening(KEY, "b.example"),
        );
        assert_eq!(word(&answer.document()), "done", "{principal}");
    }
}

#[test]
fn what_was_refused_leaves_the_key_free() {
    let harness = Harness::new();
    let mut bad = opening(KEY, "a.example");
    bad["accounts"] = json!([{"account": {"account_id": "acc_none"}}]);
    assert_eq!(word(&ask(&harness, bad)), "ACCOUNT_NOT_FOUND");
    let mut unread = opening(KEY, "a.example");
    unread["accounts"] = json!({});
    assert_eq!(word(&ask(&harness, unread)), "VALIDATION_ERROR");
    *harness.services.full.lock().unwrap() = Some(RateClass::Insert);
    harness.check(
        AdcpTool::SyncAccounts,
        opening(KEY, "a.example"),
        &expect![[r#"
        {
          "status": "failed",
          "message": "too many requests; wait and send the same again",
          "adcp_error": {
            "code": "RATE_LIMITED",
            "message": "too many requests; wait and send the same again",
            "recovery": "transient",
            "suggestion": "wait for retry_after seconds and send the same request again",
            "retry_after": 7,
            "details": {
              "limit": 60,
              "remaining": 0,
              "window_seconds": 60,
              "scope": "account"
            }
          },
          "errors": [
            {
              "code": "RATE_LIMITED",
              "message": "too many requests; wait and send the same again",
              "recovery": "transient",
              "suggestion": "wait for retry_after seconds and send the same request again",
              "retry_after": 7,
              "details": {
                "limit": 60,
                "remaining": 0,
                "window_seconds": 60,
                "scope": "account"
              }
            }
          ],
          "adcp_version": "3.1"
        }"#]],
    );
    *harness.services.full.lock().unwrap() = None;
    assert_eq!(word(&ask(&harness, opening(KEY, "a.example"))), "done");
    // What is replayed adds nothing, and is not counted (rule 8).
    *harness.services.full.lock().unwrap() = Some(RateClass::Insert);
    assert_eq!(word(&ask(&harness, opening(KEY, "a.example"))), "replayed");
}

#[test]
fn a_missing_key_is_refused_only_where_one_is_needed() {
    let harness = Harness::new();
    let mut request = opening(KEY, "a.example");
    request.as_object_mut().unwrap().swap_remove("idempotency_key");
    harness.check(
        AdcpTool::SyncAccounts,
        request,
        &expect![[r#"
        {
          "status": "failed",
          "message": "The arguments have 1 problem; correct it and send the request again.",
          "adcp_error": {
            "code": "VALIDATION_ERROR",
            "message": "The arguments have 1 problem; correct it and send the request again.",
            "recovery": "correctable",
            "field": "idempotency_key",
            "suggestion": "correct every entry of issues and send again",
            "issues": [
              {
                "pointer": "/idempotency_key",
                "message": "\"idempotency_key\" is required",
                "keyword": "required"
              }
            ]
          },
          "errors": [
            {
              "code": "VALIDATION_ERROR",
              "message": "The arguments have 1 problem; correct it and send the request again.",
              "recovery": "correctable",
              "field": "idempotency_key",
              "suggestion": "correct every entry of issues and send again",
              "issues": [
                {
                  "pointer": "/idempotency_key",
                  "message": "\"idempotency_key\" is required",
                  "keyword": "required"
                }
              ]
            }
          ],
          "adcp_version": "3.1"
        }"#]],
    );
    let keyed = json!({"idempotency_key": KEY});
    assert_eq!(word(&harness.ask(AdcpTool::ListAccounts, keyed).document()), "done");
    assert_eq!(word(&harness.ask(AdcpTool::ListAccounts, json!({})).document()), "done");
}

#[test]
fn an_old_key_is_replayed_then_expired_then_forgotten() {
    let mut harness = Harness::new();
    let begin = harness.now;
    ask(&harness, opening(KEY, "a.example"));
    let mut lines = String::new();
    let day = 24 * 3600;
    for (what, seconds) in [
        ("at the end of its life", day),
        ("within the skew of clocks", day + 60),
        ("a second later", day + 61),
        ("a week later", day + 60 + 7 * day),
        ("after that", day + 61 + 7 * day),
    ] {
        harness.now = begin + SignedDuration::from_secs(seconds);
        lines += &format!("{what}: {}\n", word(&ask(&harness, opening(KEY, "a.example"))));
    }
    expect![[r#"
        at the end of its life: replayed
        within the skew of clocks: replayed
        a second later: IDEMPOTENCY_EXPIRED
        a week later: IDEMPOTENCY_EXPIRED
        after that: done
    "#]]
    .assert_eq(&lines);
    harness.now = begin + SignedDuration::from_secs(2 * day);
    let harness = {
        let fresh = Harness::new();
        ask(&fresh, opening(KEY, "a.example"));
        Harness { now: harness.now, ..fresh }
    };
    harness.check(AdcpTool::SyncAccounts, opening(KEY, "a.example"), &expect![[r#"
        {
          "status": "failed",
          "message": "this key is older than the seller remembers; look for the effect of its request before sending it with a fresh key",
          "adcp_error": {
            "code": "IDEMPOTENCY_EXPIRED",
            "message": "this key is older than the seller remembers; look for the effect of its request before sending it with a fresh key",
            "recovery": "correctable",
            "suggestion": "find out whether the first request succeeded before using a fresh key"
          },
          "errors": [
            {
              "code": "IDEMPOTENCY_EXPIRED",
              "message": "this key is older than the seller remembers; look for the effect of its request before sending it with a fresh key",
              "recovery": "correctable",
              "suggestion": "find out whether the first request succeeded before using a fresh key"
            }
          ],
          "adcp_version": "3.1"
        }"#]]);
}

/// A store that lets a write wait until it is told to go on.
#[derive(Debug)]
struct Waiting {
    store: MemoryPublisherStore,
    begun: Mutex<mpsc::Sender<()>>,
    go: Mutex<mpsc::Receiver<()>>,
}

impl PublisherStore for Waiting {
    fn read(
        &self,
        extent: ReadExtent,
        job: &mut dyn FnMut(&dyn StoreRead),
    ) -> Result<(), InternalError> {
        self.store.read(extent, job)
    }

    fn write(&self, job: Job) -> BoxFuture<'_, Result<(), InternalError>> {
        self.begun.lock().unwrap().send(()).unwrap();
        self.go.lock().unwrap().recv().unwrap();
        self.store.write(job)
    }
}

fn answer(harness: &Harness, request: &Value) -> AdcpAnswer {
    harness.ask(AdcpTool::SyncAccounts, request.clone())
}

#[test]
fn a_key_in_use_is_not_worked_on_again() {
    let (begun, has_begun) = mpsc::channel();
    let (go, may_go) = mpsc::channel();
    let store = Waiting {
        store: MemoryPublisherStore::default(),
        begun: Mutex::new(begun),
        go: Mutex::new(may_go),
    };
    let harness = Arc::new(Harness::on(profile(), Arc::new(store)));
    let first = std::thread::spawn({
        let harness = Arc::clone(&harness);
        move || answer(&harness, &opening(KEY, "a.example")).document()
    });
    has_begun.recv().unwrap();
    harness.check(
        AdcpTool::SyncAccounts,
        opening(KEY, "a.example"),
        &expect![[r#"
        {
          "status": "failed",
          "message": "the request with this key is being worked on; send it again shortly",
          "adcp_error": {
            "code": "IDEMPOTENCY_IN_FLIGHT",
            "message": "the request with this key is being worked on; send it again shortly",
            "recovery": "transient",
            "suggestion": "wait and send the same request with the same key, never a fresh one",
            "retry_after": 1
          },
          "errors": [
            {
              "code": "IDEMPOTENCY_IN_FLIGHT",
              "message": "the request with this key is being worked on; send it again shortly",
              "recovery": "transient",
              "suggestion": "wait and send the same request with the same key, never a fresh one",
              "retry_after": 1
            }
          ],
          "adcp_version": "3.1"
        }"#]],
    );
    // The difference shows at once, and not when the first is done (rule 9).
    assert_eq!(word(&ask(&harness, opening(KEY, "b.example"))), "IDEMPOTENCY_CONFLICT");
    go.send(()).unwrap();
    assert_eq!(word(&first.join().unwrap()), "done");
    assert_eq!(word(&ask(&harness, opening(KEY, "a.example"))), "replayed");
    assert_eq!(accounts(&harness), ["acc_1"]);
}

#[test]
fn of_many_at_once_one_has_an_effect() {
    let harness = Harness::new();
    let harness = &harness;
    let words: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|_| scope.spawn(move || word(&ask(harness, opening(KEY, "a.example")))))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(words.iter().filter(|word| *word == "done").count(), 1, "{words:?}");
    let others = words
        .iter()
        .all(|word| matches!(word.as_str(), "done" | "replayed" | "IDEMPOTENCY_IN_FLIGHT"));
    assert!(others, "{words:?}");
    assert_eq!(accounts(harness), ["acc_1"]);
}

#[test]
fn a_request_that_breaks_leaves_the_key_free() {
    /// A store whose first write fails.
    #[derive(Debug, Default)]
    struct FailingFirstWrite(MemoryPublisherStore, Mutex<bool>);

    impl PublisherStore for FailingFirstWrite {
        fn read(
            &self,
            extent: ReadExtent,
            job: &mut dyn FnMut(&dyn StoreRead),
        ) -> Result<(), InternalError> {
            self.0.read(extent, job)
        }

        fn write(&self, job: Job) -> BoxFuture<'_, Result<(), InternalError>> {
            if !std::mem::replace(&mut *self.1.lock().unwrap(), true) {
                let broken = InternalError::new("writing", "disk full at /var/lib/secret.db");
                return Box::pin(std::future::ready(Err(broken)));
            }
            self.0.write(job)
        }
    }

    let harness = Harness::on(profile(), Arc::new(FailingFirstWrite::default()));
    harness.check(
        AdcpTool::SyncAccounts,
        opening(KEY, "a.example"),
        &expect![[r#"
            {
              "status": "failed",
              "message": "the seller cannot serve this request for the moment",
              "adcp_error": {
                "code": "SERVICE_UNAVAILABLE",
                "message": "the seller cannot serve this request for the moment",
                "recovery": "transient",
                "suggestion": "retry the same request later, with backoff",
                "retry_after": 5,
                "details": {
                  "error_id": "err_1"
                }
              },
              "errors": [
                {
                  "code": "SERVICE_UNAVAILABLE",
                  "message": "the seller cannot serve this request for the moment",
                  "recovery": "transient",
                  "suggestion": "retry the same request later, with backoff",
                  "retry_after": 5,
                  "details": {
                    "error_id": "err_1"
                  }
                }
              ],
              "adcp_version": "3.1"
            }"#]],
    );
    assert_eq!(word(&ask(&harness, opening(KEY, "a.example"))), "done");
}

/// A proposal is drafted or committed by a task that otherwise looks, and has no key by its schema.
#[test]
fn a_key_is_taken_by_writers_and_tolerated_by_readers() {
    let harness = gazette();
    let ask = |request: Value| harness.ask(AdcpTool::GetProducts, request).document();
    let brief = json!({"buying_mode": "brief", "brief": "video and display for outdoor sports"});
    let proposed = ask(brief);
    let finalize = |action: &str| {
        json!({"idempotency_key": KEY, "buying_mode": "refine", "refine": [{"scope": "proposal",
            "proposal_id": proposed["proposals"][0]["proposal_id"], "action": action}]})
    };
    let first = ask(finalize("finalize"));
    assert_eq!(first["replayed"], false);
    let again = ask(finalize("finalize"));
    assert_eq!(again["replayed"], true);
    assert_eq!(again["proposals"], first["proposals"]);
    assert_eq!(word(&ask(finalize("omit"))), "IDEMPOTENCY_CONFLICT");
    let look = json!({"idempotency_key": KEY, "buying_mode": "wholesale"});
    assert_eq!(ask(look)["replayed"], Value::Null);
}
