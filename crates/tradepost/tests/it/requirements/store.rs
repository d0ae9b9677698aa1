//! A store that fails in every way it can: nothing is acknowledged, everything is undone, and
//! afterwards the server is well (R-ER-03, R-ER-06, R-LD-15, E-108).

use std::sync::Arc;

use jiff::Timestamp;
use rusqlite::Connection;
use tradepost_document::json::{Value, json};
use tradepost_runtime::aap::seller::DealerAgent;
use tradepost_runtime::wiring::Wiring;
use tradepost_server::clock::Clock;
use tradepost_server::fault::InternalError;

use crate::support::{TestServer, at, client, dealer, lead, start, start_with, two_dealers, with};

fn database(server: &TestServer) -> Connection {
    Connection::open(server.directory.path().join("tradepost.sqlite")).unwrap()
}

fn customer(n: usize) -> Value {
    let key = format!("k-{n}");
    let email = format!("customer{n}@example.com");
    with(lead(), &[("/customer/email", json!(email)), ("/idempotency_key", json!(key))])
}

/// Sends leads while the store fails, and again when it has recovered.
fn is_undone_and_recovers(breaks: &str, mends: &str) {
    let server = start();
    database(&server).execute_batch(breaks).unwrap();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let server = &server;
            scope.spawn(move || {
                let answer = server.call(&customer(n)).json();
                let data = &answer["error"]["data"];
                assert_eq!(data["code"], "INTERNAL_ERROR", "{answer}");
                assert_eq!(data["retryable"], true, "R-ER-04");
                assert!(data["error_id"].as_str().unwrap().starts_with("err_"), "R-ER-06");
                let text = answer.to_string();
                for internal in ["sqlite", "SQL", "trigger", "boom", "customer"] {
                    assert!(!text.contains(internal), "R-ER-03: {text}");
                }
            });
        }
    });
    assert!(server.store.leads(None).unwrap().is_empty(), "nothing is half stored");
    // What only reads is answered all the while.
    server.payload(&json!({"type": "inventory.search.request"}));
    database(&server).execute_batch(mends).unwrap();
    for n in 0..8 {
        // The keys were not used up (C-18).
        assert_eq!(server.payload(&customer(n))["data"]["status"], "received");
    }
    assert_eq!(server.store.leads(None).unwrap().len(), 8);
    assert_eq!(client::request(server.address, "GET", "/readyz", &[], b"").status, 200);
}

#[test]
fn a_failing_statement_undoes_its_lead() {
    is_undone_and_recovers(
        "CREATE TRIGGER boom BEFORE INSERT ON idempotency_keys
         BEGIN SELECT RAISE(ABORT, 'boom'); END;",
        "DROP TRIGGER boom;",
    );
}

#[test]
fn a_transaction_that_sqlite_rolls_back_by_itself_acknowledges_nothing() {
    // As it does when the disk is full.
    is_undone_and_recovers(
        "CREATE TRIGGER boom BEFORE INSERT ON idempotency_keys
         BEGIN SELECT RAISE(ROLLBACK, 'boom'); END;",
        "DROP TRIGGER boom;",
    );
}

#[test]
fn a_commit_that_fails_acknowledges_nothing() {
    is_undone_and_recovers(
        "CREATE TABLE boom (seq INTEGER REFERENCES leads (seq) DEFERRABLE INITIALLY DEFERRED);
         CREATE TRIGGER boom_too AFTER INSERT ON leads
         BEGIN INSERT INTO boom VALUES (-1); END;",
        "DROP TRIGGER boom_too; DROP TABLE boom;",
    );
}

#[test]
fn one_lead_that_fails_takes_no_other_down() {
    let server = start();
    let one = "CREATE TRIGGER boom BEFORE INSERT ON idempotency_keys WHEN new.key = 'k-3'
               BEGIN SELECT RAISE(ABORT, 'boom'); END;";
    database(&server).execute_batch(one).unwrap();
    std::thread::scope(|scope| {
        for n in 0..12 {
            let server = &server;
            scope.spawn(move || {
                let stored = server.call(&customer(n)).json().get("result").is_some();
                assert_eq!(stored, n != 3, "{n}");
            });
        }
    });
    assert_eq!(server.store.leads(None).unwrap().len(), 11);
}

#[test]
fn a_panicking_job_is_a_fault_and_the_next_runs() {
    let server = start();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let fault = runtime
        .block_on(
            server.store.write(|_| -> Result<(), InternalError> { panic!("expected by the test") }),
        )
        .unwrap_err();
    assert!(fault.chain().contains("panicked"), "{}", fault.chain());
    assert_eq!(server.payload(&lead())["data"]["status"], "received");
}

#[test]
fn one_dealers_broken_inventory_keeps_no_other_from_being_refreshed() {
    let server = start_with(two_dealers);
    let (clock, _) = Clock::manual(at(crate::support::NOW));
    let named = "127.0.0.1:8080".parse().unwrap();
    let opened = Wiring::open(server.config().clone(), server.store.clone(), clock, named);
    let registry = opened.unwrap().registry;
    let size = |host: &str| {
        let agent: Arc<dyn std::any::Any + Send + Sync> = registry.agent(Some(host)).unwrap();
        agent.downcast_ref::<DealerAgent>().expect("a dealer").inventory.load().unwrap().len()
    };
    assert_eq!((size("one.example"), size("two.example")), (4, 4));
    let database = database(&server);
    let broken = "UPDATE listings SET body = '{' WHERE dealer_id = 'demo-auto-group';
                  UPDATE inventories SET generation = generation + 1;";
    database.execute_batch(broken).unwrap();
    let listings = &dealer::listings(false)[..1];
    server.store.replace_inventory("second", listings, Timestamp::UNIX_EPOCH, false).unwrap();
    let fault = registry.refresh().unwrap_err();
    assert!(fault.chain().starts_with("reading a listing"), "{}", fault.chain());
    assert_eq!((size("one.example"), size("two.example")), (4, 1), "the old one stays in use");
    database.execute_batch("UPDATE listings SET body = '{}' WHERE body = '{'").unwrap();
    registry.refresh().unwrap();
}
